//! Signs, comparisons and places, where two numbers are equal too.

use super::check;
use crate::common::*;

const X: [f32; 4] = [-1.5, 0.0, 2.0, 0.25];

#[test]
fn signs_are_0_at_0() {
    let nodes = vec![node("Sign", &["x"], "y", vec![])];
    check(&[4], nodes, vec![], &X, &[-1.0, 0.0, 1.0, 1.0]);
}

/// Comparisons tell what is equal, beside a constant that one element equals.
#[test]
fn comparisons_tell_what_is_equal() {
    for (op, expected) in [
        ("Equal", [0.0, 0.0, 0.0, 1.0]),
        ("Greater", [0.0, 0.0, 1.0, 0.0]),
        ("GreaterOrEqual", [0.0, 0.0, 1.0, 1.0]),
        ("Less", [1.0, 1.0, 0.0, 0.0]),
        ("LessOrEqual", [1.0, 1.0, 0.0, 1.0]),
    ] {
        let nodes = vec![node(op, &["x", "c"], "y", vec![])];
        check(&[4], nodes, vec![tensor("c", &[], &[0.25])], &X, &expected);
    }
}

#[test]
fn logic_is_that_of_its_table() {
    for (op, expected) in [
        ("And", [0.0, 1.0, 0.0, 1.0]),
        ("Or", [1.0, 1.0, 1.0, 1.0]),
        ("Xor", [1.0, 0.0, 1.0, 0.0]),
    ] {
        let nodes = vec![
            node("Less", &["x", "high"], "a", vec![]),
            node("Greater", &["x", "low"], "b", vec![]),
            node(op, &["a", "b"], "y", vec![]),
        ];
        let tensors = vec![tensor("high", &[], &[1.0]), tensor("low", &[], &[-1.0])];
        check(&[4], nodes, tensors, &X, &expected);
    }
}

/// Of the two largest the first, or the last where the node says so, before the end of a model.
#[test]
fn one_of_equal_elements_is_found() {
    let x = [1.0, 3.0, 3.0, 2.0];
    let nodes = vec![node("Hardmax", &["x"], "y", vec![])];
    check(&[4], nodes, vec![], &x, &[0.0, 1.0, 0.0, 0.0]);
    for (last, place) in [(0, 1.0), (1, 2.0)] {
        let attributes = vec![int("axis", 1), int("select_last_index", last)];
        let nodes = vec![
            node("ArgMax", &["x"], "p", attributes),
            node("Cast", &["p"], "f", vec![int("to", 1)]),
            node("Mul", &["f", "c"], "y", vec![]),
        ];
        check(
            &[4],
            nodes,
            vec![tensor("c", &[], &[0.5])],
            &x,
            &[0.5 * place],
        );
    }
}

/// An infinite bound, as some exporters write one for want of any, bounds nothing.
#[test]
fn infinite_bounds_leave_numbers_as_they_are() {
    for (op, bound) in [("Max", f32::NEG_INFINITY), ("Min", f32::INFINITY)] {
        let nodes = vec![node(op, &["x", "b"], "y", vec![])];
        let x = [-1.5, 0.0, 2.0];
        check(&[3], nodes, vec![tensor("b", &[], &[bound])], &x, &x);
    }
}

/// A codebook: the place of the largest number chooses a row of a table, by the marks that found the place.
#[test]
fn places_choose_rows_of_a_table() {
    let attributes = vec![int("axis", 2), int("keepdims", 0)];
    let nodes = vec![
        node("ArgMax", &["x"], "p", attributes),
        node("Gather", &["table", "p"], "y", vec![]),
    ];
    let table = tensor("table", &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let x = [0.0, 2.0, 1.0, 5.0, -1.0, 3.0];
    check(&[2, 3], nodes, vec![table], &x, &[3.0, 4.0, 1.0, 2.0]);
}
