//! Reductions over axes of an item: what is joined is brought to stand last, as rows.

use super::activation::magnitude;
use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::{ANY, Composer, value};
use super::function::{root, softmax_axis};
use super::mask::Mask;
use super::pool::whole;
use super::rounding::mean;
use crate::graph::{FILL, Function, Op, Pool, ValueId, Weights, len};
use crate::index::transpose;

/// The elements that results are made of.
pub(super) struct Rows {
    /// The rows, each of the elements of one result.
    pub x: ValueId,
    /// How many rows there are.
    pub rows: usize,
    /// Elements of each row.
    pub size: usize,
    /// The order of axes that the rows have.
    pub order: Vec<usize>,
}

/// The rows of a value of the item shape `shape` along some of its axes.
pub(super) fn rows(
    call: &Call,
    builder: &mut Builder,
    x: ValueId,
    shape: &[usize],
    axes: &[usize],
) -> Result<Rows, Fault> {
    let (joined, kept): (Vec<usize>, Vec<usize>) =
        (0..shape.len()).partition(|axis| axes.contains(axis));
    let order = [kept.clone(), joined.clone()].concat();
    let sizes = |axes: &[usize]| axes.iter().map(|&a| shape[a]).collect::<Vec<_>>();
    let x = match order.is_sorted() {
        true => x,
        false => {
            let index = transpose(shape, &order);
            let name = format!("{}.turned", call.name);
            let op = Op::Rearrange { index, fill: 0.0 };
            builder.add(name, op, vec![x], sizes(&order))?
        }
    };
    Ok(Rows {
        x,
        rows: len(&sizes(&kept)),
        size: len(&sizes(&joined)),
        order,
    })
}

/// The axes of an item that a reduction joins.
fn reduced_axes(call: &Call, shape: &[usize]) -> Result<Vec<usize>, Fault> {
    let since = if call.node.op_type == "ReduceSum" {
        13
    } else {
        18
    };
    let given = call.list(1, "axes", since)?.unwrap_or_default();
    if given.is_empty() && call.int("noop_with_empty_axes", 0) != 0 {
        return Ok(vec![]);
    }
    if given.is_empty() && call.whole {
        return Ok((0..shape.len()).collect());
    }
    if given.is_empty() {
        return unsupported("it works across the batch axis too: name the axes of an item");
    }
    let axes = given.iter().map(|&a| call.item_axis(a, shape.len(), 0));
    axes.collect()
}

/// ReduceSum, ReduceMean, ReduceMax and others of their kind.
pub(super) fn reduced(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let axes = reduced_axes(call, shape)?;
    let of = rows(call, builder, x, shape, &axes)?;
    let kept = match call.int("keepdims", 1) {
        0 => (0..shape.len())
            .filter(|a| !axes.contains(a))
            .map(|a| shape[a])
            .collect(),
        _ => (0..shape.len())
            .map(|a| if axes.contains(&a) { 1 } else { shape[a] })
            .collect(),
    };
    let op = call.node.op_type.as_str();
    let integers = call.makes_integers();
    if integers && ["ReduceL2", "ReduceLogSum", "ReduceLogSumExp"].contains(&op) {
        return unsupported("it makes integers of what has places after the point");
    }
    let size = of.size;
    let mask = match op {
        "ReduceLogSumExp" => Mask::turned(call, builder, transpose(shape, &of.order), size)?,
        _ => None,
    };
    let mut compose = Composer::new(call, builder);
    if op == "ReduceLogSumExp" {
        return Ok(value(log_sum(&mut compose, of, mask.as_ref())?, kept));
    }
    if integers && op == "ReduceMean" {
        let sum = reduce(&mut compose, "ReduceSum", of)?;
        return mean(call, builder, &value(sum, kept), size);
    }
    let id = reduce(&mut compose, op, of)?;
    Ok(value(id, kept))
}

