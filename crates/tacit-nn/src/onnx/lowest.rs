//! Masks that are taken away, and bounds that no number of a ring is beyond.
//!
//! XLNet takes `1e30` times a mask from its scores, where others add `-1e30` times it: the sum is written instead. XGLM
//! and others take the larger of a score and the least float: that is the score.

use std::collections::HashSet;

use super::made::single;
use super::makers::{Makers, changes};
use super::mask::LEAST;
use super::proto::{GraphProto, NodeProto};

/// Numbers of this size are beyond every ring and field.
pub(super) const BEYOND: f32 = 1e30;

/// What stands in a node's place.
enum Change {
    /// The node's first or second input, by its place.
    Handed(usize),
    /// The sum of its first input and of the product of a mask and a number, whose node is this: it gives the second.
    Sum {
        product: String,
        mask: String,
        by: f32,
    },
}

/// Adds what masks take away, and leaves out bounds that bound nothing.
pub(super) fn write(graph: &mut GraphProto) {
    let mut made = HashSet::new();
    for (at, change) in changes(graph, change) {
        let node = &mut graph.node[at];
        match change {
            Change::Handed(input) => {
                node.op_type = "Identity".into();
                node.input = vec![node.input.swap_remove(input)];
            }
            Change::Sum { product, mask, by } => {
                let [number, negative] =
                    ["negated number", "negated"].map(|what| format!("{product}/{what}"));
                node.op_type = "Add".into();
                node.input[1] = negative.clone();
                if made.insert(product) {
                    graph.initializer.push(single(&number, -by));
                    graph.node.push(NodeProto {
                        op_type: "Mul".into(),
                        input: vec![mask, number],
                        output: vec![negative],
                        ..NodeProto::default()
                    });
                }
            }
        }
    }
}

fn change(makers: &Makers, node: &NodeProto) -> Option<Change> {
    let [a, b] = &node.input[..] else { return None };
    let number = |value: &str| makers.float(value);
    match &node.op_type[..] {
        "Max" | "Min" => {
            let sign = if node.op_type == "Max" { -1.0 } else { 1.0 };
            let bounds = |value| number(value).is_some_and(|bound| sign * bound >= BEYOND);
            match (bounds(a), bounds(b)) {
                (false, true) => Some(Change::Handed(0)),
                (true, false) => Some(Change::Handed(1)),
                _ => None,
            }
        }
        "Sub" => {
            let [one, other] = makers.inputs(b, "Mul")?;
            let pairs = [(one, other), (other, one)].into_iter();
            let found = pairs.filter_map(|(mask, by)| Some((mask, number(by)?)));
            let (mask, by) = found
                .into_iter()
                .find(|&(_, by)| by.is_finite() && by >= -LEAST)?;
            Some(Change::Sum {
                product: b.clone(),
                mask: mask.into(),
                by,
            })
        }
        _ => None,
    }
}
