//! Plans in which every tensor has a width and a scale of its own.

use crate::common::*;
use crate::fixed::run_fixed;
use tacit_nn::Graph;
use tacit_nn::plan::{Modulus, Plan, PlanError, PlanOptions, Precision, plan};
use tacit_nn::reference;

fn noise(seed: usize, n: usize, reach: f32) -> Vec<f32> {
    (0..n)
        .map(|i| reach * (((i * 37 + seed * 101 + 11) % 64) as f32 / 32.0 - 1.0))
        .collect()
}

/// A dense layer, a gate of its result, a residual sum and a dense layer.
fn gated() -> Graph {
    let nodes = vec![
        node("Gemm", &["x", "w", "b"], "a", vec![]),
        node("Sigmoid", &["a"], "s", vec![]),
        node("Tanh", &["a"], "t", vec![]),
        node("Mul", &["s", "t"], "p", vec![]),
        node("Add", &["p", "x"], "q", vec![]),
        node("Gemm", &["q", "v"], "y", vec![]),
    ];
    let tensors = vec![
        tensor("w", &[6, 6], &noise(1, 36, 0.9)),
        tensor("b", &[6], &noise(3, 6, 0.1)),
        tensor("v", &[6, 3], &noise(2, 18, 20.0)),
    ];
    imported(&model(&[6], nodes, tensors))
        .unwrap_or_else(|e| panic!("{e}"))
        .optimise()
}

fn planned(graph: &Graph, precision: u32, samples: &[f32]) -> Result<Plan, PlanError> {
    plan(
        graph,
        &PlanOptions {
            precision: Some(Precision::Bits(precision)),
            samples: Some(samples),
            ..PlanOptions::default()
        },
    )
}

#[test]
fn every_bit_of_precision_halves_the_error() {
    let (graph, x) = (gated(), noise(9, 60, 2.0));
    let exact = reference::predict(&graph, &x).expect("a fitting input");
    let largest = exact.iter().fold(0f32, |m, v| m.max(v.abs()));
    for precision in [10, 12, 16, 20, 26] {
        let plan = planned(&graph, precision, &x).unwrap_or_else(|e| panic!("{e}"));
        let fixed = run_fixed(&plan, &graph, &x);
        let unit = largest * f32::exp2(-(precision as f32 - 6.0));
        assert!(
            distance(&fixed, &exact) < unit,
            "{precision}: {}",
            distance(&fixed, &exact) / unit
        );
    }
}

#[test]
fn widths_hold_what_is_planned_and_sums_extend_nothing() {
    let (graph, x) = (gated(), noise(9, 60, 2.0));
    let plan = planned(&graph, 16, &x).expect("it fits");
    assert_eq!(plan.modulus.bits(), 64);
    let mut kinds = std::collections::HashSet::new();
    for (i, layer) in plan.layers.iter().enumerate() {
        let number = plan.number(i + 1);
        let widths = layer.widths.expect("widths of its own");
        kinds.insert((number.bits, number.fraction));
        assert!((8..=17).contains(&number.bits), "{layer:?}");
        // A value stays below a quarter of its range.
        let quarter = f64::from(number.bits as i32 - 2 - number.fraction as i32).exp2();
        assert!(layer.range <= quarter, "{layer:?}");
        assert_eq!(widths.product, number.bits + layer.trunc);
        if layer.op.kind() == "Add" {
            for &id in &layer.inputs {
                let term = plan.number(id);
                assert_eq!(term.fraction, number.fraction);
                assert!(term.bits >= number.bits);
            }
        }
    }
    assert!(kinds.len() > 1, "all tensors are alike: {kinds:?}");
    let again = Plan::from_bytes(&plan.to_bytes()).expect("a valid plan");
    assert_eq!(again.to_bytes(), plan.to_bytes());
}

/// Where half of no precision can be fraction, products keep what the ring has room for.
#[test]
fn wide_ranges_have_plans_too() {
    let attributes = vec![list("kernel_shape", &[3, 3]), list("strides", &[1, 1])];
    let nodes = vec![
        node("AveragePool", &["x"], "a", attributes),
        node("Flatten", &["a"], "f", vec![]),
        node("Gemm", &["f", "w"], "y", vec![]),
    ];
    let tensors = vec![tensor("w", &[4, 3], &noise(2, 12, 90_000.0))];
    let graph = imported(&model(&[1, 4, 4], nodes, tensors)).unwrap_or_else(|e| panic!("{e}"));
    let x = noise(5, 32, 8.0);
    let exact = reference::predict(&graph, &x).expect("a fitting input");
    // Of a deviation of about a million.
    for (precision, bound) in [(Precision::Auto, 2e4), (Precision::Bits(32), 10.0)] {
        let options = PlanOptions {
            precision: Some(precision),
            ..PlanOptions::default()
        };
        let plan = plan(&graph, &options).unwrap_or_else(|e| panic!("{e}"));
        let error = distance(&run_fixed(&plan, &graph, &x), &exact);
        assert!(error < bound, "{precision:?}: {error}");
    }
}

