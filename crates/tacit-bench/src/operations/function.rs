//! The functions of one operand among the measured operations, with the operands that they are
//! measured on.

use tacit_protocols::machine::{Erased, Handle, Machine};
use tacit_protocols::math::{Elementary, Format, FunctionKind, Leakage, Number, Span};
use tacit_run::Error;

use super::BenchOptions;
use super::case::Op;

/// The divisors and radicands.
pub(super) const SPAN: Span = Span { low: -6, high: 6 };
/// The largest magnitude of the other functions' operands, and bits that hold it with a sign.
const REACH: u64 = 8;
const REACH_BITS: u32 = 5;
/// The largest error of a function that a protocol computes in a way of its own, in units of the
/// last place; of a result above 1 as many times more as it is large, as inverse roots state.
const NATIVE: f64 = 4.0;

/// A function with the operands that it is measured on.
#[derive(Clone, Copy)]
pub(super) struct Elementwise {
    function: Elementary,
}

impl Elementwise {
    /// The function of `op`, if it is one, over a ring or field of so many bits; with a precision
    /// of numbers of so many bits.
    pub fn new(
        op: Op,
        bits: u32,
        fraction: u32,
        options: &BenchOptions,
    ) -> Result<Option<Self>, Error> {
        let precision = options.precision;
        let span = span(fraction, precision)?;
        let kind = match op {
            Op::Reciprocal => FunctionKind::Reciprocal { span },
            Op::Rsqrt => FunctionKind::InverseSqrt { span },
            Op::Exp => FunctionKind::Exp { high: 0 },
            Op::Sigmoid => FunctionKind::Sigmoid,
            Op::Tanh => FunctionKind::Tanh,
            Op::Pow => FunctionKind::Power { span },
            _ => return Ok(None),
        };
        let format = Format::new(bits, fraction).map_err(refused)?;
        let function = options.functions.of(Elementary::new(format, kind));
        // No operand of an exponential is above 0.
        let function = match op {
            Op::Exp => function.bounded(),
            _ => function,
        };
        let function = match options.paper_leakage {
            true => function.with_paper_leakage(),
            false => function,
        };
        function.check().map_err(refused)?;
        let most = REACH_BITS.max(SPAN.high as u32 + 2);
        let mut function = function.within(precision.unwrap_or(fraction + most));
        // Arguments and results have a width of their own.
        function.between = precision.map(|bits| [Number { bits, fraction }; 2]);
        Ok(Some(Elementwise { function }))
    }

    /// This function over a ring or field of `bits` bits. Fails if the algorithms do not compute it
    /// there.
    pub fn over(mut self, bits: u32) -> Result<Self, Error> {
        let fraction = self.function.format.fraction();
        let near = self.function.format.nearness();
        self.function.format = Format::new(bits, fraction).map_err(refused)?.near(near);
        self.function.check().map_err(refused)?;
        Ok(self)
    }

    /// Whether the magnitudes of its operands are opened.
    pub fn leaks(&self) -> bool {
        self.function.leakage == Leakage::Magnitude
    }

    /// The function of every element of `x`.
    pub fn apply(
        &self,
        machine: &mut Erased,
        x: &Handle,
    ) -> Result<Handle, tacit_protocols::Error> {
        match self.function.between {
            None => machine.function(&self.function, x),
            Some([from, _]) => {
                // Local: the operands are shared with the ring's bits.
                let narrow = machine.resize(x, 0, from.bits)?;
                machine.function(&self.function, &narrow)
            }
        }
    }

    /// An operand from 64 random bits: of a positive function one of every magnitude.
    pub fn operand(&self, random: u64) -> i64 {
        let fraction = self.function.format.fraction();
        let narrow = |[from, _]: [Number; 2]| 1 << (from.bits - 1);
        let reach = self.function.between.map_or(REACH << fraction, narrow);
        match self.function.kind {
            FunctionKind::Reciprocal { span }
            | FunctionKind::InverseSqrt { span }
            | FunctionKind::SquareRoot { span }
            | FunctionKind::Power { span }
            | FunctionKind::Log { span } => {
                let width = (span.high - span.low) as u64;
                let exponent = fraction as i32 + span.low + (random % width) as i32;
                let binade = 1u64 << exponent;
                (binade + (random >> 8) % binade) as i64
            }
            FunctionKind::Exp { .. } => -((random % reach) as i64),
            _ => (random % (2 * reach)) as i64 - reach as i64,
        }
    }

    /// The exact function of an operand, in units of the last place; of bounding powers, which are
    /// whole numbers, there is no other than the computed one.
    pub fn exact(&self, operand: i64) -> Option<f64> {
        let one = self.function.format.one();
        let x = operand as f64 / one;
        let value = match self.function.kind {
            FunctionKind::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            FunctionKind::Tanh => x.tanh(),
            FunctionKind::Exp { .. } => x.exp(),
            FunctionKind::Reciprocal { .. } => 1.0 / x,
            FunctionKind::InverseSqrt { .. } => 1.0 / x.sqrt(),
            FunctionKind::SquareRoot { .. } => x.sqrt(),
            FunctionKind::Log { .. } => x.ln(),
            FunctionKind::Erf | FunctionKind::Power { .. } => return None,
        };
        Some(value * one)
    }

    /// How far a result may be from one near `expected` of the algorithms that every protocol has.
    pub fn tolerance(&self, expected: i64) -> u64 {
        if let FunctionKind::Power { .. } = self.function.kind {
            return 0;
        }
        let value = expected as f64 / self.function.format.one();
        let one = self.function.tolerance(value).unwrap_or_default();
        (one + one.max(NATIVE * value.abs().max(1.0))).ceil() as u64
    }
}

fn refused(error: tacit_protocols::Error) -> Error {
    Error::setting("fraction bits", error.to_string())
}

/// The divisors and radicands: of numbers with a width of their own those whose results it holds.
fn span(fraction: u32, precision: Option<u32>) -> Result<Span, Error> {
    let Some(bits) = precision else {
        return Ok(SPAN);
    };
    if !(fraction + 3..=32).contains(&bits) {
        let why = format!(
            "{bits} bits; numbers with {fraction} fraction bits have 3 bits more, and at most 32"
        );
        return Err(Error::setting("precision", why));
    }
    let whole = (bits - fraction) as i32;
    Ok(Span {
        low: SPAN.low.max(2 - whole),
        high: SPAN.high.min(whole - 1),
    })
}
