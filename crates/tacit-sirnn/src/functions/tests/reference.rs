//! Functions by arbitrary-precision arithmetic, and how far a result is from them.

use astro_float::{BigFloat, Consts, RoundingMode};

const BITS: usize = 192;
const ROUND: RoundingMode = RoundingMode::ToEven;
/// Fraction bits of a [`Real`].
const FRACTION: i32 = 96;
/// More than the error of a [`Real`], in units of its last place.
const SLACK: u128 = 16;

const ONE: u128 = 1 << FRACTION;

/// A positive real below 2^31, rounded down to 96 fraction bits.
#[derive(Clone, Copy, PartialEq)]
pub struct Real(u128);

impl Real {
    fn of(x: &BigFloat) -> Self {
        if x.is_zero() {
            return Real(0);
        }
        let (words, _, _, exponent, _) = x.as_raw_parts().unwrap();
        let top = words.len() - 1;
        let mantissa = u128::from(words[top]) << 64 | u128::from(words[top - 1]);
        let shift = 128 - FRACTION - exponent;
        Real(mantissa.checked_shr(shift as u32).unwrap_or(0))
    }

    /// `1 - x`. Only numbers of few bits are exact.
    pub fn complement(self) -> Self {
        let exact = self.0 != 0 && self.0 << 64 == 0;
        Real(ONE - self.0 - u128::from(!exact))
    }

    /// `|y - floor(x 2^scale)|` and `y - x 2^scale`.
    pub fn errors(self, y: i64, scale: u32) -> (u64, f64) {
        let shift = FRACTION as u32 - scale;
        let unit = 1u128 << shift;
        let (whole, rest) = ((self.0 >> shift) as i64, self.0 & (unit - 1));
        // Next to 0 and below 1 it is known on which side the reference lies.
        let known = rest == 0 || self.0 < unit || (ONE - unit..ONE).contains(&self.0);
        assert!(
            known || (SLACK..unit - SLACK).contains(&rest),
            "a reference is too near to an integer"
        );
        let real = (y - whole) as f64 - rest as f64 / unit as f64;
        ((y - whole).unsigned_abs(), real)
    }
}

/// Arbitrary-precision functions.
pub struct Reference(Consts);

impl Reference {
    pub fn new() -> Self {
        Reference(Consts::new().unwrap())
    }

    /// `exp(-z)`, `1 / (1 + exp(-z))` and `tanh(z)` of `z = magnitude 2^-scale`.
    pub fn functions(&mut self, magnitude: u64, scale: u32) -> [Real; 3] {
        let e = number(magnitude, scale).neg();
        let e = e.exp(BITS, ROUND, &mut self.0);
        let squared = e.mul(&e, BITS, ROUND);
        let twice = squared.add(&squared, BITS, ROUND);
        // What is missing to 1 is not rounded to nothing.
        let share = |part: &BigFloat, e: &BigFloat| {
            let whole = BigFloat::from_word(1, BITS).add(e, BITS, ROUND);
            Real::of(&part.div(&whole, BITS, ROUND))
        };
        let (below_sigmoid, below_tanh) = (share(&e, &e), share(&twice, &squared));
        [
            Real::of(&e),
            below_sigmoid.complement(),
            below_tanh.complement(),
        ]
    }
}

/// `floor(sqrt(x) 2^result)` or `floor(2^result / sqrt(x))` of `x = value 2^-scale`, and the real.
pub fn root(value: u64, scale: u32, result: u32, inverse: bool) -> (i64, f64) {
    let (x, more) = (value as f64 / (1u64 << scale) as f64, 2 * result + scale);
    let unit = (1u64 << result) as f64;
    match inverse {
        true => (
            ((1u128 << more) / u128::from(value)).isqrt() as i64,
            unit / x.sqrt(),
        ),
        false => {
            let square = u128::from(value) << (2 * result) >> scale;
            (square.isqrt() as i64, unit * x.sqrt())
        }
    }
}

fn number(value: u64, scale: u32) -> BigFloat {
    let unit = BigFloat::from_word(1 << scale, BITS);
    BigFloat::from_word(value, BITS).div(&unit, BITS, ROUND)
}
