//! Numbers that are missing: what becomes of them by the file, on both sides of every branch, and that none is taken where
//! the file makes NaN of it.

use prost::Message;
use tacit_nn::encode::EncodeError;
use tacit_nn::graph::{Graph, InputKind, Missing};
use tacit_nn::onnx::{self, ImportOptions};
use tacit_nn::plan::{Modulus, Plan, PlanOptions, plan};

use super::forest::stump;
use super::*;
use crate::fixed::run_fixed;

const NAN: f32 = f32::NAN;

fn planned(graph: &Graph, samples: Option<&[f32]>, element_bits: u32) -> Plan {
    let options = PlanOptions {
        modulus: Modulus::of_bits(element_bits),
        samples,
        ..PlanOptions::default()
    };
    plan(graph, &options).unwrap_or_else(|e| panic!("{e}"))
}

/// The places of numbers of the input that may be missing.
fn places(graph: &Graph) -> Vec<usize> {
    let missing = graph.inputs[0].missing.clone();
    missing.unwrap_or_default().places
}

fn table_node(op: &str, input: &str, output: &str, attributes: Vec<AttributeProto>) -> NodeProto {
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

fn of(columns: i64, nodes: Vec<NodeProto>, constants: Vec<TensorProto>) -> Graph {
    let model = with_tables(model(&[columns], nodes, constants), 3);
    imported(&model).unwrap_or_else(|e| panic!("{e}"))
}

const MODES: [&str; 6] = [
    "BRANCH_LEQ",
    "BRANCH_LT",
    "BRANCH_GTE",
    "BRANCH_GT",
    "BRANCH_EQ",
    "BRANCH_NEQ",
];

/// A tree of one branch, with or without the way of a missing feature.
fn branch(mode: &str, threshold: f32, tracks: i64) -> Vec<AttributeProto> {
    let tracks = list("nodes_missing_value_tracks_true", &[tracks, 0, 0]);
    [stump(mode, threshold), vec![tracks]].concat()
}

/// The tree as it is imported where samples have missing numbers.
fn with_missing(model: &ModelProto) -> Graph {
    let options = ImportOptions {
        missing: true,
        ..ImportOptions::default()
    };
    let bytes = model.encode_to_vec();
    onnx::import(&bytes, None, &options).unwrap_or_else(|e| panic!("{e}"))
}

/// A missing feature leads where the file says, the yes of NaN's own comparison or of the branch's attribute, and
/// numbers where they lead without it, in fixed point over both rings, too.
#[test]
fn a_missing_feature_leads_where_its_branch_says() {
    for mode in MODES {
        for threshold in [
            0.7,
            -3.0,
            0.0,
            1e6,
            1e-35,
            -1e-35,
            f32::INFINITY,
            f32::NEG_INFINITY,
        ] {
            let asks = ["BRANCH_EQ", "BRANCH_NEQ"].contains(&mode);
            if asks && (threshold.is_infinite() || threshold.abs() == 1e-35) {
                continue;
            }
            for tracks in [0, 1] {
                let attributes = branch(mode, threshold, tracks);
                let model = of_one(1, "TreeEnsembleRegressor", &["y"], attributes);
                let graph = with_missing(&model);
                assert_eq!(places(&graph), [0], "{mode} {threshold}");
                let x = [NAN, -2e6, 0.0, 2e6];
                let asked = |v: f32| match mode {
                    "BRANCH_LEQ" => v <= threshold,
                    "BRANCH_LT" => v < threshold,
                    "BRANCH_GTE" => v >= threshold,
                    "BRANCH_GT" => v > threshold,
                    "BRANCH_EQ" => v == threshold,
                    _ => v != threshold,
                };
                let told = x.map(|v| match asked(v) || tracks == 1 && v.is_nan() {
                    true => 1.0,
                    false => 2.0,
                });
                let found = reference::predict(&graph, &graph.rows(&x)).expect("rows");
                assert_eq!(found, told, "{mode} {threshold} {tracks}");
                for bits in [64, 32] {
                    let plan = planned(&graph, Some(&graph.rows(&x)), bits);
                    // Of what holds of every number there is nothing to compare.
                    assert!(
                        plan.inputs[0].ranked || threshold.is_infinite(),
                        "{mode} {threshold}"
                    );
                    let found = run_fixed(&plan, &graph, &x);
                    assert_eq!(found, told, "{mode} {threshold} {tracks} over {bits}");
                }
            }
        }
    }
}

/// Trees take missing features unasked where some branch says where they lead, and not where none does.
#[test]
fn trees_say_whether_features_may_be_missing() {
    for (threshold, tracks, taken) in [(0.5, 0, false), (0.5, 1, true), (f32::INFINITY, 0, true)] {
        let attributes = branch("BRANCH_LEQ", threshold, tracks);
        let model = of_one(1, "TreeEnsembleRegressor", &["y"], attributes);
        let graph = imported(&model).expect("a tree");
        assert_eq!(places(&graph).len(), usize::from(taken), "{threshold}");
        let plan = planned(&graph, None, 64);
        let encoded = plan.encode_input(&[NAN], &[1, 1]);
        match taken {
            true => assert_eq!(encoded.expect("a mark").len(), 2),
            false => {
                let error = encoded.expect_err("no mark");
                assert!(matches!(error, EncodeError::Value { .. }));
                let told = error.to_string();
                assert!(told.contains("does not say what becomes"), "{told}");
            }
        }
    }
}

/// Behind a scaler a missing feature stands for what the scaler makes of 0, which is beyond no threshold by itself.
#[test]
fn features_are_missing_behind_scalers() {
    for tracks in [0, 1] {
        let scaled = vec![floats("offset", &[70.0]), floats("scale", &[-2.0])];
        let mut tree = table_node(
            "TreeEnsembleRegressor",
            "s",
            "y",
            branch("BRANCH_GT", 3.0, tracks),
        );
        tree.input = vec!["s".into()];
        let nodes = vec![table_node("Scaler", "x", "s", scaled), tree];
        let graph = with_missing(&with_tables(model(&[1], nodes, vec![]), 3));
        let x = [NAN, 68.0, 69.0];
        let told = [2.0 - tracks as f32, 1.0, 2.0];
        let found = reference::predict(&graph, &graph.rows(&x)).expect("rows");
        assert_eq!(found, told);
        let rows = graph.rows(&x).to_vec();
        let plan = planned(&graph, Some(&rows), 64);
        assert!(!plan.inputs[0].ranked);
        assert_eq!(run_fixed(&plan, &graph, &x), told);
    }
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
