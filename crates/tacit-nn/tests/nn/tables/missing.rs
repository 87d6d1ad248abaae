//! Numbers that are missing: what becomes of them by the file, on both sides of every branch, and that none is taken where
//! the file makes NaN of it.

use tacit_nn::graph::{Graph, InputKind, Missing};
use tacit_nn::plan::{Modulus, Plan, PlanOptions, plan};

use super::*;
use crate::fixed::run_fixed;

pub const NAN: f32 = f32::NAN;

pub fn planned(graph: &Graph, samples: Option<&[f32]>, element_bits: u32) -> Plan {
    let options = PlanOptions {
        modulus: Modulus::of_bits(element_bits),
        samples,
        ..PlanOptions::default()
    };
    plan(graph, &options).unwrap_or_else(|e| panic!("{e}"))
}

/// The places of numbers of the input that may be missing.
pub fn places(graph: &Graph) -> Vec<usize> {
    let missing = graph.inputs[0].missing.clone();
    missing.unwrap_or_default().places
}

pub fn table_node(
    op: &str,
    input: &str,
    output: &str,
    attributes: Vec<AttributeProto>,
) -> NodeProto {
    NodeProto {
        domain: "ai.onnx.ml".into(),
        ..node(op, &[input], output, attributes)
    }
}

fn imputer(input: &str, output: &str, numbers: &[f32]) -> NodeProto {
    let attributes = vec![
        float("replaced_value_float", NAN),
        floats("imputed_value_floats", numbers),
    ];
    table_node("Imputer", input, output, attributes)
}

pub fn of(columns: i64, nodes: Vec<NodeProto>, constants: Vec<TensorProto>) -> Graph {
    let model = with_tables(model(&[columns], nodes, constants), 3);
    imported(&model).unwrap_or_else(|e| panic!("{e}"))
}

/// What an imputer puts in place of missing numbers, before and behind a scaler, and of the numbers nothing.
#[test]
fn imputers_replace_what_is_missing() {
    let x = [1.0, NAN, 4.0, NAN, 5.0, NAN];
    let scaler = |input: &str, output: &str| {
        let by = vec![
            floats("offset", &[1.0, 2.0, 3.0]),
            floats("scale", &[2.0, 1.0, 4.0]),
        ];
        table_node("Scaler", input, output, by)
    };
    let first = vec![imputer("x", "n", &[7.0, 8.0, 0.0]), scaler("n", "y")];
    let last = vec![scaler("x", "n"), imputer("n", "y", &[7.0, 8.0, 0.0])];
    for (nodes, told) in [
        (first, [0.0, 6.0, 4.0, 12.0, 3.0, -12.0]),
        (last, [0.0, 8.0, 4.0, 7.0, 3.0, 0.0]),
    ] {
        let graph = of(3, nodes, vec![]);
        assert_eq!(places(&graph), [0, 1, 2]);
        let rows = graph.rows(&x).to_vec();
        assert_eq!(rows[..6], [1.0, 0.0, 4.0, 0.0, 1.0, 0.0]);
        assert_eq!(reference::predict(&graph, &rows).expect("rows"), told);
        let plan = planned(&graph, Some(&rows), 64);
        let found = run_fixed(&plan, &graph, &x);
        assert!(distance(&found, &told) < 1e-3, "{found:?}");
    }
}

/// What a choice by IsNaN puts in their place, by its opposite, too, and IsNaN itself.
#[test]
fn choices_replace_what_is_missing() {
    let number = tensor("c", &[], &[7.0]);
    let which = node("IsNaN", &["x"], "b", vec![]);
    let not = node("Not", &["b"], "n", vec![]);
    let chosen = node("Where", &["b", "c", "x"], "y", vec![]);
    let other = node("Where", &["n", "x", "c"], "y", vec![]);
    let cast = node("Cast", &["b"], "y", vec![int("to", 1)]);
    for (nodes, told) in [
        (vec![which.clone(), chosen], [1.0, 7.0, 4.0, 7.0]),
        (vec![which.clone(), not, other], [1.0, 7.0, 4.0, 7.0]),
        (vec![which, cast], [0.0, 1.0, 0.0, 1.0]),
    ] {
        // Of IsNaN alone the numbers reach no output.
        let graph = of(2, nodes, vec![number.clone()]);
        assert_eq!(places(&graph), [0, 1], "{told:?}");
        let x = graph.rows(&[1.0, NAN, 4.0, NAN]).to_vec();
        assert_eq!(reference::predict(&graph, &x).expect("rows"), told);
    }
}

