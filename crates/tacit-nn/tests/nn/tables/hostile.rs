//! Trees that lie.

use super::*;

/// A tree of two branches and three leaves, with lists changed.
fn with_lists(change: impl Fn(&str, &mut AttributeProto)) -> ModelProto {
    let mut attributes = vec![
        list("nodes_treeids", &[0; 5]),
        list("nodes_nodeids", &[0, 1, 2, 3, 4]),
        list("nodes_featureids", &[0, 0, 1, 0, 0]),
        words(
            "nodes_modes",
            &["BRANCH_LEQ", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
        ),
        floats("nodes_values", &[0.5, 0.0, 1.5, 0.0, 0.0]),
        list("nodes_truenodeids", &[1, 0, 3, 0, 0]),
        list("nodes_falsenodeids", &[2, 0, 4, 0, 0]),
        list("target_treeids", &[0; 3]),
        list("target_nodeids", &[1, 3, 4]),
        list("target_ids", &[0, 0, 0]),
        floats("target_weights", &[1.0, 2.0, 3.0]),
        int("n_targets", 1),
        text("post_transform", "NONE"),
    ];
    for attribute in &mut attributes {
        change(&attribute.name.clone(), attribute);
    }
    of_one(2, "TreeEnsembleRegressor", &["y"], attributes)
}

fn changed(list: &str, change: impl Fn(&mut AttributeProto)) -> ModelProto {
    with_lists(|name, attribute| {
        if name == list {
            change(attribute);
        }
    })
}

#[test]
fn lists_of_unequal_length() {
    for name in [
        "nodes_treeids",
        "nodes_nodeids",
        "nodes_featureids",
        "nodes_truenodeids",
        "nodes_falsenodeids",
    ] {
        let short = changed(name, |a| a.ints.truncate(4));
        refused(
            &short,
            &format!("its '{name}' has 4 entries, 'nodes_modes' 5"),
        );
    }
    let short = changed("nodes_values", |a| a.floats.truncate(2));
    refused(&short, "its 'nodes_values' has 2 entries");
    let short = changed("target_ids", |a| a.ints.truncate(2));
    refused(&short, "have 3, 3, 2 and 3 entries");
    let none = changed("nodes_modes", |a| a.strings.clear());
    refused(&none, "its 'nodes_treeids' has 5 entries, 'nodes_modes' 0");
}

#[test]
fn branches_that_lead_astray() {
    let with = |change: &dyn Fn(&mut AttributeProto), part: &str| {
        refused(&changed("nodes_falsenodeids", change), part);
    };
    with(
        &|a| a.ints[0] = 9,
        "its node 0 of tree 0 leads to node 9, which there is not",
    );
    with(&|a| a.ints[0] = i64::MIN, "which there is not");
    with(
        &|a| a.ints[2] = 0,
        "its node 0 of tree 0 is reached from no root",
    );
    with(
        &|a| a.ints[0] = 1,
        "no branch leads to nodes 0 and 2 of tree 0",
    );
    with(
        &|a| a.ints[2] = 2,
        "no branch leads to nodes 0 and 4 of tree 0",
    );
    let circle = |node: usize, yes: [i64; 5], no: [i64; 5]| {
        with_lists(|name, a| match name {
            "nodes_modes" => a.strings[node] = "BRANCH_LT".into(),
            "nodes_truenodeids" => a.ints = yes.into(),
            "nodes_falsenodeids" => a.ints = no.into(),
            _ if name.starts_with("target_") => {
                a.ints.truncate(1);
                a.floats.truncate(1);
            }
            _ => {}
        })
    };
    let aside = circle(3, [1, 0, 3, 2, 0], [1, 0, 4, 4, 0]);
    refused(&aside, "its node 2 of tree 0 is reached from no root");
    let all = circle(4, [1, 0, 3, 0, 4], [2, 0, 0, 0, 4]);
    refused(&all, "tree 0 has no root: its branches lead in a circle");
    let twice = changed("nodes_nodeids", |a| a.ints[4] = 3);
    refused(&twice, "two nodes 3 of tree 0");
    let joined = with_lists(|name, a| match name {
        "nodes_modes" => a.strings[1] = "BRANCH_LT".into(),
        "nodes_truenodeids" => a.ints = vec![1, 2, 3, 0, 0],
        "nodes_falsenodeids" => a.ints = vec![2, 3, 4, 0, 0],
        "target_nodeids" => a.ints = vec![3, 3, 4],
        _ => {}
    });
    refused(&joined, "its node 2 of tree 0 is reached by two ways");
}

#[test]
fn numbers_out_of_range() {
    refused(
        &changed("nodes_featureids", |a| a.ints[2] = 2),
        "compares feature 2, rows have 2",
    );
    refused(
        &changed("nodes_featureids", |a| a.ints[2] = -1),
        "compares feature -1",
    );
    refused(
        &changed("nodes_values", |a| a.floats[0] = f32::NAN),
        "thresholds must be finite",
    );
    // All numbers are on the same side of what is infinite.
    let beyond = changed("nodes_values", |a| a.floats[2] = f32::INFINITY);
    assert!(imported(&beyond).is_ok());
    refused(
        &changed("target_weights", |a| a.floats[2] = f32::NAN),
        "must be finite",
    );
    refused(
        &changed("target_ids", |a| a.ints[0] = 1),
        "names 1; there are 1",
    );
    refused(
        &changed("target_nodeids", |a| a.ints[0] = 2),
        "a weight of node 2 of tree 0, which is no leaf",
    );
    refused(&changed("n_targets", |a| a.i = Some(i64::MAX)), "more than");
    refused(
        &changed("n_targets", |a| a.i = Some(-1)),
        "it has no targets",
    );
    refused(
        &changed("post_transform", |a| a.s = Some(b"LOGISTIC".to_vec())),
        "of a regressor only NONE",
    );
    let modes = |mode: &str| changed("nodes_modes", |a| a.strings[0] = mode.into());
    refused(
        &modes("BRANCH_BY_MOOD"),
        "its node mode 'BRANCH_BY_MOOD' is not known",
    );
}

#[test]
fn a_tree_that_is_one_leaf_says_nothing() {
    let attributes = vec![
        list("nodes_treeids", &[0]),
        list("nodes_nodeids", &[0]),
        list("nodes_featureids", &[0]),
        words("nodes_modes", &["LEAF"]),
        floats("nodes_values", &[0.0]),
        list("nodes_truenodeids", &[0]),
        list("nodes_falsenodeids", &[0]),
    ];
    refused(
        &of_one(2, "TreeEnsembleRegressor", &["y"], attributes),
        "the same for every row",
    );
}

/// A chain as long as a small file can hold: an error, no stack that overflows.
#[test]
fn a_tree_of_too_many_levels() {
    let n = 30_000;
    let chain = |last: i64, lead: &dyn Fn(i64) -> i64| {
        (0..2 * n + 1)
            .map(|i| if i == last { 0 } else { lead(i) })
            .collect::<Vec<i64>>()
    };
    // Nodes 0..n are branches, the others leaves.
    let branch = |i: i64| i < n;
    let yes = chain(2 * n, &|i| if branch(i) { i + n } else { 0 });
    let no = chain(2 * n, &|i| {
        if branch(i) {
            if i + 1 < n { i + 1 } else { 2 * n }
        } else {
            0
        }
    });
    let modes: Vec<&str> = (0..2 * n + 1)
        .map(|i| if branch(i) { "BRANCH_LEQ" } else { "LEAF" })
        .collect();
    let size = modes.len();
    let attributes = vec![
        list("nodes_treeids", &vec![0; size]),
        list("nodes_nodeids", &(0..2 * n + 1).collect::<Vec<_>>()),
        list("nodes_featureids", &vec![0; size]),
        words("nodes_modes", &modes),
        floats("nodes_values", &vec![0.5; size]),
        list("nodes_truenodeids", &yes),
        list("nodes_falsenodeids", &no),
    ];
    let model = of_one(2, "TreeEnsembleRegressor", &["y"], attributes);
    refused(&model, "more than 40000 operations");
}
