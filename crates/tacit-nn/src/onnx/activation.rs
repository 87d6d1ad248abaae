//! Activations and other functions of every element by itself, made of a few that the graph has.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::{ANY, Composer};
use super::element::{Arithmetic, of_each, two};
use super::function::root;
use super::nary::on;
use super::quotient::quotient_of;
use crate::graph::{Function, Op, ValueId};

/// Arguments that are not above 0 by construction.
const BELOW_0: (f32, f32) = (f32::NEG_INFINITY, 0.0);

/// An activation or function of the first input.
pub(super) fn activation(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let number = |name: &str, default: f32| call.float(name, default);
    of_each(call, builder, |c, x| match call.node.op_type.as_str() {
        "Abs" => magnitude(c, x),
        "Celu" => celu(c, x, number("alpha", 1.0)),
        "Elu" => exponential_units(c, x, 1.0, number("alpha", 1.0)),
        "Selu" => exponential_units(
            c,
            x,
            number("gamma", 1.050_701),
            number("alpha", 1.673_263_2),
        ),
        "HardSigmoid" => {
            let line = c.affine("line", x, number("alpha", 0.2), number("beta", 0.5))?;
            unit(c, line)
        }
        "HardSwish" => {
            let line = c.affine("line", x, 1.0 / 6.0, 0.5)?;
            let weight = unit(c, line)?;
            c.each("product", Op::Mul, &[x, weight])
        }
        "Mish" => {
            let soft = softplus(c, x)?;
            let weight = c.function(Function::Tanh, soft, (0.0, f32::INFINITY))?;
            c.each("product", Op::Mul, &[x, weight])
        }
        "Shrink" if number("lambd", 0.5) < 0.0 => {
            unsupported("its lambd is negative, so that both of its branches hold at once")
        }
        "Shrink" => shrink(c, x, number("lambd", 0.5), number("bias", 0.0)),
        "Softplus" => softplus(c, x),
        "Softsign" => {
            let size = magnitude(c, x)?;
            let divisor = c.affine("divisor", size, 1.0, 1.0)?;
            let inverse = c.function(Function::Reciprocal, divisor, (1.0, f32::INFINITY))?;
            c.each("product", Op::Mul, &[x, inverse])
        }
        "Swish" => swish(c, x, number("alpha", 1.0)),
        "ThresholdedRelu" => {
            let above = above(c, "above", x, [1.0, number("alpha", 1.0)])?;
            c.each("product", Op::Mul, &[x, above])
        }
        _ => hyperbolic(c, x, &call.node.op_type),
    })
}

/// `max(x, 0) + max(x, 0) - x`.
pub(super) fn magnitude(c: &mut Composer, x: ValueId) -> Result<ValueId, Fault> {
    let positive = c.each("positive", Op::Relu, &[x])?;
    let negative = c.each("negative", Op::Sub, &[positive, x])?;
    c.each("magnitude", Op::Add, &[positive, negative])
}

/// `x` between 0 and 1.
fn unit(c: &mut Composer, x: ValueId) -> Result<ValueId, Fault> {
    let (low, high) = (Some(0.0), Some(1.0));
    c.each("unit", Op::Clip { low, high }, &[x])
}

/// 1 where `sign x > than`, else 0.
fn above(
    c: &mut Composer,
    part: &str,
    x: ValueId,
    [sign, than]: [f32; 2],
) -> Result<ValueId, Fault> {
    let missing = c.affine(&format!("{part}.missing"), x, -sign, than)?;
    let below = c.each(&format!("{part}.below"), Op::NonNegative, &[missing])?;
    c.affine(part, below, -1.0, 1.0)
}

/// The positive part, and what is left.
fn parts(c: &mut Composer, x: ValueId) -> Result<[ValueId; 2], Fault> {
    let positive = c.each("positive", Op::Relu, &[x])?;
    let negative = c.each("negative", Op::Sub, &[x, positive])?;
    Ok([positive, negative])
}

/// `gamma x` of a positive `x`, else `gamma alpha (exp(x) - 1)`.
fn exponential_units(
    c: &mut Composer,
    x: ValueId,
    gamma: f32,
    alpha: f32,
) -> Result<ValueId, Fault> {
    let [positive, negative] = parts(c, x)?;
    let exp = c.function(Function::Exp, negative, BELOW_0)?;
    let below = c.affine("below", exp, gamma * alpha, -gamma * alpha)?;
    let above = c.affine("above", positive, gamma, 0.0)?;
    c.each("sum", Op::Add, &[above, below])
}

/// `x` of a positive `x`, else `alpha (exp(x / alpha) - 1)`.
fn celu(c: &mut Composer, x: ValueId, alpha: f32) -> Result<ValueId, Fault> {
    if alpha <= 0.0 || !alpha.is_finite() {
        return unsupported(format!("its alpha is {alpha}; a positive one is supported"));
    }
    let [positive, negative] = parts(c, x)?;
    let inner = c.affine("inner", negative, 1.0 / alpha, 0.0)?;
    // A rounding may lift a 0 by a unit.
    let exp = c.function(Function::Exp, inner, (f32::NEG_INFINITY, 0.5))?;
    let below = c.affine("below", exp, alpha, -alpha)?;
    c.each("sum", Op::Add, &[positive, below])
}

