//! Hyperbolic tangents (section V-B): `tanh(x) = 2 sigmoid(2 x) - 1`.

use tacit_protocols::Error;

use super::clear::Number;
use super::logistic::Logistic;
use super::{Format, require};

/// `tanh(x)`.
#[derive(Clone, Debug)]
pub struct Tanh {
    input: Format,
    output: Format,
    /// Of `2 x`, with one fraction bit more, so that the result's scale is that of twice it.
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
        let magnitude = y.add_public((1u64 << self.output.scale).wrapping_neg());
        let half = magnitude.reduce(self.output.bits - 1).select(negative);
        magnitude.sub(half.shift_up(1)).value
    }
}
