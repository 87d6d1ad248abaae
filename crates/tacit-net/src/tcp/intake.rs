//! What comes in over a connection: whoever waits for a message reads and decrypts it, and the connection's reading
//! thread while nobody waits. A message of a protocol of many short rounds so wakes one thread, not two.
//!
//! The reading thread holds the right to read ([`Intake::reading`]) and waits for the socket. When it delivers a short
//! message that somebody waited for, that thread will most likely wait again: the right is left to it, and the reading
//! thread looks every [`LINGER`] whether anybody still reads. A thread that waits in vain for so long, or to which much
//! comes, hands the right back: the reading thread makes room for the peer while that thread sleeps or computes.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::pump::{Job, Shared};
use crate::frame::Decoder;
use crate::queue::{End, Gone, Part, Queue, Source, decode};

/// Bytes read from the socket at a time.
const READ_BYTES: usize = 256 << 10;
/// What a thread that waits for a message reads by itself at a time; more is decrypted while it computes.
const SHORT: usize = 64 << 10;
/// How long a thread waits for a message by itself, and how long its connection may be left to it.
const LINGER: Duration = Duration::from_millis(5);

/// The way in over a connection.
pub(super) struct Intake {
    shared: Arc<Shared>,
    jobs: Sender<Job>,
    /// Held by who reads, also while it waits for the socket.
    reading: Mutex<Reading>,
    /// How often a thread other than the reading one has read.
    fetched: AtomicU64,
    /// Whether the reading thread must read on, and what tells it.
    handed: Mutex<bool>,
    told: Condvar,
}

/// The state of reading.
struct Reading {
    buffer: Vec<u8>,
    decoder: Decoder,
    /// How the stream ended, if another than the reading thread has seen it.
    end: Option<End>,
}

impl Intake {
    pub fn new(shared: Arc<Shared>, jobs: Sender<Job>) -> Self {
        Intake {
            shared,
            jobs,
            reading: Mutex::new(Reading {
                buffer: vec![0; READ_BYTES],
                decoder: Decoder::default(),
                end: None,
            }),
            fetched: AtomicU64::new(0),
            handed: Mutex::new(false),
            told: Condvar::new(),
        }
    }

    /// The reading thread: moves what comes in to the queue, until the stream ends.
    pub fn read_on(&self, queue: &Queue) {
        let mut reading = self.reading();
        // What came with the greeting is in the TLS state already.
        let (mut end, _) = self.deliver(&mut reading, 0, |part| queue.push_bounded(part));
        while end.is_none() {
            match self.read(&mut reading, None) {
                Ok(n) => {
                    let awaited;
                    (end, awaited) = self.deliver(&mut reading, n, |part| queue.push_bounded(part));
                    if end.is_none() && n <= SHORT && awaited {
                        drop(reading);
                        reading = match queue.leave_to_party() {
                            true => self.stand_by(),
                            false => self.reading(),
                        };
                        end = reading.end.take();
                    }
                }
                Err(broken) => end = Some(broken),
            }
        }
        drop(reading);
        end.into_iter().for_each(|end| queue.end(end));
        let _ = self.shared.queue(&self.jobs, Job::PeerGone);
    }

