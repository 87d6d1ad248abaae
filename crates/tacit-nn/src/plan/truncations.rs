//! What a run of a plan truncates.

use std::collections::HashSet;

use super::{Layer, LayerOp, Plan};
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
    /// By how many last places each layer's first input may be below an exact number that it is, where a truncation may be
    /// off by so many.
    pub(crate) fn slacks(&self, off: i64) -> Vec<i64> {
        let are_truncated = self.are_truncated();
        let of = |layer: &Layer| {
            if are_truncated[layer.inputs[0]] {
                off
            } else {
                0
            }
        };
        self.layers.iter().map(of).collect()
    }

    /// Whether each value is made of what is truncated on the way, so that it may be off an exact number.
    fn are_truncated(&self) -> Vec<bool> {
        let own: HashSet<ValueId> = self.truncated().iter().map(|each| each.layer + 1).collect();
        let mut are_truncated = vec![false];
        for (i, layer) in self.layers.iter().enumerate() {
            let of_inputs = layer.inputs.iter().any(|&id| are_truncated[id]);
            are_truncated.push(match layer.op {
                // What signs choose is exact, whatever they are of.
                LayerOp::NonNegative | LayerOp::Whole { .. } => false,
                LayerOp::Function(_) => true,
                // Ranks are an order only where no difference counts as none.
                LayerOp::Sub if self.source(layer.inputs[0]) == self.source(layer.inputs[1]) => {
                    false
                }
                _ => of_inputs || own.contains(&(i + 1)),
            });
        }
        are_truncated
    }

    /// The value whose elements a value's are, moved.
    fn source(&self, mut id: ValueId) -> ValueId {
        while let Some(layer) = id.checked_sub(1).map(|at| &self.layers[at])
            && matches!(layer.op, LayerOp::Rearrange { .. })
        {
            id = layer.inputs[0];
        }
        id
    }

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
