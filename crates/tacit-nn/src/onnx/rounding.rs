//! Floor, Ceil, Round, Mod and truncation of computed values, and quotients of whole numbers.
//!
//! What is rounded of a value over a whole constant is found exactly: a reciprocal is rounded, so that the quotient of a
//! multiple may be just below the whole number that it is.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compare::{compare, is_whole};
use super::constant::Constant;
use super::element::{Arithmetic, of_each, of_inputs, two};
use super::nary::on;
use crate::graph::{Op, Whole};

/// Div: of whole numbers by constant ones the quotient without what stands after its point, else the quotient.
pub(super) fn divided(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let [x, by] = [call.required(0)?, call.required(1)?];
    let is_typed = |value: &Value| matches!(value, Value::Constant(number) if !number.kind.is_float() && !number.kind.is_bool());
    match (x, by) {
        (Value::Secret { .. }, Value::Constant(_)) if is_typed(by) => {
            toward_0(call, builder, x, by)
        }
        (_, Value::Secret { .. }) if is_typed(x) => {
            unsupported("it divides whole numbers by computed ones; constant ones are supported")
        }
        _ => {
            let quotient = of_inputs(call, builder, Arithmetic::Div)?;
            if let (Value::Secret { id, .. }, Value::Constant(number)) = (&quotient, by)
                && number.data.floats().iter().all(|v| v.fract() == 0.0)
            {
                builder.quotients.insert(*id, [x.clone(), by.clone()]);
            }
            Ok(quotient)
        }
    }
}

/// What a value is over which whole constants, if it is such a quotient.
fn quotient_of(builder: &Builder, value: &Value) -> Option<[Value; 2]> {
    match value {
        Value::Secret { id, shape, .. } => {
            let held = builder.quotients.get(id)?;
            (builder.shape(*id) == *shape).then(|| held.clone())
        }
        _ => None,
    }
}

/// Equal, Greater, GreaterOrEqual, Less and LessOrEqual: of a quotient and a constant what it is of is compared with so
/// many times that constant.
pub(super) fn compared(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (a, b) = (call.required(0)?, call.required(1)?);
    let both = undivided(builder, a, b).or_else(|| {
        let [b, a] = undivided(builder, b, a)?;
        Some([a, b])
    });
    match &both {
        None => compare(call, builder),
        Some([a, b]) => {
            let call = Call {
                name: call.name.clone(),
                inputs: vec![Some(a), Some(b)],
                ..*call
            };
            compare(&call, builder)
        }
    }
}

/// A value in place of its quotient by a positive number, and a constant times that number in place of the constant that
/// the quotient is compared with: of a multiple the quotient is rounded, and may be on either side.
fn undivided(builder: &Builder, quotient: &Value, other: &Value) -> Option<[Value; 2]> {
    let Value::Constant(constant) = other else {
        return None;
    };
    let [x, Value::Constant(by)] = quotient_of(builder, quotient)? else {
        return None;
    };
    let &[by] = &by.data.floats()[..] else {
        return None;
    };
    let times = |&v: &f32| (f64::from(v) * f64::from(by)) as f32;
    let numbers: Vec<f32> = constant.data.floats().iter().map(times).collect();
    let is_same = matches!(
        (&x, quotient),
        (Value::Secret { shape: a, .. }, Value::Secret { shape: b, .. }) if a == b
    );
    (is_same && by > 0.0 && numbers.iter().all(|v| v.is_finite())).then(|| {
        let times = Constant::floats(constant.shape.clone(), numbers);
        [x, Value::Constant(times)]
    })
}

