//! The bounding power of a positive secret: the `e` of `2^e <= x < 2^(e+1)` (Falcon, Algorithm 5,
//! section 3.7; docs/spec/functions.md, section 3).
//!
//! Differs from the paper, which finds `e` bit by bit and opens each bit to all parties: here every
//! power is compared at once, nothing is opened, and `e` is a secret like any other. The paper's
//! way is [`Leakage::Magnitude`], for measuring what secrecy costs: it takes `log2` of the number
//! of bits comparisons of an element, one after the other, instead of one for each power in the
//! span. Under malicious security each of its openings is verified first, and it sends more than
//! this. (The paper's loop would compare with `2^(2^31)`; its exponents are of `log2 l` bits:
//! docs/spec/falcon.md, section 9, item 7.)

use super::normal::{Arguments, Span};
use super::steps::{Steps, sign};
use super::{Format, Function};
use crate::Error;
use crate::machine::{Audience, Erased, Handle, KeyBits, Machine};

/// What every party learns of an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Leakage {
    /// The parties learn nothing.
    #[default]
    Nothing,
    /// The bounding power of every element, as in Falcon's paper. For measuring only.
    Magnitude,
}

/// The exponent `e` of `2^e <= x < 2^(e+1)`, itself a number of the format.
///
/// Exact for every `x` in the span; below, 0 and negative numbers included, it is `low` (or `low - 1`
/// in a span of one power), above `high - 1`.
#[derive(Clone, Debug)]
pub struct Power {
    format: Format,
    leakage: Leakage,
    /// Fraction bits of the arguments.
    fraction: u32,
    /// The exponents, ascending.
    exponents: Vec<i32>,
    /// The powers from the second exponent on, as integers.
    steps: Steps,
}

impl Power {
    /// The bounding power of numbers in `span`.
    pub fn new(format: Format, span: Span, leakage: Leakage) -> Result<Self, Error> {
        let arguments = Arguments::new(format, span);
        Self::of(Arguments {
            leakage,
            ..arguments
        })
    }

    /// The bounding power of such arguments.
    pub(super) fn of(arguments: Arguments) -> Result<Self, Error> {
        let Arguments {
            format, leakage, ..
        } = arguments;
        let [low, high] = arguments.exponents()?;
        // Steps have one threshold at least.
        let low = low.min(high - 2);
        let thresholds = (low + 1..high).map(|e| 1 << e).collect();
        Ok(Power {
            format,
            leakage,
            fraction: arguments.fraction,
            exponents: (low..high).map(|e| e - arguments.fraction as i32).collect(),
            steps: Steps::new(thresholds, arguments.bits, format.bits),
        })
    }
}

impl Function for Power {
    fn apply(&self, machine: &mut Erased, x: &Handle) -> Result<Handle, Error> {
        self.format.check(machine)?;
        let fraction = self.format.fraction;
        if self.leakage == Leakage::Magnitude {
            let opened = opened(self.format, machine, x)?;
            let number = |&e: &u32| (i64::from(e) - i64::from(self.fraction)) << fraction;
            let numbers: Vec<i64> = opened.iter().map(number).collect();
            return Ok(machine.constant(&numbers));
        }
        let reached = self.steps.reached(machine, x)?;
        let row = |&e: &i32| vec![i64::from(e) << fraction];
        let rows: Vec<Vec<i64>> = self.exponents.iter().map(row).collect();
        reached.pick(machine, &rows)
    }

    fn tolerance(&self, _value: f64) -> f64 {
        0.0
    }
}

/// The bits of an exponent, from the highest.
fn bits(format: Format) -> impl Iterator<Item = u32> {
    (0..u32::BITS - format.room().leading_zeros()).rev()
}

/// Falcon's Algorithm 5 as in the paper (docs/spec/falcon.md, section 7): the exponents of integers
/// from 1 to below `2^room`, each bit of which is opened to all parties.
pub(super) fn opened(format: Format, machine: &mut Erased, x: &Handle) -> Result<Vec<u32>, Error> {
    let mut exponents = vec![0; machine.len(x)];
    for bit in bits(format) {
        // Nothing reaches 2^room.
        let threshold = |&e: &u32| 1i64 << (e + (1 << bit)).min(format.room());
        let thresholds: Vec<i64> = exponents.iter().map(threshold).collect();
        let thresholds = machine.constant(&thresholds);
        let excess = machine.sub(x, &thresholds);
        let reached = sign(machine, &excess, KeyBits::ALL)?;
        let opened = machine.reveal(&reached, Audience::All)?.unwrap_or_default();
        if opened.len() != exponents.len() || !opened.iter().all(|reached| (0..2).contains(reached))
        {
            let why = "a comparison was opened that is neither 0 nor 1: a party broke the protocol";
            return Err(Error::Invalid(why.into()));
        }
        for (exponent, reached) in exponents.iter_mut().zip(opened) {
            *exponent += (reached as u32) << bit;
        }
    }
    Ok(exponents)
}
