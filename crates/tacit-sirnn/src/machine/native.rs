//! The functions that SiRnn computes in its own way, by look-up tables.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use tacit_protocols::Error;
use tacit_protocols::math::{Elementary, FunctionKind};

use crate::functions::{DIGIT, Erf, Exp, Format, Inverse, Sigmoid, SquareRoot, Tanh};
use crate::{Engine, Shared};

/// A function with its tables.
pub(super) enum Native {
    Erf(Erf),
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
type Key = (FunctionKind, [Format; 2]);

impl Native {
    /// The native function that computes `function`, if SiRnn has one in its formats.
    pub fn of(function: &Elementary) -> Option<Arc<Native>> {
        let formats = match function.between {
            Some(numbers) => numbers.map(|n| Format::new(n.bits, n.fraction)),
            None => [
                Format::new(function.bits, function.argument),
                Format::new(function.format.bits(), function.format.fraction()),
            ],
        };
        Native::get((function.kind, formats))
    }

    /// Tables are made once.
    fn get(key: Key) -> Option<Arc<Native>> {
        type Known = Mutex<HashMap<Key, Option<Arc<Native>>>>;
        static MADE: OnceLock<Known> = OnceLock::new();
        let made = MADE.get_or_init(Mutex::default);
        let mut made = made.lock().unwrap_or_else(|broken| broken.into_inner());
        let make = || Native::make(key).ok().flatten().map(Arc::new);
        made.entry(key).or_insert_with(make).clone()
    }

    fn make((kind, [input, output]): Key) -> Result<Option<Native>, Error> {
        Ok(Some(match kind {
            FunctionKind::Sigmoid => Native::Sigmoid(Sigmoid::new(input, output, DIGIT)?),
            FunctionKind::Tanh => Native::Tanh(Tanh::new(input, output, DIGIT)?),
            FunctionKind::Erf => Native::Erf(Erf::new(input, output)?),
            // A bound that is promised, too: what is rounded may lie a few units above it, as the square of a distance
            // does below 0 that is a sum of products.
            FunctionKind::Exp { high } if high <= 0 => {
                Native::Exp(Exp::up_to(input, output, DIGIT, high)?)
            }
            FunctionKind::Reciprocal { span } if output.bits <= ROOT_BITS => {
                Native::Inverse(Inverse::new(input, output, span.low)?)
            }
            FunctionKind::InverseSqrt { span } if output.bits <= ROOT_BITS => {
                Native::Root(SquareRoot::inverse_from(input, output, span.low)?)
            }
            FunctionKind::SquareRoot { .. } if output.bits <= ROOT_BITS => {
                Native::Root(SquareRoot::new(input, output)?)
            }
            _ => return Ok(None),
        }))
    }

    /// The function of shares of the argument's width, in the ring's.
    pub fn apply(&self, engine: &mut Engine, x: &Shared) -> Result<Shared, Error> {
        match self {
            Native::Erf(erf) => erf.apply(engine, x),
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
    use tacit_algebra::vec;
    use tacit_protocols::math::{Format as RingFormat, Number, Span};

    use super::*;
    use crate::ot::ideal::counted;

    type Definition = fn(f64) -> f64;

    /// What a plan asks for, on shares: every size of argument in the span, 0 and less than its lowest
    /// value, with fraction bits of their own.
    #[test]
    fn functions_hold_over_their_spans() {
        let number = |bits, fraction| Number { bits, fraction };
        for (from, to, [low, high]) in [
            (number(32, 24), number(32, 16), [-12, 6]),
            (number(32, 24), number(32, 12), [-12, 6]),
            (number(32, 20), number(32, 20), [-8, 10]),
            (number(24, 16), number(24, 12), [-8, 6]),
            (number(16, 12), number(16, 8), [-5, 2]),
        ] {
            let span = Span { low, high };
            let kinds: [(FunctionKind, Definition); 3] = [
                (FunctionKind::Reciprocal { span }, f64::recip),
                (FunctionKind::InverseSqrt { span }, |x| x.sqrt().recip()),
                (FunctionKind::SquareRoot { span }, f64::sqrt),
            ];
            let one = 1i64 << from.fraction;
            let powers = (low..high).map(|e| (one as f64 * f64::from(e).exp2()) as i64);
            let x = powers.flat_map(|p| [p - 1, p, p + 1, p + p / 3, 2 * p - 1]);
            let x: Vec<u64> = x.chain([0, 1]).map(|x| x as u64).collect();
            let ours: Vec<u64> = (1..=x.len() as u64)
                .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - from.bits))
                .collect();
            let theirs = vec::low_bits(&vec::sub(&x, &ours), from.bits);
            let shares = [ours, theirs].map(|values| Shared::new(from.bits, &values));
            for (kind, exact) in kinds {
                let format = RingFormat::new(64, from.fraction.max(to.fraction)).expect("it fits");
                let function = Elementary::new(format, kind).between(from, to);
                let native = Native::of(&function).expect("native");
                let [a, b] = counted(|engine| native.apply(engine, &shares[engine.id()]));
                for (x, y) in x.iter().zip(a.add(&b).values) {
                    let least = f64::from(low).exp2();
                    let real = *x as f64 / one as f64;
                    let unit = f64::from(to.fraction).exp2();
                    let root = matches!(kind, FunctionKind::SquareRoot { .. });
                    let value = exact(if root { real } else { real.max(least) }) * unit;
                    let below = if real < least && !root { 0.5 } else { 1.0 };
                    let error = 4.4 + value / 1024.0;
                    let near = below * value - error <= y as f64 && y as f64 <= value + error;
                    assert!(near, "{kind:?} of {x}, {from:?} to {to:?}: {y}, {value}");
                }
            }
        }
    }

