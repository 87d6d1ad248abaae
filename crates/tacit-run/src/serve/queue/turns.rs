//! Whose request is next, and whose gives way: the queue is shared out among clients.
//!
//! A batch has requests of all clients that wait, as equal in items as they fit. While there is room
//! anyone may fill the queue; once it is full, whoever holds most of it gives way to the others, with that
//! of its requests which has the highest number. Numbers are drawn at random and are the same at all
//! parties, so that parties which are full keep the same requests, and go on.
//!
//! A client that again and again sends to some parties alone stands behind the others until it has had as
//! many requests answered: those are charged.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Entry, Id, Inner, Limits, REQUESTS, Ready, Refused, Waiting};

/// A client, as this party calls it.
pub(super) type Client = Arc<str>;

/// Requests that others lacked and no answer has made up for, beyond which a client stands behind.
const FEW: u32 = 2;
/// The most requests that are counted so of a client.
const MOST: u32 = 64;

/// What is known of a client.
#[derive(Default)]
pub(super) struct Account {
    /// Number of the last place in a batch that the client had.
    turn: u64,
    /// Requests that others lacked, less those that were answered since.
    lacking: u32,
}

impl Inner {
    /// The name of a client as it is kept, once for all of its requests.
    pub fn client(&mut self, name: &str) -> Client {
        match self.clients.get_key_value(name) {
            Some((known, _)) => known.clone(),
            None => {
                let made: Client = name.into();
                self.clients.insert(made.clone(), Account::default());
                made
            }
        }
    }

    /// Notes that another party lacked a request of a client.
    pub fn lacked(&mut self, client: &Client) {
        if let Some(account) = self.clients.get_mut(client) {
            account.lacking = (account.lacking + 1).min(MOST);
        }
    }

    /// Notes that a request of a client was answered.
    pub fn answered(&mut self, client: &Client) {
        if let Some(account) = self.clients.get_mut(client) {
            account.lacking = account.lacking.saturating_sub(1);
        }
    }

    fn is_behind(&self, client: &Client) -> bool {
        let account = self.clients.get(client);
        account.is_some_and(|account| account.lacking > FEW)
    }

    /// Frees a place of the full queue for this request, or refuses it. What others were told of stays.
    pub fn make_room(&mut self, client: &Client, id: Id, limits: &Limits) -> Result<(), Refused> {
        let mut held: HashMap<Client, usize> = HashMap::from([(client.clone(), 1)]);
        for (_, waiting) in self.waiting() {
            *held.entry(waiting.client.clone()).or_default() += 1;
        }
        let own = (client.clone(), id);
        let others = self.waiting().filter(|(_, waiting)| waiting.held.is_none());
        let others = others.map(|(id, waiting)| (waiting.client.clone(), *id));
        let rank = |(whose, id): &(Client, Id)| {
            let most = held.get(whose).copied().unwrap_or(0);
            (self.is_behind(whose), most, whose == client, *id)
        };
        let (_, last) = others.max_by_key(rank).map_or(own.clone(), |other| {
            if rank(&other) > rank(&own) {
                other
            } else {
                own
            }
        });
        let refused = busy(limits);
        if last == id {
            return Err(refused);
        }
        self.end(&last, Err(refused), limits);
        Ok(())
    }

    /// The requests that make up the next batch: first what was never proposed, of clients that do not stand behind.
    pub fn ready(&self, limits: &Limits, grace: Duration) -> Vec<Ready> {
        let now = Instant::now();
        let mut found: Vec<Ready> = Vec::new();
        let (mut total, mut given) = (0, HashMap::<&Client, usize>::new());
        for first in [true, false] {
            let mut lanes: HashMap<&Client, VecDeque<Ready>> = HashMap::new();
            for (id, waiting) in self.waiting().filter(|(_, waiting)| waiting.held.is_none()) {
                let fresh = waiting.tries == 0 && !self.is_behind(&waiting.client);
                if waiting.pause <= now && fresh == first {
                    let ready = Ready {
                        id: *id,
                        items: waiting.items,
                        first,
                        last: now >= waiting.since + grace,
                    };
                    lanes.entry(&waiting.client).or_default().push_back(ready);
                }
            }
            let turn = |client: &Client| self.clients.get(client).map(|account| account.turn);
            while let Some(client) = lanes
                .keys()
                .min_by_key(|&&client| (given.get(client).copied().unwrap_or(0), turn(client)))
                .copied()
            {
                let next = lanes.get_mut(client).and_then(VecDeque::pop_front);
                let full = |items| total + items > limits.batch || found.len() >= REQUESTS;
                match next.filter(|next| found.is_empty() || !full(next.items)) {
                    Some(next) => {
                        total += next.items;
                        *given.entry(client).or_default() += next.items;
                        found.push(next);
                    }
                    None => {
                        lanes.remove(client);
                    }
                }
            }
        }
        found
    }

    /// Notes whose requests are in a session's batch: the others are before them in the next.
    pub fn took(&mut self, session: usize, batch: &[Ready]) {
        for ready in batch {
            let Some(Entry::Waiting(waiting)) = self.entries.get_mut(&ready.id) else {
                continue;
            };
            waiting.held = Some(session);
            let next = self.turns + 1;
            if let Some(account) = self.clients.get_mut(&waiting.client) {
                (account.turn, self.turns) = (next, next);
            }
        }
    }

    /// The requests that wait, the oldest first.
    fn waiting(&self) -> impl Iterator<Item = (&Id, &Waiting)> {
        let waiting = |id| match self.entries.get(id) {
            Some(Entry::Waiting(waiting)) => Some((id, waiting)),
            _ => None,
        };
        self.order.iter().filter_map(waiting)
    }
}

fn busy(limits: &Limits) -> Refused {
    let why = format!(
        "{} requests wait already; ask again in a moment",
        limits.waiting
    );
    Refused::new(BUSY, why)
}

/// The code of a request that found no place, or lost it to another client's: it may come again.
pub(super) const BUSY: &str = "busy";
