//! What clients have sent to this party and not got back yet: bounded, by numbers that clients choose.

mod bell;
pub(super) mod declined;
mod entries;
mod turns;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use bell::Bell;
use declined::Declined;
use turns::{Account, Client};

/// The number of a request, which its client draws at random.
pub type Id = [u8; 16];

/// Numbers of requests that are over and not taken again.
const REMEMBERED: usize = 1 << 16;
/// Requests of a batch, whatever their items: its proposal has a limit of bytes.
pub(super) const REQUESTS: usize = 1024;

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
    /// Requests that may wait at a time.
    pub waiting: usize,
    /// Items of a batch, at most.
    pub batch: usize,
    /// How long a batch waits for more.
    pub wait: Duration,
    /// How long an answer is kept for who asks again.
    pub keep: Duration,
    /// Bytes of answers that are kept so, together; the oldest go first.
    pub keep_bytes: usize,
    /// How long a request may take.
    pub patience: Duration,
}

/// A request that waits.
pub(super) struct Waiting {
    client: Client,
    pub items: usize,
    pub body: Zeroizing<Vec<u8>>,
    since: Instant,
    /// The session that is agreeing on the request with the others: it stays until that round is over.
    held: Option<usize>,
    /// How often the request was proposed in vain: another party did not have it.
    tries: u32,
    /// Not before then is it proposed again.
    pause: Instant,
}

/// A request that may be in the next batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ready {
    pub id: Id,
    pub items: usize,
    /// Whether the request was never proposed, and is of a client that does not stand behind.
    pub first: bool,
    /// Whether the request is refused if a party does not have it.
    pub last: bool,
}

/// Where the time of an answered request went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// How long it waited for its batch to begin.
    pub waited: Duration,
    /// How long its batch took.
    pub computed: Duration,
}

enum Entry {
    Waiting(Waiting),
    Running {
        client: Client,
        body: blake3::Hash,
        /// How long the request has waited, and the time at which its batch began.
        waited: Duration,
        since: Instant,
    },
    Done {
        /// The life of the service in which it was.
        life: u64,
        body: blake3::Hash,
        times: Option<Times>,
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

/// Why a number is not taken again.
#[derive(Clone, Copy, Debug)]
enum Barred {
    /// A request with this number was answered or refused.
    Used,
    /// The request with this number was given up by the other parties.
    GivenUp,
}

struct Inner {
    entries: HashMap<Id, Entry>,
    /// Numbers of the requests that wait, the oldest first.
    order: VecDeque<Id>,
    over: VecDeque<Id>,
    /// Numbers of the requests whose answers are kept, the oldest first; `kept` is the bytes of these.
    done: VecDeque<Id>,
    kept: usize,
    barred: HashMap<Id, Barred>,
    declined: Declined,
    clients: HashMap<Client, Account>,
    /// Places in batches that were given out.
    turns: u64,
    door: Door,
    /// How often the door was opened.
    life: u64,
    counts: BTreeMap<&'static str, u64>,
    bell: Option<Bell>,
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
            done: VecDeque::new(),
            kept: 0,
            barred: HashMap::new(),
            declined: Declined::new(),
            clients: HashMap::new(),
            turns: 0,
            door: Door::Closed(Refused::new("not-ready", "this party is not ready yet")),
            life: 0,
            counts: BTreeMap::new(),
            bell: None,
        };
        Queue {
            inner: Mutex::new(inner),
            changed: Condvar::new(),
            limits,
        }
    }

    /// Takes a request of a client, unless there are too many. The same one again is taken once.
    pub fn submit(&self, client: &str, id: Id, items: usize, body: Vec<u8>) -> Result<(), Refused> {
        let body = Zeroizing::new(body);
        // Without the lock, for which others wait.
        let hash = blake3::hash(&body);
        let mut inner = self.lock();
        inner.expire();
        let taken = inner.take(&self.limits, client, (id, hash), items, body);
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

    /// Where the time of a request went whose answer is here.
    pub fn times(&self, id: &Id) -> Option<Times> {
        match self.lock().entries.get(id) {
            Some(Entry::Done { times, .. }) => *times,
            _ => None,
        }
    }

    /// Frees the place of a request whose client is gone, if it has not begun; whether it had not.
    pub fn forget(&self, id: &Id) -> bool {
        let mut inner = self.lock();
        let freed = match inner.entries.get(id) {
            Some(Entry::Waiting(waiting)) if waiting.held.is_none() => {
                Some((waiting.client.clone(), waiting.tries > 0))
            }
            _ => None,
        };
        if let Some((client, lacked)) = &freed {
            if *lacked {
                inner.lacked(client);
            }
            inner.entries.remove(id);
            inner.order.retain(|waits| waits != id);
            inner.count("gone", 1);
            self.changed.notify_all();
        }
        freed.is_some()
    }

    /// How many requests wait.
    pub fn waiting(&self) -> usize {
        self.lock().order.len()
    }

    /// Refuses what has waited for `grace`, if the leader has none of it: it has proposed all that it has.
    pub fn refuse_unknown(&self, proposed: &[Id], grace: Duration, why: &Refused) {
        let mut inner = self.lock();
        let now = Instant::now();
        let unknown = |id: &&Id| match inner.entries.get(*id) {
            Some(Entry::Waiting(waiting)) => {
                waiting.held.is_none() && now >= waiting.since + grace && !proposed.contains(id)
            }
            _ => false,
        };
        let ids: Vec<Id> = inner.order.iter().filter(unknown).copied().collect();
        for id in ids {
            inner.give_up(&id, why.clone(), &self.limits);
        }
        self.changed.notify_all();
    }

    /// Refuses a request that another party lacks. A share of it that comes here yet is not taken.
    pub fn give_up(&self, id: &Id, why: Refused) {
        let mut inner = self.lock();
        inner.give_up(id, why, &self.limits);
        if !inner.entries.contains_key(id) {
            inner.bar(*id, Barred::GivenUp);
        }
        self.changed.notify_all();
    }

    /// Takes requests from now on. Those of an earlier life are not taken again: another model may be served.
    pub fn open(&self) {
        let mut inner = self.lock();
        (inner.door, inner.life) = (Door::Open, inner.life + 1);
    }

    /// Takes no more requests.
    pub fn close(&self, why: Refused) {
        self.lock().door = Door::Closed(why);
        self.changed.notify_all();
    }

    /// Whether the queue takes requests.
    pub fn is_open(&self) -> bool {
        self.lock().door == Door::Open
    }

    /// Refuses all that waits or runs.
    pub fn refuse_all(&self, why: &Refused) {
        self.refuse(why, |entry| !matches!(entry, Entry::Done { .. }));
    }

    /// Refuses all that waits, and that no session is agreeing on.
    pub fn refuse_waiting(&self, why: &Refused) {
        self.refuse(
            why,
            |entry| matches!(entry, Entry::Waiting(waiting) if waiting.held.is_none()),
        );
    }

    fn refuse(&self, why: &Refused, open: impl Fn(&Entry) -> bool) {
        let mut inner = self.lock();
        let ids: Vec<Id> = (inner.entries.iter())
            .filter(|(_, entry)| open(entry))
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            inner.end(&id, Err(why.clone()), &self.limits);
        }
        self.changed.notify_all();
    }

