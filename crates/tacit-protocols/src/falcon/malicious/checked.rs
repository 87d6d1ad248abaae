//! Where a machine makes checkpoints by itself, as a plan lists them.

use super::super::Comparison;
use super::LIMIT;
use super::gates::entries;
use crate::call::Unverified;
use crate::machine::{Bilinear, Call};
use crate::pool;

/// What waits to be verified, as the machine counts it.
struct Waiting {
    comparison: Comparison,
    dirty: bool,
    what: Unverified,
    elements: usize,
}

impl Waiting {
    fn new(comparison: Comparison) -> Self {
        Waiting {
            comparison,
            dirty: false,
            what: Unverified::default(),
            elements: 0,
        }
    }

    /// Those of the paper's comparison are verified before its root is opened.
    fn signs(&mut self, n: usize) {
        self.dirty = true;
        if self.comparison == Comparison::Adder {
            self.what.signs += n;
            self.elements += 3 * n;
        }
    }

    fn choices(&mut self, n: usize) {
        self.dirty = true;
        self.what.choices += n;
        self.elements += 3 * n;
    }

    fn add(&mut self, call: &Call) {
        match *call {
            Call::Product { map, .. } => {
                self.dirty = true;
                self.what.entries += entries(&map);
                if let Bilinear::Elementwise(n) = map {
                    self.what.products += n;
                }
                self.elements += map.left() + map.right() + map.outputs();
            }
            Call::Truncate { trunc: 1.., .. } => self.dirty = true,
            Call::Drelu { n, .. } => self.signs(n),
            Call::Select { n, .. } => self.choices(n),
            Call::Relu { n, .. } => {
                self.signs(n);
                self.choices(n);
            }
            Call::Maxpool { windows, size, .. } => pool::levels(size).for_each(|(pairs, _)| {
                self.signs(pairs * windows);
                self.choices(pairs * windows);
            }),
            _ => {}
        }
    }

    fn verify(&mut self) -> Call {
        Call::Verify(std::mem::replace(self, Waiting::new(self.comparison)).what)
    }
}

/// The calls with the checkpoints of the machine: before each result is given out, where more than
/// [`LIMIT`] elements wait, and where the calls have one.
pub(in crate::falcon) fn checked(calls: Vec<Call>, comparison: Comparison) -> Vec<Call> {
    let mut all = Vec::with_capacity(calls.len());
    let mut waiting = Waiting::new(comparison);
    for call in calls {
        match call {
            Call::Verify { .. } | Call::Reveal { .. } if waiting.dirty => {
                all.push(waiting.verify())
            }
            _ => waiting.add(&call),
        }
        if !matches!(call, Call::Verify { .. }) {
            all.push(call);
        }
        if waiting.elements > LIMIT {
            all.push(waiting.verify());
        }
    }
    all
}
