//! Predicts how often ABY3's truncation will fail on a model, from how large its values are.

use tacit_nn::graph::ValueId;
use tacit_nn::{Graph, Plan, reference};
use tacit_run::{Error, Tensor};

/// How large every value of a model is on some inputs, in float32.
pub(super) struct Magnitudes {
    /// The largest magnitude of each value.
    pub largest: Vec<f64>,
    /// The sum of the magnitudes of each value's elements, for one item.
    sum: Vec<f64>,
}

impl Magnitudes {
    /// The model's outputs for `x` before any function that ends it, and the magnitudes on the way.
    pub fn of(graph: &Graph, x: Tensor) -> Result<(Vec<f32>, Self), Error> {
        let mut largest = vec![0.0; graph.nodes.len() + 1];
        let mut sum = largest.clone();
        let of = |_, values: &[f32]| {
            let magnitudes = values.iter().map(|v| f64::from(v.abs()));
            magnitudes.fold((0.0, 0.0), |(most, sum), v| (f64::max(most, v), sum + v))
        };
        let output = reference::run(graph, &graph.rows(x.values), of, |id, (most, of_some)| {
            largest[id] = f64::max(largest[id], most);
            sum[id] += of_some;
        })?;
        let items = x.shape[0] as f64;
        sum.iter_mut().for_each(|sum| *sum /= items);
        Ok((output, Magnitudes { largest, sum }))
    }

    /// Bits of the largest element of a value, as an integer of so many fraction bits.
    fn bits(&self, value: ValueId, fraction_bits: u32) -> i32 {
        let largest = self.largest[value] * f64::from(fraction_bits).exp2();
        largest.max(1.0).log2().floor() as i32 + 1
    }
}

/// The large error `e1` of random masks, as it is to be expected of a plan.
pub(super) struct LargeError {
    /// The layer that truncates the largest value.
    pub layer: String,
    /// The paper's bound for one element of it.
    pub probability: f64,
    /// How many an item has.
    pub per_item: f64,
}

impl LargeError {
    /// `None` where the plan truncates nothing.
    pub fn expected(plan: &Plan, magnitudes: &Magnitudes) -> Option<Self> {
        let truncated = plan.truncated();
        let bits = |t: &&tacit_nn::plan::Truncated| magnitudes.bits(t.value, t.fraction_bits);
        let largest = truncated.iter().rev().max_by_key(bits)?;
        let slack = plan.modulus.bits() as i32 - bits(&largest) - 1;
        let per_item = truncated.iter().map(|t| {
            let unit = f64::from(t.fraction_bits as i32 - plan.modulus.bits() as i32).exp2();
            magnitudes.sum[t.value] * unit
        });
        Some(LargeError {
            layer: plan.layers[largest.layer].name.clone(),
            probability: f64::from(-slack).exp2().min(1.0),
            per_item: per_item.sum(),
        })
    }
}
