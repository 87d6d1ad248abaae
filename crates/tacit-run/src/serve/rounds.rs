//! Rounds of a service: the parties agree which requests they predict together, or that there are none.
//!
//! Party 0 leads. In every round it tells the others one word: that there is a batch, that it waits (or
//! that other sessions work), or that it ends; while it waits each of the others answers whether it stays. Of a batch it proposes
//! numbers and items of requests; every party says to all which of them it has, with hashes of what
//! another holds, too (parts of the input, or secrets of its client); all compare all of this before any share is used. So a party that tells two others
//! different batches is found out, and shares of a client that contradict each other are refused alone.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tacit_client::Scheme;
use tacit_net::{NetError, Party, interrupt};

use super::queue::declined::{CODE, is_code};
use super::queue::{Id, Queue, Ready, Refused};
use crate::Error;
use crate::agreement::Agreement;

const LEADER: usize = 0;
const STEP: &str = "service round";
const BATCH: &str = "service batch";
const HELD: &str = "service shares";

/// The leader's words.
const COMES: &[u8] = b"batch";
const WAITS: &[u8] = b"waits";
const OVER: &[u8] = b"over";
const FILLS: &[u8] = b"fills";
/// The word of the leader that waits, as `WAITS`, while other sessions have work.
const WORKS: &[u8] = b"works";
/// What the others answer the leader's `WAITS` and `WORKS`: that they stay, or leave.
const STAYS: &[u8] = b"stays";
const LEAVES: &[u8] = b"leaves";

/// How often the leader says that it waits.
const PING: Duration = Duration::from_millis(500);
/// How long the leader looks for requests at a time, and how long while there is material to make.
const PAUSE: Duration = Duration::from_millis(100);
const SOON: Duration = Duration::from_millis(10);
/// How long a party waits for the shares of a batch that its clients may be sending.
const ARRIVAL: Duration = Duration::from_millis(20);
/// How long a request that another party lacks is proposed again, and after which pause.
const GRACE: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_millis(20);
/// The most messages that a leader may not have taken when it says the next word.
const UNSENT: usize = 64;
/// The most bytes of what a party says of a batch: beside requests, of a request, and of a part that another holds, a
/// hash with its number.
const ANSWER: usize = 64;
const HELD_REQUEST: usize = 64 + CODE;
const HELD_PART: usize = 80;
/// The most bytes of a proposed batch.
const MOST: usize = 1 << 20;

/// What the parties do next.
pub(super) enum Round {
    /// The parties predict these requests together.
    Batch(Vec<Id>),
    /// Make material for what will be asked.
    Fill,
    /// Nothing is asked, or nothing that all have.
    Nothing,
    /// The service ends.
    Over,
}

/// A request as the leader proposes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Proposed {
    id: Id,
    items: usize,
    /// Whether the request was never proposed: its shares may be on their way.
    first: bool,
    /// Whether the request is refused if a party does not have it.
    last: bool,
}

/// A batch as the leader proposes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Proposal {
    requests: Vec<Proposed>,
    /// Whether nothing else waits at the leader.
    all: bool,
}

/// What a party says of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    /// Whether the party takes no more requests.
    leaves: bool,
    /// What the party has of each request of the batch, in their order.
    held: Vec<Held>,
}

/// What a party says of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Held {
    /// Whether the party has a share of as many items as were proposed.
    has: bool,
    /// The hashes of what another party holds, too, by the number of the part.
    hashes: Vec<(usize, String)>,
    /// The code by which the party's policy does not allow the request.
    declined: Option<String>,
}

/// Material that lies ready: every party makes and uses it at the same rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pool {
    /// How often material lies ready, at most.
    pub most: usize,
    /// Items that each time of the material is for.
    pub items: usize,
    /// How often material was made; `used` says how often it was used.
    pub made: u64,
    pub used: u64,
}

impl Pool {
    /// How often material lies ready now.
    pub fn ready(&self) -> usize {
        (self.made - self.used) as usize
    }

    /// Takes what `items` items use; how often that is.
    pub fn take(&mut self, items: usize) -> usize {
        let times = items.div_ceil(self.items.max(1)).min(self.ready());
        self.used += times as u64;
        times
    }
}

/// One party's side of the rounds.
pub(super) struct Rounds<'a> {
    pub queue: &'a Queue,
    /// Which session of the model this is, and of how many.
    pub session: (usize, usize),
    pub scheme: Scheme,
    /// The number of the last batch, from 1 in every life.
    pub number: u64,
    /// The time at which the leader last said that it waits.
    pub told: Instant,
    pub pool: Pool,
    /// A mutant that does not compare what it heard.
    #[cfg(test)]
    pub forgets: bool,
    /// What a leader that lies tells the last party instead of its proposal.
    #[cfg(test)]
    pub lies: Option<crate::agreement::Lie>,
}

