//! What a mask leaves out of exponentials and of choices of the largest, and softmaxes of differences to a maximum:
//! written so that the lowest numbers reach no arithmetic but that of masks.
//!
//! Segment sums of state spaces and decays of gated networks are `exp(where(mask, -inf, x))`: there the exponential
//! is 0. Attention with sinks takes the largest score from all before a softmax, which does that itself. Routers of
//! experts choose among `where(mask, -inf, x)`: a number below all others of the row is as good. Texts of several lengths
//! are pooled by the largest of `where(mask, -inf, x)`, or of `x + mask * -3.4e38`: the least of the row is as good there.

mod limited;

use std::collections::HashSet;

use limited::Limited;

use super::lowest::BEYOND;
use super::made::{int, ints, node, single, wholes};
use super::makers::{Filled, Makers, attribute, changes};
use super::mask::LEAST;
use super::proto::data_type::{BOOL, FLOAT, INT32, INT64};
use super::proto::{GraphProto, NodeProto};

/// The operator set from which on a minimum takes its axes as an input.
const AXES_GIVEN: i64 = 18;

/// The most nodes between a mask and the truths that it is made of.
const DEPTH: usize = 16;

/// What stands in a node's place.
enum Change {
    /// A softmax of this.
    Of(String),
    /// An exponential of a choice.
    Exponential(Choice),
    /// Places of the largest of a choice, along this axis.
    Places(Choice, i64),
    /// The largest or the smallest of a choice.
    Extreme(Choice),
}

/// Which numbers a choice leaves out.
#[derive(Clone, Copy)]
enum Left {
    /// Numbers in whose place stands this or less.
    Below(f32),
    /// Numbers in whose place stands this or more.
    Above(f32),
}

/// A choice between the lowest number and others.
struct Choice {
    condition: String,
    other: String,
    /// Whether the lowest number is what is chosen where the condition holds.
    holds: bool,
    /// Whether the condition is a number, which holds where it is not 0.
    is_number: bool,
}

impl Choice {
    /// What makes a value, where it is such a choice.
    fn of(makers: &Makers, value: &str, left: Left) -> Option<Choice> {
        let [condition, yes, no] = &makers.node(value, "Where")?.input[..] else {
            return None;
        };
        // A number that is everywhere in the shape of the others is as good as one.
        let everywhere = |value: &str, other: &str| {
            let filled = Filled::of(makers, value)?;
            makers.are_same(filled.like, other).then_some(filled.number)
        };
        let low = |value: &str, other: &str| {
            left.has(makers.float(value).or_else(|| everywhere(value, other)))
        };
        let (other, holds) = match (low(yes, no), low(no, yes)) {
            (true, false) => (no, true),
            (false, true) => (yes, false),
            _ => return None,
        };
        let [condition, other] = [condition, other].map(String::clone);
        Some(Choice {
            condition,
            other,
            holds,
            is_number: false,
        })
    }

    /// What makes a value, where it is such a choice, or a sum with the product of a mask and a number beyond all. A mask
    /// is made of truths, or 1 less such a one; others could have any sign.
    fn or_sum(
        makers: &Makers,
        value: &str,
        left: Left,
        counted: &HashSet<String>,
    ) -> Option<Choice> {
        let sum = || {
            let [a, b] = makers.inputs(value, "Add")?;
            let beyond = |product: &str| {
                let [a, b] = makers.inputs(product, "Mul")?;
                let mut pairs = [(a, b), (b, a)].into_iter();
                pairs.find_map(|(mask, by)| left.has(makers.float(by)).then_some(mask))
            };
            let mut pairs = [(a, b), (b, a)].into_iter();
            pairs.find_map(|(other, product)| {
                let mask = beyond(product)?;
                let (condition, holds) = match makers.inputs(mask, "Sub") {
                    Some([one, kept]) if makers.float(one) == Some(1.0) => (kept, false),
                    _ => (mask, true),
                };
                are_truths(makers, condition, counted)?;
                Some(Choice {
                    condition: condition.into(),
                    other: other.into(),
                    holds,
                    is_number: true,
                })
            })
        };
        Choice::of(makers, value, left).or_else(sum)
    }

    /// The nodes that make a number of a condition a truth, and the choice by it.
    fn with_truth(self, output: &str) -> (Vec<NodeProto>, Choice) {
        if !self.is_number {
            return (Vec::new(), self);
        }
        let condition = format!("{output}/truth of what a mask leaves");
        let cast = NodeProto {
            attribute: vec![int("to", BOOL.into())],
            ..node("Cast", &[&self.condition], &condition)
        };
        let choice = Choice {
            condition,
            is_number: false,
            ..self
        };
        (vec![cast], choice)
    }

