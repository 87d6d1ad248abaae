//! Floor, Ceil, Round, Mod and truncation of computed values, and Div.
//!
//! What is rounded of a value over a whole number is found exactly: a reciprocal is rounded, so that the quotient of a
//! multiple may be just below the whole number that it is.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compare::{compare, is_whole};
use super::constant::Constant;
use super::counts::{note, of_counts};
use super::element::{Arithmetic, of_inputs, two};
use super::kind::DataType;
use super::nary::on;
use super::quotient::{is_by_whole, note_quotient, number, quotient_of, rest_of, undivided};
use super::which;
use crate::graph::{Op, Whole};

/// Div: of integers the quotient without what stands after its point, else the quotient.
pub(super) fn divided(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let [x, by] = [call.required(0)?, call.required(1)?];
    if is_of_integers(call) {
        return toward_0(call, builder, x, by);
    }
    let counted = of_counts(call, builder, x, by)?;
    let quotient = match &counted {
        None => of_inputs(call, builder, Arithmetic::Div)?,
        Some(sum) => {
            let inputs = vec![Some(x), Some(sum)];
            let name = call.name.clone();
            let call = Call {
                name,
                inputs,
                ..*call
            };
            of_inputs(&call, builder, Arithmetic::Div)?
        }
    };
    if is_by_whole(builder, x, by) {
        let x = computed(call, builder, x, by)?;
        note_quotient(
            call,
            builder,
            &quotient,
            [&x, counted.as_ref().unwrap_or(by)],
        )?;
    }
    Ok(quotient)
}

/// Whether a node makes integers, by the types of the file or else of its constants.
fn is_of_integers(call: &Call) -> bool {
    let is_integer = |kind: DataType| !kind.is_float() && !kind.is_bool();
    let typed = |value: &&Value| matches!(value, Value::Constant(c) if is_integer(c.kind));
    match call.kind {
        Some(kind) => is_integer(kind),
        None => call.inputs.iter().flatten().any(typed),
    }
}

