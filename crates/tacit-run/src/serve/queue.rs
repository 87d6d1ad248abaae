//! What clients have sent to this party and not got back yet: bounded, by numbers that clients choose.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

/// The number of a request, which its client draws at random.
pub type Id = [u8; 16];

/// Numbers of requests that are over and not taken again.
const REMEMBERED: usize = 1 << 16;

/// Why a request is not taken, or not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// A word for programs.
    pub code: &'static str,
    /// What happened and what to do.
    pub message: String,
}

impl Refused {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Refused { code, message }
    }
}

/// How much is kept, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Requests that wait.
    pub waiting: usize,
    /// Items of a batch.
    pub batch: usize,
    /// How long a batch waits for more.
    pub wait: Duration,
    /// How long an answer is kept for who asks again.
    pub keep: Duration,
    /// How long a request may take.
    pub patience: Duration,
}

/// A request that waits.
pub(super) struct Waiting {
    pub items: usize,
    pub body: Zeroizing<Vec<u8>>,
    since: Instant,
    /// Not before then is it proposed again: another party did not have it.
    pause: Instant,
}

enum Entry {
    Waiting(Waiting),
    Running {
        body: blake3::Hash,
    },
    Done {
        body: blake3::Hash,
        answer: Result<Vec<u8>, Refused>,
        until: Instant,
    },
}

/// Whether requests are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Door {
    Open,
    Closed(Refused),
}

struct Inner {
    entries: HashMap<Id, Entry>,
    /// Those that wait, the oldest first.
    order: VecDeque<Id>,
    over: VecDeque<Id>,
    door: Door,
    counts: BTreeMap<&'static str, u64>,
}

/// Requests of clients at one party.
pub(super) struct Queue {
    inner: Mutex<Inner>,
    changed: Condvar,
    limits: Limits,
}

impl Queue {
    pub fn new(limits: Limits) -> Self {
        let inner = Inner {
            entries: HashMap::new(),
            order: VecDeque::new(),
            over: VecDeque::new(),
            door: Door::Closed(Refused::new("not-ready", "this party is not ready yet")),
            counts: BTreeMap::new(),
        };
        Queue {
            inner: Mutex::new(inner),
            changed: Condvar::new(),
            limits,
        }
    }

    /// Takes a request, unless there are too many. The same one again is taken once.
    pub fn submit(&self, id: Id, items: usize, body: Vec<u8>) -> Result<(), Refused> {
        let body = Zeroizing::new(body);
        let mut inner = self.lock();
        inner.expire();
        let taken = inner.take(&self.limits, id, items, body);
        if let Err(refused) = &taken {
            inner.count(refused.code, 1);
        }
        self.changed.notify_all();
        taken
    }

    /// Waits for the answer to a request; `None` where there is none yet.
    pub fn answer(&self, id: &Id, patience: Duration) -> Option<Result<Vec<u8>, Refused>> {
        let until = Instant::now() + patience;
        let mut inner = self.lock();
        loop {
            inner.late(&self.limits);
            match inner.entries.get(id) {
                Some(Entry::Done { answer, .. }) => return Some(answer.clone()),
                None => {
                    let why = "this party has no such request, or has forgotten it; ask anew";
                    return Some(Err(Refused::new("unknown", why)));
                }
                _ => {}
            }
            let left = until.checked_duration_since(Instant::now())?;
            inner = self.wait(inner, left);
        }
    }

    /// Frees the place of a request whose client is gone, if it has not begun.
    pub fn forget(&self, id: &Id) {
        let mut inner = self.lock();
        if matches!(inner.entries.get(id), Some(Entry::Waiting(_))) {
            inner.end(
                id,
                Err(Refused::new("gone", "its client has left")),
                &self.limits,
            );
        }
    }

    /// Takes requests from now on.
    pub fn open(&self) {
        self.lock().door = Door::Open;
    }

    /// Takes no more requests.
    pub fn close(&self, why: Refused) {
        self.lock().door = Door::Closed(why);
        self.changed.notify_all();
    }

    /// Whether it takes requests.
    pub fn is_open(&self) -> bool {
        self.lock().door == Door::Open
    }

