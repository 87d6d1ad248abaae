//! The end of a model, which the receiver of the result computes in the clear.

use std::collections::HashSet;

use super::builder::Builder;
use super::call::{Call, Fault, Value, unsupported};
use super::compose::Composer;
use super::element::beside_one;
use super::function::softmax_axis;
use super::proto::NodeProto;
use super::table::is_table;
use crate::graph::{Tail, TailFunction, ValueId, len};

/// The nodes after which the receiver of the result can compute the rest: only functions of the tail
/// and changes of shape follow them. A node before an output that is computed on shares to its end is
/// none. `is_one` tells which names are constants that are a single 1.
pub(super) fn last_nodes<'a>(
    order: &[&'a NodeProto],
    on_shares: &HashSet<&'a str>,
    is_one: impl Fn(&str) -> bool,
) -> HashSet<*const NodeProto> {
    const OPS: [&str; 15] = [
        "ArgMax",
        "ArgMin",
        "ArrayFeatureExtractor",
        "Cast",
        "Dropout",
        "Flatten",
        "Identity",
        "LogSoftmax",
        "Normalizer",
        "Reshape",
        "Sigmoid",
        "Softmax",
        "Squeeze",
        "Unsqueeze",
        "ZipMap",
    ];
    let mut last = HashSet::new();
    // What some other node reads, or one of these beside its first input.
    let mut computed_with = on_shares.clone();
    for node in order.iter().rev() {
        let free = |name: &String| !computed_with.contains(name.as_str());
        let before_the_end = node.output.iter().all(free);
        let ones: Vec<bool> = node.input.iter().map(|name| is_one(name)).collect();
        let same = beside_one(node, &ones);
        let ends = before_the_end && (OPS.contains(&node.op_type.as_str()) || same.is_some());
        // Of a classifier the scores are opened, not what it makes of them.
        if ends || before_the_end && is_table(node) {
            last.insert(std::ptr::from_ref(*node));
        }
        // What is handed on: of a list of classes, by what chooses from it.
        let handed = match node.op_type.as_str() {
            "ArrayFeatureExtractor" => 1,
            _ => same.unwrap_or(0),
        };
        let skipped = |at: usize| at == handed && (ends || node.op_type == "Shape");
        let inputs = node.input.iter().enumerate();
        let with = inputs.filter(|(at, _)| !skipped(*at));
        computed_with.extend(with.map(|(_, name)| &name[..]));
    }
    last
}

/// Softmax, LogSoftmax, ArgMax, ArgMin and Sigmoid: computed by the receiver of the result.
pub(super) fn tail(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let op = call.node.op_type.as_str();
    let (id, revealed_shape, mut tail, shape) = match call.required(0)? {
        Value::Secret { .. } => {
            let (mut id, shape) = call.secret(0)?;
            if op == "ArgMin" {
                id = Composer::new(call, builder).affine("mirrored", id, -1.0, 0.0)?;
            }
            (id, shape, vec![], shape)
        }
        Value::Clear { .. } if op == "ArgMin" => {
            return unsupported("its input exists only in the clear, at the end of the model");
        }
        Value::Clear {
            id,
            revealed_shape,
            tail,
            shape,
            ..
        } => (*id, &revealed_shape[..], tail.clone(), &shape[..]),
        _ => return unsupported("its input is a constant"),
    };
    let mut out = shape.to_vec();
    if op == "Sigmoid" {
        tail.push(Tail {
            function: TailFunction::Sigmoid,
            outer: 1,
            size: 1,
            inner: len(shape),
        });
    } else if op == "ArgMax" || op == "ArgMin" {
        let along = call.item_axis(call.int("axis", 0), shape.len(), 0)?;
        tail.push(Tail {
            function: match call.int("select_last_index", 0) {
                0 => TailFunction::ArgMax,
                _ => TailFunction::ArgMaxLast,
            },
            outer: len(&shape[..along]),
            size: shape[along],
            inner: len(&shape[along + 1..]),
        });
        out[along] = 1;
        if call.int("keepdims", 1) == 0 {
            out.remove(along);
        }
    } else {
        let [outer, size, inner] = softmax_axis(call, shape)?;
        tail.push(Tail {
            function: match op {
                "Softmax" => TailFunction::Softmax,
                _ => TailFunction::LogSoftmax,
            },
            outer,
            size,
            inner,
        });
    }
    Ok(Value::Clear {
        id,
        revealed_shape: revealed_shape.to_vec(),
        tail,
        shape: out,
        classes: None,
    })
}

/// The end of scores that are opened: a function along the last axis of items.
pub(super) fn ended(id: ValueId, shape: &[usize], function: TailFunction) -> Value {
    let size = shape.last().copied().unwrap_or(1);
    let tail = Tail {
        function,
        outer: len(shape) / size,
        size,
        inner: 1,
    };
    let mut out = shape.to_vec();
    if function.is_arg_max() {
        out.pop();
    }
    Value::Clear {
        id,
        revealed_shape: shape.to_vec(),
        tail: vec![tail],
        shape: out,
        classes: None,
    }
}

/// What exists only in the clear, over the sum of its magnitudes along the last axis.
pub(super) fn unit_sum(call: &Call) -> Result<Value, Fault> {
    let mut value = call.required(0)?.clone();
    if let Value::Clear { tail, shape, .. } = &mut value {
        let size = shape.last().copied().unwrap_or(1);
        tail.push(Tail {
            function: TailFunction::UnitSum,
            outer: len(shape) / size,
            size,
            inner: 1,
        });
    }
    Ok(value)
}
