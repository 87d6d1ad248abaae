//! Inverse square roots (Goldschmidt's iteration on normalised numbers).
//!
//! With `v` in `[1/4, 1)`, `y = 2.018 - v` is within 12 % of `1 / sqrt(v)`, and `x = v y` within
//! as much of `sqrt(v)`. The step `r = (1 - x y) / 2`, `x += x r`, `y += y r` squares the error and
//! takes two products one after the other. After three steps `2^-20` is left, after four `2^-40`.

use super::normal::{Normal, Powers};
use super::{Format, Function, Span, constant_minus, fixed};
use crate::Error;
use crate::machine::{Call, Machine, Operand};

/// The first approximation is `START - v`.
const START: f64 = 2.018;
/// Inner fraction bits up to which three steps are enough.
const THREE_STEPS: u32 = 18;
/// The largest relative error inside, in units of the last place: 11 by which `x` and `v y` have
/// drifted apart, 6 of the last step, 4 of the normalisation's, 1 left by the iteration.
const UNITS: f64 = 22.0;

/// `1 / sqrt(x)` of positive numbers.
///
/// The error is at most `2 + 22 (1/sqrt(x)) 2^(f-F)` units of `2^-f`, where `F`, the fraction bits
/// inside, is 30, 29, 14 and 14 of 64, 61, 32 and 31 bits, or what a wide span of `w` powers of
/// two leaves of `bits - 3 - w/2`. What lies outside the span has no meaningful result.
#[derive(Clone, Debug)]
pub struct InverseSqrt {
    format: Format,
    normal: Normal,
    back: Powers,
    /// Fraction bits of the result.
    result: u32,
}

impl InverseSqrt {
    /// The inverse square root of numbers in `span`.
    pub fn new(format: Format, span: Span) -> Result<Self, Error> {
        Self::with_result(format, span, format.fraction)
    }

    /// The same with `result` fraction bits in the result.
    pub(super) fn with_result(format: Format, span: Span, result: u32) -> Result<Self, Error> {
        // The root of the power of two above an interval must be one too.
        let high = span.high + (span.high & 1);
        let normal = Normal::new(format, Span { high, ..span }, 1)?;
        let (inner, fraction) = (normal.inner as i32, format.fraction as i32);
        let back = normal.powers(|top| result as i32 - inner + (fraction - top) / 2);
        if !back.fit(format, normal.inner + 1) {
            return Err(Error::Invalid(format!(
                "inverse square roots of numbers from 2^{} to 2^{} with {result} fraction bits do not fit {} bits",
                span.low, span.high, format.bits
            )));
        }
        Ok(InverseSqrt {
            format,
            normal,
            back,
            result,
        })
    }

    fn steps(&self) -> u32 {
        if self.normal.inner <= THREE_STEPS {
            3
        } else {
            4
        }
    }

    /// `1 / sqrt(v)` of a normalised `v`.
    fn iterate<M: Machine>(&self, machine: &mut M, v: &M::Share) -> Result<M::Share, Error> {
        let (n, inner) = (machine.len(v), self.normal.inner);
        let mut y = constant_minus(machine, fixed(START, inner), v);
        let mut x = machine.mul(v, &Operand::Secret(y.clone()), inner)?;
        for _ in 1..self.steps() {
            let r = self.residue(machine, &x, &y)?;
            let (both, twice) = (machine.concat(&[&x, &y]), machine.concat(&[&r, &r]));
            let products = machine.mul(&both, &Operand::Secret(twice), inner)?;
            let better = machine.add(&both, &products);
            (x, y) = (
                machine.slice(&better, 0..n),
                machine.slice(&better, n..2 * n),
            );
        }
        let r = self.residue(machine, &x, &y)?;
        let correction = machine.mul(&y, &Operand::Secret(r), inner)?;
        Ok(machine.add(&y, &correction))
    }

    /// `(1 - x y) / 2`.
    fn residue<M: Machine>(
        &self,
        machine: &mut M,
        x: &M::Share,
        y: &M::Share,
    ) -> Result<M::Share, Error> {
        let inner = self.normal.inner;
        let half = machine.mul(x, &Operand::Secret(y.clone()), inner + 1)?;
        Ok(constant_minus(machine, 1 << (inner - 1), &half))
    }
}

impl Function for InverseSqrt {
    fn calls(&self, n: usize) -> Vec<Call> {
        let inner = self.normal.inner;
        let product = Call::elementwise;
        let mut calls = self.normal.calls(n);
        calls.push(product(n, inner));
        let step = |_| [product(n, inner + 1), product(2 * n, inner)];
        calls.extend((1..self.steps()).flat_map(step));
        calls.extend([product(n, inner + 1), product(n, inner), self.back.call(n)]);
        calls
    }

    fn apply<M: Machine>(&self, machine: &mut M, x: &M::Share) -> Result<M::Share, Error> {
        self.format.check(machine)?;
        let (reached, v) = self.normal.apply(machine, x)?;
        let y = self.iterate(machine, &v)?;
        self.back.scale(machine, &reached, &y)
    }

    fn tolerance(&self, value: f64) -> f64 {
        self.normal.tolerance(self.result, UNITS, value)
    }
}
