//! Element-wise arithmetic, clipping and rearrangements of items.

use super::call::{Call, Fault, Value, bad, item_axis, unsupported};
use super::compose::Composer;
use super::fold::select;
use super::lower::Builder;
use super::shape;
use crate::graph::{Affine, Op, ValueId, Weights, len};
use crate::index::{broadcast, common_shape, pick, transpose, whole};

/// Add, Sub, Mul and Div with at least one computed factor.
pub(super) fn arithmetic(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    match (call.required(0)?, call.required(1)?) {
        (Value::Secret { .. }, Value::Constant(_)) => {
            let x = call.secret_at(0)?.0;
            with_constant(call, builder, x, 0, 1)
        }
        (Value::Constant(_), Value::Secret { .. }) => {
            let x = call.secret_at(1)?.0;
            let x = match call.node.op_type.as_str() {
                "Div" => Composer::new(call, builder).reciprocal(x)?,
                _ => x,
            };
            with_constant(call, builder, x, 1, 0)
        }
        _ => of_two(call, builder),
    }
}

/// The operation on input `secret` and a constant; of a divisor, `x` is the reciprocal already.
fn with_constant(
    call: &Call,
    builder: &mut Builder,
    x: ValueId,
    secret: usize,
    constant: usize,
) -> Result<Value, Fault> {
    let (_, shape, batch) = call.secret_at(secret)?;
    let (given, values) = call.weights(constant)?;
    let fixed = Stretched::new(given, &values, shape, batch)?;
    let x = stretch(call, builder, x, shape, &fixed.out)?;
    let mut number = |what: &str, f: fn(f32) -> f32| {
        let how = format!("{what} {given:?} over {:?}", fixed.out);
        let numbers = || fixed.numbers.iter().copied().map(f).collect();
        builder.derive(&values, how, numbers)
    };
    let none = Weights::default;
    let (scale, shift) = match (call.node.op_type.as_str(), secret) {
        ("Add" | "Sum", _) => (none(), number("itself", |v| v)),
        ("Sub", 0) => (none(), number("negative", |v| -v)),
        ("Sub", _) => (number("-1", |_| -1.0), number("itself", |v| v)),
        ("Mul", _) | ("Div", 1) => (number("itself", |v| v), none()),
        _ => (number("reciprocal", |v| 1.0 / v), none()),
    };
    if scale.iter().any(|v: &f32| !v.is_finite()) {
        return unsupported("it divides by 0, or by what is too small for a reciprocal");
    }
    let affine = Affine {
        inner: fixed.inner,
        scale,
        shift,
    };
    let shape = fixed.out;
    let id = builder.add(
        call.name.clone(),
        Op::Affine(affine),
        vec![x],
        shape.clone(),
    )?;
    let batch = fixed.batch;
    Ok(Value::Secret { id, shape, batch })
}

/// A constant beside a value, by ONNX's rules of broadcasting.
pub(super) struct Stretched {
    /// The item shape of the result.
    pub out: Vec<usize>,
    /// Where the batch axis of the result stands.
    pub batch: usize,
    /// Neighbouring elements of the result that share a number.
    pub inner: usize,
    pub numbers: Vec<f32>,
}

impl Stretched {
    /// The constant of the shape `given` beside a value of the item shape `shape`.
    pub(super) fn new(
        given: &[usize],
        values: &[f32],
        shape: &[usize],
        batch: usize,
    ) -> Result<Stretched, Fault> {
        let met = Met::new(given, shape, batch)?;
        let item = match met.items {
            None => values.to_vec(),
            Some(at) => one_item(given, at, values).ok_or_else(|| {
                Fault::Unsupported(format!(
                    "its constant has {} different items along the batch axis",
                    given[at]
                ))
            })?,
        };
        let (inner, numbers) =
            channels(&met.fixed, &item, &met.out).ok_or_else(|| misfit(given, shape))?;
        Ok(Stretched {
            out: met.out,
            batch: met.batch,
            inner,
            numbers,
        })
    }
}

