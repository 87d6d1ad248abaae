//! Reciprocals of any positive numbers, beyond the paper: the squares of their inverse roots.

use tacit_protocols::Error;

use super::clear::Number;
use super::rsqrt::{MAX_SCALE, SquareRoot};
use super::{Format, multiply_shift, require};
use crate::{Engine, Shared};

/// `1 / x` of `x > 0`.
#[derive(Clone, Debug)]
pub struct Inverse {
    output: Format,
    root: SquareRoot,
    /// The inverse root: its bits and scale.
    between: Format,
    /// Fraction bits that the square has too many.
    shift: u32,
}

impl Inverse {
    /// Reciprocals of `x >= 2^low`; of smaller ones the result is lost. The root has, as far as roots
    /// go, so many fraction bits that its error is doubled by the result's size only.
    ///
    /// Error: at most 1.5 units and 2^-12 of the result, over all 16-bit inputs from 1/8 or 1 on.
    pub fn new(input: Format, output: Format, low: i32) -> Result<Self, Error> {
        let whole = low.min(0).unsigned_abs().div_ceil(2);
        let most = MAX_SCALE.min(input.bits.saturating_sub(2));
        let scale = (output.scale + whole + 3).min(most);
        require(2 * scale >= output.scale, || {
            format!(
                "reciprocals of {} bits with {} fraction bits",
                input.bits, output.scale
            )
        })?;
        let shift = 2 * scale - output.scale;
        let reach = input.scale.div_ceil(2).max(scale + whole);
        let whole_product = (output.bits + shift).div_ceil(2);
        let between = Format::new(whole_product.max(reach + 2), scale);
        require(
            output.bits >= output.scale + 2 && output.bits + shift <= 64,
            || format!("reciprocals of {} bits in {}", input.bits, output.bits),
        )?;
        Ok(Inverse {
            output,
            root: SquareRoot::inverse(input, between)?,
            between,
            shift,
        })
    }

    /// The function, in the clear.
    pub fn clear(&self, x: u64) -> u64 {
        let root = Number::new(self.between.bits, self.root.clear(x));
        root.multiply_shift(root, self.shift, self.output.bits)
            .value
    }

    /// The function, of shares: an inverse root, a product and a truncation.
    pub fn apply(&self, engine: &mut Engine, x: &Shared) -> Result<Shared, Error> {
        let root = self.root.apply(engine, x)?;
        multiply_shift(engine, &root, &root, self.shift, self.output.bits)
    }
}
