//! Constants made from sizes, places and other constants.

use super::super::call::{Call, Fault, Value, axis, bad, unsupported};
use super::super::constant::{BATCH, Constant, Data, Reader, bounded_len};
use super::super::kind::DataType;
use super::super::{scatter, shape};
use super::numbers::{binary, free_batch};
use super::rearranged;
use crate::graph::len;
use crate::index::transpose;

/// The sizes of a value's axes, that of the batch being `items`.
fn sizes(call: &Call, items: i64) -> Result<Vec<i64>, Fault> {
    let with_batch = |shape: &[usize], batch: usize| {
        let mut full: Vec<i64> = shape.iter().map(|&d| d as i64).collect();
        if !call.whole {
            full.insert(batch, items);
        }
        full
    };
    match call.required(0)? {
        Value::Constant(c) => Ok(c.shape.iter().map(|&d| d as i64).collect()),
        Value::Secret { shape, batch, .. } => Ok(with_batch(shape, *batch)),
        Value::Clear { shape, .. } => Ok(with_batch(shape, 0)),
        Value::Texts { shape, batch, .. } => Ok(match batch {
            Some(batch) => with_batch(shape, *batch),
            None => shape.iter().map(|&d| d as i64).collect(),
        }),
        Value::Sequence(_) | Value::Unknown | Value::Refused(_) => bad("its input has no shape"),
    }
}

/// Shape: the sizes of a value's axes, that of the batch being `items`.
pub(super) fn shape_of(call: &Call, items: i64) -> Result<Constant, Fault> {
    let full = sizes(call, items)?;
    let rank = full.len() as i64;
    let clamp = |v: i64| (if v < 0 { v.saturating_add(rank) } else { v }).clamp(0, rank) as usize;
    let (start, end) = (clamp(call.int("start", 0)), clamp(call.int("end", rank)));
    Ok(Constant::ints(
        full.get(start..end).unwrap_or_default().to_vec(),
    ))
}

/// Size: the number of elements of a value.
pub(super) fn size_of(call: &Call, items: i64) -> Result<Constant, Fault> {
    let full = sizes(call, items)?;
    let others: i64 = full.iter().filter(|&&d| d != BATCH).product();
    let size = match (full.contains(&BATCH), others) {
        (false, size) => size,
        (true, 1) => BATCH,
        (true, _) => return free_batch(),
    };
    Ok(scalar(size))
}

fn scalar(value: i64) -> Constant {
    Constant {
        shape: vec![],
        ..Constant::ints(vec![value])
    }
}

/// The constant of a Constant node.
pub(super) fn constant(call: &Call, reader: &Reader) -> Result<Constant, Fault> {
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
        kind: DataType::Float,
        data: Data::Float(v.into()),
    };
    match (a.name.as_str(), &a.t, a.f, a.i) {
        ("value", Some(t), ..) => reader.read(t).map_err(|e| Fault::Bad(e.to_string())),
        ("value_float", _, Some(f), _) => Ok(floats(vec![], &[f])),
        ("value_int", _, _, Some(i)) => Ok(scalar(i)),
        ("value_floats", ..) => Ok(floats(vec![a.floats.len()], &a.floats)),
        ("value_ints", ..) => Ok(Constant::ints(a.ints.clone())),
        (other, ..) => bad(format!(
            "its attribute '{other}' is not a tensor, number or list of numbers"
        )),
    }
}

