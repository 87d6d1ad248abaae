//! A party's machine with a model's weights on it, between requests.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use tacit_net::{Party, Phase};
use tacit_nn::Plan;
use tacit_nn::encode::LayerWeights;
use tacit_nn::execute::{Batch, Operands, execute, reveal_output, share_input, share_weights};
use tacit_nn::plan::Roles;
use tacit_protocols::machine::{Audience, Erased, Machine};
use tacit_protocols::material_portions::MaterialPortions;
use tacit_protocols::record::Stage;

use super::gauge::Curve;
use super::served::{Served, Serving};
use super::{Gauge, Observer, Progress};
use crate::Error;
use crate::instance::Instance;
use crate::record::{Ledger, hearers};
use crate::settings::EmulatedNetwork;
use crate::totals::{Metered, Totals, exchange};

/// What a prediction opens to this party, and what all metered of it.
pub(crate) type Answered = (Option<Vec<i64>>, Vec<Totals>);

/// What a machine that holds a model is made of.
pub(crate) struct Load<'a> {
    pub plan: &'a Plan,
    pub roles: &'a Roles,
    /// The encoded weights, at the model's owner.
    pub weights: Option<&'a [LayerWeights]>,
    pub ledger: &'a mut Ledger,
}

impl Load<'_> {
    /// Makes the party's machine for the plan, shares the weights, and keeps both.
    pub fn start(mut self, instance: &Instance, party: Party) -> Result<Host, Error> {
        let mut machine = instance.comparing(self.plan.compare_bits).make(party)?;
        let weights = self.share(&mut machine);
        Ok(Host {
            weights: weights.inspect_err(|error| error.tell(machine.party()))?,
            machine,
            demand: Demand::default(),
        })
    }

    fn share(&mut self, machine: &mut Erased) -> Result<Vec<Operands>, Error> {
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

/// A machine that holds a model.
pub(crate) struct Host {
    machine: Erased<'static>,
    weights: Vec<Operands>,
    demand: Demand,
}

impl Host {
    /// This party's identity, links and meters.
    pub fn party(&mut self) -> &mut Party {
        self.machine.party()
    }

    /// Answers one request. After an error, of which the others are told, there are no more.
    pub fn predict(&mut self, prediction: Prediction) -> Result<Answered, Error> {
        let ended = prediction.run(&mut self.machine, &self.weights, &mut self.demand);
        ended.inspect_err(|error| error.tell(self.machine.party()))
    }

    /// Answers a batch of requests of clients: this party's part of the answer to each. After an error,
    /// of which the others are told, there are no more.
    pub fn serve(&mut self, served: Served) -> Result<Vec<Vec<u8>>, Error> {
        let ended = served.run(&mut self.machine, &self.weights, &mut self.demand);
        ended.inspect_err(|error| error.tell(self.machine.party()))
    }

    /// Makes material for what clients will ask.
    pub fn fill(&mut self, serving: Serving) -> Result<(), Error> {
        let ended = serving.fill(&mut self.machine, &mut self.demand);
        ended.inspect_err(|error| error.tell(self.machine.party()))
    }
}

/// What batches demand, and how many of their items the layers take at a time, by their sizes: those of the
/// last few, since most batches have as many items as one before.
#[derive(Default)]
pub(crate) struct Demand(Vec<(usize, Demanded)>);

/// What a batch demands, and how it is divided.
#[derive(Clone)]
pub(crate) struct Demanded {
    /// How many items each layer takes at a time.
    pub items: Batch,
    /// The calls of every stage.
    pub stages: Arc<[Stage]>,
    pub portions: MaterialPortions,
    /// How the time goes by, once somebody has asked.
    pub curve: Arc<OnceLock<Curve>>,
}

/// Sizes of batches that are remembered, at most.
const SIZES: usize = 32;

impl Demand {
    /// What `n` items of a plan demand, with at most `most` bytes of material at a time.
    pub fn of(
        &mut self,
        n: usize,
        (plan, roles, most): (&Plan, &Roles, u64),
        machine: &Erased,
    ) -> Result<Demanded, Error> {
        if let Some((_, demanded)) = self.0.iter().find(|(known, _)| *known == n) {
            return Ok(demanded.clone());
        }
        let model = machine.cost_model();
        let items = Batch::within(most, n, plan, roles, model)?;
        let stages = plan.calls(items.clone(), roles)?;
        let calls = stages.iter().map(|stage| &stage.calls[..]);
        let portions = MaterialPortions::new(calls, model, most)?;
        let demanded = Demanded {
            items,
            stages: stages.into(),
            portions,
            curve: Arc::default(),
        };
        self.0.truncate(SIZES - 1);
        self.0.insert(0, (n, demanded.clone()));
        Ok(demanded)
    }
}

/// One prediction, once everything is agreed on.
pub(crate) struct Prediction<'a> {
    pub plan: &'a Plan,
    pub roles: &'a Roles,
    pub instance: &'a Instance,
    pub network: &'a EmulatedNetwork,
    /// The encoded inputs, at the data's owner.
    pub values: Option<&'a [i64]>,
    pub inputs: usize,
    pub batch: usize,
    /// The bytes of a portion of material: what a party makes at a time.
    pub portion_bytes: u64,
    pub ledger: &'a mut Ledger,
    pub observe: Observer<'a>,
}

impl Prediction<'_> {
    pub fn run(
        mut self,
        machine: &mut Erased,
        weights: &[Operands],
        demand: &mut Demand,
    ) -> Result<Answered, Error> {
        let parties = machine.party().parties();
        let mut revealed: Option<Vec<i64>> = None;
        let (mut batches, mut before) = (Vec::new(), [0.0; 2]);
        for batch in 0..self.batches() {
            let first = batch * self.batch;
            let n = self.batch.min(self.inputs - first);
            let asked = (self.plan, self.roles, self.portion_bytes);
            let demanded = demand.of(n, asked, machine)?;
            let gauge = self.gauge(&demanded, [first, first + n], machine.party());
            self.observe("offline", batch, &gauge)?;
            machine.provide(&demanded.portions);
            let item = self.plan.input_len();
            let values = self.values.map(|v| &v[first * item..(first + n) * item]);
            let x = share_input(self.plan, machine, self.roles, n, values)?;
            let count = self.batches();
            let mut cancelled = false;
            let items = &demanded.items;
            let ran = execute(self.plan, machine, weights, x, items, &mut |p| {
                cancelled = !(self.observe)(Progress {
                    phase: "online",
                    layer: p.layer,
                    index: p.index,
                    layers: p.layers,
                    batch,
                    batches: count,
                    gauge: Some(&gauge),
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

    fn gauge(&self, demanded: &Demanded, [first, end]: [usize; 2], party: &Party) -> Arc<Gauge> {
        let sent = party.meter().all_sent();
        Arc::new(Gauge {
            instance: *self.instance,
            network: self.network.clone(),
            party: party.id(),
            demanded: demanded.clone(),
            before: sent.load(Ordering::Relaxed),
            sent,
            inputs: [first, end, self.inputs],
        })
    }

    fn observe(
        &mut self,
        phase: &'static str,
        batch: usize,
        gauge: &Arc<Gauge>,
    ) -> Result<(), Error> {
        let progress = Progress {
            phase,
            layer: "",
            index: 0,
            layers: self.plan.layers.len(),
            batch,
            batches: self.batches(),
            gauge: Some(gauge),
        };
        if (self.observe)(progress) {
            Ok(())
        } else {
            Err(Error::Cancelled)
        }
    }
}
