//! Natural logarithms of positive numbers: scaled to `[1, 4)` by a secret power of 4, there a
//! polynomial, and the logarithm of the power added (docs/spec/functions.md, section 7).

use std::f64::consts::LN_2;

use super::back::Powers;
use super::normal::{Arguments, Intervals};
use super::polynomial::Polynomial;
use super::steps::Steps;
use super::{Format, Function, ROUNDING, Span, constant_minus, exp2, fixed, public};
use crate::Error;
use crate::machine::{Erased, Handle, Machine};

/// The middle of `[1, 4)`, and a power of two that makes `u` of the distance from it, at most `RADIUS`.
const CENTRE: f64 = 2.5;
const HALF: u32 = 1;
const RADIUS: f64 = 0.75;

/// `ln x` of numbers in a span; of what lies below, 0 and negative numbers included, the logarithm
/// of the span's lowest value, and of what lies above no meaningful result.
///
/// For any span from one unit of the arguments on up to `2^(bits - 3)` units. The error is at most 2.5 units of
/// `2^-f`, 2 of the last truncation and a half of the constant's, beyond what the polynomial and the scaling's
/// truncation, which the logarithm does not stretch, have inside. Hops: a comparison and a selection, a product,
/// and those of the polynomial.
#[derive(Clone, Debug)]
pub struct Logarithm {
    arguments: Arguments,
    steps: Steps,
    scale: Powers,
    inside: Polynomial,
    /// Fraction bits of what is scaled.
    scaled: u32,
    /// The logarithm of each interval's power.
    added: Vec<Vec<i64>>,
}

impl Logarithm {
    /// Logarithms of numbers from 1 to `2^high`, that excluded.
    pub fn new(format: Format, high: i32) -> Result<Self, Error> {
        Self::over(format, Span { low: 0, high })
    }

    /// Logarithms of numbers in `span`.
    pub fn over(format: Format, span: Span) -> Result<Self, Error> {
        Self::of(Arguments::new(format, span))
    }

    /// Logarithms of such arguments.
    pub(super) fn of(arguments: Arguments) -> Result<Self, Error> {
        let (format, span, fraction) = (arguments.format, arguments.span, arguments.fraction);
        let refused = || {
            Error::Invalid(format!(
                "logarithms of numbers from 2^{} to 2^{} of {fraction} fraction bits do not fit {} bits",
                span.low, span.high, format.bits
            ))
        };
        if arguments.exponents().is_err() || span.high <= span.low {
            return Err(refused());
        }
        let intervals = ((span.high - span.low) as u32).div_ceil(2) as i32;
        let powers: Vec<i32> = (0..intervals).map(|j| span.low + 2 * j).collect();
        let inner = format.room() / 2;
        // What the polynomial takes is half of the distance from the centre.
        let scaled = inner - HALF;
        let scales = powers
            .iter()
            .map(|power| Some(scaled as i32 - fraction as i32 - power));
        let inside = Polynomial::near(
            |u| public::ln(CENTRE - f64::from(1 << HALF) * u),
            RADIUS,
            0.25 / format.one(),
            [format.room(), inner, format.fraction],
        );
        let threshold = |&power: &i32| 1 << (fraction as i32 + power);
        let added = |&power: &i32| vec![fixed(f64::from(power) * LN_2, format.fraction)];
        let thresholds = powers.iter().map(threshold).collect();
        let below = std::iter::once(&span.low);
        Ok(Logarithm {
            arguments,
            steps: Steps::new(thresholds, arguments.bits, format.bits),
            scale: Powers::new(std::iter::once(None).chain(scales).collect()),
            inside: inside.ok_or_else(refused)?,
            scaled,
            added: below.chain(&powers).map(added).collect(),
        })
    }
}

impl Function for Logarithm {
    fn apply(&self, machine: &mut Erased, x: &Handle) -> Result<Handle, Error> {
        self.arguments.check(machine)?;
        let reached = self.steps.reached(machine, x)?;
        let added = reached.pick(machine, &self.added)?;
        let mut rows = vec![vec![0]; self.added.len()];
        rows[0][0] = 1 << self.scaled;
        let least = reached.pick(machine, &rows)?;
        let scaled = (self.scale).scale(machine, &Intervals::Shared(reached), x)?;
        let scaled = machine.add(&scaled, &least);
        let u = constant_minus(machine, fixed(CENTRE, self.scaled), &scaled);
        let inside = self.inside.apply(machine, &u)?;
        Ok(machine.add(&inside, &added))
    }

    fn tolerance(&self, _value: f64) -> f64 {
        let inside = self.inside.error + ROUNDING * exp2(-(self.scaled as i32));
        ROUNDING + 0.5 + self.arguments.format.one() * inside
    }
}
