//! Layer normalisation, beyond the paper: with `c_j = len x_j - sum x`, the deviations from the mean
//! without a division, the result is `sqrt(len) c / |c|`. Error: `sqrt(len)` times that of vectors
//! over their lengths.

use tacit_protocols::Error;

use super::clear::Number;
use super::{Format, Normalise, concat, require, split};
use crate::{Engine, Msb, Shared};

/// Fraction bits of the factor `sqrt(len)`.
const FACTOR: u32 = 12;

/// `(x - mean) / deviation` of vectors. A factor and a summand per element are the caller's.
#[derive(Clone, Debug)]
pub struct LayerNorm {
    input: Format,
    output: Format,
    len: usize,
    /// The width of the deviations.
    wide: u32,
    normalise: Normalise,
    factor: u64,
}

impl LayerNorm {
    /// Vectors of `len` numbers; the squares of their deviations, `len` times as large each, lose
    /// `shift` bits, and their sum, with one unit added, is to have at most 36.
    pub fn new(input: Format, output: Format, len: usize, shift: u32) -> Result<Self, Error> {
        require(
            (1..=1 << 20).contains(&len) && input.bits < 40 && output.bits < 50,
            || format!("layers of {len} numbers of {} bits", input.bits),
        )?;
        let wide = input.bits + len.next_power_of_two().ilog2() + 1;
        let deviations = Format::new(wide, input.scale);
        let finer = Format::new(output.bits + FACTOR, output.scale);
        Ok(LayerNorm {
            input,
            output,
            len,
            wide,
            normalise: Normalise::new(deviations, finer, len, shift)?.guarded(),
            factor: ((len as u64) << (2 * FACTOR)).isqrt(),
        })
    }

    /// A normalised vector, in the clear.
    pub fn clear(&self, x: &[u64]) -> Vec<u64> {
        let x = x
            .iter()
            .map(|x| Number::new(self.input.bits, *x).sign_extend(self.wide));
        let sum = x.clone().fold(Number::new(self.wide, 0), Number::add);
        let deviations: Vec<u64> = x.map(|x| x.scale(self.len as u64).sub(sum).value).collect();
        let y = self.normalise.clear(&deviations);
        y.iter()
            .map(|y| {
                let y = Number::new(self.output.bits + FACTOR, *y).scale(self.factor);
                y.truncate_reduce(FACTOR).value
            })
            .collect()
    }

    /// Normalised vectors, of shares: the columns of `x`, which has `len` rows.
    pub fn apply(&self, engine: &mut Engine, x: &Shared) -> Result<Shared, Error> {
        let x = engine.sign_extend(x, self.wide, &Msb::Unknown)?;
        let zero = Shared::new(self.wide, &vec![0; x.len() / self.len]);
        let sum = (split(&x, self.len).iter()).fold(zero, |sum, row| sum.add(row));
        let deviations = x.scale(self.len as u64).sub(&concat(&vec![&sum; self.len]));
        let y = self.normalise.apply(engine, &deviations)?;
        engine.truncate_reduce(&y.scale(self.factor), FACTOR)
    }
}
