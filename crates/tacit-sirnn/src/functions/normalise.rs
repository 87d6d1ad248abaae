//! Vectors divided by their length (SiRnn, section VI: L2-normalise; docs/spec/sirnn.md,
//! section 13).
//!
//! Differs from the paper's program: the sum of squares keeps the bits that its root can use, and
//! the last division rounds down. Error: measured 2 units where the root has its bits; of short
//! vectors, whose inverse lengths are large, as many more.

use tacit_protocols::Error;

use super::clear::Number;
use super::rsqrt::{MAX_SCALE, SquareRoot};
use super::{Format, POSITIVE, concat, require, split};
use crate::{Engine, Msb, Shared};

/// `x / sqrt(sum x^2)` of vectors.
#[derive(Clone, Debug)]
pub struct Normalise {
    input: Format,
    output: Format,
    len: usize,
    /// Bits that squares lose.
    shift: u32,
    /// The width of their sum.
    sum_bits: u32,
    /// The inverse root of the sum of squares, with as many fraction bits more than the result as a number has bits
    /// before its point, as far as roots go: so a product's error is no larger than the root's.
    root: SquareRoot,
    /// What the products lose.
    back: u32,
    /// What is added to the sum of squares.
    more: u64,
}

impl Normalise {
    /// Vectors of `len` numbers, whose squares lose `shift` bits; their sum is to have at most 36
    /// bits and must not be 0. The result needs two bits more than its scale.
    pub fn new(input: Format, output: Format, len: usize, shift: u32) -> Result<Self, Error> {
        let fits = (2..=30).contains(&input.bits)
            && len > 0
            && shift <= 2 * input.scale
            && shift < 2 * input.bits
            && output.bits >= output.scale + 2;
        require(fits, || {
            format!(
                "vectors of {len} numbers of {} bits, whose squares lose {shift}, to {} bits with {} fraction bits",
                input.bits, output.bits, output.scale
            )
        })?;
        let sum_bits = 2 * input.bits - shift + len.next_power_of_two().ilog2();
        let sum = Format::new(sum_bits, 2 * input.scale - shift);
        let whole = input.bits.saturating_sub(input.scale + 1);
        let scale = (output.scale + whole).min(MAX_SCALE).min(sum_bits - 2);
        let back = (input.scale + scale).saturating_sub(output.scale);
        require(
            output.scale <= scale + input.scale && output.bits + back <= 64,
            || {
                format!(
                    "{} fraction bits in {} of a vector's length",
                    output.scale, output.bits
                )
            },
        )?;
        let inverse = Format::new(output.bits + back, scale);
        Ok(Normalise {
            input,
            output,
            len,
            shift,
            sum_bits,
            root: SquareRoot::inverse(sum, inverse)?,
            back,
            more: 0,
        })
    }

    /// This function with one unit added to the sum of squares, which may then be 0.
    pub(super) fn guarded(self) -> Self {
        Normalise { more: 1, ..self }
    }

    /// A vector over its length, in the clear.
    pub fn clear(&self, x: &[u64]) -> Vec<u64> {
        let x = x.iter().map(|x| Number::new(self.input.bits, *x));
        let sum = x.clone().fold(Number::new(self.sum_bits, 0), |sum, x| {
            let square = x.multiply_signed(x, 2 * x.bits).truncate_reduce(self.shift);
            sum.add(square.extend_positive(self.sum_bits))
        });
        let wide = self.output.bits + self.back;
        let inverse = Number::new(wide, self.root.clear(sum.add_public(self.more).value));
        x.map(|x| {
            let y = x.multiply_signed(inverse, wide);
            y.truncate_reduce(self.back).value
        })
        .collect()
    }

    /// Vectors over their lengths, of shares: the columns of `x`, which has `len` rows.
    pub fn apply(&self, engine: &mut Engine, x: &Shared) -> Result<Shared, Error> {
        let sign = Msb::Shared(engine.msb(x)?);
        let squares = engine.multiply_signed(x, x, 2 * x.bits, &sign, &sign)?;
        let squares = engine.truncate_reduce(&squares, self.shift)?;
        let squares = engine.zero_extend(&squares, self.sum_bits, &POSITIVE)?;
        let mut rows = split(&squares, self.len).into_iter();
        let first = rows.next().unwrap_or_else(|| squares.clone());
        let sum = rows.fold(first, |sum, row| sum.add(&row));
        let sum = engine.add_public(&sum, self.more);
        let inverse = concat(&vec![&self.root.apply(engine, &sum)?; self.len]);
        let wide = self.output.bits + self.back;
        let y = engine.multiply_signed(x, &inverse, wide, &sign, &Msb::Unknown)?;
        engine.truncate_reduce(&y, self.back)
    }
}
