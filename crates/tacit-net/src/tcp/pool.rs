//! The connections that have not yet proved who they are. There is room for few of each address,
//! fewer than a stranger can open, and silent connections make way for new ones. So a party that
//! connects and speaks is heard, however many strangers stay silent.

use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::{RecvFlags, recv};

/// Connections of one address at one time.
const PER_ADDRESS: usize = 8;
/// Connections at one time.
const ALL: usize = 64;
/// How long a connection may stay silent. If none is silent, one that spoke but has not finished
/// within a longer time makes way.
pub(crate) const FIRST_BYTE: Duration = Duration::from_secs(2);

/// The connections that have proved nothing yet.
#[derive(Default)]
pub(crate) struct Pool(Mutex<Vec<Arc<Guest>>>);

/// A connection that has proved nothing yet.
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    use super::*;

    /// A stranger's end of a connection, and whether it has a place.
    struct Stranger(TcpStream, Option<Place>);

    impl Stranger {
        fn comes(pool: &Arc<Pool>, from: u8) -> Stranger {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (accepted, _) = listener.accept().unwrap();
            let from = Ipv4Addr::new(10, 0, 0, from).into();
            Stranger(stream, pool.admit(accepted, from))
        }

        fn speaks(&mut self) {
            self.0.write_all(b"T").unwrap();
        }

        /// Whether the guest has a place and was not sent away.
        fn stays(&mut self) -> bool {
            let nothing = Duration::from_millis(20);
            self.0.set_read_timeout(Some(nothing)).unwrap();
            self.1.is_some() && self.0.read(&mut [0; 1]).is_err()
        }
    }

    fn which_stay(all: &mut [Stranger]) -> Vec<usize> {
        let all = all.iter_mut().enumerate();
        all.filter_map(|(i, s)| s.stays().then_some(i)).collect()
    }

    #[test]
    fn of_one_address_eight_stay_and_the_oldest_silent_one_goes() {
        let pool = Arc::new(Pool::default());
        let mut all: Vec<_> = (0..8).map(|_| Stranger::comes(&pool, 1)).collect();
        all[0].speaks();
        assert_eq!(which_stay(&mut all), (0..8).collect::<Vec<_>>());
        all.push(Stranger::comes(&pool, 1));
        assert_eq!(which_stay(&mut all), [0, 2, 3, 4, 5, 6, 7, 8]);
        // Another address has places of its own.
        all.push(Stranger::comes(&pool, 2));
        assert_eq!(which_stay(&mut all), [0, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn of_all_addresses_sixty_four_stay_and_the_oldest_silent_one_goes() {
        let pool = Arc::new(Pool::default());
        let mut all: Vec<_> = (0..64).map(|i| Stranger::comes(&pool, i)).collect();
        all[0].speaks();
        all.push(Stranger::comes(&pool, 64));
        let stay = which_stay(&mut all);
        assert_eq!(stay.len(), ALL);
        assert!(stay.contains(&0) && !stay.contains(&1) && stay.contains(&64));
    }

    #[test]
    fn who_has_spoken_is_sent_away_only_when_it_takes_too_long() {
        let pool = Arc::new(Pool::default());
        let mut all: Vec<_> = (0..8).map(|_| Stranger::comes(&pool, 1)).collect();
        all.iter_mut().for_each(Stranger::speaks);
        assert!(!Stranger::comes(&pool, 1).stays());
        assert_eq!(which_stay(&mut all).len(), PER_ADDRESS);
        thread::sleep(FIRST_BYTE);
        all.push(Stranger::comes(&pool, 1));
        assert_eq!(which_stay(&mut all), (1..9).collect::<Vec<_>>());
    }

    #[test]
    fn who_leaves_makes_room() {
        let pool = Arc::new(Pool::default());
        let mut all: Vec<_> = (0..8).map(|_| Stranger::comes(&pool, 1)).collect();
        all.iter_mut().for_each(Stranger::speaks);
        all[5].1 = None;
        all.push(Stranger::comes(&pool, 1));
        assert!(all[8].stays());
        assert_eq!(which_stay(&mut all).len(), PER_ADDRESS);
    }
}
