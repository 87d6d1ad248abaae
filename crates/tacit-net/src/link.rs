//! The link to one peer: messages out, and messages put together from the frames coming in.

use std::sync::Arc;
use std::time::{Duration, Instant};

use zeroize::Zeroize;

use crate::FrameFault;
use crate::emulate::{LinkModel, Shaper, Slot, sleep_until};
use crate::frame::{Header, Session};
use crate::queue::{End, Gone, NoPart, Part, Queue};

/// The longest words of a peer that gives up which are shown.
pub(crate) const FAREWELL_BYTES: usize = 500;

/// What a party that gives up tells the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Farewell {
    /// The reason of the farewell, in its sender's words.
    Words(String),
    /// A check failed: one of these parties broke the protocol.
    Accusation { suspects: Vec<usize>, check: String },
    /// A third party was lost or has stopped, as the words go on after its name.
    Because { party: usize, words: String },
    /// The user of the party that says farewell interrupted it.
    Interrupted,
}

/// The tags of farewells with a form; 0 stands for plain words.
pub(crate) const ACCUSATION: u32 = 1;
const BECAUSE: u32 = 2;
const INTERRUPTED: u32 = 3;
/// An accusation of more suspects is read as words.
const SUSPECTS: usize = 8;

impl Farewell {
    /// Whether this farewell says that party `party` was lost or has stopped.
    pub(crate) fn is_of(&self, party: usize) -> bool {
        matches!(self, Farewell::Because { party: of, .. } if *of == party)
    }

    /// The tag and the payload of the frame: of an accusation the number of suspects, the suspects,
    /// a byte each, and the name of the check; of a cause elsewhere the party in two bytes, and the
    /// words.
    pub(crate) fn encode(&self) -> (u32, Vec<u8>) {
        let (tag, mut payload) = match self {
            Farewell::Words(words) => (0, words.as_bytes().to_vec()),
            Farewell::Accusation { suspects, check } => {
                let mut payload = vec![suspects.len() as u8];
                payload.extend(suspects.iter().map(|party| *party as u8));
                payload.extend_from_slice(check.as_bytes());
                (ACCUSATION, payload)
            }
            Farewell::Because { party, words } => {
                let mut payload = (*party as u16).to_le_bytes().to_vec();
                payload.extend_from_slice(words.as_bytes());
                (BECAUSE, payload)
            }
            Farewell::Interrupted => (INTERRUPTED, Vec::new()),
        };
        payload.truncate(FAREWELL_BYTES);
        (tag, payload)
    }

    /// Reads a peer's last frame. A tag that is unknown, or a payload that does not fit it, is read
    /// as words.
    pub(crate) fn decode(tag: u32, payload: &[u8]) -> Farewell {
        let accusation = || {
            let (count, rest) = payload.split_first()?;
            let count = usize::from(*count);
            let (suspects, check) = rest.split_at_checked(count)?;
            (count <= SUSPECTS).then(|| Farewell::Accusation {
                suspects: suspects.iter().map(|party| usize::from(*party)).collect(),
                check: printable(check),
            })
        };
        let because = || {
            let (party, words) = payload.split_first_chunk::<2>()?;
            Some(Farewell::Because {
                party: u16::from_le_bytes(*party).into(),
                words: printable(words),
            })
        };
        let other = match tag {
            ACCUSATION => accusation(),
            BECAUSE => because(),
            INTERRUPTED => Some(Farewell::Interrupted),
            _ => None,
        };
        other.unwrap_or_else(|| Farewell::Words(printable(payload)))
    }
}

/// One message on its way out.
pub(crate) struct Parcel {
    pub(crate) step: &'static str,
    pub(crate) tag: u32,
    pub(crate) depth: u32,
    pub(crate) payload: Vec<u8>,
    pub(crate) slot: Slot,
    pub(crate) farewell: bool,
}

/// Messages up to this long are wiped after they were sent: openings of keys are.
const WIPED: usize = 4096;

impl Drop for Parcel {
    fn drop(&mut self) {
        if self.payload.len() <= WIPED {
            self.payload.zeroize();
        }
    }
}

