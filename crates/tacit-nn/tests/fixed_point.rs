//! Real models in fixed point, on the clear-text machine, against float32.

mod common;
#[path = "common/recorder.rs"]
mod recorder;

use common::{distance, models, real, samples};
use recorder::run_fixed;
use tacit_nn::plan::{Order, PlanOptions, plan};

/// The samples to plan with and those to test with.
fn halves(x: &[f32]) -> (&[f32], &[f32]) {
    x.split_at(x.len() / 2)
}

fn arg_max(logits: &[f32], classes: usize) -> Vec<usize> {
    let best = |row: &[f32]| {
        (0..classes)
            .max_by(|&a, &b| row[a].total_cmp(&row[b]))
            .unwrap_or(0)
    };
    logits.chunks(classes).map(best).collect()
}

fn check(name: &str, options: PlanOptions, bound: f32) {
    let Some(folder) = models() else { return };
    let graph = real(&folder, name)
        .unwrap_or_else(|e| panic!("{e}"))
        .optimise();
    let (x, logits) = (
        samples(&folder, name, "x"),
        samples(&folder, name, "logits"),
    );
    let (seen, unseen) = halves(&x);
    let options = if options.samples.is_some() {
        PlanOptions {
            samples: Some(seen),
            ..options
        }
    } else {
        options
    };
    let plan = plan(&graph, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
    let output = run_fixed(&plan, &graph, unseen);
    let expected = &logits[logits.len() / 2..];
    let error = distance(&output, expected);
    let classes = plan.revealed_len();
    let agree = arg_max(&output, classes)
        .iter()
        .zip(arg_max(expected, classes))
        .filter(|&(a, b)| *a == b)
        .count();
    let widths: Vec<String> = plan
        .layers
        .iter()
        .filter(|l| l.weight_bits > 0)
        .map(|l| format!("{}:{}", l.name, l.weight_bits))
        .collect();
    println!(
        "{name} ring {} f {} {:?} error {error:.5} agree {agree}/32 {widths:?}\n   {:?}",
        plan.ring_bits, plan.fraction_bits, options.order, plan.warnings
    );
    assert!(error <= bound, "{name}: {error} > {bound}");
    assert!(agree >= 31, "{name}: {agree} of 32 agree");
}

fn with_samples<'a>(ring_bits: u32) -> PlanOptions<'a> {
    PlanOptions {
        ring_bits,
        samples: Some(&[]),
        ..PlanOptions::default()
    }
}

#[test]
fn wide_ring_follows_float() {
    for (name, bound) in [
        ("network-a", 5e-4),
        ("network-b", 5e-4),
        ("network-c", 5e-4),
        ("lenet", 5e-4),
        ("alexnet-cifar10", 1e-3),
        ("adult-mlp", 5e-4),
        ("pima-logreg", 1e-4),
        ("gru-fsdd", 2e-3),
        ("fastgrnn-fsdd", 5e-3),
    ] {
        check(name, with_samples(64), bound);
    }
}

/// Of logits with deviations of 5 and more. Fraction bits are given up for ranges that hold whatever the
/// input, as long as a trial errs by no more than 1/128 of the deviation.
#[test]
fn narrow_ring_follows_float() {
    for (name, bound) in [
        ("network-a", 0.2),
        ("network-b", 0.2),
        ("network-c", 0.2),
        ("lenet", 0.2),
        ("alexnet-cifar10", 0.2),
    ] {
        check(name, with_samples(32), bound);
    }
}

#[test]
fn no_samples_at_all() {
    for (ring_bits, bound) in [(64, 1e-3), (32, 0.25)] {
        for name in ["network-a", "network-b", "network-c", "lenet"] {
            check(
                name,
                PlanOptions {
                    ring_bits,
                    input_range: Some(1.0),
                    ..PlanOptions::default()
                },
                bound,
            );
        }
    }
}

#[test]
fn truncate_then_multiply() {
    for (ring_bits, bound) in [(64, 3e-3), (32, 0.2)] {
        let options = PlanOptions {
            order: Order::TruncateThenMultiply,
            ..with_samples(ring_bits)
        };
        for name in ["network-b", "network-c"] {
            check(name, options.clone(), bound);
        }
    }
}

#[test]
fn public_model() {
    check(
        "network-b",
        PlanOptions {
            public_model: true,
            ..with_samples(64)
        },
        2e-3,
    );
    check(
        "alexnet-cifar10",
        PlanOptions {
            public_model: true,
            ..with_samples(64)
        },
        1e-2,
    );
}