/// `max(x, 0) + ln(1 + exp(-|x|))`.
fn softplus(c: &mut Composer, x: ValueId) -> Result<ValueId, Fault> {
    let [positive, negative] = parts(c, x)?;
    let mirrored = c.each("mirrored", Op::Sub, &[negative, positive])?;
    let exp = c.function(Function::Exp, mirrored, BELOW_0)?;
    let sum = c.affine("one more", exp, 1.0, 1.0)?;
    let log = c.function(Function::Log, sum, (1.0, 2.0))?;
    c.each("sum", Op::Add, &[positive, log])
}

/// `x - bias` above `lambda`, `x + bias` below `-lambda`, else 0.
fn shrink(c: &mut Composer, x: ValueId, lambda: f32, bias: f32) -> Result<ValueId, Fault> {
    let high = above(c, "high", x, [1.0, lambda])?;
    let low = above(c, "low", x, [-1.0, lambda])?;
    let outside = c.each("outside", Op::Add, &[high, low])?;
    let kept = c.each("kept", Op::Mul, &[x, outside])?;
    let side = c.each("side", Op::Sub, &[low, high])?;
    let moved = c.affine("moved", side, bias, 0.0)?;
    c.each("sum", Op::Add, &[kept, moved])
}

/// Sinh, Cosh, Asinh, Acosh and Atanh.
fn hyperbolic(c: &mut Composer, x: ValueId, op: &str) -> Result<ValueId, Fault> {
    match op {
        "Sinh" | "Cosh" => {
            let up = c.function(Function::Exp, x, ANY)?;
            let mirrored = c.affine("mirrored", x, -1.0, 0.0)?;
            let down = c.each("exp down", exp_of(ANY), &[mirrored])?;
            let op = if op == "Sinh" { Op::Sub } else { Op::Add };
            let twice = c.each("twice", op, &[up, down])?;
            c.affine("half", twice, 0.5, 0.0)
        }
        "Atanh" => {
            let over = c.affine("over", x, 1.0, 1.0)?;
            let under = c.affine("under", x, -1.0, 1.0)?;
            let over = c.each("log over", log_of(ANY), &[over])?;
            let under = c.each("log under", log_of(ANY), &[under])?;
            let twice = c.each("twice", Op::Sub, &[over, under])?;
            c.affine("half", twice, 0.5, 0.0)
        }
        "Acosh" => {
            let square = c.each("square", Op::Mul, &[x, x])?;
            let less = c.affine("less 1", square, 1.0, -1.0)?;
            let root = root(c, less)?;
            let sum = c.each("sum", Op::Add, &[x, root])?;
            c.function(Function::Log, sum, (1.0, f32::INFINITY))
        }
        _ => {
            // Of magnitudes, since x and the root would cancel below 0.
            let size = magnitude(c, x)?;
            let square = c.each("square", Op::Mul, &[x, x])?;
            let more = c.affine("1 more", square, 1.0, 1.0)?;
            let root = root(c, more)?;
            let sum = c.each("sum", Op::Add, &[size, root])?;
            let log = c.function(Function::Log, sum, (1.0, f32::INFINITY))?;
            let up = c.each("up", Op::NonNegative, &[x])?;
            let sign = c.affine("sign", up, 2.0, -1.0)?;
            c.each("product", Op::Mul, &[log, sign])
        }
    }
}

/// The exponential of arguments in a domain.
pub(super) fn exp_of(domain: (f32, f32)) -> Op {
    let function = Function::Exp;
    Op::Function { function, domain }
}

fn log_of(domain: (f32, f32)) -> Op {
    let function = Function::Log;
    Op::Function { function, domain }
}

/// `x / (1 + exp(-alpha x))`.
fn swish(c: &mut Composer, x: ValueId, alpha: f32) -> Result<ValueId, Fault> {
    let inner = c.affine("inner", x, alpha, 0.0)?;
    let weight = c.function(Function::Sigmoid, inner, ANY)?;
    c.each("product", Op::Mul, &[x, weight])
}

/// SwiGLU: the second input by Swish of the first, both of one shape.
pub(super) fn swiglu(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let alpha = call.float("alpha", 1.0);
    let gate = of_each(call, builder, |c, x| swish(c, x, alpha))?;
    let by = call.required(1)?;
    let product = two(call, builder, (Arithmetic::Mul, "gated"), &gate, by)?;
    match (&gate, &product) {
        (Value::Secret { shape: a, .. }, Value::Secret { shape: b, .. }) if a == b => Ok(product),
        _ => bad("its inputs differ in shape"),
    }
}

/// PRelu: the positive part, and what is left times the slope.
pub(super) fn prelu(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, slope) = (call.required(0)?, call.required(1)?);
    let positive = on(call, builder, x, |c, x| c.each("positive", Op::Relu, &[x]))?;
    let negative = two(call, builder, (Arithmetic::Sub, "negative"), x, &positive)?;
    let below = two(call, builder, (Arithmetic::Mul, "below"), &negative, slope)?;
    two(call, builder, (Arithmetic::Add, "sum"), &positive, &below)
}

/// Sign: 1 where `x >= 0`, less 1 where `-x >= 0`. That of a quotient by what is positive is that of the dividend.
pub(super) fn sign(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let x = call.required(0)?;
    let x = match quotient_of(call, builder, x)? {
        Some([of, Value::Constant(by)]) if by.data.floats().iter().all(|v| *v > 0.0) => of,
        _ => x.clone(),
    };
    on(call, builder, &x, |compose, x| {
        let up = compose.each("up", Op::NonNegative, &[x])?;
        let mirrored = compose.affine("mirrored", x, -1.0, 0.0)?;
        let down = compose.each("down", Op::NonNegative, &[mirrored])?;
        compose.each("sign", Op::Sub, &[up, down])
    })
}
