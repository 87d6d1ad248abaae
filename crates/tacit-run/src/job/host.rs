//! A party's machine with a model's weights on it, between requests.

use tacit_net::{Party, Phase};
use tacit_nn::Plan;
use tacit_nn::encode::LayerWeights;
use tacit_nn::execute::{Batch, Operands, execute, reveal_output, share_input, share_weights};
use tacit_nn::plan::Roles;
use tacit_protocols::machine::{Audience, Machine};
use tacit_protocols::portions::Portions;

use super::{Observer, Progress};
use crate::Error;
use crate::record::{Ledger, hearers};
use crate::systems::{Portable, Taker};
use crate::totals::{Metered, Totals, exchange};

/// What a prediction opens to this party, and what all metered of it.
pub(super) type Answered = (Option<Vec<i64>>, Vec<Totals>);

/// A machine of any protocol that holds a model.
pub(super) trait Host: Send {
    fn party(&mut self) -> &mut Party;

    /// Answers one request. After an error, of which the others are told, there are no more.
    fn predict(&mut self, prediction: Prediction) -> Result<Answered, Error>;
}

/// Shares a model's weights on a machine, and keeps both.
pub(super) struct Load<'a> {
    pub plan: &'a Plan,
    pub roles: &'a Roles,
    /// Of the model's owner.
    pub weights: Option<&'a [LayerWeights]>,
    pub ledger: &'a mut Ledger,
}

impl Load<'_> {
    fn share<M: Machine>(&mut self, machine: &mut M) -> Result<Vec<Operands<M::Share>>, Error> {
        let parties = machine.party().parties();
        let mut share = || share_weights(self.plan, machine, self.roles, self.weights);
        Ok(match self.plan.public_model {
            true => {
                let (all, n) = (hearers(Audience::All, parties), self.plan.parameters());
                self.ledger.watch(("weights", n), all, share)?
            }
            false => share()?,
        })
    }
}

impl Taker for Load<'_> {
    type Output = Box<dyn Host>;

    fn take<M: Portable>(mut self, mut machine: M) -> Result<Box<dyn Host>, Error> {
        match self.share(&mut machine) {
            Ok(weights) => Ok(Box::new(Loaded {
                machine,
                weights,
                demand: Demand::default(),
            })),
            Err(error) => {
                error.tell(machine.party());
                Err(error)
            }
        }
    }
}

struct Loaded<M: Machine> {
    machine: M,
    weights: Vec<Operands<M::Share>>,
    demand: Demand,
}

impl<M: Portable> Host for Loaded<M> {
    fn party(&mut self) -> &mut Party {
        self.machine.party()
    }

    fn predict(&mut self, prediction: Prediction) -> Result<Answered, Error> {
        let Loaded {
            machine,
            weights,
            demand,
        } = self;
        let ended = prediction.run(machine, weights, demand);
        ended.inspect_err(|error| error.tell(self.machine.party()))
    }
}

/// What a batch demands, and how many of its items the layers take at a time: known of the last one, since
/// most have as many items.
#[derive(Default)]
pub(super) struct Demand(Option<(usize, Batch, Portions)>);

impl Demand {
    fn of<M: Machine>(
        &mut self,
        n: usize,
        asked: &Prediction,
        machine: &M,
    ) -> Result<(Batch, Portions), Error> {
        if let Some((known, items, portions)) = &self.0
            && *known == n
        {
            return Ok((items.clone(), portions.clone()));
        }
        let (model, most) = (machine.cost_model(), asked.portion);
        let items = Batch::within(most, n, asked.plan, asked.roles, model)?;
        let stages = asked.plan.calls(items.clone(), asked.roles)?;
        let calls = stages.iter().map(|stage| &stage.calls[..]);
        let portions = Portions::new(calls, model, most)?;
        self.0 = Some((n, items.clone(), portions.clone()));
        Ok((items, portions))
    }
}

/// One prediction, once everything is agreed on.
pub(super) struct Prediction<'a> {
    pub plan: &'a Plan,
    pub roles: &'a Roles,
    /// Of the data's owner.
    pub values: Option<&'a [i64]>,
    pub inputs: usize,
    pub batch: usize,
    /// The bytes of material that a party holds at a time.
    pub portion: u64,
    pub ledger: &'a mut Ledger,
    pub observe: Observer<'a>,
}

impl Prediction<'_> {
    pub fn run<M: Machine>(
        mut self,
        machine: &mut M,
        weights: &[Operands<M::Share>],
        demand: &mut Demand,
    ) -> Result<Answered, Error> {
        let parties = machine.party().parties();
        let mut revealed: Option<Vec<i64>> = None;
        let (mut batches, mut before) = (Vec::new(), [0.0; 2]);
        for batch in 0..self.batches() {
            let first = batch * self.batch;
            let n = self.batch.min(self.inputs - first);
            let (items, portions) = demand.of(n, &self, machine)?;
            self.observe("offline", batch)?;
            machine.provide(&portions);
            let item = self.plan.input_len();
            let values = self.values.map(|v| &v[first * item..(first + n) * item]);
            let x = share_input(self.plan, machine, self.roles, n, values)?;
            let count = self.batches();
            let mut cancelled = false;
            let ran = execute(self.plan, machine, weights, x, &items, &mut |p| {
                cancelled = !(self.observe)(Progress {
                    phase: "online",
                    layer: p.layer,
                    index: p.index,
                    layers: p.layers,
                    batch,
                    batches: count,
                });
                let stop = || tacit_protocols::Error::Invalid("cancelled".into());
                if cancelled { Err(stop()) } else { Ok(()) }
            });
            if cancelled {
                return Err(Error::Cancelled);
            }
            let y = ran?;
            let to = hearers(self.roles.receiver, parties);
            let open = || reveal_output(self.plan, machine, self.roles, &y);
            if let Some(values) = self.ledger.watch(("answers", n), to, open)? {
                revealed.get_or_insert_default().extend(values);
            }
            // What follows is no part of the batch.
            machine.party().set_phase(Phase::Setup);
            let phases = [Phase::Offline, Phase::Online];
            let now = phases.map(|phase| Metered::phase(machine.party(), phase).seconds);
            batches.push([now[0] - before[0], now[1] - before[1]]);
            before = now;
        }
        let own = Totals::of(machine.party(), batches);
        Ok((revealed, exchange(machine.party(), own)?))
    }

    fn batches(&self) -> usize {
        self.inputs.div_ceil(self.batch)
    }

    fn observe(&mut self, phase: &'static str, batch: usize) -> Result<(), Error> {
        let progress = Progress {
            phase,
            layer: "",
            index: 0,
            layers: self.plan.layers.len(),
            batch,
            batches: self.batches(),
        };
        if (self.observe)(progress) {
            Ok(())
        } else {
            Err(Error::Cancelled)
        }
    }
}