impl Rounds<'_> {
    /// The next round.
    pub fn next(&mut self, party: &mut Party) -> Result<Round, Error> {
        party.set_layer(STEP);
        match party.id() == LEADER {
            true => self.lead(party),
            false => self.follow(party),
        }
    }

    fn lead(&mut self, party: &mut Party) -> Result<Round, Error> {
        if interrupt::raised() {
            return Err(party.interrupted().into());
        }
        let lacks = self.pool.ready() < self.pool.most;
        let found = (self.queue).gather(self.session.0, if lacks { SOON } else { PAUSE }, GRACE);
        if !found.is_empty() {
            tell(party, COMES)?;
            let all = self.queue.waiting() == found.len();
            let one = |ready: Ready| Proposed {
                id: ready.id,
                items: ready.items,
                first: ready.first,
                last: ready.last,
            };
            let requests = found.into_iter().map(one).collect();
            return self.agree(party, Some(Proposal { requests, all }));
        }
        if !self.queue.is_open() {
            tell(party, OVER)?;
            return Ok(Round::Over);
        }
        if lacks {
            tell(party, FILLS)?;
            self.pool.made += 1;
            return Ok(Round::Fill);
        }
        // Who hears that this party waits takes it that nothing is left here, a request that is postponed
        // included; that one comes again sooner than anybody misses the word, unless to another session.
        let waits = self.queue.waiting() > 0;
        let alone = self.session.1 == 1;
        if self.told.elapsed() < PING || (waits && alone) {
            return Ok(Round::Nothing);
        }
        self.told = Instant::now();
        tell(party, if waits { WORKS } else { WAITS })?;
        for peer in (0..party.parties()).filter(|&peer| peer != LEADER) {
            match &party.recv_at_most(peer, STEP, LEAVES.len())?[..] {
                STAYS => {}
                LEAVES => self.queue.close(leaving(peer)),
                _ => return Err(malformed(party, peer, STEP)),
            }
        }
        Ok(Round::Nothing)
    }

    fn follow(&mut self, party: &mut Party) -> Result<Round, Error> {
        party.wait_until_sent(LEADER, STEP, UNSENT)?;
        match &party.recv_at_most(LEADER, STEP, COMES.len())?[..] {
            COMES => self.agree(party, None),
            OVER => Ok(Round::Over),
            FILLS if self.pool.ready() < self.pool.most => {
                self.pool.made += 1;
                Ok(Round::Fill)
            }
            word @ (WAITS | WORKS) => {
                if word == WAITS {
                    self.queue.refuse_unknown(&[], GRACE, &missing(LEADER));
                }
                let word = if self.queue.is_open() { STAYS } else { LEAVES };
                party.send(LEADER, STEP, word.to_vec())?;
                Ok(Round::Nothing)
            }
            _ => Err(malformed(party, LEADER, STEP)),
        }
    }

    /// Agrees on a batch; the leader passes what it proposes.
    fn agree(&mut self, party: &mut Party, own: Option<Proposal>) -> Result<Round, Error> {
        self.number += 1;
        let (us, parties) = (party.id(), party.parties());
        let mut agreement = Agreement::new(party);
        #[cfg(test)]
        {
            agreement.forgets = self.forgets;
            agreement.lies = self.lies;
        }
        let told = own.map(|proposal| serde_json::to_vec(&proposal).unwrap_or_default());
        let words = agreement.announced(LEADER, BATCH, told, MOST)?;
        let malformed = |party| Error::Malformed { party, what: BATCH };
        let proposal: Proposal = serde_json::from_slice(&words).map_err(|_| malformed(LEADER))?;
        let proposed = &proposal.requests;
        if !self
            .queue
            .fits(proposed.iter().map(|request| (request.id, request.items)))
        {
            return Err(malformed(LEADER));
        }
        let own = Answer {
            leaves: !self.queue.is_open(),
            held: self.held(us, proposed),
        };
        let own = serde_json::to_vec(&own).map_err(|_| malformed(us))?;
        let most = most_said(proposed.len(), parties);
        let answers: Vec<Answer> = agreement.exchanged_within(HELD, own, most)?;
        let material = format!("{} made, {} used", self.pool.made, self.pool.used);
        agreement.conclude(&[
            ("number of the batch", self.number.to_string()),
            ("material from beforehand", material),
        ])?;
        let sound = |answer: &Answer| {
            let mut codes = answer
                .held
                .iter()
                .filter_map(|held| held.declined.as_deref());
            answer.held.len() == proposed.len() && codes.all(is_code)
        };
        if let Some(party) = answers.iter().position(|answer| !sound(answer)) {
            return Err(malformed(party));
        }
        if let Some(peer) = answers
            .iter()
            .position(|a| a.leaves)
            .filter(|_| us == LEADER)
        {
            self.queue.close(leaving(peer));
        }
        if proposal.all {
            let ids: Vec<Id> = proposed.iter().map(|request| request.id).collect();
            self.queue.refuse_unknown(&ids, GRACE, &missing(LEADER));
        }
        let mut batch = Vec::new();
        for (i, request) in proposed.iter().enumerate() {
            let words: Vec<&Held> = answers.iter().map(|a| &a.held[i]).collect();
            match self.judge(&words) {
                Verdict::Declined(party, code) => {
                    self.queue.give_up(&request.id, declined(party, &code));
                }
                Verdict::Good => batch.push(request.id),
                Verdict::Contradictory => self.queue.end(&request.id, Err(contradictory())),
                Verdict::Missing(party) if request.last => {
                    self.queue.give_up(&request.id, missing(party));
                }
                Verdict::Missing(_) => self.queue.postpone(&request.id, AGAIN),
            }
        }
        Ok(match batch.is_empty() {
            true => Round::Nothing,
            false => Round::Batch(batch),
        })
    }

    /// What this party has of a batch.
    fn held(&self, us: usize, proposed: &[Proposed]) -> Vec<Held> {
        let ids: Vec<Id> = proposed.iter().map(|request| request.id).collect();
        let fresh = proposed.iter().any(|request| request.first);
        let patience = if fresh { ARRIVAL } else { Duration::ZERO };
        let found = self
            .queue
            .inspect(self.session.0, &ids, patience, |waiting| {
                let common = self.scheme.common(us, &waiting.body);
                let hashes = common
                    .iter()
                    .map(|(part, bytes)| (*part, hash(*part, bytes)));
                (waiting.items, hashes.collect::<Vec<_>>())
            });
        let each = found.into_iter().zip(proposed);
        let one = |(found, request): (Option<(usize, Vec<_>)>, &Proposed)| match found {
            Some((items, hashes)) if items == request.items => Held {
                has: true,
                hashes,
                declined: None,
            },
            _ => Held {
                has: false,
                hashes: Vec::new(),
                declined: self.queue.declined(&request.id),
            },
        };
        each.map(one).collect()
    }

    /// Whether all have a request, and of one client: both holders of each part the same of it.
    fn judge(&self, held: &[&Held]) -> Verdict {
        let mut codes = held.iter().map(|held| held.declined.as_deref());
        if let Some(party) = codes.position(|code| code.is_some()) {
            let code = held[party].declined.clone();
            return Verdict::Declined(party, code.unwrap_or_default());
        }
        if let Some(party) = held.iter().position(|held| !held.has) {
            return Verdict::Missing(party);
        }
        let same = self.scheme.twice().into_iter().all(|(part, holders)| {
            let of = |party: usize| {
                let hashes = held.get(party)?.hashes.iter();
                hashes.clone().find(|(number, _)| *number == part)
            };
            matches!(holders.map(of), [Some(one), Some(other)] if one == other)
        });
        match same {
            true => Verdict::Good,
            false => Verdict::Contradictory,
        }
    }
}

