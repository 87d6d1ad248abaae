//! Reciprocals and quotients (Goldschmidt's iteration on normalised divisors).
//!
//! With `v` in `[1/4, 1)` and `y = 3.836 - 3 v`, `e = 1 - v y` is at most 0.229, and
//! `1 / v = y (1 + e) (1 + e^2) (1 + e^4) ...`: the next factor and the next square are one
//! product. Where `f` is 12 of 32 bits, three factors are left with an error of `2^-17`; else four
//! with one of `2^-34`.
//!
//! With the paper's leakage this is its Algorithm 6 at a fixed precision inside (spec section 7): `v`
//! in `[1/2, 1)`, `y = 2.9142 - 2 v`, and one factor less for errors of `2^-14` and `2^-28`.

use super::normal::{Normal, Powers};
use super::{Format, Function, Leakage, ROUNDING, Span, constant_minus, exp2, fixed};
use crate::Error;
use crate::machine::{Call, Machine, Operand};

/// The first approximation is `start - slope v`: on `[1/4, 1)` and, in the paper, on `[1/2, 1)`.
const LINE: (f64, i64) = (3.836, 3);
const PAPERS_LINE: (f64, i64) = (2.9142, 2);
/// The powers of two of an interval, and the bits by which a reciprocal changes from one to the next.
const WIDTH: u32 = 2;
/// Inner fraction bits up to which three factors are enough.
const THREE_FACTORS: u32 = 16;
/// The largest relative error inside, in units of the last place: 9 of the errors of `e`, 8 of
/// the factors' truncations, 8 of the normalisation's, 1 left by the iteration.
const UNITS: f64 = 26.0;

/// `1 / x` of positive numbers.
///
/// The error is at most `2 + 26 (1/x) 2^(f-F)` units of `2^-f`, where `F`, the fraction bits
/// inside, is 30, 29, 14 and 14 of 64, 61, 32 and 31 bits, or what a wide span of `w` powers of
/// two leaves of `bits - 3 - w`. Spans that would leave less than `f` are refused. What lies
/// outside the span has no meaningful result.
#[derive(Clone, Debug)]
pub struct Reciprocal {
    format: Format,
    normal: Normal,
    back: Powers,
    /// Fraction bits of the result.
    result: u32,
}

impl Reciprocal {
    /// The reciprocal of numbers in `span`.
    pub fn new(format: Format, span: Span) -> Result<Self, Error> {
        Self::with_result(format, span, format.fraction, Leakage::Nothing)
    }

    /// The paper's, which opens the bounding power of every divisor. For measuring only.
    pub fn with_paper_leakage(format: Format, span: Span) -> Result<Self, Error> {
        Self::with_result(format, span, format.fraction, Leakage::Magnitude)
    }

    /// The same with `result` fraction bits in the result.
    fn with_result(
        format: Format,
        span: Span,
        result: u32,
        leakage: Leakage,
    ) -> Result<Self, Error> {
        let width = match leakage {
            Leakage::Nothing => WIDTH,
            Leakage::Magnitude => 1,
        };
        let normal = Normal::new(format, span, [width; 2], leakage)?;
        let inner = normal.inner as i32;
        let back = normal.powers(|top| (format.fraction + result) as i32 - inner - top);
        if !back.fit(format, normal.inner + width) {
            return Err(Error::Invalid(format!(
                "reciprocals from 2^{} to 2^{} with {result} fraction bits do not fit {} bits",
                -span.high, -span.low, format.bits
            )));
        }
        Ok(Reciprocal {
            format,
            normal,
            back,
            result,
        })
    }

    fn factors(&self) -> u32 {
        let factors = if self.normal.inner <= THREE_FACTORS {
            3
        } else {
            4
        };
        match self.normal.leakage {
            Leakage::Nothing => factors,
            Leakage::Magnitude => factors - 1,
        }
    }

