//! Where: one of two values by a truth.

use super::builder::Builder;
use super::call::{Call, Fault, Value, unsupported};
use super::compare::{is_truth, is_whole, stands_in, truth};
use super::constant::Constant;
use super::counts::from_one;
use super::element::{Arithmetic, two};
use super::mask::{hidden, hidden_by_choice};
use super::missing::replaced;
use super::{fold, token, which};

/// Where: `c x + (1 - c) y` of a constant condition, `y + c (x - y)` of a computed one.
pub(super) fn choose(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    if let Some(value) = hidden_by_choice(call, builder)? {
        return Ok(value);
    }
    let (condition, x, y) = (call.required(0)?, call.required(1)?, call.required(2)?);
    if let Some(value) = from_one(call, builder, [condition, x, y])? {
        return Ok(value);
    }
    let [masking, masked] = [x, y].map(|branch| hiding(call, builder, branch));
    let (x, y) = (masking.as_ref().unwrap_or(x), masked.as_ref().unwrap_or(y));
    if let Some(value) = replaced(call, builder, [condition, x, y])? {
        return Ok(value);
    }
    if !is_truth(builder, condition) {
        return unsupported("its condition is not the result of a comparison");
    }
    if let Some(taken) = one_branch(condition, x, y) {
        return Ok(taken.clone());
    }
    call.finite(1, x).and(call.finite(2, y))?;
    if [x, y].iter().any(|v| matches!(v, Value::Secret { .. })) {
        let chosen = |v: &[f32]| if v[0] != 0.0 { v[1] } else { v[2] };
        if let Some(made) = token::mapped(call, builder, &[condition, x, y], chosen)? {
            return Ok(noted(builder, made, [x, y]));
        }
    }
    let result = between(call, builder, condition, [x, y])?;
    Ok(noted(builder, result, [x, y]))
}

/// One of two values by a truth, as sums and products.
fn between(
    call: &Call,
    builder: &mut Builder,
    condition: &Value,
    [x, y]: [&Value; 2],
) -> Result<Value, Fault> {
    Ok(if let Value::Constant(chosen) = condition {
        let chosen = fold::truths(chosen, |c| c);
        let others = fold::truths(&chosen, |c| !c);
        let x = times(call, builder, "chosen", x, &Value::Constant(chosen))?;
        let y = times(call, builder, "others", y, &Value::Constant(others))?;
        two(call, builder, (Arithmetic::Add, "sum"), &x, &y)?
    } else if let (Value::Secret { .. }, Value::Constant(far)) = (x, y)
        && far.data.floats().iter().any(|v| v.abs() > NEARBY)
    {
        // What stands beside a large number loses its last places where that is taken from it and added again.
        let one = Value::Constant(Constant::floats(vec![], vec![1.0]));
        let others = two(call, builder, (Arithmetic::Sub, "others"), &one, condition)?;
        let chosen = two(call, builder, (Arithmetic::Mul, "chosen"), condition, x)?;
        let others = two(call, builder, (Arithmetic::Mul, "constant"), &others, y)?;
        two(call, builder, (Arithmetic::Add, "sum"), &chosen, &others)?
    } else {
        let difference = match (x, y) {
            (Value::Constant(a), Value::Constant(b)) => Value::Constant(fold::difference(a, b)?),
            _ => two(call, builder, (Arithmetic::Sub, "difference"), x, y)?,
        };
        let chosen = two(
            call,
            builder,
            (Arithmetic::Mul, "chosen"),
            condition,
            &difference,
        )?;
        two(call, builder, (Arithmetic::Add, "sum"), &chosen, y)?
    })
}

/// What is chosen, with what is known of it by both branches: that it is a truth, or a whole number from the least to the
/// most of theirs.
fn noted(builder: &mut Builder, result: Value, branches: [&Value; 2]) -> Value {
    if branches.iter().all(|branch| is_truth(builder, branch)) {
        return truth(builder, result);
    }
    let ends = branches.map(|branch| whole_ends(builder, branch));
    if let (Value::Secret { id, .. }, [Some(x), Some(y)]) = (&result, ends) {
        builder.within.insert(*id, (x.0.min(y.0), x.1.max(y.1)));
    }
    result
}

/// The least and the most of whole numbers.
fn whole_ends(builder: &Builder, value: &Value) -> Option<(f64, f64)> {
    match value {
        Value::Secret { id, .. } => is_whole(builder, value).then(|| which::ends(builder, *id)),
        Value::Constant(constant) => {
            let numbers = constant.data.floats();
            let whole = numbers.iter().all(|v| v.fract() == 0.0);
            whole.then(|| which::hull(&numbers))
        }
        _ => None,
    }
}

/// A number that may be taken from others in float32 and added to them again.
const NEARBY: f32 = 16.0;

/// The computed branch that a constant condition takes everywhere, where neither the condition nor the other branch
/// stretches it.
fn one_branch<'a>(condition: &Value, x: &'a Value, y: &'a Value) -> Option<&'a Value> {
    let Value::Constant(chosen) = condition else {
        return None;
    };
    let truths = chosen.data.floats();
    let (taken, other) = match truths.first()? {
        0.0 => (y, x),
        _ => (x, y),
    };
    let Value::Secret { shape, batch, .. } = taken else {
        return None;
    };
    let mut all = shape.clone();
    all.insert(*batch, 1);
    let inside = |given: &[usize]| stands_in(given, &all);
    let fits = match other {
        Value::Constant(constant) => inside(&constant.shape),
        Value::Secret {
            shape: own,
            batch: at,
            ..
        } => own == shape && at == batch,
        _ => false,
    };
    let same = truths.iter().all(|v| (*v != 0.0) == (truths[0] != 0.0));
    (same && fits && inside(&chosen.shape)).then_some(taken)
}

/// A constant branch of a mask, if it hides scores, with numbers that do so in fixed point.
fn hiding(call: &Call, builder: &Builder, branch: &Value) -> Option<Value> {
    let Value::Constant(constant) = branch else {
        return None;
    };
    let values = hidden(call, builder, &constant.data.floats())?;
    let shape = constant.shape.clone();
    Some(Value::Constant(Constant::floats(shape, values)))
}

/// A value or a constant times numbers.
fn times(
    call: &Call,
    builder: &mut Builder,
    part: &str,
    x: &Value,
    numbers: &Value,
) -> Result<Value, Fault> {
    match (x, numbers) {
        (Value::Constant(x), Value::Constant(numbers)) => {
            let none = Constant::floats(vec![], vec![0.0]);
            Ok(Value::Constant(fold::chosen(
                numbers,
                &fold::floats(x),
                &none,
            )?))
        }
        _ => two(call, builder, (Arithmetic::Mul, part), x, numbers),
    }
}
