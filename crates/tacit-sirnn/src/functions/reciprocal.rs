//! Reciprocals of numbers between 1 and 2 (section V-B, Goldschmidt's division).
//!
//! The first approximation of `1/v` is linear on intervals of length `2^-g`: the chord, lowered by
//! half of its largest deviation (Ito, Takagi, Yajima). Up to 16 fraction bits it is the answer;
//! above, one iteration squares its relative error.
//!
//! Differs from the paper's program: `v = 2` has an entry of its own, so that no comparison has to
//! keep it away; the carry of the fraction that is cut off is not computed again as the wrap of
//! what remains; the tables have the width of the result, which is thereby not extended.

use tacit_protocols::Error;

use super::clear::Number;
use super::exp::MAX_SCALE;
use super::{exact, require};

/// Scales up to which the linear approximation is the answer: above, its table has more than 8
/// index bits.
const LINEAR: u32 = 16;

/// `1 / (1 + e)` for `0 <= e <= 1`.
#[derive(Clone, Debug)]
pub struct Reciprocal {
    scale: u32,
    bits: u32,
    /// The intervals are `2^-g` long.
    g: u32,
    /// The slopes, `g + 3` fraction bits.
    slopes: Vec<u64>,
    /// The heights at 0, `2 g + 2` fraction bits.
    intercepts: Vec<u64>,
}

impl Reciprocal {
    /// Reciprocals with 4 to 30 fraction bits, in `bits` bits, at least one bit more.
    pub fn new(bits: u32, scale: u32) -> Result<Self, Error> {
        require((4..=MAX_SCALE).contains(&scale), || {
            format!("reciprocals have 4 to {MAX_SCALE} fraction bits, not {scale}")
        })?;
        require((scale + 1..=64).contains(&bits), || {
            format!(
                "reciprocals of {scale} fraction bits need {} to 64 bits, not {bits}",
                scale + 1
            )
        })?;
        let target = match scale <= LINEAR {
            true => scale,
            false => scale.div_ceil(2),
        };
        let g = (target - 2).div_ceil(2);
        let ends = 1 << g;
        // Beyond `v = 2` nothing is looked up.
        let at_two = |i, below: fn(u32, u64) -> u64, two| match i < ends {
            true => below(g, i),
            false => two,
        };
        Ok(Reciprocal {
            scale,
            bits,
            g,
            slopes: (0..2 * ends)
                .map(|i| at_two(i, exact::reciprocal_slope, 0))
                .collect(),
            intercepts: (0..2 * ends)
                .map(|i| at_two(i, exact::reciprocal_intercept, 1 << (2 * g + 1)))
                .collect(),
        })
    }

    /// Whether an iteration follows the linear approximation.
    fn iterates(&self) -> bool {
        self.scale > LINEAR
    }

    /// The width of the linear approximation.
    fn linear_bits(&self) -> u32 {
        match self.iterates() {
            true => self.scale + 2,
            false => self.bits,
        }
    }

    /// `1 / (1 + e)`, in the clear.
    pub fn clear(&self, e: u64) -> u64 {
        self.clear_of(Number::new(self.scale + 2, e)).value
    }

    /// The same of a number of two bits more than the scale.
    pub(super) fn clear_of(&self, e: Number) -> Number {
        let linear = self.clear_linear(e);
        if !self.iterates() {
            return linear;
        }
        let scale = self.scale;
        let product = 2 * scale + 2;
        let error = linear
            .multiply_positive(e, product)
            .truncate_reduce(scale)
            .add(linear);
        let correction = error.scale(u64::MAX).add_public(2 << scale);
        linear
            .multiply_positive(correction, product)
            .truncate_reduce(scale)
            .resize_positive(self.bits)
    }

    fn clear_linear(&self, e: Number) -> Number {
        let (scale, g) = (self.scale, self.g);
        let rest = scale - g;
        let whole = self.linear_bits() + g + 3;
        let e = e.reduce(scale + 1);
        let (interval, inside) = (e.truncate_reduce(rest), e.reduce(rest));
        let slope = interval.lookup(&self.slopes, g + 4);
        let intercept = interval.lookup(&self.intercepts, whole - rest - 1);
        let fall = slope.multiply(inside, scale + 4).extend_positive(whole);
        intercept
            .shift_up(rest + 1)
            .sub(fall)
            .truncate_reduce(g + 3)
    }
}
