//! Features of trees that are missing: on both sides of every branch, over every ring.

use prost::Message;
use tacit_nn::encode::EncodeError;
use tacit_nn::graph::Graph;
use tacit_nn::onnx::{self, ImportOptions, MissingValues};

use super::forest::{MODES, stump};
use super::missing::{NAN, of, places, planned, table_node};
use super::*;
use crate::fixed::run_fixed;

/// A tree of one branch, with or without the way of a missing feature.
fn branch(mode: &str, threshold: f32, tracks: i64) -> Vec<AttributeProto> {
    let tracks = list("nodes_missing_value_tracks_true", &[tracks, 0, 0]);
    [stump(mode, threshold), vec![tracks]].concat()
}

/// The tree as it is imported where samples have missing numbers.
fn with_missing(model: &ModelProto) -> Graph {
    let options = ImportOptions {
        missing: MissingValues::Given,
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

/// A number and another's mark are no rank together, and a threshold just below a power of two is no mark.
#[test]
fn marks_belong_to_their_numbers() {
    let first = ints("first", &[1], &[0]);
    let second = ints("second", &[1], &[1]);
    let gather = |which: &str, output: &str| {
        let axis = vec![int("axis", 1)];
        node("Gather", &["x", which], output, axis)
    };
    let mut tree = table_node(
        "TreeEnsembleRegressor",
        "s",
        "y",
        branch("BRANCH_LEQ", 0.5, 1),
    );
    tree.input = vec!["s".into()];
    let nodes = vec![
        gather("first", "a"),
        gather("second", "b"),
        node("IsNaN", &["b"], "t", vec![]),
        node("Cast", &["t"], "m", vec![int("to", 1)]),
        node("Add", &["a", "m"], "s", vec![]),
        tree,
    ];
    let graph = of(2, nodes, vec![first, second]);
    assert_eq!(places(&graph), [1]);
    let x = [0.25, NAN, 0.75, NAN, 0.25, 2.0, 0.75, 2.0];
    let told = [2.0, 2.0, 1.0, 2.0];
    let rows = graph.rows(&x).to_vec();
    assert_eq!(reference::predict(&graph, &rows).expect("rows"), told);
    for bits in [64, 32] {
        let plan = planned(&graph, Some(&rows), bits);
        assert!(!plan.inputs[0].ranked);
        assert_eq!(run_fixed(&plan, &graph, &x), told);
    }
    for (mode, threshold) in [("BRANCH_GT", 255.99998), ("BRANCH_LT", -1.999_999_9)] {
        let scaled = table_node("Scaler", "x", "s", vec![floats("scale", &[1.5])]);
        let mut tree = table_node(
            "TreeEnsembleRegressor",
            "s",
            "y",
            branch(mode, threshold, 1),
        );
        tree.input = vec!["s".into()];
        let graph = of(1, vec![scaled, tree], vec![]);
        let rows = graph.rows(&[NAN, 0.5]).to_vec();
        let plan = planned(&graph, Some(&rows), 32);
        assert_eq!(run_fixed(&plan, &graph, &[NAN, 0.5]), [1.0, 2.0], "{mode}");
    }
}

/// CatBoost writes the least and the largest of all floats for what may be missing: no plan with marks takes them.
#[test]
fn thresholds_that_only_missing_features_pass() {
    for (mode, threshold, tracks, told) in [
        ("BRANCH_GT", f32::MIN, 0, [2.0, 1.0]),
        ("BRANCH_GT", f32::MIN, 1, [1.0, 1.0]),
        ("BRANCH_GT", f32::MAX, 1, [1.0, 2.0]),
        ("BRANCH_GT", f32::MAX, 0, [2.0, 2.0]),
        ("BRANCH_LEQ", f32::MAX, 0, [2.0, 1.0]),
        ("BRANCH_LT", f32::MIN, 1, [1.0, 2.0]),
        ("BRANCH_GTE", f32::MIN, 0, [2.0, 1.0]),
    ] {
        let attributes = branch(mode, threshold, tracks);
        let model = of_one(1, "TreeEnsembleRegressor", &["y"], attributes);
        let graph = with_missing(&model);
        let x = [NAN, 3.0];
        let rows = graph.rows(&x).to_vec();
        assert_eq!(reference::predict(&graph, &rows).expect("rows"), told);
        let plan = planned(&graph, Some(&rows), 64);
        assert_eq!(
            run_fixed(&plan, &graph, &x),
            told,
            "{mode} {threshold} {tracks}"
        );
        if plan.inputs[0].ranked {
            let beyond = plan.encode_input(&[f32::MAX], &[1, 1]);
            assert!(matches!(beyond, Err(EncodeError::Value { .. })));
        }
    }
}
