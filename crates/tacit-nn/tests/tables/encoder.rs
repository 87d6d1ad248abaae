//! Numbers that are chosen by marks: what stands for leaves of a tree, and lists by places that are found.

use super::forest::stump;
use super::*;

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

/// A number that is not chosen by marks has no name, also where it is whole.
#[test]
fn what_is_computed_is_not_encoded() {
    let attributes = vec![list("keys_int64s", &[1]), floats("values_floats", &[3.0])];
    let mut encoder = node("LabelEncoder", &["whole"], "y", attributes);
    encoder.domain = "ai.onnx.ml".into();
    let whole = node("Floor", &["x"], "whole", vec![]);
    let model = with_tables(model(&[1], vec![whole, encoder], vec![]), 3);
    refused(&model, "it encodes computed numbers");
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
