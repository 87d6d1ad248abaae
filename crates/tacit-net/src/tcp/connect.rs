//! The threads that find other parties: some dial, one lets others in.

use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use rustls::Connection;

use super::greeting::{self, Failure, Nonce};
use super::pinned::Roster;
use super::pool::{FIRST_BYTE, Place, Pool};
use crate::NetError;

/// How long one TCP connection may take to come about.
const TCP_TIME: Duration = Duration::from_secs(5);
/// How long a peer that connected may take to greet. One that was dialled may still be starting.
const KNOCK_TIME: Duration = Duration::from_secs(10);
const DIAL_TIME: Duration = Duration::from_secs(30);
/// Pauses between dials: the first, growing to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(1);
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// One end of an authenticated connection, and the nonce of the other.
pub(crate) struct Secured {
    pub(crate) tls: Connection,
    pub(crate) stream: TcpStream,
    pub(crate) nonce: Nonce,
}

/// What the threads report.
pub(crate) enum Event {
    Connected(usize, Box<Secured>),
    /// A dial failed and will be tried again.
    NotYet(usize, String),
    /// A connection from this address was turned away; who it claimed to be if certificates did
    /// not fit.
    Stray(String, String, Option<usize>),
    Final(NetError),
    /// What this party does meanwhile is done.
    Prepared,
}

/// What dialling and accepting threads share.
pub(crate) struct Shared {
    pub(crate) roster: Arc<Roster>,
    pub(crate) nonce: Nonce,
    pub(crate) until: Instant,
    pub(crate) stop: AtomicBool,
    pub(crate) pool: Arc<Pool>,
}

// The receiver of events is gone once enough has come: sending then means nothing.

pub(crate) fn keep_dialling(shared: &Shared, party: usize, events: &Sender<Event>) {
    let mut pause = FIRST_PAUSE;
    while !shared.stop.load(Ordering::Relaxed) && Instant::now() < shared.until {
        let event = match dial(shared, party) {
            Ok(secured) => Event::Connected(party, Box::new(secured)),
            Err(Failure::Final(error)) => Event::Final(error),
            Err(Failure::Passing(why) | Failure::Unproven(_, why)) => {
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

pub(crate) fn keep_accepting(shared: &Arc<Shared>, listener: &TcpListener, events: &Sender<Event>) {
    if let Err(e) = listener.set_nonblocking(true) {
        let _ = events.send(Event::Final(system("listening socket", &e)));
        return;
    }
    while !shared.stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, from)) => {
                // Without a place or a thread for it, the connection is dropped, and its party
                // dials again.
                let Some(place) = shared.pool.admit(stream, from.ip()) else {
                    continue;
                };
                let (shared, events) = (shared.clone(), events.clone());
                let _ = spawn("greet", move || {
                    let _ = events.send(greet(&shared, &place, from));
                });
            }
            // A connection that broke before it was accepted, or nobody there.
            Err(_) => thread::sleep(ACCEPT_PAUSE),
        }
    }
}

fn greet(shared: &Shared, place: &Place, from: SocketAddr) -> Event {
    let guest = &place.guest;
    let stream = (guest.stream.set_nonblocking(false)).and_then(|()| guest.stream.try_clone());
    let stream = match stream {
        Ok(stream) => stream,
        Err(e) => return Event::Stray(from.to_string(), e.to_string(), None),
    };
    let now = Instant::now();
    let limits = (now + FIRST_BYTE, now + KNOCK_TIME);
    let speaks = || guest.speaks();
    match greeting::accept(&shared.roster, stream, &shared.nonce, limits, speaks) {
        Ok((party, secured)) => Event::Connected(party, Box::new(secured)),
        Err(Failure::Passing(why)) => Event::Stray(from.to_string(), why, None),
        Err(Failure::Unproven(party, why)) => Event::Stray(from.to_string(), why, Some(party)),
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
