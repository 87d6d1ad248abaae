//! Products of two tensors of any axes, masks of a softmax, and constants beside every item.

use super::*;

/// `x` of one item of three by two: [[1, 2], [3, 4], [0, -1]].
const X: [f32; 6] = [1., 2., 3., 4., 0., -1.];

fn einsum(equation: &str, inputs: &[&str]) -> NodeProto {
    node("Einsum", inputs, "y", vec![text("equation", equation)])
}

fn turned(x: &str, out: &str, perm: &[i64]) -> NodeProto {
    node("Transpose", &[x], out, vec![list("perm", perm)])
}

/// Every item's own, and in one layer.
#[test]
fn two_computed_matrices() {
    let both = [X, [2., 0., 0., 1., 1., 1.]].concat();
    let expected = [
        5., 11., -2., 11., 25., -4., -2., -4., 1., 4., 0., 2., 0., 1., 1., 2., 1., 2.,
    ];
    let nodes = vec![
        turned("x", "t", &[0, 2, 1]),
        node("MatMul", &["x", "t"], "y", vec![]),
    ];
    check(&[3, 2], nodes.clone(), vec![], &both, &expected);
    let graph = imported(&model(&[3, 2], nodes, vec![])).unwrap();
    let kinds: Vec<_> = graph.nodes.iter().map(|node| node.op.kind()).collect();
    assert_eq!(kinds, ["Rearrange", "MatMul"]);
    check(
        &[3, 2],
        vec![einsum("bij,bkj->bik", &["x", "x"])],
        vec![],
        &both,
        &expected,
    );
    check(
        &[3, 2],
        vec![einsum("...ij,...kj", &["x", "x"])],
        vec![],
        &both,
        &expected,
    );
}

/// The scale of a product becomes one of the weights that its left factor is made by.
#[test]
fn a_scale_goes_before_a_product() {
    let nodes = vec![
        node("MatMul", &["x", "w"], "q", vec![]),
        turned("q", "a", &[0, 2, 1]),
        node("MatMul", &["a", "x"], "s", vec![]),
        node("Div", &["s", "two"], "y", vec![]),
    ];
    let tensors = vec![
        tensor("w", &[2, 2], &[1., 0., 1., -1.]),
        tensor("two", &[1], &[2.]),
    ];
    let graph = imported(&model(&[3, 2], nodes.clone(), tensors.clone()));
    let graph = graph.unwrap().optimise();
    let kinds: Vec<_> = graph.nodes.iter().map(|node| node.op.kind()).collect();
    assert_eq!(kinds, ["Linear", "Rearrange", "MatMul"]);
    // Of the rows [3, -2], [7, -4] and [-1, 1] by the item's own, by halves.
    check(&[3, 2], nodes, tensors, &X, &[12., 17.5, -7., -10.5]);
}

/// Axes before the matrices' are stretched; those of one factor alone are rows of it.
#[test]
fn leading_axes_are_stretched() {
    let nodes = vec![
        node("Unsqueeze", &["x", "one"], "a", vec![]),
        node("Unsqueeze", &["x", "two"], "b", vec![]),
        turned("b", "c", &[0, 1, 3, 2]),
        node("MatMul", &["a", "c"], "y", vec![]),
    ];
    let axes = vec![ints("one", &[1], &[1]), ints("two", &[1], &[2])];
    // Three by two with every column of two by one.
    let expected = [5., 11., -2., 11., 25., -4., -2., -4., 1.];
    check(&[3, 2], nodes, axes, &X, &expected);
}

