//! Reciprocals and quotients: Goldschmidt's iteration on normalised divisors (Falcon, Algorithm 6,
//! section 3.7; docs/spec/functions.md, section 5).
//!
//! With `v` in `[1/4, 1)` and `y = 3.836 - 3 v`, `e = 1 - v y` is at most 0.229, and
//! `1 / v = y (1 + e) (1 + e^2) (1 + e^4) ...`: the next factor and the next square are one
//! product. Where `f` is 12 of 32 bits, three factors are left with an error of `2^-17`; else four
//! with one of `2^-34`.
//!
//! With the paper's leakage this is its Algorithm 6 at a fixed precision inside
//! (docs/spec/falcon.md, section 7): `v` in `[1/2, 1)`, `y = 2.9142 - 2 v`, and one factor less for
//! errors of `2^-14` and `2^-28`.

use super::back::{Back, Powers};
use super::normal::{Arguments, Normal};
use super::{Format, Function, Leakage, ROUNDING, Span, constant_minus, exp2, fixed};
use crate::Error;
use crate::machine::{Erased, Handle, Machine, Operand};

/// The first approximation is `start - slope v`: on `[1/4, 1)` and, in the paper, on `[1/2, 1)`.
const LINE: (f64, i64) = (3.836, 3);
const PAPERS_LINE: (f64, i64) = (2.9142, 2);
/// The powers of two of an interval, and the bits by which a reciprocal changes from one to the next.
const WIDTH: u32 = 2;
/// Inner fraction bits up to which three factors are enough.
const THREE_FACTORS: u32 = 16;
/// The largest relative error inside, in units of the last place: 9 of the errors of `e`, 8 of
/// the factors' truncations, 8 of the normalisation's, 1 left by the iteration with all its factors.
const UNITS: f64 = 26.0;
/// The largest error of the first approximation, relatively.
const FIRST: f64 = 0.229;

/// `1 / x` of positive numbers.
///
/// For any span from one unit of the arguments on up to `2^(bits - 3)` units, as long as the
/// reciprocal of its lowest value stays below `2^(bits - 3)` units, too. Of what lies below the
/// span, 0 and negative numbers included, the result is that of the span's lowest value; of what
/// lies above there is no meaningful result.
///
/// The error is at most 2 units of `2^-f` and a relative `26 / 2^F`, where `F`, the fraction bits
/// inside, is 26 to 30 over 64 bits, 26 to 29 over 61 and 14 over 32 and 31 bits. A span of more
/// than `bits - 3 - F` powers of two takes one product more to scale back, which adds a relative
/// `2 / 2^F` and a quarter of a unit at most; where the reciprocal of the lowest value comes within
/// 4 bits of the room of products it adds 2 units, and `F` is 1 or 2 less.
#[derive(Clone, Debug)]
pub struct Reciprocal {
    normal: Normal,
    core: Core,
    back: Back,
    /// Fraction bits of the result.
    result: u32,
}

impl Reciprocal {
    /// The reciprocal of numbers in `span`.
    pub fn new(format: Format, span: Span) -> Result<Self, Error> {
        Self::of(Arguments::new(format, span))
    }

    /// The paper's, which opens the bounding power of every divisor. For measuring only.
    pub fn with_paper_leakage(format: Format, span: Span) -> Result<Self, Error> {
        let leakage = Leakage::Magnitude;
        let arguments = Arguments::new(format, span);
        Self::of(Arguments {
            leakage,
            ..arguments
        })
    }

    /// The reciprocal of such arguments.
    pub(super) fn of(arguments: Arguments) -> Result<Self, Error> {
        let (format, span, result) = (arguments.format, arguments.span, arguments.format.fraction);
        let width = Core::width(arguments.leakage);
        let tops = arguments.tops(width, false)?;
        let both = (arguments.fraction + result) as i32;
        let exponents = |inner: u32| {
            let exponent = |&top: &i32| Some(both - inner as i32 - top);
            tops[..1].iter().chain(&tops).map(exponent).collect()
        };
        let way = Back::widest(format.room(), width, exponents);
        let (inner, back) = way.ok_or_else(|| {
            Error::Invalid(format!(
                "reciprocals from 2^{} to 2^{} with {result} fraction bits do not fit {} bits",
                -span.high, -span.low, format.bits
            ))
        })?;
        let leakage = arguments.leakage;
        Ok(Reciprocal {
            normal: Normal::new(arguments, tops, inner)?,
            core: Core::new(&format, inner, leakage),
            back,
            result,
        })
    }
}

/// The iteration, on normalised numbers.
#[derive(Clone, Copy, Debug)]
struct Core {
    inner: u32,
    leakage: Leakage,
    factors: u32,
    /// The largest relative error, in units of the last place inside.
    units: f64,
}

impl Core {
    fn width(leakage: Leakage) -> u32 {
        match leakage {
            Leakage::Nothing => WIDTH,
            Leakage::Magnitude => 1,
        }
    }

