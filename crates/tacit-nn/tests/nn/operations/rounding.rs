//! Whole numbers, remainders, quantised numbers, and the first of some.

use super::check;
use crate::common::*;
use tacit_nn::graph::Op;
use tacit_nn::onnx::ImportError;
use tacit_nn::onnx::proto::*;
use tacit_nn::plan::{PlanOptions, plan};
use tacit_nn::reference;

/// Halves go to the even number, and whole numbers stay.
#[test]
fn whole_numbers_are_those_of_the_standard() {
    let x = [-2.5, -0.5, 0.5, 1.5, 2.25, 3.0];
    for (op, expected) in [
        ("Floor", [-3., -1., 0., 1., 2., 3.]),
        ("Ceil", [-2., 0., 1., 2., 3., 3.]),
        ("Round", [-2., 0., 0., 2., 2., 3.]),
    ] {
        let nodes = vec![node(op, &["x"], "y", vec![])];
        check(&[6], nodes, vec![], &x, &expected);
    }
}

/// A search among the whole numbers of too wide a range is refused.
#[test]
fn a_search_among_too_many_is_refused() {
    let nodes = vec![
        node("Mul", &["x", "c"], "h", vec![]),
        node("Floor", &["h"], "y", vec![]),
    ];
    let graph = imported(&model(&[1], nodes, vec![tensor("c", &[], &[1e6])]));
    let options = PlanOptions {
        input_range: Some(8.0),
        ..PlanOptions::default()
    };
    let error = plan(&graph.expect("it is imported"), &options).expect_err("it is refused");
    let text = error.to_string();
    assert!(
        text.contains("'the Floor") && text.contains("2^20 whole numbers"),
        "{text}"
    );
}

/// Where only inputs unlike the samples lead beyond the numbers that are searched, the plan says so.
#[test]
fn a_search_that_misses_some_is_warned_of() {
    let nodes = vec![
        node("Mul", &["x", "x"], "h", vec![]),
        node("Floor", &["h"], "y", vec![]),
    ];
    let graph = imported(&model(&[1], nodes, vec![])).expect("it is imported");
    let warnings = |input_range: f64| {
        let options = PlanOptions {
            input_range: Some(input_range),
            samples: Some(&[0.5, 1.25, 2.0, 1.0]),
            ..PlanOptions::default()
        };
        let plan = plan(&graph, &options).unwrap_or_else(|e| panic!("{e}"));
        plan.warnings.join("\n")
    };
    let missed =
        |text: &str| text.contains("'the Floor") && text.contains("is right for arguments");
    assert!(!missed(&warnings(4.0)));
    assert!(missed(&warnings(4000.0)), "{}", warnings(4000.0));
}

/// The sign of the divisor, or of the dividend; by numbers other than 0.
#[test]
fn remainders_have_the_sign_that_is_asked_for() {
    let x = [-7.25, 7.25, -5.5, 5.5];
    let of = |by: f32, fmod| {
        let nodes = vec![node("Mod", &["x", "b"], "y", vec![int("fmod", fmod)])];
        (nodes, vec![tensor("b", &[1], &[by])])
    };
    for (by, fmod, expected) in [
        (3.0, 0, [1.75, 1.25, 0.5, 2.5]),
        (-3.0, 0, [-1.25, -1.75, -2.5, -0.5]),
        (-3.0, 1, [-1.25, 1.25, -2.5, 2.5]),
    ] {
        let (nodes, tensors) = of(by, fmod);
        check(&[4], nodes, tensors, &x, &expected);
    }
    let (nodes, tensors) = of(0.0, 1);
    refused(&model(&[4], nodes, tensors), "it divides by 0");
}

fn refused(model: &ModelProto, part: &str) {
    match imported(model) {
        Err(error @ ImportError::Unsupported(_)) if error.to_string().contains(part) => {}
        other => panic!("{other:?} instead of '{part}'"),
    }
}

