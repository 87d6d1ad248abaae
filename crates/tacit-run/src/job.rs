//! The program that every party runs: agree, share the model, predict batch after batch, compare
//! meters.

mod settle;

use std::fmt;

use tacit_net::{Party, Phase};
use tacit_nn::encode::LayerWeights;
use tacit_nn::execute::{execute, reveal_output, share_input, share_weights};
use tacit_nn::plan::Roles;
use tacit_nn::{Graph, Plan};
use tacit_protocols::machine::{Audience, Call, Machine};
use tacit_protocols::mixed::lowered;

use crate::agreement::Agreement;
use crate::digest::hash;
use crate::record::{Ledger, Trace, hearers};
use crate::registry::{self, Program};
use crate::score::check_labels;
use crate::terms::Terms;
use crate::totals::{Metered, Totals, exchange};
use crate::{Error, Report, Tensor};

pub(crate) use settle::{Agreed, INPUTS, MATERIAL_BYTES, settle};

/// A model with its plan for this run.
#[derive(Clone, Copy)]
pub(crate) struct Planned<'a> {
    pub graph: &'a Graph,
    pub plan: &'a Plan,
}

/// What one party brings.
#[derive(Clone, Copy)]
pub(crate) struct Contribution<'a> {
    /// Of the model's owner.
    pub model: Option<Planned<'a>>,
    /// Of the data's owner.
    pub input: Option<Tensor<'a>>,
    /// The true classes of the input, where there are any.
    pub labels: Option<&'a [i64]>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// `setup`, `offline` or `online`.
    pub phase: &'static str,
    /// The layer's name; empty outside the layers.
    pub layer: &'a str,
    /// The layer's number, from 0.
    pub index: usize,
    /// The number of layers.
    pub layers: usize,
    /// The batch's number, from 0.
    pub batch: usize,
    /// The number of batches.
    pub batches: usize,
}

impl Progress<'_> {
    /// Steps done in a hundred.
    pub fn percent(&self) -> usize {
        let (done, total) = self.steps();
        100 * done / total.max(1)
    }

    /// Steps done and steps in all: an offline phase and the layers, for every batch.
    pub fn steps(&self) -> (usize, usize) {
        let per_batch = self.layers + 1;
        let within = if self.phase == "online" {
            1 + self.index
        } else {
            0
        };
        (self.batch * per_batch + within, self.batches * per_batch)
    }
}

/// Hears how far the run is; `false` cancels it.
pub(crate) type Observer<'a> = &'a mut dyn FnMut(Progress) -> bool;

/// What a run ends with at one party.
#[derive(Clone)]
pub struct Outcome {
    /// The model's outputs, item after item; `None` for a party that does not learn them.
    pub output: Option<Vec<f32>>,
    /// The shape of one output item.
    pub output_shape: Vec<usize>,
    /// What the run cost.
    pub report: Report,
}

/// Without the outputs: they are the data owner's.
impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Outcome")
            .field("outputs", &self.output.as_ref().map(Vec::len))
            .field("output_shape", &self.output_shape)
            .field("report", &self.report)
            .finish()
    }
}

/// Runs one party's part; `trace` keeps what is known of it however it ends.
pub(crate) fn run(
    mut party: Party,
    terms: &Terms,
    brings: Contribution,
    trace: &mut Trace,
    observe: Observer,
) -> Result<(Outcome, Plan), Error> {
    party.set_phase(Phase::Setup);
    party.set_layer("agreement");
    let agreed = settle(Agreement::new(&mut party), terms, brings);
    let Agreed {
        plan,
        inputs,
        batch,
    } = agreed.inspect_err(|error| error.tell(&mut party))?;
    if let Some(labels) = brings.labels {
        check_labels(&plan, labels, inputs).inspect_err(|error| error.tell(&mut party))?;
    }
    trace.plan = Some(hash(&plan.to_bytes()));
    trace.inputs = Some(inputs);
    tracing::debug!("the parties agree: {inputs} inputs in batches of {batch}");
    let (weights, values) = encoded(&plan, brings).inspect_err(|error| error.tell(&mut party))?;
    let prediction = Prediction {
        plan: &plan,
        roles: &terms.roles,
        weights: weights.as_deref(),
        values: values.as_deref(),
        inputs,
        batch,
        ledger: &mut trace.ledger,
        observe,
    };
    let instance = terms.instance.comparing(plan.compare_bits);
    let ended = registry::start(&instance, party, prediction);
    let (revealed, totals) = ended.map_err(|e| e.after(&trace.ledger))?;
    let outcome = Outcome {
        output: revealed
            .map(|revealed| plan.finish(&revealed))
            .transpose()?,
        output_shape: plan.output_shape.clone(),
        report: Report {
            revealed: trace.ledger.revealed(),
            ..Report::of_prediction(terms, &plan, inputs, batch, &totals)
        },
    };
    Ok((outcome, plan.into_owned()))
}