/// What the parties find of a request.
enum Verdict {
    Good,
    /// This party's policy does not allow it, by this code.
    Declined(usize, String),
    /// This party does not have it.
    Missing(usize),
    /// Two holders have different copies of a part.
    Contradictory,
}

/// The most bytes that a party says of so many requests.
fn most_said(requests: usize, parties: usize) -> usize {
    ANSWER + requests * (HELD_REQUEST + parties * HELD_PART)
}

/// A part's hash. Its salt, which stands before the words, is known to its holders alone.
fn hash(part: usize, bytes: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("tacit: a part of a client's input");
    hasher.update(&(part as u64).to_le_bytes()).update(bytes);
    hasher.finalize().to_hex().to_string()
}

fn tell(party: &mut Party, word: &[u8]) -> Result<(), NetError> {
    for peer in (0..party.parties()).filter(|&peer| peer != LEADER) {
        party.send(peer, STEP, word.to_vec())?;
    }
    Ok(())
}

fn malformed(party: &mut Party, from: usize, what: &'static str) -> Error {
    let error = Error::Malformed { party: from, what };
    error.tell(party);
    error
}

fn leaving(party: usize) -> Refused {
    let why = format!("party {party} takes no more requests; ask again when it is back");
    Refused::new("draining", why)
}

fn missing(party: usize) -> Refused {
    let why = format!(
        "party {party} did not have this request within {} s, or had it with another number of items; send \
         every party its share under the same number",
        GRACE.as_secs()
    );
    Refused::new("missing-elsewhere", why)
}

fn declined(party: usize, code: &str) -> Refused {
    let why =
        format!("party {party} does not allow this request ({code}); its own answer says more");
    Refused::new("declined-elsewhere", why)
}

fn contradictory() -> Refused {
    let why = "what two parties have of this input is not the same, so it was not used; share the input anew";
    Refused::new("inconsistent", why)
}

/// A proposal of which the first request has another number.
#[cfg(test)]
pub(super) fn of_another_request(words: &[u8]) -> Vec<u8> {
    let mut proposal: Proposal = serde_json::from_slice(words).expect("a proposal");
    proposal.requests[0].id[0] ^= 1;
    serde_json::to_vec(&proposal).expect("JSON")
}

#[cfg(test)]
mod tests;
