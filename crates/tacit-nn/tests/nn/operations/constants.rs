//! Nodes of constants alone, which are computed at import.

use super::*;

#[test]
fn constants_are_computed_at_import() {
    let constant = |name: &str, attribute| node("Constant", &[], name, vec![attribute]);
    let nodes = vec![
        constant("two", float("value_float", 2.0)),
        constant("shape", list("value_ints", &[2, 1])),
        node("ConstantOfShape", &["shape"], "zeros", vec![]),
        node("Add", &["zeros", "two"], "twos", vec![]),
        node("Concat", &["twos", "half"], "both", vec![int("axis", 1)]),
        node("Transpose", &["both"], "turned", vec![]),
        node("Neg", &["turned"], "minus", vec![]),
        node("Sqrt", &["two"], "root", vec![]),
        node("Mul", &["root", "root"], "again", vec![]),
        node("Div", &["minus", "again"], "w", vec![]),
        node("MatMul", &["x", "w"], "y", vec![]),
    ];
    // -[[2, 2], [0.5, 4]] / 2
    check(
        &[2],
        nodes,
        vec![tensor("half", &[2, 1], &[0.5, 4.])],
        &[1., 2.],
        &[-1.5, -5.],
    );
}

/// A product of two constants is one; of matrices side by side, of rows and of columns.
#[test]
fn products_of_constants_are_constants() {
    let nodes = vec![
        node("MatMul", &["a", "b"], "c", vec![]),
        node("Add", &["x", "c"], "y", vec![]),
    ];
    let a = tensor("a", &[1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let b = tensor("b", &[2, 1], &[10.0, 1.0]);
    let output = predict(&[2, 1], nodes.clone(), vec![a.clone(), b], &[0.0, 0.0]);
    assert_eq!(output, [12.0, 34.0]);
    let many = tensor("b", &[2, 2, 1], &[10.0, 1.0, 1.0, 1.0]);
    let output = predict(&[2, 2, 1], nodes.clone(), vec![a, many], &[0.0; 4]);
    assert_eq!(output, [12.0, 34.0, 3.0, 7.0]);
    let [row, column] = [("a", [1.0, 2.0]), ("b", [10.0, 1.0])].map(|(n, v)| tensor(n, &[2], &v));
    assert_eq!(predict(&[1], nodes, vec![row, column], &[0.0]), [12.0]);
}

/// What stands before every item, such as the state of a cell at first, is computed at import whatever makes it.
#[test]
fn nodes_of_constants_are_computed() {
    let nodes = vec![
        node("Gemm", &["zeros", "w", "b"], "g", vec![]),
        node("Softmax", &["g"], "s", vec![int("axis", 1)]),
        node("ArgMax", &["s"], "place", vec![int("axis", 1)]),
        node("Cast", &["place"], "number", vec![int("to", 1)]),
        node("Mul", &["x", "s"], "m", vec![]),
        node("Add", &["m", "number"], "y", vec![]),
    ];
    let tensors = vec![
        tensor("zeros", &[1, 3], &[0.0; 3]),
        tensor("w", &[3, 2], &[1.0; 6]),
        tensor("b", &[2], &[0.0, 1.0]),
    ];
    let output = predict(&[2], nodes.clone(), tensors.clone(), &[1.0, 2.0]);
    let first = 1.0 / (1.0 + 1f32.exp());
    assert!((output[0] - (1.0 + first)).abs() < 1e-6, "{output:?}");
    assert!((output[1] - (3.0 - 2.0 * first)).abs() < 1e-6, "{output:?}");
    let graph = imported(&model(&[2], nodes, tensors)).expect("fine");
    assert_eq!(graph.nodes.len(), 2);
}

/// Sums of constants along an axis, from either end, with the element itself or without.
#[test]
fn running_sums_of_constants() {
    for (exclusive, reverse, expected) in [
        (0, 0, [1.0, 2.0, 4.0, 6.0]),
        (1, 0, [0.0, 0.0, 1.0, 2.0]),
        (0, 1, [4.0, 6.0, 3.0, 4.0]),
        (1, 1, [3.0, 4.0, 0.0, 0.0]),
    ] {
        let attributes = vec![int("exclusive", exclusive), int("reverse", reverse)];
        let nodes = vec![
            node("CumSum", &["c", "along"], "sums", attributes),
            node("Add", &["x", "sums"], "y", vec![]),
        ];
        let tensors = vec![
            tensor("c", &[1, 2, 2], &[1.0, 2.0, 3.0, 4.0]),
            ints("along", &[], &[1]),
        ];
        assert_eq!(predict(&[2, 2], nodes, tensors, &[0.0; 4]), expected);
    }
}

/// A constant of as many places as there are items is none: it is refused with what to do, as no fault of the file.
#[test]
fn constants_that_the_batch_sizes_are_told() {
    let nodes = vec![
        node("Shape", &["x"], "sizes", vec![]),
        node("Gather", &["sizes", "first"], "items", vec![]),
        node("Reshape", &["c", "items"], "moved", vec![]),
        node("Add", &["x", "moved"], "y", vec![]),
    ];
    let tensors = vec![ints("first", &[1], &[0]), tensor("c", &[2], &[1.0, 2.0])];
    let refused = imported(&model(&[2], nodes, tensors)).expect_err("a free batch");
    let told = refused.to_string();
    assert!(told.contains("export with a batch of 1"), "{told}");
    assert!(!told.contains("is not valid"), "{told}");
}
