//! Columns of categories.

use super::attributes::ints;
use crate::graph::{ValueId, Weights};
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, Value, bad, unsupported};
use crate::onnx::compare::is_whole;
use crate::onnx::compose::{Composer, value};
use crate::onnx::which::marks;

/// For every element a row of zeros with a 1 at the place of its category. An element that is none of the
/// categories has zeros, also where the standard makes that an error.
pub(super) fn one_hot(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    if call.attribute("cats_strings").is_some() {
        return unsupported("its categories are texts; the owner of the data numbers them before");
    }
    let categories = whole_numbers("cats_int64s", ints(call, "cats_int64s"))?;
    let mut sorted = categories.clone();
    sorted.sort_by(f32::total_cmp);
    sorted.dedup();
    if categories.is_empty() || sorted.len() != categories.len() {
        return bad("it has no categories, or one of them twice");
    }
    let (id, shape) = call.secret(0)?;
    if !is_whole(builder, call.required(0)?) {
        return unsupported("it encodes numbers that are not whole; cast them to int64 before");
    }
    let id = marks(&mut Composer::new(call, builder), id, &categories, true)?;
    Ok(value(id, [shape, &[categories.len()]].concat()))
}

/// The value that stands for each element among `keys`, which differ, or `default`.
pub(super) fn encoded(
    call: &Call,
    builder: &mut Builder,
    id: ValueId,
    (keys, values): (&[f32], &[f32]),
    default: f32,
) -> Result<ValueId, Fault> {
    let whole = is_whole(builder, call.required(0)?);
    let c = &mut Composer::new(call, builder);
    let marks = marks(c, id, keys, whole)?;
    let weights: Weights = values.iter().map(|v| v - default).collect();
    c.linear("encoded", marks, [keys.len(), 1], weights, [default].into())
}

/// Whole numbers that float32 has.
pub(super) fn whole_numbers(name: &str, numbers: &[i64]) -> Result<Vec<f32>, Fault> {
    let exact = |&v: &i64| match v as f32 as i64 == v {
        true => Ok(v as f32),
        false => unsupported(format!("its '{name}' holds {v}, which float32 does not")),
    };
    numbers.iter().map(exact).collect()
}
