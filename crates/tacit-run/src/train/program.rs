//! The program that every party of a training runs.

use std::collections::HashMap;
use std::time::Instant;

use tacit_net::{Party, Phase};
use tacit_protocols::machine::{Audience, Erased, Handle, Machine};
use tacit_protocols::material_portions::MaterialPortions;
use tacit_protocols::record::Stage;
use tacit_train::{FixedPoint, Order, Scores, State, Training};

use super::agree::{Part, Parts};
use super::begin::keep;
use super::checkpoint::{Keeper, Position};
use super::cost::{step_stages, trial_stages};
use super::items::Items;
use super::report::Quality;
use super::{EpochReport, Resumed, Task, TrainOptions, TrainReport, Trained};
use crate::agreement::Agreement;
use crate::instance::Instance;
use crate::job::Observer;
use crate::provenance::Provenance;
use crate::record::{Ledger, Trace, hearers};
use crate::terms::Terms;
use crate::totals::{Metered, Totals, exchange};
use crate::{Error, Progress};

/// Items that the network is tried on together.
pub(super) const TRIED_TOGETHER: usize = 250;

/// Runs one party's part of a training. Of the task the party looks at what it owns.
pub(super) fn train(
    mut party: Party,
    terms: &Terms,
    options: &TrainOptions,
    fixed: FixedPoint,
    task: Task,
    trace: &mut Trace,
    observe: Observer,
) -> Result<Trained, Error> {
    party.set_phase(Phase::Setup);
    party.set_layer("agreement");
    let training = options.training(task.network, fixed);
    let parts = Parts::agree(Agreement::new(&mut party), terms, options, &task);
    let parts = parts.inspect_err(|error| error.tell(&mut party))?;
    trace.plan = Some(parts.digest.clone());
    trace.inputs = Some(parts.train.iter().map(|part| part.items).sum());
    let job = Job {
        instance: &terms.instance,
        options,
        training,
        parts,
        start: task.start,
        receiver: terms.roles.model_owner,
        ledger: &mut trace.ledger,
        observe,
    };
    let Outcome {
        parameters,
        totals,
        batches,
        epochs,
        resumed,
    } = terms
        .instance
        .start(party, |machine| job.run(machine))
        .map_err(|e| e.after(&trace.ledger))?;
    let report = TrainReport {
        batches,
        resumed,
        revealed: trace.ledger.revealed(),
        provenance: Provenance::of(trace),
        ..TrainReport::new(terms, options, &training, &totals, epochs)
    };
    Ok(Trained { parameters, report })
}

/// One party's part of a training.
pub(super) struct Job<'a> {
    pub instance: &'a Instance,
    pub options: &'a TrainOptions,
    pub training: Training<'a>,
    pub parts: Parts<'a>,
    /// What the training starts from, at the receiver, if not from random weights.
    pub start: Option<&'a [Vec<f32>]>,
    /// Who learns the weights.
    pub receiver: usize,
    ledger: &'a mut Ledger,
    observe: Observer<'a>,
}

/// What a party's part of a training ends with.
pub(super) struct Outcome {
    /// The trained parameters, at the receiver alone.
    parameters: Option<Vec<Vec<f32>>>,
    totals: Vec<Totals>,
    /// Mini-batches of this run.
    batches: usize,
    epochs: Vec<EpochReport>,
    /// Where the training went on from a checkpoint, if it did.
    resumed: Option<Resumed>,
}

/// Shared items and targets.
struct Pairs {
    x: Items,
    target: Items,
}

impl Pairs {
    fn share(machine: &mut Erased, training: &Training, parts: &[Part]) -> Result<Self, Error> {
        let (network, fixed) = (training.network, training.fixed);
        Ok(Pairs {
            x: Items::share(machine, fixed, parts, network.inputs(), |set| set.x)?,
            target: Items::share(machine, fixed, parts, network.outputs(), |set| set.target)?,
        })
    }
}

