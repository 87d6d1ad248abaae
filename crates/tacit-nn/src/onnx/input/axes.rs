//! The axes of inputs: their names, and which is that of the batch.

use std::collections::{HashMap, HashSet};

use crate::onnx::proto::{DimensionProto, GraphProto, ShapeProto, ValueInfoProto};

/// Where the batch stands in each input.
pub(super) struct BatchAxes {
    /// What the file calls the batch.
    pub(super) name: Option<String>,
    /// Whether an input begins with an axis without a size.
    pub(super) free: bool,
    pub(super) whole: bool,
}

impl BatchAxes {
    /// The first axis of the first input whose first axis is free names the batch; where all have sizes, the one
    /// name of all axes without, unless it is among those `sized` by the user.
    pub(super) fn new(
        inputs: &[&ValueInfoProto],
        whole: bool,
        sized: &HashMap<String, usize>,
    ) -> Self {
        let first = |input: &&ValueInfoProto| dims(input).first().and_then(param);
        let is_free = |input: &&ValueInfoProto| {
            let first = dims(input).first();
            first.is_some_and(|dim| dim.dim_value.is_none())
        };
        let free = inputs.iter().any(is_free);
        BatchAxes {
            name: match free {
                true => inputs.iter().find_map(first),
                false => only_name(inputs).filter(|name| !sized.contains_key(name)),
            },
            free,
            whole,
        }
    }

    /// The first axis, unless it has a size and a later one is the batch by its name, or is the only one
    /// without a size.
    pub(super) fn of(&self, input: &ValueInfoProto) -> usize {
        let dims = dims(input);
        let sized = dims.first().is_some_and(|dim| dim.dim_value.is_some());
        if self.whole || !sized {
            return 0;
        }
        let is_open = |dim: &DimensionProto| dim.dim_value.is_none();
        let named = |(axis, dim): (usize, &DimensionProto)| {
            is_open(dim) && Some(free_name(input, axis, dim)) == self.name
        };
        let free: Vec<usize> = (0..dims.len())
            .filter(|&axis| dims[axis].dim_value.is_none())
            .collect();
        match (dims.iter().enumerate().position(named), &free[..]) {
            (Some(axis), _) => axis,
            (None, &[axis]) if self.free && param(&dims[axis]).is_none() => axis,
            _ => 0,
        }
    }
}

/// Writes sizes that are given for first axes wherever a graph's inputs have an axis of that name: such an axis is no
/// batch. What is left of the sizes.
pub(in crate::onnx) fn size_first_axes(
    graph: &mut GraphProto,
    sizes: &HashMap<String, usize>,
) -> HashMap<String, usize> {
    let mut left = sizes.clone();
    let first = |input: &ValueInfoProto| {
        let dim = dims(input).first().filter(|dim| dim.dim_value.is_none())?;
        let name = free_name(input, 0, dim);
        // No size of 0 is written: such an input holds nothing.
        let size = sizes.get(&name).and_then(|&size| i64::try_from(size).ok());
        size.filter(|&size| size > 0).map(|size| (name, size))
    };
    let named: HashMap<String, i64> = graph.input.iter().filter_map(first).collect();
    for input in &mut graph.input {
        let names: Vec<_> = (dims(input).iter().enumerate())
            .map(|(axis, dim)| dim.dim_value.is_none().then(|| free_name(input, axis, dim)))
            .collect();
        let kind = input
            .r#type
            .as_mut()
            .and_then(|kind| kind.tensor_type.as_mut());
        let shape = kind.and_then(|tensor| tensor.shape.as_mut());
        for (dim, name) in shape
            .into_iter()
            .flat_map(|shape| &mut shape.dim)
            .zip(names)
        {
            if let Some(&size) = name.and_then(|name| named.get(&name)) {
                dim.dim_value = Some(size);
            }
        }
    }
    left.retain(|name, _| !named.contains_key(name));
    left
}

/// The name of all axes without a size, if they have one, and no input has two such axes.
fn only_name(inputs: &[&ValueInfoProto]) -> Option<String> {
    let mut names = HashSet::new();
    for input in inputs {
        let open: Vec<_> = (dims(input).iter().enumerate())
            .filter(|(_, dim)| dim.dim_value.is_none())
            .collect();
        match open[..] {
            [] => {}
            [(axis, dim)] => {
                names.insert(free_name(input, axis, dim));
            }
            _ => return None,
        }
    }
    let mut names = names.into_iter();
    names.next().filter(|_| names.next().is_none())
}

pub(super) fn shape_of(input: &ValueInfoProto) -> Option<&ShapeProto> {
    let tensor = input.r#type.as_ref()?.tensor_type.as_ref();
    tensor?.shape.as_ref()
}

pub(super) fn dims(input: &ValueInfoProto) -> &[DimensionProto] {
    shape_of(input).map_or(&[], |shape| &shape.dim)
}

/// The name of a dimension without a size. Some exporters call all of them `?`, which names none.
fn param(dim: &DimensionProto) -> Option<String> {
    let named = dim.dim_param.clone().filter(|_| dim.dim_value.is_none());
    named.filter(|name| !name.is_empty() && name != "?")
}

/// What a dimension without a size is called: its name in the file, or `input.axis`.
pub(super) fn free_name(input: &ValueInfoProto, axis: usize, dim: &DimensionProto) -> String {
    param(dim).unwrap_or(format!("{}.{axis}", input.name))
}
