//! Finding all other parties: dialling some, letting others in, waiting for both.

use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustls::Connection;

use super::Notice;
use super::greeting::{self, Failure, Nonce};
use super::pinned::Roster;
use crate::NetError;

/// When a peer that is not there yet is first mentioned, and how often afterwards.
const FIRST_NOTICE: Duration = Duration::from_secs(1);
const NEXT_NOTICE: Duration = Duration::from_secs(5);
/// How long one TCP connection may take to come about.
const TCP_TIME: Duration = Duration::from_secs(5);
/// How long who came in may take to greet; who was dialled may still be starting.
const KNOCK_TIME: Duration = Duration::from_secs(10);
const DIAL_TIME: Duration = Duration::from_secs(30);
/// Pauses between dials: the first, growing to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(1);
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
/// Greetings at one time; more come only from who means no good.
const MAX_GREETINGS: usize = 64;

/// One end of an authenticated connection, and the nonce of the other.
pub(crate) struct Secured {
    pub(crate) tls: Connection,
    pub(crate) stream: TcpStream,
    pub(crate) nonce: Nonce,
}

enum Event {
    Connected(usize, Box<Secured>),
    /// A dial failed and will be tried again.
    NotYet(usize, String),
    Stray(String, String),
    Final(NetError),
}

/// What dialling and accepting threads share.
struct Shared {
    roster: Arc<Roster>,
    nonce: Nonce,
    until: Instant,
    stop: AtomicBool,
    greetings: AtomicUsize,
}

/// Connects with every other party within `limit`.
pub(crate) fn all(
    roster: &Arc<Roster>,
    listener: Option<TcpListener>,
    nonce: Nonce,
    limit: Duration,
    on_notice: &mut dyn FnMut(&Notice),
) -> Result<Vec<Option<Secured>>, NetError> {
    let started = Instant::now();
    let shared = Arc::new(Shared {
        roster: roster.clone(),
        nonce,
        until: started + limit,
        stop: AtomicBool::new(false),
        greetings: AtomicUsize::new(0),
    });
    let (events, incoming) = channel();
    for party in 0..roster.id {
        let (shared, events) = (shared.clone(), events.clone());
        spawn("dial", move || keep_dialling(&shared, party, &events))?;
    }
    let acceptor = match listener {
        Some(listener) if roster.id + 1 < roster.parties.len() => {
            let (shared, events) = (shared.clone(), events.clone());
            Some(spawn("accept", move || {
                keep_accepting(&shared, &listener, &events)
            })?)
        }
        _ => None,
    };
    let mut waiting = Waiting::new(roster, started, limit);
    let outcome = loop {
        if waiting.complete() {
            break Ok(waiting.connected);
        }
        match incoming.recv_timeout(
            waiting
                .next_moment()
                .saturating_duration_since(Instant::now()),
        ) {
            Ok(event) => {
                if let Err(error) = waiting.hear(event, on_notice) {
                    break Err(error);
                }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                if let Err(error) = waiting.tick(on_notice) {
                    break Err(error);
                }
            }
        }
    };
    shared.stop.store(true, Ordering::Relaxed);
    // The port is free again when this returns.
    if let Some(acceptor) = acceptor {
        let _ = acceptor.join();
    }
    outcome
}

/// Who has come so far.
struct Waiting<'a> {
    roster: &'a Roster,
    connected: Vec<Option<Secured>>,
    /// The last that was seen of each, or of who claimed to be it.
    last: Vec<Option<String>>,
    started: Instant,
    limit: Duration,
    next_notice: Instant,
}

impl<'a> Waiting<'a> {
    fn new(roster: &'a Roster, started: Instant, limit: Duration) -> Self {
        let n = roster.parties.len();
        Waiting {
            roster,
            connected: (0..n).map(|_| None).collect(),
            last: vec![None; n],
            started,
            limit,
            next_notice: started + FIRST_NOTICE,
        }
    }

    fn missing(&self) -> impl Iterator<Item = usize> {
        let id = self.roster.id;
        self.connected
            .iter()
            .enumerate()
            .filter(move |(p, end)| *p != id && end.is_none())
            .map(|(p, _)| p)
    }

    fn complete(&self) -> bool {
        self.missing().next().is_none()
    }

    fn next_moment(&self) -> Instant {
        self.next_notice.min(self.started + self.limit)
    }

