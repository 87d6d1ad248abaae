//! Normalisations of channels, groups of channels and other parts of an item.

use super::activation::magnitude;
use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::{ANY, Composer, value};
use super::function::{Normal, normal};
use super::power::power;
use super::reduce::{Rows, rows, sum};
use crate::graph::{Affine, Function, Op, Pool, ValueId, Weights, len};
use crate::index::transpose;

/// InstanceNormalization and GroupNormalization: of all elements of a group of channels.
pub(super) fn grouped(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let Some((&channels, space)) = shape.split_first() else {
        return bad("its input has no channels");
    };
    let groups = match call.node.op_type.as_str() {
        "InstanceNormalization" => channels,
        _ => usize::try_from(call.int("num_groups", 1)).unwrap_or(0),
    };
    if groups == 0 || !channels.is_multiple_of(groups) {
        return bad(format!("its {channels} channels are no {groups} groups"));
    }
    let numbers = |i: usize| -> Result<Weights, Fault> {
        match call.weights(i)? {
            (given, values) if given == [channels] => Ok(values),
            (given, _) => bad(format!(
                "its input {i} has the shape {given:?}, {channels} numbers are needed"
            )),
        }
    };
    let (scale, shift) = (numbers(1)?, numbers(2)?);
    let mut compose = Composer::new(call, builder);
    let size = len(shape) / groups;
    let normal = normal(&mut compose, x, size, call.float("epsilon", 1e-5))?;
    let op = Op::Affine(Affine {
        inner: len(space),
        scale,
        shift,
    });
    let id = compose.each("scale", op, &[normal])?;
    Ok(value(id, shape.to_vec()))
}

/// What stands for the standard's 1e-9 beside a deviation. Beside the variance it is less than a 200th of one of
/// `(1e-5)^2`.
const BESIDE_A_VARIANCE: f32 = 1e-12;

/// MeanVarianceNormalization over axes, by default all but the channels.
pub(super) fn mean_variance(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let given = call.attribute("axes").map_or(&[0, 2, 3][..], |a| &a.ints);
    let axes = given.iter().map(|&a| call.item_axis(a, shape.len(), 0));
    let axes = axes.collect::<Result<Vec<_>, _>>()?;
    let of = rows(call, builder, x, shape, &axes)?;
    let mut compose = Composer::new(call, builder);
    let turned = normal(&mut compose, of.x, of.size, BESIDE_A_VARIANCE)?;
    let id = turned_back(&mut compose, turned, &of, shape)?;
    Ok(value(id, shape.to_vec()))
}

/// Rows as they stood before their axes were put last.
fn turned_back(
    compose: &mut Composer,
    x: ValueId,
    of: &Rows,
    shape: &[usize],
) -> Result<ValueId, Fault> {
    if of.order.is_sorted() {
        return Ok(x);
    }
    let sizes: Vec<usize> = of.order.iter().map(|&a| shape[a]).collect();
    let back: Vec<usize> = (0..shape.len())
        .filter_map(|a| of.order.iter().position(|&from| from == a))
        .collect();
    let index = transpose(&sizes, &back);
    let op = Op::Rearrange { index, fill: 0.0 };
    compose.node("turned back", op, &[x], shape.to_vec())
}

/// BatchNormalization in training mode, of a batch that is one item: by the batch's own means and variances,
/// and the running ones with their share of these.
pub(super) fn of_batch(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    if !call.whole {
        return unsupported("it is in training mode; export the model for inference");
    }
    let (x, shape) = call.secret(0)?;
    let &[_, channels, ref space @ ..] = shape else {
        return bad("its input has no channels");
    };
    let mut numbers = Vec::new();
    for i in 1..5 {
        match call.weights(i)? {
            (given, values) if given == [channels] => numbers.push(values),
            (given, _) => {
                return bad(format!(
                    "its input {i} has the shape {given:?}, {channels} numbers are needed"
                ));
            }
        }
    }
    let axes: Vec<usize> = (0..shape.len()).filter(|&axis| axis != 1).collect();
    let of = rows(call, builder, x, shape, &axes)?;
    let mut compose = Composer::new(call, builder);
    let c = &mut compose;
    let normal = Normal::new(c, of.x, of.size, call.float("epsilon", 1e-5))?;
    let id = turned_back(c, normal.result, &of, shape)?;
    let op = Op::Affine(Affine {
        inner: len(space),
        scale: numbers[0].clone(),
        shift: numbers[1].clone(),
    });
    let mut outputs = vec![value(c.each("scale", op, &[id])?, shape.to_vec())];
    if call.node.output.len() > 1 {
        let momentum = call.float("momentum", 0.9);
        let now = [normal.mean(c)?, normal.variance];
        for (i, part) in ["running mean", "running variance"].into_iter().enumerate() {
            let op = Op::Affine(Affine {
                inner: 1,
                scale: vec![1.0 - momentum; channels].into(),
                shift: numbers[2 + i].iter().map(|v| v * momentum).collect(),
            });
            outputs.push(value(c.each(part, op, &[now[i]])?, vec![channels]));
        }
    }
    Ok(outputs)
}

