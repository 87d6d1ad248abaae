//! Numbers of a training: fixed point over the machine's ring.

use tacit_protocols::math::Format;

use crate::Error;

/// How numbers are written: `f` fraction bits of `bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// Bits of the ring or field.
    pub bits: u32,
    /// Fraction bits.
    pub fraction: u32,
}

/// Bits of a product above the point, its sign and a truncation's gap included.
const HEADROOM: u32 = 12;

impl Fixed {
    /// `fraction` bits after the point over a ring of `bits`; a product must keep 12 bits before
    /// it.
    pub fn new(bits: u32, fraction: u32) -> Result<Self, Error> {
        let most = bits.saturating_sub(HEADROOM) / 2;
        if !(8..=most).contains(&fraction) {
            return Err(Error::setting(
                "fraction_bits",
                format!(
                    "{fraction} over {bits} bits; a training needs 8 to {most}, so that a product keeps {HEADROOM} bits before the point (the 64-bit ring has room for 26)"
                ),
            ));
        }
        Ok(Fixed { bits, fraction })
    }

    /// `value` in units of `2^-f`, rounded.
    pub fn encode(&self, value: f64) -> i64 {
        (value * self.one()).round() as i64
    }

    /// All of them.
    pub fn encode_all(&self, values: &[f32]) -> Vec<i64> {
        values.iter().map(|v| self.encode(f64::from(*v))).collect()
    }

    /// The number that stands for so many units.
    pub fn decode(&self, units: i64) -> f32 {
        (units as f64 / self.one()) as f32
    }

    /// `2^f`.
    pub fn one(&self) -> f64 {
        f64::from(self.fraction).exp2()
    }

    pub(crate) fn format(&self) -> Result<Format, Error> {
        Ok(Format::new(self.bits, self.fraction)?)
    }
}
