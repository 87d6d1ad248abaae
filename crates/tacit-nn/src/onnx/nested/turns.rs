//! What a turn takes of a value, and the values of all turns as one.

use crate::graph::{Op, len};
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, Value, axis, bad, unsupported};
use crate::onnx::compose::Composer;
use crate::onnx::constant::{Constant, bounded_len};
use crate::onnx::fold::{joined, rearranged, select};

/// The sizes of a value, the axis `given` as one of these, and where its batch axis stands.
fn along<'a>(
    call: &Call,
    value: &'a Value,
    given: i64,
) -> Result<(&'a [usize], usize, usize), Fault> {
    match value {
        Value::Constant(constant) => {
            let shape = &constant.shape[..];
            Ok((shape, axis(given, shape.len())?, 0))
        }
        Value::Secret { shape, batch, .. } => {
            Ok((shape, call.item_axis(given, shape.len(), *batch)?, *batch))
        }
        _ => unsupported("it goes through a value that exists only in the clear"),
    }
}

/// How many places the inputs from `first` on have along their axes, all as many.
pub(super) fn count(call: &Call, first: usize, axes: &[i64]) -> Result<usize, Fault> {
    let mut known = None;
    for (k, &given) in axes.iter().enumerate() {
        let (shape, along, _) = along(call, call.required(first + k)?, given)?;
        match known {
            Some(size) if size != shape[along] => {
                return bad(format!(
                    "its inputs have {size} and {} places",
                    shape[along]
                ));
            }
            _ => known = Some(shape[along]),
        }
    }
    Ok(known.unwrap_or(0))
}

/// What stands at a place of an axis of input `i`, without that axis.
pub(in crate::onnx) fn taken(
    call: &Call,
    builder: &mut Builder,
    i: usize,
    given: i64,
    at: usize,
) -> Result<Value, Fault> {
    let value = call.required(i)?;
    let (shape, along, batch) = along(call, value, given)?;
    let index = select(shape, along, vec![at]);
    let mut left = shape.to_vec();
    left.remove(along);
    match value {
        Value::Secret { id, .. } => {
            let mut compose = Composer::new(call, builder);
            let id = compose.moved(&format!("{at} of input {i}"), *id, index, left.clone())?;
            Ok(Value::Secret {
                id,
                shape: left,
                batch: batch - usize::from(along < batch),
            })
        }
        Value::Constant(from) => Ok(Value::Constant(rearranged(from, (left, index)))),
        _ => unsupported("it goes through a value that exists only in the clear"),
    }
}

/// The values of all turns along a new axis.
pub(in crate::onnx) fn stacked(
    call: &Call,
    builder: &mut Builder,
    all: &[Value],
    given: i64,
) -> Result<Value, Fault> {
    let Some(first) = all.first() else {
        return unsupported("it takes no turn, and has an output for each");
    };
    if all
        .iter()
        .any(|value| matches!(value, Value::Unknown | Value::Refused(_)))
    {
        return Ok(Value::Unknown);
    }
    let constants = all.iter().filter_map(|value| match value {
        Value::Constant(constant) => Some(constant),
        _ => None,
    });
    let constants: Vec<&Constant> = constants.collect();
    if constants.len() == all.len() {
        let along = axis(given, constants[0].shape.len() + 1)?;
        let wider = |from: &&Constant| {
            let mut wide = (*from).clone();
            wide.shape.insert(along.min(wide.shape.len()), 1);
            wide
        };
        let wide: Vec<Constant> = constants.iter().map(wider).collect();
        return Ok(Value::Constant(joined(
            &wide.iter().collect::<Vec<_>>(),
            along,
        )?));
    }
    let Value::Secret { shape, batch, .. } = first else {
        return unsupported("some of its turns give constants, others computed values");
    };
    let alike = all.iter().map(|value| match value {
        Value::Secret {
            id,
            shape: own,
            batch: at,
        } if (own, at) == (shape, batch) => Ok(*id),
        _ => {
            unsupported("its turns give constants and computed values, or values of several shapes")
        }
    });
    let ids = alike.collect::<Result<Vec<_>, Fault>>()?;
    let (mut to, mut items) = (
        axis(given, shape.len() + 1 + usize::from(!call.whole))?,
        *batch,
    );
    if !call.whole && to > items {
        to -= 1;
    } else if !call.whole {
        items += 1;
    }
    let mut out = shape.clone();
    out.insert(to, ids.len());
    bounded_len(&out)?;
    let outer = len(&out[..to]);
    let mut compose = Composer::new(call, builder);
    let id = match ids[..] {
        [one] => one,
        _ => compose.node("all turns", Op::Concat { outer }, &ids, out.clone())?,
    };
    Ok(Value::Secret {
        id,
        shape: out,
        batch: items,
    })
}
