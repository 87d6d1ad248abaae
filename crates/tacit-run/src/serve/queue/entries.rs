//! Requests by their numbers, from when they are taken until they are forgotten.

use std::time::Instant;

use zeroize::Zeroizing;

use super::turns::BUSY;
use super::{Barred, Door, Entry, Id, Inner, Limits, REMEMBERED, Refused, Times, Waiting};

impl Inner {
    pub fn take(
        &mut self,
        limits: &Limits,
        client: &str,
        (id, hash): (Id, blake3::Hash),
        items: usize,
        body: Zeroizing<Vec<u8>>,
    ) -> Result<(), Refused> {
        self.forget_busy(&id);
        if let Some(entry) = self.entries.get(&id) {
            let same = match entry {
                Entry::Waiting(waiting) => blake3::hash(&waiting.body) == hash,
                Entry::Running { body, .. } => *body == hash,
                Entry::Done { body, life, .. } => *body == hash && *life == self.life,
            };
            return match same {
                true => Ok(()),
                false => Err(reused()),
            };
        }
        match self.barred.get(&id) {
            Some(Barred::Used) => return Err(reused()),
            Some(Barred::GivenUp) => return Err(given_up()),
            None => {}
        }
        if let Door::Closed(why) = &self.door {
            return Err(why.clone());
        }
        // What was declined may come again, as when a budget is full again.
        self.declined.retain(|(known, _)| *known != id);
        let client = self.client(client);
        if self.order.len() >= limits.waiting {
            self.make_room(&client, id, limits)?;
        }
        let now = Instant::now();
        let waiting = Waiting {
            client,
            items,
            body,
            since: now,
            held: None,
            tries: 0,
            pause: now,
        };
        self.entries.insert(id, Entry::Waiting(waiting));
        self.order.push_back(id);
        Ok(())
    }

    /// Refuses what has waited for too long.
    pub fn late(&mut self, limits: &Limits) {
        let now = Instant::now();
        let late = |id: &&Id| match self.entries.get(*id) {
            Some(Entry::Waiting(waiting)) => {
                waiting.held.is_none() && now >= waiting.since + limits.patience
            }
            _ => true,
        };
        let ids: Vec<Id> = self.order.iter().filter(late).copied().collect();
        for id in ids {
            let why = "it was not taken up in time: other parties did not have it, or are busy";
            self.end(&id, Err(Refused::new("missing-elsewhere", why)), limits);
        }
    }

    /// Refuses a request that another party lacks.
    pub fn give_up(&mut self, id: &Id, why: Refused, limits: &Limits) {
        if let Some(Entry::Waiting(waiting)) = self.entries.get(id) {
            let client = waiting.client.clone();
            self.lacked(&client);
        }
        self.end(id, Err(why), limits);
    }

    pub fn end(&mut self, id: &Id, answer: Result<Vec<u8>, Refused>, limits: &Limits) {
        let (body, times) = match self.entries.get(id) {
            Some(Entry::Waiting(waiting)) => (blake3::hash(&waiting.body), None),
            Some(Entry::Running {
                body,
                client,
                waited,
                since,
            }) => {
                let (body, client) = (*body, client.clone());
                let (waited, computed) = (*waited, since.elapsed());
                if answer.is_ok() {
                    self.answered(&client);
                }
                (body, answer.is_ok().then_some(Times { waited, computed }))
            }
            _ => return,
        };
        self.order.retain(|waits| waits != id);
        let code = answer
            .as_ref()
            .map_or_else(|refused| refused.code, |_| "answered");
        self.count(code, 1);
        let until = Instant::now() + limits.keep;
        self.kept += size(&answer);
        self.done.push_back(*id);
        self.entries.insert(
            *id,
            Entry::Done {
                life: self.life,
                body,
                times,
                answer,
                until,
            },
        );
        if let Some(bell) = &mut self.bell {
            bell.ring(*id);
        }
        self.expire();
        while self.kept > limits.keep_bytes && self.done.len() > 1 {
            self.forget_oldest();
        }
    }

    /// Forgets answers that were kept for long enough, but not their numbers.
    pub fn expire(&mut self) {
        let now = Instant::now();
        let old = |entry: &Entry| matches!(entry, Entry::Done { until, .. } if *until <= now);
        while let Some(entry) = self.done.front().and_then(|id| self.entries.get(id)) {
            if !old(entry) {
                return;
            }
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some(id) = self.done.pop_front() else {
            return;
        };
        if let Some(Entry::Done { answer, .. }) = self.entries.remove(&id) {
            self.kept = self.kept.saturating_sub(size(&answer));
            if !is_busy(&answer) {
                self.bar(id, Barred::Used);
            }
        }
    }

    /// Forgets that a request lost its place: it comes again.
    fn forget_busy(&mut self, id: &Id) {
        match self.entries.get(id) {
            Some(Entry::Done { answer, .. }) if is_busy(answer) => {
                self.kept = self.kept.saturating_sub(size(answer));
            }
            _ => return,
        }
        self.entries.remove(id);
        self.done.retain(|done| done != id);
    }

    /// Takes no request of this number any more, as far as numbers are remembered.
    pub fn bar(&mut self, id: Id, why: Barred) {
        if self.barred.insert(id, why).is_none() {
            self.over.push_back(id);
        }
        while self.over.len() > REMEMBERED {
            if let Some(old) = self.over.pop_front() {
                self.barred.remove(&old);
            }
        }
    }

    pub fn count(&mut self, what: &'static str, n: u64) {
        *self.counts.entry(what).or_default() += n;
    }
}

/// The bytes of an answer, with what it takes to keep it.
fn size(answer: &Result<Vec<u8>, Refused>) -> usize {
    const BESIDE: usize = 256;
    BESIDE + (answer.as_ref()).map_or_else(|refused| refused.message.len(), Vec::len)
}

fn is_busy(answer: &Result<Vec<u8>, Refused>) -> bool {
    matches!(answer, Err(refused) if refused.code == BUSY)
}

fn given_up() -> Refused {
    let why = "the other parties had it, waited, and gave it up; ask anew, with a new number";
    Refused::new("missing-elsewhere", why)
}

fn reused() -> Refused {
    let why = "this number was used for another request; draw a new one";
    Refused::new("reused", why)
}
