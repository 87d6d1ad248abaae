//! Hyperbolic tangents (SiRnn, section V-B; docs/spec/sirnn.md, section 11):
//! `tanh(x) = 2 sigmoid(2 x) - 1`.
//!
//! The authors' program divides `1 - e` by `1 + e` instead, which takes a product more. Error: 2
//! (int) and 1.90 (real) at 16 bits, where the paper states 4 and that program has 3.55; measured
//! 3.4 at 32 bits with up to 28 fraction bits.

use tacit_protocols::Error;

use super::clear::Number;
use super::logistic::Logistic;
use super::{Format, reflect, require};
use crate::{Engine, Shared};

/// `tanh(x)`.
#[derive(Clone, Debug)]
pub struct Tanh {
    input: Format,
    output: Format,
    /// The function of `2 x`, with one fraction bit more, so that twice it has the result's scale.
    logistic: Logistic,
}

impl Tanh {
    /// Hyperbolic tangents by tables for digits of `digit` bits, at most 8. The input has at least
    /// one fraction bit; the result has 3 to 29 and needs two bits more.
    pub fn new(input: Format, output: Format, digit: u32) -> Result<Self, Error> {
        let fits = input.bits >= 2 && input.scale >= 1 && output.bits >= output.scale + 2;
        require(fits, || {
            format!(
                "tanh of {} bits with {} fraction bits, in {} bits with {}",
                input.bits, input.scale, output.bits, output.scale
            )
        })?;
        let doubled = Format::new(input.bits, input.scale - 1);
        let finer = Format::new(output.bits, output.scale + 1);
        Ok(Tanh {
            input,
            output,
            logistic: Logistic::new(doubled, finer, digit)?,
        })
    }

    /// `tanh(x)`, in the clear.
    pub fn clear(&self, x: u64) -> u64 {
        let (negative, y) = self.logistic.clear(Number::new(self.input.bits, x));
        y.add_public(self.minus_one()).reflect(negative, 0).value
    }

    /// `tanh(x)`, of shares: a sign, a MUX, an exponential, a reciprocal, a MUX.
    ///
    /// At 16 bits, scales of 12 and digits of 6: 52 hops, 4664 bytes with OTs of 128 bits and 1928
    /// with OTs of 32. With digits of 8: 41 hops, 4208 and 2252.
    pub fn apply(&self, engine: &mut Engine, x: &Shared) -> Result<Shared, Error> {
        let (negative, y) = self.logistic.apply(engine, x)?;
        let magnitude = engine.add_public(&y, self.minus_one());
        reflect(engine, &negative, &magnitude, 0)
    }

    fn minus_one(&self) -> u64 {
        (1u64 << self.output.scale).wrapping_neg()
    }
}
