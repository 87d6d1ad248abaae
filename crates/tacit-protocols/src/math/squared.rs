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
/// Bytes and hops: those of the root and of a truncated product. Of a result `y` the error is `t sqrt(y)` units, where
/// `t` is the root's error in units of its own, and a truncation's: relatively, the less the larger `y` is.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What one polynomial reaches is left to it; what a product holds of two bits more than that is squared.
    #[test]
    fn far_exponentials_are_squared_as_far_as_products_hold_them() {
        let format = |fraction| Format::new(64, fraction).expect("a format that fits");
        let promised = |format: Format| Promised {
            bits: format.bits,
            bounded: false,
        };
        let of = |fraction, high| {
            let format = format(fraction);
            let direct = exp_of(format, high, promised(format)).is_ok();
            (direct, Squared::exp(format, high, promised(format)).is_ok())
        };
        assert_eq!(of(16, 4), (true, true));
        assert_eq!(of(16, 17), (false, true));
        assert_eq!(of(8, 28), (false, true));
        // 2 * 10 / ln 2 + 2 * 17 is 62.9 of 61 bits, and an odd bound is rounded up.
        assert_eq!(of(16, 18), (false, true));
        assert_eq!(of(16, 19), (false, false));
        assert_eq!(of(16, 20), (false, false));
    }
}
