//! The functions that SiRnn computes in its own way, by look-up tables.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use tacit_protocols::Error;
use tacit_protocols::math::{Elementary, Kind};

use crate::functions::{DIGIT, Exp, Format, Sigmoid, Tanh};
use crate::{Engine, Shared};

/// A function with its tables.
pub(super) enum Native {
    Exp(Exp),
    Sigmoid(Sigmoid),
    Tanh(Tanh),
}

impl Native {
    /// The function, if it is one of these in a format that they have. Its tables are made once.
    pub fn of(function: &Elementary) -> Option<Arc<Native>> {
        type Known = Mutex<HashMap<Elementary, Option<Arc<Native>>>>;
        static MADE: OnceLock<Known> = OnceLock::new();
        let made = MADE.get_or_init(Mutex::default);
        let mut made = made.lock().unwrap_or_else(|broken| broken.into_inner());
        let make = || Native::make(function).ok().flatten().map(Arc::new);
        made.entry(*function).or_insert_with(make).clone()
    }

    fn make(function: &Elementary) -> Result<Option<Native>, Error> {
        let scale = function.format.fraction();
        let input = Format::new(function.bits, scale);
        let output = Format::new(function.format.bits(), scale);
        Ok(Some(match function.kind {
            Kind::Sigmoid => Native::Sigmoid(Sigmoid::new(input, output, DIGIT)?),
            Kind::Tanh => Native::Tanh(Tanh::new(input, output, DIGIT)?),
            Kind::Exp { high } if high <= 0 => Native::Exp(Exp::new(input, output, DIGIT)?),
            _ => return Ok(None),
        }))
    }

    /// The function of shares of the argument's width, in the ring's.
    pub fn apply(&self, engine: &mut Engine, x: &Shared) -> Result<Shared, Error> {
        match self {
            Native::Exp(exp) => exp.apply(engine, x),
            Native::Sigmoid(sigmoid) => sigmoid.apply(engine, x),
            Native::Tanh(tanh) => tanh.apply(engine, x),
        }
    }
}
