//! Requests by their numbers, from when they are taken until they are forgotten.

use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use super::{Door, Entry, Id, Inner, Limits, REMEMBERED, REQUESTS, Ready, Refused, Waiting};

impl Inner {
    pub fn take(
        &mut self,
        limits: &Limits,
        id: Id,
        items: usize,
        body: Zeroizing<Vec<u8>>,
    ) -> Result<(), Refused> {
        let hash = blake3::hash(&body);
        if let Some(entry) = self.entries.get(&id) {
            let same = match entry {
                Entry::Waiting(waiting) => blake3::hash(&waiting.body) == hash,
                Entry::Running { body } | Entry::Done { body, .. } => *body == hash,
            };
            return match same {
                true => Ok(()),
                false => Err(reused()),
            };
        }
        if self.barred.contains(&id) {
            return Err(reused());
        }
        if let Door::Closed(why) = &self.door {
            return Err(why.clone());
        }
        if self.order.len() >= limits.waiting {
            let why = format!(
                "{} requests wait already; ask again in a moment",
                limits.waiting
            );
            return Err(Refused::new("busy", why));
        }
        let now = Instant::now();
        let waiting = Waiting {
            items,
            body,
            since: now,
            held: false,
            tries: 0,
            pause: now,
        };
        self.entries.insert(id, Entry::Waiting(waiting));
        self.order.push_back(id);
        Ok(())
    }

    /// Those that make up the next batch: first what was never proposed.
    pub fn ready(&self, limits: &Limits, grace: Duration) -> Vec<Ready> {
        let now = Instant::now();
        let mut found: Vec<Ready> = Vec::new();
        let mut total = 0;
        for first in [true, false] {
            for id in &self.order {
                let Some(Entry::Waiting(waiting)) = self.entries.get(id) else {
                    continue;
                };
                if waiting.pause > now || (waiting.tries == 0) != first {
                    continue;
                }
                let full = total + waiting.items > limits.batch || found.len() >= REQUESTS;
                if !found.is_empty() && full {
                    return found;
                }
                total += waiting.items;
                found.push(Ready {
                    id: *id,
                    items: waiting.items,
                    first,
                    last: now >= waiting.since + grace,
                });
            }
        }
        found
    }

    /// Refuses what has waited for too long.
    pub fn late(&mut self, limits: &Limits) {
        let now = Instant::now();
        let late = |id: &&Id| match self.entries.get(*id) {
            Some(Entry::Waiting(waiting)) => {
                !waiting.held && now >= waiting.since + limits.patience
            }
            _ => true,
        };
        let ids: Vec<Id> = self.order.iter().filter(late).copied().collect();
        for id in ids {
            let why = "it was not taken up in time: other parties did not have it, or are busy";
            self.end(&id, Err(Refused::new("missing-elsewhere", why)), limits);
        }
    }

    pub fn end(&mut self, id: &Id, answer: Result<Vec<u8>, Refused>, limits: &Limits) {
        let body = match self.entries.get(id) {
            Some(Entry::Waiting(waiting)) => blake3::hash(&waiting.body),
            Some(Entry::Running { body }) => *body,
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
                body,
                answer,
                until,
            },
        );
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
        }
        self.bar(id);
    }

    /// Takes no request of this number any more, as far as numbers are remembered.
    pub fn bar(&mut self, id: Id) {
        if self.barred.insert(id) {
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

fn reused() -> Refused {
    let why = "this number was used for another request; draw a new one";
    Refused::new("reused", why)
}
