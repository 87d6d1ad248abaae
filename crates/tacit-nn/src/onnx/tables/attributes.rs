//! Typed access to the attributes of a node.

use crate::onnx::call::{Call, Fault, bad, unsupported};
use crate::onnx::constant::{Data, Reader};

/// An attribute of several integers; none where it is absent.
pub(super) fn ints<'a>(call: &Call<'a>, name: &str) -> &'a [i64] {
    let attribute = call.node.attribute.iter().find(|a| a.name == name);
    attribute.map_or(&[], |a| &a.ints)
}

/// An attribute of several texts.
pub(super) fn texts(call: &Call, name: &str) -> Vec<String> {
    let given = call.attribute(name).map_or(&[][..], |a| &a.strings);
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    given.iter().map(text).collect()
}

/// An attribute of several finite floats; none where it is absent.
pub(super) fn floats(call: &Call, name: &str) -> Result<Vec<f32>, Fault> {
    let given = call.attribute(name).map_or(&[][..], |a| &a.floats);
    match given.iter().find(|v| !v.is_finite()) {
        Some(v) => unsupported(format!("its '{name}' holds {v}; numbers must be finite")),
        None => Ok(given.to_vec()),
    }
}

/// An attribute of exactly so many finite floats.
pub(super) fn exactly(call: &Call, name: &str, count: usize) -> Result<Vec<f32>, Fault> {
    let values = floats(call, name)?;
    match values.len() == count {
        true => Ok(values),
        false => counted(name, values.len(), count),
    }
}

/// One finite float for each of `count` columns: as many as are given, or one for all; `default` of none.
pub(super) fn per_column(
    call: &Call,
    name: &str,
    count: usize,
    default: f32,
) -> Result<Vec<f32>, Fault> {
    match floats(call, name)?[..] {
        [] => Ok(vec![default; count]),
        [one] => Ok(vec![one; count]),
        _ => exactly(call, name, count),
    }
}

/// The refusal of an attribute of the wrong length.
pub(super) fn counted<T>(name: &str, found: usize, wanted: usize) -> Result<T, Fault> {
    bad(format!(
        "its '{name}' has {found} numbers, {wanted} are needed"
    ))
}

/// The numbers of a tensor that an attribute holds; none where it is absent.
pub(super) fn tensor(call: &Call, name: &str) -> Result<Option<Data>, Fault> {
    let Some(tensor) = call.attribute(name).and_then(|a| a.t.as_ref()) else {
        return Ok(None);
    };
    match (Reader { folder: None }).read(tensor) {
        Ok(constant) => Ok(Some(constant.data)),
        Err(error) => bad(format!("its '{name}': {error}")),
    }
}

/// The numbers of a list of floats, or of the tensor of doubles that may stand in its place: rounded as the
/// inputs are, so that equal ones stay equal.
pub(super) fn doubles(call: &Call, name: &str) -> Result<Vec<f64>, Fault> {
    let precise = match tensor(call, &format!("{name}_as_tensor"))? {
        None => tensor(call, name)?,
        given => given,
    };
    Ok(match precise {
        Some(Data::Double { rounded, .. }) if call.rounds => {
            rounded.iter().copied().map(f64::from).collect()
        }
        Some(Data::Double { exact, .. }) => exact,
        Some(Data::Float(values)) => values.iter().copied().map(f64::from).collect(),
        Some(Data::Int(_)) => return bad(format!("its '{name}' holds integers")),
        None => {
            let given = call.attribute(name).map_or(&[][..], |a| &a.floats);
            given.iter().copied().map(f64::from).collect()
        }
    })
}

/// The numbers of an attribute as weights: [`doubles`], each of which must be finite in float32.
pub(super) fn weights(call: &Call, name: &str) -> Result<Vec<f32>, Fault> {
    let values = doubles(call, name)?;
    let rounded = values.iter().map(|&v| v as f32);
    match values.iter().find(|&&v| !(v as f32).is_finite()) {
        Some(v) => unsupported(format!("its '{name}' holds {v}; numbers must be finite")),
        None => Ok(rounded.collect()),
    }
}
