//! How two parties greet each other over a fresh TCP connection.
//!
//! In the clear, the dialling party says who it is and whom it wants: 12 bytes, trusted for
//! nothing but the choice of the certificate that TLS then demands. Within TLS both say what
//! they are and a nonce for the session.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::{AlertDescription, Connection};

use super::connect::Secured;
use super::pinned::{Pinned, Roster, client, server};
use crate::{NetError, frame};

/// What one party adds to the name of a run.
pub(crate) type Nonce = [u8; 32];

const KNOCK_MAGIC: &[u8; 8] = b"TACIT/1\n";
const KNOCK: usize = 12;
const HELLO_MAGIC: &[u8; 8] = b"tacit/hi";
const HELLO: usize = 46;
/// How long the refused end is given to read why.
const LINGER: Duration = Duration::from_secs(1);

/// Why a connection came to nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The connection proves nothing about the peer: it may come again.
    Passing(String),
    /// Somebody claims to be this party, but the certificates did not fit. That proves nothing
    /// about the peer either.
    Unproven(usize, String),
    /// The peer is there, but this party must not run with it, or it not with this party.
    Final(NetError),
}

pub(crate) fn nonce() -> Result<Nonce, NetError> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce).map_err(|e| NetError::Randomness(e.to_string()))?;
    Ok(nonce)
}

/// Greets the party `peer` that was dialled.
pub(crate) fn dial(
    roster: &Arc<Roster>,
    peer: usize,
    stream: TcpStream,
    nonce: &Nonce,
    until: Instant,
) -> Result<Secured, Failure> {
    let mut knock = KNOCK_MAGIC.to_vec();
    knock.extend_from_slice(&number(roster.id).to_le_bytes());
    knock.extend_from_slice(&number(peer).to_le_bytes());
    Timed {
        stream: &stream,
        until,
    }
    .write_all(&knock)
    .map_err(passing)?;
    let (tls, pinned) = client(roster, peer).map_err(unusable)?;
    Greeting {
        roster,
        peer,
        pinned,
        tls,
        until,
    }
    .complete(stream, nonce)
}

/// Greets whoever came in; also who it is. `first` is when it must have begun, `speaks` hears that
/// it has.
pub(crate) fn accept(
    roster: &Arc<Roster>,
    stream: TcpStream,
    nonce: &Nonce,
    (first, until): (Instant, Instant),
    speaks: impl FnOnce(),
) -> Result<(usize, Secured), Failure> {
    let mut knock = [0; KNOCK];
    let (begin, rest) = knock.split_at_mut(1);
    let stream_until = |until| Timed {
        stream: &stream,
        until,
    };
    stream_until(first)
        .read_exact(begin)
        .map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::UnexpectedEof => {
                Failure::Passing("it said nothing".into())
            }
            _ => passing(error),
        })?;
    speaks();
    stream_until(until).read_exact(rest).map_err(passing)?;
    if &knock[..8] != KNOCK_MAGIC {
        return Err(Failure::Passing("it does not speak like a party".into()));
    }
    let claimed = usize::from(u16::from_le_bytes([knock[8], knock[9]]));
    let wanted = usize::from(u16::from_le_bytes([knock[10], knock[11]]));
    if wanted != roster.id || claimed <= roster.id || claimed >= roster.parties.len() {
        return Err(Failure::Passing(format!(
            "it claims to be party {claimed} and wants party {wanted}; this is party {} of {}, for the parties above it",
            roster.id,
            roster.parties.len()
        )));
    }
    let (tls, pinned) = server(roster, claimed).map_err(unusable)?;
    let greeting = Greeting {
        roster,
        peer: claimed,
        pinned,
        tls,
        until,
    };
    match greeting.complete(stream, nonce) {
        Ok(secured) => Ok((claimed, secured)),
        // Until it has shown its own certificate, a client's alert may be anybody's.
        Err(Failure::Final(NetError::RefusedByPeer { why, .. })) => Err(Failure::Unproven(
            claimed,
            format!("who claims to be party {claimed} refused this party: {why}"),
        )),
        Err(Failure::Passing(why)) => Err(Failure::Passing(format!(
            "it claims to be party {claimed}, but {why}"
        ))),
        Err(failure) => Err(failure),
    }
}

struct Greeting<'a> {
    roster: &'a Roster,
    peer: usize,
    pinned: Arc<Pinned>,
    tls: Connection,
    until: Instant,
}