/// ConstantOfShape: a tensor of one number.
pub(super) fn constant_of_shape(call: &Call, reader: &Reader) -> Result<Constant, Fault> {
    let shape = shape::sizes_of(call.ints(0)?)?;
    let n = bounded_len(&shape)?;
    let one = match call.attribute("value").and_then(|a| a.t.as_ref()) {
        None => Constant {
            shape: vec![1],
            kind: DataType::Float,
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

/// CumSum: every number with those before it along an axis.
pub(super) fn running_sum(call: &Call) -> Result<Constant, Fault> {
    let from = call.constant(0)?;
    let &[given] = call.ints(1)? else {
        return bad("its axis is no number");
    };
    let along = axis(given, from.shape.len())?;
    let (exclusive, reverse) = (call.int("exclusive", 0) != 0, call.int("reverse", 0) != 0);
    let (size, inner) = (from.shape[along], len(&from.shape[along + 1..]));
    // Element `e` in the order of adding, for the first of which nothing is there yet.
    let ordered = |e: usize| {
        let (block, at) = (e / (size * inner), e / inner % size);
        let at = if reverse { size - 1 - at } else { at };
        (block * size + at) * inner + e % inner
    };
    fn sums<T: Copy + Default + std::ops::Add<Output = T>>(
        v: &[T],
        ordered: impl Fn(usize) -> usize,
        (size, inner): (usize, usize),
        exclusive: bool,
    ) -> Vec<T> {
        let mut out = vec![T::default(); v.len()];
        let mut sums = vec![T::default(); inner];
        for e in 0..v.len() {
            if e / inner % size == 0 {
                sums[e % inner] = T::default();
            }
            let (sum, at) = (&mut sums[e % inner], ordered(e));
            let before = *sum;
            *sum = before + v[at];
            out[at] = if exclusive { before } else { *sum };
        }
        out
    }
    let sizes = (size, inner);
    let data = match &from.data {
        Data::Int(v) if v.contains(&BATCH) => return free_batch(),
        Data::Int(v) if v.iter().any(|v| v.unsigned_abs() > 1 << 31) => {
            return unsupported("it adds up numbers beyond 2^31");
        }
        Data::Int(v) => Data::Int(sums(v, ordered, sizes, exclusive)),
        Data::Float(v) => Data::Float(sums(v, ordered, sizes, exclusive).into()),
        Data::Double { exact, .. } => Data::double(sums(exact, ordered, sizes, exclusive)),
    };
    let shape = from.shape.clone();
    Ok(Constant {
        shape,
        data,
        ..*from
    })
}

/// Range: numbers from the first input up to the second, by steps of the third.
pub(super) fn range(call: &Call) -> Result<Constant, Fault> {
    let numbers = [call.constant(0)?, call.constant(1)?, call.constant(2)?];
    if numbers
        .iter()
        .any(|c| c.data.len() != 1 || c.kind != numbers[0].kind)
    {
        return bad("its inputs are not three numbers of one type");
    }
    let [start, limit, step] = numbers.map(|c| match &c.data {
        Data::Int(v) => v[0] as f64,
        Data::Float(v) => f64::from(v[0]),
        Data::Double { exact, .. } => exact[0],
    });
    if numbers
        .iter()
        .any(|c| matches!(&c.data, Data::Int(v) if v[0] == BATCH))
    {
        return free_batch();
    }
    let many = ((limit - start) / step).ceil();
    if !many.is_finite() {
        return bad(format!("its step is {step}"));
    }
    let n = bounded_len(&[many.max(0.0) as usize])?;
    let kind = numbers[0].kind;
    let values = (0..n).map(|i| start + i as f64 * step);
    let data = match kind {
        DataType::Double => Data::double(values.collect()),
        kind if kind.is_float() => Data::Float(values.map(|v| v as f32).collect()),
        _ => Data::Int(values.map(|v| v as i64).collect()),
    };
    let shape = vec![n];
    Ok(Constant { shape, kind, data })
}

/// EyeLike: ones on a diagonal of a tensor of the shape of the input.
pub(super) fn eye(call: &Call) -> Result<Constant, Fault> {
    let full = sizes(call, BATCH)?;
    let &[rows, columns] = &full[..] else {
        return bad("its input is no matrix");
    };
    if full.contains(&BATCH) {
        return free_batch();
    }
    let kind = match (call.attribute("dtype"), call.required(0)?) {
        (Some(_), _) => DataType::of(call.int("dtype", 1) as i32).map_err(Fault::Unsupported)?,
        (None, Value::Constant(c)) => c.kind,
        _ => DataType::Float,
    };
    let shape = vec![rows as usize, columns as usize];
    let above = call.int("k", 0);
    let places = 0..rows * columns;
    let ones = places.map(|e| (e % columns).checked_sub(e / columns) == Some(above));
    let data = match kind.is_float() {
        true => Data::Float(ones.map(f32::from).collect()),
        false => Data::Int(ones.map(i64::from).collect()),
    };
    let plain = match kind.is_float() {
        true => DataType::Float,
        false => DataType::Signed(64),
    };
    let made = Constant {
        shape,
        kind: plain,
        data,
    };
    super::kind::cast(&made, kind)
}

/// NonZero: the places of the elements that are not 0, a column for each.
pub(super) fn places(call: &Call) -> Result<Constant, Fault> {
    let from = call.constant(0)?;
    let values = from.data.floats();
    let found: Vec<usize> = (0..values.len()).filter(|&e| values[e] != 0.0).collect();
    let mut along = Vec::with_capacity(from.shape.len() * found.len());
    let mut inner: usize = from.shape.iter().product();
    for &size in &from.shape {
        inner /= size.max(1);
        along.extend(found.iter().map(|e| (e / inner.max(1) % size) as i64));
    }
    Ok(Constant {
        shape: vec![from.shape.len(), found.len()],
        ..Constant::ints(along)
    })
}

/// OneHot: along a new axis the second of two values at the index, the first elsewhere.
pub(super) fn one_hot(call: &Call) -> Result<Constant, Fault> {
    let (indices, values) = (call.constant(0)?, call.constant(2)?);
    let depth = call.constant(1)?.data.floats();
    let (&[depth], 2) = (&depth[..], values.data.len()) else {
        return bad("its depth is no number, or its values are not two");
    };
    if !(1.0..1e9).contains(&depth) {
        return bad(format!("its depth is {depth}"));
    }
    let size = depth as i64;
    let rank = indices.shape.len() + 1;
    let along = axis(call.int("axis", -1), rank)?;
    let last = [&indices.shape[..], &[size as usize]].concat();
    bounded_len(&last)?;
    let hot = indices.data.floats();
    let chosen = hot.iter().flat_map(|&i| {
        let at = if i < 0.0 { i as i64 + size } else { i as i64 };
        (0..size).map(move |place| u32::from(place == at))
    });
    let flat = Constant {
        shape: last.clone(),
        kind: values.kind,
        data: values.data.gather(&chosen.collect::<Vec<_>>(), 0.0),
    };
    let mut order: Vec<usize> = (0..rank - 1).collect();
    order.insert(along, rank - 1);
    let out = order.iter().map(|&a| last[a]).collect();
    let index = transpose(&last, &order);
    Ok(rearranged(&flat, (out, index)))
}

/// ReduceSum, ReduceProd, ReduceMax and ReduceMin of constants, mostly of sizes.
pub(super) fn reduced(call: &Call) -> Result<Constant, Fault> {
    let from = call.constant(0)?;
    let rank = from.shape.len();
    let since = if call.node.op_type == "ReduceSum" {
        13
    } else {
        18
    };
    let given = call.list(1, "axes", since)?.unwrap_or_default();
    let axes = match given.is_empty() {
        true if call.int("noop_with_empty_axes", 0) != 0 => return Ok(from.clone()),
        true => (0..rank).collect(),
        false => given
            .iter()
            .map(|&a| axis(a, rank))
            .collect::<Result<Vec<_>, _>>()?,
    };
    let (joined, kept): (Vec<usize>, Vec<usize>) = (0..rank).partition(|a| axes.contains(a));
    let order = [joined.clone(), kept.clone()].concat();
    let sizes = |axes: &[usize]| axes.iter().map(|&a| from.shape[a]).collect::<Vec<_>>();
    let many: usize = sizes(&joined).iter().product();
    let turned = rearranged(from, (sizes(&order), transpose(&from.shape, &order)));
    let op = match call.node.op_type.as_str() {
        "ReduceSum" => "Add",
        "ReduceProd" => "Mul",
        "ReduceMax" => "Max",
        _ => "Min",
    };
    let each: usize = sizes(&kept).iter().product();
    if many == 0 {
        return unsupported("it reduces no elements");
    }
    let (mut rows, mut result) = (many, turned);
    result.shape = vec![many, each];
    // Half of the rows with the other half, so that each number is read about twice.
    while rows > 1 {
        let half = rows / 2;
        let some = |from: usize, to: usize| {
            let index = (from * each..to * each).map(|e| e as u32).collect();
            rearranged(&result, (vec![to - from, each], index))
        };
        let both = binary(op, &some(0, half), &some(half, 2 * half))?;
        result = match rows % 2 {
            0 => both,
            _ => super::joined(&[&both, &some(2 * half, rows)], 0)?,
        };
        rows -= half;
    }
    result.shape = sizes(&kept);
    if call.int("keepdims", 1) != 0 {
        result.shape = (0..rank)
            .map(|a| {
                if joined.contains(&a) {
                    1
                } else {
                    from.shape[a]
                }
            })
            .collect();
    }
    Ok(result)
}

/// A constant with others at constant places, or joined with them there.
pub(super) fn scattered(call: &Call) -> Result<Constant, Fault> {
    let (from, updates) = (call.constant(0)?, call.constant(2)?);
    let join = Join::named(&call.text("reduction", "none"))?;
    let places = scatter::places(call, &from.shape)?;
    if places.len() != updates.data.len() || from.kind != updates.kind {
        return bad("its updates do not fit its indices or its first input");
    }
    let kind = from.kind;
    let data = match (&from.data, &updates.data) {
        (Data::Int(old), Data::Int(new)) => {
            let all = joined(old, new, &places, |a, b| join.integers(a, b));
            let held = all.into_iter().map(|v| kind.wrap(v));
            let all: Option<Vec<i64>> = held.collect();
            let why = || format!("its results are beyond what {} holds", kind.name());
            Data::Int(all.ok_or_else(|| Fault::Unsupported(why()))?)
        }
        (Data::Double { exact: old, .. }, Data::Double { exact: new, .. }) => {
            Data::double(joined(old, new, &places, |a, b| join.floats(a, b)))
        }
        (old, new) => {
            let one = |a: f32, b: f32| join.floats(a.into(), b.into()) as f32;
            Data::Float(joined(&old.floats(), &new.floats(), &places, one).into())
        }
    };
    let shape = from.shape.clone();
    Ok(Constant { shape, kind, data })
}

/// What becomes of an element and an update of its place.
#[derive(Clone, Copy)]
enum Join {
    Replace,
    Add,
    Mul,
    Max,
    Min,
}

impl Join {
    fn named(reduction: &str) -> Result<Self, Fault> {
        Ok(match reduction {
            "none" => Join::Replace,
            "add" => Join::Add,
            "mul" => Join::Mul,
            "max" => Join::Max,
            "min" => Join::Min,
            other => return bad(format!("its 'reduction' is '{other}'")),
        })
    }

    fn integers(self, old: i64, new: i64) -> i64 {
        match self {
            Join::Replace => new,
            Join::Add => old.wrapping_add(new),
            Join::Mul => old.wrapping_mul(new),
            Join::Max => old.max(new),
            Join::Min => old.min(new),
        }
    }

    fn floats(self, old: f64, new: f64) -> f64 {
        match self {
            Join::Replace => new,
            Join::Add => old + new,
            Join::Mul => old * new,
            Join::Max => old.max(new),
            Join::Min => old.min(new),
        }
    }
}

/// The elements of `old`, joined with `new` ones at `places`, one after the other.
fn joined<T: Copy>(old: &[T], new: &[T], places: &[usize], join: impl Fn(T, T) -> T) -> Vec<T> {
    let mut all = old.to_vec();
    for (&place, &v) in places.iter().zip(new) {
        all[place] = join(all[place], v);
    }
    all
}
