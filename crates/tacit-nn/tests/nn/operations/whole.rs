//! Models whose input is one item without a batch axis: nodes that join what a batch keeps apart.

use super::*;

/// Three by two: [[1, 2], [3, 4], [0, -1]].
const X: [f32; 6] = [1., 2., 3., 4., 0., -1.];

/// Does what [`check`] does for a model whose file gives every size; no axis is that of a batch.
pub(super) fn check_whole(
    shape: &[i64],
    nodes: Vec<NodeProto>,
    tensors: Vec<TensorProto>,
    x: &[f32],
    expected: &[f32],
) {
    let model = of_fixed_sizes(model(&shape[1..], nodes, tensors), shape[0]);
    let item: Vec<i64> = imported(&model)
        .unwrap_or_else(|e| panic!("{e}"))
        .input_shape()
        .iter()
        .map(|&d| d as i64)
        .collect();
    assert_eq!(item, shape, "it was imported as a batch of items");
    follows(&model, x, expected);
}

/// Rows by rows of the input itself, whichever node says so.
#[test]
fn products_of_rows() {
    let gram = [5., 11., -2., 11., 25., -4., -2., -4., 1.];
    let turned = node("Transpose", &["x"], "t", vec![]);
    let product = node("MatMul", &["x", "t"], "y", vec![]);
    check_whole(&[3, 2], vec![turned, product], vec![], &X, &gram);
    let equation = |equation| vec![text("equation", equation)];
    let sum = node("Einsum", &["x", "x"], "y", equation("ij,kj->ik"));
    check_whole(&[3, 2], vec![sum], vec![], &X, &gram);
    let sum = node("Einsum", &["x", "x"], "y", equation("ij,ij->j"));
    check_whole(&[3, 2], vec![sum], vec![], &X, &[10., 21.]);
}

/// A matrix of its own for each place of the first axis, on either side.
#[test]
fn constants_that_differ_along_the_first_axis() {
    let weights = tensor("w", &[3, 2, 1], &[1., 2., 0., 1., -1., 3.]);
    let apart = node("Unsqueeze", &["x", "one"], "a", vec![]);
    let product = node("MatMul", &["a", "w"], "y", vec![]);
    let tensors = vec![weights, ints("one", &[1], &[1])];
    check_whole(&[3, 2], vec![apart, product], tensors, &X, &[5., 4., -3.]);
    let left = tensor("w", &[2, 3], &[1., 0., 1., 2., -1., 0.5]);
    let product = node("MatMul", &["w", "x"], "y", vec![]);
    check_whole(&[3, 2], vec![product], vec![left], &X, &[1., 1., -1., -0.5]);
}

/// Rows after the input's, and columns beside them.
#[test]
fn constants_are_joined_along_every_axis() {
    let joined = |axis| vec![node("Concat", &["c", "x"], "y", vec![int("axis", axis)])];
    let row = tensor("c", &[1, 2], &[7., 8.]);
    let expected = [&[7., 8.], &X[..]].concat();
    check_whole(&[3, 2], joined(0), vec![row], &X, &expected);
    let column = tensor("c", &[3, 1], &[7., 8., 9.]);
    let expected = [7., 1., 2., 8., 3., 4., 9., 0., -1.];
    check_whole(&[3, 2], joined(-1), vec![column], &X, &expected);
}
