//! Elementary functions of many numbers, several at a time as processors compute them.

use std::f64::consts::{FRAC_2_SQRT_PI, LOG2_E};

use tacit_algebra::isa::{Loop, run};

use super::each::parts;
use crate::graph::Function;

/// How many additions take as long as a function.
const WORK: usize = 16;

/// The function of every element, as near to [`Function::of`] as float32 is.
pub(super) fn of_each(function: Function, x: &[f32]) -> Vec<f32> {
    match function {
        Function::Exp => all(x, exp),
        Function::Sigmoid => all(x, |x| 1.0 / (1.0 + exp(-x))),
        Function::Tanh => all(x, tanh),
        Function::Erf => all(x, erf),
        Function::Reciprocal | Function::InverseSqrt | Function::Log => {
            all(x, move |x| function.of(x))
        }
    }
}

fn all(x: &[f32], f: impl Fn(f64) -> f64 + Copy + Sync) -> Vec<f32> {
    let mut out = vec![0.0; x.len()];
    parts(&mut out, WORK, |start, out| {
        run(OfEach(&x[start..], out, f))
    });
    out
}

struct OfEach<'a, F>(&'a [f32], &'a mut [f32], F);

impl<F: Fn(f64) -> f64> Loop for OfEach<'_, F> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let OfEach(x, out, f) = self;
        for (to, &x) in out.iter_mut().zip(x) {
            *to = f(f64::from(x)) as f32;
        }
    }
}

/// The exponents beyond which float32 has infinity and 0.
const MOST: f64 = 200.0;
/// A number whose sum with a smaller one has that one's nearest whole number in its last bits.
const WHOLE: f64 = 6_755_399_441_055_744.0;
/// The logarithm of 2 in two parts: whole numbers below 2^11 times the first are exact.
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
/// The factors of the exponential's series, the highest power first.
const SERIES: [f64; 12] = [
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
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

/// `2^k exp(r)` with a whole `k` and `|r| <= ln(2) / 2`, of which the series is off by 7e-15.
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
const NEAR: f64 = 0.5;
/// The factors of the error function's series in `x^2`, the highest power first.
const NEAR_ZERO: [f64; 9] = [
    1.0 / 685_440.0,
    -1.0 / 75_600.0,
    1.0 / 9360.0,
    -1.0 / 1320.0,
    1.0 / 216.0,
    -1.0 / 42.0,
    0.1,
    -1.0 / 3.0,
    1.0,
];
/// `exp(x^2) erfc(x)` from 0.5 to 6 is this polynomial of `(t - 0.525) / 0.275` with `t = 2 / (2 + x)`, the highest
/// power first, to 5e-12: Chebyshev's interpolation, as `chebyfit` of mpmath makes it with 12 terms.
const FAR: [f64; 12] = [
    2.6864939988546874e-08,
    7.340777351688603e-08,
    -7.239443769035915e-07,
    -2.3080623020443659e-07,
    1.4983331691187625e-05,
    -1.3916878971950782e-05,
    -0.0003623587364200264,
    0.00017899608138869372,
    0.013234851810606484,
    0.0766995265716394,
    0.24857010886984585,
    0.27736900762519057,
];

#[inline(always)]
fn erf(x: f64) -> f64 {
    let size = x.abs();
    let near = x * FRAC_2_SQRT_PI * polynomial(&NEAR_ZERO, x * x);
    let size_most = if size > ONE_FROM { ONE_FROM } else { size };
    let t = 2.0 / (2.0 + size_most);
    let rest = exp(-size_most * size_most) * polynomial(&FAR, (t - 0.525) / 0.275);
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
        for edge in [1.0 / 64.0, 0.5, 6.0, 87.3, 88.73, 103.98, 200.0_f32] {
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
            for (&x, found) in x.iter().zip(of_each(function, &x)) {
                let right = function.of(x.into()) as f32;
                let near = [right, right.next_up(), right.next_down()].contains(&found);
                let both_none = found.is_nan() && right.is_nan();
                assert!(
                    near || both_none,
                    "{function:?} of {x:e}: {found:e}, not {right:e}"
                );
            }
            assert!(of_each(function, &[f32::NAN])[0].is_nan(), "{function:?}");
        }
    }

    /// Series and fit are nearer by far than the last place of float32 shows.
    #[test]
    fn the_error_function_is_near_in_float64() {
        for i in 0..=60_000 {
            let x = f64::from(i) * 1e-4;
            let error = (erf(x) - libm::erf(x)).abs();
            assert!(error < 1e-11, "{x}: {error:e}");
        }
    }
}
