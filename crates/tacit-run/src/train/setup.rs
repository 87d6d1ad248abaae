//! Predicts what a training does beside its mini-batches: agreement, keys, sharing weights and data, and opening the
//! weights at the end. What does not grow with the data is run in earnest, between threads without a network.

use std::time::Duration;

use tacit_net::{LinkModel, memory};
use tacit_protocols::Cost;
use tacit_protocols::machine::Call;

use super::cost::{Counter, Sizes};
use super::items::together;
use super::program::train;
use super::{Dataset, Task, TrainOptions};
use crate::Error;
use crate::local::in_threads;
use crate::predict::{expected, phase};
use crate::record::Trace;
use crate::report::{PhaseReport, PredictedCost, Seconds};

/// Hops that the parties wait for each other around a portion of material.
const LEVELS: u32 = 2;
/// How long a thread waits for another.
const TIMEOUT: Duration = Duration::from_secs(600);

/// The set-up of a training, with seconds of computing and in all where this machine's speeds are known.
pub(super) struct Setup {
    phase: PhaseReport,
    computing: Option<f64>,
    expected: Option<f64>,
}

impl Setup {
    /// The cost with this set-up before it.
    pub fn before(self, cost: PredictedCost) -> PredictedCost {
        let with = |seconds: Option<Seconds>, setup| seconds.map(|s| Seconds { setup, ..s });
        PredictedCost {
            setup: Some(self.phase),
            computing: with(cost.computing, self.computing),
            expected: with(cost.expected, self.expected),
            ..cost
        }
    }
}

/// The set-up of a training on so many items, which makes so many portions of material; those of a step are for these
/// calls.
pub(super) fn setup(
    counter: &Counter,
    options: &TrainOptions,
    (sizes, portions): (Sizes, usize),
    calls: &[&[Call]],
) -> Result<Setup, Error> {
    let begun = begun(counter, options, sizes)?;
    let mut cost = Cost {
        rounds: begun.rounds + LEVELS * u32::try_from(portions).unwrap_or(u32::MAX / LEVELS),
        bytes: begun.bytes_sent.clone(),
    };
    // The run in earnest has shared an item of each part.
    let [train, test] = [sizes.train, sizes.test].map(one_each);
    let one = Sizes {
        train: &train,
        test: &test,
    };
    let [all, one] = [sizes, one].map(|sizes| counter.model.in_a_row(&inputs(counter, sizes)));
    for (bytes, (all, one)) in cost.bytes.iter_mut().zip(all.bytes.iter().zip(&one.bytes)) {
        *bytes += all - one;
    }
    let keys = counter.model.keys(calls);
    cost += &keys;
    let network = &counter.terms.network;
    let computing = counter.speeds.map(|speeds| {
        let sharing = speeds.computing(&inputs(counter, sizes), counter.model, all.rounds);
        begun.seconds + sharing + speeds.making_keys(keys.bytes.iter().sum())
    });
    let phase = phase(network, cost);
    Ok(Setup {
        computing,
        expected: computing.map(|seconds| expected(network, &phase, seconds)),
        phase,
    })
}

/// One item of each part.
fn one_each(parts: &[(usize, usize)]) -> Vec<(usize, usize)> {
    parts
        .iter()
        .map(|&(owner, items)| (owner, items.min(1)))
        .collect()
}

/// The calls that share the data.
fn inputs(counter: &Counter, sizes: Sizes) -> Vec<Call> {
    let network = counter.training.network;
    let mut calls = Vec::new();
    for &(owner, items) in sizes.train.iter().chain(sizes.test) {
        for width in [network.inputs(), network.outputs()] {
            let most = together(width);
            let pieces = (0..items).step_by(most);
            calls.extend(pieces.map(|first| Call::Input {
                owner,
                n: most.min(items - first) * width,
            }));
        }
    }
    calls
}

/// What a training without mini-batches on an item of each part meters outside its steps.
fn begun(counter: &Counter, options: &TrainOptions, sizes: Sizes) -> Result<PhaseReport, Error> {
    let (training, terms) = (&counter.training, counter.terms);
    let options = &TrainOptions {
        stop_after: Some(0),
        checkpoint: None,
        ..options.clone()
    };
    let x = vec![0.0; training.network.inputs()];
    let mut target = vec![0.0; training.network.outputs()];
    target[0] = 1.0;
    let [train_sets, test_sets] = [sizes.train, sizes.test].map(|parts| {
        let some = parts.iter().filter(|(_, items)| *items > 0);
        let set = |&(owner, _): &(usize, usize)| Dataset {
            owner,
            x: &x,
            target: &target,
        };
        some.map(set).collect::<Vec<_>>()
    });
    let task = Task {
        network: training.network,
        train: &train_sets,
        test: &test_sets,
        start: None,
    };
    let mesh = memory::mesh(terms.instance.parties, &LinkModel::LOCAL, TIMEOUT);
    let all = in_threads(mesh, &mut |_| true, |party, observe| {
        let mut trace = Trace::default();
        train(
            party,
            terms,
            options,
            training.fixed,
            task,
            &mut trace,
            observe,
        )
    })?;
    let first = all.into_iter().next();
    Ok(first
        .map(|trained| trained.report.setup)
        .unwrap_or_default())
}
