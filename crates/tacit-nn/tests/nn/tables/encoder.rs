//! Numbers by marks: what stands for leaves of a tree and for categories, and lists by places that are found.

use super::forest::stump;
use super::*;
use tacit_nn::graph::{Node, Op};

/// A stump whose leaves are 1 and 2, and another name for each number.
fn encoded(keys: &[i64], names: &[f32]) -> ModelProto {
    let mut tree = node(
        "TreeEnsembleRegressor",
        &["x"],
        "leaf",
        stump("BRANCH_LEQ", 0.5),
    );
    let attributes = vec![
        list("keys_int64s", keys),
        floats("values_floats", names),
        float("default_float", -7.5),
    ];
    let mut encoder = node("LabelEncoder", &["whole"], "y", attributes);
    let whole = node("Cast", &["leaf"], "whole", vec![int("to", 7)]);
    for table in [&mut tree, &mut encoder] {
        table.domain = "ai.onnx.ml".into();
    }
    with_tables(model(&[1], vec![tree, whole, encoder], vec![]), 3)
}

/// Of equal keys the first counts; what is no key gets the default.
#[test]
fn leaves_have_other_numbers() {
    let x = [0.25, 0.75];
    assert_eq!(
        answers(&encoded(&[2, 1, 2], &[0.5, 40.0, 9.0]), &x),
        [40.0, 0.5]
    );
    assert_eq!(answers(&encoded(&[1], &[3.0]), &x), [3.0, -7.5]);
    refused(&encoded(&[1, 2], &[3.0]), "2 keys and 1 values");
}

/// Whole numbers are found by comparisons half way between them, others by both with the key itself.
#[test]
fn columns_have_other_numbers() {
    let encoder = |keys: AttributeProto| {
        let values = floats("values_floats", &[3.0, -2.0, 8.5]);
        let attributes = vec![keys, values, float("default_float", 0.25)];
        let mut encoder = node("LabelEncoder", &["number"], "y", attributes);
        encoder.domain = "ai.onnx.ml".into();
        encoder
    };
    let whole = node("Floor", &["x"], "number", vec![]);
    let of_whole = vec![whole, encoder(list("keys_int64s", &[1, 2, -5]))];
    let model_of = |nodes| with_tables(model(&[3], nodes, vec![]), 3);
    let x = [1.5, 2.0, -4.5, 0.0, 3.0, 7.25];
    assert_eq!(
        answers(&model_of(of_whole), &x),
        [3.0, -2.0, 8.5, 0.25, 0.25, 0.25]
    );
    let same = node("Identity", &["x"], "number", vec![]);
    let of_others = vec![same, encoder(floats("keys_floats", &[1.5, 3.0, -4.5]))];
    assert_eq!(
        answers(&model_of(of_others), &x),
        [3.0, 0.25, 8.5, 0.25, -2.0, 0.25]
    );
    let odd = node("Floor", &["x"], "number", vec![]);
    let nothing = vec![odd, encoder(floats("keys_floats", &[0.5, 1.5, 2.5]))];
    refused(
        &model_of(nothing),
        "none of its keys is a number that an element may be",
    );
}

/// A row of zeros but for the place of the category; of no category all zeros.
#[test]
fn categories_have_places() {
    let one_hot = |attributes| {
        let whole = node("Floor", &["x"], "whole", vec![]);
        let mut encoder = node("OneHotEncoder", &["whole"], "y", attributes);
        encoder.domain = "ai.onnx.ml".into();
        with_tables(model(&[1], vec![whole, encoder], vec![]), 1)
    };
    let x = [7.5, 3.0, 4.0, 8.0];
    let marks = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0; 3], [0.0, 0.0, 1.0]];
    assert_eq!(
        answers(&one_hot(vec![list("cats_int64s", &[3, 7, 8])]), &x),
        marks.concat()
    );
    for (categories, why) in [
        (list("cats_int64s", &[3, 3]), "one of them twice"),
        (words("cats_strings", &["red"]), "its categories are texts"),
    ] {
        refused(&one_hot(vec![categories]), why);
    }
    let floats = of_one(1, "OneHotEncoder", &["y"], vec![list("cats_int64s", &[1])]);
    refused(&floats, "it encodes numbers that are not whole");
}

/// The list's numbers at the places of the two largest elements, by ArrayFeatureExtractor and by Gather.
#[test]
fn places_choose_from_a_list() {
    for gathers in [false, true] {
        let mut top = node("TopK", &["x", "k"], "v", vec![]);
        top.output.push("places".into());
        let mut chosen = match gathers {
            true => node("Gather", &["list", "places"], "y", vec![]),
            false => node("ArrayFeatureExtractor", &["list", "places"], "y", vec![]),
        };
        if !gathers {
            chosen.domain = "ai.onnx.ml".into();
        }
        let tensors = vec![
            ints("k", &[1], &[2]),
            tensor("list", &[3], &[5.0, 6.5, -7.0]),
        ];
        let model = with_tables(model(&[3], vec![top, chosen], tensors), 3);
        let x = [0.5, 3.0, 1.0, 9.0, -1.0, 2.0];
        assert_eq!(
            answers(&model, &x),
            [6.5, -7.0, 5.0, -7.0],
            "gathers: {gathers}"
        );
    }
}

/// Whatever is made of the leaf of one tree, number by number, is one product with its marks.
#[test]
fn functions_of_leaves_are_chosen() {
    let mut tree = node(
        "TreeEnsembleRegressor",
        &["x"],
        "leaf",
        stump("BRANCH_LEQ", 0.5),
    );
    tree.domain = "ai.onnx.ml".into();
    let nodes = vec![
        tree,
        node("Log", &["leaf"], "log", vec![]),
        node("Greater", &["leaf", "limit"], "is_more", vec![]),
        node("Cast", &["is_more"], "more", vec![int("to", 1)]),
        node("Div", &["log", "leaf"], "share", vec![]),
        node("Add", &["share", "more"], "y", vec![]),
    ];
    let model = with_tables(model(&[1], nodes, vec![tensor("limit", &[1], &[1.5])]), 3);
    let found = answers(&model, &[0.25, 0.75]);
    let wanted = [0.0, 1.0 + 2f32.ln() / 2.0];
    assert!(
        (0..2).all(|i| (found[i] - wanted[i]).abs() < 1e-6),
        "{found:?}"
    );
    let graph = imported(&model).expect("fine").optimise();
    let product = |node: &&Node| matches!(node.op, Op::Linear(_));
    assert_eq!(graph.nodes.iter().filter(product).count(), 1);
    assert!(product(&graph.nodes.last().expect("nodes")));
}
