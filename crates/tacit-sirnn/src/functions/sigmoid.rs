//! Sigmoids (SiRnn, Figure 4, section V-B; docs/spec/sirnn.md, section 11).
//!
//! Differs from the paper: a negative number's sigmoid is 1 minus that of its magnitude, not
//! `exp(x) / (1 + exp(x))`, which spares a product and a truncation and rounds less.
//!
//! Error: 2 (int) and 1.92 (real) at 16 bits, where the paper states 3 and its program has 3.07;
//! measured 3.2 at 32 bits with up to 28 fraction bits.

use tacit_algebra::Bits;
use tacit_protocols::Error;

use super::clear::Number;
use super::logistic::Logistic;
use super::{Format, reflect, require};
use crate::{Engine, Shared};

/// `1 / (1 + exp(-x))`.
#[derive(Clone, Debug)]
pub struct Sigmoid {
    input: Format,
    output: Format,
    logistic: Logistic,
}

impl Sigmoid {
    /// Sigmoids by tables for digits of `digit` bits, at most 8. The result has 4 to 30 fraction
    /// bits and needs two bits more.
    pub fn new(input: Format, output: Format, digit: u32) -> Result<Self, Error> {
        Self::with_rate(input, output, digit, (1, 0))
    }

    /// Sigmoids of `rate x`, the rate given with its fraction bits.
    pub(super) fn with_rate(
        input: Format,
        output: Format,
        digit: u32,
        rate: (u64, u32),
    ) -> Result<Self, Error> {
        require(
            (2..=64).contains(&input.bits) && output.bits >= output.scale + 2,
            || {
                format!(
                    "sigmoids of {} bits, with {} fraction bits in {}",
                    input.bits, output.scale, output.bits
                )
            },
        )?;
        Ok(Sigmoid {
            input,
            output,
            logistic: Logistic::with_rate(input, output, digit, rate)?,
        })
    }

    /// The sigmoid, in the clear.
    pub fn clear(&self, x: u64) -> u64 {
        let (negative, y) = self.logistic.clear(Number::new(self.input.bits, x));
        y.reflect(negative, self.half()).value
    }

    /// The sigmoid, of shares: a sign, a MUX, an exponential, a reciprocal, a MUX.
    ///
    /// At 16 bits, scales of 12 and digits of 6: 50 hops, 4126 bytes with OTs of 128 bits (the paper:
    /// under 5 KB) and 1582 with OTs of 32. With digits of 8: 39 hops, 3716 and 1892.
    pub fn apply(&self, engine: &mut Engine, x: &Shared) -> Result<Shared, Error> {
        Ok(self.with_sign(engine, x)?.1)
    }

    /// Whether `x < 0`, and its sigmoid.
    pub(super) fn with_sign(
        &self,
        engine: &mut Engine,
        x: &Shared,
    ) -> Result<(Bits, Shared), Error> {
        let (negative, y) = self.logistic.apply(engine, x)?;
        let y = reflect(engine, &negative, &y, self.half())?;
        Ok((negative, y))
    }

    /// The number 1/2 at the output's scale.
    fn half(&self) -> u64 {
        1 << (self.output.scale - 1)
    }
}
