//! Comparisons, whose results are the numbers 0 and 1, and the logic of these.

use std::collections::HashSet;

use super::absorb;
use super::builder::Builder;
use super::call::{Call, Fault, Value, unsupported};
use super::constant::{Constant, Data};
use super::element::{Arithmetic, two};
use super::kind::DataType;
use super::nary::on;
use super::{tables, threshold, token};
use crate::graph::{FILL, Op, ValueId, Weights};

/// Equal, Greater, GreaterOrEqual, Less and LessOrEqual.
pub(super) fn compare(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (a, b) = (call.required(0)?, call.required(1)?);
    if let Some(known) = of_tokens(call, builder, a, b)? {
        return Ok(truth(builder, known));
    }
    if let Some(found) = threshold::found(call, builder)? {
        return Ok(truth(builder, found));
    }
    let result = match call.node.op_type.as_str() {
        "GreaterOrEqual" => reaches(call, builder, "reaches", a, b)?,
        "LessOrEqual" => reaches(call, builder, "reaches", b, a)?,
        "Less" => {
            let reached = reaches(call, builder, "reaches", a, b)?;
            not(call, builder, &reached)?
        }
        "Greater" => {
            let reached = reaches(call, builder, "reaches", b, a)?;
            not(call, builder, &reached)?
        }
        _ => {
            let above = reaches(call, builder, "reaches", a, b)?;
            let below = reaches(call, builder, "is reached", b, a)?;
            let both = two(call, builder, (Arithmetic::Add, "both"), &above, &below)?;
            on(call, builder, &both, |compose, x| {
                compose.affine("equal", x, 1.0, -1.0)
            })?
        }
    };
    Ok(truth(builder, result))
}

/// The comparison of what tokens alone make: a function of the tokens.
fn of_tokens(
    call: &Call,
    builder: &mut Builder,
    a: &Value,
    b: &Value,
) -> Result<Option<Value>, Fault> {
    let op = call.node.op_type.as_str();
    let holds = |v: &[f32]| {
        let holds = match op {
            "GreaterOrEqual" => v[0] >= v[1],
            "LessOrEqual" => v[0] <= v[1],
            "Less" => v[0] < v[1],
            "Greater" => v[0] > v[1],
            _ => v[0] == v[1],
        };
        f32::from(u8::from(holds))
    };
    token::mapped(call, builder, &[a, b], holds)
}

/// The magnitude from which on a number is compared with that no value reaches: parties hold none as large.
const UNREACHED: f32 = 1e38;

/// 1 where `a >= b`, else 0.
fn reaches(
    call: &Call,
    builder: &mut Builder,
    part: &str,
    a: &Value,
    b: &Value,
) -> Result<Value, Fault> {
    let sides = match (a, b) {
        (Value::Secret { .. }, Value::Constant(far)) => {
            within(call, builder, a, far)?.map(|(a, b)| [a, b])
        }
        (Value::Constant(far), Value::Secret { .. }) => {
            within(call, builder, b, far)?.map(|(b, a)| [a, b])
        }
        _ => None,
    };
    if let Some([a, b]) = sides {
        return reaches(call, builder, part, &a, &b);
    }
    let name = format!("{part}.difference");
    let difference = match a {
        Value::Constant(a) => threshold::less(call, builder, &name, a, b)?,
        _ => two(call, builder, (Arithmetic::Sub, &name), a, b)?,
    };
    on(call, builder, &difference, |compose, x| {
        compose.each(part, Op::NonNegative, &[x])
    })
}