/// Equal, Greater, GreaterOrEqual, Less and LessOrEqual: of a quotient by computed numbers and a constant what it is of is
/// compared with so many times that constant.
pub(super) fn compared(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (a, b) = (call.required(0)?, call.required(1)?);
    let both = match undivided(call, builder, a, b)? {
        None => undivided(call, builder, b, a)?.map(|[b, a]| [a, b]),
        both => both,
    };
    match &both {
        None => {
            let truth = compare(call, builder)?;
            note(call, builder, &truth);
            Ok(truth)
        }
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

/// Floor, Ceil, which is `-floor(-x)`, and Round.
pub(super) fn rounded(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (op, x) = (call.node.op_type.as_str(), call.required(0)?);
    rounded_of(call, builder, op, x)
}

fn rounded_of(call: &Call, builder: &mut Builder, op: &str, x: &Value) -> Result<Value, Fault> {
    if is_whole(builder, x) {
        return Ok(x.clone());
    }
    let round = if op == "Ceil" { f32::ceil } else { f32::floor };
    if op != "Round"
        && let Some((inner, bounds)) = clipped(builder, x, round)
    {
        let made = rounded_of(call, builder, op, &inner)?;
        return on(call, builder, &made, |c, x| c.each("within", bounds, &[x]));
    }
    if let Some([x, by]) = quotient_of(call, builder, x)?.filter(|_| op != "Round") {
        let side = if op == "Floor" { 1.0 } else { -1.0 };
        let x = computed(call, builder, &x, &by)?;
        let x = on(call, builder, &x, |c, x| c.affine("of side", x, side, 0.0))?;
        let below = floored(call, builder, &x, &by)?;
        let made = on(call, builder, &below, |c, x| {
            c.affine("of its side", x, side, 0.0)
        })?;
        is_whole_now(builder, &made);
        return Ok(made);
    }
    on(call, builder, x, |c, x| match op {
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
    if let Some((inner, bounds)) = clipped(builder, x, f32::trunc) {
        let made = truncated(call, builder, &inner)?;
        return on(call, builder, &made, |c, x| c.each("within", bounds, &[x]));
    }
    if let Some([x, by]) = quotient_of(call, builder, x)? {
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

/// A quotient that is held within bounds, and these, rounded as it is to be: what is rounded of it is within them.
fn clipped(builder: &Builder, x: &Value, round: fn(f32) -> f32) -> Option<(Value, Op)> {
    let Value::Secret { id, shape, batch } = x else {
        return None;
    };
    let node = &builder.nodes[id.checked_sub(1)?];
    let bounds = match node.op {
        Op::Relu => Op::Relu,
        Op::Clip { low, high } => Op::Clip {
            low: low.map(round),
            high: high.map(round),
        },
        _ => return None,
    };
    let id = node.inputs[0];
    let is_quotient = builder.quotients.contains_key(&id) || builder.means.contains_key(&id);
    let inner = Value::Secret {
        id,
        shape: shape.clone(),
        batch: *batch,
    };
    is_quotient.then_some((inner, bounds))
}

/// The signs of a divisor and its magnitudes; one that is computed must be positive.
fn sign_and_size(call: &Call, by: &Value) -> Result<[Value; 2], Fault> {
    let Value::Constant(constant) = by else {
        return Ok([number(1.0), by.clone()]);
    };
    let numbers = constant.data.floats();
    if numbers.contains(&0.0) {
        return unsupported("it divides by 0");
    }
    if let Some(number) = numbers.iter().find(|number| !number.is_finite()) {
        return bad(format!("'{}' divides by {number}", call.name));
    }
    let of = |change: fn(f32) -> f32| {
        let numbers = numbers.iter().map(|&v| change(v)).collect();
        Value::Constant(Constant::floats(constant.shape.clone(), numbers))
    };
    Ok([of(f32::signum), of(f32::abs)])
}

/// A constant as a computed value, beside one.
fn computed(call: &Call, builder: &mut Builder, x: &Value, beside: &Value) -> Result<Value, Fault> {
    if !matches!(x, Value::Constant(_)) {
        return Ok(x.clone());
    }
    let none = two(
        call,
        builder,
        (Arithmetic::Mul, "none"),
        beside,
        &number(0.0),
    )?;
    two(call, builder, (Arithmetic::Add, "dividend"), &none, x)
}

/// `floor(x / by)`.
fn floored(call: &Call, builder: &mut Builder, x: &Value, by: &Value) -> Result<Value, Fault> {
    let [sign, size] = sign_and_size(call, by)?;
    let turned = two(call, builder, (Arithmetic::Mul, "turned"), x, &sign)?;
    let rest = Rest::of(call, builder, &turned, &size)?;
    let quotient = rest.quotient(call, builder)?;
    is_whole_now(builder, &quotient);
    Ok(quotient)
}

/// `x / by` without what stands after its point.
fn toward_0(call: &Call, builder: &mut Builder, x: &Value, by: &Value) -> Result<Value, Fault> {
    let x = computed(call, builder, x, by)?;
    let ends = quotient_ends(builder, &x, by);
    if let (Some((least, most)), Value::Constant(by)) = (ends, by)
        && least == most
    {
        // Such as a step of a search that is halved, written as a tensor of the inputs' size.
        let none = two(call, builder, (Arithmetic::Mul, "none"), &x, &number(0.0))?;
        let all = vec![most as f32; by.data.len()];
        let quotient = Value::Constant(Constant::floats(by.shape.clone(), all));
        return two(call, builder, (Arithmetic::Add, "known"), &none, &quotient);
    }
    let sign = sign(call, builder, &x)?;
    let [of_by, size] = sign_and_size(call, by)?;
    let magnitude = two(call, builder, (Arithmetic::Mul, "magnitude"), &x, &sign)?;
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
    if let (Value::Secret { id, .. }, Some(ends)) = (&quotient, ends) {
        builder.within.insert(*id, ends);
    }
    Ok(quotient)
}

/// The least and the most of `x / by` without what stands after its point, by a constant of one number.
fn quotient_ends(builder: &Builder, x: &Value, by: &Value) -> Option<(f64, f64)> {
    let (Value::Secret { id, .. }, Value::Constant(by)) = (x, by) else {
        return None;
    };
    let by = by.data.floats();
    let (&first, rest) = by.split_first()?;
    let by = rest.iter().all(|v| *v == first).then(|| f64::from(first));
    let by = by.filter(|by| *by != 0.0 && by.is_finite())?;
    let (low, high) = which::ends(builder, *id);
    let of = |end: f64| (end / by).trunc();
    (low.abs().max(high.abs()) <= EXACT).then(|| (of(low).min(of(high)), of(low).max(of(high))))
}

/// The largest of the whole numbers that float32 has all of.
const EXACT: f64 = 16_777_216.0;

/// The mean of so many integers by their sum, without what stands after its point.
pub(super) fn mean(
    call: &Call,
    builder: &mut Builder,
    sum: &Value,
    of: usize,
) -> Result<Value, Fault> {
    toward_0(call, builder, sum, &number(of as f32))
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

/// Mod. That of a quotient is found of its dividend.
pub(super) fn modulo(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let divisor = call.required(1)?;
    let x = computed(call, builder, call.required(0)?, divisor)?;
    let of_dividend = |builder: &mut Builder, x: &Value, by: &Value| rest(call, builder, x, by);
    match rest_of(call, builder, &x, divisor, of_dividend)? {
        Some(found) => Ok(found),
        None => rest(call, builder, &x, divisor),
    }
}

/// What is left of a division. The rest by the magnitudes of a divisor has the sign of the divisor, or with 'fmod' that
/// of the dividend.
fn rest(call: &Call, builder: &mut Builder, x: &Value, divisor: &Value) -> Result<Value, Fault> {
    let [of_divisor, size] = sign_and_size(call, divisor)?;
    if call.int("fmod", 0) == 0 {
        let turned = two(call, builder, (Arithmetic::Mul, "turned"), x, &of_divisor)?;
        let rest = Rest::of(call, builder, &turned, &size)?.rest;
        let rest = two(call, builder, (Arithmetic::Mul, "rest"), &rest, &of_divisor)?;
        if let Value::Constant(by) = divisor {
            known_to_rest(builder, x, &rest, &by.data.floats());
        }
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
