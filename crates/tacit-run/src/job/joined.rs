//! A party that is joined with the others for as many requests as there are.

use std::num::NonZeroUsize;

use tacit_net::{Party, Phase};
use tacit_nn::Plan;
use tacit_nn::encode::LayerWeights;

use super::agree::{Agreed, Asked, agree, agree_again};
use super::host::{Host, Load, Prediction};
use super::{Contribution, Observer, Outcome, Progress};
use crate::agreement::Agreement;
use crate::given::Given;
use crate::outputs::check_holds;
use crate::provenance::Provenance;
use crate::record::Trace;
use crate::score::check_labels;
use crate::terms::Terms;
use crate::{Error, Report};

/// A party whose machine holds a model: a request after the first pays no set-up and shares no weights.
pub(crate) struct Joined {
    pub(super) terms: Terms,
    plan: Plan,
    /// The plan's digest.
    digest: String,
    /// Bytes of correlated randomness that an item takes.
    material: u64,
    pub(super) host: Host,
    /// The number of the last request.
    number: u64,
}

/// A request as one party knows it.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The inputs, at the data's owner.
    pub input: Option<Given<'a>>,
    /// Items predicted at a time.
    pub batch: Option<NonZeroUsize>,
}

impl Joined {
    /// Agrees with the others on everything, makes the machine, shares the model, and answers the first
    /// request; `trace` keeps what is known of it however it ends.
    pub fn begin(
        mut party: Party,
        terms: &Terms,
        brings: Contribution,
        trace: &mut Trace,
        observe: Observer,
    ) -> Result<(Self, Outcome), Error> {
        party.set_phase(Phase::Setup);
        party.set_layer("agreement");
        let agreed = agree(Agreement::new(&mut party), terms, brings);
        let Agreed {
            plan,
            digest,
            material,
            asked,
        } = agreed.inspect_err(|error| error.tell(&mut party))?;
        let encoded = encoded(&plan, brings, asked.inputs);
        let (weights, values) = encoded.inspect_err(|error| error.tell(&mut party))?;
        if !observe(setup(&plan, &asked)) {
            Error::Cancelled.tell(&mut party);
            return Err(Error::Cancelled);
        }
        note(trace, &digest, &asked);
        let load = Load {
            plan: &plan,
            roles: &terms.roles,
            weights: weights.as_deref(),
            ledger: &mut trace.ledger,
        };
        let host = load.start(&terms.instance, party);
        let mut joined = Joined {
            host: host.map_err(|e| e.after(&trace.ledger))?,
            terms: terms.clone(),
            plan: plan.into_owned(),
            digest,
            material,
            number: 0,
        };
        let outcome = joined.answer(&asked, values.as_deref(), trace, observe)?;
        Ok((joined, outcome))
    }

    /// Agrees with the others on the next request, and answers it.
    pub fn again(
        &mut self,
        request: Request,
        trace: &mut Trace,
        observe: Observer,
    ) -> Result<Outcome, Error> {
        self.number += 1;
        self.terms.batch = request.batch;
        let party = self.host.party();
        party.restart_meter();
        party.set_layer("agreement");
        let brings = Contribution {
            model: None,
            input: request.input,
            labels: None,
            into: None,
        };
        let given = request.input.map(|input| input.items(&self.plan));
        let agreement = Agreement::new(party);
        let asked = given.transpose().and_then(|given| {
            agree_again(agreement, &self.terms, self.material, self.number, given)
        });
        let encoded = asked.and_then(|asked| {
            let (_, values) = encoded(&self.plan, brings, asked.inputs)?;
            Ok((asked, values))
        });
        let (asked, values) = encoded.inspect_err(|error| error.tell(self.host.party()))?;
        note(trace, &self.digest, &asked);
        self.answer(&asked, values.as_deref(), trace, observe)
    }

    /// The plan of the model that the parties compute.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    fn answer(
        &mut self,
        asked: &Asked,
        values: Option<&[i64]>,
        trace: &mut Trace,
        observe: Observer,
    ) -> Result<Outcome, Error> {
        let prediction = Prediction {
            plan: &self.plan,
            roles: &self.terms.roles,
            instance: &self.terms.instance,
            network: &self.terms.network,
            values,
            inputs: asked.inputs,
            batch: asked.batch,
            portion_bytes: self.terms.portion_bytes,
            ledger: &mut trace.ledger,
            observe,
        };
        let ended = self.host.predict(prediction);
        let (revealed, totals) = ended.map_err(|e| e.after(&trace.ledger))?;
        let Asked { inputs, batch } = *asked;
        Ok(Outcome {
            output: revealed
                .map(|revealed| self.plan.finish(&revealed))
                .transpose()?,
            outputs: self.plan.outputs.clone(),
            report: Report {
                revealed: trace.ledger.revealed(),
                provenance: Provenance::of(trace),
                ..Report::of_prediction(&self.terms, &self.plan, inputs, batch, &totals)
            },
        })
    }
}

/// What is known of a run once it is agreed on.
fn note(trace: &mut Trace, digest: &str, &Asked { inputs, batch }: &Asked) {
    trace.plan = Some(digest.into());
    trace.inputs = Some(inputs);
    tracing::debug!("the parties agree: {inputs} inputs in batches of {batch}");
}

fn setup<'a>(plan: &Plan, asked: &Asked) -> Progress<'a> {
    Progress {
        phase: "setup",
        layer: "",
        index: 0,
        layers: plan.layers.len(),
        batch: 0,
        batches: asked.batches(),
        gauge: None,
    }
}

/// What this party brings, as the plan's numbers.
#[expect(
    clippy::type_complexity,
    reason = "the weights and the values, where there are any"
)]
fn encoded(
    plan: &Plan,
    brings: Contribution,
    inputs: usize,
) -> Result<(Option<Vec<LayerWeights>>, Option<Vec<i64>>), Error> {
    if let Some(labels) = brings.labels {
        check_labels(plan, labels, inputs)?;
    }
    if let Some(path) = brings.into {
        check_holds(path, &plan.outputs)?;
    }
    let weights = (brings.model).map(|model| plan.encode_weights(model.graph));
    let values = (brings.input).map(|x| x.encoded(plan));
    Ok((weights.transpose()?, values.transpose()?))
}
