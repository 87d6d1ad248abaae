//! Signs that cost less: what a protocol answers to a planner, before its parties meet.

use crate::machine::KeyBits;
use crate::{bicoptor, falcon};

/// The signs that a protocol takes at less cost than those of any number of its ring.
#[derive(Clone, Copy, Debug)]
pub struct Signs {
    /// How many bits a ring must have for a sign over these key bits; `None` if key bits save nothing.
    pub key_bits: Option<fn(KeyBits) -> u32>,
    /// The number of bits, no fewer than asked for, in which the protocol takes exact signs of numbers that so many
    /// bits hold; `None` if narrow numbers save nothing.
    pub narrow: Option<fn(u32) -> u32>,
}

/// What the protocols of this crate answer.
pub const SIGNS: &[Signs] = &[falcon::SIGNS, bicoptor::SIGNS];

/// How many bits a ring must have so that each of `all` takes signs over these key bits.
pub fn room(all: &[Signs], keys: KeyBits) -> u32 {
    let rooms = all.iter().filter_map(|signs| Some(signs.key_bits?(keys)));
    rooms.max().unwrap_or(0)
}

/// The number of bits in which exact signs of numbers of `bits` bits are taken by each of `all` that gains by it; the
/// ring's bits if none gains.
pub fn narrowest(all: &[Signs], bits: u32, element_bits: u32) -> u32 {
    let narrow = all.iter().filter_map(|signs| Some(signs.narrow?(bits)));
    match narrow.max().unwrap_or(element_bits) {
        // What one of them needs may be more than another has exact signs of.
        wider if bits < wider && wider < element_bits => narrowest(all, wider, element_bits),
        found => found.min(element_bits),
    }
}
