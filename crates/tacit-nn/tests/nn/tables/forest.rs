//! Trees: every mode of a branch at, below and above its threshold, and how trees are joined.

use super::*;

/// The modes of branches that ask for one number.
pub const MODES: [&str; 6] = [
    "BRANCH_LEQ",
    "BRANCH_LT",
    "BRANCH_GTE",
    "BRANCH_GT",
    "BRANCH_EQ",
    "BRANCH_NEQ",
];

/// One tree of one branch that leads to 1 or to 2.
pub fn stump(mode: &str, threshold: f32) -> Vec<AttributeProto> {
    vec![
        list("nodes_treeids", &[0, 0, 0]),
        list("nodes_nodeids", &[0, 1, 2]),
        list("nodes_featureids", &[0, 0, 0]),
        words("nodes_modes", &[mode, "LEAF", "LEAF"]),
        floats("nodes_values", &[threshold, 0.0, 0.0]),
        list("nodes_truenodeids", &[1, 0, 0]),
        list("nodes_falsenodeids", &[2, 0, 0]),
        list("target_treeids", &[0, 0]),
        list("target_nodeids", &[1, 2]),
        list("target_ids", &[0, 0]),
        floats("target_weights", &[1.0, 2.0]),
        int("n_targets", 1),
    ]
}

fn of_rows(attributes: Vec<AttributeProto>, x: &[f32]) -> Vec<f32> {
    answers(&of_one(1, "TreeEnsembleRegressor", &["y"], attributes), x)
}

/// What is just below a number, the number, and what is just above it.
pub fn around(v: f32) -> [f32; 3] {
    [v.next_down(), v, v.next_up()]
}

#[test]
fn branches_ask_what_their_mode_says() {
    for (mode, told) in [
        ("BRANCH_LEQ", [1.0, 1.0, 2.0]),
        ("BRANCH_LT", [1.0, 2.0, 2.0]),
        ("BRANCH_GTE", [2.0, 1.0, 1.0]),
        ("BRANCH_GT", [2.0, 2.0, 1.0]),
        ("BRANCH_EQ", [2.0, 1.0, 2.0]),
        ("BRANCH_NEQ", [1.0, 2.0, 1.0]),
    ] {
        for threshold in [0.7, -3.0, 0.0, 1e6] {
            let found = of_rows(stump(mode, threshold), &around(threshold));
            assert_eq!(found, told, "{mode} {threshold}");
        }
    }
}

/// LightGBM tells 0 from the negative numbers by such thresholds: a plan holds neither.
#[test]
fn thresholds_beside_0_are_told_by_strictness() {
    for (mode, threshold, told) in [
        ("BRANCH_LEQ", 1e-35, [1.0, 1.0, 2.0]),
        ("BRANCH_LEQ", -1e-35, [1.0, 2.0, 2.0]),
        ("BRANCH_LT", 1e-35, [1.0, 1.0, 2.0]),
        ("BRANCH_GTE", 1e-35, [2.0, 2.0, 1.0]),
        ("BRANCH_GT", -1e-35, [2.0, 1.0, 1.0]),
        ("BRANCH_GT", 1e-35, [2.0, 2.0, 1.0]),
    ] {
        let model = of_one(1, "TreeEnsembleRegressor", &["y"], stump(mode, threshold));
        let graph = imported(&model).expect("a tree");
        let x = [-0.25, 0.0, 0.25];
        assert_eq!(
            reference::predict(&graph, &x).expect("rows"),
            told,
            "{mode} {threshold}"
        );
        // What is encoded is no such number.
        let tiny = |v: &f32| *v != 0.0 && v.abs() < 1e-30;
        let terms = graph
            .nodes
            .iter()
            .flat_map(|node| node.op.weights()[1].to_vec());
        let zeros = terms.filter(|v| tiny(v)).count();
        let moved = matches!(
            (mode, threshold > 0.0),
            ("BRANCH_LEQ" | "BRANCH_GT", false) | ("BRANCH_LT" | "BRANCH_GTE", true)
        );
        assert_eq!(zeros == 0, moved, "{mode} {threshold}");
    }
}