/// A zero point of a type.
fn zero(kind: i32, v: &[i32]) -> TensorProto {
    TensorProto {
        dims: if v.len() == 1 {
            vec![]
        } else {
            vec![v.len() as i64]
        },
        data_type: kind,
        name: "z".into(),
        int32_data: v.to_vec(),
        ..Default::default()
    }
}

/// Saturated by the type of the zero point, by one scale or by channels.
#[test]
fn quantised_numbers_are_those_of_their_type() {
    let quantised = |scale: &[f32], zero: TensorProto| {
        let shape = zero.dims.clone();
        let nodes = vec![node(
            "QuantizeLinear",
            &["x", "s", "z"],
            "y",
            vec![int("axis", 1)],
        )];
        (nodes, vec![tensor("s", &shape, scale), zero])
    };
    let x = [-300.0, 1.25, 5.25, 390.0];
    for (scale, zero, expected) in [
        (
            &[2.0][..],
            zero(data_type::UINT8, &[10]),
            [0., 11., 13., 205.],
        ),
        (&[2.0], zero(data_type::INT8, &[1]), [-128., 2., 4., 127.]),
        (
            &[2.0, 4.0],
            zero(data_type::UINT8, &[10, 3]),
            [0., 11., 4., 101.],
        ),
    ] {
        let (nodes, tensors) = quantised(scale, zero);
        check(&[2, 2], nodes, tensors, &x, &expected);
    }
    let (nodes, tensors) = quantised(&[2.0], zero(data_type::INT32, &[1]));
    refused(&model(&[2, 2], nodes, tensors), "numbers of the type int32");
}

/// The range is that of an item, 0 included.
#[test]
fn an_item_is_quantised_by_its_own_range() {
    let nodes = vec![NodeProto {
        output: vec!["y".into(), "s".into(), "z".into()],
        ..node("DynamicQuantizeLinear", &["x"], "y", vec![])
    }];
    let graph = imported(&model(&[4], nodes, vec![])).expect("it is imported");
    let y = reference::predict(&graph, &[-1.0, 0.25, 0.5, 1.0]).expect("an input");
    // Of the range 2 in 255 steps; the zero point is 127.5, and in float32, as of onnxruntime, a little less.
    assert_eq!(y, [0.0, 159.0, 191.0, 254.0]);
}

/// The first of some elements come in their order where they are equal, and no more than there are.
#[test]
fn the_first_of_some_are_in_order() {
    let of = |k: i64, largest| {
        let attributes = vec![int("axis", 1), int("largest", largest)];
        let top = NodeProto {
            output: vec!["v".into(), "p".into()],
            ..node("TopK", &["x", "k"], "v", attributes)
        };
        let nodes = vec![top, node("Concat", &["v", "p"], "y", vec![int("axis", 1)])];
        (nodes, vec![ints("k", &[1], &[k])])
    };
    let x = [1.0, 5.0, 3.0, 5.0, 1.0, 4.0];
    for (k, largest, expected) in [
        (2, 1, [3., 5., 1., 5., 1., 0., 0., 1.]),
        (2, 0, [1., 4., 1., 5., 0., 2., 2., 0.]),
    ] {
        let (nodes, tensors) = of(k, largest);
        check(&[3, 2], nodes, tensors, &x, &expected);
    }
    // Among 1024 places 35 000 signs are taken, where every two would be 529 000.
    let (nodes, tensors) = of(5, 1);
    let graph = imported(&model(&[1024, 1], nodes, tensors)).unwrap_or_else(|e| panic!("{e}"));
    let signs = graph
        .nodes
        .iter()
        .filter(|node| matches!(node.op, Op::NonNegative));
    assert_eq!(
        signs
            .map(|node| node.shape.iter().product::<usize>())
            .sum::<usize>(),
        34_512
    );
    let (nodes, tensors) = of(4, 1);
    let error = imported(&model(&[3, 2], nodes, tensors)).expect_err("there are 3");
    assert!(error.to_string().contains("of 3 elements"), "{error}");
}
