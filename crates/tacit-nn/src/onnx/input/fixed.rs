//! Inputs that every party knows: those that are fixed, and those that hold nothing.

use super::axes::{BatchAxes, dims, free_name};
use super::{Builder, Constant, DimensionProto, Fixed, ImportError, Importer, ValueInfoProto};
use super::{bounded_len, elements, fail};

impl Importer<'_> {
    /// Whether an input is known before any prediction: one that is fixed, or holds nothing since a free dimension
    /// of it was given the size 0, as a cache of none.
    pub(super) fn is_fixed(&self, input: &ValueInfoProto) -> bool {
        let mut axes = dims(input).iter().enumerate();
        self.options.fix.contains_key(&input.name)
            || axes.any(|(axis, dim)| self.is_emptied(input, axis, dim))
    }

    /// Whether a free dimension was given the size 0.
    fn is_emptied(&self, input: &ValueInfoProto, axis: usize, dim: &DimensionProto) -> bool {
        let given = self.options.dims.get(&free_name(input, axis, dim));
        dim.dim_value.is_none() && given == Some(&0)
    }

    /// An input whose numbers every party knows, or that has none.
    pub(super) fn fixed(
        &self,
        proto: &ValueInfoProto,
        axes: &BatchAxes,
        builder: &Builder,
    ) -> Result<Constant, ImportError> {
        let Some(kind) = elements(proto)? else {
            return Err(fail(&proto.name, "it holds texts, which no number fixes"));
        };
        let given = self.options.fix.get(&proto.name);
        let dims = dims(proto);
        let batch = axes.of(proto);
        let mut shape = Vec::new();
        for (axis, dim) in dims.iter().enumerate() {
            let is_batch = axis == batch && dim.dim_value.is_none();
            shape.push(match (is_batch, builder.whole, builder.items) {
                _ if self.is_emptied(proto, axis, dim) => 0,
                (true, false, _) => 1,
                (true, true, Some(items)) => items,
                _ => self.dimension(proto, axis, dim)?,
            });
        }
        let n = bounded_len(&shape).map_err(|why| fail(&proto.name, &why))?;
        let numbers = given.map_or(&[][..], Fixed::numbers);
        let items = match shape.get(batch) {
            Some(&items) if builder.items.is_some() => items.max(1),
            _ => 1,
        };
        if matches!(given, Some(Fixed::Each(_))) && numbers.len() * items != n {
            let why = format!(
                "it is fixed to {} numbers; an item has {}",
                numbers.len(),
                n / items
            );
            return Err(fail(&proto.name, &why));
        }
        let constant = Constant::of_numbers(kind, shape, numbers, n);
        constant.map_err(|why| fail(&proto.name, &why))
    }
}
