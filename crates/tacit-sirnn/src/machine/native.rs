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
        let input = Format::new(function.bits, function.argument);
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

#[cfg(test)]
mod tests {
    use tacit_protocols::math::Span;

    use super::*;

    /// Formats may be a peer's: a function is refused in them, or computed without a panic. The count
    /// runs the function's own code, on zeros.
    #[test]
    fn every_format_is_computed_or_left_to_the_ring() {
        let mut state = 1u64;
        let mut draw = |n: u32| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((state >> 33) % u64::from(n)) as u32
        };
        let (mut made, mut all) = (0, 0);
        for _ in 0..6_000 {
            let span = Span {
                low: draw(40) as i32 - 30,
                high: 33,
            };
            let kinds = [
                Kind::Sigmoid,
                Kind::Tanh,
                Kind::Exp { high: 0 },
                Kind::Reciprocal { span },
                Kind::InverseSqrt { span },
            ];
            let kind = kinds[draw(5) as usize];
            // Half of them near those of real plans, the others anything.
            let most = [24, 65][draw(2) as usize];
            let formats = [0, 1].map(|_| Format::new(draw(most), draw(most.min(40))));
            all += 1;
            let native = Native::make(kind, formats);
            let Ok(Some(native)) = native else { continue };
            made += 1;
            let x = Shared::new(formats[0].bits, &[0; 3]);
            let run = || native.apply(&mut Engine::counting(), &x).map(|y| y.bits);
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
            let ended = ended.unwrap_or_else(|_| panic!("{kind:?}: {formats:?}"));
            assert_eq!(ended.ok(), Some(formats[1].bits), "{kind:?}: {formats:?}");
        }
        assert!(made * 20 > all, "{made} of {all}");
    }
}
