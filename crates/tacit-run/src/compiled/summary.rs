//! A plan in short.

use serde::Serialize;
use tacit_nn::Plan;
use tacit_nn::graph::{Input, Output};
use tacit_nn::plan::{Layer, PlannedInput};

/// A plan in short, for its owner's eyes: ranges and warnings may tell of the weights.
#[derive(Clone, Debug, Serialize)]
pub struct PlanSummary {
    /// Bits of the ring or field that the plan computes in.
    pub ring: u32,
    /// The name of the numbers that the plan computes with, such as `64-bit ring`.
    pub numbers: String,
    /// Fraction bits of every value; where every tensor has its own, of the result.
    pub fraction_bits: u32,
    /// Bits of the input's numbers, where every tensor has its own.
    pub input_bits: Option<u32>,
    /// Whether every party may know the weights.
    pub public_model: bool,
    /// The order of product and truncation.
    pub order: &'static str,
    /// How near elementary functions are: `accurate` or `fast`.
    pub functions: &'static str,
    /// The model's inputs, in the order of its file.
    pub inputs: Vec<InputSummary>,
    /// The shape of one item of what is given: flat where there are several inputs.
    pub input_shape: Vec<usize>,
    /// The outputs, with the shape of one item.
    pub outputs: Vec<Output>,
    /// What is opened of the outputs: `logits`, `probabilities`, `top-K` or `class`.
    pub reveal: String,
    /// What is opened of the outputs, in words.
    pub opened: String,
    /// How many numbers of weights the owner shares.
    pub parameters: usize,
    /// The layers in order.
    pub layers: Vec<LayerSummary>,
    /// The largest error of an output that is to be expected of rounding: four times that of a trial
    /// on samples or made-up inputs.
    pub error: f64,
    /// Warnings of what the planner could not be sure of.
    pub warnings: Vec<String>,
}

/// An input of a [`PlanSummary`].
#[derive(Clone, Debug, Serialize)]
pub struct InputSummary {
    /// The input's name, its shape and what its numbers are.
    #[serde(flatten)]
    pub input: Input,
    /// The largest magnitude of its numbers.
    pub range: f64,
    /// Whether the input's numbers are only compared, exactly as float32 compares them.
    pub ranked: bool,
}

/// A layer of a [`PlanSummary`].
#[derive(Clone, Debug, Serialize)]
pub struct LayerSummary {
    /// The layer's name.
    pub name: String,
    /// The layer's operation.
    pub op: &'static str,
    /// The shape of one item of its output.
    pub shape: Vec<usize>,
    /// The magnitude planned for.
    pub range: f64,
    /// Bits of every result, where every tensor has its own.
    pub bits: Option<u32>,
    /// Fraction bits of every result.
    pub fraction_bits: u32,
    /// Fraction bits of the weights, 0 where there are none.
    pub weight_bits: u32,
    /// Bits dropped from the result.
    pub trunc: u32,
    /// Bits before and after the point that its signs are taken from, such as `5.2`, if it takes
    /// any and the protocol does not look at all.
    pub key_bits: Option<String>,
}

impl PlanSummary {
    /// The short form of a plan, for a protocol with key bits or for one without.
    pub(super) fn new(plan: &Plan, key_bits: bool) -> Self {
        let input = |planned: &PlannedInput| InputSummary {
            input: planned.input.clone(),
            range: plan.input_range(planned),
            ranked: planned.ranked,
        };
        let layer = |(i, l): (usize, &Layer)| LayerSummary {
            bits: l.widths.map(|widths| widths.bits),
            fraction_bits: plan.number(i + 1).fraction,
            name: l.name.clone(),
            op: l.op.kind(),
            shape: l.shape.clone(),
            range: l.range,
            weight_bits: l.weight_bits,
            trunc: l.trunc,
            key_bits: l.keys.text(plan.fraction_bits).filter(|_| key_bits),
        };
        PlanSummary {
            ring: plan.modulus.bits(),
            numbers: plan.modulus.to_string(),
            fraction_bits: plan.fraction_bits,
            input_bits: plan.input_widths.map(|widths| widths.bits),
            public_model: plan.public_model,
            order: plan.order.name(),
            functions: plan.functions.name(),
            inputs: plan.inputs.iter().map(input).collect(),
            input_shape: plan.given_shape(),
            outputs: plan.outputs.clone(),
            reveal: plan.opening.reveal.to_string(),
            opened: plan.opened(),
            parameters: plan.parameters(),
            layers: plan.layers.iter().enumerate().map(layer).collect(),
            error: plan.error,
            warnings: plan.warnings_for(key_bits),
        }
    }
}