fn reduce(c: &mut Composer, op: &str, of: Rows) -> Result<ValueId, Fault> {
    let Rows { x, rows, size, .. } = of;
    match op {
        "ReduceSum" => sum(c, x, rows, size),
        "ReduceMean" => {
            let pool = whole(rows, [1, size]);
            let mean = c.node("mean", Op::AveragePool(pool), &[x], vec![rows])?;
            c.builder.means.insert(mean, (x, rows, size));
            Ok(mean)
        }
        "ReduceMax" => max(c, x, rows, size),
        "ReduceMin" => {
            let mirrored = c.affine("mirrored", x, -1.0, 0.0)?;
            let least = max(c, mirrored, rows, size)?;
            c.affine("least", least, -1.0, 0.0)
        }
        "ReduceL1" => {
            let size_of = magnitude(c, x)?;
            sum(c, size_of, rows, size)
        }
        "ReduceLogSum" => {
            let sum = sum(c, x, rows, size)?;
            c.function(Function::Log, sum, ANY)
        }
        "ReduceProd" => product(c, x, rows, size),
        _ => {
            let square = c.each("square", Op::Mul, &[x, x])?;
            let sum = sum(c, square, rows, size)?;
            match op {
                "ReduceL2" => root(c, sum),
                _ => Ok(sum),
            }
        }
    }
}

/// `max + ln(sum(exp(x - max)))` of every row; what is masked is in neither the maximum nor the sum.
fn log_sum(c: &mut Composer, of: Rows, mask: Option<&Mask>) -> Result<ValueId, Fault> {
    let Rows { rows, size, .. } = of;
    let x = match mask {
        Some(mask) => mask.shown(c, of.x)?,
        None => of.x,
    };
    let max = max(c, x, rows, size)?;
    let shape = c.builder.shape(x);
    let of_all = c.spread("max of all", max, shape, |e| e / size)?;
    let below = c.each("below", Op::Sub, &[x, of_all])?;
    let mut exp = c.function(Function::Exp, below, (f32::NEG_INFINITY, 0.0))?;
    if let Some(mask) = mask {
        exp = mask.kept(c, exp)?;
    }
    let sum = sum(c, exp, rows, size)?;
    let log = c.function(Function::Log, sum, (1.0, size as f32))?;
    let result = c.each("result", Op::Add, &[log, max])?;
    // What is masked may be above the result.
    if mask.is_none() {
        c.builder.log_sums.insert(result, (x, size));
    }
    Ok(result)
}

/// The sum of every row.
pub(super) fn sum(
    c: &mut Composer,
    x: ValueId,
    rows: usize,
    size: usize,
) -> Result<ValueId, Fault> {
    c.node("sum", Op::SumPool(whole(rows, [1, size])), &[x], vec![rows])
}

/// The largest of every row.
pub(super) fn max(
    c: &mut Composer,
    x: ValueId,
    rows: usize,
    size: usize,
) -> Result<ValueId, Fault> {
    c.node("max", Op::MaxPool(whole(rows, [1, size])), &[x], vec![rows])
}

/// The product of every row: of both halves, until one number is left.
fn product(c: &mut Composer, x: ValueId, rows: usize, mut size: usize) -> Result<ValueId, Fault> {
    let mut left = x;
    while size > 1 {
        let half = size.div_ceil(2);
        let of = |first: usize| {
            let place = move |e: usize| (e / half, first + e % half);
            (0..rows * half)
                .map(|e| match place(e) {
                    (row, at) if at < size => (row * size + at) as u32,
                    _ => FILL,
                })
                .collect::<Vec<u32>>()
        };
        let shape = vec![rows, half];
        let halves = [0, half].map(|first| Op::Rearrange {
            index: of(first),
            fill: 1.0,
        });
        let [first, second] = halves;
        let first = c.node(&format!("first {half}"), first, &[left], shape.clone())?;
        let second = c.node(&format!("second {half}"), second, &[left], shape)?;
        left = c.each(&format!("product {half}"), Op::Mul, &[first, second])?;
        size = half;
    }
    Ok(left)
}

/// LogSoftmax before the end of a model.
pub(super) fn log_softmax(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let lines = softmax_axis(call, shape)?;
    let id = log_shares(&mut Composer::new(call, builder), x, lines)?;
    Ok(value(id, shape.to_vec()))
}

