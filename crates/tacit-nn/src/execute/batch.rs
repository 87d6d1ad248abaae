//! How a batch goes through the layers.

use tacit_protocols::Error;
use tacit_protocols::machine::{CostModel, Machine};
use tacit_protocols::portions::workspace;

use crate::plan::{Plan, Roles};

/// A batch of items, and how many of them every layer takes at a time: all, or as many as have little
/// enough material.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// How many items.
    pub items: usize,
    /// Of the layers in order; of those that it does not name all items.
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
            let times = bytes.div_ceil(most.max(1)).max(1);
            Ok(items.div_ceil(usize::try_from(times).map_or(items, |times| times.min(items))))
        });
        Ok(Batch {
            items,
            at_a_time: at_a_time.collect::<Result<_, Error>>()?,
        })
    }

    /// The items that a layer takes one after the other: from which on, and how many.
    pub(super) fn of_layer(&self, layer: usize) -> impl Iterator<Item = (usize, usize)> {
        let items = self.items;
        let each = self.at_a_time.get(layer).copied().unwrap_or(items);
        (0..items)
            .step_by(each.max(1))
            .map(move |first| (first, each.min(items - first)))
    }
}

/// Runs a layer on some items of its inputs after the others, as `parts` name them, and joins what it makes.
pub(super) fn in_parts<M: Machine>(
    machine: &mut M,
    inputs: &[&M::Share],
    items: usize,
    parts: impl Iterator<Item = (usize, usize)>,
    mut run: impl FnMut(&mut M, &[&M::Share], usize) -> Result<M::Share, Error>,
) -> Result<M::Share, Error> {
    let mut outputs = Vec::new();
    for (first, n) in parts {
        if n == items {
            return run(machine, inputs, n);
        }
        let mut some = |x: &&M::Share| {
            let each = machine.len(x) / items;
            machine.slice(x, first * each..(first + n) * each)
        };
        let some: Vec<M::Share> = inputs.iter().map(&mut some).collect();
        outputs.push(run(machine, &some.iter().collect::<Vec<_>>(), n)?);
    }
    Ok(machine.concat(&outputs.iter().collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_takes_every_item_once() {
        for (items, each) in [(7, 3), (6, 3), (1, 1), (5, 9), (4, 1)] {
            let batch = Batch {
                items,
                at_a_time: vec![each],
            };
            let taken: Vec<usize> = batch.of_layer(0).flat_map(|(i, n)| i..i + n).collect();
            assert_eq!(taken, (0..items).collect::<Vec<_>>());
            assert_eq!(batch.of_layer(1).collect::<Vec<_>>(), [(0, items)]);
        }
    }
}
