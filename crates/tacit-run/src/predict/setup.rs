//! Predicts what comes before the first prediction. What does not grow with the weights is run in earnest, between
//! threads without a network; sharing the weights is counted.

use std::time::Duration;

use tacit_net::{LinkModel, Phase, memory};
use tacit_protocols::machine::{Call, CostModel, Machine};
use tacit_protocols::{Cost, lowered};

use super::{expected, phase};
use crate::agreement::Agreement;
use crate::instance::Instance;
use crate::job::{Contribution, Planned, agree};
use crate::local::{in_threads, local_terms};
use crate::report::PhaseReport;
use crate::speeds::Speeds;
use crate::terms::Terms;
use crate::totals::Metered;
use crate::{Error, Settings, Tensor};

/// The threads answer at once.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The set-up of a session, and seconds of computing and in all where this machine's speeds are known.
pub(crate) struct Setup {
    pub phase: PhaseReport,
    pub computing: Option<f64>,
    pub expected: Option<f64>,
}

/// The set-up before predictions that make these calls, by portions.
pub(crate) fn setup<'a>(
    planned: Planned,
    instance: &Instance,
    settings: &Settings,
    portions: impl Iterator<Item = &'a [Call]>,
    speeds: Option<&Speeds>,
) -> Result<Setup, Error> {
    let (model, terms) = (instance.cost()?, local_terms(planned, settings)?);
    let begun: PhaseReport = begun(planned, instance, &terms)?.into_iter().collect();
    let shared = lowered(&planned.plan.weight_calls(&terms.roles)?, &*model)?;
    let sharing = sharing(&shared, &*model);
    let keys = model.keys(&portions.collect::<Vec<_>>());
    let computing = speeds.map(|speeds| {
        let sharing = speeds.computing(&shared, &*model, sharing.rounds);
        begun.seconds + sharing + speeds.making_keys(keys.bytes.iter().sum())
    });
    let mut cost = Cost {
        rounds: begun.rounds,
        bytes: begun.bytes_sent,
    };
    cost += &sharing;
    cost += &keys;
    let phase = phase(&settings.network, cost);
    Ok(Setup {
        computing,
        expected: computing.map(|seconds| expected(&settings.network, &phase, seconds)),
        phase,
    })
}

/// Hops and bytes of sharing the weights: their owner waits for nobody between two layers, unless the protocol opens
/// something of them.
fn sharing(calls: &[Call], model: &dyn CostModel) -> Cost {
    let is_input = |call: &&Call| matches!(call, Call::Input { .. });
    let (inputs, others): (Vec<Call>, Vec<Call>) = calls.iter().partition(is_input);
    let mut cost = model.in_a_row(calls);
    if model.in_a_row(&others).rounds == 0 {
        let hops = inputs.iter().map(|call| model.online(call).rounds);
        cost.rounds = hops.max().unwrap_or(0);
    }
    cost
}

/// What each party metered of agreement and keys.
fn begun(planned: Planned, instance: &Instance, terms: &Terms) -> Result<Vec<Metered>, Error> {
    let shape = [&[1][..], &planned.plan.given_shape()].concat();
    let values = vec![0.0; shape.iter().product()];
    let (values, shape) = (&values[..], &shape[..]);
    let mesh = memory::mesh(instance.parties, &LinkModel::LOCAL, TIMEOUT);
    in_threads(mesh, &mut |_| true, |mut party, _| {
        party.set_phase(Phase::Setup);
        let brings = Contribution {
            model: (party.id() == terms.roles.model_owner).then_some(planned),
            input: (party.id() == terms.roles.data_owner)
                .then_some(Tensor { values, shape }.into()),
            labels: None,
            into: None,
        };
        let agreed = agree(Agreement::new(&mut party), terms, brings);
        agreed.inspect_err(|error| error.tell(&mut party))?;
        instance.start(party, |machine| {
            Ok(Metered::phase(machine.party(), Phase::Setup))
        })
    })
}
