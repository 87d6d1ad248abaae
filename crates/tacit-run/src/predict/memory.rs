//! Predicts the most memory of the parties' processes.

use tacit_nn::Plan;
use tacit_nn::plan::Roles;
use tacit_protocols::machine::CostModel;
use tacit_protocols::material_portions::{MaterialPortions, stored};
use tacit_protocols::record::Stage;

use crate::Error;
use crate::report::Memory;

/// Bytes of a process that holds no model yet: the interpreter, its packages and this library, as measured.
const PROCESS: u64 = 53_000_000;
/// Bytes of a party's threads, links and keys, as measured.
const PARTY: u64 = 7_000_000;

/// Bytes of a weight as its owner holds it until the first prediction ends, beside the model.
const OWNED_WEIGHT: u64 = 8;
/// Bytes of a weight that everybody knows.
const PUBLIC_WEIGHT: u64 = 8;
/// Bytes of an input as its owner holds it: a float in two places, and a number of the plan.
const OWNED_INPUT: u64 = 16;

impl Memory {
    /// The memory of processes whose parties hold `parties` bytes each beside what every process and party holds.
    pub(crate) fn of(parties: &[u64]) -> Self {
        Memory {
            parties: parties.iter().map(|own| PROCESS + PARTY + own).collect(),
            together: PROCESS + parties.iter().map(|own| PARTY + own).sum::<u64>(),
        }
    }
}

/// A prediction of one batch.
pub(crate) struct Predicted<'a> {
    pub plan: &'a Plan,
    pub roles: &'a Roles,
    /// Items of a batch.
    pub items: usize,
    /// The stages that a batch runs.
    pub stages: &'a [Stage],
    pub portions: &'a MaterialPortions,
    /// Bytes by which compiling the model enlarged its owner's process.
    pub compiling: u64,
}

impl Predicted<'_> {
    /// The most memory of so many parties.
    pub fn memory(&self, parties: usize, model: &dyn CostModel) -> Result<Memory, Error> {
        let (plan, roles) = (self.plan, self.roles);
        let weights = plan.parameters() as u64;
        let inputs = (self.items * plan.given_shape().iter().product::<usize>()) as u64;
        let sharing = plan.weight_calls(roles)?;
        // What the layer takes beside that takes most while its weights are shared.
        let beside = |call| model.workspace(call).saturating_sub(model.stored(call));
        let beside = sharing.iter().map(beside).max().unwrap_or(0);
        let fixed = stored(&sharing, model)?;
        let mut held = self.portions.memory(parties, self.stages, model)?;
        for (party, held) in held.iter_mut().enumerate() {
            // What was taken then is free for the predictions.
            let shared = weights.saturating_mul(model.share_bytes(party));
            *held = fixed + shared.saturating_add(beside).max(*held);
            if plan.public_model {
                *held += PUBLIC_WEIGHT * weights;
            }
        }
        held[roles.model_owner] += self.compiling + OWNED_WEIGHT * weights;
        held[roles.data_owner] += OWNED_INPUT * inputs;
        Ok(Memory::of(&held))
    }
}
