//! Models of a free batch that stands beside other axes in one, or first turns to another place.

use super::*;
use tacit_nn::onnx::ImportError;

/// Two items of three by two.
const X: [f32; 12] = [1., 2., 3., 4., 0., -1., 5., -2., 1., 1., 2., 3.];

fn shaped(name: &str, sizes: &[i64]) -> TensorProto {
    ints(name, &[sizes.len() as i64], sizes)
}

/// Nodes between which the batch is merged with the rows of an item.
fn merged(between: &[NodeProto]) -> Vec<NodeProto> {
    let mut nodes = vec![node("Reshape", &["x", "flat"], "a", vec![])];
    nodes.extend_from_slice(between);
    nodes.push(node("Reshape", &["b", "kept"], "y", vec![]));
    nodes
}

fn refused(nodes: Vec<NodeProto>, tensors: Vec<TensorProto>) -> String {
    let error = imported(&model(&[3, 2], nodes, tensors)).expect_err("items are mixed");
    assert!(matches!(error, ImportError::Unsupported(_)), "{error}");
    error.to_string()
}

/// As torch writes attention of several heads: time first, and heads beside the items of a batch, of which it
/// multiplies the number.
#[test]
fn heads_beside_the_items_of_a_batch() {
    let nodes = vec![
        node("Transpose", &["x"], "t", vec![list("perm", &[1, 0, 2])]),
        node("Shape", &["t"], "s", vec![]),
        node("Gather", &["s", "one"], "n", vec![int("axis", 0)]),
        node("Mul", &["n", "two"], "heads", vec![]),
        node(
            "Concat",
            &["time", "heads", "size"],
            "to",
            vec![int("axis", 0)],
        ),
        node("Reshape", &["t", "to"], "h", vec![]),
        node("Transpose", &["h"], "q", vec![list("perm", &[1, 0, 2])]),
        node("Transpose", &["h"], "k", vec![list("perm", &[1, 2, 0])]),
        node("MatMul", &["q", "k"], "w", vec![]),
        node("MatMul", &["w", "q"], "o", vec![]),
        node("Transpose", &["o"], "b", vec![list("perm", &[1, 0, 2])]),
        node("Reshape", &["b", "back"], "r", vec![]),
        node("Transpose", &["r"], "y", vec![list("perm", &[1, 0, 2])]),
    ];
    let tensors = vec![
        ints("one", &[1], &[1]),
        ints("two", &[1], &[2]),
        ints("time", &[1], &[3]),
        ints("size", &[1], &[1]),
        shaped("back", &[3, -1, 2]),
    ];
    // Of every column by itself q (q . q).
    let mut expected = vec![0.0; 12];
    for item in 0..2 {
        for head in 0..2 {
            let q = [0, 1, 2].map(|row| X[item * 6 + row * 2 + head]);
            let square: f32 = q.iter().map(|v| v * v).sum();
            for row in 0..3 {
                expected[item * 6 + row * 2 + head] = q[row] * square;
            }
        }
    }
    let model = model(&[3, 2], nodes, tensors);
    assert_eq!(imported(&model).expect("heads").input_shape(), [3, 2]);
    follows(&model, &X, &expected);
}

/// Items that are rows of one matrix beside each other do not know of another.
#[test]
fn rows_of_all_items() {
    let nodes = merged(&[node("Softmax", &["a"], "b", vec![int("axis", -1)])]);
    let tensors = vec![shaped("flat", &[-1, 2]), shaped("kept", &[-1, 3, 2])];
    let expected: Vec<f32> = X
        .chunks(2)
        .flat_map(|row| {
            let e = (row[1] - row[0]).exp();
            [1.0 / (1.0 + e), e / (1.0 + e)]
        })
        .collect();
    let model = model(&[3, 2], nodes, tensors);
    follows(&model, &X, &expected);
}

