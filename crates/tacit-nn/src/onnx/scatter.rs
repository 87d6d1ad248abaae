//! ScatterElements and ScatterND by constant indices.

use super::builder::Builder;
use super::call::{Call, Fault, Value, axis, bad, unsupported};
use super::compose::{Composer, value};
use super::constant::{Constant, bounded_len};
use super::lowest::BEYOND;
use super::moves::{blocks_at, elements_at, needs_whole};
use super::reduce::{max, sum};
use crate::graph::{Affine, FILL, Op, ValueId, Weights, len};

/// The first input with other elements, or sums or products, at constant places.
pub(super) fn scatter(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    needs_whole(call)?;
    if call.node.op_type == "Scatter" && call.opset > 10 {
        return bad("from operator set 11 on it is ScatterElements");
    }
    if let Some(Value::Secret { .. }) = call.input(1) {
        return unsupported(
            "its places are computed: tokens of an input may be, in rows of one number, and what TopK or ArgMax found; \
             of others write the rows as one_hot(places, size), times the updates, summed",
        );
    }
    let (x, shape) = match (call.required(0)?, call.required(2)?) {
        (Value::Constant(into), Value::Secret { id, .. }) => {
            let numbers = match lowest(call, into) {
                Some(absent) => kept(into, &absent),
                None => call.weights(0)?.1,
            };
            let x = constant(call, builder, *id, (&into.shape, numbers))?;
            (x, &into.shape[..])
        }
        _ => call.secret(0)?,
    };
    let places = places(call, shape)?;
    let id = scattered(call, builder, x, 2, &places)?;
    Ok(value(id, shape.to_vec()))
}

/// Of a constant that is joined with the largest of updates, or the smallest, which elements are so low, or so high,
/// that any update counts in their place.
fn lowest(call: &Call, into: &Constant) -> Option<Vec<bool>> {
    let sign = match call.text("reduction", "none").as_str() {
        "max" => -1.0,
        "min" => 1.0,
        _ => return None,
    };
    let numbers = into.data.floats();
    Some(numbers.iter().map(|v| sign * v >= BEYOND).collect())
}

/// The numbers of a constant, 0 where it is absent.
fn kept(into: &Constant, absent: &[bool]) -> Weights {
    let numbers = into.data.floats();
    let kept = numbers.iter().zip(absent);
    kept.map(|(v, absent)| if *absent { 0.0 } else { *v })
        .collect()
}

/// The first input, a constant of this shape and these numbers, as a value; `beside` is not read.
fn constant(
    call: &Call,
    builder: &mut Builder,
    beside: ValueId,
    (shape, numbers): (&[usize], Weights),
) -> Result<ValueId, Fault> {
    let mut c = Composer::new(call, builder);
    let index = vec![FILL; len(shape)];
    let zeros = Op::Rearrange { index, fill: 0.0 };
    let zeros = c.node("zeros", zeros, &[beside], shape.to_vec())?;
    if numbers.iter().all(|&v| v == 0.0) {
        return Ok(zeros);
    }
    let op = Op::Affine(Affine {
        inner: 1,
        scale: Weights::default(),
        shift: numbers,
    });
    c.each("constant", op, &[zeros])
}

/// Where the updates stand in an input of such a shape.
pub(super) fn places(call: &Call, shape: &[usize]) -> Result<Vec<usize>, Fault> {
    let given = (&call.constant(1)?.shape[..], call.ints(1)?);
    if call.node.op_type == "ScatterND" {
        let (starts, block) = blocks_at(shape, given)?;
        let size = len(&block);
        let all = starts.iter().flat_map(|&start| start..start + size);
        return Ok(all.collect());
    }
    let along = axis(call.int("axis", 0), shape.len())?;
    let index = elements_at(shape, along, given)?;
    Ok(index.into_iter().map(|i| i as usize).collect())
}

