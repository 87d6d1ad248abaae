//! Exponentials that reach far (docs/spec/functions.md, section 7): `e^x = (e^(x/2))^2`. A polynomial's
//! coefficients and what they multiply leave an exponential about half of the bits; its root takes half of those,
//! and a product has room for the square.

use std::f64::consts::LN_2;

use super::functions::{Promised, Smooth, exp_of};
use super::{Format, Function, ROUNDING, exp2};
use crate::Error;
use crate::machine::{Erased, Handle, Machine, Operand};

/// `e^x` for every `x` up to `high`, rounded up to an even number, and `e^high` above.
///
/// Bytes and hops: those of the root and of a truncated product. The error is `t sqrt(y)` units of a result `y` and
/// a truncation's, where `t` is the root's: of large results far less than a unit of every value of theirs.
#[derive(Clone, Debug)]
pub struct Squared {
    format: Format,
    root: Smooth,
}

impl Squared {
    pub(super) fn exp(format: Format, high: i32, promised: Promised) -> Result<Self, Error> {
        // The same number with a fraction bit more is half of it.
        let fraction = format.fraction + 1;
        let half = Format::new(format.bits, fraction)?.near(format.near + 1);
        let top = high.div_euclid(2) + high.rem_euclid(2);
        let reached = f64::from(2 * top) / LN_2 + f64::from(2 * fraction);
        if reached > f64::from(format.room()) {
            return Err(Error::Invalid(format!(
                "exp of up to {high} with {} fraction bits needs products of {:.0} bits, more than {} hold",
                format.fraction,
                reached.ceil(),
                format.bits
            )));
        }
        let root = exp_of(half, top, promised)?;
        Ok(Squared { format, root })
    }
}

impl Function for Squared {
    fn apply(&self, machine: &mut Erased, x: &Handle) -> Result<Handle, Error> {
        let root = self.root.apply(machine, x)?;
        machine.mul(
            &root,
            &Operand::Secret(root.clone()),
            self.format.fraction + 2,
        )
    }

    fn tolerance(&self, value: f64) -> f64 {
        let of_root = self.root.tolerance(value);
        let lost = of_root * of_root * exp2(-(self.format.fraction as i32) - 2);
        of_root * value.abs().sqrt() + lost + ROUNDING
    }
}