/// `x - max - ln(sum(exp(x - max)))` along the middle of three axes.
pub(super) fn log_shares(
    c: &mut Composer,
    x: ValueId,
    [outer, size, inner]: [usize; 3],
) -> Result<ValueId, Fault> {
    let pool = Pool {
        kernel: [size, 1],
        out: [1, inner],
        ..whole(outer, [size, inner])
    };
    let line = |e: usize| e / (size * inner) * inner + e % inner;
    let (shape, lines) = (c.builder.shape(x), vec![outer, inner]);
    let max = c.node("max", Op::MaxPool(pool.clone()), &[x], lines.clone())?;
    let max = c.spread("max of all", max, shape.clone(), line)?;
    let below = c.each("below", Op::Sub, &[x, max])?;
    let exp = c.function(Function::Exp, below, (f32::NEG_INFINITY, 0.0))?;
    let sum = c.node("sum", Op::SumPool(pool), &[exp], lines)?;
    let log = c.function(Function::Log, sum, (1.0, size as f32))?;
    let log = c.spread("of all", log, shape, line)?;
    c.each("log share", Op::Sub, &[below, log])
}

/// Hardmax: 1 at the first of the largest elements along an axis, else 0.
pub(super) fn hardmax(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let [outer, size, inner] = softmax_axis(call, shape)?;
    let of = rows(call, builder, x, &[outer, size, inner], &[1])?;
    let mut compose = Composer::new(call, builder);
    let chosen = largest(&mut compose, &of, false)?;
    let id = match inner {
        1 => chosen,
        _ => {
            let index = transpose(&[outer, inner, size], &[0, 2, 1]);
            let op = Op::Rearrange { index, fill: 0.0 };
            compose.node("turned back", op, &[chosen], shape.to_vec())?
        }
    };
    Ok(value(id, shape.to_vec()))
}

/// ArgMax and ArgMin before the end of a model: the place of the 1 that marks the largest element.
pub(super) fn place(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let along = call.item_axis(call.int("axis", 0), shape.len(), 0)?;
    let mut of = rows(call, builder, x, shape, &[along])?;
    let mut compose = Composer::new(call, builder);
    if call.node.op_type == "ArgMin" {
        of.x = compose.affine("mirrored", of.x, -1.0, 0.0)?;
    }
    let last = call.int("select_last_index", 0) != 0;
    let size = of.size;
    let chosen = largest(&mut compose, &of, last)?;
    let places: Vec<f32> = (0..size).map(|i| i as f32).collect();
    let none = Weights::default();
    let id = compose.linear("place", chosen, [size, 1], places.into(), none)?;
    compose.builder.wholes.insert(id);
    let mut kept = shape.to_vec();
    kept[along] = 1;
    if call.int("keepdims", 1) == 0 {
        kept.remove(along);
    }
    Ok(value(id, kept))
}

/// The number in `numbers` at the place of the first of the largest elements of `x`.
pub(super) fn number_of_largest(
    c: &mut Composer,
    x: ValueId,
    numbers: Vec<f32>,
) -> Result<ValueId, Fault> {
    let size = numbers.len();
    let of = Rows {
        x,
        rows: 1,
        size,
        order: vec![0],
    };
    let chosen = largest(c, &of, false)?;
    let none = Weights::default();
    let id = c.linear("number", chosen, [size, 1], numbers.into(), none)?;
    c.builder.wholes.insert(id);
    Ok(id)
}

/// 1 at the first, or the last, of the largest elements of every row, else 0.
pub(super) fn largest(c: &mut Composer, of: &Rows, last: bool) -> Result<ValueId, Fault> {
    let &Rows { x, rows, size, .. } = of;
    if size > 1 << 12 {
        return bad(format!("its axis has {size} places, more than 4096"));
    }
    let max = max(c, x, rows, size)?;
    let of_all = c.spread("max of all", max, vec![rows, size], |e| e / size)?;
    let missing = c.node("missing", Op::Sub, &[x, of_all], vec![rows, size])?;
    let marked = c.each("marked", Op::NonNegative, &[missing])?;
    c.builder.reserve(size * size)?;
    // How many are marked on the one side.
    let counts = |from: usize, to: usize| if last { from > to } else { from < to };
    let weights: Vec<f32> = (0..size * size)
        .map(|i| f32::from(counts(i / size, i % size)))
        .collect();
    let none = Weights::default();
    let before = c.linear("before", marked, [size, size], weights.into(), none)?;
    let free = c.affine("free", before, -1.0, 0.5)?;
    let free = c.each("is free", Op::NonNegative, &[free])?;
    let shape = c.builder.shape(free);
    let chosen = c.node("chosen", Op::Mul, &[marked, free], shape)?;
    c.builder.marks.insert(chosen);
    Ok(chosen)
}
