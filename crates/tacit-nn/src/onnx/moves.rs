//! Nodes that take elements from other places, the same for constants and for items.

use std::ops::Range;

use super::builder::Builder;
use super::call::{Call, Fault, Value, axis, bad, unsupported};
use super::constant::bounded_len;
use crate::graph::{FILL, Op, len};
use crate::index::{pick, transpose, whole};

/// Where the elements of a result come from.
pub(super) struct Moved {
    pub shape: Vec<usize>,
    /// One index into the input for each element, or [`FILL`].
    pub index: Vec<u32>,
    pub fill: f32,
}

/// The result of a node whose first input is computed, if it only moves elements.
pub(super) fn moved(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    match of_shape(call, shape)? {
        None => unsupported("it is supported only where all its inputs are constants"),
        Some(Moved { fill, .. }) if !fill.is_finite() => {
            unsupported(format!("it fills a computed value up with {fill}"))
        }
        Some(Moved { shape, index, fill }) => {
            builder.push(call, Op::Rearrange { index, fill }, vec![x], shape)
        }
    }
}

/// Where a node takes its elements from, of a first input of the given shape; `None` for one that
/// computes. Where there is a batch, it stands before the shape.
pub(super) fn of_shape(call: &Call, shape: &[usize]) -> Result<Option<Moved>, Fault> {
    let (shape, index, fill) = match call.node.op_type.as_str() {
        "Pad" => return pad(call, shape).map(Some),
        "Trilu" => triangle(call, shape)?,
        "Tile" => tile(call, shape)?,
        "DepthToSpace" | "SpaceToDepth" => blocks(call, shape)?,
        "CenterCropPad" => centred(call, shape)?,
        "Compress" => compress(call, shape)?,
        "GatherElements" => gather_elements(call, shape)?,
        "GatherND" => gather_nd(call, shape)?,
        "ReverseSequence" => reverse(call, shape)?,
        _ => return Ok(None),
    };
    bounded_len(&shape)?;
    Ok(Some(Moved { shape, index, fill }))
}

type Found = Result<(Vec<usize>, Vec<u32>, f32), Fault>;

/// Refuses a node that takes elements of other items.
pub(super) fn needs_whole(call: &Call) -> Result<(), Fault> {
    match call.whole {
        true => Ok(()),
        false => unsupported(
            "its indices count the batch axis too; of a fixed batch size it is run as one item",
        ),
    }
}

/// Numbers for every axis of the file as those of an item's axes; that of the batch must be `neutral`.
pub(super) fn of_item<T: Copy + PartialEq>(
    call: &Call,
    given: &[T],
    rank: usize,
    neutral: T,
) -> Result<Vec<T>, Fault> {
    let batch = usize::from(!call.whole);
    if given.len() != rank + batch {
        return bad(format!(
            "it has {} numbers for {} axes",
            given.len(),
            rank + batch
        ));
    }
    if given[..batch].iter().any(|&v| v != neutral) {
        return unsupported("it changes the number of items");
    }
    Ok(given[batch..].to_vec())
}

/// Elements at `places` of every axis.
fn picked(
    shape: &[usize],
    places: Vec<Vec<Option<usize>>>,
) -> Result<(Vec<usize>, Vec<u32>), Fault> {
    let out: Vec<usize> = places.iter().map(Vec::len).collect();
    bounded_len(&out)?;
    Ok((out, pick(shape, &places)))
}

fn tile(call: &Call, shape: &[usize]) -> Found {
    let times = super::shape::sizes_of(call.ints(1)?)?;
    let times = of_item(call, &times, shape.len(), 1)?;
    let out: Vec<usize> = (shape.iter().zip(&times))
        .map(|(&size, &times)| size.saturating_mul(times))
        .collect();
    bounded_len(&out)?;
    let places = (shape.iter().zip(&out))
        .map(|(&size, &out)| (0..out).map(|i| Some(i % size)).collect())
        .collect();
    let (shape, index) = picked(shape, places)?;
    Ok((shape, index, 0.0))
}