/// Doubles between two floats: of floats they tell what the doubles do.
#[test]
fn thresholds_may_be_doubles() {
    let between = (f64::from(1.0f32) + f64::from(1.0f32.next_up())) / 2.0;
    for (mode, told) in [
        ("BRANCH_LEQ", [1.0, 1.0, 2.0]),
        ("BRANCH_LT", [1.0, 1.0, 2.0]),
        ("BRANCH_GTE", [2.0, 2.0, 1.0]),
        ("BRANCH_EQ", [2.0, 2.0, 2.0]),
        ("BRANCH_NEQ", [1.0, 1.0, 1.0]),
    ] {
        let mut attributes = stump(mode, 0.0);
        attributes.retain(|a| a.name != "nodes_values");
        let doubles = TensorProto {
            dims: vec![3],
            data_type: data_type::DOUBLE,
            double_data: vec![between, 0.0, 0.0],
            ..Default::default()
        };
        attributes.push(held("nodes_values_as_tensor", doubles));
        assert_eq!(of_rows(attributes, &around(1.0)), told, "{mode}");
    }
}

/// Where inputs are doubles, a threshold that one of them equals is rounded as it is.
#[test]
fn thresholds_are_rounded_as_inputs_of_doubles_are() {
    let number = f64::from(1.0f32.next_up()) - 1e-8;
    for (mode, told) in [("BRANCH_LEQ", 1.0), ("BRANCH_LT", 2.0), ("BRANCH_EQ", 1.0)] {
        let mut attributes = stump(mode, 0.0);
        attributes.retain(|a| a.name != "nodes_values");
        let doubles = TensorProto {
            dims: vec![3],
            data_type: data_type::DOUBLE,
            double_data: vec![number, 0.0, 0.0],
            ..Default::default()
        };
        attributes.push(held("nodes_values_as_tensor", doubles));
        let mut model = of_one(1, "TreeEnsembleRegressor", &["y"], attributes);
        let graph = model.graph.as_mut().expect("a graph");
        let input = graph.input[0].r#type.as_mut().expect("a type");
        input.tensor_type.as_mut().expect("a tensor").elem_type = data_type::DOUBLE;
        assert_eq!(answers(&model, &[number as f32]), [told], "{mode}");
    }
}

/// A branch by the categories 1 and 3, as converters write LightGBM's: one branch for each, which lead to the same
/// branch; the last number asks for one that is known.
#[test]
fn chains_of_categories_are_one_branch() {
    let tree = |asked: [f32; 3]| {
        let [a, b, c] = asked;
        vec![
            list("nodes_treeids", &[0; 7]),
            list("nodes_nodeids", &[0, 1, 2, 3, 4, 5, 6]),
            list("nodes_featureids", &[0; 7]),
            words(
                "nodes_modes",
                &[
                    "BRANCH_EQ",
                    "BRANCH_EQ",
                    "BRANCH_EQ",
                    "BRANCH_LEQ",
                    "LEAF",
                    "LEAF",
                    "LEAF",
                ],
            ),
            floats("nodes_values", &[a, b, c, 2.0, 0.0, 0.0, 0.0]),
            list("nodes_truenodeids", &[3, 3, 3, 4, 0, 0, 0]),
            list("nodes_falsenodeids", &[1, 2, 6, 5, 0, 0, 0]),
            list("target_treeids", &[0; 3]),
            list("target_nodeids", &[4, 5, 6]),
            list("target_ids", &[0; 3]),
            floats("target_weights", &[10.0, 20.0, 30.0]),
        ]
    };
    let x = [0.0, 1.0, 1.5, 2.0, 3.0, 4.0];
    for (asked, told) in [
        ([1.0, 3.0, 3.0], [30.0, 10.0, 30.0, 30.0, 20.0, 30.0]),
        ([4.0, 0.0, 1.0], [10.0, 10.0, 30.0, 30.0, 30.0, 20.0]),
    ] {
        assert_eq!(of_rows(tree(asked), &x), told, "{asked:?}");
    }
}

