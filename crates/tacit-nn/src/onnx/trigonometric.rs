//! Sines, tangents and their inverses, made of polynomials, whole numbers and roots.
//!
//! A sine is periodic: only what is left beside the nearest multiple of `2 pi` counts, and of that a polynomial is
//! taken. Beside the rounding of numbers its error grows by that of `2 pi` as a factor, little, for every turn.

use super::activation::magnitude;
use super::builder::Builder;
use super::call::{Call, Fault, Value};
use super::compose::{ANY, Composer};
use super::element::of_each;
use super::function::root;
use crate::graph::{Function, Op, ValueId, Whole};

use std::f32::consts::{FRAC_1_PI, FRAC_PI_2, PI};
use std::f64::{self, consts::TAU};

/// `sin(pi y) / y` of `y` from -1 to 1 by powers of `y^2`, right to 1e-7 of `sin(pi y)`.
const SINE: [f32; 6] = [
    3.141_591_3,
    -5.167_678,
    2.549_880_7,
    -0.598_282_04,
    0.080_479_3,
    -0.005_991_833,
];

/// `atan(u) / u` of `u` from 0 to 1 by powers of `u^2`, right to 1e-7 of `atan(u)`.
const ARCTANGENT: [f32; 8] = [
    0.999_999_35,
    -0.333_298_6,
    0.199_465_66,
    -0.139_086_3,
    0.096_421_99,
    -0.055_912_334,
    0.021_862_956,
    -0.004_054_565,
];

/// `acos(a) / sqrt(1 - a)` of `a` from 0 to 1 by powers of `a`, right to 1e-7 of `acos(a)`.
const ARCCOSINE: [f32; 8] = [
    FRAC_PI_2,
    -0.214_598_8,
    0.088_979_05,
    -0.050_174_7,
    0.030_893_007,
    -0.017_089_743,
    0.006_671_244,
    -0.001_262_816_6,
];

/// What the larger part of a period is a multiple of, so that it has 8 bits.
const STEP: f32 = 1.0 / 64.0;
/// How many times larger the rest of a period is as a factor, so that the factor's bits reach further.
const FINER: f32 = 256.0;

/// Sin, Cos, Tan, Asin, Acos or Atan of the first input.
pub(super) fn trigonometric(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    of_each(call, builder, |c, x| match call.node.op_type.as_str() {
        "Sin" => sine_of(c, x, 0.0),
        "Cos" => sine_of(c, x, FRAC_PI_2),
        "Tan" => tangent(c, x),
        "Atan" => arctangent(c, x),
        op => arc(c, x, op == "Asin"),
    })
}

/// `sin(x + ahead)`.
fn sine_of(c: &mut Composer, x: ValueId, ahead: f32) -> Result<ValueId, Fault> {
    let x = c.affine("ahead", x, 1.0, ahead)?;
    let part = left_of(c, x, TAU)?;
    let halves = c.affine("halves", part, FRAC_1_PI, 0.0)?;
    let halves = held(c, "held", halves, [-1.25, 1.25])?;
    sine(c, "sine", halves)
}

/// What is left of `x` beside the nearest whole multiple of `period`, twice or once pi.
///
/// The multiple is taken from `x` itself: a factor of it has an error of half its last bit for every period, where one of
/// `x / period` would have one for every unit of `x`, which is then multiplied. Most of the period is a factor of 8 bits,
/// whose multiples are exact (Cody and Waite's reduction); the rest is a factor of [`FINER`] times its size.
fn left_of(c: &mut Composer, x: ValueId, period: f64) -> Result<ValueId, Fault> {
    let most = (period / f64::from(STEP)).floor() * f64::from(STEP);
    let rest = (period - most) * f64::from(FINER);
    let count = c.affine("periods", x, (1.0 / period) as f32, 0.0)?;
    let whole = c.each("whole periods", Op::Whole(Whole::Nearest), &[count])?;
    let multiple = c.affine("multiple", whole, most as f32, 0.0)?;
    let left = c.each("left of most", Op::Sub, &[x, multiple])?;
    let finer = c.affine("rest of the multiple, finer", whole, rest as f32, 0.0)?;
    let finer = c.affine("rest of the multiple", finer, 1.0 / FINER, 0.0)?;
    c.each("left", Op::Sub, &[left, finer])
}

/// `x`, which is within these bounds by the way it is made, with room for its rounding: a plan knows only the range
/// of what it is made of, and would leave as much room for every power.
fn held(c: &mut Composer, part: &str, x: ValueId, [low, high]: [f32; 2]) -> Result<ValueId, Fault> {
    let (low, high) = (Some(low), Some(high));
    c.each(part, Op::Clip { low, high }, &[x])
}

/// `sin(pi y)` of `y` from -1 to 1.
fn sine(c: &mut Composer, part: &str, y: ValueId) -> Result<ValueId, Fault> {
    odd(c, part, y, &SINE)
}