/// What this party brings, as the plan's numbers.
#[expect(
    clippy::type_complexity,
    reason = "the weights and the values, where there are any"
)]
fn encoded(
    plan: &Plan,
    brings: Contribution,
) -> Result<(Option<Vec<LayerWeights>>, Option<Vec<i64>>), Error> {
    let weights = (brings.model).map(|model| plan.encode_weights(model.graph));
    let values = (brings.input).map(|x| plan.encode_input(x.values, x.shape));
    Ok((weights.transpose()?, values.transpose()?))
}

fn tell(party: &mut Party, step: &'static str, bytes: &[u8]) -> Result<(), tacit_protocols::Error> {
    let us = party.id();
    for peer in (0..party.parties()).filter(|&peer| peer != us) {
        party.send(peer, step, bytes.to_vec())?;
    }
    Ok(())
}

/// The prediction itself, once everything is agreed on.
pub(crate) struct Prediction<'a> {
    pub plan: &'a Plan,
    pub roles: &'a Roles,
    /// Of the model's owner.
    pub weights: Option<&'a [LayerWeights]>,
    /// Of the data's owner.
    pub values: Option<&'a [i64]>,
    pub inputs: usize,
    pub batch: usize,
    pub ledger: &'a mut Ledger,
    pub observe: Observer<'a>,
}

impl Program for Prediction<'_> {
    type Output = (Option<Vec<i64>>, Vec<Totals>);

    fn run<M: Machine>(mut self, machine: &mut M) -> Result<Self::Output, Error> {
        self.observe("setup", 0)?;
        let parties = machine.party().parties();
        let mut share = || share_weights(self.plan, machine, self.roles, self.weights);
        let weights = match self.plan.public_model {
            true => {
                let (all, n) = (hearers(Audience::All, parties), self.plan.parameters());
                self.ledger.watch(("weights", n), all, share)?
            }
            false => share()?,
        };
        let mut revealed: Option<Vec<i64>> = None;
        let (mut batches, mut before) = (Vec::new(), [0.0; 2]);
        for batch in 0..self.batches() {
            let first = batch * self.batch;
            let n = self.batch.min(self.inputs - first);
            let calls = self.plan.calls(n, self.roles);
            let calls: Vec<Call> = calls.into_iter().flat_map(|layer| layer.calls).collect();
            let calls = lowered(&calls, machine.cost_model())?;
            self.observe("offline", batch)?;
            level(machine.party())?;
            machine.prepare(&calls)?;
            level(machine.party())?;
            machine.party().set_phase(Phase::Online);
            let item = self.plan.input_len();
            let values = self.values.map(|v| &v[first * item..(first + n) * item]);
            let x = share_input(self.plan, machine, self.roles, n, values)?;
            let count = self.batches();
            let mut cancelled = false;
            let ran = execute(self.plan, machine, &weights, x, n, &mut |p| {
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
}

impl Prediction<'_> {
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

/// Waits until every party is here, so that no phase is charged for another's stragglers.
pub(crate) fn level(party: &mut Party) -> Result<(), tacit_protocols::Error> {
    const STEP: &str = "level";
    party.set_phase(Phase::Setup);
    party.set_layer(STEP);
    tell(party, STEP, &[])?;
    let us = party.id();
    for peer in (0..party.parties()).filter(|&peer| peer != us) {
        party.recv(peer, STEP, 0)?;
    }
    Ok(())
}
