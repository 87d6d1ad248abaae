//! Weights that are inverse distances, of which only their shares matter: what is made of them is divided by their sum,
//! or its largest number is looked for. Neighbours are weighed so.
//!
//! The inverse of a distance near 0 leaves no room for the others. Here every weight is the least distance over its own:
//! 1 of the nearest, less of the others, and every share is what it was.

use std::collections::HashSet;

use super::call::Fault;
use super::compose::Composer;
use super::pool::whole;
use super::proto::NodeProto;
use crate::graph::{Function, Op, ValueId};

/// Distances below are taken for it: beside one so small, no other weighs.
const NEAREST: f32 = 1.0 / 4096.0;

/// What hands weights on: to a multiple of them.
const MULTIPLES: [&str; 9] = [
    "Cast",
    "Flatten",
    "Identity",
    "Mul",
    "ReduceSum",
    "Reshape",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
];

/// The Reciprocals whose outputs nothing sees but shares of them, and the places of largest numbers.
pub(super) fn weights(order: &[&NodeProto], outputs: &[&str]) -> HashSet<*const NodeProto> {
    let all = order.iter().enumerate();
    let inverses = all.filter(|(_, node)| node.op_type == "Reciprocal");
    let kept = inverses.filter(|&(at, node)| are_shared(node, &order[at + 1..], outputs));
    kept.map(|(_, &node)| std::ptr::from_ref(node)).collect()
}

/// Whether a factor of all outputs of `from` would be nowhere in the model's outputs.
fn are_shared(from: &NodeProto, behind: &[&NodeProto], outputs: &[&str]) -> bool {
    let mut multiples: HashSet<&str> = from.output.iter().map(String::as_str).collect();
    let mut are_divided = false;
    for node in behind {
        let is_one = |name: &String| multiples.contains(&name[..]);
        let of: Vec<bool> = node.input.iter().map(is_one).collect();
        if !of.contains(&true) {
            continue;
        }
        match (&node.op_type[..], &of[..]) {
            ("ArgMax" | "Shape", _) => continue,
            ("Div", [true, true]) => are_divided = true,
            ("Div", [true, false]) | ("Mul", [true, false] | [false, true]) => {
                multiples.extend(node.output.iter().map(String::as_str));
            }
            ("Concat", of) if of.iter().all(|&is| is) => {
                multiples.extend(node.output.iter().map(String::as_str));
            }
            (op, [true, others @ ..])
                if op != "Mul" && MULTIPLES.contains(&op) && !others.contains(&true) =>
            {
                multiples.extend(node.output.iter().map(String::as_str));
            }
            _ => return false,
        }
    }
    are_divided && !outputs.iter().any(|name| multiples.contains(name))
}

/// The least of a row of positive numbers over each of them.
pub(super) fn of_nearest(c: &mut Composer, x: ValueId) -> Result<ValueId, Fault> {
    let n = c.builder.len(x);
    let above = c.affine("above the least", x, 1.0, -NEAREST)?;
    let above = c.each("from the least on", Op::Relu, &[above])?;
    let x = c.affine("distances", above, 1.0, NEAREST)?;
    let mirrored = c.affine("mirrored", x, -1.0, 0.0)?;
    let largest = Op::MaxPool(whole(1, [1, n]));
    let largest = c.node("largest", largest, &[mirrored], vec![1])?;
    let least = c.affine("nearest", largest, -1.0, 0.0)?;
    let inverse = c.function(Function::Reciprocal, least, (NEAREST, f32::INFINITY))?;
    let of_all = c.spread("nearest of all", inverse, c.builder.shape(x), |_| 0)?;
    let times = c.each("times the nearest", Op::Mul, &[x, of_all])?;
    // From 1 on, but for what it is rounded by.
    c.function(Function::Reciprocal, times, (0.5, f32::INFINITY))
}
