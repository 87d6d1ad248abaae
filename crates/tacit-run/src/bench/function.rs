//! The functions of one operand among the measured operations, and what they are measured on.

use tacit_protocols::math::{Elementary, Format, Kind, Span};

use super::case::Op;
use crate::Error;

/// The divisors and radicands.
const SPAN: Span = Span { low: -6, high: 6 };
/// The largest magnitude of the other functions' operands, and bits that hold it with a sign.
const REACH: u64 = 8;
const REACH_BITS: u32 = 5;
/// The largest error of a function that a protocol computes in a way of its own, in units of the
/// last place.
const NATIVE: f64 = 4.0;

/// A function with the operands that it is measured on.
#[derive(Clone, Copy)]
pub(super) struct Elementwise(pub Elementary);

impl Elementwise {
    /// The function of `op`, if it is one.
    pub fn new(op: Op, bits: u32, fraction: u32) -> Result<Option<Self>, Error> {
        let kind = match op {
            Op::Reciprocal => Kind::Reciprocal { span: SPAN },
            Op::Rsqrt => Kind::InverseSqrt { span: SPAN },
            Op::Exp => Kind::Exp { high: 0 },
            Op::Sigmoid => Kind::Sigmoid,
            Op::Tanh => Kind::Tanh,
            _ => return Ok(None),
        };
        let refused =
            |error: tacit_protocols::Error| Error::setting("fraction bits", error.to_string());
        let format = Format::new(bits, fraction).map_err(refused)?;
        let function = Elementary::new(format, kind);
        function.check().map_err(refused)?;
        let most = REACH_BITS.max(SPAN.high as u32 + 2);
        Ok(Some(Elementwise(function.within(fraction + most))))
    }

    /// An operand from 64 random bits: of a positive function one of every magnitude.
    pub fn operand(&self, random: u64) -> i64 {
        let fraction = self.0.format.fraction();
        let reach = REACH << fraction;
        match self.0.kind {
            Kind::Reciprocal { .. } | Kind::InverseSqrt { .. } => {
                let width = (SPAN.high - SPAN.low) as u64;
                let exponent = fraction as i32 + SPAN.low + (random % width) as i32;
                let binade = 1u64 << exponent;
                (binade + (random >> 8) % binade) as i64
            }
            Kind::Exp { .. } => -((random % reach) as i64),
            _ => (random % (2 * reach)) as i64 - reach as i64,
        }
    }

    /// How far a result may be from one near `expected` of the algorithms that every protocol has.
    pub fn tolerance(&self, expected: i64) -> u64 {
        let value = expected as f64 / self.0.format.one();
        let one = self.0.tolerance(value).unwrap_or_default();
        (one + one.max(NATIVE)).ceil() as u64
    }
}
