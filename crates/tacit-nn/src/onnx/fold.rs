//! Nodes whose inputs are all constants are computed at import.

use std::ops::{Add, Div, Mul, Sub};

use super::call::{Call, Fault, Value, axis, bad, unsupported};
use super::constant::{BATCH, Constant, Data, Reader, bounded_len};
use super::kind::{self, Kind};
use super::shape;
use crate::index::{broadcast, common_shape, pick, transpose, whole};

/// The value of a node that depends on no input's values, or `None` if it is not such a node.
pub(super) fn fold(
    call: &Call,
    reader: &Reader,
    batch: Option<i64>,
) -> Result<Option<Constant>, Fault> {
    if call.node.op_type == "Shape" {
        return Ok(Some(shape_of(call, batch.unwrap_or(BATCH))?));
    }
    let mut inputs = Vec::new();
    for input in call.inputs.iter().flatten() {
        match input {
            Value::Constant(constant) => inputs.push(constant),
            _ => return Ok(None),
        }
    }
    Ok(Some(match call.node.op_type.as_str() {
        "Constant" => constant(call, reader)?,
        "ConstantOfShape" => constant_of_shape(call, reader)?,
        "Identity" | "Dropout" => call.constant(0)?.clone(),
        "Cast" => kind::cast(call.constant(0)?, call.cast_to()?)?,
        "Add" | "Sub" | "Mul" | "Div" => arithmetic(call)?,
        "Neg" | "Sqrt" | "Reciprocal" => unary(call)?,
        "Concat" => concat(call, &inputs)?,
        "Gather" | "Slice" => rearranged(call, shape::selection(call, &call.constant(0)?.shape)?)?,
        "Transpose" => {
            let given = &call.constant(0)?.shape;
            let order = shape::permutation(call, given.len())?;
            let out = order.iter().map(|&a| given[a]).collect();
            rearranged(call, (out, transpose(given, &order)))?
        }
        "Expand" => {
            let from = call.constant(0)?;
            let target = shape::sizes_of(call.ints(1)?)?;
            let out =
                common_shape(&from.shape, &target).ok_or_else(|| mismatch(&from.shape, &target))?;
            bounded_len(&out)?;
            let index = broadcast(&from.shape, &out).ok_or_else(|| mismatch(&from.shape, &out))?;
            rearranged(call, (out, index))?
        }
        "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => {
            let from = call.constant(0)?;
            Constant {
                shape: shape::constant_shape(call, &from.shape)?,
                ..from.clone()
            }
        }
        _ => return Ok(None),
    }))
}

fn mismatch(a: &[usize], b: &[usize]) -> Fault {
    Fault::Bad(format!("the shapes {a:?} and {b:?} do not fit together"))
}

fn rearranged(call: &Call, (shape, index): (Vec<usize>, Vec<u32>)) -> Result<Constant, Fault> {
    let from = call.constant(0)?;
    Ok(Constant {
        shape,
        kind: from.kind,
        data: from.data.gather(&index, 0.0),
    })
}

/// The sizes of a value's axes, that of the batch being `items`.
fn shape_of(call: &Call, items: i64) -> Result<Constant, Fault> {
    let with_batch = |shape: &[usize], batch: usize| {
        let mut full: Vec<i64> = shape.iter().map(|&d| d as i64).collect();
        full.insert(batch, items);
        full
    };
    let full: Vec<i64> = match call.required(0)? {
        Value::Constant(c) => c.shape.iter().map(|&d| d as i64).collect(),
        Value::Secret { shape, batch, .. } => with_batch(shape, *batch),
        Value::Clear { shape, .. } => with_batch(shape, 0),
        Value::Unknown => return bad("its input is unknown"),
    };
    let rank = full.len() as i64;
    let clamp = |v: i64| (if v < 0 { v.saturating_add(rank) } else { v }).clamp(0, rank) as usize;
    let (start, end) = (clamp(call.int("start", 0)), clamp(call.int("end", rank)));
    Ok(Constant::ints(
        full.get(start..end).unwrap_or_default().to_vec(),
    ))
}