    /// The iteration with as many factors as the places inside need, or as few as the format asks for.
    fn new(format: &Format, inner: u32, leakage: Leakage) -> Self {
        let all = if inner <= THREE_FACTORS { 3 } else { 4 };
        let left = |factors: u32| (0..factors).fold(FIRST, |error, _| error * error);
        let enough = |error: f64| (1..all).find(|&factors| left(factors) <= error);
        let (factors, units) = match (leakage, format.relaxed().and_then(enough)) {
            (Leakage::Magnitude, _) => (all - 1, UNITS),
            (_, None) => (all, UNITS),
            (_, Some(factors)) => (factors, UNITS + left(factors) * exp2(inner as i32)),
        };
        Core {
            inner,
            leakage,
            factors,
            units,
        }
    }

    /// `1 / v` of a normalised `v`.
    fn iterate(&self, machine: &mut Erased, v: &Handle) -> Result<Handle, Error> {
        let (n, inner) = (machine.len(v), self.inner);
        let (start, slope) = match self.leakage {
            Leakage::Nothing => LINE,
            Leakage::Magnitude => PAPERS_LINE,
        };
        let falling = machine.scale(v, slope);
        let mut y = constant_minus(machine, fixed(start, inner), &falling);
        let product = machine.mul(v, &Operand::Secret(y.clone()), inner)?;
        let mut e = constant_minus(machine, 1 << inner, &product);
        for _ in 1..self.factors {
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
    fn apply(&self, machine: &mut Erased, x: &Handle) -> Result<Handle, Error> {
        self.normal.arguments.check(machine)?;
        let (intervals, v) = self.normal.apply(machine, x)?;
        let y = self.core.iterate(machine, &v)?;
        self.back.scale(machine, &intervals, &y)
    }

    fn tolerance(&self, value: f64) -> f64 {
        let [units, inside] = self.back.rounding();
        units + (self.normal).share(self.result, self.core.units + inside, value)
    }
}

/// `x / y` of a positive `y`: both scaled by the same secret power, then `x` of either sign times the
/// reciprocal of `y`.
///
/// For any span of divisors that [`Reciprocal`] would normalise. A divisor below the span is taken
/// for its lowest value. The error is at most `2 + 8 2^(f-P)` units of `2^-f` and a relative
/// `26 / 2^F`, where `F` are the fraction bits inside, `P` those of the scaled dividend, and
/// `F + P = bits - 3 - quotient`: `P` is `f + 5` or more where that leaves 16 for `F`; else `F` is 16,
/// or what is left of it, but at least 12, so that `P` is `f`.
#[derive(Clone, Debug)]
pub struct Division {
    format: Format,
    normal: Normal,
    core: Core,
    across: Powers,
    /// Fraction bits of the scaled dividend.
    places: u32,
}

impl Division {
    /// Inner fraction bits that are not given up for more of the dividend, and for those of the numbers.
    const ENOUGH: i32 = 16;
    const LEAST: i32 = 12;
    /// Fraction bits of the scaled dividend beyond the result's, where there is room.
    const MORE: i32 = 5;

    /// Quotients below `2^quotient` in magnitude of divisors in `span`. Refused where the dividend of
    /// the largest quotient and divisor leaves the room of products, or less than 12 bits for `F`.
    pub fn new(format: Format, span: Span, quotient: i32) -> Result<Self, Error> {
        let (room, fraction) = (format.room() as i32, format.fraction as i32);
        let arguments = Arguments::new(format, span);
        let tops = arguments.tops(WIDTH, false)?;
        let most = room / 2;
        let left = room - quotient - fraction;
        let inner = (left - Self::MORE)
            .clamp(most.min(Self::ENOUGH), most)
            .min(left);
        let places = room - inner - quotient;
        if inner < Self::LEAST || quotient + fraction + span.high > room {
            return Err(Error::Invalid(format!(
                "quotients up to 2^{quotient} of divisors up to 2^{} leave {places} fraction bits of the scaled dividend over {} bits, and need the {fraction} of the numbers and dividends below 2^{}: choose a narrower span or a lower bound",
                span.high,
                format.bits,
                room - fraction
            )));
        }
        let exponent = |top: &i32| Some(places - top);
        let across = tops[..1].iter().chain(&tops).map(exponent).collect();
        let inner = inner as u32;
        let leakage = Leakage::Nothing;
        Ok(Division {
            format,
            normal: Normal::new(arguments, tops, inner)?,
            core: Core::new(&format, inner, leakage),
            across: Powers::new(across),
            places: places as u32,
        })
    }

    /// Bits that the product of the scaled dividend and the reciprocal drops.
    fn dropped(&self) -> u32 {
        self.places + self.core.inner - self.format.fraction
    }

    /// `x / y`, element by element.
    pub fn apply(&self, machine: &mut Erased, x: &Handle, y: &Handle) -> Result<Handle, Error> {
        self.format.check(machine)?;
        let (intervals, v) = self.normal.apply(machine, y)?;
        let inverse = self.core.iterate(machine, &v)?;
        let x = self.across.scale(machine, &intervals, x)?;
        machine.mul(&x, &Operand::Secret(inverse), self.dropped())
    }

    /// The largest error of `x / y`, in units of `2^-f`.
    pub fn tolerance(&self, x: f64, y: f64) -> f64 {
        let fraction = self.format.fraction;
        // The scaled dividend's rounding times a reciprocal of up to 4.
        let dividend = 4.0 * ROUNDING * exp2(fraction as i32 - self.places as i32);
        ROUNDING + dividend + self.normal.share(fraction, self.core.units, x / y)
    }
}
