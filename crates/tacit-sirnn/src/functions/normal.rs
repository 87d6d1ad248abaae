//! Numbers of unknown size brought between 1 and 2, and powers of two that depend on their size.

use tacit_protocols::Error;

use super::clear::Number;
use crate::{Engine, Msb, Shared, index_bits};

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
        index_bits(self.bits - 1)
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
        (
            position,
            x.multiply(lift, self.bits - 1)
                .add_public(1 << (self.bits - 2)),
        )
    }

    /// The fraction, and the entries of `tables` at `k`, of shares.
    pub fn apply(
        &self,
        engine: &mut Engine,
        x: &Shared,
        tables: &[(u32, &[u64])],
    ) -> Result<(Shared, Vec<Shared>), Error> {
        let bits = self.bits - 1;
        let x = x.reduce(bits);
        let position = engine.msnzb_index(&x)?;
        let all = [&[(bits, &self.lifts[..])], tables].concat();
        let mut found = engine.lookups(&all, &position)?;
        let lift = found.remove(0);
        let unknown = Msb::Unknown;
        let product = engine.multiply_unsigned(&x, &lift, bits, &unknown, &unknown)?;
        Ok((engine.add_public(&product, 1 << (bits - 1)), found))
    }
}
