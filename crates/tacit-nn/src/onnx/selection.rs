//! Gather and Slice: elements at constant places of an axis, the same for constants and for items.

use super::call::{Call, Fault, bad, unsupported};
use super::constant::{BATCH, bounded_len};
use super::fold::select;
use super::shape::Axes;

/// The shape and index map of Gather or Slice on a constant.
pub(super) fn selection(call: &Call, shape: &[usize]) -> Result<(Vec<usize>, Vec<u32>), Fault> {
    choose(call, shape, Axes::All)
}

/// The shape and index map of Gather or Slice on an item, and the place of the batch axis in the
/// result.
pub(super) fn item_selection(
    call: &Call,
    shape: &[usize],
    batch: usize,
) -> Result<(Vec<usize>, Vec<u32>, usize), Fault> {
    let axes = Axes::Item(batch);
    let (out, index) = choose(call, shape, axes)?;
    let gathers = call.node.op_type == "Gather";
    let before = gathers && axes.resolve(call, call.int("axis", 0), shape.len())? < batch;
    // A gathered axis becomes as many as the indices have.
    let moved = if before {
        batch + out.len() - shape.len()
    } else {
        batch
    };
    Ok((out, index, moved))
}

fn choose(call: &Call, shape: &[usize], axes: Axes) -> Result<(Vec<usize>, Vec<u32>), Fault> {
    if call.node.op_type == "Gather" {
        gather(call, shape, axes)
    } else {
        slice(call, shape, axes)
    }
}

fn gather(call: &Call, shape: &[usize], axes: Axes) -> Result<(Vec<usize>, Vec<u32>), Fault> {
    let along = axes.resolve(call, call.int("axis", 0), shape.len())?;
    let size = shape[along] as i64;
    let pick = |&i: &i64| {
        let from_start = if i < 0 { i.saturating_add(size) } else { i };
        usize::try_from(from_start)
            .ok()
            .filter(|&p| p < shape[along])
            .ok_or_else(|| Fault::Bad(format!("its index {i} is outside an axis of {size}")))
    };
    let picks = call
        .ints(1)?
        .iter()
        .map(pick)
        .collect::<Result<Vec<_>, _>>()?;
    let out = [
        &shape[..along],
        &call.constant(1)?.shape,
        &shape[along + 1..],
    ]
    .concat();
    bounded_len(&out)?;
    Ok((out, select(shape, along, picks)))
}

fn slice(call: &Call, shape: &[usize], axes: Axes) -> Result<(Vec<usize>, Vec<u32>), Fault> {
    let part = |i: usize, name: &str| call.list(i, name, 10);
    let missing = || Fault::Bad("it lacks its starts or ends".into());
    let starts = part(1, "starts")?.ok_or_else(missing)?;
    let ends = part(2, "ends")?.ok_or_else(missing)?;
    let given: Vec<i64> = match part(3, "axes")? {
        Some(given) => given.to_vec(),
        None => (0..starts.len() as i64).collect(),
    };
    let steps = part(4, "steps")?.map_or(vec![1; starts.len()], <[i64]>::to_vec);
    if [ends.len(), given.len(), steps.len()] != [starts.len(); 3] {
        return bad("its starts, ends, axes and steps differ in number");
    }
    let mut positions: Vec<Vec<Option<usize>>> = shape
        .iter()
        .map(|&size| crate::index::whole(size))
        .collect();
    for i in 0..starts.len() {
        if axes.is_batch(call, given[i], shape.len()) && is_all([starts[i], ends[i], steps[i]]) {
            continue;
        }
        let along = axes.resolve(call, given[i], shape.len())?;
        if [starts[i], ends[i]].contains(&BATCH) {
            // Of a constant one item stands for all.
            if shape[along] == 1 && is_all([starts[i], ends[i], steps[i]]) {
                continue;
            }
            return unsupported(
                "it takes as many of an axis as the batch has items, which is free",
            );
        }
        positions[along] = range(starts[i], ends[i], steps[i], shape[along] as i64)?
            .map(Some)
            .collect();
    }
    Ok((
        positions.iter().map(Vec::len).collect(),
        crate::index::pick(shape, &positions),
    ))
}

/// More items than any run takes.
const MOST_ITEMS: i64 = 1_000_000_000;

/// Whether `start..end` by `step` is all of a batch, however many items that has.
fn is_all([start, end, step]: [i64; 3]) -> bool {
    (start, step) == (0, 1) && (end == BATCH || end >= MOST_ITEMS)
}

/// The positions of `start..end` by `step` along an axis of `size`, by ONNX's rules of clamping.
fn range(start: i64, end: i64, step: i64, size: i64) -> Result<impl Iterator<Item = usize>, Fault> {
    let from_start = |v: i64| if v < 0 { v.saturating_add(size) } else { v };
    let (low, high) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let (start, end) = (
        from_start(start).clamp(low.max(0), high.max(0)),
        from_start(end).clamp(low, high),
    );
    let distance = if step > 0 { end - start } else { start - end };
    let step_size = usize::try_from(step.unsigned_abs()).unwrap_or(usize::MAX);
    if step == 0 {
        return bad("its step is 0");
    }
    let count = usize::try_from(distance)
        .unwrap_or(0)
        .min(size as usize)
        .div_ceil(step_size);
    let start = start as usize;
    Ok((0..count).map(move |i| {
        if step > 0 {
            start + i * step_size
        } else {
            start - i * step_size
        }
    }))
}
