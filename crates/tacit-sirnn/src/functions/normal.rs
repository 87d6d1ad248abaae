//! Numbers of unknown size brought between 1 and 2, and powers of two that depend on their size.

use tacit_protocols::Error;

use super::clear::Number;
use super::shift_up;
use crate::{Engine, Msb, Shared, index_bits};

/// `x 2^-k` for the position `k` of the highest bit of a positive `x`; 0 is taken for 1.
#[derive(Clone, Debug)]
pub(super) struct Normal {
    /// The width of `x`, whose top bit is 0.
    bits: u32,
    /// The lowest position that tables tell from others.
    least: u32,
    /// `2^(bits - 2 - k)`.
    lifts: Vec<u64>,
    /// Whether `x` is 0.
    zeros: Vec<u64>,
}

impl Normal {
    /// A normalisation of numbers of 3 to 64 bits. Tables take a highest bit below bit `least` for that bit.
    pub fn new(bits: u32, least: u32) -> Self {
        let zero = u64::from(bits - 1);
        let positions = 0..1u64 << index_bits(bits);
        Normal {
            bits,
            least,
            // Of 0 any will do.
            lifts: positions
                .clone()
                .map(|k| 1 << (zero - 1).saturating_sub(k))
                .collect(),
            zeros: positions.map(|k| u64::from(k == zero)).collect(),
        }
    }

    /// The width of `k`, which has one value more than there are positions.
    pub fn position_bits(&self) -> u32 {
        index_bits(self.bits)
    }

    /// The `k` of 0.
    fn zero(&self) -> u64 {
        u64::from(self.bits - 1)
    }

    /// A table indexed by `k`.
    pub fn table(&self, entry: impl Fn(u32) -> u64) -> Vec<u64> {
        (0..1 << self.position_bits())
            .map(|k| match u64::from(k) < self.zero() {
                true => entry(k.max(self.least)),
                false => entry(self.least),
            })
            .collect()
    }

    /// `k`, and the fraction of `x 2^-k` after its 1: `bits - 2` fraction bits in `bits - 1` bits,
    /// of which the first is 0.
    pub fn clear(&self, x: Number) -> (Number, Number) {
        let bits = self.bits - 1;
        let x = x.reduce(bits);
        let position = match x.value {
            0 => Number::new(self.position_bits(), self.zero()),
            _ => x.highest_bit(self.position_bits()),
        };
        let lift = position.lookup(&self.lifts, bits);
        let zero = position.lookup(&self.zeros, 1).shift_up(bits - 1);
        let product = x.multiply(lift, bits).add(zero);
        (position, product.add_public(1 << (bits - 1)))
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
        let position = engine.msnzb_index_or(&x, self.position_bits(), self.zero())?;
        let own = [(bits, &self.lifts[..]), (1, &self.zeros[..])];
        let mut found = engine.lookups(&[&own[..], tables].concat(), &position)?;
        let rest = found.split_off(2);
        let unknown = Msb::Unknown;
        let product = engine.multiply_unsigned(&x, &found[0], bits, &unknown, &unknown)?;
        let product = product.add(&shift_up(&found[1], bits - 1));
        Ok((engine.add_public(&product, 1 << (bits - 1)), rest))
    }
}