impl Parcel {
    pub(crate) fn header(&self, session: Session, sequence: u64, len: usize, more: bool) -> Header {
        Header {
            session,
            sequence,
            tag: self.tag,
            depth: self.depth,
            len: u32::try_from(len).unwrap_or(u32::MAX),
            more,
            farewell: self.farewell,
        }
    }
}

/// The way out to one peer. Dropping it closes the link.
pub(crate) trait Outbound: Send {
    /// Queues a message and returns at once.
    fn send(&mut self, parcel: Parcel) -> Result<(), Gone>;
    /// Says that nothing more will be sent. What is queued still goes out, unless in a `hurry`:
    /// then only a farewell does.
    fn close(&mut self, hurry: bool);
    /// Names the session of all that is sent from now on.
    fn begin(&mut self, _session: Session) {}
    /// Messages that have not left this party yet, where that is known.
    fn unsent(&self) -> usize {
        0
    }
    /// Waits until the peer has everything that was queued; says what went wrong otherwise.
    fn flushed(&mut self, until: Instant) -> Result<(), String>;
}

/// A question asked while a link waits: why waiting is in vain, or `None` if it is not.
pub(crate) type Vain<'a> = &'a dyn Fn() -> Option<NoPart>;

/// Both directions of the link to one peer.
pub(crate) struct Link {
    pub(crate) out: Box<dyn Outbound>,
    pub(crate) shaper: Shaper,
    pub(crate) queue: Arc<Queue>,
    session: Session,
    sequence: u64,
}

impl Link {
    pub(crate) fn new(
        out: Box<dyn Outbound>,
        queue: Arc<Queue>,
        session: Session,
        model: LinkModel,
    ) -> Self {
        Link {
            out,
            shaper: Shaper::new(model),
            queue,
            session,
            sequence: 0,
        }
    }

    /// Messages that have not left this party yet.
    pub(crate) fn unsent(&self) -> usize {
        self.out.unsent()
    }

    /// Names the session, once all parties are there.
    pub(crate) fn begin(&mut self, session: Session) {
        self.session = session;
        self.out.begin(session);
    }

    /// The next frame of this run, in order. A farewell may come from before the session.
    fn next(&mut self, until: Instant, vain: Vain) -> Result<Part, Trouble> {
        let part = self.queue.pop(until, vain).map_err(Trouble::Missing)?;
        let early = part.header.farewell && part.header.session == Session::default();
        if part.header.session != self.session && !early {
            return Err(Trouble::Fault(FrameFault::ForeignSession));
        }
        if part.header.sequence != self.sequence {
            let (expected, got) = (self.sequence, part.header.sequence);
            return Err(Trouble::Fault(FrameFault::Sequence { expected, got }));
        }
        self.sequence += 1;
        if let Some(due) = part.due {
            if !sleep_until(due.min(until)) {
                return Err(Trouble::Missing(NoPart::Interrupted));
            }
            if due > until {
                return Err(Trouble::Missing(NoPart::Late));
            }
        }
        Ok(part)
    }

    /// Puts the frames of one message together; also the depth of its sender.
    pub(crate) fn message(
        &mut self,
        tag: u32,
        size: Size,
        patience: Duration,
        vain: Vain,
    ) -> Result<(Vec<u8>, u32), Trouble> {
        let mut payload = Vec::new();
        loop {
            let part = self.next(Instant::now() + patience, vain)?;
            if part.header.farewell {
                let said = Farewell::decode(part.header.tag, &part.payload);
                return Err(Trouble::Farewell(said));
            }
            if part.header.tag != tag {
                return Err(Trouble::OtherStep(part.header.tag));
            }
            let len = payload.len() + part.payload.len();
            if len > size.max() || (!part.header.more && !size.fits(len)) {
                return Err(Trouble::Length(len));
            }
            if payload.is_empty() {
                payload = part.payload;
                if part.header.more {
                    payload.reserve_exact(if let Size::Exactly(expected) = size {
                        expected - len
                    } else {
                        0
                    });
                }
            } else {
                payload.extend_from_slice(&part.payload);
            }
            if !part.header.more {
                return Ok((payload, part.header.depth));
            }
        }
    }

