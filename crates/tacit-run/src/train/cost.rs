//! What a training will cost: the calls of its steps, counted.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::Serialize;
use tacit_protocols::machine::{Audience, Call, CostModel};
use tacit_protocols::material_portions::MaterialPortions;
use tacit_protocols::record::{Stage, noted};
use tacit_train::{Network, Order, Training, calls_by_stage};

use super::TrainOptions;
use super::program::TRIED_TOGETHER;
use super::setup::setup;
use crate::predict::{in_turn, predicted};
use crate::report::{Memory, PredictedCost};
use crate::speeds::Speeds;
use crate::terms::Terms;
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
    /// Trying the network on the test data once; `None` where nobody may learn how good it is.
    pub evaluation: Option<PredictedCost>,
    /// All mini-batches and evaluations of the training, and its set-up.
    pub whole: PredictedCost,
    /// The most memory of the parties' processes.
    pub memory: Memory,
}

/// How many items a training has, and of whom: the number of a party and its items, part by part.
#[derive(Clone, Copy, Debug)]
pub struct Sizes<'a> {
    /// Items that are trained on.
    pub train: &'a [(usize, usize)],
    /// Items that the network is tried on.
    pub test: &'a [(usize, usize)],
}

impl Sizes<'_> {
    /// How many items are trained on and tried on.
    fn items(&self) -> [usize; 2] {
        [self.train, self.test].map(|parts| parts.iter().map(|(_, items)| items).sum())
    }
}

impl TrainCost {
    /// The declared cost of training on so many items, without a mini-batch. With the speeds of
    /// this machine it includes the seconds of computing. The set-up but for the data is run in earnest, between
    /// threads.
    pub fn new(
        network: &Network,
        options: &TrainOptions,
        settings: &Settings,
        sizes: Sizes,
        speeds: Option<&Speeds>,
    ) -> Result<Self, Error> {
        let (terms, fixed) = options.terms(settings)?;
        let [items, test] = sizes.items();
        if items == 0 {
            return Err(Error::setting("items", "it must be at least 1"));
        }
        let model = terms.instance.cost()?;
        let counter = Counter {
            training: options.training(network, fixed),
            most: options.material(terms.instance.parties),
            terms: &terms,
            model: &*model,
            speeds,
        };
        let (n, order) = (options.batch.min(items), options.order(items));
        options.check_batches(network, &order)?;
        let stages = step_stages(&counter.training, 0, n)?;
        let portions = counter.portions(&stages)?;
        let mut held = portions.memory(terms.instance.parties, &stages, counter.model)?;
        let data = (items * (network.inputs() + network.outputs())) as u64;
        for (party, held) in held.iter_mut().enumerate() {
            *held += data * model.share_bytes(party);
        }
        let mut known = HashMap::new();
        let mut epoch = |number, batches| counter.epoch((number, batches), &order, &mut known);
        let first = epoch(0, order.batches())?;
        let tried = options.reveal_curve && test > 0;
        let evaluation = tried.then(|| counter.evaluation(test)).transpose()?;
        let last = options.last(&order);
        let mut parts: Vec<(usize, Part)> = Vec::new();
        let mut before = None;
        for number in 0..last.div_ceil(order.batches()) {
            let batches = order.batches().min(last - number * order.batches());
            // A step's calls are those of its rate.
            let like = (batches, counter.rates(number, &order));
            match parts.last_mut().filter(|_| before == Some(like)) {
                Some((n, _)) => *n += 1,
                None => parts.push((1, epoch(number, batches)?)),
            }
            before = Some(like);
        }
        let tried = last / order.batches();
        parts.extend(evaluation.clone().map(|part| (tried, part)));
        let whole = Part::of(parts);
        let calls: Vec<&[Call]> = portions.calls().collect();
        let setup = setup(&counter, options, (sizes, whole.portions), &calls)?;
        Ok(TrainCost {
            batch: options.batch,
            batches: order.batches(),
            parameters: network.parameters().iter().map(|p| p.len).sum(),
            memory: Memory::of(&held),
            step: counter.cost(&stages, &[])?.cost,
            epoch: first.cost,
            evaluation: evaluation.map(|part| part.cost),
            whole: setup.before(whole.cost),
        })
    }
}

/// A part of a training.
#[derive(Clone)]
struct Part {
    cost: PredictedCost,
    /// The portions of material before and after each of which the parties wait for each other.
    portions: usize,
}