    fn hear(&mut self, event: Event, on_notice: &mut dyn FnMut(&Notice)) -> Result<(), NetError> {
        match event {
            // A second connection of one party means that it gave up the first.
            Event::Connected(party, end) => self.connected[party] = Some(*end),
            Event::NotYet(party, why) => self.last[party] = Some(why),
            Event::Stray(address, why) => {
                let seen = format!("{address} was turned away: {why}");
                for party in self.roster.id + 1..self.last.len() {
                    self.last[party] = Some(seen.clone());
                }
                on_notice(&Notice::Stray { address, why });
            }
            Event::Final(error) => return Err(error),
        }
        Ok(())
    }

    fn tick(&mut self, on_notice: &mut dyn FnMut(&Notice)) -> Result<(), NetError> {
        let now = Instant::now();
        let waited = now - self.started;
        if waited >= self.limit {
            let Some(party) = self.missing().next() else {
                return Ok(());
            };
            let peer = &self.roster.parties[party];
            return Err(NetError::Absent {
                party,
                name: peer.name.clone(),
                address: peer.address.clone(),
                waited,
                last: self.last[party].clone(),
            });
        }
        if now >= self.next_notice {
            self.next_notice = now + NEXT_NOTICE;
            for party in self.missing() {
                let peer = &self.roster.parties[party];
                on_notice(&Notice::Waiting {
                    party,
                    name: peer.name.clone(),
                    address: peer.address.clone(),
                    waited,
                    limit: self.limit,
                });
            }
        }
        Ok(())
    }
}

// The receiver of events is gone once enough has come: sending then means nothing.

fn keep_dialling(shared: &Shared, party: usize, events: &Sender<Event>) {
    let mut pause = FIRST_PAUSE;
    while !shared.stop.load(Ordering::Relaxed) && Instant::now() < shared.until {
        let event = match dial(shared, party) {
            Ok(secured) => Event::Connected(party, Box::new(secured)),
            Err(Failure::Final(error)) => Event::Final(error),
            Err(Failure::Passing(why)) => {
                let _ = events.send(Event::NotYet(party, why));
                thread::sleep(pause);
                pause = (2 * pause).min(LAST_PAUSE);
                continue;
            }
        };
        let _ = events.send(event);
        return;
    }
}

fn dial(shared: &Shared, party: usize) -> Result<Secured, Failure> {
    let address = &shared.roster.parties[party].address;
    let addresses = address
        .to_socket_addrs()
        .map_err(|e| Failure::Passing(format!("the address is not known ({e})")))?;
    let mut failure = "the address is not known".to_string();
    for address in addresses {
        match TcpStream::connect_timeout(&address, TCP_TIME) {
            Ok(stream) => {
                let until = (Instant::now() + DIAL_TIME).min(shared.until);
                return greeting::dial(&shared.roster, party, stream, &shared.nonce, until);
            }
            Err(e) => failure = e.to_string(),
        }
    }
    Err(Failure::Passing(failure))
}

fn keep_accepting(shared: &Arc<Shared>, listener: &TcpListener, events: &Sender<Event>) {
    if let Err(e) = listener.set_nonblocking(true) {
        let _ = events.send(Event::Final(system("listening socket", &e)));
        return;
    }
    while !shared.stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, from)) if shared.greetings.load(Ordering::Relaxed) < MAX_GREETINGS => {
                let (shared, events) = (shared.clone(), events.clone());
                shared.greetings.fetch_add(1, Ordering::Relaxed);
                // Without a thread for it, the connection is dropped, and its party dials again.
                let _ = spawn("greet", move || {
                    let _ = events.send(greet(&shared, stream, from.to_string()));
                    shared.greetings.fetch_sub(1, Ordering::Relaxed);
                });
            }
            Ok(_) => {}
            // A connection that broke before it was accepted, or nobody there.
            Err(_) => thread::sleep(ACCEPT_PAUSE),
        }
    }
}

fn greet(shared: &Shared, stream: TcpStream, from: String) -> Event {
    if let Err(e) = stream.set_nonblocking(false) {
        return Event::Stray(from, e.to_string());
    }
    match greeting::accept(
        &shared.roster,
        stream,
        &shared.nonce,
        Instant::now() + KNOCK_TIME,
    ) {
        Ok((party, secured)) => Event::Connected(party, Box::new(secured)),
        Err(Failure::Passing(why)) => Event::Stray(from, why),
        Err(Failure::Final(error)) => Event::Final(error),
    }
}

/// Starts a thread, or says why the system has none.
pub(crate) fn spawn(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<thread::JoinHandle<()>, NetError> {
    thread::Builder::new()
        .name(format!("tacit-{name}"))
        .spawn(work)
        .map_err(|e| system("thread", &e))
}

pub(crate) fn system(what: &str, error: &std::io::Error) -> NetError {
    NetError::System {
        what: what.to_string(),
        why: error.to_string(),
    }
}
