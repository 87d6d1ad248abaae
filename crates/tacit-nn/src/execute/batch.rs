//! How a batch goes through the layers.

use std::collections::VecDeque;

use tacit_protocols::Error;
use tacit_protocols::machine::{CostModel, Erased, Handle, Machine};
use tacit_protocols::material_portions::workspace;

use crate::plan::{Plan, Roles};

/// How many items a layer takes at a time that has no material: those of a part of its input.
const AS_THEY_COME: usize = 0;

/// A batch of items, and how many of them every layer takes at a time: all, or as many as have little
/// enough material.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// How many items the batch has.
    pub items: usize,
    /// How many items each layer takes at a time, in the order of the layers; a layer beyond the list takes
    /// all.
    at_a_time: Vec<usize>,
}

impl From<usize> for Batch {
    /// Every layer takes all items at once.
    fn from(items: usize) -> Self {
        Batch {
            items,
            at_a_time: Vec::new(),
        }
    }
}

impl Batch {
    /// Every layer takes `each` items at a time.
    pub fn by(each: usize, items: usize, plan: &Plan) -> Self {
        Batch {
            items,
            at_a_time: vec![each; plan.layers.len()],
        }
    }

    /// Every layer takes as many items as a party makes the material of in `most` bytes, or one. Of even
    /// sizes, so that the last ones are not much fewer.
    pub fn within(
        most: u64,
        items: usize,
        plan: &Plan,
        roles: &Roles,
        model: &dyn CostModel,
    ) -> Result<Self, Error> {
        let stages = plan.calls(items, roles)?;
        // The first stage is that of the input.
        let layers = stages.iter().skip(1).take(plan.layers.len());
        let at_a_time = layers.map(|stage| {
            let bytes = workspace(&stage.calls, model)?;
            if bytes == 0 {
                return Ok(AS_THEY_COME);
            }
            let times = bytes.div_ceil(most.max(1)).max(1);
            Ok(items.div_ceil(usize::try_from(times).map_or(items, |times| times.min(items))))
        });
        Ok(Batch {
            items,
            at_a_time: at_a_time.collect::<Result<_, Error>>()?,
        })
    }

    /// The items that a layer takes one after the other: from which on, and how many. `None` where it takes
    /// them as they come.
    pub(super) fn of_layer(&self, layer: usize) -> Option<Vec<Range>> {
        let items = self.items;
        let each = match self.at_a_time.get(layer) {
            Some(&AS_THEY_COME) => return None,
            each => each.copied().unwrap_or(items),
        };
        let firsts = (0..items).step_by(each);
        Some(
            firsts
                .map(|first| (first, each.min(items - first)))
                .collect(),
        )
    }
}

/// Items of a batch: from which on, and how many.
pub(super) type Range = (usize, usize);

/// A value of a batch in the parts in which it was made: nothing is copied where the next layer takes as
/// many items at a time.
pub(super) struct Parts {
    pub ranges: Vec<Range>,
    /// The parts; `None` where one is used up.
    parts: Vec<Option<Handle>>,
}

impl Parts {
    /// All items in one part.
    pub fn whole(items: usize, share: Handle) -> Self {
        Parts {
            ranges: vec![(0, items)],
            parts: vec![Some(share)],
        }
    }

    /// One part for every range.
    pub fn new(ranges: Vec<Range>, parts: Vec<Handle>) -> Self {
        let parts = parts.into_iter().map(Some).collect();
        Parts { ranges, parts }
    }

    pub fn part(&self, at: usize) -> Option<&Handle> {
        self.parts.get(at)?.as_ref()
    }

    /// The first part, if it has not been freed.
    pub fn into_one(self) -> Option<Handle> {
        self.parts.into_iter().next()?
    }

    /// Frees a part that no later layer reads.
    pub fn leave(&mut self, at: usize) {
        self.parts[at] = None;
    }

    /// The items held, divided into parts of `ranges`. Old parts are freed as they are used up. Local.
    pub fn arranged(self, machine: &mut Erased, ranges: &[Range]) -> Self {
        if self.ranges == ranges {
            return self;
        }
        let held = self.ranges.into_iter().zip(self.parts);
        let mut held: VecDeque<(Range, Handle)> = held
            .filter_map(|(range, part)| Some((range, part?)))
            .collect();
        let parts = ranges
            .iter()
            .map(|&range| first_of(machine, &mut held, range));
        let parts = parts.collect();
        Parts::new(ranges.to_vec(), parts)
    }
}

/// The items of a range, which begins where what is held begins, or in its first part.
fn first_of(
    machine: &mut Erased,
    held: &mut VecDeque<(Range, Handle)>,
    (first, n): Range,
) -> Handle {
    let (mut pieces, mut at) = (Vec::new(), first);
    while at < first + n
        && let Some(((start, len), share)) = held.pop_front()
    {
        let to = (first + n).min(start + len);
        let each = machine.len(&share) / len;
        if (at, to) == (start, start + len) {
            pieces.push(share);
        } else {
            pieces.push(machine.slice(&share, (at - start) * each..(to - start) * each));
            if to < start + len {
                held.push_front(((start, len), share));
            }
        }
        at = to;
    }
    match <[Handle; 1]>::try_from(pieces) {
        Ok([piece]) => piece,
        Err(pieces) => machine.concat(&pieces.iter().collect::<Vec<_>>()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use tacit_net::{LinkModel, memory};
    use tacit_protocols::clear;
    use tacit_protocols::machine::Audience;

    #[test]
    fn a_layer_takes_every_item_once() {
        for (items, each) in [(7, 3), (6, 3), (1, 1), (5, 9), (4, 1)] {
            let batch = Batch {
                items,
                at_a_time: vec![each],
            };
            let taken = batch.of_layer(0).expect("so many").into_iter();
            let taken: Vec<usize> = taken.flat_map(|(i, n)| i..i + n).collect();
            assert_eq!(taken, (0..items).collect::<Vec<_>>());
            assert_eq!(batch.of_layer(1), Some(vec![(0, items)]));
        }
    }

    /// Whatever parts there were, and however many numbers an item has.
    #[test]
    fn parts_are_arranged_without_a_loss() {
        let party = memory::mesh(1, &LinkModel::LOCAL, Duration::from_secs(1)).remove(0);
        let mut machine = clear::machine(64, party);
        let items = 7;
        let by = |each| {
            let at_a_time = vec![each];
            Batch { items, at_a_time }.of_layer(0).expect("so many")
        };
        for len in [1, 3] {
            let numbers: Vec<i64> = (0..(items * len) as i64).collect();
            for (from, to) in (1..=items).flat_map(|a| (1..=items).map(move |b| (a, b))) {
                let whole = Parts::whole(items, machine.constant(&numbers));
                let parts = whole.arranged(&mut machine, &by(from));
                let parts = parts.arranged(&mut machine, &by(to));
                assert_eq!(parts.ranges, by(to));
                let back = parts.arranged(&mut machine, &[(0, items)]);
                let back = machine.reveal(back.part(0).expect("one"), Audience::All);
                assert_eq!(back.expect("opened"), Some(numbers.clone()));
            }
        }
    }
}