impl Part {
    /// Parts one after the other, each as often as its number says.
    fn of(parts: impl IntoIterator<Item = (usize, Part)>) -> Part {
        let parts: Vec<(usize, Part)> = parts.into_iter().collect();
        let costs: Vec<_> = parts.iter().map(|(n, part)| (*n, &part.cost)).collect();
        Part {
            cost: in_turn(&costs),
            portions: parts.iter().map(|(n, part)| n * part.portions).sum(),
        }
    }
}

/// Counts parts of a training.
pub(super) struct Counter<'a> {
    pub training: Training<'a>,
    pub terms: &'a Terms,
    pub model: &'a dyn CostModel,
    pub speeds: Option<&'a Speeds>,
    /// The bytes of a portion of material.
    most: u64,
}

/// The costs of steps, by their calls: those of most epochs are the same.
type Known = HashMap<Vec<Vec<Call>>, Part>;

impl Counter<'_> {
    fn portions(&self, stages: &[Stage]) -> Result<MaterialPortions, Error> {
        let calls = stages.iter().map(|stage| &stage.calls[..]);
        Ok(MaterialPortions::new(calls, self.model, self.most)?)
    }

    /// The cost of these stages, whose last is followed by these calls.
    fn cost(&self, stages: &[Stage], then: &[Call]) -> Result<Part, Error> {
        let (instance, network) = (&self.terms.instance, &self.terms.network);
        let count = |calls: &[Call], then: &[Call]| {
            let whole = MaterialPortions::new([calls], self.model, u64::MAX)?;
            let layers = [calls, then].into_iter().filter(|layer| !layer.is_empty());
            let cost = predicted(instance, network, layers, &whole, self.speeds)?;
            let portions = whole.together();
            Ok::<_, Error>((1, Part { cost, portions }))
        };
        let portions = self.portions(stages)?;
        let last = portions.calls().count().saturating_sub(1);
        let portions = portions.calls().enumerate();
        let parts = portions.map(|(at, calls)| count(calls, if at == last { then } else { &[] }));
        Ok(Part::of(parts.collect::<Result<Vec<_>, Error>>()?))
    }

    /// The rates of an epoch's whole mini-batches and of its last, smaller one, as bits.
    fn rates(&self, epoch: usize, order: &Order) -> [u64; 2] {
        let Training {
            optimiser,
            fixed,
            whole,
            ..
        } = &self.training;
        let sizes = [order.batch, (order.items % order.batch).max(1)];
        sizes.map(|n| optimiser.rate(*fixed, epoch, [n, *whole]).to_bits())
    }

    /// The first mini-batches of an epoch.
    fn epoch(
        &self,
        (number, batches): (usize, usize),
        order: &Order,
        known: &mut Known,
    ) -> Result<Part, Error> {
        let whole = batches.min(order.items / order.batch);
        let mut parts = Vec::new();
        for (many, n) in [
            (whole, order.batch),
            (batches - whole, order.items % order.batch),
        ] {
            if many == 0 {
                continue;
            }
            let stages = step_stages(&self.training, number, n)?;
            let calls = stages.iter().map(|stage| stage.calls.clone()).collect();
            let part = match known.entry(calls) {
                Entry::Occupied(part) => part.into_mut(),
                Entry::Vacant(place) => place.insert(self.cost(&stages, &[])?),
            };
            parts.push((many, part.clone()));
        }
        Ok(Part::of(parts))
    }

    /// Trying the network on so many items, whose scores are opened to all.
    fn evaluation(&self, items: usize) -> Result<Part, Error> {
        let mut parts = Vec::new();
        for first in (0..items).step_by(TRIED_TOGETHER) {
            let n = TRIED_TOGETHER.min(items - first);
            let is_last = first + n == items;
            let opened = is_last.then_some(Call::Reveal {
                n: self.training.loss.score_count(),
                to: Audience::All,
            });
            let part = self.cost(&trial_stages(&self.training, n)?, opened.as_slice())?;
            parts.push((1, part));
        }
        Ok(Part::of(parts))
    }
}

/// What trying the network on `n` items does, stage by stage.
pub(super) fn trial_stages(training: &Training, n: usize) -> Result<Vec<Stage>, Error> {
    let network = training.network;
    Ok(calls_by_stage(training, |machine, state| {
        let [x, target] = [network.inputs(), network.outputs()].map(|each| noted(n * each));
        training.evaluate(machine, &state, (x, &target), n)
    })?)
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
