//! Scaling of positive secrets to `[1/4, 1)` by a secret power of 4.
//!
//! Falcon's paper opens the magnitude of a divisor; here it stays secret. A power of 4, not of 2,
//! halves the comparisons, which cost most; the wider interval costs a step of the iteration.

use super::steps::{Reached, Steps};
use super::{Format, exp2};
use crate::Error;
use crate::machine::{Call, Machine, Operand};

/// Positive numbers from `2^low` to `2^high`, that excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The exponent of the smallest value.
    pub low: i32,
    /// The exponent of what is just too large.
    pub high: i32,
}

/// A secret power of two: one for each interval of the thresholds.
#[derive(Clone, Debug)]
pub(super) struct Powers {
    exponents: Vec<i32>,
    /// Bits that are truncated so that negative exponents become factors.
    trunc: u32,
}

impl Powers {
    /// One of `exponents` for each interval.
    pub fn new(exponents: Vec<i32>) -> Self {
        let least = exponents.iter().copied().min().unwrap_or(0);
        Powers {
            exponents,
            trunc: least.min(0).unsigned_abs(),
        }
    }

    /// Whether the product with values up to `2^magnitude` stays in the room.
    pub fn fit(&self, format: Format, magnitude: u32) -> bool {
        let largest = self.exponents.iter().copied().max().unwrap_or(0);
        let product = (magnitude + self.trunc) as i32 + largest;
        product.max(self.trunc as i32) <= format.room() as i32
    }

    /// The call of [`Powers::scale`].
    pub fn call(&self, n: usize) -> Call {
        Call::elementwise(n, self.trunc)
    }

    /// `x` times the power of its interval. 1 product.
    pub fn scale<M: Machine>(
        &self,
        machine: &mut M,
        reached: &Reached<M::Share>,
        x: &M::Share,
    ) -> Result<M::Share, Error> {
        let trunc = self.trunc as i32;
        let factor = |&exponent: &i32| vec![1i64 << (exponent + trunc)];
        let rows: Vec<Vec<i64>> = self.exponents.iter().map(factor).collect();
        let factors = reached.pick(machine, &rows)?;
        machine.mul(x, &Operand::Secret(factors), self.trunc)
    }
}

/// The normalisation of a span.
#[derive(Clone, Debug)]
pub(super) struct Normal {
    /// Fraction bits of the normalised values.
    pub inner: u32,
    steps: Steps,
    down: Powers,
    /// The exponent above each interval, of integers.
    tops: Vec<i32>,
}

impl Normal {
    /// For values in `span`, and a result that grows by `spread` bits from one interval to the
    /// next: the wider the span, the fewer fraction bits are left inside.
    pub fn new(format: Format, span: Span, spread: u32) -> Result<Self, Error> {
        let (fraction, room) = (format.fraction as i32, format.room());
        let (low, high) = (fraction + span.low, fraction + span.high);
        if low < 0 || high < low.max(2) || high > room as i32 {
            return Err(Error::Invalid(format!(
                "numbers of {fraction} fraction bits over {} bits lie between 2^-{fraction} and 2^{}, not between 2^{} and 2^{}",
                format.bits,
                room as i32 - fraction,
                span.low,
                span.high
            )));
        }
        let intervals = (high - low + 1).max(4) / 2;
        let inner = (room / 2).min(room.saturating_sub(spread * intervals as u32));
        if inner < format.fraction {
            return Err(Error::Invalid(format!(
                "numbers from 2^{} to 2^{} leave {inner} fraction bits inside over {} bits, fewer than the {fraction} of the numbers: choose a narrower span or fewer fraction bits",
                span.low, span.high, format.bits
            )));
        }
        let tops: Vec<i32> = (0..intervals).rev().map(|j| high - 2 * j).collect();
        let thresholds = tops[..tops.len() - 1].iter().map(|&top| 1 << top);
        Ok(Normal {
            inner,
            steps: Steps(thresholds.collect()),
            down: Powers::new(tops.iter().map(|top| inner as i32 - top).collect()),
            tops,
        })
    }

    /// A power for each interval, from the exponent above it.
    pub fn powers(&self, exponent: impl Fn(i32) -> i32) -> Powers {
        Powers::new(self.tops.iter().map(|&top| exponent(top)).collect())
    }

    /// The calls of [`Normal::apply`].
    pub fn calls(&self, n: usize) -> Vec<Call> {
        let mut calls = self.steps.calls(n).to_vec();
        calls.push(self.down.call(n));
        calls
    }

    /// `v` in `[1/4, 1)` with `inner` fraction bits, and the interval of `x`.
    pub fn apply<M: Machine>(
        &self,
        machine: &mut M,
        x: &M::Share,
    ) -> Result<(Reached<M::Share>, M::Share), Error> {
        let reached = self.steps.reached(machine, x)?;
        let v = self.down.scale(machine, &reached, x)?;
        Ok((reached, v))
    }

    /// The error of a result near `value` that is wrong by `units` of the last place inside.
    pub fn tolerance(&self, fraction: u32, units: f64, value: f64) -> f64 {
        super::ROUNDING + units * value.abs() * exp2(fraction as i32 - self.inner as i32)
    }
}
