//! What was planned, step by step. OTs serve any step; so that a run is the run that was planned,
//! and material of another one is none, every step is held against the plan's next.

use std::collections::VecDeque;

use tacit_protocols::Error;
use tacit_protocols::machine::{Bilinear, Call, KeyBits};

use tacit_protocols::math::Elementary;
use tacit_protocols::mixed::{Between, Mixed};

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
    /// The same between numbers of two widths.
    Between { n: usize, between: Between },
}

/// The steps that were planned and not yet made; a machine that counts has no plan.
pub(super) enum Plan {
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
            Step::Between { n, between } => {
                format!("{:?} of {n} elements", between.function.kind)
            }
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

impl Widths {
    /// The steps of one call, in order.
    fn steps_of(self, call: &Call) -> Vec<Step> {
        let ring = self.ring;
        let truncate = |n, trunc| {
            let bits = ring;
            (trunc > 0).then_some(Step::Truncate { n, trunc, bits })
        };
        match *call {
            Call::Input { .. } | Call::Reveal { .. } | Call::Fix { .. } => vec![],
            Call::Verify { .. } => vec![],
            Call::Product {
                map,
                known_to,
                trunc,
                ..
            } => {
                let bits = [ring; 3];
                let product = Step::Product {
                    map,
                    known_to,
                    bits,
                };
                let rest = truncate(map.outputs(), trunc);
                [product].into_iter().chain(rest).collect()
            }
            Call::Truncate { n, trunc } => truncate(n, trunc).into_iter().collect(),
            Call::Drelu { n, keys } => vec![self.sign(n, keys, ring)],
            Call::Select { n } => vec![Step::Select { n, bits: ring }],
            Call::Relu { n, keys } => self.relu(n, keys, ring).into(),
            Call::Maxpool {
                windows,
                size,
                keys,
            } => self.maxpool(windows, size, keys, ring),
            Call::Function { n, function } => vec![Step::Function { n, function }],
            Call::Mixed(mixed) => self.steps_of_mixed(mixed),
        }
    }

    fn steps_of_mixed(self, call: Mixed) -> Vec<Step> {
        match call {
            Mixed::Resize {
                n,
                from,
                trunc,
                bits,
            } => vec![Step::Resize {
                n,
                from,
                trunc,
                bits,
            }],
            Mixed::Product {
                map,
                known_to,
                bits,
                ..
            } => vec![Step::Product {
                map,
                known_to,
                bits,
            }],
            Mixed::Drelu { n, keys, bits } => vec![self.sign(n, keys, bits)],
            Mixed::Select { n, bits } => vec![Step::Select { n, bits }],
            Mixed::Relu { n, keys, bits } => self.relu(n, keys, bits).into(),
            Mixed::Maxpool {
                windows,
                size,
                keys,
                bits,
            } => self.maxpool(windows, size, keys, bits),
            Mixed::Function { n, function } => {
                let between = function;
                vec![Step::Between { n, between }]
            }
        }
    }

    fn sign(self, n: usize, keys: KeyBits, bits: u32) -> Step {
        let bits = bits.min(self.signs);
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

impl Plan {
    /// Adds the steps of `calls`.
    pub fn add(&mut self, calls: &[Call], widths: Widths) {
        if let Plan::Steps(steps) = self {
            steps.extend(calls.iter().flat_map(|call| widths.steps_of(call)));
        }
    }
}

impl Sirnn {
    /// Makes the plan's next step, which must be this one.
    pub(super) fn step(&mut self, step: Step) -> Result<(), Error> {
        let Plan::Steps(steps) = &mut self.plan else {
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
