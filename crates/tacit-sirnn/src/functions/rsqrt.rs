//! Square roots and their inverses: Goldschmidt's iteration on normalised numbers (SiRnn, Figure 6,
//! section V-C; docs/spec/sirnn.md, section 12).
//!
//! `x = X 2^(2 h)` with `X` between 1 and 4. A table gives `1/sqrt(X)` from the first bits of `X`,
//! every iteration doubles its good bits, and a product with a power of two, looked up too, undoes
//! the shift.
//!
//! Differs from the paper's program: powers of two are looked up by the position of the highest
//! bit instead of being summed from bits; the numbers in between have a bit more, so that their
//! top bits are 0 and wraps cost one small OT; the table's 1 is rounded down for that.
//!
//! Error of inverse roots: 4 (int, as the paper) and 4.39 (real) for 16 bits from 0.1 on; of results
//! above 1 at most one unit and a relative `4 / 2^s`, with `s` the result's fraction bits, or 12 if
//! these are fewer. Of roots: at most 2.5 times the root, or 2.5 below 1; from 15 fraction bits on 3 times it.
//!
//! 0 is taken for one unit of the argument. Inverse roots have a lowest power of two: what is
//! smaller has the result of a number in that binade, so between the largest result and
//! `1/sqrt(2)` of it. Of negative numbers there is no meaningful result.

use tacit_protocols::Error;

use super::clear::Number;
use super::normal::Normal;
use super::{Format, POSITIVE, bits_of, exact, multiply_shift, require, resize_positive, shift_up};
use crate::{Engine, Shared};

/// Scales up to which one iteration is enough.
const ONE_ITERATION: u32 = 14;
/// Fraction bits of the iteration at least, so that large results of few fraction bits are near.
const LEAST_SCALE: u32 = 12;
/// The largest scale of a result: above, the table would have more than 8 index bits.
pub(super) const MAX_SCALE: u32 = 28;

/// `1 / sqrt(x)`, or `sqrt(x)`, of `x > 0`.
#[derive(Clone, Debug)]
pub struct SquareRoot {
    input: Format,
    output: Format,
    /// Fraction bits of the iteration.
    scale: u32,
    inverse: bool,
    normal: Normal,
    /// Bits of the fraction of `X` that index the table.
    g: u32,
    iterations: u32,
    /// `1/sqrt(X)`, `g + 2` fraction bits.
    roots: Vec<u64>,
    /// Whether the shift is odd, by the highest bit.
    parities: Vec<u64>,
    /// The power of two that undoes the shift.
    backs: Vec<u64>,
    /// Bits that its product drops.
    back_scale: u32,
    back_bits: u32,
}

impl SquareRoot {
    /// `sqrt(x)`, of 0 too.
    pub fn new(input: Format, output: Format) -> Result<Self, Error> {
        Self::of(input, output, None)
    }

    /// `1 / sqrt(x)` for every `x` whose result the width holds. A smaller `x` counts as below the
    /// lowest power of two.
    pub fn inverse(input: Format, output: Format) -> Result<Self, Error> {
        Self::inverse_from(input, output, -(input.scale as i32))
    }

    /// `1 / sqrt(x)` for every `x` from `2^low` on, or from the lowest power of two whose result the
    /// width holds, if that is larger.
    pub fn inverse_from(input: Format, output: Format, low: i32) -> Result<Self, Error> {
        Self::of(input, output, Some(low))
    }

    /// The result has 4 to 28 fraction bits, at most as many as the input has bits below its
    /// sign and the next, and its width holds two bits more and, of a root, the whole part of the largest result: with its
    /// fraction bits it does only of arguments whose result fits. `low` is that of an inverse.
    fn of(input: Format, output: Format, low: Option<i32>) -> Result<Self, Error> {
        let (bits, unit) = (input.bits, input.scale as i32);
        require((6..=36).contains(&bits) && input.scale <= bits - 2, || {
            format!(
                "roots of {bits} bits and {unit} fraction bits; of 6 to 36 bits, two more than fraction bits, they can be taken"
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
        // The exponents of the powers of two that undo the shifts.
        let exponent = |k: u32| {
            let half = (k as i32 - unit).div_euclid(2);
            if low.is_some() { -half } else { half }
        };
        let scale = output.scale.max(LEAST_SCALE.min(bits - 2));
        // One iteration rounds every result down, 2^largest too; two may reach it.
        let above = if scale <= ONE_ITERATION { 1 } else { 2 };
        let holds = |largest: i32| largest + output.scale as i32 + above <= output.bits as i32;
        let least = match low {
            None => Some(0).filter(|_| exponent(bits - 2) + 2 <= output.bits as i32),
            Some(low) => {
                let lowest = unit.saturating_add(low).clamp(0, bits as i32 - 2) as u32;
                (lowest..=bits - 2).find(|&k| holds(exponent(k)))
            }
        };
        let fits = (output.scale + 2..=64).contains(&output.bits);
        let Some(least) = least.filter(|_| fits) else {
            return Err(Error::Invalid(format!(
                "roots of {bits} bits and {unit} fraction bits with {} fraction bits do not fit {} bits",
                output.scale, output.bits
            )));
        };
        let normal = Normal::new(bits, least);
        let ends = [exponent(least), exponent(bits - 2)];
        let [largest, smallest] = [ends[0].max(ends[1]), ends[0].min(ends[1])];
        let back_scale = -smallest;
        let (target, iterations) = match scale <= ONE_ITERATION {
            true => (scale, 1),
            false => (scale.div_ceil(2), 2),
        };
        let g = target.div_ceil(2);
        let cap = (1 << (g + 2)) - 1;
        let mut backs = normal.table(|k| 1 << (exponent(k) + back_scale));
        if low.is_none() {
            backs[bits as usize - 1] = 0;
        }
        Ok(SquareRoot {
            input,
            output,
            scale,
            inverse: low.is_some(),
            g,
            iterations,
            roots: (0..2u64 << g)
                .map(|i| exact::inverse_root(g, i >> 1, i & 1 == 1).min(cap))
                .collect(),
            parities: normal.table(|k| u64::from((k + input.scale) % 2)),
            backs,
            back_scale: (back_scale + scale as i32 - output.scale as i32) as u32,
            back_bits: (largest + back_scale + 2) as u32,
            normal,
        })
    }

    /// The root, in the clear.
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
        (start, radicand.truncate_reduce(bits - 2 - self.scale))
    }

    /// The root, in three bits more than the scale.
    fn clear_iterate(&self, start: Number, radicand: Number) -> Number {
        let (scale, g, wide) = (self.scale, self.g, self.scale + 3);
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

    /// Computes what [`SquareRoot::clear_start`] does on shares, from the parity as a number and as a bit.
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
        let radicand = engine.truncate_reduce(&radicand, bits - 2 - self.scale)?;
        Ok((start, radicand))
    }

    /// Computes what [`SquareRoot::clear_iterate`] does on shares.
    fn iterate(
        &self,
        engine: &mut Engine,
        start: &Shared,
        radicand: &Shared,
    ) -> Result<Shared, Error> {
        let (scale, g, wide) = (self.scale, self.g, self.scale + 3);
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
        let largest = self.scale + 3 + self.back_bits - self.back_scale;
        self.output.bits.min(largest)
    }
}
