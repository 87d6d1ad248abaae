//! `1 / (1 + exp(-|x|))`, between 1/2 and 1: what sigmoids and tanhs share.

use tacit_protocols::Error;

use super::clear::Number;
use super::{Exp, Format, Reciprocal};

/// `1 / (1 + exp(-|x|))` and the sign of `x`.
#[derive(Clone, Debug)]
pub(super) struct Logistic {
    exp: Exp,
    reciprocal: Reciprocal,
}

impl Logistic {
    /// Of numbers of `input`, in `output.bits` bits, at least one more than the scale; by tables
    /// for digits of `digit` bits.
    pub fn new(input: Format, output: Format, digit: u32) -> Result<Self, Error> {
        let scale = output.scale;
        Ok(Logistic {
            exp: Exp::new(input, Format::new(scale + 2, scale), digit)?,
            reciprocal: Reciprocal::new(output.bits, scale)?,
        })
    }

    /// Whether `x < 0`, and the function.
    pub fn clear(&self, x: Number) -> (bool, Number) {
        let negative = x.msb();
        let half = x.reduce(x.bits - 1).select(negative);
        let magnitude = x.sub(half.shift_up(1));
        let e = self.exp.clear_of_negated(magnitude);
        (negative, self.reciprocal.clear_of(e))
    }
}
