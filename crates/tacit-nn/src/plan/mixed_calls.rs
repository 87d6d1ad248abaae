//! What the executor asks of the machine where every tensor has a width of its own.

use tacit_protocols::machine::{Bilinear, Call};
use tacit_protocols::mixed::{Between, Mixed, Number};

use super::{Layer, LayerOp, Plan, PlannedFunction, Widths};

impl Plan {
    /// The calls of a layer that meets weights of this number, if fixed, and owner.
    pub(super) fn mixed_calls(
        &self,
        layer: &Layer,
        widths: Widths,
        batch: usize,
        weights: (Option<usize>, usize),
    ) -> Vec<Call> {
        let from = layer.inputs.first().map_or(0, |&id| self.number(id).bits);
        let (n, keys) = (batch * layer.out_len(), layer.keys.into());
        let calls = match &layer.op {
            LayerOp::Conv { .. } | LayerOp::Linear { .. } | LayerOp::Affine { scale: true, .. } => {
                self.mixed_product(layer, widths, batch, weights)
            }
            LayerOp::Mul => {
                let right = self.number(layer.inputs[1]).bits;
                let product = Mixed::Product {
                    map: Bilinear::Elementwise(n),
                    fixed: None,
                    known_to: None,
                    bits: [from, right, widths.product],
                };
                vec![Some(product), widths.dropped(n, layer.trunc)]
            }
            LayerOp::AveragePool(pool) => vec![
                Mixed::resize(batch * pool.in_len(), from, 0, widths.product),
                widths.dropped(n, layer.trunc),
            ],
            LayerOp::Function(function) => {
                let (from, to) = (self.number(layer.inputs[0]), widths.number());
                let function = function.between(self.ring_bits, from, to, layer.argument_bits);
                vec![function.map(|function| Mixed::Function { n, function })]
            }
            LayerOp::Relu => vec![Some(Mixed::Relu {
                n,
                keys,
                bits: from,
            })],
            LayerOp::Clip { low, high } if layer.op.takes_signs() => {
                let comparisons = usize::from(low.is_some()) + usize::from(high.is_some());
                let n = comparisons * n;
                vec![Some(Mixed::Relu {
                    n,
                    keys,
                    bits: from,
                })]
            }
            LayerOp::MaxPool(pool) if pool.window() > 1 => vec![Some(Mixed::Maxpool {
                windows: n,
                size: pool.window(),
                keys,
                bits: from,
            })],
            _ => vec![],
        };
        calls.into_iter().flatten().map(Call::Mixed).collect()
    }

    fn mixed_product(
        &self,
        layer: &Layer,
        widths: Widths,
        batch: usize,
        (fixed, owner): (Option<usize>, usize),
    ) -> Vec<Option<Mixed>> {
        let from = self.number(layer.inputs[0]).bits;
        let Some(map) = layer.bilinear(batch) else {
            return vec![];
        };
        let product = match self.public_model {
            true => Mixed::resize(map.left(), from, 0, widths.product),
            false => Some(Mixed::Product {
                map,
                fixed,
                known_to: Some(owner),
                bits: [from, widths.weights, widths.product],
            }),
        };
        vec![product, widths.dropped(map.outputs(), layer.trunc)]
    }
}

impl Widths {
    /// The truncation of a product to the result.
    fn dropped(self, n: usize, trunc: u32) -> Option<Mixed> {
        Mixed::resize(n, self.product, trunc, self.bits)
    }
}

impl PlannedFunction {
    /// The function between numbers of these widths over a ring; arguments have `argument_bits` bits
    /// with the fraction bits of theirs.
    pub(crate) fn between(
        self,
        ring_bits: u32,
        from: Number,
        to: Number,
        argument_bits: u32,
    ) -> Option<Between> {
        let fraction = from.fraction.max(to.fraction);
        // Reading a plan and making one refuse functions that are none.
        let function = self.elementary(ring_bits, fraction, fraction).ok()?;
        let within = argument_bits.saturating_add(fraction - from.fraction);
        Some(Between {
            function: function.within(within),
            from,
            to,
        })
    }
}
