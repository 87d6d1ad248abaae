//! Exponentials of what a mask leaves out, and softmaxes of differences to a maximum: written so that the lowest
//! numbers reach no arithmetic but that of masks.
//!
//! Segment sums of state spaces and decays of gated networks are `exp(where(mask, -inf, x))`: there the exponential
//! is 0. Attention with sinks takes the largest score from all before a softmax, which does that itself.

use super::makers::{Makers, attribute, changes};
use super::mask::LEAST;
use super::proto::data_type::FLOAT;
use super::proto::{GraphProto, NodeProto, TensorProto};

/// What stands in a node's place.
enum Change {
    /// A softmax of this.
    Of(String),
    /// An exponential of a choice: the condition, what is chosen otherwise, and whether the lowest number is
    /// what is chosen where the condition holds.
    Chosen {
        condition: String,
        other: String,
        holds: bool,
    },
}

/// Writes exponentials and softmaxes without the lowest numbers.
pub(super) fn write(graph: &mut GraphProto) {
    for (at, change) in changes(graph, change) {
        let node = &mut graph.node[at];
        match change {
            Change::Of(scores) => node.input[0] = scores,
            Change::Chosen {
                condition,
                other,
                holds,
            } => {
                let output = std::mem::take(&mut node.output[0]);
                let [zero, given, made] = ["0", "kept", "exp"]
                    .map(|what| format!("{output}/{what} of what a mask leaves"));
                (node.input[0], node.output[0]) = (given.clone(), made.clone());
                let choice = |other: &str, output: &str| NodeProto {
                    op_type: "Where".into(),
                    input: match holds {
                        true => [&condition, &zero, other].map(str::to_string).into(),
                        false => [&condition, other, &zero].map(str::to_string).into(),
                    },
                    output: vec![output.into()],
                    ..NodeProto::default()
                };
                let choices = [choice(&other, &given), choice(&made, &output)];
                graph.node.extend(choices);
                graph.initializer.push(TensorProto {
                    name: zero,
                    data_type: FLOAT,
                    float_data: vec![0.0],
                    ..TensorProto::default()
                });
            }
        }
    }
}

fn change(makers: &Makers, node: &NodeProto) -> Option<Change> {
    match &node.op_type[..] {
        "Softmax" => softmax(makers, node),
        "Exp" => {
            let choice = makers.node(node.input.first()?, "Where")?;
            let [condition, yes, no] = &choice.input[..] else {
                return None;
            };
            let low = |value: &str| makers.float(value).is_some_and(|v| v <= LEAST);
            let (other, holds) = match (low(yes), low(no)) {
                (true, false) => (no, true),
                (false, true) => (yes, false),
                _ => return None,
            };
            Some(Change::Chosen {
                condition: condition.clone(),
                other: other.clone(),
                holds,
            })
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