/// A constant on the left, one for each head, and one for each head on the right.
#[test]
fn constant_factors_on_either_side() {
    let left = tensor("w", &[2, 3], &[1., 0., 1., 2., -1., 0.5]);
    let nodes = vec![node("MatMul", &["w", "x"], "y", vec![])];
    check(&[3, 2], nodes, vec![left], &X, &[1., 1., -1., -0.5]);
    let heads = [1., 2., 3., 0., 1., 0.];
    let nodes = vec![node("MatMul", &["w", "x"], "y", vec![])];
    let of_heads = tensor("w", &[3, 1, 2], &heads);
    check(&[3, 2, 1], nodes, vec![of_heads], &X, &[5., 9., 0.]);
    let nodes = vec![node("MatMul", &["x", "w"], "y", vec![])];
    let of_heads = tensor("w", &[3, 2, 1], &heads);
    check(&[3, 1, 2], nodes, vec![of_heads], &X, &[5., 9., 0.]);
    // Of every head a row by a matrix of its own, the heads last.
    let weights: Vec<f32> = (0..12).map(|i| i as f32 / 4.0).collect();
    let of = |h: usize, o: usize| {
        (0..2)
            .map(|i| X[h * 2 + i] * weights[(h * 2 + i) * 2 + o])
            .sum::<f32>()
    };
    let expected: Vec<f32> = (0..2).flat_map(|o| (0..3).map(move |h| of(h, o))).collect();
    let nodes = vec![einsum("bhi,hio->boh", &["x", "w"])];
    check(
        &[3, 2],
        nodes,
        vec![tensor("w", &[3, 2, 2], &weights)],
        &X,
        &expected,
    );
}

/// Two axes are summed over, and the batch may stand anywhere.
#[test]
fn einsum_of_several_axes() {
    let nodes = vec![einsum("bij,ijo->bo", &["x", "w"])];
    let weights = [1., 0., 1., 1., 0., 1., -1., 2., 3., 0., 1., 1.];
    check(
        &[3, 2],
        nodes,
        vec![tensor("w", &[3, 2, 2], &weights)],
        &X,
        &[-2., 12.],
    );
    let nodes = vec![
        turned("x", "t", &[1, 0, 2]),
        node(
            "Einsum",
            &["t", "t"],
            "s",
            vec![text("equation", "ibj,kbj->ikb")],
        ),
        turned("s", "y", &[2, 0, 1]),
    ];
    let expected = [5., 11., -2., 11., 25., -4., -2., -4., 1.];
    check(&[3, 2], nodes, vec![], &X, &expected);
}

pub(super) fn softmax_of(scores: &[f32]) -> Vec<f32> {
    let all: f32 = scores.iter().map(|v| v.exp()).sum();
    scores.iter().map(|v| v.exp() / all).collect()
}

/// What a mask hides is exactly 0, and in no sum, however large it is; what it adds elsewhere counts.
#[test]
fn masks_leave_terms_out() {
    let nodes = vec![
        node("Add", &["x", "mask"], "a", vec![]),
        node("Cast", &["a"], "b", vec![int("to", 1)]),
        node("Identity", &["b"], "c", vec![]),
        node("Softmax", &["c"], "p", vec![int("axis", -1)]),
        node("Relu", &["p"], "y", vec![]),
    ];
    let x = [1., 2., 90., 0.5, 1., -1., 30., 0., 0.];
    for lowest in [f32::NEG_INFINITY, f32::MIN, -1e9, -1e4] {
        let mask = [0., 0., lowest, 1., 0., 0., lowest, lowest, 0.];
        let expected = [
            softmax_of(&[1., 2.]),
            vec![0.0],
            softmax_of(&[1.5, 1., -1.]),
            vec![0., 0., 1.],
        ];
        let mask = tensor("mask", &[1, 3, 3], &mask);
        check(&[3, 3], nodes.clone(), vec![mask], &x, &expected.concat());
    }
}

/// Constants before and after, along every axis.
#[test]
fn constants_are_joined_to_every_item() {
    let tensors = vec![
        tensor("c", &[1, 1, 2], &[7., 8.]),
        tensor("d", &[2, 2, 2], &[5., 6., 9., 9., 5., 6., 9., 9.]),
    ];
    let parts = vec![node(
        "Concat",
        &["c", "x", "d", "x"],
        "y",
        vec![int("axis", 1)],
    )];
    let expected = [
        7., 8., 1., 2., 5., 6., 9., 9., 1., 2., 7., 8., 3., 4., 5., 6., 9., 9., 3., 4.,
    ];
    check(&[1, 2], parts, tensors, &[1., 2., 3., 4.], &expected);
    let parts = vec![node("Concat", &["x", "c"], "y", vec![int("axis", -1)])];
    let tensors = vec![tensor("c", &[1, 2, 1], &[7., 8.])];
    check(&[2, 1], parts, tensors, &[1., 2.], &[1., 7., 2., 8.]);
}

