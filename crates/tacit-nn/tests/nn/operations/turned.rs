//! Nodes along axes of an item whose batch does not stand first, and outputs that end so.

use super::check;
use crate::common::*;

/// Items of 2 rows of 3, their rows before the batch, joined along the rows and summed over them.
#[test]
fn rows_before_the_batch_are_joined_and_summed() {
    let turn = || node("Transpose", &["x"], "t", vec![list("perm", &[1, 0, 2])]);
    let joined = || node("Concat", &["t", "t"], "j", vec![int("axis", 0)]);
    let x: Vec<f32> = (0..12).map(|v| v as f32 / 4.0).collect();
    for keep in [0, 1] {
        let sum = node(
            "ReduceMax",
            &["j"],
            "m",
            vec![list("axes", &[0]), int("keepdims", keep)],
        );
        let back = match keep {
            0 => node("Identity", &["m"], "y", vec![]),
            _ => node("Transpose", &["m"], "y", vec![list("perm", &[1, 0, 2])]),
        };
        let largest = [3, 4, 5, 9, 10, 11].map(|v| v as f32 / 4.0);
        check(
            &[2, 3],
            vec![turn(), joined(), sum, back],
            vec![],
            &x,
            &largest,
        );
    }
}

/// The last axis is the last of an item, too; the batch's own is refused.
#[test]
fn shares_along_an_axis_beside_the_batch() {
    let turn = || node("Transpose", &["x"], "t", vec![list("perm", &[1, 0, 2])]);
    let back = || node("Transpose", &["s"], "y", vec![list("perm", &[1, 0, 2])]);
    let x = [0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0];
    let e = 1f32.exp();
    let [less, more] = [1.0 / (1.0 + e), e / (1.0 + e)];
    let (rows, columns) = (
        [0.5, 0.5, 0.5, 0.5, less, more, more, less],
        [less, less, more, more, less, more, more, less],
    );
    for (axis, shares) in [(-1, rows), (0, columns)] {
        let shares_of = node("Softmax", &["t"], "s", vec![int("axis", axis)]);
        check(
            &[2, 2],
            vec![turn(), shares_of, back()],
            vec![],
            &x,
            &shares,
        );
    }
    let across = node("Softmax", &["t"], "s", vec![int("axis", 1)]);
    let refused = imported(&model(&[2, 2], vec![turn(), across, back()], vec![]));
    let text = refused.expect_err("across items").to_string();
    assert!(text.contains("across the batch axis"), "{text}");
}

/// An output keeps its batch where the file has it.
#[test]
fn an_output_says_where_its_batch_stands() {
    let turn = node("Transpose", &["x"], "y", vec![list("perm", &[1, 0, 2])]);
    let graph = imported(&model(&[2, 3], vec![turn], vec![])).expect("it is imported");
    let output = &graph.outputs[0];
    assert_eq!((&output.shape[..], output.batch), (&[2, 3][..], 1));
}

/// What stands after the point is dropped, of either sign; what is whole by its making stays as it is.
#[test]
fn casts_to_whole_numbers_drop_fractions() {
    let to = |to| vec![int("to", to)];
    let x = [-2.75, -1.25, -0.5, 0.5, 1.25, 2.75];
    for whole in [6, 7] {
        let nodes = vec![
            node("Cast", &["x"], "i", to(whole)),
            node("Cast", &["i"], "y", to(1)),
        ];
        check(&[6], nodes, vec![], &x, &[-2.0, -1.0, 0.0, 0.0, 1.0, 2.0]);
    }
    let nodes = vec![
        node("Sign", &["x"], "s", vec![]),
        node("Cast", &["s"], "y", to(7)),
    ];
    let graph = imported(&model(&[6], nodes, vec![])).expect("it is imported");
    let kinds: Vec<&str> = graph.nodes.iter().map(|n| n.op.kind()).collect();
    assert!(!kinds.contains(&"Floor"), "{kinds:?}");
}