impl Job<'_> {
    fn run(mut self, machine: &mut Erased) -> Result<Outcome, Error> {
        machine.party().set_phase(Phase::Setup);
        machine.party().set_layer("agreement");
        let keeper = self.keeper(machine)?;
        let order = self.order();
        self.options.check_batches(self.training.network, &order)?;
        let (mut state, mut position) = self.begin(machine, keeper.as_ref())?;
        let resumed = self.resumed(keeper.as_ref(), &position);
        self.tell("setup", &position, 0)?;
        machine.party().set_layer("data");
        let train = Pairs::share(machine, &self.training, &self.parts.train)?;
        let test = Pairs::share(machine, &self.training, &self.parts.test)?;
        let (mut seconds, mut known) = (Vec::new(), HashMap::new());
        let mut started = Instant::now();
        while position.place.done < self.options.last(&order) {
            let (epoch, number) = (
                position.place.done / order.batches(),
                position.place.done % order.batches(),
            );
            for items in order.epoch(epoch).into_iter().skip(number) {
                if position.place.done == self.options.last(&order) {
                    break;
                }
                let demand = self.step_demand(machine, &mut known, epoch, items.len())?;
                let items = (epoch, items.as_slice());
                let took = self.step(machine, &mut state, &train, items, &demand, &position)?;
                seconds.push(took);
                position.place.done += 1;
                if position.place.done.is_multiple_of(order.batches()) {
                    let mut report = self.try_out(machine, &state, &test)?;
                    report.epoch = epoch + 1;
                    report.seconds = started.elapsed().as_secs_f64();
                    started = Instant::now();
                    position.epochs.push(report);
                }
                if let Some(keeper) = &keeper
                    && (position.place.done.is_multiple_of(keeper.every)
                        || position.place.done == self.options.last(&order))
                {
                    keep(machine, keeper, &state, &position)?;
                }
            }
        }
        machine.party().set_phase(Phase::Setup);
        machine.party().set_layer("weights");
        let parameters = self.reveal(machine, &state)?;
        let batches = seconds.len();
        let own = Totals::of(machine.party(), seconds);
        Ok(Outcome {
            parameters,
            batches,
            totals: exchange(machine.party(), own)?,
            epochs: position.epochs,
            resumed,
        })
    }
}

