//! Where a machine makes checkpoints by itself, as a plan lists them.

use super::LIMIT;
use super::gates::entries;
use crate::machine::{Bilinear, Call};
use crate::pool;

/// What waits to be verified, as the machine counts it.
#[derive(Default)]
struct Waiting {
    dirty: bool,
    gates: usize,
    entries: usize,
    elements: usize,
}

impl Waiting {
    fn gates(&mut self, n: usize) {
        self.dirty = true;
        self.gates += n;
        self.elements += 3 * n;
    }

    fn add(&mut self, call: &Call) {
        match *call {
            Call::Product { map, .. } => {
                self.dirty = true;
                self.entries += entries(&map);
                if let Bilinear::Elementwise(n) = map {
                    self.gates += n;
                }
                self.elements += map.left() + map.right() + map.outputs();
            }
            Call::Truncate { trunc: 1.., .. } | Call::Drelu { .. } => self.dirty = true,
            Call::Relu { n, .. } | Call::Select { n, .. } => self.gates(n),
            Call::Maxpool { windows, size, .. } => {
                pool::levels(size).for_each(|(pairs, _)| self.gates(pairs * windows));
            }
            _ => {}
        }
    }

    fn verify(&mut self) -> Call {
        let Waiting { gates, entries, .. } = std::mem::take(self);
        Call::Verify { gates, entries }
    }
}

/// The calls with the checkpoints of the machine: before each result is given out, where more than
/// [`LIMIT`] elements wait, and where the calls have one.
pub(in crate::falcon) fn checked(calls: Vec<Call>) -> Vec<Call> {
    let mut all = Vec::with_capacity(calls.len());
    let mut waiting = Waiting::default();
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
