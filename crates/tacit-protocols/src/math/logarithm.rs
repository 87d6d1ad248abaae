//! Natural logarithms of positive numbers: scaled to `[1, 4)` by a secret power of 4, there by
//! pieces, and the logarithm of the power added (docs/spec/functions.md, section 7).

use std::f64::consts::LN_2;

use super::back::Powers;
use super::normal::{Arguments, Intervals};
use super::piecewise::{Piecewise, Shape};
use super::steps::Steps;
use super::{Format, Function, ROUNDING, Span, fixed, public};
use crate::Error;
use crate::machine::Machine;

/// `ln x` of numbers in a span; of what lies below, 0 and negative numbers included, the logarithm
/// of the span's lowest value, and of what lies above no meaningful result. (A span from 1 on spares
/// the threshold at its lowest value: it takes negative numbers only to `-2^high`.)
///
/// For any span from one unit on up to `2^(bits - 3)` units. The error is at most 2.5 units of
/// `2^-f` beyond that of the pieces: 2 of the scaling's truncation, which the logarithm does not
/// stretch, and a half of the constant's. Hops: a comparison and a selection, a product, and those
/// of [`Piecewise`].
#[derive(Clone, Debug)]
pub struct Logarithm {
    format: Format,
    steps: Steps,
    scale: Powers,
    inside: Piecewise,
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
        let refused = || {
            Error::Invalid(format!(
                "logarithms of numbers from 2^{} to 2^{} of {} fraction bits do not fit {} bits",
                span.low, span.high, format.fraction, format.bits
            ))
        };
        let arguments = Arguments::new(format, span);
        if arguments.exponents().is_err() || span.high <= span.low {
            return Err(refused());
        }
        let intervals = ((span.high - span.low) as u32).div_ceil(2).max(2) as i32;
        let powers = (0..intervals).map(|j| span.low + 2 * j);
        let mut scales: Vec<_> = powers.clone().map(|power| Some(-power)).collect();
        let mut powers: Vec<_> = powers.collect();
        if span.low < 0 {
            // Times 0 it is below 1.
            scales.insert(0, None);
            powers.insert(0, span.low);
        }
        let inside = Piecewise::fit(
            format,
            &Shape {
                name: "ln",
                function: public::ln,
                low: 1,
                pieces: 3,
                width: 0,
                below: 0.0,
                above: None,
            },
        )?;
        let threshold = |&power: &i32| 1 << (format.fraction as i32 + power);
        let added = |&power: &i32| vec![fixed(f64::from(power) * LN_2, format.fraction)];
        let thresholds = powers.iter().skip(1).map(threshold).collect();
        Ok(Logarithm {
            format,
            steps: Steps::new(thresholds, format.bits, format.bits),
            scale: Powers::new(scales),
            inside,
            added: powers.iter().map(added).collect(),
        })
    }
}

impl Function for Logarithm {
    fn apply<M: Machine>(&self, machine: &mut M, x: &M::Share) -> Result<M::Share, Error> {
        self.format.check(machine)?;
        let reached = self.steps.reached(machine, x)?;
        let added = reached.pick(machine, &self.added)?;
        let scaled = (self.scale).scale(machine, &Intervals::Shared(reached), x)?;
        let inside = self.inside.apply(machine, &scaled)?;
        Ok(machine.add(&inside, &added))
    }

    fn tolerance(&self, value: f64) -> f64 {
        self.inside.tolerance(value) + ROUNDING + 0.5
    }
}