fn triangle(call: &Call, shape: &[usize]) -> Found {
    let &[.., rows, columns] = shape else {
        return bad(format!("its items of the shape {shape:?} are no matrices"));
    };
    let above = call.optional_ints(1)?.map_or(Some(&0), <[i64]>::first);
    let &above = above.ok_or_else(|| Fault::Bad("its diagonal is no number".into()))?;
    let upper = call.int("upper", 1) != 0;
    let kept = |e: usize| {
        let (row, column) = ((e / columns % rows) as i64, (e % columns) as i64);
        let distance = column.saturating_sub(row);
        if upper {
            distance >= above
        } else {
            distance <= above
        }
    };
    let index = (0..len(shape))
        .map(|e| if kept(e) { e as u32 } else { FILL })
        .collect();
    Ok((shape.to_vec(), index, 0.0))
}

/// DepthToSpace and SpaceToDepth: blocks of channels beside each other.
fn blocks(call: &Call, shape: &[usize]) -> Found {
    let &[channels, height, width] = shape else {
        return bad(format!(
            "its items have the shape {shape:?}; channels, height and width are needed"
        ));
    };
    let b = match usize::try_from(call.int("blocksize", 0)) {
        Ok(b) if (1..1 << 12).contains(&b) => b,
        _ => return bad("its 'blocksize' is no size"),
    };
    let mode = call.text("mode", "DCR");
    let first = match mode.as_str() {
        "DCR" => true,
        "CRD" => false,
        other => return bad(format!("its 'mode' is '{other}'")),
    };
    let refused = || Fault::Bad(format!("blocks of {b} do not divide {shape:?}"));
    let (split, order, out) = if call.node.op_type == "DepthToSpace" {
        let depth = channels / (b * b);
        if !channels.is_multiple_of(b * b) {
            return Err(refused());
        }
        let (split, order) = match first {
            true => (vec![b, b, depth, height, width], [2, 3, 0, 4, 1]),
            false => (vec![depth, b, b, height, width], [0, 3, 1, 4, 2]),
        };
        (split, order, vec![depth, height * b, width * b])
    } else {
        if !height.is_multiple_of(b) || !width.is_multiple_of(b) {
            return Err(refused());
        }
        let (h, w) = (height / b, width / b);
        let order = match first {
            true => [2, 4, 0, 1, 3],
            false => [0, 2, 4, 1, 3],
        };
        (
            vec![channels, h, b, w, b],
            order,
            vec![channels * b * b, h, w],
        )
    };
    Ok((out, transpose(&split, &order), 0.0))
}

/// CenterCropPad: the middle of an axis, or the axis in the middle of zeros.
fn centred(call: &Call, shape: &[usize]) -> Found {
    let target = super::shape::sizes_of(call.ints(1)?)?;
    let all: Vec<i64> = (0..(shape.len() + usize::from(!call.whole)) as i64).collect();
    let axes = call.attribute("axes").map_or(&all[..], |a| &a.ints);
    if axes.len() != target.len() {
        return bad("its axes and sizes differ in number");
    }
    let mut sizes = shape.to_vec();
    for (&given, &to) in axes.iter().zip(&target) {
        sizes[call.item_axis(given, shape.len(), 0)?] = to;
    }
    bounded_len(&sizes)?;
    let mut places: Vec<_> = shape.iter().map(|&size| whole(size)).collect();
    for (&given, &to) in axes.iter().zip(&target) {
        let along = call.item_axis(given, shape.len(), 0)?;
        let size = shape[along];
        let (cut, added) = (size.saturating_sub(to) / 2, to.saturating_sub(size) / 2);
        places[along] = (0..to)
            .map(|i| (i + cut).checked_sub(added).filter(|&p| p < size))
            .collect();
    }
    let (shape, index) = picked(shape, places)?;
    Ok((shape, index, 0.0))
}

