//! What a mask leaves out of exponentials and of choices of the largest, and softmaxes of differences to a maximum:
//! written so that the lowest numbers reach no arithmetic but that of masks.
//!
//! Segment sums of state spaces and decays of gated networks are `exp(where(mask, -inf, x))`: there the exponential
//! is 0. Attention with sinks takes the largest score from all before a softmax, which does that itself. Routers of
//! experts choose among `where(mask, -inf, x)`: a number below all others of the row is as good.

use std::collections::HashSet;

use super::lowest::BEYOND;
use super::made::{int, ints, node, single, wholes};
use super::makers::{Makers, attribute, changes};
use super::mask::LEAST;
use super::proto::{GraphProto, NodeProto};

/// The operator set from which on a minimum takes its axes as an input.
const AXES_GIVEN: i64 = 18;

/// What stands in a node's place.
enum Change {
    /// A softmax of this.
    Of(String),
    /// An exponential of a choice.
    Exponential(Choice),
    /// Places of the largest of a choice, along this axis.
    Places(Choice, i64),
}

/// A choice between the lowest number and others.
struct Choice {
    condition: String,
    other: String,
    /// Whether the lowest number is what is chosen where the condition holds.
    holds: bool,
}

impl Choice {
    /// What makes a value, where it is such a choice, whose lowest number is at most this.
    fn of(makers: &Makers, value: &str, most: f32) -> Option<Choice> {
        let [condition, yes, no] = &makers.node(value, "Where")?.input[..] else {
            return None;
        };
        let low = |value: &str| makers.float(value).is_some_and(|v| v <= most);
        let (other, holds) = match (low(yes), low(no)) {
            (true, false) => (no, true),
            (false, true) => (yes, false),
            _ => return None,
        };
        let [condition, other] = [condition, other].map(String::clone);
        Some(Choice {
            condition,
            other,
            holds,
        })
    }

    /// The choice between these in their place.
    fn between(&self, low: &str, other: &str, output: &str) -> NodeProto {
        let (yes, no) = if self.holds {
            (low, other)
        } else {
            (other, low)
        };
        node("Where", &[&self.condition, yes, no], output)
    }
}

/// Writes what takes the lowest numbers without them, in a file of such an operator set.
pub(super) fn write(graph: &mut GraphProto, opset: i64) {
    let read: HashSet<String> = {
        let inputs = graph.node.iter().flat_map(|node| &node.input);
        let outputs = graph.output.iter().map(|value| &value.name);
        inputs.chain(outputs).cloned().collect()
    };
    for (at, change) in changes(graph, |makers, node| change(makers, node, &read)) {
        match change {
            Change::Of(scores) => graph.node[at].input[0] = scores,
            Change::Exponential(choice) => exponential(graph, at, &choice),
            Change::Places(choice, axis) => places(graph, at, &choice, axis, opset),
        }
    }
}

/// 0 in the place of an exponential of the lowest number.
fn exponential(graph: &mut GraphProto, at: usize, choice: &Choice) {
    let node = &mut graph.node[at];
    let output = std::mem::take(&mut node.output[0]);
    let [zero, given, made] =
        ["0", "kept", "exp"].map(|what| format!("{output}/{what} of what a mask leaves"));
    (node.input[0], node.output[0]) = (given.clone(), made.clone());
    let choices = [
        choice.between(&zero, &choice.other, &given),
        choice.between(&zero, &made, &output),
    ];
    graph.node.extend(choices);
    graph.initializer.push(single(&zero, 0.0));
}

/// The least of a row less 1 in the place of the lowest number.
fn places(graph: &mut GraphProto, at: usize, choice: &Choice, axis: i64, opset: i64) {
    let output = graph.node[at].output.last().map_or("", |name| name);
    let [one, axes, least, lower, given] = ["1", "axes", "least", "lower", "kept"]
        .map(|what| format!("{output}/{what} of what a mask leaves"));
    graph.node[at].input[0] = given.clone();
    let mut minimum = node("ReduceMin", &[&choice.other], &least);
    if opset < AXES_GIVEN {
        minimum.attribute.push(ints("axes", &[axis]));
    } else {
        minimum.input.push(axes.clone());
        graph.initializer.push(wholes(&axes, &[axis]));
    }
    minimum.attribute.push(int("keepdims", 1));
    graph.node.extend([
        minimum,
        node("Sub", &[&least, &one], &lower),
        choice.between(&lower, &choice.other, &given),
    ]);
    graph.initializer.push(single(&one, 1.0));
}

fn change(makers: &Makers, node: &NodeProto, read: &HashSet<String>) -> Option<Change> {
    let x = node.input.first()?;
    match &node.op_type[..] {
        "Softmax" => softmax(makers, node),
        "Exp" => Choice::of(makers, x, LEAST).map(Change::Exponential),
        // Counted from the last axis, for what is chosen may have fewer axes than the condition.
        "ArgMax" | "TopK" => {
            let takes_least =
                attribute(node, "largest").is_some_and(|largest| largest.i == Some(0));
            let is_topk = node.op_type == "TopK";
            if takes_least || is_topk && read.contains(&node.output[0]) {
                return None;
            }
            let axis = match attribute(node, "axis") {
                Some(axis) => axis.i.filter(|&axis| axis < 0)?,
                None if is_topk => -1,
                None => return None,
            };
            Some(Change::Places(Choice::of(makers, x, -BEYOND)?, axis))
        }
        _ => None,
    }
}

/// What a softmax along the last axis is of, beside the maximum along it.
fn softmax(makers: &Makers, node: &NodeProto) -> Option<Change> {
    // The last axis by this name: another, or none, is counted otherwise in old files.
    if attribute(node, "axis")?.i != Some(-1) {
        return None;
    }
    let [scores, largest] = makers.inputs(node.input.first()?, "Sub")?;
    let maximum = makers.node(largest, "ReduceMax")?;
    let axes = match maximum.input.get(1) {
        Some(axes) => makers.wholes(axes)?,
        None => attribute(maximum, "axes")?.ints.clone(),
    };
    let kept = attribute(maximum, "keepdims").is_none_or(|kept| kept.i == Some(1));
    let of_these = makers.are_same(maximum.input.first()?, scores);
    (of_these && kept && axes == [-1]).then(|| Change::Of(scores.into()))
}