/// Numbers far below 1 have more fraction bits than bits.
#[test]
fn small_values_have_plans_that_others_accept() {
    let nodes = vec![
        node("Mul", &["x", "x"], "s", vec![]),
        node("Mul", &["s", "s"], "y", vec![]),
    ];
    let graph = imported(&model(&[6], nodes, vec![])).unwrap_or_else(|e| panic!("{e}"));
    let x = noise(5, 60, 0.2);
    let plan = planned(&graph, 16, &x).expect("it fits");
    let last = plan.number(2);
    assert!(last.fraction > last.bits, "{last:?}");
    Plan::from_bytes(&plan.to_bytes()).expect("a valid plan");
    let exact = reference::predict(&graph, &x).expect("a fitting input");
    assert!(distance(&run_fixed(&plan, &graph, &x), &exact) < 1e-3);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (graph, x) = (gated(), noise(9, 60, 2.0));
    for precision in [7, 33] {
        let error = planned(&graph, precision, &x).expect_err("refused");
        assert!(error.to_string().contains("8 to 32 bits"), "{error}");
    }
    for options in [
        PlanOptions {
            modulus: Modulus::PowerOfTwo(32),
            ..PlanOptions::default()
        },
        PlanOptions {
            fraction_bits: Some(12),
            ..PlanOptions::default()
        },
    ] {
        let precision = Some(Precision::Bits(16));
        let options = PlanOptions {
            precision,
            ..options
        };
        let error = plan(&graph, &options).expect_err("refused").to_string();
        assert!(error.contains("leave one of them out"), "{error}");
    }
}

#[test]
fn hostile_widths_are_refused() {
    let (graph, x) = (gated(), noise(9, 60, 2.0));
    let good = planned(&graph, 16, &x).expect("it fits");
    let refused = |change: fn(&mut Plan)| {
        let mut plan = good.clone();
        change(&mut plan);
        let error = Plan::from_bytes(&plan.to_bytes()).expect_err("refused");
        error.to_string()
    };
    fn widths(plan: &mut Plan, layer: usize) -> &mut tacit_nn::plan::Widths {
        plan.layers[layer].widths.as_mut().expect("widths")
    }
    for (change, why) in [
        (
            (|p| p.input_widths = None) as fn(&mut Plan),
            "widths of its own",
        ),
        (|p| p.layers[2].widths = None, "widths of its own"),
        (|p| widths(p, 0).bits = 65, "the widths"),
        (|p| widths(p, 0).bits = 0, "the widths"),
        (|p| widths(p, 0).weights = 0, "the widths"),
        (|p| widths(p, 0).weights = 99, "the widths"),
        (|p| widths(p, 0).product += 1, "the widths"),
        (|p| widths(p, 3).product = u32::MAX, "the widths"),
        (|p| widths(p, 1).fraction_bits = 40, "40"),
        (
            |p| {
                let add = p.layers.iter().position(|l| l.op.kind() == "Add");
                let add = widths(p, add.expect("a sum"));
                add.bits = 60;
                add.product = 60;
            },
            "narrower than their sum",
        ),
        (
            |p| {
                p.modulus = Modulus::PowerOfTwo(32);
                p.compare_bits = 32;
            },
            "its input has the widths",
        ),
    ] {
        let error = refused(change);
        assert!(error.contains(why), "{error} without {why}");
    }
}

/// A plan has as few bits as the trial allows, and no layer that an input could lead beyond its width.
#[test]
fn the_precision_is_what_the_ranges_need() {
    let (graph, x) = (gated(), noise(9, 60, 2.0));
    let exact = reference::predict(&graph, &x).expect("a fitting input");
    for samples in [None, Some(&x[..])] {
        let of = |precision| {
            let options = PlanOptions {
                precision: Some(precision),
                samples,
                ..PlanOptions::default()
            };
            plan(&graph, &options).expect("it fits")
        };
        let (auto, fewest) = (of(Precision::Auto), of(Precision::Bits(8)));
        assert!(auto.warnings.is_empty(), "{:?}", auto.warnings);
        assert!(
            auto.error < fewest.error / 8.0,
            "{} {}",
            auto.error,
            fewest.error
        );
        let error = distance(&run_fixed(&auto, &graph, &x), &exact);
        assert!(f64::from(error) <= auto.error, "{error} {}", auto.error);
    }
}