    /// The requests that make up a session's batch, of all clients in turn, with their items and whether
    /// this is the last time that they are proposed; waits at most so long for the first, and a little for
    /// more. They are the session's until they are begun, ended or postponed.
    pub fn gather(&self, session: usize, pause: Duration, grace: Duration) -> Vec<Ready> {
        let until = Instant::now() + pause;
        let mut inner = self.lock();
        let mut first = None;
        loop {
            inner.late(&self.limits);
            let found = inner.ready(&self.limits, grace);
            let full: usize = found.iter().map(|ready| ready.items).sum();
            let now = Instant::now();
            if !found.is_empty() {
                let begun = *first.get_or_insert(now);
                if full >= self.limits.batch || now >= begun + self.limits.wait {
                    inner.took(session, &found);
                    return found;
                }
                inner = self.wait(inner, begun + self.limits.wait - now);
            } else if now >= until || inner.door != Door::Open {
                return found;
            } else {
                // Another session may have taken what there was.
                first = None;
                inner = self.wait(inner, until - now);
            }
        }
    }

    /// Whether the proposed requests make up a batch: each stands there once, and there are no more items than a batch
    /// has, or one request.
    pub fn fits(&self, proposed: impl Iterator<Item = (Id, usize)>) -> bool {
        let (mut ids, mut total) = (HashSet::new(), 0usize);
        let once = proposed.into_iter().all(|(id, items)| {
            total = total.saturating_add(items);
            ids.insert(id)
        });
        let few = ids.len() <= REQUESTS;
        once && few && (total <= self.limits.batch || ids.len() == 1)
    }

    /// Waits until all requests `ids` are here or declined, at most so long, and holds them for a session until
    /// each is begun, ended or postponed; what `look` makes of each. One that another session holds is not here.
    pub fn inspect<T>(
        &self,
        session: usize,
        ids: &[Id],
        patience: Duration,
        look: impl Fn(&Waiting) -> T,
    ) -> Vec<Option<T>> {
        let until = Instant::now() + patience;
        let mut inner = self.lock();
        loop {
            let known = |id: &Id| inner.entries.contains_key(id) || inner.declined(id).is_some();
            let here = ids.iter().all(known);
            let now = Instant::now();
            if here || now >= until {
                break;
            }
            inner = self.wait(inner, until - now);
        }
        let one = |id| match inner.entries.get_mut(id) {
            Some(Entry::Waiting(waiting)) if waiting.held.is_none_or(|held| held == session) => {
                waiting.held = Some(session);
                Some(look(waiting))
            }
            _ => None,
        };
        ids.iter().map(one).collect()
    }

    /// Takes a request out to be predicted.
    pub fn begin(&self, id: &Id) -> Option<Waiting> {
        let mut inner = self.lock();
        let running = match inner.entries.get(id) {
            Some(Entry::Waiting(waiting)) => Entry::Running {
                client: waiting.client.clone(),
                body: blake3::hash(&waiting.body),
                waited: waiting.since.elapsed(),
                since: Instant::now(),
            },
            _ => return None,
        };
        inner.order.retain(|waits| waits != id);
        match inner.entries.insert(*id, running) {
            Some(Entry::Waiting(waiting)) => Some(waiting),
            _ => None,
        }
    }

    /// Proposes a request again, after a moment that doubles with every try.
    pub fn postpone(&self, id: &Id, moment: Duration) {
        if let Some(Entry::Waiting(waiting)) = self.lock().entries.get_mut(id) {
            waiting.pause = Instant::now() + moment * (1 << waiting.tries.min(4));
            waiting.tries += 1;
            waiting.held = None;
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

#[cfg(test)]
mod tests;