/// A sum over rows of all items, and one over items.
#[test]
fn items_that_know_of_each_other_are_refused() {
    let tensors = || vec![shaped("flat", &[-1, 2]), shaped("kept", &[-1, 3, 2])];
    let softmax = node("Softmax", &["a"], "b", vec![int("axis", 0)]);
    refused(merged(&[softmax]), tensors());
    let mean = [
        node(
            "ReduceMean",
            &["a"],
            "m",
            vec![list("axes", &[0]), int("keepdims", 1)],
        ),
        node("Sub", &["a", "m"], "b", vec![]),
    ];
    refused(merged(&mean), tensors());
}

/// Nothing is mixed, yet of the second item all is larger: the place that an item has must not matter.
#[test]
fn items_that_are_treated_apart_are_refused() {
    let nodes = vec![
        node("Reshape", &["x", "flat"], "a", vec![]),
        node("Shape", &["a"], "s", vec![]),
        node("Gather", &["s", "zero"], "n", vec![int("axis", 0)]),
        node("Range", &["zero", "n", "one"], "places", vec![]),
        node("Cast", &["places"], "p", vec![int("to", 1)]),
        node("Unsqueeze", &["p", "ends"], "q", vec![]),
        node("Mul", &["a", "q"], "b", vec![]),
        node("Reshape", &["b", "kept"], "y", vec![]),
    ];
    let tensors = vec![
        shaped("flat", &[-1, 2]),
        shaped("kept", &[-1, 3, 2]),
        ints("zero", &[], &[0]),
        ints("one", &[], &[1]),
        ints("ends", &[1], &[1]),
    ];
    refused(nodes, tensors);
}

/// `x[arange(len(x)), place]`: of every item the row that its own numbers choose; the place may be counted on, and
/// must not lie beyond the item.
#[test]
fn every_item_has_a_row_of_its_own() {
    let nodes = |more: bool| {
        let place = if more { "next" } else { "first" };
        vec![
            node("Shape", &["x"], "s", vec![]),
            node("Gather", &["s", "zero"], "n", vec![int("axis", 0)]),
            node("Range", &["zero", "n", "one"], "items", vec![]),
            node("Unsqueeze", &["items", "last"], "i", vec![]),
            node("Gather", &["x", "zero"], "c", vec![int("axis", 2)]),
            node(
                "ArgMax",
                &["c"],
                "first",
                vec![int("axis", 1), int("keepdims", 1)],
            ),
            node("Add", &["first", "one"], "next", vec![]),
            node("Concat", &["i", place], "at", vec![int("axis", 1)]),
            node("GatherND", &["x", "at"], "y", vec![]),
        ]
    };
    let tensors = || {
        vec![
            ints("zero", &[], &[0]),
            ints("one", &[], &[1]),
            ints("last", &[1], &[-1]),
        ]
    };
    let model = model(&[3, 2], nodes(false), tensors());
    follows(&model, &X, &[3., 4., 5., -2.]);
    let told = refused(nodes(true), tensors());
    assert!(told.contains("outside axis 1 of 3"), "{told}");
    // As older exporters write it: all rows of all items in one.
    let mut flat = nodes(false);
    flat.truncate(6);
    flat.extend([
        node("Mul", &["items", "three"], "starts", vec![]),
        node("Flatten", &["first"], "f", vec![int("axis", 0)]),
        node("Reshape", &["f", "last"], "places", vec![]),
        node("Add", &["starts", "places"], "at", vec![]),
        node("Reshape", &["x", "rows"], "all", vec![]),
        node("Gather", &["all", "at"], "y", vec![int("axis", 0)]),
    ]);
    let mut tensors = tensors();
    tensors.extend([ints("three", &[], &[3]), shaped("rows", &[-1, 2])]);
    follows(
        &super::model(&[3, 2], flat.clone(), tensors.clone()),
        &X,
        &[3., 4., 5., -2.],
    );
    // Of the item after it: items would be mixed.
    flat[6] = node("Mul", &["items", "one"], "starts", vec![]);
    refused(flat, tensors);
}