fn constant(call: &Call, reader: &Reader) -> Result<Constant, Fault> {
    let Some(a) = call
        .node
        .attribute
        .iter()
        .find(|a| a.name.starts_with("value"))
    else {
        return bad("it has no value");
    };
    let floats = |shape: Vec<usize>, v: &[f32]| Constant {
        shape,
        kind: Kind::Float,
        data: Data::Float(v.into()),
    };
    match (a.name.as_str(), &a.t, a.f, a.i) {
        ("value", Some(t), ..) => reader.read(t).map_err(|e| Fault::Bad(e.to_string())),
        ("value_float", _, Some(f), _) => Ok(floats(vec![], &[f])),
        ("value_int", _, _, Some(i)) => Ok(Constant {
            shape: vec![],
            ..Constant::ints(vec![i])
        }),
        ("value_floats", ..) => Ok(floats(vec![a.floats.len()], &a.floats)),
        ("value_ints", ..) => Ok(Constant::ints(a.ints.clone())),
        (other, ..) => bad(format!(
            "its attribute '{other}' is not a tensor, number or list of numbers"
        )),
    }
}

fn constant_of_shape(call: &Call, reader: &Reader) -> Result<Constant, Fault> {
    let shape = shape::sizes_of(call.ints(0)?)?;
    let n = bounded_len(&shape)?;
    let one = match call.attribute("value").and_then(|a| a.t.as_ref()) {
        None => Constant {
            shape: vec![1],
            kind: Kind::Float,
            data: Data::Float(vec![0.0].into()),
        },
        Some(t) => reader.read(t).map_err(|e| Fault::Bad(e.to_string()))?,
    };
    if one.data.len() != 1 {
        return bad("its value must be one number");
    }
    Ok(Constant {
        shape,
        kind: one.kind,
        data: one.data.gather(&vec![0; n], 0.0),
    })
}

fn arithmetic(call: &Call) -> Result<Constant, Fault> {
    let (a, b) = (call.constant(0)?, call.constant(1)?);
    let shape = common_shape(&a.shape, &b.shape).ok_or_else(|| mismatch(&a.shape, &b.shape))?;
    bounded_len(&shape)?;
    let stretch = |c: &Constant| -> Result<Data, Fault> {
        let index = broadcast(&c.shape, &shape).ok_or_else(|| mismatch(&c.shape, &shape))?;
        Ok(c.data.gather(&index, 0.0))
    };
    let (op, kind) = (call.node.op_type.as_str(), a.kind);
    if kind != b.kind {
        return bad(format!(
            "its inputs have the data types {} and {}",
            kind.name(),
            b.kind.name()
        ));
    }
    let data = match (stretch(a)?, stretch(b)?) {
        (Data::Float(x), Data::Float(y)) => {
            let both = x.iter().zip(y.iter());
            Data::Float(
                both.map(|(x, y)| kind.round(float_op(op, *x, *y)))
                    .collect(),
            )
        }
        (Data::Double { exact: x, .. }, Data::Double { exact: y, .. }) => {
            let both = x.iter().zip(&y);
            Data::double(both.map(|(x, y)| float_op(op, *x, *y)).collect())
        }
        (Data::Int(x), Data::Int(y)) => {
            let both = x.iter().zip(&y);
            let values = both.map(|(x, y)| int_op(op, *x, *y, kind));
            Data::Int(values.collect::<Result<_, _>>()?)
        }
        _ => return bad("its inputs have different data types"),
    };
    Ok(Constant { shape, kind, data })
}

fn float_op<T>(op: &str, x: T, y: T) -> T
where
    T: Add<Output = T> + Sub<Output = T> + Mul<Output = T> + Div<Output = T>,
{
    match op {
        "Add" => x + y,
        "Sub" => x - y,
        "Mul" => x * y,
        _ => x / y,
    }
}

fn int_op(op: &str, x: i64, y: i64, kind: Kind) -> Result<i64, Fault> {
    match (op, x, y) {
        ("Mul" | "Div", BATCH, 1) => return Ok(BATCH),
        ("Mul", 1, BATCH) => return Ok(BATCH),
        (_, BATCH, _) | (_, _, BATCH) => return free_batch(),
        _ => {}
    }
    let value = match op {
        "Add" => x.checked_add(y),
        "Sub" => x.checked_sub(y),
        "Mul" => x.checked_mul(y),
        _ => x.checked_div(y),
    };
    let wrapped = value.and_then(|value| kind.wrap(value));
    wrapped.ok_or_else(|| Fault::Unsupported("its integers overflow or are divided by 0".into()))
}

