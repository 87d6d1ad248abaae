//! The functions of several tensors among the measured operations, with the operands that they are
//! measured on.

use tacit_algebra::Prg;
use tacit_protocols::machine::{Erased, Handle, Machine};
use tacit_protocols::math::{BatchNorm, Channels, Division, Format, Span, Statistics};
use tacit_run::Error;

use super::case::{Op, Operands};
use super::function::SPAN;

/// Elements of a channel that is normalised: 8 x 8.
pub(super) const PLANE: usize = 64;
/// What a normalisation has learnt of a channel: mean, variance, factor and summand.
pub(super) const STATISTICS: usize = 4;

/// Quotients are below this power of two, and up to so much of it: divisors are rounded.
const QUOTIENT: i32 = 2;
const MOST: f64 = 0.97 * 4.0;
/// Ranges of elements, means, variances, factors and summands, from low to high.
const RANGES: [[f64; 2]; 1 + STATISTICS] = [
    [-3.0, 3.0],
    [-2.0, 2.0],
    [0.25, 12.0],
    [-0.75, 0.75],
    [-1.0, 1.0],
];
/// Normalised values are below this power of two: at most 5 / sqrt(1/4) times 3/4.
const NORMALISED: i32 = 3;
const VARIANCES: Span = Span { low: -2, high: 4 };
const EPSILON: f64 = 1.0 / 256.0;

/// A function of several tensors.
#[derive(Clone)]
pub(super) struct Compound {
    format: Format,
    kind: CompoundKind,
}

/// The functions of several tensors.
#[derive(Clone)]
enum CompoundKind {
    Division(Division),
    BatchNorm(BatchNorm),
}

impl Compound {
    /// The function of `op`, if it is one, over a ring or field of so many bits.
    pub fn new(op: Op, bits: u32, fraction: u32) -> Result<Option<Self>, Error> {
        let made = match op {
            Op::Division | Op::BatchNorm => Compound::make(op, bits, fraction),
            _ => return Ok(None),
        };
        made.map(Some)
            .map_err(|error| Error::setting("fraction bits", error.to_string()))
    }

    fn make(op: Op, bits: u32, fraction: u32) -> Result<Self, tacit_protocols::Error> {
        let format = Format::new(bits, fraction)?;
        let kind = match op {
            Op::Division => CompoundKind::Division(Division::new(format, SPAN, QUOTIENT)?),
            _ => CompoundKind::BatchNorm(BatchNorm::new(
                format,
                EPSILON,
                VARIANCES,
                NORMALISED as u32,
            )?),
        };
        Ok(Compound { format, kind })
    }

    /// Random operands for `n` quotients or channels: dividends and divisors of every magnitude, or
    /// elements and statistics.
    pub fn operands(&self, n: usize, prg: &mut Prg) -> Operands {
        let one = self.format.one();
        let mut draw = |n: usize, [low, high]: [f64; 2]| -> Vec<f64> {
            let unit = |v: u64| v as f64 / u64::MAX as f64;
            let within = |v| low + (high - low) * unit(v);
            prg.ring::<u64>(n).into_iter().map(within).collect()
        };
        let fixed = |values: Vec<f64>| values.into_iter().map(|v| (v * one) as i64).collect();
        match &self.kind {
            CompoundKind::Division(_) => {
                let exponents = draw(n, [f64::from(SPAN.low), f64::from(SPAN.high)]);
                let y: Vec<f64> = exponents.into_iter().map(f64::exp2).collect();
                let quotients = draw(n, [-MOST, MOST]);
                let x = quotients.iter().zip(&y).map(|(quotient, y)| quotient * y);
                [fixed(x.collect()), fixed(y)]
            }
            CompoundKind::BatchNorm(_) => {
                let [x, statistics @ ..] = RANGES;
                let statistics = statistics.map(|range| draw(n, range)).concat();
                [fixed(draw(n * PLANE, x)), fixed(statistics)]
            }
        }
    }

    pub fn apply(
        &self,
        machine: &mut Erased,
        [x, y]: &[Handle; 2],
    ) -> Result<Handle, tacit_protocols::Error> {
        match &self.kind {
            CompoundKind::Division(division) => division.apply(machine, x, y),
            CompoundKind::BatchNorm(norm) => {
                let n = machine.len(y) / STATISTICS;
                let [mean, variance, gamma, beta] =
                    [0, 1, 2, 3].map(|i| machine.slice(y, i * n..(i + 1) * n));
                let of = Statistics {
                    mean,
                    variance,
                    gamma,
                    beta,
                };
                norm.apply(machine, x, channels(n), &of)
            }
        }
    }

    /// The exact element of the result, in units of the last place.
    pub fn exact(&self, [x, y]: &Operands, index: usize) -> f64 {
        let one = self.format.one();
        let real = |v: i64| v as f64 / one;
        let value = match &self.kind {
            CompoundKind::Division(_) => real(x[index]) / real(y[index]),
            CompoundKind::BatchNorm(_) => {
                let (n, channel) = (y.len() / STATISTICS, index / PLANE);
                let [mean, variance, gamma, beta] = [0, 1, 2, 3].map(|i| real(y[i * n + channel]));
                gamma * (real(x[index]) - mean) / (variance + EPSILON).sqrt() + beta
            }
        };
        value * one
    }

    /// How far an element of the result may be from that of another protocol.
    pub fn tolerance(&self, [x, y]: &Operands, index: usize) -> u64 {
        let real = |v: i64| v as f64 / self.format.one();
        let one = match &self.kind {
            CompoundKind::Division(division) => division.tolerance(real(x[index]), real(y[index])),
            CompoundKind::BatchNorm(norm) => {
                let (n, channel) = (y.len() / STATISTICS, index / PLANE);
                let [mean, variance, gamma] = [0, 1, 2].map(|i| real(y[i * n + channel]));
                norm.tolerance(real(x[index]) - mean, gamma, variance)
            }
        };
        (2.0 * one).ceil() as u64
    }
}

fn channels(n: usize) -> Channels {
    Channels {
        batch: 1,
        channels: n,
        plane: PLANE,
    }
}
