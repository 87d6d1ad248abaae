//! Inverse square roots: Goldschmidt's iteration on normalised numbers (Falcon, Algorithm 7, step
//! 4, section 3.7; docs/spec/functions.md, section 6).
//!
//! With `v` in `[1/4, 1)`, `y = 2.018 - v` is within 12 % of `1 / sqrt(v)`, and `x = v y` within
//! as much of `sqrt(v)`. The step `r = (1 - x y) / 2`, `x += x r`, `y += y r` squares the error and
//! takes two products one after the other. After three steps `2^-20` is left, after four `2^-40`.
//!
//! With the paper's leakage this is its Algorithm 7, mended (docs/spec/falcon.md, section 7): a
//! first approximation from the opened power `a` of `v`, `2^-(a/2 + 1/4)` instead of `2^-(a/2)`,
//! which may diverge, and Newton's step, `y (3 - v y^2) / 2`: that above with `x = v y` anew, so of
//! three products. After three steps `2^-14` is left, after four `2^-29`.

use super::back::Back;
use super::normal::{Arguments, Intervals, Normal};
use super::{Format, Function, Leakage, Span, constant_minus, fixed};
use crate::Error;
use crate::machine::{Machine, Operand};

/// The first approximation is `START - v`.
const START: f64 = 2.018;
/// Inner fraction bits up to which three steps are enough.
const THREE_STEPS: u32 = 18;
/// The largest relative error inside, in units of the last place: 11 by which `x` and `v y` have
/// drifted apart, 6 of the last step, 4 of the normalisation's, 1 left by the iteration.
const UNITS: f64 = 22.0;

/// `1 / sqrt(x)` of positive numbers, or `sqrt(x)`.
///
/// For any span from one unit of the arguments on up to `2^(bits - 3)` units. Of what lies below the
/// span, 0 and negative numbers included, the inverse root is that of the span's lowest value, and
/// the root is 0; of what lies above there is no meaningful result.
///
/// The error is at most 2 units of `2^-f` and a relative `22 / 2^F`, where `F`, the fraction bits
/// inside, is 30, 29, 14 and 14 of 64, 61, 32 and 31 bits; or less, but at least 26, where the
/// result has many more bits than usual.
#[derive(Clone, Debug)]
pub struct InverseSqrt {
    normal: Normal,
    back: Back,
    /// Fraction bits of the result.
    result: u32,
    /// Whether it is the root itself.
    root: bool,
}

impl InverseSqrt {
    /// The inverse square root of numbers in `span`.
    pub fn new(format: Format, span: Span) -> Result<Self, Error> {
        Self::of(Arguments::new(format, span), format.fraction)
    }

    /// The paper's, which opens the bounding power of every number. For measuring only.
    pub fn with_paper_leakage(format: Format, span: Span) -> Result<Self, Error> {
        let leakage = Leakage::Magnitude;
        let arguments = Arguments::new(format, span);
        let arguments = Arguments {
            leakage,
            ..arguments
        };
        Self::of(arguments, format.fraction)
    }

    /// The square root of numbers in `span`, from the same iteration.
    pub fn root(format: Format, span: Span) -> Result<Self, Error> {
        Self::root_of(Arguments::new(format, span))
    }

    /// The square root of such arguments; the paper has none.
    pub(super) fn root_of(arguments: Arguments) -> Result<Self, Error> {
        let leakage = Leakage::Nothing;
        let arguments = Arguments {
            leakage,
            ..arguments
        };
        Self::with(arguments, arguments.format.fraction, true)
    }

    /// The inverse root of such arguments with `result` fraction bits in the result.
    pub(super) fn of(arguments: Arguments, result: u32) -> Result<Self, Error> {
        Self::with(arguments, result, false)
    }

