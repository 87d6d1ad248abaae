//! The frames between a transport and the party that receives them.

use std::collections::VecDeque;
use std::io::BufRead;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::FrameFault;
use crate::frame::{Decoder, Header};
use crate::interrupt::POLL;
use crate::link::Farewell;

/// The link's far end is gone: nothing can be sent to it any more.
#[derive(Debug, PartialEq)]
pub(crate) struct Gone;

/// One frame that came in, or one whole message of a memory link.
pub(crate) struct Part {
    pub(crate) header: Header,
    pub(crate) payload: Vec<u8>,
    /// The frame is handed out at this moment or later.
    pub(crate) due: Option<Instant>,
}

/// Why no more frames come.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// The peer closed its end in good order.
    Closed,
    /// The connection broke.
    Broken(String),
    /// The peer sent bytes that are no frame.
    Fault(FrameFault),
}

/// Takes all frames that `source` has for now.
pub(crate) fn decode(
    decoder: &mut Decoder,
    source: &mut impl BufRead,
    parts: &mut Vec<Part>,
) -> Result<(), FrameFault> {
    while let Some((header, payload)) = decoder.pull(source)? {
        parts.push(Part {
            header,
            payload,
            due: None,
        });
    }
    Ok(())
}

impl Decoder {
    /// The end that this is when the peer closes its stream: a good one, or a fault within a frame.
    pub(crate) fn end(&self) -> End {
        if self.within() {
            End::Fault(FrameFault::Truncated)
        } else {
            End::Closed
        }
    }
}

/// Why a [`Queue`] gave no frame.
#[derive(Debug)]
pub(crate) enum NoPart {
    /// The time is over.
    Late,
    /// No part will come any more.
    Ended(End),
    /// This process was interrupted.
    Interrupted,
    /// A peer other than the one that is heard has said that it stops.
    Elsewhere,
}

/// Where frames come from, if whoever waits for them can fetch them itself.
pub(crate) trait Source: Send + Sync {
    /// Moves what comes to the queue, waiting for it some milliseconds, or `most` if that is less. False if nothing
    /// came, or if another thread fetches it.
    fn fetch(&self, queue: &Queue, most: Duration) -> bool;
}

/// The frames between a transport and the party that receives them.
pub(crate) struct Queue {
    state: Mutex<State>,
    arrived: Condvar,
    taken: Condvar,
    source: OnceLock<Arc<dyn Source>>,
}

#[derive(Default)]
struct State {
    parts: VecDeque<Part>,
    bytes: usize,
    end: Option<End>,
    abandoned: bool,
    /// Whether the party sleeps until a frame arrives, and how many transports do until there is room: to wake nobody
    /// costs a call of the system, too.
    awaited: bool,
    blocked: usize,
    /// The transport leaves it to the party to fetch what comes.
    left_to_party: bool,
}

/// Bytes that a transport may have waiting for a party before it stops reading from the peer.
const QUEUE_BYTES: usize = 32 << 20;
/// What a frame costs beside its payload, so that empty frames are bounded too.
const PART_BYTES: usize = 128;

impl Queue {
    pub(crate) fn new() -> Arc<Queue> {
        Arc::new(Queue {
            state: Mutex::default(),
            arrived: Condvar::new(),
            taken: Condvar::new(),
            source: OnceLock::new(),
        })
    }

    /// Lets whoever waits for a frame fetch it.
    pub(crate) fn read_from(&self, source: Arc<dyn Source>) {
        let _ = self.source.set(source);
    }

    /// Fetches frames in this thread, see [`Source::fetch`].
    fn fetch(&self, most: Duration) -> bool {
        let source = self.source.get();
        source.is_some_and(|source| source.fetch(self, most))
    }

    /// Fetches all that has come, within limits.
    fn fetch_all(&self) {
        const TIMES: usize = 256;
        let _ = (0..TIMES).find(|_| !self.fetch(Duration::ZERO));
    }

    /// Leaves it to the party to fetch what comes. False, and nothing is left, if it sleeps: nobody would fetch.
    pub(crate) fn leave_to_party(&self) -> bool {
        let mut state = self.lock();
        state.left_to_party = !state.awaited;
        state.left_to_party
    }

    /// Whether nothing is there for who waits, neither a frame nor the end.
    pub(crate) fn is_empty(&self) -> bool {
        let state = self.lock();
        state.parts.is_empty() && state.end.is_none()
    }