/// TensorScatter: a cache with other elements along an axis, from a constant place of each item on.
pub(super) fn cache(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    needs_whole(call)?;
    let (x, shape) = call.secret(0)?;
    let along = axis(call.int("axis", -2), shape.len())?;
    let update = match call.required(1)? {
        Value::Constant(update) => &update.shape[..],
        _ => call.secret(1)?.1,
    };
    let fits = |a: usize| a == along && update[a] <= shape[a] || update[a] == shape[a];
    let items = shape.first().copied().unwrap_or(0);
    let starts = call.optional_ints(2)?;
    let starts = starts.map_or_else(|| vec![0; items], <[i64]>::to_vec);
    if update.len() != shape.len() || !(0..shape.len()).all(fits) || starts.len() != items {
        return bad(format!(
            "its update of the shape {update:?} does not fit its cache of the shape {shape:?}"
        ));
    }
    let circular = match call.text("mode", "linear").as_str() {
        "linear" => false,
        "circular" => true,
        other => return bad(format!("its 'mode' is '{other}'")),
    };
    let (size, inner) = (shape[along], len(&shape[along + 1..]));
    let each = len(&update[1..]);
    let place = |e: usize| {
        let (line, at) = (e / (update[along] * inner), e / inner % update[along]);
        let start = starts[e / each];
        let there = usize::try_from(start).ok().and_then(|s| s.checked_add(at));
        let there = there.map(|there| if circular { there % size } else { there });
        match there {
            Some(there) if there < size => Ok((line * size + there) * inner + e % inner),
            _ => bad(format!(
                "its index {start} leaves its cache of {size} places"
            )),
        }
    };
    let places: Vec<usize> = (0..len(update)).map(place).collect::<Result<_, _>>()?;
    let id = scattered(call, builder, x, 1, &places)?;
    Ok(value(id, shape.to_vec()))
}

/// `x` with the updates, which are input `i`, at their places.
fn scattered(
    call: &Call,
    builder: &mut Builder,
    x: ValueId,
    i: usize,
    places: &[usize],
) -> Result<ValueId, Fault> {
    match call.required(i)? {
        Value::Constant(_) => constants(call, builder, x, i, places),
        _ => computed(call, builder, x, i, places),
    }
}

/// Scatters constants into `x`, by one factor and one term for every element.
fn constants(
    call: &Call,
    builder: &mut Builder,
    x: ValueId,
    i: usize,
    places: &[usize],
) -> Result<ValueId, Fault> {
    let (_, updates) = call.weights(i)?;
    if updates.len() != places.len() {
        return bad("its updates do not fit its indices");
    }
    let n = builder.len(x);
    let (mut scale, mut shift) = (vec![1.0f32; n], vec![0.0f32; n]);
    for (&place, &update) in places.iter().zip(updates.iter()) {
        match call.text("reduction", "none").as_str() {
            "none" => (scale[place], shift[place]) = (0.0, update),
            "add" => shift[place] += update,
            "mul" => scale[place] *= update,
            other => return extreme(call, builder, x, places, other),
        }
    }
    let op = Op::Affine(Affine {
        inner: 1,
        scale: scale.into(),
        shift: shift.into(),
    });
    Composer::new(call, builder).each("scattered", op, &[x])
}

/// The larger or smaller of every element and the largest or smallest update of its place.
fn extreme(
    call: &Call,
    builder: &mut Builder,
    x: ValueId,
    places: &[usize],
    reduction: &str,
) -> Result<ValueId, Fault> {
    let (_, updates) = call.weights(2)?;
    let sign = match reduction {
        "max" => 1.0,
        "min" => -1.0,
        other => return bad(format!("its 'reduction' is '{other}'")),
    };
    let n = builder.len(x);
    let mut best: Vec<Option<f32>> = vec![None; n];
    for (&place, &update) in places.iter().zip(updates.iter()) {
        let largest = best[place].map_or(update, |known| {
            if sign * update > sign * known {
                update
            } else {
                known
            }
        });
        best[place] = Some(largest);
    }
    let asked: Vec<f32> = best.iter().map(|b| f32::from(b.is_some())).collect();
    let bound: Vec<f32> = best.iter().map(|b| b.unwrap_or(0.0)).collect();
    let mut c = Composer::new(call, builder);
    let all = |scale: Vec<f32>, shift: Vec<f32>| {
        Op::Affine(Affine {
            inner: 1,
            scale: scale.into(),
            shift: shift.into(),
        })
    };
    // x + sign max(sign (bound - x), 0), where there is a bound.
    let signed: Vec<f32> = bound.iter().map(|b| sign * b).collect();
    let over = c.each("over", all(vec![-sign; n], signed), &[x])?;
    let over = c.each("relu", Op::Relu, &[over])?;
    let kept: Vec<f32> = asked.iter().map(|a| sign * a).collect();
    let more = c.each("more", all(kept, vec![0.0; n]), &[over])?;
    c.each("scattered", Op::Add, &[x, more])
}

