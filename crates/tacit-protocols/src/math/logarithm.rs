//! Natural logarithms of numbers from 1 on: scaled to `[1, 4)` by a secret power of 4, there by
//! pieces, and the logarithm of the power added.

use std::f64::consts::LN_2;

use super::normal::{Intervals, Powers};
use super::piecewise::{Piecewise, Shape};
use super::steps::Steps;
use super::{Format, Function, Leakage, ROUNDING, fixed, public};
use crate::Error;
use crate::machine::{Call, Machine};

/// `ln x` of `1 <= x < 2^high`; just below 1 it is 0.
///
/// The error is at most 2.5 units of `2^-f` beyond that of the pieces: 2 of the scaling's
/// truncation, which the logarithm does not stretch, and a half of the constant's. Hops: a
/// comparison and a selection, a product, and those of [`Piecewise`].
#[derive(Clone, Debug)]
pub struct Logarithm {
    format: Format,
    steps: Steps,
    down: Powers,
    inside: Piecewise,
    /// The logarithm of each interval's power.
    added: Vec<Vec<i64>>,
}

impl Logarithm {
    /// Logarithms of numbers from 1 to `2^high`, that excluded; a `high` for which the scaling leaves
    /// the room of products is refused.
    pub fn new(format: Format, high: i32) -> Result<Self, Error> {
        let intervals = (high.clamp(1, 64) as u32).div_ceil(2).max(2) as i32;
        let exponents = (0..intervals).map(|j| -2 * j).collect();
        let down = Powers::new(exponents);
        if high < 1 || !down.fit(format, format.fraction + 2) {
            return Err(Error::Invalid(format!(
                "logarithms of numbers from 1 to 2^{high} of {} fraction bits do not fit {} bits",
                format.fraction, format.bits
            )));
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
        let threshold = |j: i32| 1 << (format.fraction as i32 + 2 * j);
        let added = |j: i32| vec![fixed(f64::from(2 * j) * LN_2, format.fraction)];
        Ok(Logarithm {
            format,
            steps: Steps((1..intervals).map(threshold).collect()),
            down,
            inside,
            added: (0..intervals).map(added).collect(),
        })
    }
}

impl Function for Logarithm {
    fn calls(&self, n: usize) -> Vec<Call> {
        let mut calls = self.steps.calls(n).to_vec();
        calls.extend(self.down.call(n, Leakage::Nothing));
        calls.extend(self.inside.calls(n));
        calls
    }

    fn apply<M: Machine>(&self, machine: &mut M, x: &M::Share) -> Result<M::Share, Error> {
        self.format.check(machine)?;
        let reached = self.steps.reached(machine, x)?;
        let added = reached.pick(machine, &self.added)?;
        let scaled = (self.down).scale(machine, &Intervals::Shared(reached), x)?;
        let inside = self.inside.apply(machine, &scaled)?;
        Ok(machine.add(&inside, &added))
    }

    fn tolerance(&self, value: f64) -> f64 {
        self.inside.tolerance(value) + ROUNDING + 0.5
    }
}
