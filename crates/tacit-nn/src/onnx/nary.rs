//! Sums, means, maxima and minima of any number of inputs, one after the other.

use super::absorb::bounds_nothing;
use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::Composer;
use super::element::{Arithmetic, two};
use super::fold;
use crate::graph::Op;

/// Sum, Mean, Max and Min of inputs of which at least one is computed.
pub(super) fn nary(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let inputs = (0..call.inputs.len())
        .map(|i| call.required(i))
        .collect::<Result<Vec<_>, _>>()?;
    // With a computed one first, one of every two is computed.
    let (constants, computed): (Vec<_>, Vec<_>) =
        (inputs.into_iter()).partition(|value| matches!(value, Value::Constant(_)));
    let mut all = computed.into_iter().chain(constants);
    let Some(first) = all.next() else {
        return bad("it has no inputs");
    };
    let mut result = first.clone();
    for (i, next) in all.enumerate() {
        if bounds_nothing(builder, &call.node.op_type, next, &result) {
            continue;
        }
        let part = (i + 1).to_string();
        result = match call.node.op_type.as_str() {
            "Sum" if let (Value::Constant(a), Value::Constant(b)) = (&result, next) => {
                Value::Constant(fold::binary("Add", a, b)?)
            }
            of @ ("Max" | "Min") => extreme(call, builder, &part, [&result, next], of == "Max")?,
            _ => two(call, builder, (Arithmetic::Add, &part), &result, next)?,
        };
    }
    match call.node.op_type.as_str() {
        "Mean" => scaled(call, builder, &result, 1.0 / call.inputs.len() as f32),
        _ => Ok(result),
    }
}

/// Whether a bound of Clip is computed.
pub(super) fn is_bounded(call: &Call) -> bool {
    (1..3).any(|i| matches!(call.input(i), Some(Value::Secret { .. })))
}

/// Clip by bounds of which one is computed: the larger of the input and the lower one, and the smaller of that and the
/// upper one, which is the last word.
pub(super) fn clipped(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let mut result = call.required(0)?.clone();
    for (i, of, larger) in [(1, "Max", true), (2, "Min", false)] {
        let Some(bound) = call.input(i) else {
            continue;
        };
        if bounds_nothing(builder, of, bound, &result) {
            continue;
        }
        result = match (&result, bound) {
            (Value::Constant(a), Value::Constant(b)) => Value::Constant(fold::binary(of, a, b)?),
            _ => extreme(call, builder, &i.to_string(), [&result, bound], larger)?,
        };
    }
    Ok(result)
}

/// The larger of `a` and `b`, `a + max(b - a, 0)`; or the smaller, `a - max(a - b, 0)`.
fn extreme(
    call: &Call,
    builder: &mut Builder,
    part: &str,
    [a, b]: [&Value; 2],
    larger: bool,
) -> Result<Value, Fault> {
    let ([x, y], op) = match larger {
        true => ([b, a], Arithmetic::Add),
        false => ([a, b], Arithmetic::Sub),
    };
    let name = format!("{part}.over");
    let over = two(call, builder, (Arithmetic::Sub, &name), x, y)?;
    let over = on(call, builder, &over, |compose, x| {
        compose.each(&format!("{part}.relu"), Op::Relu, &[x])
    })?;
    two(call, builder, (op, part), a, &over)
}

fn scaled(call: &Call, builder: &mut Builder, x: &Value, by: f32) -> Result<Value, Fault> {
    on(call, builder, x, |compose, x| {
        compose.affine("mean", x, by, 0.0)
    })
}

/// What `make` makes of every element of a computed value.
pub(super) fn on(
    call: &Call,
    builder: &mut Builder,
    x: &Value,
    make: impl FnOnce(&mut Composer, usize) -> Result<usize, Fault>,
) -> Result<Value, Fault> {
    let Value::Secret { id, shape, batch } = x else {
        return unsupported(
            "it needs a value that exists only in the clear, at the end of the model",
        );
    };
    let id = make(&mut Composer::new(call, builder), *id)?;
    Ok(Value::Secret {
        id,
        shape: shape.clone(),
        batch: *batch,
    })
}
