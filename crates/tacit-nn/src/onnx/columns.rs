//! Windows put back where they were taken from: Col2Im and MaxUnpool.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::{Composer, value};
use super::constant::bounded_len;
use super::moves::needs_whole;
use super::reduce::sum;
use super::shape::sizes_of;
use crate::graph::{FILL, Op, len};
use crate::index::pick;

/// Col2Im: every element of an image is the sum of those of the blocks that cover it.
pub(super) fn col2im(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let (image, block) = (sizes_of(call.ints(1)?)?, sizes_of(call.ints(2)?)?);
    let rank = image.len();
    let (dilations, strides) = (
        call.sizes("dilations", rank, 1)?,
        call.sizes("strides", rank, 1)?,
    );
    let pads = call.sizes("pads", 2 * rank, 0)?;
    let (taps, size) = (bounded_len(&block)?, bounded_len(&image)?);
    let mut counts = Vec::new();
    for a in 0..rank.min(block.len()) {
        let reach = block[a].saturating_sub(1).saturating_mul(dilations[a]) + 1;
        let room = image[a].saturating_add(pads[a] + pads[a + rank]);
        let steps = room.checked_sub(reach).zip(Some(strides[a]));
        match steps.and_then(|(steps, stride)| steps.checked_div(stride)) {
            Some(steps) => counts.push(steps + 1),
            None => return bad("its blocks do not fit its image"),
        }
    }
    let blocks = bounded_len(&counts)?;
    let &[ref before @ .., columns, found] = shape else {
        return bad(format!("its items have the shape {shape:?}"));
    };
    let fits = block.len() == rank && taps > 0 && columns.is_multiple_of(taps) && found == blocks;
    if !fits || before.len() != usize::from(call.whole) || size == 0 {
        return bad(format!(
            "its items of the shape {shape:?} are not {blocks} blocks of the shape {block:?}"
        ));
    }
    let channels = len(before) * (columns / taps);
    let out = [before, &[columns / taps], &image[..]].concat();
    bounded_len(&[channels, size, taps])?;
    // The block of which tap `tap` lies on place `place`.
    let block_at = |place: usize, tap: usize| {
        let (mut place, mut tap, mut from, mut stride) = (place, tap, 0, 1);
        for a in (0..rank).rev() {
            let (at, offset) = (place % image[a] + pads[a], tap % block[a] * dilations[a]);
            (place, tap) = (place / image[a], tap / block[a]);
            let start = at.checked_sub(offset)?;
            let step = start / strides[a];
            if start % strides[a] != 0 || step >= counts[a] {
                return None;
            }
            from += step * stride;
            stride *= counts[a];
        }
        Some(from)
    };
    let index = (0..channels * size * taps).map(|e| {
        let (channel, place, tap) = (e / (size * taps), e / taps % size, e % taps);
        let at = |block: usize| ((channel * taps + tap) * blocks + block) as u32;
        block_at(place, tap).map_or(FILL, at)
    });
    let op = Op::Rearrange {
        index: index.collect(),
        fill: 0.0,
    };
    let mut c = Composer::new(call, builder);
    let covering = c.node("covering", op, &[x], vec![channels * size, taps])?;
    let id = sum(&mut c, covering, channels * size, taps)?;
    Ok(value(id, out))
}

/// MaxUnpool by constant places: each element at its own, else 0.
pub(super) fn max_unpool(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    needs_whole(call)?;
    let (x, shape) = call.secret(0)?;
    let rank = shape.len().saturating_sub(2);
    let kernel = call.sizes("kernel_shape", rank, 1)?;
    let (strides, pads) = (
        call.sizes("strides", rank, 1)?,
        call.sizes("pads", 2 * rank, 0)?,
    );
    let mut out = shape[..shape.len() - rank].to_vec();
    for a in 0..rank {
        let reach = (shape[a + 2] - 1)
            .saturating_mul(strides[a])
            .saturating_add(kernel[a]);
        match reach.checked_sub(pads[a] + pads[a + rank]) {
            Some(size) => out.push(size),
            None => return bad("its pads are more than its windows"),
        }
    }
    let wanted = match call.optional_ints(2)? {
        None => out.clone(),
        Some(given) => sizes_of(given)?,
    };
    let holds = wanted.len() == out.len() && wanted.iter().zip(&out).all(|(w, o)| w >= o);
    if !holds || wanted[..2.min(out.len())] != out[..2.min(out.len())] {
        return unsupported(format!(
            "its output does not hold the shape {out:?} of its windows"
        ));
    }
    bounded_len(&wanted)?;
    let n = bounded_len(&out)?;
    let places = call.ints(1)?;
    if call.constant(1)?.shape != shape {
        return bad("its indices do not have the shape of its input");
    }
    let mut inner = vec![FILL; n];
    for (e, &place) in places.iter().enumerate() {
        match usize::try_from(place).ok().and_then(|at| inner.get_mut(at)) {
            Some(at) => *at = e as u32,
            None => return bad(format!("its index {place} is outside its output")),
        }
    }
    // Indices count what the windows make, whatever room there is behind it.
    let ends: Vec<Vec<Option<usize>>> = (out.iter().zip(&wanted))
        .map(|(&size, &wanted)| (0..wanted).map(|i| (i < size).then_some(i)).collect())
        .collect();
    let index = pick(&out, &ends);
    let index = index
        .iter()
        .map(|&at| inner.get(at as usize).copied().unwrap_or(FILL))
        .collect();
    builder.push(call, Op::Rearrange { index, fill: 0.0 }, vec![x], wanted)
}
