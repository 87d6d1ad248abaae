//! Constants so far from 0 that no number of a ring or field changes them when it is added, nor does a float32:
//! states that begin at -1e38, and bounds that bound nothing.

use std::collections::HashSet;

use super::call::{Call, Value};
use super::constant::Constant;
use super::element::Stretched;
use super::lower::Builder;
use crate::graph::{Op, ValueId, Weights, len};

/// The least of these.
const ABSORBS: f32 = (1u128 << 100) as f32;
/// No ring or field holds numbers so far from 0.
const FAR: f32 = (1u64 << 62) as f32;

/// Whether each of these constants absorbs a value.
pub(super) fn all(builder: &Builder, x: ValueId, constants: &[f32]) -> bool {
    constants.iter().all(|v| v.abs() >= ABSORBS) && !is_far(builder, x)
}

/// What is left of a value beside constants that absorb it, times a sign.
pub(super) fn constant(call: &Call, both: &Stretched, sign: f32) -> Value {
    let number = |e: usize| sign * both.numbers[e / both.inner % both.numbers.len()];
    let numbers = (0..len(&both.out)).map(number).collect();
    let mut shape = both.out.clone();
    if !call.whole {
        shape.insert(both.batch, 1);
    }
    Value::Constant(Constant::floats(shape, numbers))
}

/// Whether nothing that parties hold is beyond a bound, the least of Max or the largest of Min, which does not
/// stretch what it bounds.
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
    same && values.iter().all(|v| sign * v > 0.0) && all(builder, *id, &values)
}

/// Whether a value is made of numbers that no party holds, as those of masks are.
fn is_far(builder: &Builder, id: ValueId) -> bool {
    let far = |numbers: &Weights| numbers.iter().any(|v| v.abs() >= FAR);
    let (mut open, mut seen) = (vec![id], HashSet::new());
    while let Some(id) = open.pop() {
        let Some(node) = id.checked_sub(1).map(|at| &builder.nodes[at]) else {
            continue;
        };
        if let Op::Affine(affine) = &node.op
            && (far(&affine.scale) || far(&affine.shift))
        {
            return true;
        }
        if seen.insert(id) {
            open.extend(&node.inputs);
        }
    }
    false
}
