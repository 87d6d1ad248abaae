//! What a machine without data or peers notes: calls by stages, and how many elements are held.

use std::sync::Arc;

use super::held::Level;
use super::{Noted, recorder};
use crate::Error;
use crate::machine::{Call, CostModel, Handle};

/// A part of a program, under the name that the meters show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The stage's name.
    pub name: String,
    /// The stage's calls, in order.
    pub calls: Vec<Call>,
    /// The most elements that shares have in it at once, those from before it among them.
    pub held: u64,
}

/// The stages of a program and what is counted while they are noted.
#[derive(Default)]
pub(super) struct Notes {
    pub stages: Vec<Stage>,
    /// The elements that shares have now.
    pub level: Arc<Level>,
    /// How many operands were made reusable.
    pub reusable: usize,
}

impl Notes {
    /// Lists a call, or those of its program.
    pub fn lower(&mut self, call: &Call, model: &dyn CostModel) -> Result<(), Error> {
        let Call::Function { n, function } = call else {
            self.push(*call, model);
            return Ok(());
        };
        let bits = function.between.map(|[from, _]| from.bits);
        let x = Handle::new(Noted::of(*n).of_bits(bits));
        let mut machine = recorder(function.format.bits(), model, self)?;
        machine.function(function, &x).map(drop)
    }

    pub fn push(&mut self, call: Call, model: &dyn CostModel) {
        // Other widths are local where all numbers have the ring's.
        let width_alone = matches!(
            call,
            Call::Truncate {
                trunc: 0,
                bits: Some(_),
                ..
            }
        );
        if width_alone && !model.mixed() {
            return;
        }
        if self.stages.is_empty() {
            self.begin("");
        }
        if let Some(stage) = self.stages.last_mut() {
            stage.calls.push(call);
        }
    }

    pub fn begin(&mut self, name: &str) {
        self.end_stage();
        self.stages.push(Stage {
            name: name.into(),
            calls: Vec::new(),
            held: 0,
        });
    }

    pub fn end_stage(&mut self) {
        let held = self.level.most();
        if let Some(stage) = self.stages.last_mut() {
            stage.held = held;
        }
    }
}