fn misfit(given: &[usize], shape: &[usize]) -> Fault {
    Fault::Bad(format!(
        "its constant of the shape {given:?} does not fit the item shape {shape:?}"
    ))
}

/// The shapes of a constant and of an item that meet.
struct Met {
    /// Which axis of the constant meets the batch axis, if it has so many.
    items: Option<usize>,
    /// The constant's other axes.
    fixed: Vec<usize>,
    /// The item shape of the result.
    out: Vec<usize>,
    /// Where the batch axis of the result stands.
    batch: usize,
}

impl Met {
    fn new(given: &[usize], shape: &[usize], batch: usize) -> Result<Met, Fault> {
        // Axes are matched from the last one: so many stand from the batch on.
        let from_batch = shape.len() + 1 - batch;
        let items = given.len().checked_sub(from_batch);
        let mut fixed = given.to_vec();
        items.map(|at| fixed.remove(at));
        let out = common_shape(&fixed, shape).ok_or_else(|| misfit(given, shape))?;
        super::constant::bounded_len(&out)?;
        let batch = out.len() + 1 - from_batch;
        Ok(Met {
            items,
            fixed,
            out,
            batch,
        })
    }
}

/// The elements at the first place of axis `at`, if they are the same at all places.
fn one_item(shape: &[usize], at: usize, values: &[f32]) -> Option<Vec<f32>> {
    let inner = len(&shape[at + 1..]);
    let mut item = Vec::new();
    for block in values.chunks((shape[at] * inner).max(1)) {
        let (first, others) = block.split_at_checked(inner)?;
        if others.chunks(inner).any(|other| other != first) {
            return None;
        }
        item.extend_from_slice(first);
    }
    Some(item)
}

/// A constant stretched over an item of shape `to`, as neighbouring elements per number and the
/// numbers; as few of them as its shape allows.
fn channels(from: &[usize], values: &[f32], to: &[usize]) -> Option<(usize, Vec<f32>)> {
    let padded: Vec<usize> = [vec![1; to.len().checked_sub(from.len())?], from.to_vec()].concat();
    let varies: Vec<usize> = (0..to.len()).filter(|&i| padded[i] != 1).collect();
    let (Some(&first), Some(&last)) = (varies.first(), varies.last()) else {
        return Some((len(to).max(1), vec![*values.first()?]));
    };
    if (first..=last).all(|i| padded[i] == to[i]) {
        return Some((len(&to[last + 1..]), values.to_vec()));
    }
    let index = broadcast(&padded, to)?;
    Some((1, index.iter().map(|&i| values[i as usize]).collect()))
}

/// Sum of any number of inputs, as one Add after the other.
pub(super) fn sum(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let mut sum = call.required(0)?.clone();
    for i in 1..call.inputs.len() {
        let next = call.required(i)?;
        // A constant may be the first of two, not both.
        let inputs = match &sum {
            Value::Constant(_) => vec![Some(next), Some(&sum)],
            _ => vec![Some(&sum), Some(next)],
        };
        let both = Call {
            name: format!("{}.{i}", call.name),
            inputs,
            ..*call
        };
        sum = arithmetic(&both, builder)?;
    }
    Ok(sum)
}

fn of_two(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let ((x, a, first), (y, b, second)) = (call.secret_at(0)?, call.secret_at(1)?);
    let op = match call.node.op_type.as_str() {
        "Add" | "Sum" => Op::Add,
        "Sub" => Op::Sub,
        _ => Op::Mul,
    };
    // Axes are matched from the last one, the batch axis among them.
    if a.len() - first != b.len() - second {
        return unsupported(format!(
            "the batch axes of its inputs, of the item shapes {a:?} and {b:?}, do not meet: give both the same number of axes"
        ));
    }
    let Some(out) = common_shape(a, b) else {
        return bad(format!(
            "the item shapes {a:?} and {b:?} do not fit together"
        ));
    };
    let y = match call.node.op_type.as_str() {
        "Div" => Composer::new(call, builder).reciprocal(y)?,
        _ => y,
    };
    let inputs = vec![
        stretch(call, builder, x, a, &out)?,
        stretch(call, builder, y, b, &out)?,
    ];
    let id = builder.add(call.name.clone(), op, inputs, out.clone())?;
    Ok(Value::Secret {
        id,
        batch: out.len() - (a.len() - first),
        shape: out,
    })
}

