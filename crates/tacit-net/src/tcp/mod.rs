//! Links between parties apart: TCP with TLS 1.3, each side shown by the exact certificate that
//! the other holds of it.
//!
//! Party `i` listens for the parties above it and dials those below it, one connection for each
//! pair. So the last party needs no open port.

mod connect;
mod greeting;
mod pinned;
mod pump;

use std::net::{TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::certs::{Certificate, Identity};
use crate::frame::Session;
use crate::link::Link;
use crate::party::{LONGEST_WAIT, Party};
use crate::{LinkModel, NetError};
use connect::Secured;
use pinned::Roster;

/// One party, as every party's configuration describes it.
#[derive(Clone, Debug)]
pub struct Peer {
    /// A name for messages, such as an organisation's.
    pub name: String,
    /// Where it listens, as `host:port`; not used of the last party.
    pub address: String,
    /// Its certificate.
    pub certificate: Certificate,
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
    /// Where parties above this one come in; the last party needs none. See [`listen`].
    pub listener: Option<TcpListener>,
    /// The link to emulate.
    pub model: LinkModel,
    /// How long a peer may be silent while it is waited for.
    pub timeout: Duration,
    /// How long the others are waited for at the start.
    pub connect_timeout: Duration,
}

/// What happens while the parties find each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A peer is not there yet.
    Waiting {
        /// The peer.
        party: usize,
        /// Its name.
        name: String,
        /// Its address.
        address: String,
        /// For how long it has been waited.
        waited: Duration,
        /// For how long it will be.
        limit: Duration,
    },
    /// A connection was turned away; the real peer is still waited for.
    Stray {
        /// Where it came from.
        address: String,
        /// Why.
        why: String,
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
            Notice::Stray { address, why } => {
                write!(f, "turned away a connection from {address}: {why}")
            }
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
/// certificate, is an error; one that proves nothing is only turned away.
pub fn connect(config: TcpConfig, on_notice: &mut dyn FnMut(&Notice)) -> Result<Party, NetError> {
    check(&config)?;
    let TcpConfig {
        id,
        parties,
        identity,
        listener,
        model,
        timeout,
        connect_timeout,
    } = config;
    let roster = Arc::new(Roster {
        id,
        parties,
        identity,
    });
    let nonce = greeting::nonce()?;
    let started = Instant::now();
    let connect_timeout = connect_timeout.min(LONGEST_WAIT);
    let secured = connect::all(&roster, listener, nonce, connect_timeout, on_notice)?;
    let session = session(&secured, nonce);
    let mut links = Vec::new();
    for end in secured {
        links.push(match end {
            None => None,
            Some(end) => {
                let (out, queue) = pump::start(end, session)?;
                Some(Link::new(Box::new(out), queue, session, model))
            }
        });
    }
    let mut party = Party::new(id, links, model, timeout);
    // Another party may still be waiting for a third, as long as this one would.
    party.meet(
        connect_timeout
            .saturating_sub(started.elapsed())
            .saturating_add(timeout),
    )?;
    Ok(party)
}

/// The name of this run: fresh as long as one party's nonce is. Who told different parties
/// different nonces is found out by the first frame.
fn session(secured: &[Option<Secured>], own: greeting::Nonce) -> Session {
    let mut hasher = blake3::Hasher::new_derive_key("tacit-net session");
    for end in secured {
        hasher.update(&end.as_ref().map_or(own, |end| end.nonce));
    }
    let mut session = Session::default();
    hasher.finalize_xof().fill(&mut session);
    session
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
    let (own, listed) = (
        config.identity.certificate(),
        &config.parties[id].certificate,
    );
    if own != listed {
        let why = format!(
            "this party's own ({}) is not the one listed for party {id} ({}); give every party the current one",
            own.fingerprint(),
            listed.fingerprint()
        );
        return invalid("certificate", why);
    }
    for (p, peer) in config.parties.iter().enumerate() {
        if let Some(q) = config.parties[..p]
            .iter()
            .position(|other| other.certificate == peer.certificate)
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
