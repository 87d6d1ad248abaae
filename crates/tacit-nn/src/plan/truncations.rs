//! What a run of a plan truncates.

use super::{LayerOp, Plan};
use crate::graph::ValueId;

/// A value that is truncated on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated {
    /// The layer that truncates the value, from 0.
    pub layer: usize,
    /// The value that is truncated, by its number in the graph.
    pub value: ValueId,
    /// The value's fraction bits just before the truncation.
    pub fraction_bits: u32,
}

impl Plan {
    /// All truncations of a run, in order.
    pub fn truncated(&self) -> Vec<Truncated> {
        let mut all = Vec::new();
        for (i, layer) in self.layers.iter().enumerate() {
            let factors = match &layer.op {
                LayerOp::Mul | LayerOp::MatMul(_) => self.factor_truncs(layer),
                _ => [layer.input_trunc, 0],
            };
            let before = layer.inputs.iter().zip(factors).filter(|&(_, k)| k > 0);
            all.extend(before.map(|(&value, _)| Truncated {
                layer: i,
                value,
                fraction_bits: self.number(value).fraction,
            }));
            if layer.trunc > 0 {
                all.push(Truncated {
                    layer: i,
                    value: i + 1,
                    fraction_bits: self.number(i + 1).fraction + layer.trunc,
                });
            }
        }
        all
    }
}
