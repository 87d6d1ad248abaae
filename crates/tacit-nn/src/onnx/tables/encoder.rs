//! LabelEncoder: what stands for each of some numbers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::attributes::{floats, ints, tensor};
use super::categories::{encoded, whole_numbers};
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, Value, bad, unsupported};
use crate::onnx::compose::{Composer, value};
use crate::onnx::constant::Data;
use crate::onnx::places::chosen_of;

/// Numbers in place of numbers: of those that are chosen by marks, as the leaves of one tree are, by the same marks;
/// of others by comparisons with the keys.
pub(super) fn label_encoder(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    for texts in ["keys_strings", "values_strings", "classes_strings"] {
        if call.attribute(texts).is_some() {
            return unsupported("it gives texts for what is computed, or takes them for numbers");
        }
    }
    let [keys, values] = [numbers_of(call, "keys")?, numbers_of(call, "values")?];
    if keys.is_empty() || keys.len() != values.len() {
        return bad(format!(
            "it has {} keys and {} values",
            keys.len(),
            values.len()
        ));
    }
    let default = default(call)?;
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
    let of = |v: f32| known.get(&(v + 0.0).to_bits()).copied().or(Some(default));
    if let Some(id) = chosen_of(c, id, of)? {
        return Ok(value(id, shape.to_vec()));
    }
    if let Some(v) = values.iter().chain([&default]).find(|v| !v.is_finite()) {
        return unsupported(format!("one of its values is {v}; numbers must be finite"));
    }
    let id = encoded(call, builder, id, (&keys, &values), default)?;
    Ok(value(id, shape.to_vec()))
}

/// What a LabelEncoder puts in place of what is no key, as an integer.
pub(in crate::onnx) fn whole_default(call: &Call) -> f32 {
    call.int("default_int64", -1) as f32
}

/// The number that a LabelEncoder puts in place of what is no key.
pub(in crate::onnx) fn default(call: &Call) -> Result<f32, Fault> {
    let given = match numbers_of(call, "default")?[..] {
        [] => None,
        [one] => Some(one),
        _ => return bad("its 'default_tensor' has more than one number"),
    };
    let whole = call.attribute("values_int64s").is_some()
        || matches!(tensor(call, "values_tensor")?, Some(Data::Int(_)));
    Ok(match (given, whole) {
        (Some(given), _) => given,
        (None, true) => whole_default(call),
        (None, false) => call.float("default_float", -0.0),
    })
}

/// The numbers of an attribute of floats, of integers or of a tensor.
pub(in crate::onnx) fn numbers_of(call: &Call, name: &str) -> Result<Vec<f32>, Fault> {
    let whole = ints(call, &format!("{name}_int64s"));
    if !whole.is_empty() {
        return whole_numbers(name, whole);
    }
    match tensor(call, &format!("{name}_tensor"))? {
        Some(data) => Ok(data.floats().to_vec()),
        None => floats(call, &format!("{name}_floats")),
    }
}
