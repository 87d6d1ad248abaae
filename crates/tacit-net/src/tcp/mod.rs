//! Links between parties apart: TCP with TLS 1.3, each side shown by the exact certificate that
//! the other holds of it.
//!
//! Party `i` listens for the parties above it and dials those below it, one connection for each
//! pair. So the last party needs no open port.

mod connect;
mod gather;
mod greeting;
mod intake;
mod pinned;
mod pool;
mod pump;

use std::convert::Infallible;
use std::fmt::Display;
use std::net::{TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustls::pki_types::CertificateDer;

use crate::certs::{Certificate, Identity};
use crate::party::{LONGEST_WAIT, Party};
use crate::{LinkModel, NetError};
use connect::Event;
use gather::Gathering;

/// The stack of the thread that prepares.
const STACK: usize = 8 << 20;

/// One party, as every party's configuration describes it.
#[derive(Clone, Debug)]
pub struct Peer {
    /// A name for messages, such as an organisation's.
    pub name: String,
    /// The peer's address, where it listens, as `host:port`; not used of the last party.
    pub address: String,
    /// The peer's certificate. None if it cannot be read: then this party does not run, and can only [`refuse`].
    pub certificate: Option<Certificate>,
    /// More certificates that the peer may show, while it takes a new one.
    pub also: Vec<Certificate>,
}

impl Peer {
    /// The fingerprint of the peer's certificate, as messages show it.
    fn print(&self) -> String {
        let certificate = self.certificate.as_ref();
        certificate.map_or("which cannot be read".into(), Certificate::fingerprint)
    }

    /// Whether this is its certificate.
    fn holds(&self, shown: &CertificateDer<'_>) -> bool {
        self.find(shown).is_some()
    }

    /// The one of the peer's certificates that was shown, if it is one of them.
    fn find(&self, shown: &CertificateDer<'_>) -> Option<&Certificate> {
        self.all().find(|certificate| certificate.0 == *shown)
    }

    fn all(&self) -> impl Iterator<Item = &Certificate> {
        self.certificate.iter().chain(&self.also)
    }
}

/// What a party needs to know to join a run.
#[derive(Debug)]
pub struct TcpConfig {
    /// The number of this party.
    pub id: usize,
    /// All parties by their numbers, this one included.
    pub parties: Vec<Peer>,
    /// This party's key and certificate.
    pub identity: Identity,
    /// The port at which parties above this one come in; the last party needs none. See [`listen`].
    pub listener: Option<TcpListener>,
    /// The link to emulate.
    pub model: LinkModel,
    /// How long a peer may be silent while it is waited for.
    pub timeout: Duration,
    /// How long the others are waited for at the start.
    pub connect_timeout: Duration,
    /// Raised, from any thread, when this party no longer waits for the others: it ends as by an interrupt.
    pub leave: Arc<AtomicBool>,
}

/// What happens while the parties find each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A peer is not there yet.
    Waiting {
        /// The number of the peer.
        party: usize,
        /// The peer's name.
        name: String,
        /// The peer's address.
        address: String,
        /// How long the peer has been waited for.
        waited: Duration,
        /// How long the peer will be waited for.
        limit: Duration,
    },
    /// A peer that had come is gone, without a word; it may come again.
    Left {
        /// The number of the peer.
        party: usize,
        /// The peer's name.
        name: String,
        /// What was seen.
        why: String,
    },
    /// A connection was turned away; the real peer is still waited for.
    Stray {
        /// The address that the connection came from.
        address: String,
        /// Why the connection was turned away.
        why: String,
    },
    /// More connections were turned away since the last such notice.
    Strays {
        /// How many connections were turned away since the last such notice.
        more: usize,
    },
    /// This party cannot run and waits for the others to tell them.
    Refusing {
        /// Why this party cannot run.
        why: String,
        /// How long this party waits for the others at most.
        limit: Duration,
    },
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Notice::Waiting {
                party,
                name,
                address,
                waited,
                limit,
            } => write!(
                f,
                "waiting for party {party} ({name}) at {address}, {:.0} s of at most {:.0} s",
                waited.as_secs_f64(),
                limit.as_secs_f64()
            ),
            Notice::Left { party, name, why } => write!(
                f,
                "party {party} ({name}) came and left again: {why}; waiting for it to come back"
            ),
            Notice::Stray { address, why } => {
                write!(f, "turned away a connection from {address}: {why}")
            }
            Notice::Strays { more } => write!(f, "turned away {more} more connections"),
            Notice::Refusing { why, limit } => write!(
                f,
                "this party cannot run: {why}; telling the others, for at most {:.0} s",
                limit.as_secs_f64()
            ),
        }
    }
}

/// Opens the port at which the parties above this one come in; port 0 takes any free one.
pub fn listen(address: &str) -> Result<TcpListener, NetError> {
    let failed = |why: String| NetError::Listen {
        address: address.to_string(),
        why,
    };
    let resolved = address
        .to_socket_addrs()
        .map_err(|e| failed(e.to_string()))?;
    TcpListener::bind(resolved.collect::<Vec<_>>().as_slice()).map_err(|e| failed(e.to_string()))
}

/// Connects this party with all others and agrees with them on a session.
///
/// `on_notice` hears of every peer that is waited for, every few seconds, and of every connection
/// that is turned away. An end that proves to hold the key of another party, or of an expired
/// certificate, is an error; one that proves nothing is only turned away. A peer that stops says
/// why, and that is the error at all that it is connected with.
pub fn connect(config: TcpConfig, on_notice: &mut dyn FnMut(&Notice)) -> Result<Party, NetError> {
    match connect_while(config, on_notice, || Ok::<_, Refusal<Infallible>>(())) {
        Ok((party, ())) => Ok(party),
        Err(Ended::Net(error)) => Err(error),
        Err(Ended::Own(never)) => match never {},
    }
}

