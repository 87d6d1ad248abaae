//! `1 / (1 + exp(-|x|))`, between 1/2 and 1: what sigmoids and tanhs share.

use tacit_algebra::Bits;
use tacit_protocols::Error;

use super::clear::Number;
use super::{Exp, Format, Reciprocal, reflect};
use crate::{Engine, Shared};

/// `1 / (1 + exp(-|x|))` and the sign of `x`.
#[derive(Clone, Debug)]
pub(super) struct Logistic {
    exp: Exp,
    reciprocal: Reciprocal,
}

impl Logistic {
    /// The function of numbers of the format `input`, in `output.bits` bits, at least one more than
    /// the scale. It is computed by tables for digits of `digit` bits.
    pub fn new(input: Format, output: Format, digit: u32) -> Result<Self, Error> {
        Self::with_rate(input, output, digit, (1, 0))
    }

    /// `1 / (1 + exp(-|rate x|))` by tables for digits of `digit` bits. `rate` is a number and its
    /// fraction bits; it costs nothing.
    pub fn with_rate(
        input: Format,
        output: Format,
        digit: u32,
        rate: (u64, u32),
    ) -> Result<Self, Error> {
        let scale = output.scale;
        Ok(Logistic {
            exp: Exp::with_rate(input, Format::new(scale + 2, scale), digit, rate)?,
            reciprocal: Reciprocal::new(output.bits, scale)?,
        })
    }

    /// Whether `x < 0`, and the function, in the clear.
    pub fn clear(&self, x: Number) -> (bool, Number) {
        let negative = x.msb();
        let magnitude = x.reflect(negative, 0);
        let e = self.exp.clear_of_negated(magnitude);
        (negative, self.reciprocal.clear_of(e))
    }

    /// Whether `x < 0`, and the function, on shares: a sign, a MUX, an exponential, a reciprocal.
    pub fn apply(&self, engine: &mut Engine, x: &Shared) -> Result<(Bits, Shared), Error> {
        let negative = engine.msb(x)?;
        let magnitude = reflect(engine, &negative, x, 0)?;
        let e = self.exp.of_negated(engine, &magnitude)?;
        Ok((negative, self.reciprocal.apply(engine, &e)?))
    }
}
