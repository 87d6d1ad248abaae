//! LabelEncoder: what stands for each of some numbers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::attributes::{floats, ints, tensor};
use super::categories::{encoded, whole_numbers};
use crate::onnx::call::{Call, Fault, Value, bad, unsupported};
use crate::onnx::compose::{Composer, value};
use crate::onnx::lower::Builder;
use crate::onnx::places::chosen_of;

/// Numbers in place of numbers: of those that are chosen by marks, as the leaves of one tree are, by the same marks;
/// of others by comparisons with the keys.
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
    // Of equal keys the first counts; 0 and -0 are one. No element is NaN.
    let (mut known, mut firsts) = (HashMap::<u32, f32>::new(), Vec::new());
    for (key, value) in keys.into_iter().zip(values) {
        if let (false, Entry::Vacant(new)) = (key.is_nan(), known.entry((key + 0.0).to_bits())) {
            new.insert(value);
            firsts.push((key, value));
        }
    }
    let (keys, values): (Vec<f32>, Vec<f32>) = firsts.into_iter().unzip();
    let (id, shape) = call.secret(0)?;
    let c = &mut Composer::new(call, builder);
    let of = |v: f32| known.get(&(v + 0.0).to_bits()).copied().or(default);
    if let Some(id) = chosen_of(c, id, of)? {
        return Ok(value(id, shape.to_vec()));
    }
    let Some(default) = default else {
        return unsupported("what stands for other numbers is a tensor, which is not read");
    };
    if let Some(v) = values.iter().chain([&default]).find(|v| !v.is_finite()) {
        return unsupported(format!("one of its values is {v}; numbers must be finite"));
    }
    let id = encoded(call, builder, id, (&keys, &values), default)?;
    Ok(value(id, shape.to_vec()))
}

/// The numbers of an attribute of floats, of integers or of a tensor.
fn numbers(call: &Call, name: &str) -> Result<Vec<f32>, Fault> {
    let whole = ints(call, &format!("{name}_int64s"));
    if !whole.is_empty() {
        return whole_numbers(name, whole);
    }
    match tensor(call, &format!("{name}_tensor"))? {
        Some(data) => Ok(data.floats().to_vec()),
        None => floats(call, &format!("{name}_floats")),
    }
}