/// Why a party did not come together with the others.
#[derive(Debug)]
pub enum Ended<E> {
    /// The parties did not find each other, or another has stopped.
    Net(NetError),
    /// This party's own preparation failed.
    Own(E),
}

/// Why one party cannot take part: its own error, and words for the others without secrets.
#[derive(Debug)]
pub struct Refusal<E> {
    /// The party's own error.
    pub error: E,
    /// What the others are told.
    pub told: String,
}

/// Connects as [`connect`] does, while this party runs `prepare` on another thread. If that fails, the
/// others are told why, those included who come within some seconds.
///
/// If another party stops first, the call returns at once and leaves `prepare` to its thread.
pub fn connect_while<T: Send + 'static, E: Display + Send + 'static>(
    config: TcpConfig,
    on_notice: &mut dyn FnMut(&Notice),
    prepare: impl FnOnce() -> Result<T, Refusal<E>> + Send + 'static,
) -> Result<(Party, T), Ended<E>> {
    if let Err(error) = check(&config) {
        refuse(config, &error, &error.to_string(), on_notice);
        return Err(Ended::Net(error));
    }
    let (connect_timeout, timeout) = (config.connect_timeout.min(LONGEST_WAIT), config.timeout);
    let leave = config.leave.clone();
    let started = Instant::now();
    let mut gathering = Gathering::begin(config, on_notice).map_err(Ended::Net)?;
    let prepared = start(prepare, gathering.reporter()).map_err(Ended::Net)?;
    let mut own = None;
    while own.is_none() || !gathering.complete() {
        match prepared.try_recv() {
            Ok(Ok(prepared)) => own = Some(prepared),
            Ok(Err(Refusal { error, told })) => {
                gathering.refuse(&error.to_string(), &told);
                return Err(Ended::Own(error));
            }
            Err(TryRecvError::Disconnected) if own.is_none() => {
                let error = NetError::System {
                    what: "end to this party's preparation".into(),
                    why: "its thread stopped on a defect of this program".into(),
                };
                gathering.refuse(&error.to_string(), "a defect of its program");
                return Err(Ended::Net(error));
            }
            Err(_) => {}
        }
        if let Err(error) = gathering.step() {
            gathering.give_up(&error);
            return Err(Ended::Net(error));
        }
    }
    let Some(own) = own else {
        unreachable!("the loop ends once this party is prepared")
    };
    let mut party = gathering.party();
    // Another party may still be waiting for a third, as long as this one would.
    let patience = connect_timeout.saturating_sub(started.elapsed());
    let met = party.meet(patience.saturating_add(timeout), &leave);
    met.map(|()| (party, own)).map_err(Ended::Net)
}

/// Tells the others, those included who come within some seconds, why this party cannot run with them.
/// `own` is what this party reports at home.
pub fn refuse(
    config: TcpConfig,
    own: &dyn Display,
    told: &str,
    on_notice: &mut dyn FnMut(&Notice),
) {
    if config.id >= config.parties.len() {
        return;
    }
    if let Ok(gathering) = Gathering::begin(config, on_notice) {
        gathering.refuse(&own.to_string(), told);
    }
}

/// Runs `prepare` on a thread of its own, with a stack as large as that of a program.
fn start<T: Send + 'static>(
    prepare: impl FnOnce() -> T + Send + 'static,
    reporter: Sender<Event>,
) -> Result<Receiver<T>, NetError> {
    let (result, prepared) = channel();
    let work = move || {
        // Nobody waits for it any more if another party has stopped.
        let _ = result.send(prepare());
        let _ = reporter.send(Event::Prepared);
    };
    let thread = thread::Builder::new()
        .name("tacit-prepare".into())
        .stack_size(STACK);
    let started = thread.spawn(work);
    started.map_err(|e| connect::system("thread", &e))?;
    Ok(prepared)
}

fn check(config: &TcpConfig) -> Result<(), NetError> {
    let (id, n) = (config.id, config.parties.len());
    let invalid = |what: &str, why: String| {
        Err(NetError::Invalid {
            what: what.to_string(),
            why,
        })
    };
    if id >= n || n > usize::from(u16::MAX) {
        return invalid(
            "number of this party",
            format!("{id} is not one of 0 to {}", n.saturating_sub(1)),
        );
    }
    let own = config.identity.certificate();
    if let Some(p) = (config.parties.iter()).position(|peer| peer.certificate.is_none()) {
        return invalid("certificate", format!("that of party {p} is missing"));
    }
    if !config.parties[id].holds(&own.0) {
        let why = format!(
            "this party's own ({}) is not the one listed for party {id} ({}); give every party the current one",
            own.fingerprint(),
            config.parties[id].print()
        );
        return invalid("certificate", why);
    }
    for (p, peer) in config.parties.iter().enumerate() {
        if let Some(q) = config.parties[..p]
            .iter()
            .position(|other| other.all().any(|certificate| peer.holds(&certificate.0)))
        {
            return invalid(
                "certificate",
                format!("parties {q} and {p} have the same; each needs its own"),
            );
        }
    }
    if config.listener.is_none() && id + 1 < n {
        return invalid(
            "listener",
            format!("party {id} of {n} needs one for the parties above it"),
        );
    }
    Ok(())
}
