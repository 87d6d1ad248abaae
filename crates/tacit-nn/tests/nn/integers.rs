//! Integers among a file's constants, beside values that are floats of 32 bits until they are numbers of a plan.

use crate::common::*;
use tacit_nn::onnx::proto::*;

fn refused(model: &ModelProto, part: &str) {
    let error = imported(model).expect_err("it is refused").to_string();
    assert!(error.contains(part), "'{error}' does not say '{part}'");
}

#[test]
fn integers_that_float32_lacks_are_refused_and_the_largest_stands_for_all() {
    let with = |op: &str, number: i64| {
        let mut file = model(
            &[2],
            vec![node(op, &["x", "c"], "y", vec![])],
            vec![ints("c", &[1], &[number])],
        );
        let input = &mut file.graph.as_mut().expect("a graph").input[0];
        let r#type = input.r#type.as_mut().expect("a type");
        r#type.tensor_type.as_mut().expect("a tensor").elem_type = data_type::INT64;
        file
    };
    for op in ["Add", "Sub", "Mul", "Equal", "Less", "Min"] {
        let why = "the tensor 'c' holds 16777217 at element 0, which float32 does not hold";
        refused(&with(op, (1 << 24) + 1), why);
        refused(&with(op, -(1 << 24) - 1), "which float32 does not hold");
    }
    for number in [1 << 24, (1 << 24) + 2, 1_600_000_000] {
        imported(&with("Sub", number)).expect("it is supported");
    }
    for most in [i64::MAX, i64::from(i32::MAX)] {
        imported(&with("Min", most)).expect("it is supported");
    }
}
