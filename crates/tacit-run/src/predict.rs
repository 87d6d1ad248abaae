//! Predicts what a program costs before it runs, from what its protocol declares.

pub(crate) mod memory;
pub(crate) mod setup;

use tacit_protocols::Cost;
use tacit_protocols::lowered;
use tacit_protocols::machine::{Call, CostModel};
use tacit_protocols::material_portions::MaterialPortions;

use crate::Error;
use crate::instance::Instance;
use crate::report::{PhaseReport, PredictedCost, Seconds};
use crate::settings::EmulatedNetwork;
use crate::speeds::{Speeds, Work};

/// Words for the seconds of a cost without computing.
const NOTE: &str =
    "seconds are the network's alone: rounds x rtt / 2 + bytes / rate, without local computation";

/// Words for the seconds of a cost with computing.
const MEASURED: &str = "the network's seconds are rounds x rtt / 2 + bytes / rate; computing is told by what calls \
     took on this machine, all parties together";

/// Words for the seconds of a cost whose computing was rehearsed.
const REHEARSED: &str = "the network's seconds are rounds x rtt / 2 + bytes / rate; computing is what this model took on \
     this machine, on inputs that are 0, all parties together";

/// The declared cost on a network of layers, with their material in portions: each layer's hops are counted from
/// its own beginning.
pub(crate) fn predicted<'a>(
    instance: &Instance,
    network: &EmulatedNetwork,
    layers: impl IntoIterator<Item = &'a [Call]>,
    portions: &MaterialPortions,
    speeds: Option<&Speeds>,
) -> Result<PredictedCost, Error> {
    let model = instance.cost()?;
    let nothing = Cost::each(instance.parties, 0, 0);
    let [mut online, mut offline] = [nothing.clone(), nothing];
    let mut computing = speeds.map(|_| Seconds::default());
    for layer in layers {
        let (calls, cost) = of_layer(layer, &*model)?;
        if let (Some(speeds), Some(computing)) = (speeds, &mut computing) {
            computing.online += speeds.computing(&calls, &*model, cost.rounds);
        }
        online += &cost;
    }
    for calls in portions.calls() {
        let cost = model.offline(calls);
        for verification in verifications(calls, &*model) {
            if let (Some(speeds), Some(computing)) = (speeds, &mut computing) {
                computing.online += speeds.at_verification(verification.rounds);
            }
            online += &verification;
        }
        if let (Some(speeds), Some(computing)) = (speeds, &mut computing) {
            computing.offline += speeds.offline(&Work::offline(calls, &*model, cost.rounds));
        }
        offline += &cost;
    }
    let [offline, online] = [offline, online].map(|cost| phase(network, cost));
    let expected = computing.map(|computing| Seconds {
        setup: None,
        offline: expected(network, &offline, computing.offline),
        online: expected(network, &online, computing.online),
    });
    Ok(PredictedCost {
        setup: None,
        offline,
        online,
        note: if computing.is_some() { MEASURED } else { NOTE }.into(),
        computing,
        expected,
        memory: None,
    })
}

/// The calls of a layer as the machine sees them, and what they cost. Where verifications are is a matter of all
/// calls of a portion of material: [`verifications`] counts them.
pub(crate) fn of_layer(calls: &[Call], model: &dyn CostModel) -> Result<(Vec<Call>, Cost), Error> {
    let mut calls = lowered(calls, model)?;
    calls.retain(|call| !is_verification(call));
    let cost = model.in_a_row(&calls);
    Ok((calls, cost))
}

/// What each verification among the calls of a portion costs.
pub(crate) fn verifications(calls: &[Call], model: &dyn CostModel) -> impl Iterator<Item = Cost> {
    let verifications = calls.iter().filter(|call| is_verification(call));
    verifications.map(|call| model.online(call))
}

fn is_verification(call: &Call) -> bool {
    matches!(call, Call::Verify { .. })
}

/// A cost with the seconds that it took to compute.
pub(crate) fn rehearsed(
    cost: PredictedCost,
    network: &EmulatedNetwork,
    computing: Seconds,
) -> PredictedCost {
    let setup = cost.setup.as_ref().zip(computing.setup);
    PredictedCost {
        expected: Some(Seconds {
            setup: setup.map(|(phase, seconds)| expected(network, phase, seconds)),
            offline: expected(network, &cost.offline, computing.offline),
            online: expected(network, &cost.online, computing.online),
        }),
        computing: Some(computing),
        note: REHEARSED.into(),
        ..cost
    }
}

/// A cost with its seconds on a network.
pub(crate) fn phase(network: &EmulatedNetwork, cost: Cost) -> PhaseReport {
    let busiest = cost.bytes.iter().copied().max().unwrap_or(0);
    PhaseReport {
        seconds: network.seconds(cost.rounds, busiest),
        rounds: cost.rounds,
        bytes_sent: cost.bytes,
    }
}

/// The seconds of a phase that computes so long: the parties compute while bytes are on their way, but not while
/// they wait.
pub(crate) fn expected(network: &EmulatedNetwork, phase: &PhaseReport, computing: f64) -> f64 {
    let latency = network.seconds(phase.rounds, 0);
    latency + computing.max(phase.seconds - latency)
}

/// The cost of several parts one after the other, each repeated as often as its number says.
pub(crate) fn in_turn(costs: &[(usize, &PredictedCost)]) -> PredictedCost {
    let sum = |phase: fn(&PredictedCost) -> &PhaseReport| {
        let of = |(n, cost): &(usize, &PredictedCost)| times(*n, phase(cost));
        costs.iter().map(of).sum()
    };
    let seconds = |of: fn(&PredictedCost) -> Option<Seconds>| -> Option<Seconds> {
        let each = |(n, cost): &(usize, &PredictedCost)| Some((*n as f64, of(cost)?));
        costs
            .iter()
            .map(each)
            .try_fold(Seconds::default(), |sum, part| {
                let (n, part) = part?;
                Some(Seconds {
                    setup: None,
                    offline: sum.offline + n * part.offline,
                    online: sum.online + n * part.online,
                })
            })
    };
    let computing = seconds(|cost| cost.computing);
    PredictedCost {
        setup: None,
        offline: sum(|cost| &cost.offline),
        online: sum(|cost| &cost.online),
        note: if computing.is_some() { MEASURED } else { NOTE }.into(),
        computing,
        expected: seconds(|cost| cost.expected),
        memory: None,
    }
}

fn times(n: usize, phase: &PhaseReport) -> PhaseReport {
    let bytes = |sent: &u64| sent.saturating_mul(n as u64);
    PhaseReport {
        seconds: n as f64 * phase.seconds,
        rounds: u32::try_from(n).map_or(u32::MAX, |n| phase.rounds.saturating_mul(n)),
        bytes_sent: phase.bytes_sent.iter().map(bytes).collect(),
    }
}