    /// The others with the axes of the choice, of which they may have fewer than the condition.
    fn all(&self, nodes: &mut Vec<NodeProto>, output: &str) -> String {
        let [number, sum, shape, all] = ["number", "sum", "shape", "all"]
            .map(|what| format!("{output}/{what} of what a mask leaves"));
        nodes.push(NodeProto {
            attribute: vec![int("to", FLOAT.into())],
            ..node("Cast", &[&self.condition], &number)
        });
        nodes.push(node("Add", &[&number, &self.other], &sum));
        nodes.push(node("Shape", &[&sum], &shape));
        nodes.push(node("Expand", &[&self.other, &shape], &all));
        all
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

/// Whether a value is truths or the numbers of an input that holds whole ones, moved and cast to other numbers.
fn are_truths(makers: &Makers, value: &str, counted: &HashSet<String>) -> Option<()> {
    let mut at = value;
    for _ in 0..DEPTH {
        if counted.contains(at) {
            return Some(());
        }
        let node = makers.exact(at)?;
        match &node.op_type[..] {
            "And" | "Equal" | "Greater" | "GreaterOrEqual" | "IsInf" | "IsNaN" | "Less"
            | "LessOrEqual" | "Not" | "Or" | "Xor" => return Some(()),
            "Cast" | "Expand" | "Identity" | "Reshape" | "Squeeze" | "Transpose" | "Unsqueeze" => {
                at = node.input.first()?;
            }
            _ => return None,
        }
    }
    None
}

impl Left {
    fn has(self, value: Option<f32>) -> bool {
        value.is_some_and(|value| match self {
            Left::Below(most) => value <= most,
            Left::Above(least) => value >= least,
        })
    }
}

/// Writes what takes the lowest numbers without them, in a file of such an operator set.
pub(super) fn write(graph: &mut GraphProto, opset: i64) {
    let read: HashSet<String> = {
        let inputs = graph.node.iter().flat_map(|node| &node.input);
        let outputs = graph.output.iter().map(|value| &value.name);
        inputs.chain(outputs).cloned().collect()
    };
    let counted: HashSet<String> = {
        let counts = |kind: i32| matches!(kind, BOOL | INT32 | INT64);
        let inputs = graph.input.iter().filter(|input| {
            let of = input.r#type.as_ref().and_then(|of| of.tensor_type.as_ref());
            of.is_some_and(|of| counts(of.elem_type))
        });
        inputs.map(|input| input.name.clone()).collect()
    };
    let limited = Limited::of(graph);
    for (at, change) in changes(graph, |makers, node| change(makers, node, &read, &counted)) {
        // Whether anything was left is asked of minus infinity, in whose place nothing else may stand.
        let mut made = graph.node[at].output.iter();
        let asked = made.any(|name| limited.asked.contains(name));
        if asked && matches!(change, Change::Extreme(_)) {
            continue;
        }
        match change {
            Change::Of(scores) => graph.node[at].input[0] = scores,
            Change::Exponential(choice) => exponential(graph, at, &choice),
            Change::Places(choice, axis) => places(graph, at, &choice, axis, opset),
            Change::Extreme(choice) => extreme(graph, at, choice, &limited),
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
    let mut nodes = Vec::new();
    let of = choice.all(&mut nodes, output);
    let mut minimum = node("ReduceMin", &[&of], &least);
    if opset < AXES_GIVEN {
        minimum.attribute.push(ints("axes", &[axis]));
    } else {
        minimum.input.push(axes.clone());
        graph.initializer.push(wholes(&axes, &[axis]));
    }
    minimum.attribute.push(int("keepdims", 1));
    nodes.extend([
        minimum,
        node("Sub", &[&least, &one], &lower),
        choice.between(&lower, &of, &given),
    ]);
    graph.node.extend(nodes);
    graph.node[at].input[0] = given;
    graph.initializer.push(single(&one, 1.0));
}

/// The smallest of all along the same axes in the place of what is below all, of which the largest is taken; the largest
/// where the smallest is. Of a row of which a mask leaves nothing that is what is taken. Where nothing below a number is
/// read of the result, that number stands in their place, and of such a row it is read, as in the file.
fn extreme(graph: &mut GraphProto, at: usize, choice: Choice, limited: &Limited) {
    let taken = graph.node[at].clone();
    let output = taken.output.first().map_or("", |name| name);
    let [least, given] =
        ["least", "kept"].map(|what| format!("{output}/{what} of what a mask leaves"));
    let (mut nodes, choice) = choice.with_truth(output);
    let (opposite, limits) = match &taken.op_type[..] {
        "ReduceMax" => ("ReduceMin", &limited.below),
        _ => ("ReduceMax", &limited.above),
    };
    let all = match limits.get(output) {
        Some(&number) => {
            graph.initializer.push(single(&least, number));
            choice.other.clone()
        }
        None => {
            let all = choice.all(&mut nodes, output);
            let mut other = NodeProto {
                op_type: opposite.into(),
                name: least.clone(),
                output: vec![least.clone()],
                ..taken.clone()
            };
            other.input[0].clone_from(&all);
            other.attribute.retain(|a| a.name != "keepdims");
            other.attribute.push(int("keepdims", 1));
            nodes.push(other);
            all
        }
    };
    nodes.push(choice.between(&least, &all, &given));
    graph.node.extend(nodes);
    graph.node[at].input[0] = given;
}

fn change(
    makers: &Makers,
    node: &NodeProto,
    read: &HashSet<String>,
    counted: &HashSet<String>,
) -> Option<Change> {
    let x = node.input.first()?;
    match &node.op_type[..] {
        "Softmax" => softmax(makers, node),
        "Exp" => Choice::of(makers, x, Left::Below(LEAST)).map(Change::Exponential),
        "ArgMax" | "TopK" => {
            let takes_least =
                attribute(node, "largest").is_some_and(|largest| largest.i == Some(0));
            let is_topk = node.op_type == "TopK";
            if takes_least || is_topk && read.contains(&node.output[0]) {
                return None;
            }
            let axis = match attribute(node, "axis") {
                Some(axis) => axis.i?,
                None if is_topk => -1,
                None => 0,
            };
            let choice = Choice::of(makers, x, Left::Below(-BEYOND))?;
            Some(Change::Places(choice, axis))
        }
        // Along no axis there is no row.
        _ if attribute(node, "noop_with_empty_axes").is_some_and(|a| a.i == Some(1)) => None,
        "ReduceMax" => {
            Choice::or_sum(makers, x, Left::Below(-BEYOND), counted).map(Change::Extreme)
        }
        "ReduceMin" => Choice::or_sum(makers, x, Left::Above(BEYOND), counted).map(Change::Extreme),
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