/// `tan(x)`, the sine by the cosine of what is left beside the nearest multiple of pi.
///
/// The cosine is the sine of the distance to the pole, so that it is right relative to its size; it is as
/// positive as a divisor must be.
fn tangent(c: &mut Composer, x: ValueId) -> Result<ValueId, Fault> {
    let left = left_of(c, x, f64::consts::PI)?;
    let part = c.affine("halves", left, FRAC_1_PI, 0.0)?;
    let part = held(c, "held", part, [-0.625, 0.625])?;
    let size = magnitude(c, part)?;
    let left = c.affine("to the pole", size, -1.0, 0.5)?;
    let cosine = sine(c, "cosine", left)?;
    let sine = sine(c, "sine", part)?;
    let inverse = c.function(Function::Reciprocal, cosine, ANY)?;
    c.each("tangent", Op::Mul, &[sine, inverse])
}

/// `atan(x)`, of magnitudes above 1 as `pi / 2 - atan(1 / x)`.
fn arctangent(c: &mut Composer, x: ValueId) -> Result<ValueId, Fault> {
    let size = magnitude(c, x)?;
    let less = c.affine("less 1", size, 1.0, -1.0)?;
    let over = c.each("over 1", Op::Relu, &[less])?;
    let smaller = c.each("smaller", Op::Sub, &[size, over])?;
    let larger = c.affine("larger", over, 1.0, 1.0)?;
    let inverse = c.function(Function::Reciprocal, larger, (1.0, f32::INFINITY))?;
    let share = c.each("share", Op::Mul, &[smaller, inverse])?;
    let share = held(c, "held", share, [0.0, 1.25])?;
    let angle = odd(c, "angle", share, &ARCTANGENT)?;
    let is_over = c.each("is over", Op::NonNegative, &[less])?;
    let turned = turned(c, "turned", angle, is_over, FRAC_PI_2)?;
    signed(c, x, turned)
}

/// `acos(x)` of `x` from -1 to 1, which is `pi` less that of the magnitude below 0; or `asin(x)`, which is `pi / 2` less
/// `acos` of the magnitude, with the sign of `x`.
fn arc(c: &mut Composer, x: ValueId, sine: bool) -> Result<ValueId, Fault> {
    let size = magnitude(c, x)?;
    let left = c.affine("left", size, -1.0, 1.0)?;
    let root = root(c, left)?;
    let slope = polynomial(c, "slope", size, &ARCCOSINE)?;
    let angle = c.each("angle", Op::Mul, &[slope, root])?;
    if sine {
        let rest = c.affine("rest", angle, -1.0, FRAC_PI_2)?;
        return signed(c, x, rest);
    }
    let up = c.each("is up", Op::NonNegative, &[x])?;
    let down = c.affine("is down", up, -1.0, 1.0)?;
    turned(c, "turned", angle, down, PI)
}

/// `x` where `condition` is 0, `whole - x` where it is 1.
fn turned(
    c: &mut Composer,
    part: &str,
    x: ValueId,
    condition: ValueId,
    whole: f32,
) -> Result<ValueId, Fault> {
    let change = c.affine(&format!("{part}.change"), x, -2.0, whole)?;
    let chosen = c.each(&format!("{part}.chosen"), Op::Mul, &[condition, change])?;
    c.each(part, Op::Add, &[x, chosen])
}

/// `size` with the sign of `x`.
fn signed(c: &mut Composer, x: ValueId, size: ValueId) -> Result<ValueId, Fault> {
    let up = c.each("is up", Op::NonNegative, &[x])?;
    let sign = c.affine("sign", up, 2.0, -1.0)?;
    c.each("signed", Op::Mul, &[size, sign])
}

/// `x` times a polynomial of `x^2`.
fn odd(c: &mut Composer, part: &str, x: ValueId, coefficients: &[f32]) -> Result<ValueId, Fault> {
    let square = c.each(&format!("{part}.square"), Op::Mul, &[x, x])?;
    let factor = polynomial(c, &format!("{part}.factor"), square, coefficients)?;
    c.each(part, Op::Mul, &[x, factor])
}

/// The polynomial of these coefficients, that of the power 0 first; pairs are joined by ever higher powers, so that
/// as few products as can be stand one after the other.
fn polynomial(
    c: &mut Composer,
    part: &str,
    x: ValueId,
    coefficients: &[f32],
) -> Result<ValueId, Fault> {
    let mut terms = Vec::new();
    for (i, pair) in coefficients.chunks(2).enumerate() {
        let slope = pair.get(1).copied().unwrap_or(0.0);
        terms.push(c.affine(&format!("{part}.line {i}"), x, slope, pair[0])?);
    }
    let (mut power, mut exponent) = (x, 1);
    while terms.len() > 1 {
        exponent *= 2;
        power = c.each(
            &format!("{part}.power {exponent}"),
            Op::Mul,
            &[power, power],
        )?;
        let mut joined = Vec::new();
        for (i, pair) in terms.chunks(2).enumerate() {
            joined.push(match *pair {
                [low, high] => {
                    let name = |what: &str| format!("{part}.{what} {exponent} {i}");
                    let upper = c.each(&name("upper"), Op::Mul, &[high, power])?;
                    c.each(&name("joined"), Op::Add, &[low, upper])?
                }
                _ => pair[0],
            });
        }
        terms = joined;
    }
    Ok(terms[0])
}
