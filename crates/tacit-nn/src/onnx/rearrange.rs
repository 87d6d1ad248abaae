//! Rearrangements of items: transposed, selected, split, joined.

use super::builder::Builder;
use super::call::{Call, Fault, Value, axis, bad, unsupported};
use super::compose::{Composer, value};
use super::constant::{Constant, bounded_len};
use super::fold::{rearranged, select};
use super::{selection, shape};
use crate::graph::{Affine, Op, ValueId, Weights, len};
use crate::index::{is_whole, pick, transpose, whole};

pub(super) fn transposed(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape, batch) = call.secret_at(0)?;
    let (order, batch) = shape::item_permutation(call, shape.len(), batch)?;
    let out = order.iter().map(|&a| shape[a]).collect();
    rearrange(call, builder, x, transpose(shape, &order), (out, batch))
}

pub(super) fn selected(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape, batch) = call.secret_at(0)?;
    let (out, index, batch) = selection::item_selection(call, shape, batch)?;
    if call.node.op_type == "Slice" && index.is_empty() {
        return Ok(nothing(call, out, batch));
    }
    rearrange(call, builder, x, index, (out, batch))
}

/// The parts of Split: as many as the node names outputs, equal unless their sizes are given.
pub(super) fn split(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    let (shape, along) = split_along(call)?;
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
    if sizes.len() != parts {
        return bad(format!(
            "it has {parts} parts, and sizes of {}",
            sizes.len()
        ));
    }
    parted(call, builder, (shape, along), sizes)
}

/// The shape of what is split, and along which of its axes.
pub(super) fn split_along<'a>(call: &Call<'a>) -> Result<(&'a [usize], usize), Fault> {
    let given = call.int("axis", 0);
    match call.required(0)? {
        Value::Constant(from) => Ok((&from.shape[..], axis(given, from.shape.len())?)),
        _ => {
            let (_, shape, batch) = call.secret_at(0)?;
            Ok((shape, call.item_axis(given, shape.len(), batch)?))
        }
    }
}

/// The parts of the first input, which are of these sizes along an axis.
pub(super) fn parted(
    call: &Call,
    builder: &mut Builder,
    (shape, along): (&[usize], usize),
    sizes: Vec<usize>,
) -> Result<Vec<Value>, Fault> {
    let (parts, size) = (sizes.len(), shape[along]);
    let sum = sizes.iter().try_fold(0usize, |sum, &s| sum.checked_add(s));
    if sum != Some(size) {
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
        let index = select(shape, along, picks);
        if let Value::Constant(from) = call.required(0)? {
            return Ok(Value::Constant(rearranged(from, (out, index))));
        }
        let (x, _, batch) = call.secret_at(0)?;
        match size {
            0 => Ok(nothing(call, out, batch)),
            _ => rearrange(call, builder, x, index, (out, batch)),
        }
    };
    sizes.into_iter().map(&mut part).collect()
}

/// A part without elements, which is the same for every item.
fn nothing(call: &Call, mut shape: Vec<usize>, batch: usize) -> Value {
    if !call.whole {
        shape.insert(batch, 1);
    }
    Value::Constant(Constant::floats(shape, vec![]))
}

fn rearrange(
    call: &Call,
    builder: &mut Builder,
    x: ValueId,
    index: Vec<u32>,
    (shape, batch): (Vec<usize>, usize),
) -> Result<Value, Fault> {
    let id = if is_whole(&index, builder.len(x)) {
        x
    } else {
        let op = Op::Rearrange { index, fill: 0.0 };
        builder.add(call.name.clone(), op, vec![x], shape.clone())?
    };
    Ok(Value::Secret { id, shape, batch })
}

/// Concat of computed values and of constants, which are the same for every item.
pub(super) fn concat(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let Part { shape, .. } = part(call, 0)?;
    let along = call.item_axis(call.int("axis", 0), shape.len(), 0)?;
    joined(call, builder, along)
}

