//! Constants so far from 0 that a float32 stays what it is when any number of a ring or field is added to it:
//! states that begin at -1e38, and bounds that bound nothing.

use std::collections::HashSet;

use super::builder::Builder;
use super::call::{Call, Fault, Value};
use super::constant::Constant;
use super::element::Stretched;
use super::kind;
use crate::graph::{Op, ValueId, Weights, len};

/// The magnitude from which a constant absorbs what is added to it: no ring or field holds numbers of its last
/// place.
const ABSORBS: f32 = (1u128 << 100) as f32;
/// No ring or field holds numbers so far from 0.
const FAR: f32 = (1u64 << 62) as f32;

/// Whether each of these constants is so far from 0 that the value `x` vanishes beside it.
fn all(builder: &Builder, x: ValueId, constants: &[f32]) -> bool {
    let absorb = !constants.is_empty() && constants.iter().all(|v| v.abs() >= ABSORBS);
    absorb && !is_far(builder, x)
}

/// The sum, or the difference, of input `secret` and a constant that absorbs it: that constant, or what is opposite
/// to it, in the shape of both. `None` of any other constant, and where the node is more than a sum.
pub(super) fn sum(
    call: &Call,
    builder: &Builder,
    secret: usize,
    given: &Constant,
) -> Result<Option<Value>, Fault> {
    let sign = match (call.node.op_type.as_str(), secret) {
        ("Add" | "Sum", _) | ("Sub", 1) => 1.0,
        ("Sub", _) => -1.0,
        _ => return Ok(None),
    };
    let (x, shape, batch) = call.secret_at(secret)?;
    let values = given.data.floats();
    if !all(builder, x, &values) {
        return Ok(None);
    }
    let both = Stretched::new(&given.shape, &values, shape, batch)?;
    let number = |e: usize| sign * both.numbers[e / both.inner % both.numbers.len()];
    let numbers = (0..len(&both.out)).map(number).collect();
    let mut shape = both.out.clone();
    if !call.whole {
        shape.insert(both.batch, 1);
    }
    let constant = kind::cast(&Constant::floats(shape, numbers), given.kind)?;
    Ok(Some(Value::Constant(constant)))
}

/// Whether `of` stays what it is beside the constant `bound`, as the lowest numbers leave it under Max and the
/// highest under Min.
pub(super) fn bounds_nothing(builder: &Builder, op: &str, bound: &Value, of: &Value) -> bool {
    let sign = match op {
        "Max" => -1.0,
        "Min" => 1.0,
        _ => return false,
    };
    let (Value::Constant(bound), Value::Secret { id, shape, batch }) = (bound, of) else {
        return false;
    };
    let values = bound.data.floats();
    let beside = Stretched::new(&bound.shape, &values, shape, *batch);
    let same = beside.is_ok_and(|both| both.out == *shape && both.batch == *batch);
    let infinite = values.iter().all(|v| sign * v == f32::INFINITY);
    let far = values.iter().all(|v| sign * v > 0.0) && all(builder, *id, &values);
    same && (infinite || far)
}

/// Whether a value is made of numbers that no party holds, as those of masks are.
pub(super) fn is_far(builder: &Builder, id: ValueId) -> bool {
    let far = |numbers: &Weights| numbers.iter().any(|v| v.abs() >= FAR);
    let (mut open, mut seen) = (vec![id], HashSet::new());
    while let Some(id) = open.pop() {
        let Some(node) = id.checked_sub(1).map(|at| &builder.nodes[at]) else {
            continue;
        };
        let filled = matches!(node.op, Op::Rearrange { fill, .. } if fill.abs() >= FAR);
        if filled || node.op.weights().into_iter().any(far) {
            return true;
        }
        if seen.insert(id) {
            open.extend(&node.inputs);
        }
    }
    false
}
