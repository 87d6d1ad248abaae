//! The wire format: how a message is cut into frames, and how bytes of a peer become frames.
//!
//! All numbers are little-endian. A header has 44 bytes: magic (4), version (2), flags (2),
//! session (16), sequence (8), step tag (4), depth (4), payload length (4). Every frame of a
//! message but the last has [`MORE`] set and exactly [`MAX_PAYLOAD`] bytes.

use std::io::BufRead;

use crate::FrameFault;

/// The version of everything that parties send: of frames, and of every protocol's messages in them. It is
/// raised when either changes; parties of two versions refuse each other when they greet.
pub const VERSION: u16 = 20;
pub(crate) const HEADER: usize = 44;
pub(crate) const MAX_PAYLOAD: usize = 1 << 20;

const MAGIC: [u8; 4] = *b"TCIT";
/// Flag of a frame that another frame of the same message follows.
const MORE: u16 = 1;
/// Flag of the last frame of a party that gives up; its payload says why.
const FAREWELL: u16 = 2;

pub(crate) type Session = [u8; 16];

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) session: Session,
    pub(crate) sequence: u64,
    pub(crate) tag: u32,
    pub(crate) depth: u32,
    pub(crate) len: u32,
    pub(crate) more: bool,
    pub(crate) farewell: bool,
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; HEADER] {
        let flags = if self.more { MORE } else { 0 } | if self.farewell { FAREWELL } else { 0 };
        let mut bytes = [0; HEADER];
        bytes[0..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
        bytes[6..8].copy_from_slice(&flags.to_le_bytes());
        bytes[8..24].copy_from_slice(&self.session);
        bytes[24..32].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.tag.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.depth.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.len.to_le_bytes());
        bytes
    }

    /// Reads a header of [`HEADER`] bytes.
    fn decode(bytes: &[u8]) -> Result<Header, FrameFault> {
        if bytes[0..4] != MAGIC {
            return Err(FrameFault::Magic);
        }
        let version = u16::from_le_bytes(array(bytes, 4));
        if version != VERSION {
            return Err(FrameFault::Version { theirs: version });
        }
        let flags = u16::from_le_bytes(array(bytes, 6));
        let len = u32::from_le_bytes(array(bytes, 40));
        if len as usize > MAX_PAYLOAD {
            return Err(FrameFault::Oversized { len });
        }
        let more = flags & MORE != 0;
        let known = flags & !(MORE | FAREWELL) == 0;
        if !known || (more && len as usize != MAX_PAYLOAD) {
            return Err(FrameFault::Header);
        }
        Ok(Header {
            session: array(bytes, 8),
            sequence: u64::from_le_bytes(array(bytes, 24)),
            tag: u32::from_le_bytes(array(bytes, 32)),
            depth: u32::from_le_bytes(array(bytes, 36)),
            len,
            more,
            farewell: flags & FAREWELL != 0,
        })
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

/// The tag that stands for a step's name on the wire.
pub(crate) fn tag(step: &str) -> u32 {
    let hash = blake3::hash(step.as_bytes());
    let b = hash.as_bytes();
    u32::from_le_bytes([b[0], b[1], b[2], b[3]])
}

/// The bytes of framing of a message of `len` bytes.
pub(crate) fn overhead(len: usize) -> usize {
    HEADER * len.div_ceil(MAX_PAYLOAD).max(1)
}

/// The frames that a message is cut into: whether more follow, and the bytes.
pub(crate) fn cut(payload: &[u8]) -> impl Iterator<Item = (bool, &[u8])> {
    let last = payload.len().div_ceil(MAX_PAYLOAD).max(1) - 1;
    (0..=last).map(move |i| {
        let start = i * MAX_PAYLOAD;
        (
            i < last,
            &payload[start..payload.len().min(start + MAX_PAYLOAD)],
        )
    })
}

/// Turns a stream of bytes into frames, holding at most one frame.
#[derive(Default)]
pub(crate) struct Decoder {
    head: Vec<u8>,
    /// The header once it is whole, and the payload so far.
    frame: Option<(Header, Vec<u8>)>,
}

impl Decoder {
    /// Reads on until a frame is complete (`Some`) or `source` has no more for now (`None`).
    pub(crate) fn pull(
        &mut self,
        source: &mut impl BufRead,
    ) -> Result<Option<(Header, Vec<u8>)>, FrameFault> {
        if self.frame.is_none() {
            if !fill(&mut self.head, HEADER, source) {
                return Ok(None);
            }
            let header = Header::decode(&self.head)?;
            self.frame = Some((header, Vec::with_capacity(header.len as usize)));
            self.head.clear();
        }
        let whole = match &mut self.frame {
            Some((header, payload)) => fill(payload, header.len as usize, source),
            None => false,
        };
        Ok(if whole { self.frame.take() } else { None })
    }

    /// Whether the bytes so far end within a frame.
    pub(crate) fn within(&self) -> bool {
        self.frame.is_some() || !self.head.is_empty()
    }
}

/// Reads until `buffer` has `len` bytes; whether it has.
fn fill(buffer: &mut Vec<u8>, len: usize, source: &mut impl BufRead) -> bool {
    while buffer.len() < len {
        // Nothing for now and an error are told apart by the owner of the stream.
        let Ok(available) = source.fill_buf() else {
            return false;
        };
        if available.is_empty() {
            return false;
        }
        let taken = available.len().min(len - buffer.len());
        buffer.extend_from_slice(&available[..taken]);
        source.consume(taken);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(len: usize, more: bool) -> Header {
        Header {
            session: *b"0123456789abcdef",
            sequence: 7,
            tag: tag("step"),
            depth: 3,
            len: len as u32,
            more,
            farewell: false,
        }
    }

    #[test]
    fn a_frame_survives_any_fragmentation() {
        let payload: Vec<u8> = (0..100u8).collect();
        let mut stream = header(100, false).encode().to_vec();
        stream.extend_from_slice(&payload);
        for step in 1..=stream.len() {
            let mut decoder = Decoder::default();
            let mut found = Vec::new();
            for mut piece in stream.chunks(step) {
                while let Some(frame) = decoder.pull(&mut piece).unwrap() {
                    found.push(frame);
                }
            }
            assert_eq!(
                found,
                [(header(100, false), payload.clone())],
                "pieces of {step}"
            );
            assert!(!decoder.within());
        }
    }

    #[test]
    fn messages_are_cut_at_the_bound() {
        let sizes = |len: usize| {
            cut(&vec![0; len])
                .map(|(more, part)| (more, part.len()))
                .collect::<Vec<_>>()
        };
        assert_eq!(sizes(0), [(false, 0)]);
        assert_eq!(sizes(MAX_PAYLOAD), [(false, MAX_PAYLOAD)]);
        assert_eq!(sizes(MAX_PAYLOAD + 1), [(true, MAX_PAYLOAD), (false, 1)]);
        for len in [0, 1, MAX_PAYLOAD, MAX_PAYLOAD + 1, 2 * MAX_PAYLOAD] {
            assert_eq!(overhead(len), HEADER * sizes(len).len());
        }
    }

    #[test]
    fn a_part_of_a_frame_is_not_an_end() {
        for given in 1..HEADER + 5 {
            let mut stream = header(5, false).encode().to_vec();
            stream.extend_from_slice(&[0; 5]);
            let mut decoder = Decoder::default();
            assert_eq!(decoder.pull(&mut &stream[..given]), Ok(None));
            assert!(decoder.within());
        }
    }
}