    /// `1 / v` of a normalised `v`.
    fn iterate<M: Machine>(&self, machine: &mut M, v: &M::Share) -> Result<M::Share, Error> {
        let (n, inner) = (machine.len(v), self.normal.inner);
        let (start, slope) = match self.normal.leakage {
            Leakage::Nothing => LINE,
            Leakage::Magnitude => PAPERS_LINE,
        };
        let falling = machine.scale(v, slope);
        let mut y = constant_minus(machine, fixed(start, inner), &falling);
        let product = machine.mul(v, &Operand::Secret(y.clone()), inner)?;
        let mut e = constant_minus(machine, 1 << inner, &product);
        for _ in 1..self.factors() {
            let (both, twice) = (machine.concat(&[&y, &e]), machine.concat(&[&e, &e]));
            let products = machine.mul(&both, &Operand::Secret(twice), inner)?;
            let correction = machine.slice(&products, 0..n);
            y = machine.add(&y, &correction);
            e = machine.slice(&products, n..2 * n);
        }
        let correction = machine.mul(&y, &Operand::Secret(e), inner)?;
        Ok(machine.add(&y, &correction))
    }
}

impl Function for Reciprocal {
    fn calls(&self, n: usize) -> Vec<Call> {
        let trunc = self.normal.inner;
        let single = Call::elementwise(n, trunc);
        let double = Call::elementwise(2 * n, trunc);
        let mut calls = self.normal.calls(n);
        calls.push(single);
        calls.extend((1..self.factors()).map(|_| double));
        calls.push(single);
        calls.extend(self.back.call(n, self.normal.leakage));
        calls
    }

    fn apply<M: Machine>(&self, machine: &mut M, x: &M::Share) -> Result<M::Share, Error> {
        self.format.check(machine)?;
        let (intervals, v) = self.normal.apply(machine, x)?;
        let y = self.iterate(machine, &v)?;
        self.back.scale(machine, &intervals, &y)
    }

    fn tolerance(&self, value: f64) -> f64 {
        self.normal.tolerance(self.result, UNITS, value)
    }
}

/// `x / y` of a positive `y`: `x` of either sign times the reciprocal of `y`, which has as many
/// fraction bits as the bound of the quotient leaves.
#[derive(Clone, Debug)]
pub struct Division {
    format: Format,
    reciprocal: Reciprocal,
}

impl Division {
    /// Quotients below `2^quotient` in magnitude of divisors in `span`.
    ///
    /// The reciprocal has `p = min(bits - 3 - f - quotient, F)` fraction bits, or what its own
    /// largest value leaves; fewer than `f` are refused.
    pub fn new(format: Format, span: Span, quotient: i32) -> Result<Self, Error> {
        let (room, fraction) = (format.room() as i32, format.fraction as i32);
        // An interval reaches one binade below the span where the span's width is odd.
        let largest = room - 1 + span.low;
        let inner = Normal::new(format, span, [WIDTH; 2], Leakage::Nothing)?.inner as i32;
        let bits = (room - fraction - quotient).min(largest).min(inner);
        if bits < fraction {
            return Err(Error::Invalid(format!(
                "quotients up to 2^{quotient} of divisors down to 2^{} leave {bits} fraction bits of the reciprocal over {} bits, fewer than the {fraction} of the numbers",
                span.low, format.bits
            )));
        }
        Ok(Division {
            format,
            reciprocal: Reciprocal::with_result(format, span, bits as u32, Leakage::Nothing)?,
        })
    }

    /// The calls of [`Division::apply`] for `n` elements: those of the reciprocal and a product.
    pub fn calls(&self, n: usize) -> Vec<Call> {
        let trunc = self.reciprocal.result;
        let mut calls = self.reciprocal.calls(n);
        calls.push(Call::elementwise(n, trunc));
        calls
    }

    /// `x / y`, element by element.
    pub fn apply<M: Machine>(
        &self,
        machine: &mut M,
        x: &M::Share,
        y: &M::Share,
    ) -> Result<M::Share, Error> {
        let inverse = self.reciprocal.apply(machine, y)?;
        machine.mul(x, &Operand::Secret(inverse), self.reciprocal.result)
    }

    /// The largest error of `x / y`, in units of `2^-f`.
    pub fn tolerance(&self, x: f64, y: f64) -> f64 {
        let places = self.format.fraction as i32 - self.reciprocal.result as i32;
        ROUNDING + x.abs() * self.reciprocal.tolerance(1.0 / y) * exp2(places)
    }
}