fn compress(call: &Call, shape: &[usize]) -> Found {
    let chosen = call.ints(1)?;
    let flat = [len(shape)];
    let (shape, along) = match call.attribute("axis") {
        Some(_) => (shape, call.item_axis(call.int("axis", 0), shape.len(), 0)?),
        None => {
            needs_whole(call)?;
            (&flat[..], 0)
        }
    };
    let mut places: Vec<_> = shape.iter().map(|&size| whole(size)).collect();
    places[along].retain(|place| place.is_some_and(|p| chosen.get(p).is_some_and(|&c| c != 0)));
    let (shape, index) = picked(shape, places)?;
    Ok((shape, index, 0.0))
}

/// A place along an axis of `size`, counted from the end where negative.
pub(super) fn at(index: i64, size: usize) -> Result<usize, Fault> {
    axis(index, size)
        .map_err(|_| Fault::Bad(format!("its index {index} is outside an axis of {size}")))
}

/// The element of `shape` that every index of GatherElements and ScatterElements means.
pub(super) fn elements_at(
    shape: &[usize],
    along: usize,
    (given, indices): (&[usize], &[i64]),
) -> Result<Vec<u32>, Fault> {
    let fits = given.len() == shape.len()
        && (0..shape.len()).all(|a| a == along || given[a] <= shape[a])
        && len(given) == indices.len();
    if !fits {
        return bad(format!(
            "its indices of the shape {given:?} do not fit {shape:?}"
        ));
    }
    let element = |(e, &index): (usize, &i64)| {
        let (mut rest, mut stride, mut found) = (e, 1, 0);
        for a in (0..shape.len()).rev() {
            let own = rest % given[a];
            rest /= given[a];
            let place = if a == along {
                at(index, shape[a])?
            } else {
                own
            };
            found += place * stride;
            stride *= shape[a];
        }
        Ok(found as u32)
    };
    indices.iter().enumerate().map(element).collect()
}

fn gather_elements(call: &Call, shape: &[usize]) -> Found {
    needs_whole(call)?;
    let along = axis(call.int("axis", 0), shape.len())?;
    let given = &call.constant(1)?.shape;
    let index = elements_at(shape, along, (given, call.ints(1)?))?;
    Ok((given.clone(), index, 0.0))
}

/// The first element of the block that every row of indices means, and the block's shape.
pub(super) fn blocks_at(
    shape: &[usize],
    (given, indices): (&[usize], &[i64]),
) -> Result<(Vec<usize>, Vec<usize>), Fault> {
    let depth = given.last().copied().unwrap_or(0);
    if depth == 0 || depth > shape.len() {
        return bad(format!(
            "its indices of the shape {given:?} do not fit {shape:?}"
        ));
    }
    let block = shape[depth..].to_vec();
    let start = |row: &[i64]| {
        let mut place = 0;
        for (a, &index) in row.iter().enumerate() {
            place = place * shape[a] + at(index, shape[a])?;
        }
        Ok(place * len(&block))
    };
    let starts = indices.chunks(depth).map(start);
    Ok((starts.collect::<Result<_, Fault>>()?, block))
}

fn gather_nd(call: &Call, shape: &[usize]) -> Found {
    needs_whole(call)?;
    let (given, indices) = (&call.constant(1)?.shape, call.ints(1)?);
    let dims = match usize::try_from(call.int("batch_dims", 0)) {
        Ok(dims) if dims < given.len() && dims < shape.len() && given[..dims] == shape[..dims] => {
            dims
        }
        _ => return bad("its 'batch_dims' do not fit its inputs"),
    };
    let (many, each) = (len(&shape[..dims]), len(&shape[dims..]));
    let depth = given[given.len() - 1].min(shape.len() - dims);
    let out = [&given[..given.len() - 1], &shape[dims + depth..]].concat();
    bounded_len(&out)?;
    let mut index = Vec::new();
    for (i, rows) in indices
        .chunks(len(&given[dims..]).max(1))
        .take(many)
        .enumerate()
    {
        let (starts, of) = blocks_at(&shape[dims..], (given, rows))?;
        let size = len(&of);
        let all = starts.iter().flat_map(|&start| start..start + size);
        index.extend(all.map(|e| (i * each + e) as u32));
    }
    Ok((out, index, 0.0))
}