/// A value and what it is compared with, where some of that is not reached: there 0 is compared with a number of its
/// sign instead.
fn within(
    call: &Call,
    builder: &mut Builder,
    x: &Value,
    far: &Constant,
) -> Result<Option<(Value, Value)>, Fault> {
    let numbers = far.data.floats();
    let is_far = |v: &f32| v.abs() >= UNREACHED;
    // What is made of a mask's numbers may reach them.
    let reaches = matches!(x, Value::Secret { id, .. } if absorb::is_far(builder, *id));
    if reaches || !numbers.iter().any(is_far) {
        return Ok(None);
    }
    let of = |near: fn(f32) -> f32, sign: fn(f32) -> f32| {
        let each = numbers.iter().map(|&v| match is_far(&v) {
            true => sign(v),
            false => near(v),
        });
        Value::Constant(Constant::floats(far.shape.clone(), each.collect()))
    };
    let kept = of(|_| 1.0, |_| 0.0);
    let near = two(call, builder, (Arithmetic::Mul, "within reach"), x, &kept)?;
    Ok(Some((near, of(|v| v, f32::signum))))
}

/// Whether each element of a value is another number than 0.
pub(super) fn is_not_0(call: &Call, builder: &mut Builder, x: &Value) -> Result<Value, Fault> {
    if let Value::Secret { id, shape, batch } = x
        && let Some((id, ends)) = by_truth(builder, *id)
    {
        let (shape, batch) = (shape.clone(), *batch);
        let holds = Value::Secret { id, shape, batch };
        match ends.map(|end| end != 0.0) {
            [false, true] => return Ok(holds),
            [true, false] => {
                let opposite = not(call, builder, &holds)?;
                return Ok(truth(builder, opposite));
            }
            _ => {}
        }
    }
    let inside = on(call, builder, x, |compose, x| {
        let least = compose.each("from 0 on", Op::NonNegative, &[x])?;
        let mirrored = compose.affine("mirrored", x, -1.0, 0.0)?;
        let most = compose.each("up to 0", Op::NonNegative, &[mirrored])?;
        // Both hold of 0 alone.
        let both = compose.each("both", Op::Add, &[least, most])?;
        compose.affine("is not 0", both, -1.0, 2.0)
    })?;
    Ok(truth(builder, inside))
}

/// The truth from which a value is made by factors and terms alone, and the two numbers that the value can be: where
/// the truth does not hold, and where it does. These may be larger than any that parties hold, as the lowest
/// floats of masks are.
fn by_truth(builder: &Builder, id: ValueId) -> Option<(ValueId, [f32; 2])> {
    let (mut at, mut steps) = (id, vec![]);
    while !builder.truths.contains(&at) {
        let node = &builder.nodes[at.checked_sub(1)?];
        let Op::Affine(affine) = &node.op else {
            return None;
        };
        let one = |numbers: &Weights, neutral: f32| match numbers[..] {
            [] => Some(neutral),
            [one] => Some(one),
            _ => None,
        };
        steps.push((one(&affine.scale, 1.0)?, one(&affine.shift, 0.0)?));
        at = node.inputs[0];
    }
    let of = |end: f32| {
        let steps = steps.iter().rev();
        steps.fold(end, |v, (scale, shift)| v * scale + shift)
    };
    Some((at, [of(0.0), of(1.0)]))
}

pub(super) fn not(call: &Call, builder: &mut Builder, x: &Value) -> Result<Value, Fault> {
    on(call, builder, x, tables::not)
}

/// Notes that every element of a value is 0 or 1.
pub(super) fn truth(builder: &mut Builder, value: Value) -> Value {
    if let Value::Secret { id, .. } = value {
        builder.truths.insert(id);
    }
    value
}

/// Whether every element of a value is 0 or 1 by the way it is made.
pub(super) fn is_truth(builder: &Builder, value: &Value) -> bool {
    match value {
        Value::Constant(constant) => constant.kind.is_bool(),
        Value::Secret { id, .. } => made_of_truths(builder, *id),
        _ => false,
    }
}

fn made_of_truths(builder: &Builder, mut id: ValueId) -> bool {
    loop {
        if builder.truths.contains(&id) {
            return true;
        }
        let Some(node) = id.checked_sub(1).map(|node| &builder.nodes[node]) else {
            return false;
        };
        match &node.op {
            Op::NonNegative => return true,
            Op::Rearrange { index, fill }
                if [0.0, 1.0].contains(fill) || !index.contains(&FILL) =>
            {
                id = node.inputs[0];
            }
            _ => return false,
        }
    }
}