    /// Leaves reading to the thread that waits for messages, until it hands it over or has not read for some time.
    fn stand_by(&self) -> MutexGuard<'_, Reading> {
        let mut fetched = self.fetched.load(Ordering::Relaxed);
        let mut handed = self.handed();
        loop {
            if std::mem::take(&mut *handed) {
                drop(handed);
                return self.reading();
            }
            let woken = self.told.wait_timeout(handed, LINGER);
            handed = woken.unwrap_or_else(PoisonError::into_inner).0;
            let now = self.fetched.load(Ordering::Relaxed);
            if now == fetched
                && !*handed
                && let Ok(reading) = self.reading.try_lock()
            {
                return reading;
            }
            fetched = now;
        }
    }

    /// Lets the reading thread read on.
    pub fn hand_over(&self) {
        *self.handed() = true;
        self.told.notify_one();
    }

    fn reading(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handed(&self) -> MutexGuard<'_, bool> {
        self.handed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that the socket gave into the buffer, 0 if it gave none in time; or how the stream ended.
    fn read(&self, reading: &mut Reading, most: Option<Duration>) -> Result<usize, End> {
        let stream = &self.shared.stream;
        let most = most.map(|most| Timespec {
            tv_sec: most.as_secs() as _,
            tv_nsec: most.subsec_nanos() as _,
        });
        // Whatever else ends the waiting, such as a broken connection: reading tells.
        match poll(&mut [PollFd::new(stream, PollFlags::IN)], most.as_ref()) {
            Ok(0) | Err(Errno::INTR) => return Ok(0),
            _ => {}
        }
        match (&*stream).read(&mut reading.buffer) {
            Ok(0) => Err(End::Broken(
                "the connection ended without a goodbye: its process died".into(),
            )),
            Ok(n) => Ok(n),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(e) => Err(End::Broken(format!("the connection broke ({e})"))),
        }
    }

    /// Moves the frames in the first bytes of the buffer to the queue; says if they were the last, and whether
    /// somebody slept until they came.
    fn deliver(
        &self,
        reading: &mut Reading,
        filled: usize,
        push: impl Fn(Part) -> Result<bool, Gone>,
    ) -> (Option<End>, bool) {
        let (mut parts, mut awaited) = (Vec::new(), false);
        let end = self.open(reading, filled, &mut parts);
        for part in parts {
            // Of a party that receives no more, the connection is read on to its end, so that
            // the peer can finish writing.
            awaited |= push(part).unwrap_or(false);
        }
        (end, awaited)
    }

    /// Decrypts bytes of the socket into frames; says if they were the last.
    fn open(&self, reading: &mut Reading, filled: usize, parts: &mut Vec<Part>) -> Option<End> {
        let Reading {
            buffer, decoder, ..
        } = reading;
        let mut bytes = &buffer[..filled];
        let mut tls = self.shared.tls();
        let end = loop {
            if let Err(fault) = decode(decoder, &mut tls.reader(), parts) {
                break Some(End::Fault(fault));
            }
            let state = tls.process_new_packets();
            match state {
                Ok(state) if state.plaintext_bytes_to_read() > 0 => continue,
                Ok(state) if state.peer_has_closed() => break Some(decoder.end()),
                Ok(_) => {}
                Err(e) => {
                    break Some(End::Broken(format!(
                        "the connection was tampered with ({e})"
                    )));
                }
            }
            if bytes.is_empty() {
                break None;
            }
            if let Err(e) = tls.read_tls(&mut bytes) {
                break Some(End::Broken(format!("TLS failed ({e})")));
            }
        };
        if tls.wants_write() {
            let _ = self.shared.queue(&self.jobs, Job::Flush);
        }
        end
    }
}

impl Source for Intake {
    fn fetch(&self, queue: &Queue, most: Duration) -> bool {
        let Ok(mut reading) = self.reading.try_lock() else {
            return false;
        };
        if reading.end.is_some() || !queue.has_room() {
            return false;
        }
        // A frame or the end has come since the caller looked.
        if !most.is_zero() && !queue.is_empty() {
            return true;
        }
        self.fetched.fetch_add(1, Ordering::Relaxed);
        let read = self.read(&mut reading, Some(most.min(LINGER)));
        let (n, end) = match read {
            Ok(0) => (0, None),
            Ok(n) => (n, self.deliver(&mut reading, n, |part| queue.push(part)).0),
            Err(end) => (0, Some(end)),
        };
        reading.end = end;
        let vain = n == 0 && most > LINGER;
        let over = vain || n > SHORT || reading.end.is_some();
        drop(reading);
        if over {
            self.hand_over();
        }
        n > 0
    }
}
