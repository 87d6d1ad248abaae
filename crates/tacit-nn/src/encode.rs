//! From floats to ring elements and back. What does not fit is refused, never clamped.

use crate::graph::{Graph, InputKind, Op};
use crate::plan::{Layer, Modulus, Plan, PlannedInput, Ranks, encode, rank, ranks_dropped, scaled};
use crate::tail;

/// An input or a weight that the plan cannot take.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The input has another shape than the model.
    #[error("the input has the shape {found:?}; the model takes {wanted}")]
    Shape {
        /// The shape that was given.
        found: Vec<usize>,
        /// The shape that the model takes, in words.
        wanted: String,
    },
    /// The input's shape and its numbers disagree.
    #[error("the input has {found} numbers, its shape needs {wanted}")]
    Length {
        /// How many numbers were given.
        found: usize,
        /// How many numbers the shape needs.
        wanted: usize,
    },
    /// A value that is NaN, infinite, or beyond the plan's range.
    #[error("item {item}, position {position:?}, of {input} is {value}; {}", beyond(*.value, *.limit))]
    Value {
        /// The input, as the message names it.
        input: String,
        /// The number of its item.
        item: usize,
        /// Where in the item it is, axis by axis.
        position: Vec<usize>,
        /// The value that was given.
        value: f32,
        /// The largest magnitude of the plan.
        limit: f64,
    },
    /// A value that the input does not have.
    #[error("item {item}, position {position:?}, of {input} is {value}; it takes {takes}")]
    Kind {
        /// The input, as the message names it.
        input: String,
        /// The number of its item.
        item: usize,
        /// Where in the item it is, axis by axis.
        position: Vec<usize>,
        /// The value that was given.
        value: f32,
        /// Which values the input takes, in words.
        takes: String,
    },
    /// A weight does not fit the ring or the field.
    #[error(
        "layer '{layer}': a weight needs more than the {}; use the {} or fewer fraction bits",
        .modulus, .modulus.widest()
    )]
    Weight {
        /// The layer's name.
        layer: String,
        /// What the plan computes modulo.
        modulus: Modulus,
    },
    /// The plan was made for another model.
    #[error("the plan was made for another model: {0}")]
    Model(String),
    /// The result names a class that the model does not have.
    #[error(
        "the result names class {class} of {classes}: a value was beyond the plan's range, or a party did not follow the protocol"
    )]
    Class {
        /// The number that was opened in place of a class.
        class: i64,
        /// The number of classes.
        classes: usize,
    },
    /// A revealed result of the wrong length.
    #[error("the result has {found} numbers, not a batch of items of {item} numbers")]
    Result {
        /// How many numbers were opened.
        found: usize,
        /// The numbers of one item.
        item: usize,
    },
}

/// Why a value is refused.
fn beyond(value: f32, limit: f64) -> String {
    match value.is_nan() {
        true => format!("{NOT_MISSING}: give a number"),
        false => format!(
            "the plan takes finite values up to {limit}: give samples or an input range that covers it"
        ),
    }
}

/// Why a number is refused that is NaN.
pub const NOT_MISSING: &str =
    "the model does not say what becomes of a number that is missing there";

/// The encoded weights of one layer; empty where the layer has none.
pub struct LayerWeights {
    /// Factors at the layer's weight scale.
    pub factors: Vec<i64>,
    /// Terms at the scale of the product, or at that of its output for an Affine layer.
    pub terms: Vec<i64>,
}

impl Plan {
    /// The batch of `x`, of shape batch x item, in fixed point, as it is shared.
    pub fn encode_input(&self, x: &[f32], shape: &[usize]) -> Result<Vec<i64>, EncodeError> {
        let given = self.given_shape();
        if shape.len() != given.len() + 1 || shape[1..] != given || shape[0] == 0 {
            let item: Vec<String> = given.iter().map(|d| format!(", {d}")).collect();
            return Err(EncodeError::Shape {
                found: shape.to_vec(),
                wanted: format!("[N{}] with N of at least 1", item.concat()),
            });
        }
        let wanted = shape[0].saturating_mul(self.given_len());
        if x.len() != wanted {
            return Err(EncodeError::Length {
                found: x.len(),
                wanted,
            });
        }
        let mut out = Vec::with_capacity(shape[0] * self.input_len());
        for (item, row) in x.chunks(self.given_len()).enumerate() {
            let mut rest = row;
            for planned in &self.inputs {
                let part;
                (part, rest) = rest.split_at(planned.input.given_len());
                self.encode_part(planned, item, part, &mut out)?;
            }
        }
        Ok(out)
    }

