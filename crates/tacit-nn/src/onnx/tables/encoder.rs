//! LabelEncoder: what stands for each of some numbers.

use std::collections::HashMap;

use super::attributes::{floats, ints, tensor};
use crate::onnx::call::{Call, Fault, Value, bad, unsupported};
use crate::onnx::compose::{Composer, value};
use crate::onnx::lower::Builder;
use crate::onnx::places::chosen_of;

/// Numbers in place of numbers that are chosen by marks, as the leaves of one tree are.
pub(super) fn label_encoder(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    for texts in ["keys_strings", "values_strings", "classes_strings"] {
        if call.attribute(texts).is_some() {
            return unsupported("it takes or gives texts; its owner does that before or after");
        }
    }
    let [keys, values] = [numbers(call, "keys")?, numbers(call, "values")?];
    if keys.is_empty() || keys.len() != values.len() {
        return bad(format!(
            "it has {} keys and {} values",
            keys.len(),
            values.len()
        ));
    }
    // That of a tensor is a tensor, which is not read: then every number must be a key.
    let default = match (
        call.attribute("values_int64s"),
        call.attribute("values_tensor"),
    ) {
        (Some(_), _) => Some(call.int("default_int64", -1) as f32),
        (None, None) => Some(call.float("default_float", -0.0)),
        (None, Some(_)) => None,
    };
    let mut known = HashMap::new();
    for (key, value) in keys.iter().zip(values) {
        // Of equal keys the first counts; 0 and -0 are one.
        known.entry((key + 0.0).to_bits()).or_insert(value);
    }
    let (id, shape) = call.secret(0)?;
    let c = &mut Composer::new(call, builder);
    let of = |v: f32| known.get(&(v + 0.0).to_bits()).copied().or(default);
    match chosen_of(c, id, of)? {
        Some(id) => Ok(value(id, shape.to_vec())),
        None => unsupported(
            "it encodes computed numbers; those of the leaves of one tree, or places that ArgMax or TopK find, could be",
        ),
    }
}

/// The numbers of an attribute of floats, of integers or of a tensor.
fn numbers(call: &Call, name: &str) -> Result<Vec<f32>, Fault> {
    let whole = ints(call, &format!("{name}_int64s"));
    if !whole.is_empty() {
        let exact = |&v: &i64| match v as f32 as i64 == v {
            true => Ok(v as f32),
            false => unsupported(format!("its '{name}' holds {v}, which float32 does not")),
        };
        return whole.iter().map(exact).collect();
    }
    match tensor(call, &format!("{name}_tensor"))? {
        Some(data) => Ok(data.floats().to_vec()),
        None => floats(call, &format!("{name}_floats")),
    }
}
