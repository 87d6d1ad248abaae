//! Square roots and their inverses (section V-C, Goldschmidt's iteration on normalised numbers).
//!
//! `x = X 2^(2 h)` with `X` between 1 and 4. A table gives `1/sqrt(X)` from the first bits of `X`,
//! every iteration doubles its good bits, and a product with a power of two, looked up too, undoes
//! the shift.
//!
//! Differs from the paper's program: powers of two are looked up by the position of the highest
//! bit instead of being summed from bits; the numbers in between have a bit more, so that their
//! top bits are 0 and wraps cost one small OT; the table's 1 is rounded down for that.
//!
//! Error of inverse roots: 4 (int, as the paper) and 4.39 (real) for 16 bits from 0.1 on; beyond
//! that as many units as the result is large, measured 3.5 at 32 bits. Of roots: at most 2.5 times
//! the root, or 2.5 below 1.

use tacit_protocols::Error;

use super::clear::Number;
use super::normal::Normal;
use super::{Format, POSITIVE, bits_of, exact, multiply_shift, require, resize_positive, shift_up};
use crate::{Engine, Shared};

/// Scales up to which one iteration is enough.
const ONE_ITERATION: u32 = 14;
/// The largest scale of a result: above, the table would have more than 8 index bits.
pub(super) const MAX_SCALE: u32 = 28;

/// `1 / sqrt(x)`, or `sqrt(x)`, of `x > 0`.
#[derive(Clone, Debug)]
pub struct SquareRoot {
    input: Format,
    output: Format,
    inverse: bool,
    normal: Normal,
    /// Bits of the fraction of `X` that index the table.
    g: u32,
    iterations: u32,
    /// `1/sqrt(X)`, `g + 2` fraction bits.
    roots: Vec<u64>,
    /// Whether the shift is odd, by the highest bit.
    parities: Vec<u64>,
    /// The power of two that undoes the shift, `back_scale` fraction bits.
    backs: Vec<u64>,
    back_scale: u32,
    back_bits: u32,
}

impl SquareRoot {
    /// `sqrt(x)`.
    pub fn new(input: Format, output: Format) -> Result<Self, Error> {
        Self::of(input, output, false)
    }

    /// `1 / sqrt(x)`. What does not fit the result's width, because `x` is small, is lost.
    pub fn inverse(input: Format, output: Format) -> Result<Self, Error> {
        Self::of(input, output, true)
    }

    /// The result has 4 to 28 fraction bits, at most as many as the input has bits below its
    /// sign and the next, and its width holds two bits more and the largest result.
    fn of(input: Format, output: Format, inverse: bool) -> Result<Self, Error> {
        let (bits, scale) = (input.bits, input.scale);
        require((6..=36).contains(&bits) && scale <= bits - 2, || {
            format!(
                "roots of {bits} bits and {scale} fraction bits; of 6 to 36 bits, two more than fraction bits, they can be taken"
            )
        })?;
        require(
            (4..=MAX_SCALE.min(bits - 2)).contains(&output.scale),
            || {
                format!(
                    "roots of {bits} bits have 4 to {} fraction bits, not {}",
                    MAX_SCALE.min(bits - 2),
                    output.scale
                )
            },
        )?;
        let normal = Normal::new(bits);
        // The exponents of the powers of two that undo the shifts.
        let exponent = |k: u32| {
            let half = (k as i32 - scale as i32).div_euclid(2);
            if inverse { -half } else { half }
        };
        let ends = [exponent(0), exponent(bits - 2)];
        let (back_scale, largest) = match inverse {
            true => (-ends[1], ends[0]),
            false => (-ends[0], ends[1]),
        };
        let back_bits = (largest + back_scale + 2) as u32;
        let fits = output.scale + 2 <= output.bits && largest + 2 <= output.bits as i32;
        require(fits && output.bits <= 64, || {
            format!(
                "roots up to 2^{} with {} fraction bits do not fit {} bits",
                largest + 1,
                output.scale,
                output.bits
            )
        })?;
        let (target, iterations) = match output.scale <= ONE_ITERATION {
            true => (output.scale, 1),
            false => (output.scale.div_ceil(2), 2),
        };
        let g = target.div_ceil(2);
        let cap = (1 << (g + 2)) - 1;
        Ok(SquareRoot {
            input,
            output,
            inverse,
            g,
            iterations,
            roots: (0..2u64 << g)
                .map(|i| exact::inverse_root(g, i >> 1, i & 1 == 1).min(cap))
                .collect(),
            parities: normal.table(|k| u64::from((k + scale) % 2)),
            backs: normal.table(|k| 1 << (exponent(k) + back_scale)),
            back_scale: back_scale as u32,
            back_bits,
            normal,
        })
    }

    /// The root, in the clear. Of 0 there is none: it panics, and shares become random.
    pub fn clear(&self, x: u64) -> u64 {
        let x = Number::new(self.input.bits, x);
        let (position, fraction) = self.normal.clear(x);
        let (start, radicand) = self.clear_start(position, fraction);
        let root = self.clear_iterate(start, radicand);
        let back = position.lookup(&self.backs, self.back_bits);
        root.multiply_shift(back, self.back_scale, self.unbounded_bits())
            .resize_positive(self.output.bits)
            .value
    }

