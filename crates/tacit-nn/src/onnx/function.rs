//! Elementary functions, and what is made of them: softmax, layer normalisation, GELU.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad};
use super::compose::{ANY, Composer, value};
use super::constant::bounded_len;
use super::element::{Stretched, unary};
use super::mask::Mask;
use super::pool::whole;
use super::weighed;
use crate::graph::{Affine, Function, Op, Pool, ValueId, Weights, len};

/// Sigmoid, Tanh, Exp, Erf and Log.
pub(super) fn elementary(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let function = match call.node.op_type.as_str() {
        "Sigmoid" => Function::Sigmoid,
        "Tanh" => Function::Tanh,
        "Exp" => Function::Exp,
        "Log" => Function::Log,
        _ => Function::Erf,
    };
    let (x, _, _) = call.secret_at(0)?;
    let domain = match function {
        // A rounding may lift a 0 by some units.
        Function::Exp if is_log_share(builder, x) => (f32::NEG_INFINITY, 0.5),
        _ => ANY,
    };
    unary(call, builder, Op::Function { function, domain })
}

/// Whether a value is numbers less the logarithm of the sum of their exponentials, row by row: it is at most 0.
fn is_log_share(builder: &Builder, id: ValueId) -> bool {
    let Some(node) = id.checked_sub(1).map(|at| &builder.nodes[at]) else {
        return false;
    };
    let (Op::Sub, &[x, less]) = (&node.op, &node.inputs[..]) else {
        return false;
    };
    let (sums, rows) = builder.moved_from(less);
    match builder.log_sums.get(&sums) {
        Some(&(of, size)) => of == x && (0..rows.len()).all(|e| rows[e] as usize == e / size),
        None => false,
    }
}

/// Sqrt and Reciprocal.
pub(super) fn root_or_reciprocal(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let is_weight = builder.weights.contains(&std::ptr::from_ref(call.node));
    let mut compose = Composer::new(call, builder);
    let id = match call.node.op_type.as_str() {
        "Sqrt" => root(&mut compose, x)?,
        _ if shape.len() == 1 && is_weight => weighed::of_nearest(&mut compose, x)?,
        _ => compose.reciprocal(x)?,
    };
    Ok(value(id, shape.to_vec()))
}

/// `sqrt(x)`; what it is the root of is noted beside it.
pub(super) fn root(compose: &mut Composer, x: ValueId) -> Result<ValueId, Fault> {
    let root = compose.function(Function::SquareRoot, x, ANY)?;
    compose.builder.roots.insert(root, x);
    Ok(root)
}

/// `alpha x + (1 - alpha) max(x, 0)`.
pub(super) fn leaky_relu(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape, batch) = call.secret_at(0)?;
    let alpha = call.float("alpha", 0.01);
    let mut compose = Composer::new(call, builder);
    let above = compose.each("relu", Op::Relu, &[x])?;
    let above = compose.affine("above", above, 1.0 - alpha, 0.0)?;
    let all = compose.affine("all", x, alpha, 0.0)?;
    let id = compose.each("sum", Op::Add, &[all, above])?;
    let shape = shape.to_vec();
    Ok(Value::Secret { id, shape, batch })
}

/// `x (1 + erf(x / sqrt 2)) / 2`, or its approximation by tanh where the node asks for that.
pub(super) fn gelu(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let mut compose = Composer::new(call, builder);
    let bent = match call.text("approximate", "none").as_str() {
        "none" => {
            let inner = compose.affine("inner", x, std::f32::consts::FRAC_1_SQRT_2, 0.0)?;
            compose.function(Function::Erf, inner, ANY)?
        }
        "tanh" => {
            let factor = (2.0 / std::f32::consts::PI).sqrt();
            let square = compose.each("square", Op::Mul, &[x, x])?;
            let slope = compose.affine("slope", square, 0.044_715 * factor, factor)?;
            let inner = compose.each("inner", Op::Mul, &[slope, x])?;
            compose.function(Function::Tanh, inner, ANY)?
        }
        other => return bad(format!("its 'approximate' is '{other}'")),
    };
    let weight = compose.affine("weight", bent, 0.5, 0.5)?;
    let id = compose.each("product", Op::Mul, &[weight, x])?;
    Ok(value(id, shape.to_vec()))
}

