//! Inputs that are only compared are shared as ranks: what float32 tells apart, the shares tell apart.

use tacit_nn::Graph;
use tacit_nn::plan::{KeyBitsChoice, Modulus, Plan, PlanOptions, plan};

use super::forest::{MODES, around, stump};
use super::*;
use crate::fixed::run_fixed;

fn planned(graph: &Graph, options: &PlanOptions) -> Plan {
    plan(graph, options).unwrap_or_else(|e| panic!("{e}"))
}

fn over(element_bits: u32) -> PlanOptions<'static> {
    PlanOptions {
        modulus: Modulus::of_bits(element_bits),
        ..PlanOptions::default()
    }
}

/// A threshold and both floats beside it take their sides, for thresholds of all sizes, which no fixed point holds
/// together.
#[test]
fn neighbours_of_a_threshold_take_their_sides() {
    for mode in MODES {
        for threshold in [0.7, -3.0, 0.0, 1e6, -1e-12, 3e38, -0.05] {
            let model = of_one(1, "TreeEnsembleRegressor", &["y"], stump(mode, threshold));
            let graph = imported(&model).expect("a tree");
            let plan = planned(&graph, &over(64));
            assert!(
                plan.inputs[0].ranked && plan.warnings.is_empty(),
                "{:?}",
                plan.warnings
            );
            let x = around(threshold);
            let exact = reference::predict(&graph, &x).expect("rows");
            assert_eq!(run_fixed(&plan, &graph, &x), exact, "{mode} {threshold}");
        }
    }
}

/// Over 32 bits the last bits of a float are not looked at: numbers that differ before them take their sides.
#[test]
fn a_narrow_ring_holds_the_first_bits() {
    for threshold in [0.7f32, -3.0, 1e6] {
        let model = of_one(
            1,
            "TreeEnsembleRegressor",
            &["y"],
            stump("BRANCH_LEQ", threshold),
        );
        let graph = imported(&model).expect("a tree");
        let plan = planned(&graph, &over(32));
        let told = "the first 29 of the 32 bits";
        assert!(
            plan.warnings.iter().any(|w| w.contains(told)),
            "{:?}",
            plan.warnings
        );
        let apart = threshold.abs() * 1e-6;
        let x = [threshold - apart, threshold, threshold + apart];
        let exact = reference::predict(&graph, &x).expect("rows");
        assert_eq!(exact, [1.0, 1.0, 2.0]);
        assert_eq!(run_fixed(&plan, &graph, &x), exact, "{threshold}");
    }
}

/// The largest and the smallest numbers are taken, and no others; a range that is declared holds.
#[test]
fn numbers_are_taken_up_to_the_range() {
    let model = of_one(1, "TreeEnsembleRegressor", &["y"], stump("BRANCH_LEQ", 1.0));
    let graph = imported(&model).expect("a tree");
    let free = planned(&graph, &over(64));
    let x = [f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45, -0.0];
    assert_eq!(run_fixed(&free, &graph, &x), [2.0, 1.0, 1.0, 1.0, 1.0]);
    let declared = planned(
        &graph,
        &PlanOptions {
            input_range: Some(2.5),
            ..over(64)
        },
    );
    for (plan, within, beyond) in [(&free, f32::MAX, f32::INFINITY), (&declared, 2.5, 2.6)] {
        assert!(plan.encode_input(&[within], &[1, 1]).is_ok());
        for x in [beyond, -beyond, f32::NAN] {
            let refused = plan
                .encode_input(&[x], &[1, 1])
                .expect_err("beyond")
                .to_string();
            assert!(refused.contains("item 0, position [0]"), "{refused}");
        }
    }
}

/// Where an input is more than compared, or signs are taken of few bits, it is a number as others are.
#[test]
fn what_is_added_is_no_rank() {
    let mut model = of_one(1, "TreeEnsembleRegressor", &["y"], stump("BRANCH_LEQ", 1.0));
    let graph = imported(&model).expect("a tree");
    let few = PlanOptions {
        key_bits: KeyBitsChoice::Fixed {
            integer: 6,
            fraction: 12,
        },
        ..over(64)
    };
    assert!(!planned(&graph, &few).inputs[0].ranked);
    let inner = model.graph.as_mut().expect("a graph");
    inner.node.push(node("Add", &["x", "y"], "sum", vec![]));
    inner.output[0].name = "sum".into();
    let graph = imported(&model).expect("a tree and more");
    let plan = planned(&graph, &over(64));
    assert!(!plan.inputs[0].ranked);
    let found = run_fixed(&plan, &graph, &[0.5, 1.5]);
    assert!(
        (found[0] - 1.5).abs() < 1e-3 && (found[1] - 3.5).abs() < 1e-3,
        "{found:?}"
    );
}

/// A plan of ranks is for no model that adds its inputs.
#[test]
fn ranks_are_refused_for_another_model() {
    let model = of_one(1, "TreeEnsembleRegressor", &["y"], stump("BRANCH_LEQ", 1.0));
    let graph = imported(&model).expect("a tree");
    let plan = planned(&graph, &over(64));
    let mut other = graph.clone();
    other.output = 0;
    let refused = plan
        .encode_weights(&other)
        .err()
        .expect("another")
        .to_string();
    assert!(refused.contains("compares its inputs"), "{refused}");
}