impl Job<'_> {
    fn order(&self) -> Order {
        let items = self.parts.train.iter().map(|part| part.items);
        self.options.order(items.sum())
    }

    /// Where the training goes on, if it does, which the log says too.
    fn resumed(&self, keeper: Option<&Keeper>, position: &Position) -> Option<Resumed> {
        let (after, of) = (position.place.done, self.options.last(&self.order()));
        let file = keeper.filter(|_| after > 0)?.path(after);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        tracing::info!("the training goes on after mini-batch {after} of {of}, from {name}");
        Some(Resumed {
            after,
            of,
            checkpoint: name.into_owned(),
        })
    }

    /// What a step on `n` items of an epoch demands, the same for all its mini-batches.
    fn step_demand(
        &self,
        machine: &mut Erased,
        known: &mut HashMap<(usize, usize), MaterialPortions>,
        epoch: usize,
        n: usize,
    ) -> Result<MaterialPortions, Error> {
        if let Some(demand) = known.get(&(epoch, n)) {
            return Ok(demand.clone());
        }
        let stages = step_stages(&self.training, epoch, n)?;
        let demand = self.demand(machine, &stages)?;
        known.insert((epoch, n), demand.clone());
        Ok(demand)
    }

    fn demand(&self, machine: &mut Erased, stages: &[Stage]) -> Result<MaterialPortions, Error> {
        let most = self.options.material(machine.party().parties());
        let stages = stages.iter().map(|stage| &stage.calls[..]);
        Ok(MaterialPortions::new(stages, machine.cost_model(), most)?)
    }

    /// One mini-batch; its seconds, offline and online.
    fn step(
        &mut self,
        machine: &mut Erased,
        state: &mut State,
        train: &Pairs,
        (epoch, items): (usize, &[u32]),
        demand: &MaterialPortions,
        position: &Position,
    ) -> Result<[f64; 2], Error> {
        let phases = [Phase::Offline, Phase::Online];
        let before = phases.map(|phase| Metered::phase(machine.party(), phase).seconds);
        let traffic = phases.map(|phase| Metered::phase(machine.party(), phase).bytes);
        self.tell("step", position, traffic.iter().sum())?;
        let training = self.training;
        machine.party().set_layer("step");
        machine.provide(demand);
        let x = train.x.pick(machine, items);
        let target = train.target.pick(machine, items);
        let sizes = (epoch, items.len());
        training.step(machine, state, (x, &target), sizes)?;
        machine.party().set_phase(Phase::Setup);
        let after = phases.map(|phase| Metered::phase(machine.party(), phase).seconds);
        Ok([after[0] - before[0], after[1] - before[1]])
    }

    /// How good the network is on the test data, if everybody may know.
    fn try_out(
        &mut self,
        machine: &mut Erased,
        state: &State,
        test: &Pairs,
    ) -> Result<EpochReport, Error> {
        let (mut report, items) = (EpochReport::default(), test.x.len);
        if !self.options.reveal_curve || items == 0 {
            return Ok(report);
        }
        let mut sum: Option<Handle> = None;
        for first in (0..items).step_by(TRIED_TOGETHER) {
            let numbers: Vec<u32> = (first..items.min(first + TRIED_TOGETHER))
                .map(|i| i as u32)
                .collect();
            let n = numbers.len();
            let demand = self.trial_demand(machine, n)?;
            machine.party().set_layer("evaluation");
            machine.provide(&demand);
            let (x, target) = (
                test.x.pick(machine, &numbers),
                test.target.pick(machine, &numbers),
            );
            let pair = (x, &target);
            let part = self.training.evaluate(machine, state, pair, n)?;
            sum = Some(match sum {
                Some(sum) => machine.add(&sum, &part),
                None => part,
            });
        }
        let Some(sum) = sum else { return Ok(report) };
        let all = hearers(Audience::All, machine.party().parties());
        let open = || machine.reveal(&sum, Audience::All);
        let opened = self
            .ledger
            .watch(("scores of the test data", 1), all, open)?;
        let opened = opened.unwrap_or_default();
        machine.party().set_phase(Phase::Setup);
        let scores = Scores::of(&opened, self.training.fixed);
        let quality = Quality::new(scores, items, self.training.network.outputs());
        (report.accuracy, report.loss) = (quality.accuracy, quality.loss);
        report.error = quality.error;
        Ok(report)
    }

    fn trial_demand(&self, machine: &mut Erased, n: usize) -> Result<MaterialPortions, Error> {
        let stages = trial_stages(&self.training, n)?;
        self.demand(machine, &stages)
    }

    /// The weights, to the receiver alone.
    fn reveal(
        &mut self,
        machine: &mut Erased,
        state: &State,
    ) -> Result<Option<Vec<Vec<f32>>>, Error> {
        let mut all = Vec::new();
        for parameter in &state.parameters {
            let (what, to) = (("weights", machine.len(parameter)), vec![self.receiver]);
            let open = || machine.reveal(parameter, Audience::One(self.receiver));
            let opened = self.ledger.watch(what, to, open)?;
            let decode = |v: i64| self.training.fixed.decode(v);
            all.extend(opened.map(|values| values.into_iter().map(decode).collect()));
        }
        Ok((machine.party().id() == self.receiver).then_some(all))
    }

    fn tell(&mut self, phase: &'static str, position: &Position, bytes: u64) -> Result<(), Error> {
        let order = self.order();
        let (batches, done) = (order.batches(), position.place.done);
        let layer = format!(
            "epoch {} of {}, batch {} of {batches}, {:.0} MB sent",
            done / batches + 1,
            self.options.epochs,
            done % batches + 1,
            bytes as f64 / 1e6,
        );
        let progress = Progress {
            phase,
            layer: &layer,
            index: 0,
            layers: 1,
            batch: done,
            batches: self.options.last(&order),
            gauge: None,
        };
        match (self.observe)(progress) {
            true => Ok(()),
            false => Err(Error::Cancelled),
        }
    }
}