/// The lines of Softmax and LogSoftmax, as the elements before, along and after them: from operator
/// set 13 on along one axis, before that along all from one on.
pub(super) fn softmax_axis(call: &Call, shape: &[usize]) -> Result<[usize; 3], Fault> {
    let coerced = call.opset < 13;
    let along = call.item_axis(
        call.int("axis", if coerced { 1 } else { -1 }),
        shape.len(),
        0,
    )?;
    let end = if coerced { shape.len() } else { along + 1 };
    Ok([&shape[..along], &shape[along..end], &shape[end..]].map(len))
}

/// Softmax inside a model.
pub(super) fn softmax(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let lines = softmax_axis(call, shape)?;
    let mask = Mask::of(call, builder, line(lines))?;
    let id = shares(&mut Composer::new(call, builder), x, lines, mask.as_ref())?;
    Ok(value(id, shape.to_vec()))
}

/// The line of each element, of lines with so many elements before, along and after them.
pub(super) fn line([_, size, inner]: [usize; 3]) -> impl Fn(usize) -> usize {
    move |e| e / (size * inner) * inner + e % inner
}

/// `exp(x - max) / sum(exp(x - max))`: arguments up to 0, a sum from 1 to the number of terms. What is
/// masked is in neither the maximum nor the sum, and 0.
pub(super) fn shares(
    compose: &mut Composer,
    x: ValueId,
    lines: [usize; 3],
    mask: Option<&Mask>,
) -> Result<ValueId, Fault> {
    let [outer, size, inner] = lines;
    bounded_len(&lines)?;
    let pool = Pool {
        kernel: [size, 1],
        out: [1, inner],
        ..whole(outer, [size, inner])
    };
    let x = match mask {
        Some(mask) => mask.shown(compose, x)?,
        None => x,
    };
    let (shape, line) = (compose.builder.shape(x), line(lines));
    let each = vec![outer, inner];
    let max = compose.node("max", Op::MaxPool(pool.clone()), &[x], each.clone())?;
    let largest = max;
    let max = compose.spread("max of all", max, shape.clone(), &line)?;
    let below = compose.each("below", Op::Sub, &[x, max])?;
    let mut exp = compose.function(Function::Exp, below, (f32::NEG_INFINITY, 0.0))?;
    if let Some(mask) = mask {
        exp = mask.kept(compose, exp)?;
    }
    let sum = compose.node("sum", Op::SumPool(pool), &[exp], each)?;
    let inverse = compose.function(Function::Reciprocal, sum, (1.0, size as f32))?;
    let inverse = compose.spread("of all", inverse, shape, line)?;
    let shares = compose.each("share", Op::Mul, &[exp, inverse])?;
    compose.builder.lines.insert(shares, (largest, lines));
    Ok(shares)
}

/// `(x - mean) / sqrt(variance + epsilon)` of every `size` elements in a row.
pub(super) fn normal(
    compose: &mut Composer,
    x: ValueId,
    size: usize,
    epsilon: f32,
) -> Result<ValueId, Fault> {
    Ok(Normal::new(compose, x, size, epsilon)?.result)
}

/// Rows less their means, divided by the roots of their variances.
///
/// The mean is taken of differences to the first element: where all are equal it is exactly 0, and its
/// rounding is not divided by the root of epsilon.
pub(super) struct Normal {
    x: ValueId,
    size: usize,
    pub result: ValueId,
    /// The mean of each row, less its first element.
    aside: ValueId,
    /// `1 / sqrt(variance + epsilon)` of each row.
    inverse: ValueId,
    /// The variance of each row.
    pub variance: ValueId,
}

impl Normal {
    /// The mean of each row.
    pub(super) fn mean(&self, compose: &mut Composer) -> Result<ValueId, Fault> {
        let shape = compose.builder.shape(self.aside);
        let first = compose.spread("first", self.x, shape, |row| row * self.size)?;
        compose.each("whole mean", Op::Add, &[first, self.aside])
    }

    /// The normalisation of every `size` elements in a row.
    pub(super) fn new(
        compose: &mut Composer,
        x: ValueId,
        size: usize,
        epsilon: f32,
    ) -> Result<Self, Fault> {
        let shape = compose.builder.shape(x);
        let outer = len(&shape) / size;
        let pool = whole(outer, [1, size]);
        let first = compose.spread("first of all", x, shape.clone(), |e| e / size * size)?;
        let aside = compose.each("aside", Op::Sub, &[x, first])?;
        let mean = compose.node("mean", Op::AveragePool(pool), &[aside], vec![outer])?;
        let of_all = compose.spread("mean of all", mean, shape, |e| e / size)?;
        let centred = compose.each("centred", Op::Sub, &[aside, of_all])?;
        let [result, inverse, variance] = by_root(compose, centred, [outer, size], epsilon)?;
        Ok(Normal {
            x,
            size,
            result,
            aside: mean,
            inverse,
            variance,
        })
    }
}

