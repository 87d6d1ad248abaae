//! Checks what a training is given before anybody is connected to. Values that the ring does not hold
//! are refused, and not taken for others.

use tacit_train::{FixedPoint, Loss};

use super::{Dataset, Task};
use crate::Error;

/// How far the targets of an item may be from adding up to 1.
const TARGETS_OFF: f32 = 1e-3;

impl Task<'_> {
    /// Refuses data and weights that do not fit the network, or the numbers that it computes with.
    pub(super) fn check(&self, parties: usize, loss: Loss, fixed: FixedPoint) -> Result<(), Error> {
        for (what, sets) in [("training data", self.train), ("test data", self.test)] {
            for set in sets {
                self.check_sizes(set, parties)
                    .and_then(|()| self.check_values(set, loss, fixed))
                    .map_err(|why| Error::setting(what, why))?;
            }
        }
        for set in self.test.iter().filter(|_| loss == Loss::CrossEntropy) {
            let classes = self.network.outputs();
            self.check_classes(set, classes)
                .map_err(|why| Error::setting("test data", why))?;
        }
        self.check_start(fixed)
            .map_err(|why| Error::setting("starting weights", why))
    }

    fn check_sizes(&self, set: &Dataset, parties: usize) -> Result<(), String> {
        let (inputs, outputs) = (self.network.inputs(), self.network.outputs());
        let items = set.x.len() / inputs;
        if set.owner >= parties {
            return Err(format!(
                "party {} owns some, there are {parties}",
                set.owner
            ));
        }
        if items == 0 || set.x.len() != items * inputs {
            return Err(format!(
                "{} numbers are no whole items of {inputs}, the network's inputs",
                set.x.len()
            ));
        }
        if set.target.len() != items * outputs {
            return Err(format!(
                "{items} items have {} targets; each needs {outputs}, the network's outputs",
                set.target.len()
            ));
        }
        Ok(())
    }

    fn check_values(&self, set: &Dataset, loss: Loss, fixed: FixedPoint) -> Result<(), String> {
        let (inputs, outputs) = (self.network.inputs(), self.network.outputs());
        let owner = set.owner;
        for (what, values, width) in [("feature", set.x, inputs), ("target", set.target, outputs)] {
            fixed.check(values).map_err(|beyond| {
                let (item, at) = (beyond.index / width, beyond.index % width);
                format!("item {item} of party {owner}: its {what} {at} is {beyond}")
            })?;
        }
        if loss != Loss::CrossEntropy {
            return Ok(());
        }
        for (item, targets) in set.target.chunks(outputs).enumerate() {
            let sum: f32 = targets.iter().sum();
            let shares = targets.iter().all(|t| (0.0..=1.0).contains(t));
            if !shares || (sum - 1.0).abs() > TARGETS_OFF {
                return Err(format!(
                    "item {item} of party {owner}: its targets are no class: cross-entropy takes {outputs} numbers from 0 to 1 that add up to 1, with a single 1 for a class; they add up to {sum}"
                ));
            }
        }
        Ok(())
    }

    /// Refuses test items that are of several classes: how many are classified right would say nothing of them.
    fn check_classes(&self, set: &Dataset, classes: usize) -> Result<(), String> {
        let is_one = |targets: &[f32]| targets.iter().filter(|t| **t != 0.0).eq([&1.0]);
        match set.target.chunks(classes).position(|item| !is_one(item)) {
            None => Ok(()),
            Some(item) => Err(format!(
                "item {item} of party {}: its targets are no single class, and a test counts how many classes are right: give it a single 1 beside zeros",
                set.owner
            )),
        }
    }

    fn check_start(&self, fixed: FixedPoint) -> Result<(), String> {
        let Some(start) = self.start else {
            return Ok(());
        };
        let all = self.network.parameters();
        if !all.iter().map(|p| p.len).eq(start.iter().map(Vec::len)) {
            return Err("they are not those of the network".into());
        }
        for (parameter, values) in all.iter().zip(start) {
            fixed.check(values).map_err(|beyond| {
                let (kind, layer, at) = (parameter.kind, parameter.layer, beyond.index);
                format!("layer {layer}: element {at} of its {kind:?} is {beyond}")
            })?;
        }
        Ok(())
    }
}
