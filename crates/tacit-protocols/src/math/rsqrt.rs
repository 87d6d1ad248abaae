//! Roots and inverse roots: a polynomial of normalised numbers (docs/spec/functions.md, section 6).
//!
//! Differs from Falcon's Algorithm 7, step 4 (section 3.7), which opens the bounding power of `v` and
//! takes four steps of Newton's iteration: on `[1/4, 1)` a polynomial of degree 16 is as near, in half of
//! the products, and a root costs no more than its inverse.
//!
//! With the paper's leakage this is its Algorithm 7, corrected (docs/spec/falcon.md, section 7): a
//! first approximation from the opened power `a` of `v`, `2^-(a/2 + 1/4)` instead of `2^-(a/2)`,
//! which may diverge, and Newton's step, `y (3 - v y^2) / 2`: `x = v y`, `r = (1 - x y) / 2`, `y += y r`.
//! After three steps `2^-14` is left, after four `2^-29`.

use super::back::Back;
use super::normal::{Arguments, Intervals, Normal};
use super::polynomial::Polynomial;
use super::{Format, Function, Leakage, ROUNDING, Span, constant_minus, exp2, fixed};
use crate::Error;
use crate::machine::{Erased, Handle, Machine, Operand};

/// The middle of `[1/4, 1)` and the largest distance from it, twice: `u = CENTRE - 2 v`.
const CENTRE: f64 = 1.25;
const RADIUS: f64 = 0.75;
/// What the polynomial may be wrong by, relatively, in units of the last place inside.
const NEAR: f64 = 6.5;
/// Inner fraction bits up to which three of the paper's steps are enough.
const THREE_STEPS: u32 = 18;
/// The largest relative error of the paper's, in units of the last place inside: 11 by which `x` and
/// `v y` have drifted apart, 6 of the last step, 4 of the normalisation's, 1 left by the iteration.
const PAPERS_UNITS: f64 = 22.0;
/// The normalisation's rounding, of `v` by 2 units: relative to an inverse root or a root at most
/// `1 / (2 v)` times as much.
const NORMALISED: f64 = 4.0;

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
    inside: Polynomial,
    /// The largest relative error inside, in units of the last place.
    units: f64,
    back: Back,
    /// Fraction bits of the result.
    result: u32,
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
        let refused = || {
            Error::Invalid(format!(
                "{}square roots of numbers from 2^{} to 2^{} with {result} fraction bits do not fit {} bits",
                if root { "" } else { "inverse " },
                span.low,
                span.high,
                format.bits
            ))
        };
        let (inner, back) = way.ok_or_else(refused)?;
        let unit = exp2(-(inner as i32));
        // The least result is 1, of a root half.
        let relative = if root { 2.0 } else { 1.0 };
        let of = |u: f64| {
            let of_v = ((CENTRE - u) / 2.0).sqrt();
            if root { of_v } else { 1.0 / of_v }
        };
        let sizes = [format.room(), inner, inner];
        let near = (NEAR * unit).max(format.relaxed().unwrap_or(0.0)) / relative;
        let inside = Polynomial::near(of, RADIUS, near, sizes).ok_or_else(refused)?;
        let units = match arguments.leakage {
            Leakage::Nothing => relative * (inside.error / unit + ROUNDING) + NORMALISED,
            Leakage::Magnitude => PAPERS_UNITS,
        };
        Ok(InverseSqrt {
            normal: Normal::new(arguments, tops, inner)?,
            inside,
            units,
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

    /// `1 / sqrt(v)` of a normalised `v`, or `sqrt(v)`.
    fn near(&self, machine: &mut Erased, v: &Handle) -> Result<Handle, Error> {
        let twice = machine.scale(v, 2);
        let u = constant_minus(machine, fixed(CENTRE, self.normal.inner), &twice);
        self.inside.apply(machine, &u)
    }

    /// The inverse as in the paper, from public first approximations.
    fn newton(&self, machine: &mut Erased, v: &Handle, first: Vec<i64>) -> Result<Handle, Error> {
        let mut y = machine.constant(&first);
        let mut factor = Operand::Public(first.into());
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
    fn residue(
        &self,
        machine: &mut Erased,
        x: &Handle,
        y: &Operand<Handle>,
    ) -> Result<Handle, Error> {
        let inner = self.normal.inner;
        let half = machine.mul(x, y, inner + 1)?;
        Ok(constant_minus(machine, 1 << (inner - 1), &half))
    }
}

impl Function for InverseSqrt {
    fn apply(&self, machine: &mut Erased, x: &Handle) -> Result<Handle, Error> {
        self.normal.arguments.check(machine)?;
        let (intervals, v) = self.normal.apply(machine, x)?;
        let y = match &intervals {
            Intervals::Shared(_) => self.near(machine, &v)?,
            Intervals::Opened { rows, powers } => {
                self.newton(machine, &v, self.first(rows, powers))?
            }
        };
        self.back.scale(machine, &intervals, &y)
    }

    fn tolerance(&self, value: f64) -> f64 {
        let [units, inside] = self.back.rounding();
        units + (self.normal).share(self.result, self.units + inside, value)
    }
}
