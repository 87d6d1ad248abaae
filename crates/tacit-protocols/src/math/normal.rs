//! Scaling of positive secrets to `[1/4, 1)` by a secret power of 4 (docs/spec/functions.md,
//! section 3).
//!
//! Falcon's paper opens the magnitude of a divisor; here it stays secret. A power of 4, not of 2,
//! halves the comparisons, which cost most; the wider interval costs a step of the iteration. With
//! the paper's leakage the power is public, and may as well be one of 2.
//!
//! The lowest threshold is the span's lowest value: what lies below it, 0 and negative numbers
//! included, is taken for that value, so that no iteration leaves its domain.

use super::back::Powers;
use super::power::{Leakage, opened};
use super::steps::{Reached, Steps};
use super::{Format, exp2};
use crate::Error;
use crate::machine::{Erased, Handle, Machine};

/// Positive numbers from `2^low` to `2^high`, that excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The exponent of the smallest value.
    pub low: i32,
    /// The exponent of what is just too large.
    pub high: i32,
}

/// What is known of a function's arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arguments {
    pub format: Format,
    /// The arguments' fraction bits.
    pub fraction: u32,
    /// Bits that hold every argument, its sign included.
    pub bits: u32,
    pub span: Span,
    /// What becomes known of the arguments.
    pub leakage: Leakage,
}

impl Arguments {
    /// Numbers of a format in a span.
    pub fn new(format: Format, span: Span) -> Self {
        Arguments {
            format,
            fraction: format.fraction,
            bits: format.bits,
            span,
            leakage: Leakage::Nothing,
        }
    }

    /// The exponents of the span's integers.
    pub fn exponents(&self) -> Result<[i32; 2], Error> {
        let (fraction, room, span) = (self.fraction as i32, self.format.room(), self.span);
        let (low, high) = (fraction + span.low, fraction + span.high);
        if low < 0 || high < low.max(2) || high > room as i32 {
            return Err(Error::Invalid(format!(
                "numbers of {fraction} fraction bits over {} bits lie between 2^-{fraction} and 2^{}, not between 2^{} and 2^{}",
                self.format.bits,
                room as i32 - fraction,
                span.low,
                span.high
            )));
        }
        Ok([low, high])
    }

    /// The exponent above each interval of `width` powers of two, of integers, from the span's lowest
    /// value on; with `even`, those of real numbers are even.
    pub fn tops(&self, width: u32, even: bool) -> Result<Vec<i32>, Error> {
        let [low, high] = self.exponents()?;
        let width = width as i32;
        let first = match even && (low - self.fraction as i32) % 2 != 0 {
            true => low + 1,
            false => low + width,
        };
        let others = (1..).map(|j| first + width * (j - 1));
        Ok((others.take_while(|top| top - width < high || *top == first)).collect())
    }

    /// Refuses a machine over another ring.
    pub fn check(&self, machine: &Erased) -> Result<(), Error> {
        self.format.check(machine)
    }
}

/// The interval of every element; that of number 0 is below the span.
pub(super) enum Intervals {
    /// Intervals that nobody knows.
    Shared(Reached),
    /// Known to all, and so is the bounding power of every element, an integer's.
    Opened { rows: Vec<usize>, powers: Vec<u32> },
}

/// The normalisation of a span.
#[derive(Clone, Debug)]
pub(super) struct Normal {
    pub arguments: Arguments,
    /// Fraction bits of the normalised values.
    pub inner: u32,
    steps: Steps,
    down: Powers,
    /// The exponent above each interval, of integers.
    tops: Vec<i32>,
    /// The exponent of the span's smallest integer.
    low: i32,
}

impl Normal {
    /// A normalisation by the intervals below `tops`, with `inner` fraction bits.
    pub fn new(arguments: Arguments, tops: Vec<i32>, inner: u32) -> Result<Self, Error> {
        let [low, _] = arguments.exponents()?;
        let lower = &tops[..tops.len() - 1];
        let thresholds = std::iter::once(&low).chain(lower).map(|&e| 1 << e);
        let exponents = tops.iter().map(|top| Some(inner as i32 - top));
        Ok(Normal {
            arguments,
            inner,
            steps: Steps::new(thresholds.collect(), arguments.bits, arguments.format.bits),
            down: Powers::new(std::iter::once(None).chain(exponents).collect()),
            tops,
            low,
        })
    }

    /// `v` in `[2^-width, 1)` with `inner` fraction bits, and the interval of `x`.
    pub fn apply(&self, machine: &mut Erased, x: &Handle) -> Result<(Intervals, Handle), Error> {
        let intervals = match self.arguments.leakage {
            Leakage::Nothing => Intervals::Shared(self.steps.reached(machine, x)?),
            Leakage::Magnitude => {
                let powers = opened(self.arguments.format, machine, x)?;
                Intervals::Opened {
                    rows: powers.iter().map(|&power| self.row(power)).collect(),
                    powers,
                }
            }
        };
        let v = self.down.scale(machine, &intervals, x)?;
        let least = self.least(machine, &intervals)?;
        Ok((intervals, machine.add(&v, &least)))
    }

    /// The normalised lowest value of the span where `x` lies below, else 0. Local.
    fn least(&self, machine: &mut Erased, intervals: &Intervals) -> Result<Handle, Error> {
        let least = 1 << (self.inner as i32 + self.low - self.tops[0]);
        match intervals {
            Intervals::Shared(reached) => {
                let mut rows = vec![vec![0]; self.tops.len() + 1];
                rows[0][0] = least;
                reached.pick(machine, &rows)
            }
            Intervals::Opened { rows, .. } => {
                let value = |&row: &usize| if row == 0 { least } else { 0 };
                Ok(machine.constant(&rows.iter().map(value).collect::<Vec<_>>()))
            }
        }
    }

    /// The interval of values with a bounding power.
    fn row(&self, power: u32) -> usize {
        let power = power as i32;
        match power < self.low {
            true => 0,
            false => 1 + self.tops[..self.tops.len() - 1].partition_point(|&top| top <= power),
        }
    }

    /// The bounding power of `v` from that of `x`, in the interval `row`.
    pub fn power_inside(&self, row: usize, power: u32) -> i32 {
        match row {
            0 => self.low - self.tops[0],
            row => power as i32 - self.tops[row - 1],
        }
    }

    /// `units` of the last place inside of a result near `value`, in units of `2^-fraction`.
    pub fn share(&self, fraction: u32, units: f64, value: f64) -> f64 {
        units * value.abs() * exp2(fraction as i32 - self.inner as i32)
    }
}
