//! Waiting for all other parties: who has come, who has left again, who says that there will be no
//! run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::connect::{Event, Secured, Shared, keep_accepting, keep_dialling, spawn};
use super::greeting::{self, Nonce};
use super::pinned::Roster;
use super::pool::Pool;
use super::{Notice, TcpConfig, pump};
use crate::certs::fingerprint;
use crate::frame::Session;
use crate::interrupt::{self, POLL};
use crate::link::{Farewell, Link};
use crate::meeting::Meeting;
use crate::party::{LONGEST_WAIT, Party};
use crate::queue::End;
use crate::{LinkModel, NetError};

/// How long a peer is waited for before it is first mentioned, and how often it is mentioned afterwards.
const FIRST_NOTICE: Duration = Duration::from_secs(1);
const NEXT_NOTICE: Duration = Duration::from_secs(5);
/// How many connections turned away are mentioned one by one between two such notices.
const STRAYS: usize = 8;
/// How long a party that cannot run waits for the others to tell them.
const REFUSING: Duration = Duration::from_secs(15);
/// How long a party that cannot run because another has stopped waits for the others to tell them.
const RELAYING: Duration = Duration::from_secs(2);
/// How long a party that is said to have stopped may take to come and say so.
const OWN_WORD: Duration = Duration::from_secs(2);

/// The connections so far, and the threads that make them.
pub(super) struct Gathering<'a> {
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
    events: Sender<Event>,
    incoming: Receiver<Event>,
    model: LinkModel,
    timeout: Duration,
    links: Vec<Option<Link>>,
    nonces: Vec<Nonce>,
    /// The fingerprints of the certificates that the parties have shown, this party's own among them.
    shown: Vec<String>,
    /// The last failure with each party, or with whoever claimed to be it.
    last: Vec<Option<String>>,
    /// Whether that last failure was a certificate that did not fit, by party.
    unproven: Vec<bool>,
    leave: Arc<AtomicBool>,
    started: Instant,
    limit: Duration,
    next_notice: Instant,
    strays: usize,
    /// The time at which a peer first said of another that it has stopped.
    relayed: Option<Instant>,
    /// What was said to those who had come.
    said: Option<Farewell>,
    on_notice: &'a mut dyn FnMut(&Notice),
}

impl<'a> Gathering<'a> {
    /// Begins to dial and to let others in.
    pub(super) fn begin(
        config: TcpConfig,
        on_notice: &'a mut dyn FnMut(&Notice),
    ) -> Result<Self, NetError> {
        let TcpConfig {
            id,
            parties,
            identity,
            listener,
            model,
            timeout,
            connect_timeout,
            leave,
        } = config;
        let (started, n) = (Instant::now(), parties.len());
        let limit = connect_timeout.min(LONGEST_WAIT);
        let roster = Arc::new(Roster {
            id,
            parties,
            identity,
        });
        let nonce = greeting::nonce()?;
        let own = roster.identity.certificate().fingerprint();
        let (events, incoming) = channel();
        let shared = Arc::new(Shared {
            roster,
            nonce,
            until: started + limit.max(REFUSING),
            stop: AtomicBool::new(false),
            pool: Arc::new(Pool::default()),
        });
        let mut gathering = Gathering {
            shared,
            acceptor: None,
            events,
            incoming,
            model,
            timeout,
            links: (0..n).map(|_| None).collect(),
            nonces: vec![nonce; n],
            shown: vec![own; n],
            last: vec![None; n],
            unproven: vec![false; n],
            leave,
            started,
            limit,
            next_notice: started + FIRST_NOTICE,
            strays: 0,
            relayed: None,
            said: None,
            on_notice,
        };
        for party in 0..id {
            gathering.dial(party)?;
        }
        if let Some(listener) = listener.filter(|_| id + 1 < n) {
            let (shared, events) = (gathering.shared.clone(), gathering.events.clone());
            let accept = move || keep_accepting(&shared, &listener, &events);
            gathering.acceptor = Some(spawn("accept", accept)?);
        }
        Ok(gathering)
    }

    /// What reports that this party is prepared.
    pub(super) fn reporter(&self) -> Sender<Event> {
        self.events.clone()
    }

    /// Whether all others are there.
    pub(super) fn complete(&self) -> bool {
        self.missing().next().is_none()
    }