    fn with(arguments: Arguments, result: u32, root: bool) -> Result<Self, Error> {
        let (format, span) = (arguments.format, arguments.span);
        // The root of the power of two above an interval must be one too.
        let tops = arguments.tops(2, true)?;
        let exponents = |inner: u32| {
            let exponent = |&top: &i32| {
                let half = (top - arguments.fraction as i32) / 2;
                result as i32 - inner as i32 + if root { half } else { -half }
            };
            let below = (!root).then(|| exponent(&tops[0]));
            let inside = tops.iter().map(|top| Some(exponent(top)));
            std::iter::once(below).chain(inside).collect()
        };
        let way = Back::widest(format.room(), 1, exponents);
        let (inner, back) = way.ok_or_else(|| {
            Error::Invalid(format!(
                "{}square roots of numbers from 2^{} to 2^{} with {result} fraction bits do not fit {} bits",
                if root { "" } else { "inverse " },
                span.low, span.high, format.bits
            ))
        })?;
        Ok(InverseSqrt {
            normal: Normal::new(arguments, tops, inner)?,
            back,
            result,
            root,
        })
    }

    fn steps(&self) -> u32 {
        if self.normal.inner <= THREE_STEPS {
            3
        } else {
            4
        }
    }

    /// `1 / sqrt(v)` of a normalised `v`, or `sqrt(v)`.
    fn iterate<M: Machine>(&self, machine: &mut M, v: &M::Share) -> Result<M::Share, Error> {
        let (n, inner) = (machine.len(v), self.normal.inner);
        let mut y = constant_minus(machine, fixed(START, inner), v);
        let mut x = machine.mul(v, &Operand::Secret(y.clone()), inner)?;
        for _ in 1..self.steps() {
            let r = self.residue(machine, &x, &Operand::Secret(y.clone()))?;
            let (both, twice) = (machine.concat(&[&x, &y]), machine.concat(&[&r, &r]));
            let products = machine.mul(&both, &Operand::Secret(twice), inner)?;
            let better = machine.add(&both, &products);
            (x, y) = (
                machine.slice(&better, 0..n),
                machine.slice(&better, n..2 * n),
            );
        }
        let r = self.residue(machine, &x, &Operand::Secret(y.clone()))?;
        let last = if self.root { x } else { y };
        let correction = machine.mul(&last, &Operand::Secret(r), inner)?;
        Ok(machine.add(&last, &correction))
    }

    /// The same as in the paper, from public first approximations.
    fn newton<M: Machine>(
        &self,
        machine: &mut M,
        v: &M::Share,
        first: Vec<i64>,
    ) -> Result<M::Share, Error> {
        let mut y = machine.constant(&first);
        let mut factor = Operand::Public(first);
        for _ in 0..self.steps() {
            let x = machine.mul(v, &factor, self.normal.inner)?;
            let r = self.residue(machine, &x, &factor)?;
            let correction = machine.mul(&r, &factor, self.normal.inner)?;
            y = machine.add(&y, &correction);
            factor = Operand::Secret(y.clone());
        }
        Ok(y)
    }

    /// `2^-(a/2 + 1/4)` of each element, `2^a` being its bounding power in `[1/4, 1)`.
    fn first(&self, rows: &[usize], powers: &[u32]) -> Vec<i64> {
        let inside = |(&row, &power)| self.normal.power_inside(row, power);
        let near = |a| match a {
            -1 => fixed(std::f64::consts::SQRT_2.sqrt(), self.normal.inner),
            _ => fixed((2.0 * std::f64::consts::SQRT_2).sqrt(), self.normal.inner),
        };
        rows.iter().zip(powers).map(inside).map(near).collect()
    }

    /// `(1 - x y) / 2`.
    fn residue<M: Machine>(
        &self,
        machine: &mut M,
        x: &M::Share,
        y: &Operand<M::Share>,
    ) -> Result<M::Share, Error> {
        let inner = self.normal.inner;
        let half = machine.mul(x, y, inner + 1)?;
        Ok(constant_minus(machine, 1 << (inner - 1), &half))
    }
}

impl Function for InverseSqrt {
    fn apply<M: Machine>(&self, machine: &mut M, x: &M::Share) -> Result<M::Share, Error> {
        self.normal.arguments.check(machine)?;
        let (intervals, v) = self.normal.apply(machine, x)?;
        let y = match &intervals {
            Intervals::Shared(_) => self.iterate(machine, &v)?,
            Intervals::Opened { rows, powers } => {
                self.newton(machine, &v, self.first(rows, powers))?
            }
        };
        self.back.scale(machine, &intervals, &y)
    }

    fn tolerance(&self, value: f64) -> f64 {
        let [units, inside] = self.back.rounding();
        units + (self.normal).share(self.result, UNITS + inside, value)
    }
}
