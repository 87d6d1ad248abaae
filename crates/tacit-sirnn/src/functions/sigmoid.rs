//! Sigmoids (section V-B).
//!
//! Differs from the paper: a negative number's sigmoid is 1 minus that of its magnitude, not
//! `exp(x) / (1 + exp(x))`, which spares a product and a truncation and rounds less.

use tacit_protocols::Error;

use super::clear::Number;
use super::logistic::Logistic;
use super::{Format, require};

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
            logistic: Logistic::new(input, output, digit)?,
        })
    }

    /// The sigmoid, in the clear.
    pub fn clear(&self, x: u64) -> u64 {
        let (negative, y) = self.logistic.clear(Number::new(self.input.bits, x));
        let mirror = y
            .scale(2u64.wrapping_neg())
            .add_public(1 << self.output.scale);
        y.add(mirror.select(negative)).value
    }
}
