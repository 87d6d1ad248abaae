//! What the executor will ask of the machine, counted before any data arrives.

use tacit_protocols::machine::{Audience, Call};

use super::{Layer, LayerOp, Plan};

/// Which party owns what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// The party that knows the weights.
    pub model_owner: usize,
    /// The party that knows the inputs.
    pub data_owner: usize,
    /// Who learns the result.
    pub receiver: Audience,
}

/// The calls of one layer, under the name that the meters show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerCalls {
    /// The layer's name.
    pub layer: String,
    /// Its calls in order.
    pub calls: Vec<Call>,
}

/// The meters' names of the steps that are no layers.
pub(crate) const WEIGHTS: &str = "weights";
pub(crate) const INPUT: &str = "input";
pub(crate) const OUTPUT: &str = "output";
/// The step that finds the largest elements of the output, where nothing else of it is opened.
pub const RANKING: &str = "ranking";

impl Plan {
    /// The calls of sharing the weights, once for any number of predictions.
    pub fn weight_calls(&self, roles: &Roles) -> LayerCalls {
        let mut calls = Vec::new();
        for layer in &self.layers {
            let (factors, terms) = layer.shared_lens();
            if factors + terms > 0 {
                calls.push(Call::Input {
                    owner: roles.model_owner,
                    n: factors + terms,
                });
                if self.public_model {
                    calls.push(Call::Reveal {
                        n: factors + terms,
                        to: Audience::All,
                    });
                } else if layer.fixes_weights() {
                    calls.push(Call::Fix { n: factors });
                }
            }
        }
        LayerCalls {
            layer: WEIGHTS.into(),
            calls,
        }
    }

    /// The calls of predicting one batch: the input, every layer in order, what is found of the output
    /// before it is opened, and its opening.
    pub fn calls(&self, batch: usize, roles: &Roles) -> Vec<LayerCalls> {
        let of = |layer: &str, calls| LayerCalls {
            layer: layer.into(),
            calls,
        };
        let n = batch * self.input_len();
        let mut all = vec![of(
            INPUT,
            vec![Call::Input {
                owner: roles.data_owner,
                n,
            }],
        )];
        for (layer, fixed) in self.layers.iter().zip(self.fixed()) {
            let weights = (fixed, roles.model_owner);
            all.push(of(&layer.name, self.layer_calls(layer, batch, weights)));
        }
        all.extend(self.top(batch).map(|top| of(RANKING, top.calls())));
        let n = batch * self.revealed_len();
        all.push(of(
            OUTPUT,
            vec![Call::Reveal {
                n,
                to: roles.receiver,
            }],
        ));
        all
    }

    /// The number of the fixed weights that each layer meets.
    fn fixed(&self) -> Vec<Option<usize>> {
        let mut next = 0..;
        let mut fixed: Vec<Option<usize>> = Vec::with_capacity(self.layers.len());
        for layer in &self.layers {
            fixed.push(match layer.weights_of {
                Some(first) => fixed[first],
                None if layer.fixes_weights() => next.next(),
                None => None,
            });
        }
        fixed
    }

    /// The calls of a layer that meets weights of this number, if fixed, and owner.
    fn layer_calls(
        &self,
        layer: &Layer,
        batch: usize,
        weights: (Option<usize>, usize),
    ) -> Vec<Call> {
        if let Some(widths) = layer.widths {
            return self.mixed_calls(layer, widths, batch, weights);
        }
        let (n, keys) = (batch * layer.out_len(), layer.keys.into());
        let mut calls = Vec::new();
        let mut truncate = |id: usize, trunc: u32| {
            if trunc > 0 {
                calls.push(Call::Truncate {
                    n: batch * self.value_len(id),
                    trunc,
                });
            }
        };
        match &layer.op {
            LayerOp::Conv { .. } | LayerOp::Linear { .. } | LayerOp::Affine { scale: true, .. } => {
                truncate(layer.inputs[0], layer.input_trunc);
                calls.extend(self.product(layer, batch, weights));
            }
            LayerOp::Mul => {
                let [first, second] = self.factor_truncs(layer);
                truncate(layer.inputs[0], first);
                truncate(layer.inputs[1], second);
                calls.push(Call::elementwise(n, layer.trunc));
            }
            LayerOp::AveragePool(_) if layer.trunc > 0 => calls.push(Call::Truncate {
                n,
                trunc: layer.trunc,
            }),
            LayerOp::Function(function) => {
                // Reading a plan and making one refuse those that are none.
                let argument = self.number(layer.inputs[0]).fraction;
                let function = function.elementary(self.ring_bits, self.fraction_bits, argument);
                calls.extend(function.map(|function| Call::Function {
                    n,
                    function: function.within(layer.argument_bits),
                }));
            }
            LayerOp::Relu => calls.push(Call::Relu { n, keys }),
            LayerOp::Clip { low, high } if layer.op.takes_signs() => {
                let comparisons = usize::from(low.is_some()) + usize::from(high.is_some());
                let n = comparisons * n;
                calls.push(Call::Relu { n, keys });
            }
            LayerOp::MaxPool(pool) if pool.window() > 1 => calls.push(Call::Maxpool {
                windows: n,
                size: pool.window(),
                keys,
            }),
            _ => {}
        }
        calls
    }

    /// The call of a product with weights.
    fn product(
        &self,
        layer: &Layer,
        batch: usize,
        (fixed, owner): (Option<usize>, usize),
    ) -> Option<Call> {
        let (map, trunc) = (layer.bilinear(batch)?, layer.trunc);
        let n = map.outputs();
        match (self.public_model, trunc) {
            (false, trunc) => Some(Call::Product {
                map,
                fixed,
                known_to: Some(owner),
                trunc,
            }),
            (true, 0) => None,
            (true, trunc) => Some(Call::Truncate { n, trunc }),
        }
    }

    /// The bits dropped from either factor of a product of two computed values.
    pub(crate) fn factor_truncs(&self, layer: &Layer) -> [u32; 2] {
        match layer.input_trunc {
            0 => [0, 0],
            first => [first, self.fraction_bits - first],
        }
    }
}
