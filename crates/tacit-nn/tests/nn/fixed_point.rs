//! Real models in fixed point, on the clear-text machine, against float32.

use crate::common::*;
use crate::fixed::run_fixed;
use tacit_nn::Plan;
use tacit_nn::plan::{Modulus, Order, PlanOptions, plan};

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

/// The largest distance from the mean.
fn spread(logits: &[f32]) -> f32 {
    let mean = logits.iter().sum::<f32>() / logits.len() as f32;
    logits.iter().fold(0.0, |far, x| far.max((x - mean).abs()))
}

/// Plans with the first half of the samples, and runs the second: the error is at most `bound` of the
/// spread of the logits.
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
    let error = distance(&output, expected) / spread(expected);
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
        "{name} ring {} f {} {:?} error 1/{:.0} agree {agree}/32 {widths:?}\n   {:?}",
        plan.modulus.bits(),
        plan.fraction_bits,
        options.order,
        1.0 / error,
        plan.warnings
    );
    assert!(error <= bound, "{name}: {error} > {bound} of the spread");
    assert!(agree >= 31, "{name}: {agree} of 32 agree");
}

fn with_samples<'a>(element_bits: u32) -> PlanOptions<'a> {
    PlanOptions {
        modulus: Modulus::of_bits(element_bits),
        samples: Some(&[]),
        ..PlanOptions::default()
    }
}

/// Layers that can hold large values, as AlexNet's, leave fewer bits to their weights: ranges that hold
/// whatever the input come before the last place.
#[test]
fn wide_ring_follows_float() {
    for (name, bound) in [
        ("network-a", 2e-5),
        ("network-b", 2e-5),
        ("network-c", 2e-5),
        ("lenet", 2e-5),
        ("alexnet-cifar10", 3e-3),
        ("adult-mlp", 2e-5),
        ("pima-logreg", 2e-5),
        ("gru-fsdd", 1e-4),
        ("fastgrnn-fsdd", 2e-4),
    ] {
        check(name, with_samples(64), bound);
    }
}

/// Fraction bits are given up for ranges that hold whatever the input, as long as a trial errs by no
/// more than 1/64; where no number of them removes every doubt, as with AlexNet, 1/512. Unseen inputs
/// may err by up to four times as much, which is what the plan states.
#[test]
fn narrow_ring_follows_float() {
    for (name, bound) in [
        ("network-a", 1.0 / 40.0),
        ("network-b", 1.0 / 40.0),
        ("network-c", 1.0 / 40.0),
        ("lenet", 1.0 / 40.0),
        ("alexnet-cifar10", 1.0 / 256.0),
    ] {
        check(name, with_samples(32), bound);
    }
}

#[test]
fn no_samples_at_all() {
    for (element_bits, bound) in [(64, 2e-5), (32, 1.0 / 40.0)] {
        for name in ["network-a", "network-b", "network-c", "lenet"] {
            check(
                name,
                PlanOptions {
                    modulus: Modulus::of_bits(element_bits),
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
    for (element_bits, bound) in [(64, 1e-4), (32, 1.0 / 64.0)] {
        let options = PlanOptions {
            order: Order::TruncateThenMultiply,
            ..with_samples(element_bits)
        };
        for name in ["network-b", "network-c"] {
            check(name, options.clone(), bound);
        }
    }
}

#[test]
fn public_model() {
    for (name, bound) in [("network-b", 2e-5), ("alexnet-cifar10", 3e-3)] {
        let options = PlanOptions {
            public_model: true,
            ..with_samples(64)
        };
        check(name, options, bound);
    }
}

/// A product of large values and a weight of 0, whose bits are bounded by nothing but the ring. Seen to fail where
/// they were as many as the ring holds, for what is truncated has a bit left.
#[test]
fn products_with_nothing_are_truncated_within_the_ring() {
    let nodes = vec![
        node("Mul", &["x", "x"], "s", vec![]),
        node("Mul", &["s", "zero"], "y", vec![]),
    ];
    let model = model(&[2], nodes, vec![tensor("zero", &[1], &[0.0])]);
    let graph = imported(&model)
        .unwrap_or_else(|e| panic!("{e}"))
        .optimise();
    for input_range in [1.0, 1e3, 1e6, 4e7] {
        let options = PlanOptions {
            fraction_bits: Some(4),
            input_range: Some(input_range),
            ..PlanOptions::default()
        };
        let plan = plan(&graph, &options).unwrap_or_else(|e| panic!("{e}"));
        let again = Plan::from_bytes(&plan.to_bytes()).unwrap_or_else(|e| panic!("{e}"));
        let x = [input_range as f32, -input_range as f32];
        assert!(distance(&run_fixed(&again, &graph, &x), &[0.0; 2]) <= 1.0 / 16.0);
    }
}