    /// Whether more may be fetched while nobody takes frames.
    pub(crate) fn has_room(&self) -> bool {
        self.lock().bytes <= QUEUE_BYTES
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a frame, however many are there already; whether somebody slept until it came.
    pub(crate) fn push(&self, part: Part) -> Result<bool, Gone> {
        let mut state = self.lock();
        if state.abandoned {
            return Err(Gone);
        }
        state.bytes += part.payload.len() + PART_BYTES;
        state.parts.push_back(part);
        let awaited = std::mem::take(&mut state.awaited);
        if awaited {
            self.arrived.notify_one();
        }
        Ok(awaited)
    }

    /// [`Queue::push`] once there is room, so that a peer cannot fill this party's memory.
    pub(crate) fn push_bounded(&self, part: Part) -> Result<bool, Gone> {
        let mut state = self.lock();
        while state.bytes > QUEUE_BYTES && !state.abandoned {
            state.blocked += 1;
            state = self
                .taken
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.blocked -= 1;
        }
        drop(state);
        self.push(part)
    }

    /// Says that no more frames come; the first reason stays.
    pub(crate) fn end(&self, end: End) {
        self.lock().end.get_or_insert(end);
        self.arrived.notify_all();
    }

    /// Says that nobody receives any more, and drops what is there.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.abandoned = true;
        state.parts.clear();
        self.taken.notify_all();
    }

    /// The farewell that the peer has sent, if any; the frames before it stay.
    pub(crate) fn farewell(&self) -> Option<Farewell> {
        self.fetch_all();
        let state = self.lock();
        let last = state.parts.back().filter(|part| part.header.farewell)?;
        Some(Farewell::decode(last.header.tag, &last.payload))
    }

    /// How the stream of frames ended, if it has.
    pub(crate) fn ended(&self) -> Option<End> {
        self.lock().end.clone()
    }

    /// Takes the next frame, waiting for it until `until` at the latest, or until `vain` says why
    /// waiting is in vain; it is asked every [`POLL`].
    pub(crate) fn pop(
        &self,
        until: Instant,
        vain: &dyn Fn() -> Option<NoPart>,
    ) -> Result<Part, NoPart> {
        let mut state = self.lock();
        let mut looked = false;
        loop {
            if let Some(part) = state.parts.pop_front() {
                state.bytes -= part.payload.len() + PART_BYTES;
                if state.blocked > 0 {
                    self.taken.notify_one();
                }
                return Ok(part);
            }
            if let Some(end) = &state.end {
                return Err(NoPart::Ended(end.clone()));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() && looked {
                return Err(NoPart::Late);
            }
            looked = left.is_zero();
            // Without the lock: it looks at other queues, whose parties look at this one.
            drop(state);
            if !looked && let Some(why) = vain() {
                return Err(why);
            }
            let fetched = self.fetch(left);
            state = self.lock();
            if looked {
                continue;
            }
            // To fetch may have been left to this thread just now.
            if fetched
                || std::mem::take(&mut state.left_to_party)
                || !state.parts.is_empty()
                || state.end.is_some()
            {
                continue;
            }
            state.awaited = true;
            state = self
                .arrived
                .wait_timeout(state, left.min(POLL))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            state.awaited = false;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::frame::Session;

    /// A frame of so many bytes.
    pub(crate) fn part(len: usize) -> Part {
        let header = Header {
            session: Session::default(),
            sequence: 0,
            tag: 0,
            depth: 0,
            len: 0,
            more: false,
            farewell: false,
        };
        Part {
            header,
            payload: vec![0; len],
            due: None,
        }
    }

    #[test]
    fn a_transport_cannot_fill_the_memory() {
        for len in [1 << 20, 0] {
            let queue = Queue::new();
            let count = 4 * QUEUE_BYTES / (len + PART_BYTES);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for _ in 0..count {
                        queue.push_bounded(part(len)).unwrap();
                    }
                });
                for _ in 0..count {
                    queue
                        .pop(Instant::now() + Duration::from_secs(60), &|| None)
                        .unwrap();
                    let waiting = queue.lock().bytes;
                    assert!(waiting <= QUEUE_BYTES + len + PART_BYTES, "{waiting} bytes");
                }
            });
            assert_eq!(queue.lock().bytes, 0);
        }
    }

    #[test]
    fn who_waits_for_room_is_released_when_nobody_receives() {
        let queue = Queue::new();
        queue.push(part(QUEUE_BYTES + 1)).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| queue.push_bounded(part(1)));
            // Most likely it waits by then; if not, the test proves less.
            std::thread::sleep(Duration::from_millis(20));
            queue.abandon();
            assert_eq!(waiting.join().unwrap(), Err(Gone));
        });
        assert_eq!(queue.lock().parts.len(), 0);
    }
}