    /// The table's `1/sqrt(X)` in `g + 3` bits, and `X` in three bits more than the scale.
    fn clear_start(&self, position: Number, fraction: Number) -> (Number, Number) {
        let (bits, g) = (self.input.bits, self.g);
        let parity = position.lookup(&self.parities, g + 1);
        let interval = fraction.reduce(bits - 2).truncate_reduce(bits - 2 - g);
        let start = (interval.shift_up(1).add(parity)).lookup(&self.roots, g + 3);
        let normal = fraction
            .extend_positive(bits + 1)
            .add_public(1 << (bits - 2));
        let radicand = normal.add(normal.select(parity.value == 1));
        (
            start,
            radicand.truncate_reduce(bits - 2 - self.output.scale),
        )
    }

    /// The root, in three bits more than the scale.
    fn clear_iterate(&self, start: Number, radicand: Number) -> Number {
        let (scale, g, wide) = (self.output.scale, self.g, self.output.scale + 3);
        let half_of_three_minus = |x: Number| x.scale(u64::MAX).add_public(3 << scale);
        let square = start.multiply_shift(start, 0, 2 * g + 5);
        let mut residue = square.multiply_shift(radicand, 2 * g + 4, wide);
        let mut factor = half_of_three_minus(residue);
        let mut root = match self.inverse {
            true => start.multiply_shift(factor, g + 3, wide),
            false => {
                start
                    .multiply_shift(radicand, g + 2, wide)
                    .multiply_shift(factor, scale + 1, wide)
            }
        };
        for _ in 1..self.iterations {
            let square = factor.multiply_shift(factor, scale + 2, wide);
            residue = square.multiply_shift(residue, scale, wide);
            factor = half_of_three_minus(residue);
            root = root.multiply_shift(factor, scale + 1, wide);
        }
        root
    }

    /// The root, of shares.
    ///
    /// Of the inverse at 16 bits and scales of 12: 64 hops, 4535 bytes with OTs of 128 bits (the
    /// authors' program: 5.7 to 6.2 KB) and 1571 with OTs of 32.
    pub fn apply(&self, engine: &mut Engine, x: &Shared) -> Result<Shared, Error> {
        let tables = [
            (self.g + 1, &self.parities[..]),
            (1, &self.parities[..]),
            (self.back_bits, &self.backs[..]),
        ];
        let (fraction, found) = self.normal.apply(engine, x, &tables)?;
        let (start, radicand) = self.start(engine, (&found[0], &found[1]), &fraction)?;
        let root = self.iterate(engine, &start, &radicand)?;
        let (back, bits) = (&found[2], self.unbounded_bits());
        let result = multiply_shift(engine, &root, back, self.back_scale, bits)?;
        resize_positive(engine, &result, self.output.bits)
    }

    /// As [`SquareRoot::clear_start`], from the parity as a number and as a bit.
    fn start(
        &self,
        engine: &mut Engine,
        (parity, odd): (&Shared, &Shared),
        fraction: &Shared,
    ) -> Result<(Shared, Shared), Error> {
        let (bits, g) = (self.input.bits, self.g);
        let interval = engine.truncate_reduce(&fraction.reduce(bits - 2), bits - 2 - g)?;
        let index = shift_up(&interval, 1).add(parity);
        let start = engine.lookup(&self.roots, &index, g + 3)?;
        let normal = engine.zero_extend(fraction, bits + 1, &POSITIVE)?;
        let normal = engine.add_public(&normal, 1 << (bits - 2));
        let radicand = engine.mux(&bits_of(odd), &normal)?.add(&normal);
        let radicand = engine.truncate_reduce(&radicand, bits - 2 - self.output.scale)?;
        Ok((start, radicand))
    }

    /// As [`SquareRoot::clear_iterate`].
    fn iterate(
        &self,
        engine: &mut Engine,
        start: &Shared,
        radicand: &Shared,
    ) -> Result<Shared, Error> {
        let (scale, g, wide) = (self.output.scale, self.g, self.output.scale + 3);
        let half_of_three_minus =
            |engine: &Engine, x: &Shared| engine.add_public(&x.scale(u64::MAX), 3 << scale);
        let square = multiply_shift(engine, start, start, 0, 2 * g + 5)?;
        let mut residue = multiply_shift(engine, &square, radicand, 2 * g + 4, wide)?;
        let mut factor = half_of_three_minus(engine, &residue);
        let mut root = match self.inverse {
            true => multiply_shift(engine, start, &factor, g + 3, wide)?,
            false => {
                let root = multiply_shift(engine, start, radicand, g + 2, wide)?;
                multiply_shift(engine, &root, &factor, scale + 1, wide)?
            }
        };
        for _ in 1..self.iterations {
            let square = multiply_shift(engine, &factor, &factor, scale + 2, wide)?;
            residue = multiply_shift(engine, &square, &residue, scale, wide)?;
            factor = half_of_three_minus(engine, &residue);
            root = multiply_shift(engine, &root, &factor, scale + 1, wide)?;
        }
        Ok(root)
    }

    /// The result's width, or what is enough for the largest one if that is less.
    fn unbounded_bits(&self) -> u32 {
        let largest = self.output.scale + 3 + self.back_bits - self.back_scale;
        self.output.bits.min(largest)
    }
}
