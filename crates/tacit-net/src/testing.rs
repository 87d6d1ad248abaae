//! A harness for tests of protocols and of this crate: parties in one process whose messages can
//! be watched, changed, delayed, dropped and forged. No production code uses it.

pub mod adversary;
pub mod remains;
pub mod tampering;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::emulate::LinkModel;
use crate::frame::{self, Decoder, Header, MAX_PAYLOAD, Session};
use crate::link::{Link, Outbound, Parcel};
use crate::memory::mesh_over;
use crate::party::Party;
use crate::queue::{End, Gone, Queue, decode};

/// Runs `program` as every party, each in a thread, and returns what each returned. If one
/// panics, so does this, once all have ended.
pub fn run<T: Send>(parties: Vec<Party>, program: impl Fn(Party) -> T + Sync) -> Vec<T> {
    run_any(parties, &program)
}

/// Compiled once for all programs of one result.
fn run_any<T: Send>(parties: Vec<Party>, program: &(dyn Fn(Party) -> T + Sync)) -> Vec<T> {
    let results: Vec<_> = parties.iter().map(|_| Mutex::new(None)).collect();
    in_threads(parties, &|i, party| {
        let result = program(party);
        *results[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    let result = |slot: Mutex<Option<T>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().filter_map(result).collect()
}

/// Compiled once for all.
fn in_threads(parties: Vec<Party>, program: &(dyn Fn(usize, Party) + Sync)) {
    let ended: Vec<_> = thread::scope(|scope| {
        let parties = parties.into_iter().enumerate();
        let threads: Vec<_> = parties
            .map(|(i, party)| scope.spawn(move || program(i, party)))
            .collect();
        let threads = threads.into_iter();
        threads.map(thread::ScopedJoinHandle::join).collect()
    });
    if let Some(panic) = ended.into_iter().find_map(Result::err) {
        std::panic::resume_unwind(panic);
    }
}

/// One message on its way.
pub struct Envelope<'a> {
    /// The number of the party that sends the message.
    pub from: usize,
    /// The number of the party that the message is for.
    pub to: usize,
    /// The step of the protocol that the message is of.
    pub step: &'static str,
    /// The message's bytes; what the receiver gets if they are changed.
    pub payload: &'a mut Vec<u8>,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The message arrives.
    Deliver,
    /// The message is lost, and nobody is told.
    Drop,
    /// The message arrives later.
    Delay(Duration),
    /// The message arrives after the next one of its link, if there is one.
    Hold,
    /// The message is lost, and so is the link in this direction.
    Cut,
}

type Hook = Arc<Mutex<dyn FnMut(Envelope<'_>) -> Fate + Send>>;

/// `n` parties over memory links whose every message passes through `hook` as it is sent.
pub fn mesh_with(
    n: usize,
    timeout: Duration,
    hook: impl FnMut(Envelope<'_>) -> Fate + Send + 'static,
) -> Vec<Party> {
    let hook: Hook = Arc::new(Mutex::new(hook));
    mesh_over(n, &LinkModel::LOCAL, timeout, |from, to, out| {
        Box::new(Tapped {
            from,
            to,
            out: Some(out),
            held: None,
            hook: hook.clone(),
        })
    })
}

struct Tapped {
    from: usize,
    to: usize,
    out: Option<Box<dyn Outbound>>,
    held: Option<Parcel>,
    hook: Hook,
}

impl Outbound for Tapped {
    fn send(&mut self, mut parcel: Parcel) -> Result<(), Gone> {
        let out = self.out.as_mut().ok_or(Gone)?;
        if parcel.farewell {
            return out.send(parcel);
        }
        let fate = (self.hook.lock().unwrap_or_else(PoisonError::into_inner))(Envelope {
            from: self.from,
            to: self.to,
            step: parcel.step,
            payload: &mut parcel.payload,
        });
        match fate {
            Fate::Deliver => {
                out.send(parcel)?;
                self.held.take().map_or(Ok(()), |held| out.send(held))
            }
            Fate::Hold => {
                self.held = Some(parcel);
                Ok(())
            }
            Fate::Drop => Ok(()),
            Fate::Delay(by) => {
                parcel.slot = parcel.slot.delayed(by);
                out.send(parcel)
            }
            Fate::Cut => {
                self.out = None;
                Err(Gone)
            }
        }
    }

    fn close(&mut self, hurry: bool) {
        if let Some(out) = &mut self.out {
            out.close(hurry);
        }
    }

    fn flushed(&mut self, until: Instant) -> Result<(), String> {
        self.out.as_mut().map_or(Ok(()), |out| out.flushed(until))
    }
}

/// A message that a party received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The number of the party that sent the message.
    pub from: usize,
    /// The step of the protocol that the message is of.
    pub step: &'static str,
    /// The message's bytes.
    pub payload: Vec<u8>,
}

/// Keeps every message of a run: the views of the parties.
#[derive(Clone, Default)]
pub struct Recorder {
    messages: Arc<Mutex<Vec<(usize, Seen)>>>,
}

impl Recorder {
    /// A recorder with nothing in it; its clones share what they record.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a message; to be called from the hook of [`mesh_with`].
    pub fn record(&self, envelope: &Envelope<'_>) {
        let seen = Seen {
            from: envelope.from,
            step: envelope.step,
            payload: envelope.payload.clone(),
        };
        self.messages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((envelope.to, seen));
    }

    /// What `party` was sent, by sender and then in the order of sending.
    pub fn view(&self, party: usize) -> Vec<Seen> {
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let mut view: Vec<Seen> = messages
            .iter()
            .filter(|(to, _)| *to == party)
            .map(|(_, seen)| seen.clone())
            .collect();
        view.sort_by_key(|seen| seen.from);
        view
    }
}

/// Party 1 of 2 as a stream of raw bytes, to be written below the frame parser of party 0.
pub struct RawPeer {
    queue: Arc<Queue>,
    decoder: Decoder,
}

/// The session of the run with a [`RawPeer`].
const RAW_SESSION: Session = *b"a session's name";

/// Party 0 of 2, and what stands for party 1.
pub fn raw_peer(timeout: Duration) -> (Party, RawPeer) {
    let queue = Queue::new();
    let link = Link::new(
        Box::new(Nowhere),
        queue.clone(),
        RAW_SESSION,
        LinkModel::LOCAL,
    );
    let party = Party::new(0, vec![None, Some(link)], LinkModel::LOCAL, timeout);
    (
        party,
        RawPeer {
            queue,
            decoder: Decoder::default(),
        },
    )
}

impl RawPeer {
    /// A right frame with a whole message, to be spoiled. The header has 44 bytes, little-endian:
    /// magic (0..4), version (4..6), flags (6..8), session (8..24), sequence (24..32), step tag
    /// (32..36), depth (36..40), payload length (40..44).
    ///
    /// # Panics
    /// If `payload` is longer than a frame may be.
    pub fn frame(step: &str, sequence: u64, payload: &[u8]) -> Vec<u8> {
        assert!(
            payload.len() <= MAX_PAYLOAD,
            "a frame has at most {MAX_PAYLOAD} bytes"
        );
        let header = Header {
            session: RAW_SESSION,
            sequence,
            tag: frame::tag(step),
            depth: 0,
            len: payload.len() as u32,
            more: false,
            farewell: false,
        };
        [&header.encode(), payload].concat()
    }

    /// Lets bytes arrive at party 0.
    pub fn write(&mut self, mut bytes: &[u8]) {
        let mut parts = Vec::new();
        let end = decode(&mut self.decoder, &mut bytes, &mut parts).err();
        for part in parts {
            // Nobody is left to write to once party 0 is gone.
            let _ = self.queue.push(part);
        }
        if let Some(fault) = end {
            self.queue.end(End::Fault(fault));
        }
    }

    /// Ends the stream in good order.
    pub fn close(self) {
        self.queue.end(self.decoder.end());
    }
}

/// The way out to a [`RawPeer`], which reads nothing.
struct Nowhere;

impl Outbound for Nowhere {
    fn send(&mut self, _parcel: Parcel) -> Result<(), Gone> {
        Ok(())
    }

    fn close(&mut self, _hurry: bool) {}

    fn flushed(&mut self, _until: Instant) -> Result<(), String> {
        Ok(())
    }
}