    /// Refuses all that waits or runs.
    pub fn refuse_all(&self, why: &Refused) {
        let mut inner = self.lock();
        let open = |entry: &Entry| !matches!(entry, Entry::Done { .. });
        let ids: Vec<Id> = (inner.entries.iter())
            .filter(|(_, entry)| open(entry))
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            inner.end(&id, Err(why.clone()), &self.limits);
        }
        self.changed.notify_all();
    }

    /// The oldest requests that make up a batch, with their items and whether this is the last time that
    /// they are proposed; waits at most so long for the first, and a little for more.
    pub fn gather(&self, pause: Duration, grace: Duration) -> Vec<(Id, usize, bool)> {
        let until = Instant::now() + pause;
        let mut inner = self.lock();
        let mut first = None;
        loop {
            inner.late(&self.limits);
            let found = inner.ready(&self.limits, grace);
            let full: usize = found.iter().map(|(_, items, _)| items).sum();
            let now = Instant::now();
            if !found.is_empty() {
                let begun = *first.get_or_insert(now);
                if full >= self.limits.batch || now >= begun + self.limits.wait {
                    return found;
                }
                inner = self.wait(inner, begun + self.limits.wait - now);
            } else if now >= until || inner.door != Door::Open {
                return found;
            } else {
                inner = self.wait(inner, until - now);
            }
        }
    }

    /// Waits until all of these are here, at most so long; of each its items and what `look` makes of it.
    pub fn inspect<T>(
        &self,
        ids: &[Id],
        patience: Duration,
        look: impl Fn(&Waiting) -> T,
    ) -> Vec<Option<T>> {
        let until = Instant::now() + patience;
        let mut inner = self.lock();
        loop {
            let here = ids.iter().all(|id| inner.entries.contains_key(id));
            let now = Instant::now();
            if here || now >= until {
                break;
            }
            inner = self.wait(inner, until - now);
        }
        let one = |id| match inner.entries.get(id) {
            Some(Entry::Waiting(waiting)) => Some(look(waiting)),
            _ => None,
        };
        ids.iter().map(one).collect()
    }

    /// Takes a request out to be predicted.
    pub fn begin(&self, id: &Id) -> Option<Waiting> {
        let mut inner = self.lock();
        let body = match inner.entries.get(id) {
            Some(Entry::Waiting(waiting)) => blake3::hash(&waiting.body),
            _ => return None,
        };
        inner.order.retain(|waits| waits != id);
        match inner.entries.insert(*id, Entry::Running { body }) {
            Some(Entry::Waiting(waiting)) => Some(waiting),
            _ => None,
        }
    }

    /// Proposes a request again, after a moment.
    pub fn postpone(&self, id: &Id, moment: Duration) {
        if let Some(Entry::Waiting(waiting)) = self.lock().entries.get_mut(id) {
            waiting.pause = Instant::now() + moment;
        }
    }

    /// What became of a request.
    pub fn end(&self, id: &Id, answer: Result<Vec<u8>, Refused>) {
        self.lock().end(id, answer, &self.limits);
        self.changed.notify_all();
    }

    /// Requests and their items that wait, requests that run, and all that were counted by what became
    /// of them.
    pub fn levels(&self) -> (usize, usize, usize, BTreeMap<&'static str, u64>) {
        let mut inner = self.lock();
        inner.late(&self.limits);
        let (mut items, mut running) = (0, 0);
        for entry in inner.entries.values() {
            match entry {
                Entry::Waiting(waiting) => items += waiting.items,
                Entry::Running { .. } => running += 1,
                Entry::Done { .. } => {}
            }
        }
        (inner.order.len(), items, running, inner.counts.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn wait<'a>(&self, inner: MutexGuard<'a, Inner>, most: Duration) -> MutexGuard<'a, Inner> {
        let waited = self.changed.wait_timeout(inner, most);
        waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0
    }
}

impl Inner {
    fn take(
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
        if self.over.contains(&id) {
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
            pause: now,
        };
        self.entries.insert(id, Entry::Waiting(waiting));
        self.order.push_back(id);
        Ok(())
    }

    /// Those that make up the next batch.
    fn ready(&self, limits: &Limits, grace: Duration) -> Vec<(Id, usize, bool)> {
        let now = Instant::now();
        let mut found: Vec<(Id, usize, bool)> = Vec::new();
        let mut total = 0;
        for id in &self.order {
            let Some(Entry::Waiting(waiting)) = self.entries.get(id) else {
                continue;
            };
            if waiting.pause > now {
                continue;
            }
            if !found.is_empty() && total + waiting.items > limits.batch {
                break;
            }
            total += waiting.items;
            found.push((*id, waiting.items, now >= waiting.since + grace));
        }
        found
    }

    /// Refuses what has waited for too long.
    fn late(&mut self, limits: &Limits) {
        let now = Instant::now();
        let late = |id: &&Id| match self.entries.get(*id) {
            Some(Entry::Waiting(waiting)) => now >= waiting.since + limits.patience,
            _ => true,
        };
        let ids: Vec<Id> = self.order.iter().filter(late).copied().collect();
        for id in ids {
            let why = "it was not taken up in time: other parties did not have it, or are busy";
            self.end(&id, Err(Refused::new("missing-elsewhere", why)), limits);
        }
    }

    fn end(&mut self, id: &Id, answer: Result<Vec<u8>, Refused>, limits: &Limits) {
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
        self.entries.insert(
            *id,
            Entry::Done {
                body,
                answer,
                until,
            },
        );
        self.expire();
    }

    /// Forgets answers that were kept for long enough, but not their numbers.
    fn expire(&mut self) {
        let now = Instant::now();
        let old = |entry: &Entry| matches!(entry, Entry::Done { until, .. } if *until <= now);
        let ids: Vec<Id> = (self.entries.iter())
            .filter(|(_, entry)| old(entry))
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            self.entries.remove(&id);
            self.over.push_back(id);
        }
        let more = self.over.len().saturating_sub(REMEMBERED);
        self.over.drain(..more);
    }

    fn count(&mut self, what: &'static str, n: u64) {
        *self.counts.entry(what).or_default() += n;
    }
}

fn reused() -> Refused {
    let why = "this number was used for another request; draw a new one";
    Refused::new("reused", why)
}

#[cfg(test)]
mod tests;