fn reverse(call: &Call, shape: &[usize]) -> Found {
    needs_whole(call)?;
    let lengths = call.ints(1)?;
    let time = axis(call.int("time_axis", 0), shape.len())?;
    let batch = axis(call.int("batch_axis", 1), shape.len())?;
    let fits = |&n: &i64| (0..=shape[time] as i64).contains(&n);
    if time == batch || lengths.len() != shape[batch] || !lengths.iter().all(fits) {
        return bad("its lengths do not fit its axes");
    }
    let inner = |along: usize| len(&shape[along + 1..]);
    let from = |e: usize| {
        let place = |along: usize| e / inner(along) % shape[along];
        let (at, end) = (place(time), lengths[place(batch)] as usize);
        match at < end {
            true => e - at * inner(time) + (end - 1 - at) * inner(time),
            false => e,
        }
    };
    let index = (0..len(shape)).map(|e| from(e) as u32).collect();
    Ok((shape.to_vec(), index, 0.0))
}

/// Pad by a constant, by the end's element, by the mirror image, or by the other end.
fn pad(call: &Call, shape: &[usize]) -> Result<Moved, Fault> {
    let rank = shape.len() + usize::from(!call.whole);
    let (pads, fill, axes) = if call.opset < 11 {
        (call.list(1, "pads", 11)?, call.float("value", 0.0), None)
    } else {
        let fill = match call.optional_constant(2)? {
            None => 0.0,
            Some(value) if value.data.len() == 1 => value.data.floats()[0],
            Some(_) => return bad("its padding value is not one number"),
        };
        (Some(call.ints(1)?), fill, call.optional_ints(3)?)
    };
    let pads = pads.ok_or_else(|| Fault::Bad("it names no pads".into()))?;
    let axes = axes.map_or_else(|| (0..rank as i64).collect(), <[i64]>::to_vec);
    if pads.len() != 2 * axes.len() {
        return bad(format!(
            "it has {} pads for {} axes",
            pads.len(),
            axes.len()
        ));
    }
    let mode = call.text("mode", "constant");
    let (mut sizes, mut places) = (shape.to_vec(), vec![None; shape.len()]);
    for (i, &given) in axes.iter().enumerate() {
        let (before, after) = (pads[i], pads[i + axes.len()]);
        if (before, after) == (0, 0) {
            continue;
        }
        let along = call.item_axis(given, shape.len(), 0)?;
        let size = shape[along] as i64;
        if before.min(after) < 0 && before.max(after) > 0 && mode == "wrap" {
            return unsupported(format!(
                "it pads by 'wrap' and crops the same axis, by {before} and {after}: do one after the other"
            ));
        }
        if !(-size..1 << 20).contains(&before) || !(-size..1 << 20).contains(&after) {
            return bad(format!(
                "its pads {before} and {after} do not fit an axis of {size}"
            ));
        }
        let padded = -before..size + after;
        sizes[along] = padded.clone().count();
        places[along] = Some(padded);
    }
    bounded_len(&sizes)?;
    let of_axis = |(places, &size): (Option<Range<i64>>, &usize)| match places {
        Some(places) => places.map(|p| beyond(&mode, p, size as i64)).collect(),
        None => Ok(whole(size)),
    };
    let places = places.into_iter().zip(shape).map(of_axis);
    let (shape, index) = picked(shape, places.collect::<Result<Vec<_>, _>>()?)?;
    Ok(Moved { shape, index, fill })
}

/// The place of an axis of `size` that stands at `p`, which may lie outside.
fn beyond(mode: &str, p: i64, size: i64) -> Result<Option<usize>, Fault> {
    let found = match mode {
        _ if (0..size).contains(&p) => p,
        "constant" => return Ok(None),
        _ if size == 0 => return bad("it repeats the elements of an axis that has none"),
        "edge" => p.clamp(0, size - 1),
        "wrap" => p.rem_euclid(size),
        "reflect" if size == 1 => 0,
        "reflect" => {
            let there = p.rem_euclid(2 * (size - 1));
            there.min(2 * (size - 1) - there)
        }
        other => return unsupported(format!("it pads by '{other}'")),
    };
    Ok(usize::try_from(found).ok())
}
