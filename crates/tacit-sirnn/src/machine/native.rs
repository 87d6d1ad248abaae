//! The functions that SiRnn computes in its own way, by look-up tables.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use tacit_protocols::Error;
use tacit_protocols::math::{Elementary, Kind};
use tacit_protocols::mixed::Between;

use crate::functions::{DIGIT, Exp, Format, Inverse, Sigmoid, SquareRoot, Tanh};
use crate::{Engine, Shared};

/// A function with its tables.
pub(super) enum Native {
    Exp(Exp),
    Sigmoid(Sigmoid),
    Tanh(Tanh),
    Inverse(Inverse),
    Root(SquareRoot),
}

/// Results whose roots and reciprocals are taken by tables; of wider ones those that every protocol
/// has are nearer for small numbers.
const ROOT_BITS: u32 = 32;

/// What a function is of, from and to which formats.
type Key = (Kind, [Format; 2]);

impl Native {
    /// The function over the ring, if it is one of these in a format that they have.
    pub fn of(function: &Elementary) -> Option<Arc<Native>> {
        let scale = function.format.fraction();
        let input = Format::new(function.bits, scale);
        let output = Format::new(function.format.bits(), scale);
        Native::get(function.kind, [input, output])
    }

    /// The function between numbers of two widths, if it is one of these in formats that they have.
    pub fn between(function: &Between) -> Option<Arc<Native>> {
        let formats = [function.from, function.to].map(|n| Format::new(n.bits, n.fraction));
        Native::get(function.function.kind, formats)
    }

    /// Tables are made once.
    fn get(kind: Kind, formats: [Format; 2]) -> Option<Arc<Native>> {
        type Known = Mutex<HashMap<Key, Option<Arc<Native>>>>;
        static MADE: OnceLock<Known> = OnceLock::new();
        let made = MADE.get_or_init(Mutex::default);
        let mut made = made.lock().unwrap_or_else(|broken| broken.into_inner());
        let make = || Native::make(kind, formats).ok().flatten().map(Arc::new);
        made.entry((kind, formats)).or_insert_with(make).clone()
    }

    fn make(kind: Kind, [input, output]: [Format; 2]) -> Result<Option<Native>, Error> {
        Ok(Some(match kind {
            Kind::Sigmoid => Native::Sigmoid(Sigmoid::new(input, output, DIGIT)?),
            Kind::Tanh => Native::Tanh(Tanh::new(input, output, DIGIT)?),
            Kind::Exp { high } if high <= 0 => Native::Exp(Exp::new(input, output, DIGIT)?),
            Kind::Reciprocal { span } if output.bits <= ROOT_BITS => {
                Native::Inverse(Inverse::new(input, output, span.low)?)
            }
            Kind::InverseSqrt { .. } if output.bits <= ROOT_BITS => {
                Native::Root(SquareRoot::inverse(input, output)?)
            }
            _ => return Ok(None),
        }))
    }

    /// The function of shares of the argument's width, in the ring's.
    pub fn apply(&self, engine: &mut Engine, x: &Shared) -> Result<Shared, Error> {
        match self {
            Native::Exp(exp) => exp.apply(engine, x),
            Native::Sigmoid(sigmoid) => sigmoid.apply(engine, x),
            Native::Tanh(tanh) => tanh.apply(engine, x),
            Native::Inverse(inverse) => inverse.apply(engine, x),
            Native::Root(root) => root.apply(engine, x),
        }
    }
}
