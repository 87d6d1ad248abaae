//! What the executor will ask of the machine: its program, run by a machine that lists calls.

use tacit_protocols::Error;
use tacit_protocols::machine::{Audience, Call};
use tacit_protocols::record::{Stage, calls_of, stages_of};

use super::{Layer, Plan};
use crate::execute::{Batch, execute, reveal_output, share_input, share_weights};

/// Which party owns what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// The party that knows the weights.
    pub model_owner: usize,
    /// The party that knows the inputs.
    pub data_owner: usize,
    /// Who learns the result.
    pub receiver: Audience,
}

/// The meters' names of the steps that are no layers.
pub(crate) const WEIGHTS: &str = "weights";
pub(crate) const INPUT: &str = "input";
pub(crate) const OUTPUT: &str = "output";
/// The step that finds the largest elements of the output, where nothing else of it is opened.
pub const RANKING: &str = "ranking";

impl Plan {
    /// The calls of sharing the weights, once for any number of predictions.
    pub fn weight_calls(&self, roles: &Roles) -> Result<Vec<Call>, Error> {
        calls_of(self.modulus.bits(), |machine| {
            share_weights(self, machine, roles, None)
        })
    }

    /// The calls of predicting one batch: the input, every layer in order, once for so many items as it
    /// takes at a time, what is found of the output before it is opened, and its opening.
    pub fn calls(&self, batch: impl Into<Batch>, roles: &Roles) -> Result<Vec<Stage>, Error> {
        let batch = batch.into();
        let stages = stages_of(self.modulus.bits(), |machine| {
            let weights = share_weights(self, machine, roles, None)?;
            let x = share_input(self, machine, roles, batch.items, None)?;
            let y = execute(self, machine, &weights, x, &batch, &mut |_| Ok(()))?;
            reveal_output(self, machine, roles, &y)
        })?;
        // The first stage is that of the weights.
        Ok(stages.into_iter().skip(1).collect())
    }

    /// The bits dropped from either factor of a product of two computed values.
    pub(crate) fn factor_truncs(&self, layer: &Layer) -> [u32; 2] {
        match layer.input_trunc {
            0 => [0, 0],
            first => [first, self.fraction_bits - first],
        }
    }
}
