//! Sines, tangents and their inverses: over the turns that are planned, and what lies beyond.

use super::{check, run_fixed};
use crate::common::*;
use tacit_nn::plan::{PlanOptions, plan};

fn node_of(op: &str) -> Vec<tacit_nn::onnx::proto::NodeProto> {
    vec![node(op, &["x"], "y", vec![])]
}

/// Angles of some turns either way, and on the borders between them.
#[test]
fn sines_repeat_from_turn_to_turn() {
    let x = [
        -20.0, -9.4, -3.2, -1.5707964, -0.5, 0.0, 0.7, 3.15, 6.5, 19.0,
    ];
    for (op, of) in [("Sin", f64::sin as fn(f64) -> f64), ("Cos", f64::cos)] {
        let expected = x.map(|x: f32| of(f64::from(x)) as f32);
        check(&[10], node_of(op), vec![], &x, &expected);
    }
}

/// A factor of `2 pi` with the bits of a weight would be off by a hundredth after so many turns.
#[test]
fn sines_of_many_turns_are_as_right() {
    let x = [-99_999.53, -54_321.75, -6_283.25, 400.5, 31_415.9, 99_999.0];
    let options = PlanOptions {
        samples: Some(&x),
        ..PlanOptions::default()
    };
    for (op, of) in [("Sin", f64::sin as fn(f64) -> f64), ("Cos", f64::cos)] {
        let graph = imported(&model(&[6], node_of(op), vec![])).expect("it is imported");
        let plan = plan(&graph, &options).expect("it is planned");
        let fixed = run_fixed(&plan, &graph, &x);
        let expected = x.map(|x: f32| of(f64::from(x)) as f32);
        assert!(
            distance(&fixed, &expected) < 1e-4,
            "{fixed:?}, not {expected:?}"
        );
    }
}

#[test]
fn tangents_are_right_up_to_near_a_pole() {
    let x = [-2.0, -1.3, -0.5, 0.0, 0.3, 1.2, 2.9, 4.0];
    let expected = x.map(|x: f32| f64::from(x).tan() as f32);
    check(&[8], node_of("Tan"), vec![], &x, &expected);
}

#[test]
fn arcs_are_those_of_both_signs() {
    let x = [-0.96, -0.75, -0.2, 0.0, 0.01, 0.5, 0.9, 0.97];
    for (op, of) in [("Asin", f64::asin as fn(f64) -> f64), ("Acos", f64::acos)] {
        let expected = x.map(|x: f32| of(f64::from(x)) as f32);
        check(&[8], node_of(op), vec![], &x, &expected);
    }
    let x = [-30.0, -1.0, -0.4, 0.0, 0.3, 0.99, 1.01, 5.0];
    let expected = x.map(|x: f32| f64::from(x).atan() as f32);
    check(&[8], node_of("Atan"), vec![], &x, &expected);
}

/// Angles of too many turns are refused: the turns are not searched.
#[test]
fn angles_of_too_many_turns_are_refused() {
    let graph = imported(&model(&[1], node_of("Sin"), vec![])).expect("it is imported");
    let options = PlanOptions {
        input_range: Some(1e8),
        ..PlanOptions::default()
    };
    let error = plan(&graph, &options).expect_err("it is refused");
    let text = error.to_string();
    assert!(text.contains("2^20 whole numbers"), "{text}");
}
