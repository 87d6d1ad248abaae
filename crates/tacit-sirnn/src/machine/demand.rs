//! The steps that are prepared for, held against those of the run. An OT serves any step, so a run that
//! differs would not fail by missing material: therefore every step must be the next one expected.

use std::collections::VecDeque;

use tacit_protocols::Error;
use tacit_protocols::machine::{Bilinear, Call, KeyBits};

use tacit_protocols::math::Elementary;

use super::Sirnn;

/// One step of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A product with a right operand that one party knows or none; bits of both and of the result.
    Product {
        map: Bilinear,
        known_to: Option<usize>,
        bits: [u32; 3],
    },
    /// A truncation in as many bits as before.
    Truncate { n: usize, trunc: u32, bits: u32 },
    /// A truncation to other bits.
    Resize {
        n: usize,
        from: u32,
        trunc: u32,
        bits: u32,
    },
    /// Signs of numbers of so many bits.
    Sign { n: usize, keys: KeyBits, bits: u32 },
    /// Choices between two tensors.
    Select { n: usize, bits: u32 },
    /// A function by its tables.
    Function { n: usize, function: Elementary },
}

/// The steps that were prepared for and not yet made, in order; a machine that counts expects none.
pub(super) enum ExpectedSteps {
    Steps(VecDeque<Step>),
    Counting,
}

impl Step {
    fn describe(self) -> String {
        match self {
            Step::Product { map, .. } => format!("a product of {} elements", map.outputs()),
            Step::Truncate { n, trunc, .. } => {
                format!("the truncation of {n} elements by {trunc} bits")
            }
            Step::Resize { n, from, bits, .. } => {
                format!("the resizing of {n} elements from {from} bits to {bits}")
            }
            Step::Sign { n, .. } => format!("the sign of {n} elements"),
            Step::Select { n, .. } => format!("the selection of {n} elements"),
            Step::Function { n, function } => format!("{:?} of {n} elements", function.kind),
        }
    }
}

/// The widths that a machine's steps have of themselves.
#[derive(Clone, Copy)]
pub(super) struct Widths {
    /// Bits of the ring.
    pub ring: u32,
    /// Bits that hold every value whose sign is taken.
    pub signs: u32,
}

/// The bits that a sign is taken of: those of the number, but no more than hold every value whose sign is taken, nor
/// than a promise says that hold this one.
pub(super) fn sign_width(keys: KeyBits, bits: u32, signs: u32) -> u32 {
    bits.min(signs).min(keys.width.max(1))
}

impl Widths {
    /// The steps of one call, in order.
    fn steps_of(self, call: &Call) -> Vec<Step> {
        let of = |bits: Option<u32>| bits.unwrap_or(self.ring);
        match *call {
            Call::Input { .. } | Call::Reveal { .. } | Call::Reusable { .. } => vec![],
            Call::Verify { .. } => vec![],
            Call::Product {
                map,
                known_to,
                trunc,
                bits,
                ..
            } => {
                let [left, right, product, _] = bits.unwrap_or([self.ring; 4]);
                let step = Step::Product {
                    map,
                    known_to,
                    bits: [left, right, product],
                };
                let bits = bits.map(|[.., product, result]| [product, result]);
                let rest = self.truncate(map.outputs(), trunc, bits);
                [step].into_iter().chain(rest).collect()
            }
            Call::Truncate { n, trunc, bits } => {
                self.truncate(n, trunc, bits).into_iter().collect()
            }
            Call::Drelu { n, keys, bits } => vec![self.sign(n, keys, of(bits))],
            Call::Select { n, bits } => vec![Step::Select { n, bits: of(bits) }],
            Call::Relu { n, keys, bits } => self.relu(n, keys, of(bits)).into(),
            Call::Maxpool {
                windows,
                size,
                keys,
                bits,
            } => self.maxpool(windows, size, keys, of(bits)),
            Call::Function { n, function } => vec![Step::Function { n, function }],
        }
    }

    /// The truncation, unless it is local.
    fn truncate(self, n: usize, trunc: u32, bits: Option<[u32; 2]>) -> Option<Step> {
        match bits {
            None => {
                let bits = self.ring;
                (trunc > 0).then_some(Step::Truncate { n, trunc, bits })
            }
            Some([from, bits]) => (trunc > 0 || bits > from).then_some(Step::Resize {
                n,
                from,
                trunc,
                bits,
            }),
        }
    }

    fn sign(self, n: usize, keys: KeyBits, bits: u32) -> Step {
        let bits = sign_width(keys, bits, self.signs);
        Step::Sign { n, keys, bits }
    }

    fn relu(self, n: usize, keys: KeyBits, bits: u32) -> [Step; 2] {
        [self.sign(n, keys, bits), Step::Select { n, bits }]
    }

    fn maxpool(self, windows: usize, size: usize, keys: KeyBits, bits: u32) -> Vec<Step> {
        tacit_protocols::pool::levels(size)
            .flat_map(|(pairs, _)| self.relu(pairs * windows, keys, bits))
            .collect()
    }
}

impl ExpectedSteps {
    /// Adds the steps of `calls`.
    pub fn add(&mut self, calls: &[Call], widths: Widths) {
        if let ExpectedSteps::Steps(steps) = self {
            steps.extend(calls.iter().flat_map(|call| widths.steps_of(call)));
        }
    }
}

impl Sirnn {
    /// Makes this step, which must be the next one that is expected.
    pub(super) fn step(&mut self, step: Step) -> Result<(), Error> {
        let ExpectedSteps::Steps(steps) = &mut self.expected else {
            return Ok(());
        };
        if steps.front() == Some(&step) {
            steps.pop_front();
            return Ok(());
        }
        let call = step.describe();
        Err(Error::NotPrepared { call })
    }
}
