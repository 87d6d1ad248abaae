//! Reciprocals of any positive numbers, beyond the paper: the squares of their inverse roots.

use tacit_protocols::Error;

use super::clear::Number;
use super::rsqrt::{MAX_SCALE, SquareRoot};
use super::{Format, multiply_shift, require};
use crate::{Engine, Shared};

/// Fraction bits of the root at least, where its input has them.
const LEAST_SCALE: u32 = 15;

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
    /// Reciprocals of `x >= 2^low`, or from where the width holds the result twice; of smaller ones,
    /// 0 included, between half of the largest result and all of it. The root has, as far as roots go,
    /// so many fraction bits that its error is doubled by the result's size only.
    ///
    /// Error: at most 1.5 units and 2^-12 of the result, over all 16-bit inputs from 1/8 or 1 on;
    /// where the root has fewer than 15 fraction bits, a relative `8 / 2^s`. Where input or width leave the root fewer
    /// than 3 fraction bits more than the result has, a result `v` is off by `8 sqrt(v) / 2^s` besides: of 16 bits without
    /// fraction bits and a result of 28, 1 / 16384 is 1.6 % too small.
    pub fn new(input: Format, output: Format, low: i32) -> Result<Self, Error> {
        let lowest = (output.scale as i32 + 2 - output.bits as i32).max(-(input.scale as i32));
        let low = low.max(lowest);
        let whole = low.min(0).unsigned_abs().div_ceil(2);
        // Its square has at most 64 bits.
        let square = (64 + output.scale).saturating_sub(output.bits) / 2;
        let most = MAX_SCALE.min(input.bits.saturating_sub(2)).min(square);
        let scale = (output.scale + whole + 3).max(LEAST_SCALE).min(most);
        require(2 * scale >= output.scale, || {
            format!(
                "reciprocals of {} bits with {} fraction bits",
                input.bits, output.scale
            )
        })?;
        let shift = 2 * scale - output.scale;
        let whole_product = (output.bits + shift).div_ceil(2);
        let between = Format::new(whole_product.max(scale + whole + 2), scale);
        require(
            output.bits >= output.scale + 2 && output.bits + shift <= 64,
            || format!("reciprocals of {} bits in {}", input.bits, output.bits),
        )?;
        Ok(Inverse {
            output,
            root: SquareRoot::inverse_from(input, between, low)?,
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