    /// Of exponentials with a bound that is promised, a few units beyond it, and with one that is not, far beyond.
    #[test]
    fn exponentials_hold_up_to_their_bound_and_above() {
        for (bits, fraction, high) in [(16, 11, 0), (16, 10, -2), (24, 16, -5), (64, 20, 0)] {
            let number = Number { bits, fraction };
            let format = RingFormat::new(64, fraction).expect("it fits");
            let function = Elementary::new(format, FunctionKind::Exp { high });
            let (bound, end) = (i64::from(high) << fraction, 1i64 << (bits - 2));
            let below = (0..bits - 2).flat_map(|k| [bound - (1 << k), bound - (3 << k) / 2]);
            let below: Vec<i64> = below.chain([bound]).filter(|x| *x > -end).collect();
            let above = (0..bits - 2).map(|k| bound + (1 << k)).chain([end - 1]);
            let all: Vec<i64> = below.iter().copied().chain(above).collect();
            let promised = function.bounded();
            let near: Vec<i64> = below
                .iter()
                .copied()
                .chain((1..9).map(|k| bound + k))
                .collect();
            for (function, x) in [(function, &all), (promised, &near)] {
                let function = function.between(number, number);
                let native = Native::of(&function).expect("native");
                let x: Vec<u64> = x.iter().map(|x| *x as u64).collect();
                let x = vec::low_bits(&x, bits);
                let ours: Vec<u64> = (1..=x.len() as u64)
                    .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits))
                    .collect();
                let theirs = vec::low_bits(&vec::sub(&x, &ours), bits);
                let shares = [ours, theirs].map(|values| Shared::new(bits, &values));
                let [a, b] = counted(|engine| native.apply(engine, &shares[engine.id()]));
                for (x, y) in x.iter().zip(a.add(&b).values) {
                    let x = ((x << (64 - bits)) as i64) >> (64 - bits);
                    let unit = f64::from(fraction).exp2();
                    let value = (x.min(bound) as f64 / unit).exp() * unit;
                    assert!((y as f64 - value).abs() < 5.0, "exp {x}, {number:?}: {y}");
                }
            }
        }
    }

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
                FunctionKind::Sigmoid,
                FunctionKind::Tanh,
                FunctionKind::Erf,
                FunctionKind::Exp {
                    high: -(draw(9) as i32),
                },
                FunctionKind::Reciprocal { span },
                FunctionKind::InverseSqrt { span },
            ];
            let kind = kinds[draw(6) as usize];
            // Half of them near those of real plans, the others anything.
            let most = [24, 65][draw(2) as usize];
            let formats = [0, 1].map(|_| Format::new(draw(most), draw(most.min(40))));
            all += 1;
            let native = Native::make((kind, formats));
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