/// Whether every element of a value is a whole number by the way it is made.
pub(super) fn is_whole(builder: &Builder, value: &Value) -> bool {
    let Value::Secret { id, .. } = value else {
        return false;
    };
    let whole = |v: &[f32]| v.iter().all(|v| v.fract() == 0.0);
    let (mut open, mut seen) = (vec![*id], HashSet::new());
    while let Some(id) = open.pop() {
        let known = builder.truths.contains(&id) || token::is_whole(builder, id);
        if !seen.insert(id) || known {
            continue;
        }
        let Some(node) = id.checked_sub(1).map(|node| &builder.nodes[node]) else {
            return false;
        };
        match &node.op {
            Op::NonNegative | Op::Whole(_) => continue,
            Op::Rearrange { fill, .. } if fill.fract() == 0.0 => {}
            Op::Add | Op::Sub | Op::Mul | Op::MatMul(_) | Op::Concat { .. } => {}
            Op::Relu | Op::MaxPool(_) | Op::SumPool(_) => {}
            Op::Clip { low, high } if whole(&[low.unwrap_or(0.0), high.unwrap_or(0.0)]) => {}
            Op::Affine(_) | Op::Linear(_) | Op::Conv(_)
                if node.op.weights().iter().all(|v| whole(v)) => {}
            _ => return false,
        }
        open.extend(&node.inputs);
    }
    true
}

/// Lowers the operations `And`, `Or`, `Xor` and `Not` of truths, by sums and products.
pub(super) fn logic(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let a = call.required(0)?;
    let op = call.node.op_type.as_str();
    if !call.inputs.iter().flatten().all(|v| is_truth(builder, v)) {
        return unsupported("its inputs are not results of comparisons");
    }
    if let Some(decided) = decided(call) {
        return Ok(decided);
    }
    let result = if op == "Not" {
        not(call, builder, a)?
    } else {
        let b = call.required(1)?;
        let both = two(call, builder, (Arithmetic::Mul, "both"), a, b)?;
        if op == "And" {
            both
        } else {
            let sum = two(call, builder, (Arithmetic::Add, "sum"), a, b)?;
            let twice = if op == "Or" { 1.0 } else { 2.0 };
            let both = on(call, builder, &both, |compose, x| {
                compose.affine("twice", x, twice, 0.0)
            })?;
            two(call, builder, (Arithmetic::Sub, "result"), &sum, &both)?
        }
    };
    Ok(truth(builder, result))
}

/// The result of an `And` with what is false everywhere, and of an `Or` with what is true, whatever the other input is.
fn decided(call: &Call) -> Option<Value> {
    let decides = match call.node.op_type.as_str() {
        "And" => 0,
        "Or" => 1,
        _ => return None,
    };
    let (constant, other) = match (call.input(0)?, call.input(1)?) {
        (Value::Constant(constant), other) | (other, Value::Constant(constant)) => {
            (constant, other)
        }
        _ => return None,
    };
    let Value::Secret { shape, batch, .. } = other else {
        return None;
    };
    let mut all = shape.clone();
    if !call.whole {
        all.insert(*batch, 1);
    }
    let truths = constant.data.floats();
    let same = truths.iter().all(|v| i64::from(*v != 0.0) == decides);
    (same && stands_in(&constant.shape, &all)).then(|| {
        Value::Constant(Constant {
            data: Data::Int(vec![decides; crate::graph::len(&all)]),
            kind: DataType::Bool,
            shape: all,
        })
    })
}

/// Whether a shape can be stretched to another.
pub(super) fn stands_in(given: &[usize], all: &[usize]) -> bool {
    let mut beside = given.iter().rev().zip(all.iter().rev());
    given.len() <= all.len() && beside.all(|(&size, &own)| size == 1 || size == own)
}
