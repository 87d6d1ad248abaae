//! Nodes that work along axes of an item whose batch does not stand first.
//!
//! The numbers of an item lie the same wherever the batch stands. So such a node is lowered as if the batch
//! stood first, its axes counted anew, and its output has the batch where the file has it.

use super::builder::Builder;
use super::call::{Call, Fault, Value, axis, unsupported};
use super::constant::{Constant, Data};
use super::lower::items;
use super::proto::{AttributeProto, NodeProto};

/// The outputs of a node whose computed inputs have the batch elsewhere; `None` of others.
pub(super) fn lower(call: &Call, builder: &mut Builder) -> Option<Result<Vec<Value>, Fault>> {
    let reduces = call.node.op_type.starts_with("Reduce");
    let known = ["Concat", "Hardmax", "LogSoftmax", "Softmax"].contains(&&call.node.op_type[..]);
    if !known && !reduces || call.opset < 13 && call.node.op_type.ends_with("max") {
        return None;
    }
    let places = call
        .inputs
        .iter()
        .flatten()
        .filter_map(|input| match input {
            Value::Secret { shape, batch, .. } => Some((*batch, shape.len() + 1)),
            _ => None,
        });
    let places: Vec<(usize, usize)> = places.collect();
    match places[..] {
        [(batch, rank), ..] if batch > 0 => {
            let alike = places.iter().all(|&place| place == (batch, rank));
            alike.then(|| first(call, builder, batch, rank))
        }
        _ => None,
    }
}

/// The node with its batch as the first axis.
fn first(
    call: &Call,
    builder: &mut Builder,
    batch: usize,
    rank: usize,
) -> Result<Vec<Value>, Fault> {
    let mut node: NodeProto = call.node.clone();
    let mut inputs: Vec<Option<Value>> = call.inputs.iter().map(|v| v.cloned()).collect();
    for input in inputs.iter_mut().flatten() {
        match input {
            Value::Secret { batch, .. } => *batch = 0,
            Value::Constant(constant) if node.op_type == "Concat" => {
                return unsupported(format!(
                    "it joins a constant of the shape {:?} to items whose batch is axis {batch}; put \
                     the batch first",
                    constant.shape
                ));
            }
            _ => {}
        }
    }
    let moved = |given: i64| -> Result<i64, Fault> {
        let along = axis(given, rank)?;
        Ok(match along {
            along if along == batch => 0,
            along => (along + usize::from(along < batch)) as i64,
        })
    };
    let mut removed = 0;
    if call.node.op_type.starts_with("Reduce") {
        let since = match call.node.op_type == "ReduceSum" {
            true => 13,
            false => 18,
        };
        let given = call.list(1, "axes", since)?.unwrap_or_default();
        let axes: Vec<i64> = given.iter().map(|&a| moved(a)).collect::<Result<_, _>>()?;
        if call.int("keepdims", 1) == 0 {
            let before = |a: &&i64| axis(**a, rank).is_ok_and(|a| a < batch);
            removed = given.iter().filter(before).count();
        }
        match call.opset < since {
            true => set(&mut node, "axes", |a| a.ints = axes),
            false => {
                if let Some(kept) = call.optional_constant(1)? {
                    let data = Data::Int(axes);
                    let kept = kept.clone();
                    inputs[1] = Some(Value::Constant(Constant { data, ..kept }));
                }
            }
        }
    } else {
        let default = if call.node.op_type == "Concat" { 0 } else { -1 };
        let along = moved(call.int("axis", default))?;
        set(&mut node, "axis", |a| a.i = Some(along));
    }
    let inner = Call {
        node: &node,
        name: call.name.clone(),
        // The receiver's own functions know the batch as the first axis alone.
        last: false,
        inputs: inputs.iter().map(Option::as_ref).collect(),
        ..*call
    };
    let mut outputs = items(&inner, builder)?;
    for output in &mut outputs {
        if let Value::Secret { batch: stands, .. } = output {
            *stands = batch - removed;
        }
    }
    Ok(outputs)
}

/// Sets an attribute of a node, or adds it.
fn set(node: &mut NodeProto, name: &str, to: impl FnOnce(&mut AttributeProto)) {
    let at = match node.attribute.iter().position(|a| a.name == name) {
        Some(at) => at,
        None => {
            let r#type = if name == "axis" { 2 } else { 7 };
            node.attribute.push(AttributeProto {
                name: name.into(),
                r#type,
                ..Default::default()
            });
            node.attribute.len() - 1
        }
    };
    to(&mut node.attribute[at]);
}
