//! Sequences of tensors whose lengths are known: lists to which a scripted loop appends, and the parts of a tensor.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::constant::{Constant, Data};
use super::fold;
use super::kind::DataType;
use super::nested::{stacked, taken};
use super::rearrange;

/// The most tensors of all sequences: each step of a list has those before.
const MOST: usize = 1 << 20;

/// Whether a node makes or reads a sequence.
pub(super) fn is_one(call: &Call) -> bool {
    let reads = |value: &Value| matches!(value, Value::Sequence(_));
    let kind = &call.node.op_type[..];
    call.inputs.iter().flatten().any(|value| reads(value))
        || matches!(
            kind,
            "SequenceConstruct" | "SequenceEmpty" | "SplitToSequence"
        )
}

/// The output of a node that makes or reads one.
pub(super) fn lower(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    let made = match &call.node.op_type[..] {
        "Identity" => call.required(0)?.clone(),
        "SequenceEmpty" => Value::Sequence(vec![]),
        "SequenceConstruct" => {
            let all = (0..call.inputs.len()).map(|i| tensor(call, i));
            Value::Sequence(all.collect::<Result<_, _>>()?)
        }
        "SequenceInsert" => {
            let mut all = sequence(call)?.to_vec();
            let at = place(call, 2, all.len(), all.len())?;
            all.insert(at, tensor(call, 1)?);
            Value::Sequence(all)
        }
        "SequenceErase" => {
            let mut all = sequence(call)?.to_vec();
            let last = last(&all)?;
            let at = place(call, 1, last, last)?;
            all.remove(at);
            Value::Sequence(all)
        }
        "SequenceAt" => {
            let all = sequence(call)?;
            let last = last(all)?;
            all[place(call, 1, last, last)?].clone()
        }
        "SequenceLength" => Value::Constant(Constant {
            shape: vec![],
            kind: DataType::Signed(64),
            data: Data::Int(vec![sequence(call)?.len() as i64]),
        }),
        "ConcatFromSequence" => together(call, builder)?,
        "SplitToSequence" => Value::Sequence(parts(call, builder)?),
        _ => return unsupported("its input is a sequence of tensors"),
    };
    if let Value::Sequence(all) = &made {
        builder.sequenced += all.len();
        if builder.sequenced > MOST {
            return unsupported(format!(
                "the sequences of the model have more than {MOST} tensors, those of each of its steps counted"
            ));
        }
    }
    Ok(vec![made])
}

/// The first input, a sequence.
fn sequence<'a>(call: &Call<'a>) -> Result<&'a [Value], Fault> {
    match call.required(0)? {
        Value::Sequence(all) => Ok(all),
        _ => bad("its input 0 is no sequence"),
    }
}

/// Input `i`, one tensor.
fn tensor(call: &Call, i: usize) -> Result<Value, Fault> {
    match call.required(i)? {
        Value::Sequence(_) => bad(format!("its input {i} is a sequence, no tensor")),
        value => Ok(value.clone()),
    }
}

fn last(all: &[Value]) -> Result<usize, Fault> {
    match all.len() {
        0 => bad("its sequence is empty"),
        n => Ok(n - 1),
    }
}

/// The place that input `i` gives, from the end where it is negative: up to `most`, and `plain` if it is not given.
fn place(call: &Call, i: usize, most: usize, plain: usize) -> Result<usize, Fault> {
    let at = match call.optional_ints(i)? {
        None => return Ok(plain),
        Some(&[at]) => at,
        Some(_) => return bad("its place is no number"),
    };
    let length = call.input(0).map_or(0, |value| match value {
        Value::Sequence(all) => all.len() as i64,
        _ => 0,
    });
    let from_start = if at < 0 {
        at.saturating_add(length)
    } else {
        at
    };
    let found = usize::try_from(from_start).ok().filter(|&at| at <= most);
    found.ok_or_else(|| Fault::Bad(format!("its place {at} is outside a sequence of {length}")))
}

/// ConcatFromSequence: all along an axis that they have, or along a new one.
fn together(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let all = sequence(call)?;
    let axis = call.int("axis", 0);
    last(all)?;
    if call.int("new_axis", 0) != 0 {
        return stacked(call, builder, all, axis);
    }
    let constants = all.iter().map(|value| match value {
        Value::Constant(constant) => Some(constant),
        _ => None,
    });
    if let Some(constants) = constants.collect::<Option<Vec<&Constant>>>() {
        let along = super::call::axis(axis, constants[0].shape.len())?;
        return Ok(Value::Constant(fold::joined(&constants, along)?));
    }
    let parts = Call {
        name: call.name.clone(),
        inputs: all.iter().map(Some).collect(),
        ..*call
    };
    rearrange::concat(&parts, builder)
}

/// SplitToSequence: parts of the sizes given, of one size, or each place by itself.
fn parts(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    let (shape, along) = rearrange::split_along(call)?;
    let size = shape[along];
    let given = call.optional_ints(1)?;
    if given.is_none() && call.int("keepdims", 1) == 0 {
        let axis = call.int("axis", 0);
        if size > MOST {
            return unsupported(format!(
                "it makes {size} parts, at most {MOST} are supported"
            ));
        }
        return (0..size)
            .map(|at| taken(call, builder, 0, axis, at))
            .collect();
    }
    let is_one = call
        .optional_constant(1)?
        .is_some_and(|c| c.shape.is_empty());
    let sizes = match given {
        None => vec![1; size],
        Some(&[each]) if is_one => {
            let each = usize::try_from(each).ok().filter(|&each| each > 0);
            let Some(each) = each else {
                return bad("its parts have no size");
            };
            (0..size.div_ceil(each))
                .map(|i| each.min(size - i * each))
                .collect()
        }
        Some(given) => super::shape::sizes_of(given)?,
    };
    rearrange::parted(call, builder, (shape, along), sizes)
}
