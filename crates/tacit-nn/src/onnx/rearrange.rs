//! Rearrangements of items: transposed, selected, split, joined.

use super::call::{Call, Fault, Value, bad, unsupported};
use super::fold::select;
use super::lower::Builder;
use super::{selection, shape};
use crate::graph::{Op, ValueId, len};
use crate::index::transpose;

pub(super) fn transposed(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape, batch) = call.secret_at(0)?;
    let (order, batch) = shape::item_permutation(call, shape.len(), batch)?;
    let out = order.iter().map(|&a| shape[a]).collect();
    rearrange(call, builder, x, transpose(shape, &order), (out, batch))
}

pub(super) fn selected(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape, batch) = call.secret_at(0)?;
    let (out, index, batch) = selection::item_selection(call, shape, batch)?;
    rearrange(call, builder, x, index, (out, batch))
}

/// The parts of Split: as many as the node names outputs, equal unless their sizes are given.
pub(super) fn split(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    let (x, shape, batch) = call.secret_at(0)?;
    let along = call.item_axis(call.int("axis", 0), shape.len(), batch)?;
    let (size, parts) = (shape[along], call.node.output.len());
    let sizes = match call.list(1, "split", 13)? {
        Some(given) => shape::sizes_of(given)?,
        None if call.int("num_outputs", parts as i64) != parts as i64 => {
            return bad(format!("its 'num_outputs' is not the {parts} that it has"));
        }
        None if call.opset < 18 && !size.is_multiple_of(parts.max(1)) => {
            return bad(format!("its axis of {size} has no {parts} equal parts"));
        }
        None => {
            let most = size.div_ceil(parts.max(1));
            (0..parts)
                .map(|i| most.min(size.saturating_sub(i * most)))
                .collect()
        }
    };
    let sum = sizes.iter().try_fold(0usize, |sum, &s| sum.checked_add(s));
    if sizes.contains(&0) {
        return unsupported("one of its parts has no elements");
    }
    if sizes.len() != parts || sum != Some(size) {
        return bad(format!(
            "its {parts} parts of the sizes {sizes:?} are not an axis of {size}"
        ));
    }
    let mut start = 0;
    let mut part = |size: usize| {
        let picks = (start..start + size).collect();
        start += size;
        let mut out = shape.to_vec();
        out[along] = size;
        rearrange(call, builder, x, select(shape, along, picks), (out, batch))
    };
    sizes.into_iter().map(&mut part).collect()
}

fn rearrange(
    call: &Call,
    builder: &mut Builder,
    x: ValueId,
    index: Vec<u32>,
    (shape, batch): (Vec<usize>, usize),
) -> Result<Value, Fault> {
    let same = index.iter().copied().eq(0..index.len() as u32) && index.len() == builder.len(x);
    let id = if same {
        x
    } else {
        let op = Op::Rearrange { index, fill: 0.0 };
        builder.add(call.name.clone(), op, vec![x], shape.clone())?
    };
    Ok(Value::Secret { id, shape, batch })
}

pub(super) fn concat(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let parts = (0..call.inputs.len())
        .map(|i| call.secret(i))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(&(_, first)) = parts.first() else {
        return bad("it has no inputs");
    };
    let along = call.item_axis(call.int("axis", 0), first.len(), 0)?;
    let mut out = first.to_vec();
    out[along] = 0;
    for (_, shape) in &parts {
        let fits =
            shape.len() == out.len() && (0..out.len()).all(|i| i == along || shape[i] == out[i]);
        if !fits {
            return bad(format!(
                "the item shapes {first:?} and {shape:?} cannot be joined"
            ));
        }
        out[along] += shape[along];
    }
    let outer = len(&out[..along]);
    builder.push(
        call,
        Op::Concat { outer },
        parts.iter().map(|p| p.0).collect(),
        out,
    )
}