fn free_batch<T>() -> Result<T, Fault> {
    unsupported(
        "it computes with the batch size, which is free; keep the batch as an axis of its own, or export with a batch of 1",
    )
}

fn unary(call: &Call) -> Result<Constant, Fault> {
    fn of<T: std::ops::Neg<Output = T>>(
        op: &str,
        sqrt: fn(T) -> T,
        reciprocal: fn(T) -> T,
    ) -> fn(T) -> T {
        match op {
            "Neg" => |v| -v,
            "Sqrt" => sqrt,
            _ => reciprocal,
        }
    }
    let from = call.constant(0)?;
    let op = call.node.op_type.as_str();
    let data = match &from.data {
        Data::Float(v) => {
            let f = of::<f32>(op, f32::sqrt, f32::recip);
            Data::Float(v.iter().map(|&v| from.kind.round(f(v))).collect())
        }
        Data::Double { exact, .. } => {
            let f = of::<f64>(op, f64::sqrt, f64::recip);
            Data::double(exact.iter().copied().map(f).collect())
        }
        Data::Int(v) if op == "Neg" => {
            let negative = v.iter().map(|&v| int_op("Sub", 0, v, from.kind));
            Data::Int(negative.collect::<Result<_, _>>()?)
        }
        Data::Int(_) => return bad("its input must hold floats"),
    };
    Ok(Constant {
        data,
        ..from.clone()
    })
}

fn concat(call: &Call, inputs: &[&Constant]) -> Result<Constant, Fault> {
    let Some(first) = inputs.first() else {
        return bad("it has no inputs");
    };
    let along = axis(call.int("axis", 0), first.shape.len())?;
    let mut shape = first.shape.clone();
    shape[along] = 0;
    for c in inputs {
        let fits = c.shape.len() == shape.len()
            && (0..shape.len()).all(|i| i == along || c.shape[i] == shape[i]);
        if !fits {
            return Err(mismatch(&first.shape, &c.shape));
        }
        shape[along] += c.shape[along];
    }
    bounded_len(&shape)?;
    let outer: usize = shape[..along].iter().product();
    let data = match first.data {
        Data::Int(_) => parts(inputs, |data| match data {
            Data::Int(v) => Some(&v[..]),
            _ => None,
        })
        .map(|parts| Data::Int(join(outer, &parts))),
        Data::Float(_) => parts(inputs, |data| match data {
            Data::Float(v) => Some(&v[..]),
            _ => None,
        })
        .map(|parts| Data::Float(join(outer, &parts).into())),
        Data::Double { .. } => parts(inputs, |data| match data {
            Data::Double { exact, .. } => Some(&exact[..]),
            _ => None,
        })
        .map(|parts| Data::double(join(outer, &parts))),
    };
    let data = data.filter(|_| inputs.iter().all(|c| c.kind == first.kind));
    let data = data.ok_or_else(|| Fault::Bad("its inputs have different data types".into()))?;
    let kind = first.kind;
    Ok(Constant { shape, kind, data })
}

/// The numbers of all inputs, if `read` finds them in each.
fn parts<'a, T>(
    inputs: &[&'a Constant],
    read: impl Fn(&'a Data) -> Option<&'a [T]>,
) -> Option<Vec<&'a [T]>> {
    inputs.iter().map(|c| read(&c.data)).collect()
}

/// Joins parts of `outer` blocks block by block.
fn join<T: Copy>(outer: usize, parts: &[&[T]]) -> Vec<T> {
    let block = |o: usize| {
        let of = move |part: &&[T]| {
            let size = part.len() / outer;
            part[o * size..(o + 1) * size].to_vec()
        };
        parts.iter().flat_map(of)
    };
    (0..outer).flat_map(block).collect()
}

/// The elements of `shape` at `picks` along `along`.
pub(super) fn select(shape: &[usize], along: usize, picks: Vec<usize>) -> Vec<u32> {
    let axis = |(i, &size): (usize, &usize)| {
        if i == along {
            picks.iter().map(|&p| Some(p)).collect()
        } else {
            whole(size)
        }
    };
    pick(
        shape,
        &shape.iter().enumerate().map(axis).collect::<Vec<_>>(),
    )
}