/// All inputs one after the other along axis `along` of an item.
pub(super) fn joined(call: &Call, builder: &mut Builder, along: usize) -> Result<Value, Fault> {
    let mut parts = (0..call.inputs.len())
        .map(|i| part(call, i))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(first) = parts.first().map(|part| part.shape.clone()) else {
        return bad("it has no inputs");
    };
    let mut out = first.clone();
    out[along] = 0;
    for Part { shape, .. } in &parts {
        let fits =
            shape.len() == out.len() && (0..out.len()).all(|i| i == along || shape[i] == out[i]);
        if !fits {
            return bad(format!(
                "the item shapes {first:?} and {shape:?} cannot be joined"
            ));
        }
        out[along] += shape[along];
    }
    bounded_len(&out)?;
    if len(&out) > 0 {
        parts.retain(|part| part.shape[along] > 0);
    }
    let (outer, inner) = (len(&out[..along]), len(&out[along + 1..]));
    let computed: Vec<ValueId> = parts.iter().filter_map(|part| part.value()).collect();
    if let ([only], 1) = (&computed[..], parts.len()) {
        return Ok(value(*only, out));
    }
    if computed.len() == parts.len() {
        return builder.push(call, Op::Concat { outer }, computed, out);
    }
    let mut compose = Composer::new(call, builder);
    let mut joined = out.clone();
    joined[along] = (parts.iter().filter(|part| part.value().is_some()))
        .map(|part| part.shape[along])
        .sum();
    let x = match computed[..] {
        [x] => x,
        _ => compose.node("computed", Op::Concat { outer }, &computed, joined.clone())?,
    };
    let mut positions: Vec<_> = joined.iter().map(|&size| whole(size)).collect();
    let mut places = 0..joined[along];
    positions[along] = (parts.iter())
        .flat_map(|part| (0..part.shape[along]).map(|_| part.value()))
        .map(|value| value.and_then(|_| places.next()))
        .collect();
    let op = Op::Rearrange {
        index: pick(&joined, &positions),
        fill: 0.0,
    };
    let spread = compose.node("spread", op, &[x], out.clone())?;
    let shift = terms(&parts, outer, inner, along);
    let scale = Weights::default();
    let op = Op::Affine(Affine {
        inner: 1,
        scale,
        shift,
    });
    builder.push(call, op, vec![spread], out)
}

/// An input of Concat: its item shape, and what it holds.
struct Part {
    shape: Vec<usize>,
    held: Result<ValueId, Weights>,
}

impl Part {
    fn value(&self) -> Option<ValueId> {
        self.held.as_ref().ok().copied()
    }
}

fn part(call: &Call, i: usize) -> Result<Part, Fault> {
    if let Value::Secret { .. } = call.required(i)? {
        let (id, shape) = call.secret(i)?;
        let (shape, held) = (shape.to_vec(), Ok(id));
        return Ok(Part { shape, held });
    }
    let (shape, values) = call.weights(i)?;
    if call.whole {
        let (shape, held) = (shape.to_vec(), Err(values));
        return Ok(Part { shape, held });
    }
    let Some((&items, shape)) = shape.split_first() else {
        return bad(format!("its input {i} has no axes"));
    };
    let each = len(shape);
    let one = values
        .get(..each)
        .filter(|one| values.chunks(each.max(1)).all(|item| item == *one));
    let Some(one) = one.filter(|_| items > 0) else {
        return unsupported(format!(
            "its constant has {items} different items along the batch axis"
        ));
    };
    let held = match items {
        1 => Err(values.clone()),
        _ => Err(one.into()),
    };
    let shape = shape.to_vec();
    Ok(Part { shape, held })
}

/// What is added to each element of parts that are joined: the constants, and 0 to computed values.
fn terms(parts: &[Part], outer: usize, inner: usize, along: usize) -> Weights {
    let block = |o: usize| {
        parts.iter().flat_map(move |part| {
            let each = part.shape[along] * inner;
            let term = move |i: usize| match &part.held {
                Ok(_) => 0.0,
                Err(values) => values[o * each + i],
            };
            (0..each).map(term)
        })
    };
    (0..outer).flat_map(block).collect()
}