/// Floor, Ceil, which is `-floor(-x)`, and Round.
pub(super) fn rounded(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let op = call.node.op_type.as_str();
    if let Some([x, by]) = quotient_of(builder, call.required(0)?).filter(|_| op != "Round") {
        return match op {
            "Floor" => floored(call, builder, &x, &by),
            _ => {
                let by = numbers_of(call, &by, |v| -v)?;
                let below = floored(call, builder, &x, &by)?;
                on(call, builder, &below, |c, x| c.affine("ceil", x, -1.0, 0.0))
            }
        };
    }
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
    if let Some([x, by]) = quotient_of(builder, x) {
        return toward_0(call, builder, &x, &by);
    }
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

/// The numbers of a constant that divides, each changed.
fn numbers_of(call: &Call, by: &Value, change: fn(f32) -> f32) -> Result<Value, Fault> {
    let Value::Constant(constant) = by else {
        return unsupported("its divisor is computed; a constant is supported");
    };
    let numbers = constant.data.floats();
    if numbers.contains(&0.0) {
        return unsupported("it divides by 0");
    }
    if let Some(number) = numbers.iter().find(|number| !number.is_finite()) {
        return bad(format!("'{}' divides by {number}", call.name));
    }
    let numbers = numbers.iter().map(|&v| change(v)).collect();
    Ok(Value::Constant(Constant::floats(
        constant.shape.clone(),
        numbers,
    )))
}

/// `floor(x / by)` by constants.
fn floored(call: &Call, builder: &mut Builder, x: &Value, by: &Value) -> Result<Value, Fault> {
    let sign = numbers_of(call, by, f32::signum)?;
    let size = numbers_of(call, by, f32::abs)?;
    let turned = two(call, builder, (Arithmetic::Mul, "turned"), x, &sign)?;
    let rest = Rest::of(call, builder, &turned, &size)?;
    let quotient = rest.quotient(call, builder)?;
    is_whole_now(builder, &quotient);
    Ok(quotient)
}

/// `x / by` by constants, without what stands after its point.
fn toward_0(call: &Call, builder: &mut Builder, x: &Value, by: &Value) -> Result<Value, Fault> {
    let sign = sign(call, builder, x)?;
    let of_by = numbers_of(call, by, f32::signum)?;
    let size = numbers_of(call, by, f32::abs)?;
    let magnitude = two(call, builder, (Arithmetic::Mul, "magnitude"), x, &sign)?;
    let rest = Rest::of(call, builder, &magnitude, &size)?;
    let quotient = rest.quotient(call, builder)?;
    // A divisor of more places repeats the sign.
    let signed = two(call, builder, (Arithmetic::Mul, "signed"), &quotient, &sign)?;
    let quotient = two(
        call,
        builder,
        (Arithmetic::Mul, "towards 0"),
        &signed,
        &of_by,
    )?;
    is_whole_now(builder, &quotient);
    Ok(quotient)
}

/// Notes that a value's elements are whole numbers.
fn is_whole_now(builder: &mut Builder, value: &Value) {
    if let Value::Secret { id, .. } = value {
        builder.wholes.insert(*id);
    }
}

/// 1 where a value is at least 0, else -1.
fn sign(call: &Call, builder: &mut Builder, x: &Value) -> Result<Value, Fault> {
    on(call, builder, x, |c, x| {
        let positive = c.each("is positive", Op::NonNegative, &[x])?;
        c.affine("sign", positive, 2.0, -1.0)
    })
}

/// Mod by constants. The rest by their magnitudes has the sign of the divisor, or with 'fmod' that of the
/// dividend.
pub(super) fn modulo(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, divisor) = (call.required(0)?, call.required(1)?);
    let size = numbers_of(call, divisor, f32::abs)?;
    if call.int("fmod", 0) == 0 {
        let (_, numbers) = call.weights(1)?;
        let sign = numbers_of(call, divisor, f32::signum)?;
        let turned = two(call, builder, (Arithmetic::Mul, "turned"), x, &sign)?;
        let rest = Rest::of(call, builder, &turned, &size)?.rest;
        let rest = two(call, builder, (Arithmetic::Mul, "rest"), &rest, &sign)?;
        known_to_rest(builder, x, &rest, &numbers);
        return Ok(rest);
    }
    let sign = sign(call, builder, x)?;
    let magnitude = two(call, builder, (Arithmetic::Mul, "magnitude"), x, &sign)?;
    let rest = Rest::of(call, builder, &magnitude, &size)?.rest;
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

/// A division by positive divisors.
struct Rest {
    /// `x - floor(x / by) by`.
    rest: Value,
    /// A whole number next to the quotient, and whether that is one less, or one more.
    near: Value,
    is_less: Value,
    is_more: Value,
}

impl Rest {
    /// The quotient is rounded, so that it may be one too small or too large at a multiple: two signs of what is left
    /// put that right.
    fn of(call: &Call, builder: &mut Builder, x: &Value, by: &Value) -> Result<Rest, Fault> {
        use Arithmetic::{Add, Div, Mul, Sub};
        let quotient = two(call, builder, (Div, "quotient"), x, by)?;
        let near = on(call, builder, &quotient, |c, x| {
            c.each("times", Op::Whole(Whole::Down), &[x])
        })?;
        let multiple = two(call, builder, (Mul, "multiple"), &near, by)?;
        let first = two(call, builder, (Sub, "first"), x, &multiple)?;
        let is_less = on(call, builder, &first, |c, x| {
            let held = c.each("is held", Op::NonNegative, &[x])?;
            c.affine("is missing", held, -1.0, 1.0)
        })?;
        let missing = two(call, builder, (Mul, "missing"), &is_less, by)?;
        let raised = two(call, builder, (Add, "raised"), &first, &missing)?;
        let over = two(call, builder, (Sub, "over"), &raised, by)?;
        let is_more = on(call, builder, &over, |c, x| {
            c.each("is more", Op::NonNegative, &[x])
        })?;
        let more = two(call, builder, (Mul, "more"), &is_more, by)?;
        Ok(Rest {
            rest: two(call, builder, (Sub, "lowered"), &raised, &more)?,
            near,
            is_less,
            is_more,
        })
    }

    /// `floor(x / by)`.
    fn quotient(&self, call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
        use Arithmetic::{Add, Sub};
        let less = two(call, builder, (Sub, "less"), &self.near, &self.is_less)?;
        two(call, builder, (Add, "floor"), &less, &self.is_more)
    }
}