    /// Waits for the next event, or a moment; an error if there will be no run.
    pub(super) fn step(&mut self) -> Result<(), NetError> {
        if let Ok(event) = self.incoming.recv_timeout(POLL) {
            self.hear(event)?;
        }
        if self.leaves() {
            return Err(NetError::Interrupted);
        }
        self.look()?;
        self.tick()
    }

    /// Whether this party waits no longer.
    fn leaves(&self) -> bool {
        interrupt::raised() || self.leave.load(Ordering::Relaxed)
    }

    /// The party among all others, which have come.
    pub(super) fn party(mut self) -> Party {
        let session = self.session();
        for link in self.links.iter_mut().flatten() {
            link.begin(session);
        }
        let meeting = Meeting::new(&session, std::mem::take(&mut self.shown));
        let mut party = self.so_far();
        party.has_met(meeting);
        party
    }

    /// Tells the others why there will be no run: those who have come and, unless this party's time
    /// is over, those who come soon.
    pub(super) fn give_up(mut self, error: &NetError) {
        let said = self.said.take();
        let said = said.unwrap_or_else(|| Farewell::Words(error.to_string()));
        let (other, limit) = match error {
            NetError::Interrupted => return drop(self.so_far().interrupted()),
            NetError::PeerLost { party, .. } => (Some(*party), RELAYING),
            error if between(error).is_some() => (between(error), REFUSING),
            _ => (None, Duration::ZERO),
        };
        self.tell(other, &error.to_string(), said, limit);
    }

    /// Tells the others, also those who come soon, why this party cannot run: `own` for itself.
    pub(super) fn refuse(self, own: &str, told: &str) {
        self.tell(None, own, Farewell::Words(told.to_string()), REFUSING);
    }

    /// Says farewell to those who have come, and for some time to those who come; not to `known`.
    fn tell(mut self, known: Option<usize>, own: &str, said: Farewell, limit: Duration) {
        let limit = limit.min(self.limit);
        let (started, mut mentioned) = (Instant::now(), false);
        let mut left: Vec<usize> = self.missing().filter(|p| Some(*p) != known).collect();
        let mut tellers = Vec::new();
        loop {
            left.retain(|&party| self.links[party].is_none());
            if self.links.iter().any(Option::is_some) {
                let mut party = self.so_far();
                party.say(said.clone());
                // It waits until they have heard it.
                tellers.extend(spawn("tell", move || drop(party)));
            }
            let waited = started.elapsed();
            if left.is_empty() || waited >= limit || self.leaves() {
                break;
            }
            if waited >= FIRST_NOTICE.min(limit) && !mentioned {
                mentioned = true;
                let why = own.to_string();
                (self.on_notice)(&Notice::Refusing { why, limit });
            }
            match self.incoming.recv_timeout(POLL) {
                Ok(Event::Connected(party, end)) => {
                    // A connection that is broken already has nobody to be told.
                    let _ = self.connected(party, *end);
                }
                Ok(Event::Final(error)) => left.retain(|party| Some(*party) != between(&error)),
                _ => {}
            }
        }
        for teller in tellers {
            let _ = teller.join();
        }
    }

    /// A party with the links that there are; this gathering has none from now on.
    fn so_far(&mut self) -> Party {
        let none = (0..self.links.len()).map(|_| None).collect();
        let links = std::mem::replace(&mut self.links, none);
        Party::new(self.shared.roster.id, links, self.model, self.timeout)
    }

    /// The session of this run. It is fresh if one party's nonce is. If a party told different
    /// nonces to different parties, the first frame shows it.
    fn session(&self) -> Session {
        let mut hasher = blake3::Hasher::new_derive_key("tacit-net session");
        for nonce in &self.nonces {
            hasher.update(nonce);
        }
        let mut session = Session::default();
        hasher.finalize_xof().fill(&mut session);
        session
    }

    fn dial(&self, party: usize) -> Result<(), NetError> {
        let (shared, events) = (self.shared.clone(), self.events.clone());
        spawn("dial", move || keep_dialling(&shared, party, &events)).map(drop)
    }

    fn missing(&self) -> impl Iterator<Item = usize> {
        let id = self.shared.roster.id;
        self.links
            .iter()
            .enumerate()
            .filter(move |(p, end)| *p != id && end.is_none())
            .map(|(p, _)| p)
    }

    fn hear(&mut self, event: Event) -> Result<(), NetError> {
        match event {
            Event::Connected(party, end) => self.connected(party, *end)?,
            Event::NotYet(party, why) => self.last[party] = Some(why),
            Event::Stray(address, why, claimed) => self.stray(address, why, claimed),
            Event::Final(error) => return Err(error),
            Event::Prepared => {}
        }
        Ok(())
    }