/// Axes of one input alone are summed, and of equal ones the diagonal is taken; of one, two or three inputs.
#[test]
fn einsum_of_any_inputs() {
    let check = |item: &[i64], equation, inputs: &[&str], expected: &[f32]| {
        let weights = tensor("w", &[2, 2], &[1., 2., 0., -1.]);
        super::check(
            item,
            vec![einsum(equation, inputs)],
            vec![weights],
            &X,
            expected,
        );
    };
    check(&[3, 2], "bij->bji", &["x"], &[1., 3., 0., 2., 4., -1.]);
    check(&[3, 2], "bij->bj", &["x"], &[4., 5.]);
    check(&[3, 2], "bij->b", &["x"], &[9.]);
    check(&[3, 2], "bij,bik->bk", &["x", "x"], &[24., 35.]);
    check(&[3, 2], "bij,jk->bi", &["x", "w"], &[1., 5., 1.]);
    check(&[3, 2], "bij,jk,bik->b", &["x", "w", "x"], &[17.]);
    check(
        &[6, 1],
        "bij,bkj->bk",
        &["x", "x"],
        &[9., 18., 27., 36., 0., -9.],
    );
    // Of three by two times two by three the trace.
    let nodes = vec![
        turned("x", "t", &[0, 2, 1]),
        node("MatMul", &["x", "t"], "g", vec![]),
        einsum("bii->b", &["g"]),
    ];
    super::check(&[3, 2], nodes, vec![], &X, &[31.]);
}

/// Refused are what mixes the items of a batch, and sums that are no products of matrices.
#[test]
fn what_is_no_product_of_an_item_is_refused() {
    let refused = |nodes: Vec<NodeProto>, tensors: Vec<TensorProto>, why: &str| {
        let error = imported(&model(&[3, 2], nodes, tensors)).expect_err(why);
        assert!(
            error.to_string().contains(why),
            "'{error}' does not say '{why}'"
        );
    };
    let one = |node: NodeProto, why: &str| refused(vec![node], vec![], why);
    one(
        einsum("bij,cij->bc", &["x", "x"]),
        "the batch axes of its inputs do not meet",
    );
    one(
        einsum("bij,bij->ij", &["x", "x"]),
        "it sums over the batch axis",
    );
    one(
        einsum("bij,bij->bii", &["x", "x"]),
        "its output repeats an axis",
    );
    one(
        einsum("bij,bij->bio", &["x", "x"]),
        "or has one of no input",
    );
    one(einsum("bii->bi", &["x"]), "axes that differ in size");
    one(einsum("bij->ij", &["x"]), "it sums over the batch axis");
    one(einsum("bi,bij->bj", &["x", "x"]), "the term 'bi'");
    one(
        node("MatMul", &["x", "x"], "y", vec![]),
        "2 and 3 elements along one axis",
    );
    let flat = vec![
        node("Flatten", &["x"], "f", vec![]),
        node("Gemm", &["f", "f"], "y", vec![]),
    ];
    refused(flat, vec![], "multiplies items of a batch with each other");
    let masked = vec![
        node("Add", &["x", "mask"], "a", vec![]),
        node("Softmax", &["a"], "p", vec![]),
        node("Relu", &["p"], "y", vec![]),
    ];
    let mask = tensor("mask", &[3, 1], &[0., -1e9, 0.]);
    refused(masked, vec![mask], "its input masks all terms of a line");
    // Read by something else, too, or at the end of the model, it is a number like others.
    let seen = vec![
        node("Add", &["x", "mask"], "a", vec![]),
        node("Softmax", &["a"], "p", vec![]),
        node("Mul", &["p", "a"], "y", vec![]),
    ];
    let mask = tensor("mask", &[2], &[0., f32::NEG_INFINITY]);
    refused(seen, vec![mask], "weights must be finite");
    let parts = vec![node("Concat", &["c", "x"], "y", vec![int("axis", 1)])];
    let differing = tensor("c", &[2, 1, 2], &[1., 2., 1., 3.]);
    refused(parts, vec![differing], "its constant has 2 different items");
}
