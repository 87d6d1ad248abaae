//! The signs that cost less: what a protocol answers to one who plans a program before its parties meet.

use crate::machine::KeyBits;
use crate::{bicoptor, falcon};

/// The signs that a protocol takes at less cost than those of any number of its ring.
#[derive(Clone, Copy, Debug)]
pub struct Signs {
    /// The bits of a ring that has room for a sign over these key bits, in a protocol that gains by them.
    pub key_bits: Option<fn(KeyBits) -> u32>,
    /// The bits, no fewer, in which it takes exact signs of numbers of so many, in a protocol that gains
    /// where these are fewer than the ring's.
    pub narrow: Option<fn(u32) -> u32>,
}

/// What the protocols of this crate answer.
pub const SIGNS: &[Signs] = &[falcon::SIGNS, bicoptor::SIGNS];

/// The bits of a ring that has room for a sign over these key bits in each of `all`.
pub fn room(all: &[Signs], keys: KeyBits) -> u32 {
    let rooms = all.iter().filter_map(|signs| Some(signs.key_bits?(keys)));
    rooms.max().unwrap_or(0)
}

/// The bits in which each of `all` that gains by it takes exact signs of numbers of `bits` bits over a
/// ring: the ring's where there are no fewer.
pub fn narrowest(all: &[Signs], bits: u32, ring_bits: u32) -> u32 {
    let narrow = all.iter().filter_map(|signs| Some(signs.narrow?(bits)));
    match narrow.max().unwrap_or(ring_bits) {
        // What one of them needs may be more than another has exact signs of.
        wider if bits < wider && wider < ring_bits => narrowest(all, wider, ring_bits),
        found => found.min(ring_bits),
    }
}