    /// Appends what is shared for `part`, one item of an input.
    fn encode_part(
        &self,
        planned: &PlannedInput,
        item: usize,
        part: &[f32],
        out: &mut Vec<i64>,
    ) -> Result<(), EncodeError> {
        let (limit, fraction) = (self.input_range(planned), self.number(0).fraction);
        let (kind, dropped) = (planned.input.kind, ranks_dropped(self.modulus.bits()));
        // A number that may not be missing stays NaN, and is refused below.
        let part = planned.input.part_with_marks(part);
        let given = planned.input.given_len();
        for (at, &value) in part[..given].iter().enumerate() {
            let refused = |takes: Option<String>| {
                let input = match self.inputs.len() {
                    1 => "the input".into(),
                    _ => format!("the input '{}'", planned.input.name),
                };
                let position = position(&planned.input.shape, at);
                match takes {
                    Some(takes) => EncodeError::Kind {
                        input,
                        item,
                        position,
                        value,
                        takes,
                    },
                    None => EncodeError::Value {
                        input,
                        item,
                        position,
                        value,
                        limit,
                    },
                }
            };
            let takes = planned.input.kind_at(at);
            if !takes.holds(value) {
                return Err(refused(Some(takes.described())));
            }
            if let InputKind::Tokens { classes } = kind {
                let start = out.len();
                out.resize(start + classes, 0);
                out[start + value as usize] = encode(1.0, fraction);
                continue;
            }
            // Written so that NaN is refused too.
            let fits = f64::from(value.abs()) <= limit;
            if !fits {
                return Err(refused(None));
            }
            out.push(match planned.ranked {
                true => rank(value, dropped),
                false => encode(value.into(), fraction),
            });
        }
        out.extend(part[given..].iter().map(|&mark| match planned.ranked {
            true => rank(mark, dropped),
            false => encode(mark.into(), fraction),
        }));
        Ok(())
    }

    /// The weights of every layer in fixed point, for the model that was planned.
    pub fn encode_weights(&self, graph: &Graph) -> Result<Vec<LayerWeights>, EncodeError> {
        if graph.nodes.len() != self.layers.len() {
            return Err(EncodeError::Model(format!(
                "it has {} layers, the model {}",
                self.layers.len(),
                graph.nodes.len()
            )));
        }
        let ranks = self.ranks(graph)?;
        let ranked = |id| ranks.as_ref().is_some_and(|ranks| ranks.has(id));
        self.layers
            .iter()
            .zip(&graph.nodes)
            .enumerate()
            .map(|(i, (layer, node))| match layer.weights_of {
                Some(first) => same_weights(layer, &node.op, &graph.nodes[first].op),
                None => {
                    check(layer, &node.op)?;
                    match ranked(i + 1) {
                        true => Ok(self.thresholds(&node.op)),
                        false => self.layer_weights(layer, self.number(i + 1).fraction, &node.op),
                    }
                }
            })
            .collect()
    }

    /// Which values are ranks, if inputs are shared so.
    fn ranks(&self, graph: &Graph) -> Result<Option<Ranks>, EncodeError> {
        if !self.inputs.iter().any(|planned| planned.ranked) {
            return Ok(None);
        }
        match Ranks::of(graph, self.modulus.bits()) {
            Some(ranks) => Ok(Some(ranks)),
            None => Err(EncodeError::Model(
                "it compares its inputs there, and does more with them here".into(),
            )),
        }
    }

    /// The ranks of what inputs are compared with.
    fn thresholds(&self, op: &Op) -> LayerWeights {
        let dropped = ranks_dropped(self.modulus.bits());
        let [_, terms] = op.weights();
        LayerWeights {
            factors: vec![],
            terms: terms.iter().map(|&v| rank(v, dropped)).collect(),
        }
    }