impl Greeting<'_> {
    fn complete(mut self, stream: TcpStream, nonce: &Nonce) -> Result<Secured, Failure> {
        match self.exchange(&stream, nonce) {
            Ok(nonce) => Ok(Secured {
                tls: self.tls,
                stream,
                nonce,
            }),
            Err(failure) => {
                self.say_why(&stream);
                Err(failure)
            }
        }
    }

    fn exchange(&mut self, stream: &TcpStream, nonce: &Nonce) -> Result<Nonce, Failure> {
        let mut io = Timed {
            stream,
            until: self.until,
        };
        let address = stream
            .peer_addr()
            .map_or("an unknown address".into(), |a| a.to_string());
        let hello = hello(self.roster, nonce);
        let theirs = talk(&mut self.tls, &mut io, &hello).map_err(|e| self.judge(e, &address))?;
        let chain = self.tls.peer_certificates();
        let expected = &self.roster.parties[self.peer];
        if !(chain.and_then(|chain| chain.first())).is_some_and(|shown| expected.holds(shown)) {
            return Err(self.refused(&address, "it showed no certificate".into()));
        }
        self.check(&theirs, &address)
    }

    /// Sends what TLS has left to say, and lets the other end read it: closing at once could
    /// destroy it on the way.
    fn say_why(&mut self, stream: &TcpStream) {
        let mut io = Timed {
            stream,
            until: Instant::now() + LINGER,
        };
        while self.tls.wants_write() && self.tls.write_tls(&mut io).is_ok() {}
        let _ = stream.shutdown(Shutdown::Write);
        let mut sink = [0; 512];
        while matches!(io.read(&mut sink), Ok(n) if n > 0) {}
    }

    /// What a failed exchange says about the peer.
    fn judge(&self, error: io::Error, address: &str) -> Failure {
        if let Some(refusal) = self.pinned.refusal() {
            // Whoever was dialled and is not the right one will not become it; whoever came in
            // and is nobody may be followed by the right one.
            return if refusal.known || self.peer < self.roster.id {
                self.refused(address, refusal.why)
            } else {
                let why = format!("it claims to be party {}, but {}", self.peer, refusal.why);
                Failure::Unproven(self.peer, why)
            };
        }
        match error
            .get_ref()
            .and_then(|e| e.downcast_ref::<rustls::Error>())
        {
            Some(rustls::Error::AlertReceived(alert)) => {
                let peer = &self.roster.parties[self.peer];
                Failure::Final(NetError::RefusedByPeer {
                    party: self.peer,
                    name: peer.name.clone(),
                    address: address.to_string(),
                    why: self.explain(*alert),
                })
            }
            _ => passing(error),
        }
    }

    fn explain(&self, alert: AlertDescription) -> String {
        let certificate = self.roster.identity.certificate();
        let own = certificate.fingerprint();
        match alert {
            AlertDescription::UnknownCA => format!(
                "it does not know this party's certificate ({own}); compare what `tacit cert show` says of the file that it has, and give it the current one"
            ),
            AlertDescription::AccessDenied => format!(
                "it holds this party's certificate ({own}) for another party than {}; see that both number the parties alike",
                self.roster.id
            ),
            AlertDescription::CertificateExpired => format!(
                "by its clock this party's certificate ({own}) is expired or not valid yet; {}: if that is within the period, party {} must set its clock, otherwise this party its own, or make a new certificate and give it to every party",
                certificate.by_the_clock(),
                self.peer
            ),
            other => format!("its TLS said {other:?}"),
        }
    }

    fn refused(&self, address: &str, why: String) -> Failure {
        Failure::Final(NetError::Refused {
            party: self.peer,
            name: self.roster.parties[self.peer].name.clone(),
            address: address.to_string(),
            why,
        })
    }

    fn check(&self, hello: &[u8; HELLO], address: &str) -> Result<Nonce, Failure> {
        let word = |at: usize| u16::from_le_bytes([hello[at], hello[at + 1]]);
        if &hello[..8] != HELLO_MAGIC {
            return Err(self.refused(address, "it does not greet like a party".into()));
        }
        for (item, ours, theirs) in [
            ("version of the frame format", frame::VERSION, word(8)),
            (
                "number of parties",
                number(self.roster.parties.len()),
                word(12),
            ),
        ] {
            if ours != theirs {
                return Err(Failure::Final(NetError::Disagreement {
                    item: item.into(),
                    us: self.roster.id,
                    party: self.peer,
                    ours: ours.to_string(),
                    theirs: theirs.to_string(),
                    teller: None,
                }));
            }
        }
        if usize::from(word(10)) != self.peer {
            return Err(self.refused(address, format!("it says it is party {}", word(10))));
        }
        let mut nonce = Nonce::default();
        nonce.copy_from_slice(&hello[14..]);
        Ok(nonce)
    }
}

fn hello(roster: &Roster, nonce: &Nonce) -> [u8; HELLO] {
    let mut hello = [0; HELLO];
    hello[..8].copy_from_slice(HELLO_MAGIC);
    hello[8..10].copy_from_slice(&frame::VERSION.to_le_bytes());
    hello[10..12].copy_from_slice(&number(roster.id).to_le_bytes());
    hello[12..14].copy_from_slice(&number(roster.parties.len()).to_le_bytes());
    hello[14..].copy_from_slice(nonce);
    hello
}

/// Party numbers fit, since a configuration with more parties is refused.
fn number(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}

/// Shakes hands, says `hello` and hears the other's.
fn talk(tls: &mut Connection, io: &mut Timed<'_>, hello: &[u8]) -> io::Result<[u8; HELLO]> {
    while tls.is_handshaking() {
        tls.complete_io(io)?;
    }
    tls.writer().write_all(hello)?;
    while tls.wants_write() {
        tls.write_tls(io)?;
    }
    let mut theirs = [0; HELLO];
    let mut have = 0;
    while have < HELLO {
        match tls.reader().read(&mut theirs[have..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => have += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                tls.complete_io(io)?;
            }
            Err(e) => return Err(e),
        }
    }
    Ok(theirs)
}

fn passing(error: io::Error) -> Failure {
    Failure::Passing(match error.kind() {
        io::ErrorKind::UnexpectedEof => "it hung up during the greeting".into(),
        io::ErrorKind::TimedOut => "it did not finish the greeting in time".into(),
        _ => format!("the greeting failed ({error})"),
    })
}

fn unusable(error: rustls::Error) -> Failure {
    Failure::Final(NetError::Invalid {
        what: "key and certificate of this party".into(),
        why: format!("TLS cannot use them ({error})"),
    })
}

/// A socket whose every wait ends at one moment.
struct Timed<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            Err(io::ErrorKind::TimedOut.into())
        } else {
            Ok(Some(left))
        }
    }
}

fn late(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock {
        io::ErrorKind::TimedOut.into()
    } else {
        error
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer).map_err(late)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(buffer).map_err(late)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