/// No number may be missing that also reaches an output by a way on which the file makes NaN of it.
#[test]
fn a_number_that_reaches_an_output_may_not_be_missing() {
    let third = ints("third", &[1], &[2]);
    let number = tensor("c", &[], &[7.0]);
    let impute = imputer("x", "i", &[7.0]);
    let asked = node("IsNaN", &["x"], "b", vec![]);
    let one = |op: &str, inputs: &[&str], output: &str| node(op, inputs, output, vec![]);
    let gather = |input: &str, output: &str| {
        let axis = vec![int("axis", 1)];
        node("Gather", &[input, "third"], output, axis)
    };
    let cases: Vec<(&str, Vec<NodeProto>, &[usize])> = vec![
        (
            "beside it",
            vec![impute.clone(), one("Add", &["i", "x"], "y")],
            &[],
        ),
        (
            "one of it",
            vec![
                impute.clone(),
                gather("x", "g"),
                one("Add", &["i", "g"], "y"),
            ],
            &[0, 1],
        ),
        (
            "by a choice of others",
            vec![
                asked.clone(),
                one("Neg", &["x"], "n"),
                one("Where", &["b", "x", "n"], "y"),
            ],
            &[],
        ),
        (
            "of the others",
            vec![asked.clone(), one("Where", &["b", "x", "c"], "y")],
            &[],
        ),
        (
            "asked of a sum",
            vec![
                one("ReduceSum", &["x"], "s"),
                one("IsNaN", &["s"], "t"),
                asked.clone(),
                one("Or", &["b", "t"], "o"),
                node("Cast", &["o"], "y", vec![int("to", 1)]),
            ],
            &[],
        ),
        (
            "times a truth",
            vec![
                asked,
                node("Cast", &["b"], "f", vec![int("to", 1)]),
                one("Mul", &["x", "f"], "y"),
            ],
            &[],
        ),
        (
            "of a replaced number alone",
            vec![
                impute.clone(),
                one("Relu", &["i"], "r"),
                one("Mul", &["r", "i"], "y"),
            ],
            &[0, 1, 2],
        ),
        (
            "after another number is replaced",
            vec![
                table_node(
                    "Imputer",
                    "x",
                    "m",
                    vec![
                        float("replaced_value_float", 0.0),
                        floats("imputed_value_floats", &[1.0]),
                    ],
                ),
                imputer("m", "y", &[7.0]),
            ],
            &[],
        ),
    ];
    for (what, nodes, taken) in cases {
        let graph = of(3, nodes, vec![third.clone(), number.clone()]);
        assert_eq!(places(&graph), taken, "{what}");
    }
}

/// A row has a mark for each number that may be missing, behind those of its input.
#[test]
fn rows_have_marks() {
    let mut graph = of(3, vec![imputer("x", "y", &[7.0])], vec![]);
    let places = vec![0, 2];
    graph.inputs[0].missing = Some(Missing { places, bits: 3 });
    let rows = graph.rows(&[NAN, 2.0, 3.0, 4.0, NAN, NAN]).to_vec();
    assert_eq!(rows[..5], [0.0, 2.0, 3.0, 8.0, 0.0]);
    assert!(rows[5] == 4.0 && rows[6].is_nan() && rows[7..] == [0.0, 0.0, 8.0]);
    assert_eq!((graph.given_len(), graph.row_len()), (3, 5));
    assert_eq!(graph.inputs[0].kind_at(2), InputKind::Numbers);
    assert_eq!(graph.inputs[0].kind_at(3), InputKind::Marks { bits: 3 });
}

/// Behind what may put a number in place of NaN, and by a choice that asks others, too, no number may be missing.
#[test]
fn what_drops_a_number_says_nothing_of_it() {
    let truths = TensorProto {
        data_type: data_type::BOOL,
        int32_data: vec![1, 0],
        ..ints("which", &[2], &[])
    };
    let [zero, five] = [0.0, 5.0].map(|number| tensor(&format!("n{number}"), &[], &[number]));
    let axis = || vec![int("axis", 1)];
    let one = |op: &str, inputs: &[&str], output: &str| node(op, inputs, output, vec![]);
    let second = ints("second", &[1], &[1]);
    let cases: [(&str, Vec<NodeProto>, &[usize]); 4] = [
        (
            "a choice that is known",
            vec![
                one("Where", &["which", "x", "n5"], "w"),
                imputer("w", "y", &[7.0]),
            ],
            &[0],
        ),
        (
            "a power of 0",
            vec![one("Pow", &["x", "n0"], "w"), imputer("w", "y", &[7.0])],
            &[],
        ),
        (
            "a choice that asks for a square",
            vec![
                one("Mul", &["x", "x"], "s"),
                node("Gather", &["x", "second"], "b", axis()),
                node("Gather", &["s", "second"], "t", axis()),
                node("Concat", &["b", "t"], "c", axis()),
                one("IsNaN", &["c"], "m"),
                one("Where", &["m", "n5", "x"], "y"),
            ],
            &[],
        ),
        (
            "an imputer of no number",
            vec![imputer("x", "y", &[7.0, NAN])],
            &[0],
        ),
    ];
    for (what, nodes, taken) in cases {
        let constants = vec![truths.clone(), zero.clone(), five.clone(), second.clone()];
        assert_eq!(places(&of(2, nodes, constants)), taken, "{what}");
    }
}

/// Samples that miss no number are taken once more without some, so that a trial sees what marks do.
#[test]
fn samples_show_what_marks_do() {
    let graph = of(3, vec![imputer("x", "y", &[7.0])], vec![]);
    let given = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let rows = graph.sample_rows(&given).to_vec();
    let told = [
        [1.0, 2.0, 3.0, 0.0, 0.0, 0.0],
        [4.0, 5.0, 6.0, 0.0, 0.0, 0.0],
        [0.0, 2.0, 0.0, 1.0, 0.0, 1.0],
        [4.0, 0.0, 6.0, 0.0, 1.0, 0.0],
    ];
    assert_eq!(rows, told.concat());
    let holes = [NAN, 2.0, 3.0];
    assert_eq!(graph.sample_rows(&holes).len(), 6);
}
