//! Softmax, beyond the paper, from its parts: the largest number is subtracted, exponentials are
//! summed, and each is multiplied with the reciprocal of the sum, which lies between 1 and the
//! number of classes.
//!
//! Error: exponentials are rounded down, so their sum is too small by up to 3 units per class:
//! measured 2.2, 5.5 and 10 units with 2, 10 and 33 classes.

use tacit_protocols::Error;

use super::clear::Number;
use super::normal::Normal;
use super::{Exp, Format, POSITIVE, Reciprocal, concat, multiply_shift, require, split};
use crate::{Engine, Shared};

/// `exp(x_j) / sum exp(x_i)` over the classes `j`.
#[derive(Clone, Debug)]
pub struct Softmax {
    input: Format,
    output: Format,
    classes: usize,
    /// Bits of the number of classes.
    spread: u32,
    exp: Exp,
    normal: Normal,
    reciprocal: Reciprocal,
    /// The power of two that undoes the shift of the sum, `spread` fraction bits.
    backs: Vec<u64>,
}

impl Softmax {
    /// Softmax over at least two classes, by tables for digits of `digit` bits. The result has 4 to
    /// 30 fraction bits and needs two bits more.
    pub fn new(input: Format, output: Format, classes: usize, digit: u32) -> Result<Self, Error> {
        let scale = output.scale;
        let spread = classes.next_power_of_two().ilog2();
        let fits = classes >= 2 && spread <= 20 && (scale + 2..=64).contains(&output.bits);
        require(fits && 2 * scale + spread + 2 <= 64, || {
            format!(
                "softmax of {classes} classes with {scale} fraction bits in {}",
                output.bits
            )
        })?;
        let sum = Format::new(scale + 2 + spread, scale);
        let normal = Normal::new(sum.bits, 0);
        Ok(Softmax {
            input,
            output,
            classes,
            spread,
            exp: Exp::new(input, sum, digit)?,
            reciprocal: Reciprocal::new(scale + 2, scale)?,
            backs: normal.table(|k| 1 << (spread - k.saturating_sub(scale).min(spread))),
            normal,
        })
    }

    /// The shares of each class, in the clear; `x` are signed numbers whose differences fit their
    /// width.
    pub fn clear(&self, x: &[u64]) -> Vec<u64> {
        let x = x.iter().map(|x| Number::new(self.input.bits, *x));
        let largest = x.clone().max_by_key(|x| x.signed());
        let e: Vec<_> = (x.zip(largest.into_iter().cycle()))
            .map(|(x, largest)| self.exp.clear_of_negated(largest.sub(x)))
            .collect();
        let sum = e
            .iter()
            .fold(Number::new(e[0].bits, 0), |sum, e| sum.add(*e));
        let inverse = self.clear_inverse(sum);
        e.iter()
            .map(|e| {
                let e = e.reduce(self.width());
                e.multiply_shift(inverse, self.shift(), self.width())
                    .extend_positive(self.output.bits)
                    .value
            })
            .collect()
    }

    /// `1 / sum`, with `spread` fraction bits more than the result.
    fn clear_inverse(&self, sum: Number) -> Number {
        let (position, fraction) = self.normal.clear(sum);
        let inverse = self
            .reciprocal
            .clear_of(fraction.truncate_reduce(self.spread));
        let back = position.lookup(&self.backs, self.spread + 2);
        inverse.multiply_shift(back, 0, self.width() + self.spread)
    }

    /// Softmax of shares: of each column of `x`, which has a row for every class.
    pub fn apply(&self, engine: &mut Engine, x: &Shared) -> Result<Shared, Error> {
        let columns = x.len() / self.classes;
        let largest = engine.maxpool(x, columns)?;
        let z = concat(&vec![&largest; self.classes]).sub(x);
        let e = self.exp.of_negated(engine, &z)?;
        let mut rows = split(&e, self.classes).into_iter();
        let first = rows.next().unwrap_or_else(|| e.clone());
        let sum = rows.fold(first, |sum, row| sum.add(&row));
        let inverse = concat(&vec![&self.inverse(engine, &sum)?; self.classes]);
        let (width, e) = (self.width(), e.reduce(self.width()));
        let y = multiply_shift(engine, &e, &inverse, self.shift(), width)?;
        engine.zero_extend(&y, self.output.bits, &POSITIVE)
    }

    /// Computes what [`Softmax::clear_inverse`] does on shares.
    fn inverse(&self, engine: &mut Engine, sum: &Shared) -> Result<Shared, Error> {
        let backs = [(self.spread + 2, &self.backs[..])];
        let (fraction, found) = self.normal.apply(engine, sum, &backs)?;
        let fraction = engine.truncate_reduce(&fraction, self.spread)?;
        let inverse = self.reciprocal.apply(engine, &fraction)?;
        multiply_shift(engine, &inverse, &found[0], 0, self.width() + self.spread)
    }

    /// The width of numbers up to 1 whose top bit is 0.
    fn width(&self) -> u32 {
        self.output.scale + 2
    }

    /// Fraction bits of the sum's inverse.
    fn shift(&self) -> u32 {
        self.output.scale + self.spread
    }
}
