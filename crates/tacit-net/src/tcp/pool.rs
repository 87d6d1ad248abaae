//! The connections that have proved nothing yet: few of each address, fewer than a stranger can
//! open, and those that say nothing make way for new ones. So whoever comes and speaks is heard, as
//! many as there are that do not.

use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::{RecvFlags, recv};

/// Connections of one address at one time.
const PER_ADDRESS: usize = 8;
/// Connections at one time.
const ALL: usize = 64;
/// How long a connection may say nothing. One that is not done long after it has spoken makes way
/// too, where none is silent.
pub(crate) const FIRST_BYTE: Duration = Duration::from_secs(2);

/// The connections that have proved nothing yet.
#[derive(Default)]
pub(crate) struct Pool(Mutex<Vec<Arc<Guest>>>);

/// One of them.
pub(crate) struct Guest {
    pub(crate) stream: TcpStream,
    from: IpAddr,
    since: Instant,
    spoke: AtomicBool,
}

impl Guest {
    /// Notes that it has said something.
    pub(crate) fn speaks(&self) {
        self.spoke.store(true, Ordering::Relaxed);
    }

    fn silent(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        // What it said may not have been read yet.
        !self.spoke.load(Ordering::Relaxed)
            && !matches!(recv(&self.stream, &mut [0; 1], flags), Ok((_, n)) if n > 0)
    }
}

/// A place in the pool, left when this is dropped.
pub(crate) struct Place {
    pool: Arc<Pool>,
    pub(crate) guest: Arc<Guest>,
}

impl Pool {
    /// Takes a connection in, in the place of another if there is no more room; `None` if nobody
    /// can be sent away for it.
    pub(crate) fn admit(self: &Arc<Pool>, stream: TcpStream, from: IpAddr) -> Option<Place> {
        let mut guests = self.lock();
        if guests.iter().filter(|guest| guest.from == from).count() >= PER_ADDRESS {
            send_away(&mut guests, |guest| guest.from == from)?;
        }
        if guests.len() >= ALL {
            send_away(&mut guests, |_| true)?;
        }
        let guest = Arc::new(Guest {
            stream,
            from,
            since: Instant::now(),
            spoke: AtomicBool::new(false),
        });
        guests.push(guest.clone());
        let pool = self.clone();
        Some(Place { pool, guest })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Guest>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends away the oldest silent one of those that may go, or the oldest that has taken too long.
fn send_away(guests: &mut Vec<Arc<Guest>>, may_go: impl Fn(&Guest) -> bool) -> Option<()> {
    // They stand in the order in which they came.
    let silent = guests.iter().position(|g| may_go(g) && g.silent());
    let slow = || {
        let slow = |g: &Arc<Guest>| may_go(g) && g.since.elapsed() > FIRST_BYTE;
        guests.iter().position(slow)
    };
    let gone = guests.remove(silent.or_else(slow)?);
    // Its thread ends when nothing more can be read.
    let _ = gone.stream.shutdown(Shutdown::Both);
    Some(())
}

impl Drop for Place {
    fn drop(&mut self) {
        let leaves = |guest: &Arc<Guest>| !Arc::ptr_eq(guest, &self.guest);
        self.pool.lock().retain(leaves);
    }
}