    /// A second connection of one party means that it gave up the first.
    fn connected(&mut self, party: usize, end: Secured) -> Result<(), NetError> {
        self.nonces[party] = end.nonce;
        let chain = end.tls.peer_certificates();
        // Who showed none was turned away in the greeting.
        let print = chain.and_then(<[_]>::first).map(|der| fingerprint(der));
        self.shown[party] = print.unwrap_or_default();
        let (out, queue) = pump::start(end)?;
        let link = Link::new(Box::new(out), queue, Session::default(), self.model);
        self.links[party] = Some(link);
        Ok(())
    }

    fn stray(&mut self, address: String, why: String, claimed: Option<usize>) {
        let seen = format!("{address} was turned away: {why}");
        match claimed {
            Some(party) => (self.last[party], self.unproven[party]) = (Some(seen), true),
            None => {
                for party in self.shared.roster.id + 1..self.last.len() {
                    if !self.unproven[party] {
                        self.last[party] = Some(seen.clone());
                    }
                }
            }
        }
        self.strays += 1;
        if self.strays <= STRAYS {
            (self.on_notice)(&Notice::Stray { address, why });
        }
    }

    /// Looks whether one that had come has left.
    fn look(&mut self) -> Result<(), NetError> {
        for party in 0..self.links.len() {
            let Some(link) = &self.links[party] else {
                continue;
            };
            let ended = link.queue.ended();
            if let Some(said) = link.queue.farewell() {
                if self.waits_for_own_word(&said) {
                    continue;
                }
                let mut so_far = self.so_far();
                let error = so_far.gone(party, "connect");
                self.said = so_far.said().cloned();
                return Err(error);
            }
            if let Some(end) = ended {
                let why = match end {
                    End::Broken(why) => why,
                    End::Closed => "it closed the link".into(),
                    End::Fault(fault) => fault.to_string(),
                };
                self.last[party] = Some(format!("it came and left again: {why}"));
                self.links[party] = None;
                let name = self.shared.roster.parties[party].name.clone();
                (self.on_notice)(&Notice::Left { party, name, why });
                if party < self.shared.roster.id {
                    self.dial(party)?;
                }
            }
        }
        Ok(())
    }

    /// Whether to wait because a peer says that a party which has not come yet has stopped: that
    /// party may still come to say so itself.
    fn waits_for_own_word(&mut self, said: &Farewell) -> bool {
        let Farewell::Because { party, .. } = said else {
            return false;
        };
        let absent =
            *party != self.shared.roster.id && matches!(self.links.get(*party), Some(None));
        let since = *self.relayed.get_or_insert_with(Instant::now);
        absent && since.elapsed() < OWN_WORD
    }

    fn tick(&mut self) -> Result<(), NetError> {
        let now = Instant::now();
        let waited = now - self.started;
        let missing: Vec<usize> = self.missing().collect();
        let roster = self.shared.roster.clone();
        let of = |party: usize| {
            let peer = &roster.parties[party];
            (peer.name.clone(), peer.address.clone())
        };
        if let Some(&party) = missing.first()
            && waited >= self.limit
        {
            let (name, address) = of(party);
            let last = self.last[party].clone();
            return Err(match last {
                Some(why) if self.unproven[party] => NetError::Unproven {
                    party,
                    name,
                    address,
                    waited,
                    why,
                },
                last => NetError::Absent {
                    party,
                    name,
                    address,
                    waited,
                    last,
                },
            });
        }
        if now < self.next_notice {
            return Ok(());
        }
        self.next_notice = now + NEXT_NOTICE;
        if self.strays > STRAYS {
            let more = self.strays - STRAYS;
            (self.on_notice)(&Notice::Strays { more });
        }
        self.strays = 0;
        for party in missing {
            let (name, address) = of(party);
            (self.on_notice)(&Notice::Waiting {
                party,
                name,
                address,
                waited,
                limit: self.limit,
            });
        }
        Ok(())
    }
}

/// The one other party that an error concerns, if any: that party knows of it already.
fn between(error: &NetError) -> Option<usize> {
    match error {
        NetError::Refused { party, .. }
        | NetError::RefusedByPeer { party, .. }
        | NetError::Disagreement { party, .. } => Some(*party),
        _ => None,
    }
}

impl Drop for Gathering<'_> {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // The port is free again when this is gone.
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}
