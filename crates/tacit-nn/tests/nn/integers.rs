//! Integers among a file's constants, beside values that are floats of 32 bits until they are numbers of a plan.

use crate::common::*;
use tacit_nn::onnx::proto::*;

fn refused(model: &ModelProto, part: &str) {
    let error = imported(model).expect_err("it is refused").to_string();
    assert!(error.contains(part), "'{error}' does not say '{part}'");
}

/// A model of one input of integers of this type.
fn of_integers(kind: i32, nodes: Vec<NodeProto>, tensors: Vec<TensorProto>) -> ModelProto {
    let mut file = model(&[2], nodes, tensors);
    let input = &mut file.graph.as_mut().expect("a graph").input[0];
    let r#type = input.r#type.as_mut().expect("a type");
    r#type.tensor_type.as_mut().expect("a tensor").elem_type = kind;
    file
}

#[test]
fn integers_that_float32_lacks_are_refused_and_the_largest_stands_for_all() {
    let with = |op: &str, number: i64| {
        of_integers(
            data_type::INT64,
            vec![node(op, &["x", "c"], "y", vec![])],
            vec![ints("c", &[1], &[number])],
        )
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

/// Numbers of 8 and 16 bits wrap in a file where they are too large: they are refused where they may be.
#[test]
fn short_integers_that_may_wrap_are_refused() {
    let typed = |kind: i32, values: &[i32]| TensorProto {
        data_type: kind,
        int32_data: values.to_vec(),
        ..ints("c", &[1], &[])
    };
    let with = |op: &str, kind: i32, number: i32| {
        let nodes = vec![
            node("Cast", &["x"], "t", vec![int("to", data_type::BOOL.into())]),
            node("Cast", &["t"], "b", vec![int("to", kind.into())]),
            node(op, &["b", "c"], "y", vec![]),
        ];
        of_integers(kind, nodes, vec![typed(kind, &[number])])
    };
    for (kind, name, least, most) in [
        (data_type::UINT8, "uint8", 0, 255),
        (data_type::INT8, "int8", -128, 127),
        (data_type::UINT16, "uint16", 0, 65535),
        (data_type::INT16, "int16", -32768, 32767),
    ] {
        let why = format!("its results are {name} and may be below {least} or above {most}");
        // Of a truth and a constant the sum is just within, or just beyond.
        imported(&with("Add", kind, most - 1)).expect("it is within");
        refused(&with("Add", kind, most), &why);
        imported(&with("Mul", kind, most)).expect("it is within");
        imported(&with("Sub", kind, 0)).expect("it is within");
        refused(&with("Sub", kind, 1 - least), &why);
        // Of any number of the type nothing is.
        let of_any = |op| {
            let nodes = vec![node(op, &["x", "c"], "y", vec![])];
            of_integers(kind, nodes, vec![typed(kind, &[1])])
        };
        refused(&of_any("Add"), &why);
        imported(&of_any("Max")).expect("it is within");
    }
    // What is taken from 1 is a mask, whose numbers are 0 and 1.
    let nodes = vec![node("Sub", &["c", "x"], "y", vec![])];
    let one = typed(data_type::INT8, &[1]);
    imported(&of_integers(data_type::INT8, nodes, vec![one])).expect("it is a mask");
    let nodes = vec![node("Add", &["x", "c"], "y", vec![])];
    let wide = of_integers(data_type::INT32, nodes, vec![typed(data_type::INT32, &[1])]);
    imported(&wide).expect("it hardly wraps");
}
