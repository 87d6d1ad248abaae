//! Numbers of unknown size brought between 1 and 2, and powers of two that depend on their size.

use super::clear::{Number, low};

/// `x 2^-k` for the position `k` of the highest bit of a positive `x`.
#[derive(Clone, Debug)]
pub(super) struct Normal {
    /// The width of `x`, whose top bit is 0.
    bits: u32,
    /// `2^(bits - 2 - k)`.
    lifts: Vec<u64>,
}

impl Normal {
    /// Of numbers of 3 to 64 bits.
    pub fn new(bits: u32) -> Self {
        let mut normal = Normal {
            bits,
            lifts: Vec::new(),
        };
        normal.lifts = normal.table(|k| 1 << (bits - 2 - k));
        normal
    }

    /// The width of `k`.
    pub fn position_bits(&self) -> u32 {
        (self.bits - 1).next_power_of_two().ilog2()
    }

    /// A table indexed by `k`.
    pub fn table(&self, entry: impl Fn(u32) -> u64) -> Vec<u64> {
        (0..1 << self.position_bits())
            .map(|k| entry(k.min(self.bits - 2)))
            .collect()
    }

    /// `k`, and the fraction of `x 2^-k` after its 1: `bits - 2` fraction bits in `bits - 1` bits,
    /// of which the first is 0.
    pub fn clear(&self, x: Number) -> (Number, Number) {
        let x = x.reduce(self.bits - 1);
        let position = x.highest_bit(self.position_bits());
        let lift = position.lookup(&self.lifts, self.bits - 1);
        let one = low(1 << (self.bits - 2), self.bits - 1);
        (position, x.multiply(lift, self.bits - 1).add_public(one))
    }
}