    /// Why a peer that takes no more bytes has gone, by what it said last.
    pub(crate) fn last_words(&mut self) -> Trouble {
        loop {
            match self.queue.pop(Instant::now(), &|| None) {
                Ok(part) if part.header.farewell => {
                    let said = Farewell::decode(part.header.tag, &part.payload);
                    return Trouble::Farewell(said);
                }
                Ok(_) => {}
                Err(NoPart::Ended(end)) => return Trouble::Missing(NoPart::Ended(end)),
                Err(_) => return Trouble::Missing(NoPart::Ended(End::Closed)),
            }
        }
    }
}

impl Drop for Link {
    /// Whoever reads from the peer may wait for room that nobody makes any more; the way out waits for it to end.
    fn drop(&mut self) {
        self.queue.abandon();
    }
}

/// Why no message came.
pub(crate) enum Trouble {
    Missing(NoPart),
    Fault(FrameFault),
    Farewell(Farewell),
    OtherStep(u32),
    Length(usize),
}

/// How long a message may be.
#[derive(Clone, Copy)]
pub(crate) enum Size {
    Exactly(usize),
    AtMost(usize),
}

impl Size {
    pub(crate) fn max(self) -> usize {
        match self {
            Size::Exactly(len) | Size::AtMost(len) => len,
        }
    }

    fn fits(self, len: usize) -> bool {
        match self {
            Size::Exactly(expected) => len == expected,
            Size::AtMost(max) => len <= max,
        }
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Size::Exactly(len) => write!(f, "exactly {len}"),
            Size::AtMost(max) => write!(f, "at most {max}"),
        }
    }
}

/// A peer's words, safe to show.
pub(crate) fn printable(words: &[u8]) -> String {
    let words = &words[..words.len().min(FAREWELL_BYTES)];
    String::from_utf8_lossy(words)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread::{self, JoinHandle};

    use super::*;
    use crate::queue::tests::part;

    /// A way out that waits for what reads from the peer.
    struct Waits(Option<JoinHandle<()>>);

    impl Outbound for Waits {
        fn send(&mut self, _: Parcel) -> Result<(), Gone> {
            Ok(())
        }
        fn close(&mut self, _: bool) {}
        fn flushed(&mut self, _: Instant) -> Result<(), String> {
            Ok(())
        }
    }

    impl Drop for Waits {
        fn drop(&mut self) {
            let _ = self.0.take().map(JoinHandle::join);
        }
    }

    /// A peer that has sent as much as there is room for, and comes again: its first link goes.
    #[test]
    fn a_link_that_nobody_reads_can_be_dropped() {
        let queue = Queue::new();
        let read = queue.clone();
        let reader = thread::spawn(move || while read.push_bounded(part(40 << 20)).is_ok() {});
        let out = Box::new(Waits(Some(reader)));
        let link = Link::new(out, queue, Session::default(), LinkModel::LOCAL);
        let (done, dropped) = channel();
        thread::spawn(move || {
            drop(link);
            let _ = done.send(());
        });
        dropped
            .recv_timeout(Duration::from_secs(20))
            .expect("it is dropped");
    }

    #[test]
    fn what_is_said_survives_the_wire_and_anything_else_is_words() {
        let said = Farewell::Accusation {
            suspects: vec![1, 2],
            check: "a step: hash".into(),
        };
        let (tag, payload) = said.encode();
        assert_eq!(Farewell::decode(tag, &payload), said);
        for said in [
            Farewell::Interrupted,
            Farewell::Because {
                party: 300,
                words: "stopped".into(),
            },
        ] {
            let (tag, payload) = said.encode();
            assert_eq!(Farewell::decode(tag, &payload), said);
        }
        assert_eq!(Farewell::decode(BECAUSE, b"x"), Farewell::Words("x".into()));
        let words =
            |payload: &[u8]| matches!(Farewell::decode(ACCUSATION, payload), Farewell::Words(_));
        assert!(words(&[]) && words(&[2, 1]) && words(&[255; 300]));
        assert_eq!(
            Farewell::decode(0, &payload),
            Farewell::Words(printable(&payload))
        );
        let long = Farewell::Words("x".repeat(10 * FAREWELL_BYTES));
        assert_eq!(long.encode().1.len(), FAREWELL_BYTES);
    }
}
