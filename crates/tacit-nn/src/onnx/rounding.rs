//! Floor, Ceil, Round, Mod and truncation of computed values.

use super::call::{Call, Fault, Value, unsupported};
use super::compare::is_whole;
use super::constant::Constant;
use super::element::{Arithmetic, of_each, two};
use super::lower::Builder;
use super::nary::on;
use crate::graph::{Op, Whole};

/// Floor, Ceil, which is `-floor(-x)`, and Round.
pub(super) fn rounded(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    of_each(call, builder, |c, x| match call.node.op_type.as_str() {
        "Floor" => c.each("floor", Op::Whole(Whole::Down), &[x]),
        "Round" => c.each("round", Op::Whole(Whole::Nearest), &[x]),
        _ => {
            let mirrored = c.affine("mirrored", x, -1.0, 0.0)?;
            let below = c.each("below", Op::Whole(Whole::Down), &[mirrored])?;
            c.affine("ceil", below, -1.0, 0.0)
        }
    })
}

/// The whole number that is left of a value without what stands after its point.
pub(super) fn truncated(call: &Call, builder: &mut Builder, x: &Value) -> Result<Value, Fault> {
    on(call, builder, x, |c, x| {
        let mirrored = c.affine("mirrored", x, -1.0, 0.0)?;
        let mut side = |part: &str, x| {
            let size = c.each(&format!("{part} part"), Op::Relu, &[x])?;
            c.each(part, Op::Whole(Whole::Down), &[size])
        };
        let [above, below] = [side("above", x)?, side("below", mirrored)?];
        c.each("truncated", Op::Sub, &[above, below])
    })
}

/// Mod by constants. The rest by their magnitudes has the sign of the divisor, or with 'fmod' that of the
/// dividend.
pub(super) fn modulo(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, divisor) = (call.required(0)?, call.required(1)?);
    let Value::Constant(by) = divisor else {
        return unsupported("its divisor is computed; a constant is supported");
    };
    let (_, numbers) = call.weights(1)?;
    if numbers.contains(&0.0) {
        return unsupported("it divides by 0");
    }
    let each = |f: fn(f32) -> f32| {
        let numbers = numbers.iter().map(|&v| f(v)).collect();
        Value::Constant(Constant::floats(by.shape.clone(), numbers))
    };
    let size = each(f32::abs);
    if call.int("fmod", 0) == 0 {
        let sign = each(f32::signum);
        let turned = two(call, builder, (Arithmetic::Mul, "turned"), x, &sign)?;
        let rest = rest(call, builder, &turned, &size)?;
        let rest = two(call, builder, (Arithmetic::Mul, "rest"), &rest, &sign)?;
        known_to_rest(builder, x, &rest, &numbers);
        return Ok(rest);
    }
    let sign = on(call, builder, x, |c, x| {
        let positive = c.each("is positive", Op::NonNegative, &[x])?;
        c.affine("sign", positive, 2.0, -1.0)
    })?;
    let magnitude = two(call, builder, (Arithmetic::Mul, "magnitude"), x, &sign)?;
    let rest = rest(call, builder, &magnitude, &size)?;
    // A divisor of more places repeats the sign.
    two(call, builder, (Arithmetic::Mul, "rest"), &rest, &sign)
}

/// Notes that what is left of whole numbers is less than their divisors, where these are positive.
fn known_to_rest(builder: &mut Builder, x: &Value, rest: &Value, by: &[f32]) {
    let whole = by.iter().all(|v| *v >= 1.0 && v.fract() == 0.0) && is_whole(builder, x);
    if let Value::Secret { id, .. } = rest
        && whole
    {
        let most = by.iter().fold(1.0, |most: f32, v| most.max(*v));
        builder.wholes.insert(*id);
        builder.within.insert(*id, (0.0, f64::from(most) - 1.0));
    }
}

/// `x - floor(x / by) by` of positive divisors. The quotient is rounded, so that it may be one too small or
/// too large at a multiple: two signs put that right.
fn rest(call: &Call, builder: &mut Builder, x: &Value, by: &Value) -> Result<Value, Fault> {
    use Arithmetic::{Add, Div, Mul, Sub};
    let quotient = two(call, builder, (Div, "quotient"), x, by)?;
    let times = on(call, builder, &quotient, |c, x| {
        c.each("times", Op::Whole(Whole::Down), &[x])
    })?;
    let multiple = two(call, builder, (Mul, "multiple"), &times, by)?;
    let first = two(call, builder, (Sub, "first"), x, &multiple)?;
    let missing = on(call, builder, &first, |c, x| {
        let held = c.each("is held", Op::NonNegative, &[x])?;
        c.affine("is missing", held, -1.0, 1.0)
    })?;
    let missing = two(call, builder, (Mul, "missing"), &missing, by)?;
    let raised = two(call, builder, (Add, "raised"), &first, &missing)?;
    let over = two(call, builder, (Sub, "over"), &raised, by)?;
    let more = on(call, builder, &over, |c, x| {
        c.each("is more", Op::NonNegative, &[x])
    })?;
    let more = two(call, builder, (Mul, "more"), &more, by)?;
    two(call, builder, (Sub, "lowered"), &raised, &more)
}