/// `(x - mean) / sqrt(variance + epsilon) * scale + bias` along the axes from `axis` on; and the mean and the
/// inverse root, where they are outputs.
pub(super) fn layer_norm(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    let (x, shape) = call.secret(0)?;
    let along = call.item_axis(call.int("axis", -1), shape.len(), 0)?;
    call.constant(1)?;
    let scale = stretched(call, builder, shape, 1)?;
    let shift = stretched(call, builder, shape, 2)?;
    let mut compose = Composer::new(call, builder);
    let size = len(&shape[along..]);
    let normal = Normal::new(&mut compose, x, size, call.float("epsilon", 1e-5))?;
    let constants = [("scale", scale), ("shift", shift)];
    let mut outputs = vec![scaled(&mut compose, normal.result, constants, shape)?];
    if call.node.output.len() > 1 {
        let ones = vec![1; shape.len() - along];
        let one = |id| value(id, [&shape[..along], &ones].concat());
        outputs.extend([one(normal.mean(&mut compose)?), one(normal.inverse)]);
    }
    Ok(outputs)
}

/// `x / sqrt(mean(x^2) + epsilon) * scale` along the axes from `axis` on.
pub(super) fn rms_norm(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let along = call.item_axis(call.int("axis", -1), shape.len(), 0)?;
    call.constant(1)?;
    let scale = stretched(call, builder, shape, 1)?;
    let rows = [&shape[..along], &shape[along..]].map(len);
    let mut compose = Composer::new(call, builder);
    let [normal, ..] = by_root(&mut compose, x, rows, call.float("epsilon", 1e-5))?;
    scaled(
        &mut compose,
        normal,
        [("scale", scale), ("shift", None)],
        shape,
    )
}

/// The elements of rows, so many of such a size, times the inverse root of their mean square and `epsilon`; these
/// of every row, and the mean squares.
fn by_root(
    compose: &mut Composer,
    x: ValueId,
    [rows, size]: [usize; 2],
    epsilon: f32,
) -> Result<[ValueId; 3], Fault> {
    let pool = Op::AveragePool(whole(rows, [1, size]));
    let square = compose.each("square", Op::Mul, &[x, x])?;
    let variance = compose.node("variance", pool, &[square], vec![rows])?;
    let positive = compose.affine("epsilon", variance, 1.0, epsilon)?;
    let inverse = compose.function(Function::InverseSqrt, positive, ANY)?;
    let shape = compose.builder.shape(x);
    let of_all = compose.spread("of all", inverse, shape, |e| e / size)?;
    let normal = compose.each("normal", Op::Mul, &[x, of_all])?;
    Ok([normal, inverse, variance])
}

/// A constant stretched over an item: how many elements share a number, and the numbers.
type Fixed = Option<(usize, Weights)>;

/// `x` by the constants that are given.
fn scaled(
    compose: &mut Composer,
    x: ValueId,
    constants: [(&str, Fixed); 2],
    shape: &[usize],
) -> Result<Value, Fault> {
    let mut id = x;
    for (part, fixed) in constants {
        let Some((inner, numbers)) = fixed else {
            continue;
        };
        let none = Weights::default();
        let (scale, shift) = match part {
            "scale" => (numbers, none),
            _ => (none, numbers),
        };
        let op = Op::Affine(Affine {
            inner,
            scale,
            shift,
        });
        id = compose.each(part, op, &[id])?;
    }
    Ok(value(id, shape.to_vec()))
}

/// Input `i` stretched over an item, if it is given.
fn stretched(
    call: &Call,
    builder: &mut Builder,
    shape: &[usize],
    i: usize,
) -> Result<Fixed, Fault> {
    let Some((given, values)) = call.optional_weights(i)? else {
        return Ok(None);
    };
    match Stretched::new(given, &values, shape, 0)? {
        fits if fits.out == shape => {
            let how = format!("{given:?} over {shape:?}");
            let numbers = builder.derive(&values, how, || fits.numbers);
            Ok(Some((fits.inner, numbers)))
        }
        _ => bad(format!(
            "its input {i} of the shape {given:?} does not fit items of the shape {shape:?}"
        )),
    }
}
