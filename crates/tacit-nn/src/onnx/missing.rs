//! IsNaN and IsInf. No party holds a number that is not finite; float32 has one where a softmax leaves out all of a
//! line, where it divides by 0, and beyond its range.

use std::collections::HashSet;

use super::builder::Builder;
use super::call::{Call, Fault, Value, unsupported};
use super::compose::Composer;
use super::constant::{Constant, Data};
use super::kind::DataType;
use super::mask::HIDDEN;
use crate::graph::{Function, Op, ValueId};

/// Where shares of a softmax are those of a line of which nothing is left; nowhere in an input.
pub(super) fn is_nan(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (id, shape, batch) = call.secret_at(0)?;
    let shares = of_shares(builder, id);
    let never =
        shares.is_some() && !builder.hides.get() || shares.is_none() && is_finite(builder, id);
    if never {
        return Ok(nowhere(call, shape, batch));
    }
    let Some((largest, index)) = shares else {
        return unsupported(
            "it is asked of what a function makes that is not finite everywhere; every number that a party has is finite",
        );
    };
    let c = &mut Composer::new(call, builder);
    // A score that is left out is so far below the others.
    let above = c.affine("above the hidden", largest, 1.0, -HIDDEN / 2.0)?;
    let is_left = c.each("something is left", Op::NonNegative, &[above])?;
    let is_empty = c.affine("nothing is left", is_left, -1.0, 1.0)?;
    let op = Op::Rearrange { index, fill: 0.0 };
    let id = c.node("of all", op, &[is_empty], shape.to_vec())?;
    builder.truths.insert(id);
    Ok(Value::Secret {
        id,
        shape: shape.to_vec(),
        batch,
    })
}

/// Nowhere in what is finite by the way it is made.
pub(super) fn is_infinite(call: &Call, builder: &Builder) -> Result<Value, Fault> {
    let (id, shape, batch) = call.secret_at(0)?;
    match is_finite(builder, id) {
        true => Ok(nowhere(call, shape, batch)),
        false => unsupported(
            "it is asked of what a function makes that is not finite everywhere; every number that a party has is finite",
        ),
    }
}

/// No, of every element.
fn nowhere(call: &Call, shape: &[usize], batch: usize) -> Value {
    let mut shape = shape.to_vec();
    if !call.whole {
        shape.insert(batch, 1);
    }
    let data = Data::Int(vec![0; shape.iter().product()]);
    let kind = DataType::Bool;
    Value::Constant(Constant { shape, kind, data })
}

/// Whether a value is made of inputs by what is finite wherever these are.
fn is_finite(builder: &Builder, id: ValueId) -> bool {
    let (mut open, mut seen) = (vec![id], HashSet::new());
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let Some(node) = id.checked_sub(1).map(|at| &builder.nodes[at]) else {
            continue;
        };
        let bounded = [Function::Sigmoid, Function::Tanh, Function::Erf];
        match &node.op {
            Op::Function { function, .. } if !bounded.contains(function) => return false,
            _ => open.extend(&node.inputs),
        }
    }
    true
}

/// The largest scores of the lines of a value that is shares of a softmax, or these moved, and the line of every
/// element.
fn of_shares(builder: &Builder, id: ValueId) -> Option<(ValueId, Vec<u32>)> {
    let (at, places) = builder.moved_from(id);
    let &(largest, lines) = builder.lines.get(&at)?;
    let line = super::function::line(lines);
    let index = places.iter().map(|&place| line(place as usize) as u32);
    Some((largest, index.collect()))
}