/// `x` repeated along axes of size 1 to the shape `to`.
fn stretch(
    call: &Call,
    builder: &mut Builder,
    x: ValueId,
    from: &[usize],
    to: &[usize],
) -> Result<ValueId, Fault> {
    if from == to {
        return Ok(x);
    }
    super::constant::bounded_len(to)?;
    let index = broadcast(from, to).ok_or_else(|| {
        Fault::Bad(format!(
            "the item shape {from:?} cannot be stretched to {to:?}"
        ))
    })?;
    let name = format!("{}.stretched", call.name);
    builder.add(
        name,
        Op::Rearrange { index, fill: 0.0 },
        vec![x],
        to.to_vec(),
    )
}

/// Expand of a computed value; the batch keeps its size.
pub(super) fn expand(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape, batch) = call.secret_at(0)?;
    let target = shape::sizes_of(call.ints(1)?)?;
    let met = Met::new(&target, shape, batch)?;
    let items = met.items.map_or(1, |at| target[at] as i64);
    if items != 1 && builder.batch != Some(items) {
        return unsupported(format!("it makes {items} of each item"));
    }
    let id = stretch(call, builder, x, shape, &met.out)?;
    Ok(Value::Secret {
        id,
        shape: met.out,
        batch: met.batch,
    })
}

/// Neg of a computed value.
pub(super) fn negative(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, ..) = call.secret_at(0)?;
    let op = Op::Affine(Affine {
        inner: builder.len(x),
        scale: vec![-1.0].into(),
        shift: Weights::default(),
    });
    unary(call, builder, op)
}

/// An operation on every element by itself, wherever the batch axis stands.
pub(super) fn unary(call: &Call, builder: &mut Builder, op: Op) -> Result<Value, Fault> {
    let (x, shape, batch) = call.secret_at(0)?;
    let id = builder.add(call.name.clone(), op, vec![x], shape.to_vec())?;
    let shape = shape.to_vec();
    Ok(Value::Secret { id, shape, batch })
}

pub(super) fn clip(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let bound = |i: usize, name: &str| -> Result<Option<f32>, Fault> {
        if call.opset < 11 {
            return Ok(call.attribute(name).map(|a| a.f.unwrap_or(0.0)));
        }
        match call.optional_constant(i)? {
            None => Ok(None),
            Some(c) if c.data.len() == 1 => Ok(Some(c.data.floats()[0])),
            Some(_) => bad(format!("its input {i} is not one number")),
        }
    };
    let (low, high) = (bound(1, "min")?, bound(2, "max")?);
    if [low, high].into_iter().flatten().any(f32::is_nan) {
        return unsupported("one of its bounds is NaN");
    }
    // The largest numbers stand for no bound in many files.
    let (low, high) = (
        low.filter(|&v| v > -f32::MAX),
        high.filter(|&v| v < f32::MAX),
    );
    let op = match (low, high) {
        (None, None) => return Ok(call.required(0)?.clone()),
        (Some(l), h) if l > h.unwrap_or(f32::MAX) || l == f32::MAX => {
            return unsupported(format!("its lower bound {l} is above its upper one"));
        }
        (None, Some(h)) if h <= -f32::MAX => {
            return unsupported(format!("its upper bound is {h}"));
        }
        (Some(0.0), None) => Op::Relu,
        _ => Op::Clip { low, high },
    };
    unary(call, builder, op)
}

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