/// LRN: `x / (bias + alpha / size * sum)^beta`, of the squares of the channels around.
pub(super) fn local_response(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let Some((&channels, space)) = shape.split_first() else {
        return bad("its input has no channels");
    };
    let size = match usize::try_from(call.int("size", 0)) {
        Ok(size) if (1..1 << 20).contains(&size) => size,
        _ => return bad("its 'size' is not a number of channels"),
    };
    let before = (size - 1) / 2;
    let pool = Pool {
        channels: 1,
        height: channels,
        width: len(space),
        kernel: [size, 1],
        stride: [1, 1],
        pad: [before, 0, size - 1 - before, 0],
        dilation: [1, 1],
        out: [channels, len(space)],
        count_pad: false,
    };
    let mut c = Composer::new(call, builder);
    let square = c.each("square", Op::Mul, &[x, x])?;
    let around = c.each("around", Op::SumPool(pool), &[square])?;
    let alpha = call.float("alpha", 1e-4) / size as f32;
    let divisor = c.affine("divisor", around, alpha, call.float("bias", 1.0))?;
    let inverse = power(&mut c, divisor, -call.float("beta", 0.75))?;
    let id = c.each("product", Op::Mul, &[x, inverse])?;
    Ok(value(id, shape.to_vec()))
}

/// LpNormalization: `x` over the sum of magnitudes, or the root of the sum of squares, along an axis.
pub(super) fn unit_length(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (_, shape) = call.secret(0)?;
    let along = call.item_axis(call.int("axis", -1), shape.len(), 0)?;
    over_norm(call, builder, along, call.int("p", 2))
}

/// The first input over the `p`-norm of its lines along an axis of an item.
pub(super) fn over_norm(
    call: &Call,
    builder: &mut Builder,
    along: usize,
    p: i64,
) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let (outer, size, inner) = (len(&shape[..along]), shape[along], len(&shape[along + 1..]));
    let of = rows(call, builder, x, &[outer, size, inner], &[1])?;
    let mut c = Composer::new(call, builder);
    let inverse = match p {
        1 => {
            let sizes = magnitude(&mut c, of.x)?;
            let sum = sum(&mut c, sizes, of.rows, size)?;
            c.function(Function::Reciprocal, sum, ANY)?
        }
        2 => {
            let square = c.each("square", Op::Mul, &[of.x, of.x])?;
            let sum = sum(&mut c, square, of.rows, size)?;
            c.function(Function::InverseSqrt, sum, ANY)?
        }
        p => return unsupported(format!("its 'p' is {p}; 1 and 2 are supported")),
    };
    let line = |e: usize| e / (size * inner) * inner + e % inner;
    let of_all = c.spread("of all", inverse, shape.to_vec(), line)?;
    let id = c.each("product", Op::Mul, &[x, of_all])?;
    Ok(value(id, shape.to_vec()))
}

/// The root of the sum of the `p`-th powers that `pool` adds up.
pub(super) fn norms(
    c: &mut Composer,
    x: ValueId,
    p: i64,
    sums: Op,
    shape: Vec<usize>,
) -> Result<ValueId, Fault> {
    let powers = match p {
        1 => magnitude(c, x)?,
        2 => c.each("square", Op::Mul, &[x, x])?,
        3..=16 => {
            let sizes = magnitude(c, x)?;
            power(c, sizes, p as f32)?
        }
        _ => return unsupported(format!("its 'p' is {p}; 1 to 16 are supported")),
    };
    let sum = c.node("sum", sums, &[powers], shape)?;
    match p {
        1 => Ok(sum),
        _ => power(c, sum, 1.0 / p as f32),
    }
}
