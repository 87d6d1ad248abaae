//! What was planned, step by step. OTs serve any step; so that a run is the run that was planned,
//! and material of another one is none, every step is held against the plan's next.

use std::collections::VecDeque;

use tacit_protocols::Error;
use tacit_protocols::machine::{Bilinear, Call, KeyBits};

use tacit_protocols::math::Elementary;

use super::Sirnn;

/// One step of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A product modulo the ring's size, with a right operand that one party knows or none.
    Product {
        map: Bilinear,
        known_to: Option<usize>,
    },
    /// A truncation.
    Truncate { n: usize, trunc: u32 },
    /// Signs.
    Sign { n: usize, keys: KeyBits },
    /// Choices between two tensors.
    Select { n: usize },
    /// A function by its tables.
    Function { n: usize, function: Elementary },
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
            Step::Truncate { n, trunc } => {
                format!("the truncation of {n} elements by {trunc} bits")
            }
            Step::Sign { n, .. } => format!("the sign of {n} elements"),
            Step::Select { n } => format!("the selection of {n} elements"),
            Step::Function { n, function } => format!("{:?} of {n} elements", function.kind),
        }
    }
}

/// The steps of one call, in order.
fn steps_of(call: &Call) -> Vec<Step> {
    let relu = |n, keys| [Step::Sign { n, keys }, Step::Select { n }];
    let truncate = |n, trunc| (trunc > 0).then_some(Step::Truncate { n, trunc });
    match *call {
        Call::Input { .. } | Call::Reveal { .. } | Call::Fix { .. } => vec![],
        Call::Product {
            map,
            known_to,
            trunc,
            ..
        } => {
            let rest = truncate(map.outputs(), trunc);
            [Step::Product { map, known_to }]
                .into_iter()
                .chain(rest)
                .collect()
        }
        Call::Truncate { n, trunc } => truncate(n, trunc).into_iter().collect(),
        Call::Drelu { n, keys } => vec![Step::Sign { n, keys }],
        Call::Select { n } => vec![Step::Select { n }],
        Call::Relu { n, keys } => relu(n, keys).into(),
        Call::Maxpool {
            windows,
            size,
            keys,
        } => tacit_protocols::pool::levels(size)
            .flat_map(|(pairs, _)| relu(pairs * windows, keys))
            .collect(),
        Call::Function { n, function } => vec![Step::Function { n, function }],
    }
}

impl Plan {
    /// Adds the steps of `calls`.
    pub fn add(&mut self, calls: &[Call]) {
        if let Plan::Steps(steps) = self {
            steps.extend(calls.iter().flat_map(steps_of));
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
