//! What a plan provides for the arguments of elementary functions.

use serde::{Deserialize, Serialize};
use tacit_protocols::Error;
use tacit_protocols::math::{Elementary, Format, Kind, Span};

use super::ranges::Interval;
use crate::graph::Function;

/// An elementary function with its domain, as a plan names it: an [`Elementary`] on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlannedFunction {
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// The error function.
    Erf,
    /// `exp(x)` of an `x` up to `high`.
    Exp {
        /// The largest argument.
        high: i32,
    },
    /// `1 / x` of an `x` from `2^low` to below `2^high`.
    Reciprocal {
        /// The exponent of the smallest argument.
        low: i32,
        /// The exponent of what is just too large.
        high: i32,
    },
    /// `1 / sqrt(x)` of such an `x`.
    InverseSqrt {
        /// The exponent of the smallest argument.
        low: i32,
        /// The exponent of what is just too large.
        high: i32,
    },
}

/// The largest exponents and arguments that are of use to any format.
const MOST: i32 = 64;

impl PlannedFunction {
    /// The function for arguments within `x`, of `f` fraction bits; or why there is none.
    pub(super) fn choose(function: Function, x: Interval, f: u32) -> Result<Self, String> {
        Ok(match function {
            Function::Sigmoid => PlannedFunction::Sigmoid,
            Function::Tanh => PlannedFunction::Tanh,
            Function::Erf => PlannedFunction::Erf,
            Function::Exp => PlannedFunction::Exp {
                high: x.1.ceil().clamp(f64::from(-MOST), f64::from(MOST)) as i32,
            },
            Function::Reciprocal => {
                let (low, high) = exponents(function, x, f)?;
                PlannedFunction::Reciprocal { low, high }
            }
            Function::InverseSqrt => {
                let (low, high) = exponents(function, x, f)?;
                PlannedFunction::InverseSqrt { low, high }
            }
        })
    }

    /// The function of numbers with `f` fraction bits over a ring or field, if there is one.
    pub fn elementary(self, ring_bits: u32, f: u32) -> Result<Elementary, Error> {
        let span = |low, high| Span { low, high };
        let kind = match self {
            PlannedFunction::Sigmoid => Kind::Sigmoid,
            PlannedFunction::Tanh => Kind::Tanh,
            PlannedFunction::Erf => Kind::Erf,
            PlannedFunction::Exp { high } => Kind::Exp { high },
            PlannedFunction::Reciprocal { low, high } => Kind::Reciprocal {
                span: span(low, high),
            },
            PlannedFunction::InverseSqrt { low, high } => Kind::InverseSqrt {
                span: span(low, high),
            },
        };
        let parameters = match self {
            PlannedFunction::Exp { high } => [high, high],
            PlannedFunction::Reciprocal { low, high }
            | PlannedFunction::InverseSqrt { low, high } => [low, high],
            _ => [0, 0],
        };
        if parameters.iter().any(|p| !(-MOST..=MOST).contains(p)) {
            return Err(Error::Invalid(format!(
                "its domain {parameters:?} is out of bounds"
            )));
        }
        let elementary = Elementary::new(Format::new(ring_bits, f)?, kind);
        elementary.check()?;
        Ok(elementary)
    }

    /// The function's name for tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            PlannedFunction::Sigmoid => Function::Sigmoid,
            PlannedFunction::Tanh => Function::Tanh,
            PlannedFunction::Erf => Function::Erf,
            PlannedFunction::Exp { .. } => Function::Exp,
            PlannedFunction::Reciprocal { .. } => Function::Reciprocal,
            PlannedFunction::InverseSqrt { .. } => Function::InverseSqrt,
        }
        .name()
    }

    /// Whether arguments beyond `planned` but within `worst` have no meaningful result.
    pub(super) fn misses(self, planned: Interval, worst: Interval) -> bool {
        match self {
            PlannedFunction::Exp { .. } => worst.1 > planned.1,
            PlannedFunction::Reciprocal { .. } | PlannedFunction::InverseSqrt { .. } => {
                worst.1 > planned.1 || worst.0 < planned.0
            }
            _ => false,
        }
    }
}

/// The powers of two around positive numbers, with a little room for rounding. Less than `2^-f`
/// cannot be told from 0.
fn exponents(function: Function, x: Interval, f: u32) -> Result<(i32, i32), String> {
    let least = -(f as i32);
    let root = function == Function::InverseSqrt;
    if x.0 < 0.0 || (x.0 == 0.0 && !root) {
        return Err(format!(
            "its arguments are planned from {:.4} to {:.4}, but {} is computed of positive numbers only: give samples that show it, or keep the argument above 0",
            x.0,
            x.1,
            function.name()
        ));
    }
    let low = (x.0 * 0.99).log2().floor().max(f64::from(least)) as i32;
    let high = (x.1 * 1.01).log2().floor().min(f64::from(MOST)) as i32 + 1;
    Ok((low, high.max(low + 1).max(2 + least)))
}

/// Bits that hold arguments of magnitudes up to `x` with `f` fraction bits, sign and rounding
/// included.
pub(super) fn argument_bits(x: f64, f: u32) -> u32 {
    let integer = (x.max(1.0) * 1.01).log2().ceil() as u32;
    integer.saturating_add(f + 2).min(64)
}

/// The largest magnitude of which a function takes a sign, for arguments up to `x`: those less the
/// borders of its pieces or binades.
pub(super) fn compared(x: f64) -> f64 {
    /// No piece of a function of 29 fraction bits or fewer begins farther out.
    const BORDER: f64 = 32.0;
    2.0 * x + BORDER
}
