//! Elementary functions of many numbers, several at a time as processors compute them.

use std::f64::consts::{FRAC_2_SQRT_PI, LOG2_E};

use super::each::each;
use crate::graph::Function;

/// How many additions take as long as a function.
const WORK: usize = 16;

/// Makes the function of every element, as near to [`Function::of`] as float32 is.
pub(super) fn of_each(function: Function, values: &mut [f32]) {
    match function {
        Function::Exp => all(values, exp),
        Function::Sigmoid => all(values, |x| 1.0 / (1.0 + exp(-x))),
        Function::Tanh => all(values, tanh),
        Function::Erf => all(values, erf),
        Function::Reciprocal | Function::InverseSqrt | Function::SquareRoot | Function::Log => {
            all(values, move |x| function.of(x))
        }
    }
}

fn all(values: &mut [f32], f: impl Fn(f64) -> f64 + Copy + Sync) {
    each(values, WORK, move |x| f(f64::from(x)) as f32);
}

/// The exponents beyond which float32 has infinity and 0.
const MOST: f64 = 200.0;
/// A number whose sum with a smaller one has that one's nearest whole number in its last bits.
const WHOLE: f64 = 6_755_399_441_055_744.0;
/// The logarithm of 2 in two parts: whole numbers below 2^11 times the first are exact.
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
/// The factors of the exponential's series, the highest power first.
const SERIES: [f64; 9] = [
    1.0 / 40_320.0,
    1.0 / 5040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// `2^k exp(r)` with a whole `k` and `|r| <= ln(2) / 2`, of which the series is off by 2e-10.
#[inline(always)]
fn exp(x: f64) -> f64 {
    let x = x.clamp(-MOST, MOST);
    let sum = x * LOG2_E + WHOLE;
    let k = sum - WHOLE;
    let r = x - k * LN_2[0] - k * LN_2[1];
    // The last bits of the sum are those of `k`: the exponent of 2^k but for its bias.
    let power = f64::from_bits((sum.to_bits() << 52).wrapping_add(1023 << 52));
    polynomial(&SERIES, r) * power
}

/// By the exponential, but for numbers so small that a difference from 1 has few of their places.
#[inline(always)]
fn tanh(x: f64) -> f64 {
    let squared = x * x;
    let series = x + x * squared * (squared * (2.0 / 15.0) - 1.0 / 3.0);
    let far = 1.0 - 2.0 / (1.0 + exp(2.0 * x));
    if x.abs() < 1.0 / 64.0 { series } else { far }
}

/// Where the error function is 1 in float64.
const ONE_FROM: f64 = 6.0;
/// Where the series ends and the fit begins.
const NEAR: f64 = 0.25;
/// The factors of the error function's series in `x^2`, the highest power first.
const NEAR_ZERO: [f64; 5] = [1.0 / 216.0, -1.0 / 42.0, 0.1, -1.0 / 3.0, 1.0];
/// `exp(x^2) erfc(x)` from 0.25 to 6 is this polynomial of what [`FITTED`] makes of `2 / (2 + x)`, the highest power
/// first, to 1e-9: Chebyshev's interpolation, as `chebyfit` of mpmath makes it with 10 terms.
const FAR: [f64; 10] = [
    -1.9157326124291957e-06,
    -2.641736939708164e-06,
    3.989575966699318e-05,
    5.374881285943e-06,
    -0.0007777340024932029,
    -0.0002128006970701632,
    0.02077642273168169,
    0.1121703427418925,
    0.31874832108861045,
    0.31960128175522573,
];
/// The factor and the term that take a quarter to 8 ninths to -1 to 1.
const FITTED: [f64; 2] = [72.0 / 23.0, -41.0 / 23.0];

#[inline(always)]
fn erf(x: f64) -> f64 {
    let size = x.abs();
    let near = x * FRAC_2_SQRT_PI * polynomial(&NEAR_ZERO, x * x);
    let size_most = if size > ONE_FROM { ONE_FROM } else { size };
    let t = 2.0 / (2.0 + size_most);
    let rest = exp(-size_most * size_most) * polynomial(&FAR, t * FITTED[0] + FITTED[1]);
    let far = (1.0 - rest).copysign(x);
    if size < NEAR { near } else { far }
}

#[inline(always)]
fn polynomial<const N: usize>(factors: &[f64; N], x: f64) -> f64 {
    factors.iter().fold(0.0, |sum, factor| sum * x + factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all sizes, about the places where a function is computed otherwise, and no numbers.
    fn numbers() -> Vec<f32> {
        let mut x = vec![
            0.0,
            -0.0,
            f32::MAX,
            f32::MIN,
            f32::INFINITY,
            f32::NEG_INFINITY,
        ];
        for edge in [1.0 / 64.0, 0.25, 6.0, 87.3, 88.73, 103.98, 200.0_f32] {
            x.extend([edge.next_down(), edge, edge.next_up()]);
        }
        x.extend((0..200_000).map(|i| ((i as f32) * 1e-3 - 40.0).powi(3) / 500.0));
        x.extend((1..2000).map(|i| (-(i as f32) / 14.0).exp2()));
        let negative: Vec<f32> = x.iter().map(|v| -v).collect();
        [x, negative].concat()
    }

    #[test]
    fn functions_of_many_are_those_of_each_to_the_last_place() {
        let x = numbers();
        for function in Function::ALL {
            let mut made = x.clone();
            of_each(function, &mut made);
            for (&x, found) in x.iter().zip(made) {
                let right = function.of(x.into()) as f32;
                let near = [right, right.next_up(), right.next_down()].contains(&found);
                let both_none = found.is_nan() && right.is_nan();
                assert!(
                    near || both_none,
                    "{function:?} of {x:e}: {found:e}, not {right:e}"
                );
            }
            let mut none = [f32::NAN];
            of_each(function, &mut none);
            assert!(none[0].is_nan(), "{function:?}");
        }
    }

    /// Series and fit are nearer by far than the last place of float32 shows.
    #[test]
    fn the_error_function_is_near_in_float64() {
        for i in 0..=60_000 {
            let x = f64::from(i) * 1e-4;
            let error = (erf(x) - libm::erf(x)).abs();
            assert!(error < 1e-9, "{x}: {error:e}");
        }
    }
}