    /// `fraction` bits are those of the layer's result.
    fn layer_weights(
        &self,
        layer: &Layer,
        fraction: u32,
        op: &Op,
    ) -> Result<LayerWeights, EncodeError> {
        let [factors, terms] = op.weights();
        let width = layer
            .widths
            .map_or(self.modulus.bits(), |widths| widths.weights);
        let refused = || EncodeError::Weight {
            layer: layer.name.clone(),
            modulus: self.modulus,
        };
        let fits = |values: &[f32], bits: u32, width: u32| -> Result<Vec<i64>, EncodeError> {
            let bound = f64::from(width).exp2() / 2.0;
            let one = |&v: &f32| match scaled(v.into(), bits) {
                whole if whole.abs() < bound => Ok(whole as i64),
                _ => Err(refused()),
            };
            values.iter().map(one).collect()
        };
        // A sum of products that the plan bounds is right modulo the modulus, whatever its terms are.
        let wraps = |values: &[f32], bits: u32| -> Result<Vec<i64>, EncodeError> {
            let one = |&v: &f32| {
                self.modulus
                    .residue(scaled(v.into(), bits))
                    .ok_or_else(refused)
            };
            values.iter().map(one).collect()
        };
        let terms = match op {
            Op::Affine(_) => fits(terms, fraction, self.modulus.bits()),
            _ if layer.widths.is_some() => fits(terms, fraction + layer.trunc, self.modulus.bits()),
            _ => wraps(terms, fraction + layer.trunc),
        };
        Ok(LayerWeights {
            factors: fits(factors, layer.weight_bits, width)?,
            terms: terms?,
        })
    }

    /// What a run gives out, from the outputs of the model in float32 before any function that ends it.
    pub fn finish_floats(&self, values: Vec<f32>) -> Vec<f32> {
        match (self.opening.reveal.places(), self.opening.scores.first()) {
            (Some(k), Some(scores)) => tail::places(scores, k, &values),
            _ => tail::finish(&self.outputs, values),
        }
    }

    /// The model's outputs for a batch, in every item one behind the other, from the revealed ring elements:
    /// classes, or decoded numbers of which the tails are computed.
    pub fn finish(&self, revealed: &[i64]) -> Result<Vec<f32>, EncodeError> {
        let item = self.revealed_len();
        if item == 0 || !revealed.len().is_multiple_of(item) {
            return Err(EncodeError::Result {
                found: revealed.len(),
                item,
            });
        }
        if let Some(classes) = self.classes() {
            let beyond = revealed.iter().find(|v| !(0..classes as i64).contains(v));
            return match beyond {
                Some(&class) => Err(EncodeError::Class { class, classes }),
                None => Ok(revealed.iter().map(|&v| v as f32).collect()),
            };
        }
        let unit = f64::from(self.number(self.output).fraction).exp2();
        let values = revealed.iter().map(|&v| (v as f64 / unit) as f32).collect();
        Ok(tail::finish(&self.outputs, values))
    }
}

/// The place of element `at` of an item, axis by axis.
pub fn position(shape: &[usize], mut at: usize) -> Vec<usize> {
    let mut position: Vec<usize> = Vec::new();
    for &size in shape.iter().rev() {
        position.insert(0, at % size);
        at /= size;
    }
    position
}

/// Refuses an operation that is not the layer's.
fn check(layer: &Layer, op: &Op) -> Result<(), EncodeError> {
    let [factors, terms] = op.weights();
    let lens = (factors.len(), terms.len());
    if layer.op.weight_lens() == lens && layer.op.kind() == op.kind() {
        return Ok(());
    }
    Err(EncodeError::Model(format!(
        "layer '{}' is {} there and {} here",
        layer.name,
        layer.op.kind(),
        op.kind()
    )))
}

/// The weights of a layer that uses those of another: none, if the model's are the same, too.
fn same_weights(layer: &Layer, op: &Op, first: &Op) -> Result<LayerWeights, EncodeError> {
    if op.weights() != first.weights() {
        let name = &layer.name;
        return Err(EncodeError::Model(format!(
            "layer '{name}' has the weights of an earlier one there and others here"
        )));
    }
    Ok(LayerWeights {
        factors: vec![],
        terms: vec![],
    })
}
