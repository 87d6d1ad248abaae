//! Reciprocals of numbers between 1 and 2: Goldschmidt's division (SiRnn, Figure 5, section V-B;
//! docs/spec/sirnn.md, section 11).
//!
//! The first approximation of `1/v` is linear on intervals of length `2^-g`: the chord, lowered by
//! half of its largest deviation (Ito, Takagi, Yajima). Up to 16 fraction bits it is the answer;
//! above, one iteration squares its relative error.
//!
//! Differs from the paper's program: `v = 2` has an entry of its own, so that no comparison has to
//! keep it away; the carry of the fraction that is cut off is not computed again as the wrap of
//! what remains; the tables have the width of the result, which is thereby not extended.

use tacit_algebra::ot::words;
use tacit_protocols::Error;

use super::clear::Number;
use super::exp::MAX_SCALE;
use super::{POSITIVE, exact, multiply_shift, require, resize_positive, shift_up};
use crate::sum::Sum;
use crate::{Engine, Msb, Shared};

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
        let reciprocal = Reciprocal {
            scale,
            bits,
            g,
            slopes: (0..2 * ends)
                .map(|i| at_two(i, exact::reciprocal_slope, 0))
                .collect(),
            intercepts: (0..2 * ends)
                .map(|i| at_two(i, exact::reciprocal_intercept, 1 << (2 * g + 1)))
                .collect(),
        };
        // A slope and an intercept are looked up as one entry.
        let (whole, entry) = (reciprocal.whole(), reciprocal.intercept_bits() + g + 4);
        require(whole <= 64 && entry <= 64, || {
            format!("reciprocals of {scale} fraction bits do not fit {bits} bits on the way")
        })?;
        Ok(reciprocal)
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

    /// `1 / (1 + e)`, in the clear, for an `e` of `scale` fraction bits, 0 to 1.
    pub fn clear(&self, e: u64) -> u64 {
        self.clear_of(Number::new(self.scale + 2, e)).value
    }

    /// `1 / (1 + e)`, in the clear, for an `e` in two bits more than the scale.
    pub(super) fn clear_of(&self, e: Number) -> Number {
        let linear = self.clear_linear(e);
        if !self.iterates() {
            return linear;
        }
        let scale = self.scale;
        let error = linear.multiply_shift(e, scale, scale + 2).add(linear);
        let correction = error.scale(u64::MAX).add_public(2 << scale);
        linear
            .multiply_shift(correction, scale, scale + 2)
            .resize_positive(self.bits)
    }

    fn clear_linear(&self, e: Number) -> Number {
        let (g, rest, whole) = (self.g, self.rest(), self.whole());
        let e = e.reduce(self.scale + 1);
        let (interval, inside) = (e.truncate_reduce(rest), e.reduce(rest));
        let slope = interval.lookup(&self.slopes, g + 4);
        let intercept = interval.lookup(&self.intercepts, self.intercept_bits());
        let fall = slope.multiply(inside.zero_extend(whole), whole);
        let height = intercept.shift_up(rest + 1);
        height.sub(fall).truncate_reduce(g + 3)
    }

    /// `1 / (1 + e)`, of shares in two bits more than the scale, the first of which is 0.
    pub fn apply(&self, engine: &mut Engine, e: &Shared) -> Result<Shared, Error> {
        let linear = self.linear(engine, e)?;
        if !self.iterates() {
            return Ok(linear);
        }
        let scale = self.scale;
        let error = multiply_shift(engine, &linear, e, scale, scale + 2)?.add(&linear);
        let correction = engine.add_public(&error.scale(u64::MAX), 2 << scale);
        let refined = multiply_shift(engine, &linear, &correction, scale, scale + 2)?;
        resize_positive(engine, &refined, self.bits)
    }

    fn linear(&self, engine: &mut Engine, e: &Shared) -> Result<Shared, Error> {
        let (g, rest, whole) = (self.g, self.rest(), self.whole());
        let low = words::field(&e.values, 0, rest);
        let high = words::field(&e.values, rest, g + 1);
        let carry = engine.wrap(&low, rest)?;
        let mut interval = Sum::new(engine, g + 1, high);
        interval.bit(&carry, 1);
        let mut inside = Sum::new(engine, whole, low);
        inside.bit(&carry, (1u64 << rest).wrapping_neg());
        let [interval, inside] = &engine.sums("sirnn: interval", vec![interval, inside])?[..]
        else {
            unreachable!("two sums");
        };
        let tables = [
            (g + 4, &self.slopes[..]),
            (self.intercept_bits(), &self.intercepts[..]),
        ];
        let found = engine.lookups(&tables, interval)?;
        let fall = engine.multiply_unsigned(&found[0], inside, whole, &POSITIVE, &Msb::Unknown)?;
        let height = shift_up(&found[1], rest + 1);
        engine.truncate_reduce(&height.sub(&fall), g + 3)
    }

    /// Fraction bits below those that choose an interval.
    fn rest(&self) -> u32 {
        self.scale - self.g
    }

    /// The width of the heights at 0.
    fn intercept_bits(&self) -> u32 {
        self.whole() - self.rest() - 1
    }

    /// The width of the linear approximation before it is rounded to the scale.
    fn whole(&self) -> u32 {
        self.linear_bits() + self.g + 3
    }
}
