//! What a training will cost: the calls of its steps, counted.

use serde::Serialize;
use tacit_protocols::material_portions::MaterialPortions;
use tacit_protocols::record::{Stage, noted};
use tacit_train::{Network, Training, calls_by_stage};

use super::TrainOptions;
use crate::predict::{in_turn, predicted};
use crate::report::{Memory, PredictedCost};
use crate::speeds::Speeds;
use crate::{Error, Settings};

/// What a training will cost, as its protocol declares.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainCost {
    /// Items of a mini-batch.
    pub batch: usize,
    /// Mini-batches of an epoch.
    pub batches: usize,
    /// Numbers that the training changes.
    pub parameters: usize,
    /// The cost of one mini-batch.
    pub step: PredictedCost,
    /// The mini-batches of the first epoch; sharing the data and trying the network are not counted.
    pub epoch: PredictedCost,
    /// The most memory of the parties' processes.
    pub memory: Memory,
}

impl TrainCost {
    /// The declared cost of training on so many items, without running anything. With the speeds of this
    /// machine it includes the seconds of computing.
    pub fn new(
        network: &Network,
        options: &TrainOptions,
        settings: &Settings,
        items: usize,
        speeds: Option<&Speeds>,
    ) -> Result<Self, Error> {
        let (terms, fixed) = options.terms(settings)?;
        if items == 0 {
            return Err(Error::setting("items", "it must be at least 1"));
        }
        let training = options.training(network, fixed);
        let model = terms.instance.cost()?;
        let portions = |stages: &[Stage]| {
            let calls = stages.iter().map(|stage| &stage.calls[..]);
            MaterialPortions::new(calls, &*model, options.material(terms.instance.parties))
        };
        let step = |n| {
            let portions = portions(&step_stages(&training, 0, n)?)?;
            let cost = |calls| {
                let whole = MaterialPortions::new([calls], &*model, u64::MAX)?;
                predicted(&terms.instance, &terms.network, [calls], &whole, speeds)
            };
            let costs = portions.calls().map(cost).collect::<Result<Vec<_>, _>>()?;
            Ok::<_, Error>(in_turn(
                &costs.iter().map(|cost| (1, cost)).collect::<Vec<_>>(),
            ))
        };
        let (whole, rest) = (items / options.batch, items % options.batch);
        let first = step(options.batch.min(items))?;
        let stages = step_stages(&training, 0, options.batch.min(items))?;
        let portions = portions(&stages)?;
        let mut held = portions.memory(terms.instance.parties, &stages, &*model)?;
        let data = (items * (network.inputs() + network.outputs())) as u64;
        for (party, held) in held.iter_mut().enumerate() {
            *held += data * model.share_bytes(party);
        }
        let mut epoch = in_turn(&[(whole, &first)]);
        if rest > 0 {
            epoch = in_turn(&[(whole, &first), (1, &step(rest)?)]);
        }
        Ok(TrainCost {
            batch: options.batch,
            batches: items.div_ceil(options.batch),
            parameters: network.parameters().iter().map(|p| p.len).sum(),
            memory: Memory::of(&held),
            step: first,
            epoch,
        })
    }
}

/// What a step on `n` items of an epoch does, which is the same for all its mini-batches, stage by stage.
pub(super) fn step_stages(
    training: &Training,
    epoch: usize,
    n: usize,
) -> Result<Vec<Stage>, Error> {
    let network = training.network;
    Ok(calls_by_stage(training, |machine, mut state| {
        let [x, target] = [network.inputs(), network.outputs()].map(|each| noted(n * each));
        training.step(machine, &mut state, (x, &target), (epoch, n))
    })?)
}