/// Elements of either input, each update at a place of its own.
fn computed(
    call: &Call,
    builder: &mut Builder,
    x: ValueId,
    i: usize,
    places: &[usize],
) -> Result<ValueId, Fault> {
    let (updates, _) = call.secret(i)?;
    let n = builder.len(x);
    if builder.len(updates) != places.len() {
        return bad("its updates do not fit its indices");
    }
    match call.text("reduction", "none").as_str() {
        "none" => {}
        "add" => return added(call, builder, [x, updates], places),
        "max" => return largest(call, builder, [x, updates], places),
        "min" => {
            let c = &mut Composer::new(call, builder);
            let x = c.affine("opposite", x, -1.0, 0.0)?;
            let updates = c.affine("opposite updates", updates, -1.0, 0.0)?;
            let opposite = largest(call, builder, [x, updates], places)?;
            return Composer::new(call, builder).affine("scattered", opposite, -1.0, 0.0);
        }
        other => {
            return unsupported(format!(
                "its updates are computed, and its reduction is '{other}'; 'none', 'add', 'max' and 'min' are supported"
            ));
        }
    }
    let mut index: Vec<u32> = (0..n as u32).collect();
    for (i, &place) in places.iter().enumerate() {
        index[place] = (n + i) as u32;
    }
    let shape = builder.shape(x);
    let mut c = Composer::new(call, builder);
    let joined = Op::Concat { outer: 1 };
    let all = c.node("joined", joined, &[x, updates], vec![n + places.len()])?;
    c.node(
        "scattered",
        Op::Rearrange { index, fill: 0.0 },
        &[all],
        shape,
    )
}

/// For each of `n` places the updates that are for it.
fn by_place(n: usize, places: &[usize]) -> Result<(Vec<Vec<u32>>, usize), Fault> {
    let mut own = vec![Vec::new(); n];
    for (update, &place) in places.iter().enumerate() {
        own[place].push(update as u32);
    }
    let most = own.iter().map(Vec::len).max().unwrap_or(0).max(1);
    bounded_len(&[n, most])?;
    Ok((own, most))
}

/// The largest of every element and the updates of its place.
fn largest(
    call: &Call,
    builder: &mut Builder,
    [x, updates]: [ValueId; 2],
    places: &[usize],
) -> Result<ValueId, Fault> {
    let n = builder.len(x);
    let (own, most) = by_place(n, places)?;
    let absent = match call.required(0)? {
        Value::Constant(into) => lowest(call, into),
        _ => None,
    };
    let is_absent = |at: usize| absent.as_ref().is_some_and(|absent| absent[at]);
    let mut index = Vec::with_capacity(n * (most + 1));
    for (at, of) in own.iter().enumerate() {
        let updates = of.iter().map(|update| n as u32 + update);
        // Where updates are missing one that is there stands again.
        let again = match of.first() {
            Some(update) if is_absent(at) => n as u32 + update,
            None if is_absent(at) => {
                return unsupported(format!(
                    "no update is for element {at}, which its first input leaves as far as a float reaches"
                ));
            }
            _ => at as u32,
        };
        index.extend(updates.chain(std::iter::repeat(again)).take(most + 1));
    }
    let c = &mut Composer::new(call, builder);
    let joined = Op::Concat { outer: 1 };
    let all = c.node("joined", joined, &[x, updates], vec![n + places.len()])?;
    let rows = c.moved("by place", all, index, vec![n, most + 1])?;
    max(c, rows, n, most + 1)
}

/// Every element and the sum of the updates of its place.
fn added(
    call: &Call,
    builder: &mut Builder,
    [x, updates]: [ValueId; 2],
    places: &[usize],
) -> Result<ValueId, Fault> {
    let shape = builder.shape(x);
    let (own, most) = by_place(len(&shape), places)?;
    let row = |of: &Vec<u32>| {
        let missing = vec![FILL; most - of.len()];
        [&of[..], &missing].concat()
    };
    let index = own.iter().flat_map(row).collect();
    let mut c = Composer::new(call, builder);
    let op = Op::Rearrange { index, fill: 0.0 };
    let by_place = c.node("by place", op, &[updates], vec![own.len(), most])?;
    let sums = sum(&mut c, by_place, own.len(), most)?;
    c.node("added", Op::Add, &[x, sums], shape)
}
