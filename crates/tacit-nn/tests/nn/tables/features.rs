//! Operations on columns.

use super::*;

fn on_rows(op: &str, attributes: Vec<AttributeProto>, x: &[f32]) -> Vec<f32> {
    answers(&of_one(3, op, &["y"], attributes), x)
}

const X: [f32; 6] = [1.0, -2.0, 4.0, 0.0, 5.0, -8.0];

#[test]
fn scalers_take_one_number_or_one_for_each_column() {
    let all = vec![floats("offset", &[1.0]), floats("scale", &[2.0])];
    assert_eq!(
        on_rows("Scaler", all, &X),
        [0.0, -6.0, 6.0, -2.0, 8.0, -18.0]
    );
    let each = vec![
        floats("offset", &[1.0, 0.0, 4.0]),
        floats("scale", &[1.0, 0.5, -1.0]),
    ];
    assert_eq!(
        on_rows("Scaler", each, &X),
        [0.0, -1.0, 0.0, -1.0, 2.5, 12.0]
    );
    let two = of_one(3, "Scaler", &["y"], vec![floats("offset", &[1.0, 2.0])]);
    refused(&two, "its 'offset' has 2 numbers, 3 are needed");
}

#[test]
fn binarizers_are_1_above_the_threshold_alone() {
    let above = on_rows("Binarizer", vec![float("threshold", 1.0)], &X);
    assert_eq!(above, [0.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    assert_eq!(
        on_rows("Binarizer", vec![], &X),
        [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    );
}

#[test]
fn imputers_replace_a_number_and_leave_rows_without_nan_as_they_are() {
    let zero = vec![
        float("replaced_value_float", 0.0),
        floats("imputed_value_floats", &[7.0]),
    ];
    assert_eq!(
        on_rows("Imputer", zero, &X),
        [1.0, -2.0, 4.0, 7.0, 5.0, -8.0]
    );
    let four = vec![
        float("replaced_value_float", 4.0),
        floats("imputed_value_floats", &[1.0, 2.0, 3.0]),
    ];
    assert_eq!(
        on_rows("Imputer", four, &X),
        [1.0, -2.0, 3.0, 0.0, 5.0, -8.0]
    );
    let missing = |number: f32| {
        vec![
            float("replaced_value_float", number),
            floats("imputed_value_floats", &[1.0, 2.0, 3.0]),
        ]
    };
    let scaled = vec![floats("scale", &[2.0])];
    let mut nodes = vec![
        node("Imputer", &["x"], "n", missing(f32::NAN)),
        node("Imputer", &["n"], "a", missing(f32::INFINITY)),
        node("Scaler", &["a"], "y", scaled),
    ];
    nodes
        .iter_mut()
        .for_each(|node| node.domain = "ai.onnx.ml".into());
    let both = with_tables(model(&[3], nodes, vec![]), 1);
    assert_eq!(answers(&both, &X), X.map(|v| 2.0 * v));
}

#[test]
fn normalizers_at_the_end_leave_a_row_of_zeros() {
    for (norm, first) in [("L1", 1.0 / 7.0), ("L2", 1.0 / 21f32.sqrt()), ("MAX", 0.25)] {
        let row = on_rows("Normalizer", vec![text("norm", norm)], &X[..3]);
        assert!((row[0] - first).abs() < 1e-6, "{norm}: {row:?}");
    }
    let unknown = of_one(3, "Normalizer", &["y"], vec![text("norm", "L3")]);
    refused(&unknown, "its 'norm' is 'L3'");
}

#[test]
fn columns_are_chosen_by_constants() {
    let mut chosen = node("ArrayFeatureExtractor", &["x", "i"], "y", vec![]);
    chosen.domain = "ai.onnx.ml".into();
    let at = |places: &[i64]| {
        let places = ints("i", &[places.len() as i64], places);
        with_tables(model(&[3], vec![chosen.clone()], vec![places]), 1)
    };
    assert_eq!(
        answers(&at(&[2, 0, 2]), &X),
        [4.0, 1.0, 4.0, -8.0, 0.0, -8.0]
    );
    refused(&at(&[3]), "its index 3 is outside an axis of 3");
    refused(&at(&[-1]), "its index -1 is negative");
}

#[test]
fn rows_are_put_side_by_side() {
    let with = |sizes: &[i64]| {
        let mut joined = node(
            "FeatureVectorizer",
            &["x", "x"],
            "y",
            vec![list("inputdimensions", sizes)],
        );
        joined.domain = "ai.onnx.ml".into();
        with_tables(model(&[3], vec![joined], vec![]), 1)
    };
    let [a, b, c, ..] = X;
    assert_eq!(answers(&with(&[3, 3]), &X[..3]), [a, b, c, a, b, c]);
    refused(&with(&[3, 2]), "its inputs have [3, 3] columns");
}

#[test]
fn operator_sets_of_the_domain_are_checked() {
    let fine = of_one(3, "Binarizer", &["y"], vec![]);
    let mut without = fine.clone();
    without.opset_import.truncate(1);
    refused(&without, "names no operator set of ai.onnx.ml");
    for version in [0, 6] {
        let mut other = fine.clone();
        other.opset_import[1].version = version;
        refused(
            &other,
            &format!("operator set {version} of ai.onnx.ml; 1 to 5 are supported"),
        );
    }
    // The standard's own operations have no such names, and this domain has none of theirs.
    let mut standard = fine.clone();
    graph(&mut standard).node[0].domain = String::new();
    refused(&standard, "not supported");
    let mut relu = fine;
    graph(&mut relu).node[0].op_type = "Relu".into();
    refused(&relu, "ai.onnx.ml::Relu");
}

fn graph(model: &mut ModelProto) -> &mut GraphProto {
    model.graph.as_mut().expect("a graph")
}
