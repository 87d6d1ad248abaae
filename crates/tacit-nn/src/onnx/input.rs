//! The input of a model's file: which one it is, and the shape of an item.

use std::collections::HashSet;

use super::importer::Importer;
use super::kind::Kind;
use super::lower::Builder;
use super::proto::{DimensionProto, ValueInfoProto};
use super::{ImportError, unusable};

impl<'a> Importer<'a> {
    /// The one input that is not an initialiser.
    pub(super) fn input(&self) -> Result<&'a ValueInfoProto, ImportError> {
        let initial: HashSet<&str> = self
            .graph
            .initializer
            .iter()
            .map(|t| t.name.as_str())
            .collect();
        let inputs: Vec<_> = self
            .graph
            .input
            .iter()
            .filter(|i| !initial.contains(i.name.as_str()))
            .collect();
        match inputs.as_slice() {
            [one] => Ok(one),
            many => {
                let names: Vec<_> = many.iter().map(|i| i.name.as_str()).collect();
                Err(unusable(format!(
                    "it has {} inputs {names:?}; a model with exactly one is needed",
                    many.len()
                )))
            }
        }
    }

    pub(super) fn input_shape(
        &self,
        input: &ValueInfoProto,
        builder: &mut Builder,
    ) -> Result<Vec<usize>, ImportError> {
        let fail = |why| ImportError::Input {
            input: input.name.clone(),
            why,
        };
        let tensor = input.r#type.as_ref().and_then(|t| t.tensor_type.as_ref());
        let tensor = tensor.ok_or_else(|| fail("it is not a tensor".into()))?;
        match Kind::of(tensor.elem_type) {
            Ok(kind) if kind.is_float() => {}
            Ok(kind) => {
                let name = kind.name();
                return Err(fail(format!(
                    "its data type is {name}; a float type is needed"
                )));
            }
            Err(what) => return Err(fail(format!("it has {what}"))),
        }
        let dims = tensor
            .shape
            .as_ref()
            .map(|s| s.dim.as_slice())
            .unwrap_or_default();
        let item = match builder.whole {
            true => dims,
            false => {
                let (batch, item) = dims
                    .split_first()
                    .ok_or_else(|| fail("it has no shape; export the model with one".into()))?;
                // Some exporters write a free batch as 0 or -1.
                builder.batch = batch.dim_value.filter(|&items| items > 0);
                item
            }
        };
        let before = dims.len() - item.len();
        let size = |(i, d): (usize, &DimensionProto)| self.dimension(input, i + before, d);
        let shape = item
            .iter()
            .enumerate()
            .map(size)
            .collect::<Result<Vec<_>, _>>()?;
        builder.count(&shape).map_err(fail)?;
        self.check_dims(input, item)?;
        Ok(shape)
    }

    /// Refuses sizes for dimensions that the model does not have.
    fn check_dims(
        &self,
        input: &ValueInfoProto,
        item: &[DimensionProto],
    ) -> Result<(), ImportError> {
        let free = item
            .iter()
            .enumerate()
            .filter(|(_, d)| d.dim_value.is_none());
        let mut free: Vec<_> = free.map(|(i, d)| free_name(input, i + 1, d)).collect();
        free.sort();
        free.dedup();
        let given = self.options.dims.keys();
        let Some(name) = given.filter(|name| !free.contains(name)).min() else {
            return Ok(());
        };
        let known = match free.as_slice() {
            [] => "it has none".to_string(),
            names => format!("it has '{}'", names.join("', '")),
        };
        Err(ImportError::Dimension {
            name: name.clone(),
            known,
        })
    }

    fn dimension(
        &self,
        input: &ValueInfoProto,
        axis: usize,
        dim: &DimensionProto,
    ) -> Result<usize, ImportError> {
        let fail = |why| ImportError::Input {
            input: input.name.clone(),
            why,
        };
        if let Some(size) = dim.dim_value {
            return usize::try_from(size)
                .ok()
                .filter(|&d| d > 0)
                .ok_or_else(|| fail(format!("its axis {axis} has the size {size}")));
        }
        let name = free_name(input, axis, dim);
        self.options.dims.get(&name).copied().filter(|&d| d > 0).ok_or_else(|| {
            fail(format!("its axis {axis} is the free dimension '{name}'; only the batch (axis 0) may be free: give its size with --dim {name}=SIZE"))
        })
    }

    /// Whether the input's first axis has a fixed size, or there is none.
    pub(super) fn has_fixed_sizes(&self) -> Result<bool, ImportError> {
        let tensor = self.input()?.r#type.as_ref();
        let shape = tensor.and_then(|t| t.tensor_type.as_ref()?.shape.as_ref());
        let first = shape.map(|shape| shape.dim.first().map(|dim| dim.dim_value));
        Ok(first.is_some_and(|first| first.is_none_or(|size| size.is_some_and(|n| n > 0))))
    }
}

/// What a dimension without a size is called: its name in the file, or `input.axis`. Some exporters call
/// all of them `?`, which names none.
fn free_name(input: &ValueInfoProto, axis: usize, dim: &DimensionProto) -> String {
    let named = dim.dim_param.clone();
    let named = named.filter(|name| !name.is_empty() && name != "?");
    named.unwrap_or(format!("{}.{axis}", input.name))
}
