//! Scaling of positive secrets to `[1/4, 1)` by a secret power of 4.
//!
//! Falcon's paper opens the magnitude of a divisor; here it stays secret. A power of 4, not of 2,
//! halves the comparisons, which cost most; the wider interval costs a step of the iteration. With
//! the paper's leakage the power is public, and may as well be one of 2.

use super::power::{Leakage, opened, opened_calls};
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

    /// The call of [`Powers::scale`]; with public factors what is left of it, if anything.
    pub fn call(&self, n: usize, leakage: Leakage) -> Option<Call> {
        let trunc = self.trunc;
        match leakage {
            Leakage::Nothing => Some(Call::elementwise(n, trunc)),
            Leakage::Magnitude => (trunc > 0).then_some(Call::Truncate { n, trunc }),
        }
    }

    /// `x` times the power of its interval. 1 product.
    pub fn scale<M: Machine>(
        &self,
        machine: &mut M,
        intervals: &Intervals<M::Share>,
        x: &M::Share,
    ) -> Result<M::Share, Error> {
        let trunc = self.trunc as i32;
        let factor = |&exponent: &i32| 1i64 << (exponent + trunc);
        let factors: Vec<i64> = self.exponents.iter().map(factor).collect();
        let factors = match intervals {
            Intervals::Shared(reached) => {
                let rows: Vec<Vec<i64>> = factors.into_iter().map(|factor| vec![factor]).collect();
                Operand::Secret(reached.pick(machine, &rows)?)
            }
            Intervals::Opened { rows, .. } => {
                Operand::Public(rows.iter().map(|&row| factors[row]).collect())
            }
        };
        machine.mul(x, &factors, self.trunc)
    }
}

/// The interval of every element.
pub(super) enum Intervals<S> {
    /// Known to nobody.
    Shared(Reached<S>),
    /// Known to all, and so is the bounding power of every element, an integer's.
    Opened { rows: Vec<usize>, powers: Vec<u32> },
}

/// The exponents of a span's integers.
pub(super) fn exponents(format: Format, span: Span) -> Result<[i32; 2], Error> {
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
    Ok([low, high])
}

/// The normalisation of a span.
#[derive(Clone, Debug)]
pub(super) struct Normal {
    format: Format,
    /// What becomes known of the values.
    pub leakage: Leakage,
    /// Fraction bits of the normalised values.
    pub inner: u32,
    steps: Steps,
    down: Powers,
    /// The exponent above each interval, of integers.
    tops: Vec<i32>,
}

impl Normal {
    /// For values in `span`, cut into intervals of `width` powers of two, and a result that grows by
    /// `spread` bits from one interval to the next: the wider the span, the fewer fraction bits are
    /// left inside.
    pub fn new(
        format: Format,
        span: Span,
        [width, spread]: [u32; 2],
        leakage: Leakage,
    ) -> Result<Self, Error> {
        let room = format.room();
        let [low, high] = exponents(format, span)?;
        let intervals = ((high - low) as u32).div_ceil(width).max(2);
        let inner = (room / 2).min(room.saturating_sub(spread * intervals));
        if inner < format.fraction {
            return Err(Error::Invalid(format!(
                "numbers from 2^{} to 2^{} leave {inner} fraction bits inside over {} bits, fewer than the {} of the numbers: choose a narrower span or fewer fraction bits",
                span.low, span.high, format.bits, format.fraction
            )));
        }
        let top = |j: u32| high - (width * j) as i32;
        let tops: Vec<i32> = (0..intervals).rev().map(top).collect();
        let thresholds = tops[..tops.len() - 1].iter().map(|&top| 1 << top);
        Ok(Normal {
            format,
            leakage,
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
        let mut calls = match self.leakage {
            Leakage::Nothing => self.steps.calls(n).to_vec(),
            Leakage::Magnitude => opened_calls(self.format, n),
        };
        calls.extend(self.down.call(n, self.leakage));
        calls
    }

    /// `v` in `[2^-width, 1)` with `inner` fraction bits, and the interval of `x`.
    pub fn apply<M: Machine>(
        &self,
        machine: &mut M,
        x: &M::Share,
    ) -> Result<(Intervals<M::Share>, M::Share), Error> {
        let intervals = match self.leakage {
            Leakage::Nothing => Intervals::Shared(self.steps.reached(machine, x)?),
            Leakage::Magnitude => {
                let powers = opened(self.format, machine, x)?;
                Intervals::Opened {
                    rows: powers.iter().map(|&power| self.row(power)).collect(),
                    powers,
                }
            }
        };
        let v = self.down.scale(machine, &intervals, x)?;
        Ok((intervals, v))
    }

    /// The interval of values with a bounding power.
    fn row(&self, power: u32) -> usize {
        let lower = &self.tops[..self.tops.len() - 1];
        lower.partition_point(|&top| top <= power as i32)
    }

    /// The bounding power of `v` from that of `x`, in the interval `row`.
    pub fn power_inside(&self, row: usize, power: u32) -> i32 {
        power as i32 - self.tops[row]
    }

    /// The error of a result near `value` that is wrong by `units` of the last place inside.
    pub fn tolerance(&self, fraction: u32, units: f64, value: f64) -> f64 {
        super::ROUNDING + units * value.abs() * exp2(fraction as i32 - self.inner as i32)
    }
}