/// Of two trees, one of which has two levels: leaves 1 and 2, and 10, 20 and 30.
fn two_trees(aggregate: &str, base: f32) -> Vec<AttributeProto> {
    vec![
        list("nodes_treeids", &[4, 4, 4, 1, 1, 1, 1, 1]),
        list("nodes_nodeids", &[0, 1, 2, 3, 0, 5, 1, 2]),
        list("nodes_featureids", &[0, 0, 0, 1, 0, 0, 0, 0]),
        words(
            "nodes_modes",
            &[
                "BRANCH_LEQ",
                "LEAF",
                "LEAF",
                "BRANCH_LT",
                "LEAF",
                "BRANCH_GT",
                "LEAF",
                "LEAF",
            ],
        ),
        floats("nodes_values", &[0.0, 0.0, 0.0, 5.0, 0.0, 1.0, 0.0, 0.0]),
        list("nodes_truenodeids", &[1, 0, 0, 5, 0, 1, 0, 0]),
        list("nodes_falsenodeids", &[2, 0, 0, 0, 0, 2, 0, 0]),
        list("target_treeids", &[4, 4, 1, 1, 1]),
        list("target_nodeids", &[1, 2, 0, 1, 2]),
        list("target_ids", &[0, 0, 0, 0, 0]),
        floats("target_weights", &[1.0, 2.0, 10.0, 20.0, -30.0]),
        text("aggregate_function", aggregate),
        floats("base_values", &[base]),
    ]
}

#[test]
fn trees_are_joined_as_asked() {
    // Rows that reach 1 and -30, 2 and 10, and 2 and 20.
    let x = [0.0, 0.0, 1.0, 5.0, 1.5, 0.0];
    for (aggregate, joined) in [
        ("SUM", [-29.0, 12.0, 22.0]),
        ("AVERAGE", [-14.5, 6.0, 11.0]),
        ("MIN", [-30.0, 2.0, 2.0]),
        ("MAX", [1.0, 10.0, 20.0]),
    ] {
        let model = of_one(
            2,
            "TreeEnsembleRegressor",
            &["y"],
            two_trees(aggregate, 0.5),
        );
        assert_eq!(answers(&model, &x), joined.map(|v| v + 0.5), "{aggregate}");
    }
}

/// Rows of 2 branches of operator set 5: one of members, and leaves that two branches share.
fn ensemble(members: &[f32]) -> Vec<AttributeProto> {
    let numbers = |values: &[f32]| tensor("t", &[values.len() as i64], values);
    let modes = TensorProto {
        dims: vec![2],
        data_type: data_type::UINT8,
        raw_data: Some(vec![6, 0].into()),
        ..Default::default()
    };
    vec![
        int("n_targets", 2),
        held("nodes_modes", modes),
        held("nodes_splits", numbers(&[0.0, 1.5])),
        list("nodes_featureids", &[0, 0]),
        list("nodes_truenodeids", &[0, 0]),
        list("nodes_trueleafs", &[1, 1]),
        list("nodes_falsenodeids", &[1, 1]),
        list("nodes_falseleafs", &[0, 1]),
        list("tree_roots", &[0]),
        list("leaf_targetids", &[0, 1]),
        held("leaf_weights", numbers(&[3.0, 4.0])),
        held("membership_values", numbers(members)),
    ]
}

#[test]
fn members_are_told_from_others() {
    let with = |members: &[f32]| {
        let mut model = of_one(1, "TreeEnsemble", &["y"], ensemble(members));
        model.opset_import[1].version = 5;
        model
    };
    let found = answers(
        &with(&[7.0, 2.0, 7.0, f32::NAN]),
        &[2.0, 7.0, 5.0, 1.0, 2.25],
    );
    assert_eq!(found, [3.0, 0.0, 3.0, 0.0, 0.0, 4.0, 3.0, 0.0, 0.0, 4.0]);
    refused(&with(&[]), "has no set for node 0");
    refused(
        &with(&[1.0, f32::NAN, 2.0, f32::NAN]),
        "more sets than branches ask for",
    );
    let mut old = with(&[1.0]);
    old.opset_import[1].version = 4;
    refused(&old, "operator set 4 does not have it: it came with 5");
}

/// Of one target onnxruntime takes the first weight of a leaf and no other, of several targets it adds all.
#[test]
fn a_leaf_of_one_target_has_one_weight() {
    let said = |targets: i64| {
        let mut attributes = stump("BRANCH_LEQ", 0.5);
        attributes.retain(|a| !a.name.starts_with("target_") && a.name != "n_targets");
        attributes.extend([
            int("n_targets", targets),
            list("target_treeids", &[0, 0, 0]),
            list("target_nodeids", &[1, 1, 2]),
            list("target_ids", &[0, 0, 0]),
            floats("target_weights", &[3.0, 4.0, 5.0]),
        ]);
        answers(
            &of_one(1, "TreeEnsembleRegressor", &["y"], attributes),
            &[0.0, 1.0],
        )
    };
    assert_eq!(said(1), [3.0, 5.0]);
    assert_eq!(said(2), [7.0, 0.0, 5.0, 0.0]);
}
