//! Rearrangements of items: transposed, selected, split, padded, joined.

use super::call::{Call, Fault, Value, bad, item_axis, unsupported};
use super::fold::select;
use super::lower::Builder;
use super::shape;
use crate::graph::{Op, ValueId, len};
use crate::index::{pick, transpose, whole};

pub(super) fn transposed(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape, batch) = call.secret_at(0)?;
    let (order, batch) = shape::item_permutation(call, shape.len(), batch)?;
    let out = order.iter().map(|&a| shape[a]).collect();
    rearrange(call, builder, x, transpose(shape, &order), (out, batch))
}

pub(super) fn selected(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape, batch) = call.secret_at(0)?;
    let (out, index, batch) = shape::item_selection(call, shape, batch)?;
    rearrange(call, builder, x, index, (out, batch))
}

/// The parts of Split: as many as the node names outputs, equal unless their sizes are given.
pub(super) fn split(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    let (x, shape, batch) = call.secret_at(0)?;
    let along = item_axis(call.int("axis", 0), shape.len(), batch)?;
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
    if sizes.len() != parts || sum != Some(size) || sizes.contains(&0) {
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

pub(super) fn pad(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let mode = call.text("mode", "constant");
    if mode != "constant" {
        return unsupported(format!(
            "it pads by '{mode}'; padding with a constant is supported"
        ));
    }
    let (pads, fill, axes) = if call.opset < 11 {
        (call.list(1, "pads", 11)?, call.float("value", 0.0), None)
    } else {
        let fill = match call.optional_weights(2)? {
            None => 0.0,
            Some((_, v)) if v.len() == 1 => v[0],
            Some(_) => return bad("its padding value is not one number"),
        };
        (Some(call.ints(1)?), fill, call.optional_ints(3)?)
    };
    let pads = pads.ok_or_else(|| Fault::Bad("it names no pads".into()))?;
    let axes = axes.map_or_else(|| (0..=shape.len() as i64).collect(), <[i64]>::to_vec);
    if pads.len() != 2 * axes.len() {
        return bad(format!(
            "it has {} pads for {} axes",
            pads.len(),
            axes.len()
        ));
    }
    let mut positions: Vec<_> = shape.iter().map(|&size| whole(size)).collect();
    for (i, &axis) in axes.iter().enumerate() {
        let (before, after) = (pads[i], pads[i + axes.len()]);
        if (before, after) == (0, 0) {
            continue;
        }
        let along = item_axis(axis, shape.len(), 0)?;
        let size = shape[along] as i64;
        if !(-size..1 << 20).contains(&before) || !(-size..1 << 20).contains(&after) {
            return bad(format!(
                "its pads {before} and {after} do not fit an axis of {size}"
            ));
        }
        positions[along] = (-before..size + after)
            .map(|p| usize::try_from(p).ok().filter(|&p| p < shape[along]))
            .collect();
    }
    let out: Vec<usize> = positions.iter().map(Vec::len).collect();
    super::constant::bounded_len(&out)?;
    builder.push(
        call,
        Op::Rearrange {
            index: pick(shape, &positions),
            fill,
        },
        vec![x],
        out,
    )
}

pub(super) fn concat(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let parts = (0..call.inputs.len())
        .map(|i| call.secret(i))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(&(_, first)) = parts.first() else {
        return bad("it has no inputs");
    };
    let along = item_axis(call.int("axis", 0), first.len(), 0)?;
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
