//! The functions of one operand among the measured operations, and what they are measured on.

use tacit_protocols::machine::{Call, Machine};
use tacit_protocols::math::{self, Format, Function, InverseSqrt, Piecewise, Reciprocal, Span};

use super::case::Op;
use crate::Error;

/// The divisors and radicands.
const SPAN: Span = Span { low: -6, high: 6 };
/// The largest magnitude of the other functions' operands.
const REACH: u64 = 8;

/// A function with the operands that it is measured on.
pub(super) struct Elementwise {
    format: Format,
    kind: Kind,
}

enum Kind {
    Reciprocal(Reciprocal),
    Rsqrt(InverseSqrt),
    /// Of negative operands.
    Exp(Piecewise),
    /// Of operands of both signs.
    Sigmoid(Piecewise),
}

impl Elementwise {
    /// The function of `op`, if it is one.
    pub fn new(op: Op, bits: u32, fraction: u32) -> Result<Option<Self>, Error> {
        let make = || -> Result<Option<Self>, tacit_protocols::Error> {
            let format = || Format::new(bits, fraction);
            let kind = match op {
                Op::Reciprocal => Kind::Reciprocal(Reciprocal::new(format()?, SPAN)?),
                Op::Rsqrt => Kind::Rsqrt(InverseSqrt::new(format()?, SPAN)?),
                Op::Exp => Kind::Exp(math::exp(format()?, 0)?),
                Op::Sigmoid => Kind::Sigmoid(math::sigmoid(format()?)?),
                Op::Tanh => Kind::Sigmoid(math::tanh(format()?)?),
                _ => return Ok(None),
            };
            let format = format()?;
            Ok(Some(Elementwise { format, kind }))
        };
        make().map_err(|error| Error::setting("fraction bits", error.to_string()))
    }

    /// An operand from 64 random bits: of a positive function one of every magnitude.
    pub fn operand(&self, random: u64) -> i64 {
        let fraction = self.format.fraction();
        let reach = REACH << fraction;
        match self.kind {
            Kind::Reciprocal(_) | Kind::Rsqrt(_) => {
                let width = (SPAN.high - SPAN.low) as u64;
                let exponent = fraction as i32 + SPAN.low + (random % width) as i32;
                let binade = 1u64 << exponent;
                (binade + (random >> 8) % binade) as i64
            }
            Kind::Exp(_) => -((random % reach) as i64),
            Kind::Sigmoid(_) => (random % (2 * reach)) as i64 - reach as i64,
        }
    }

    /// How far two results near `expected` may be from each other.
    pub fn twice_tolerance(&self, expected: i64) -> u64 {
        (2.0 * self.tolerance(expected as f64 / self.format.one())).ceil() as u64
    }
}

impl Function for Elementwise {
    fn calls(&self, n: usize) -> Vec<Call> {
        match &self.kind {
            Kind::Reciprocal(function) => function.calls(n),
            Kind::Rsqrt(function) => function.calls(n),
            Kind::Exp(function) | Kind::Sigmoid(function) => function.calls(n),
        }
    }

    fn apply<M: Machine>(
        &self,
        machine: &mut M,
        x: &M::Share,
    ) -> Result<M::Share, tacit_protocols::Error> {
        match &self.kind {
            Kind::Reciprocal(function) => function.apply(machine, x),
            Kind::Rsqrt(function) => function.apply(machine, x),
            Kind::Exp(function) | Kind::Sigmoid(function) => function.apply(machine, x),
        }
    }

    fn tolerance(&self, value: f64) -> f64 {
        match &self.kind {
            Kind::Reciprocal(function) => function.tolerance(value),
            Kind::Rsqrt(function) => function.tolerance(value),
            Kind::Exp(function) | Kind::Sigmoid(function) => function.tolerance(value),
        }
    }
}
