//! Tries a plan's rounding in the clear.

use std::ops::RangeInclusive;

use super::PlanError;
use super::bounds::Inputs;
use super::ranges::Random;
use crate::graph::{Function, Graph, Op, ValueId, Weights, len};
use crate::reference::run;

/// Multiply-adds that one trial may cost.
pub(super) const TRIAL_WORK: usize = 1_000_000_000;
/// The fewest and the most items of a trial.
const TRIAL_ITEMS: RangeInclusive<usize> = 4..=64;

/// What a plan rounds.
pub(super) struct Rounding {
    /// The fraction bits of every value when it is used.
    pub fractions: Vec<u32>,
    /// Those of every layer's factors.
    pub weights: Vec<u32>,
}

/// Inputs with their outputs in float32.
pub(super) struct Trial {
    x: Vec<f32>,
    exact: Vec<f32>,
    /// The outputs' deviation from their mean; of those that hardly differ, a share of their size.
    spread: f64,
}

impl Trial {
    pub(super) fn new(graph: &Graph, inputs: &Inputs) -> Result<Self, PlanError> {
        let x = inputs.trial(
            len(&graph.input_shape),
            affordable(graph, TRIAL_WORK, TRIAL_ITEMS),
        );
        let exact = run(graph, &x, |_, _| {})?;
        let spread = spread(&exact);
        Ok(Trial { x, exact, spread })
    }

    /// The largest error of an output when everything is rounded as planned, in units of the outputs'
    /// deviation. Deterministic, so that every plan of one model is the same.
    pub(super) fn error(&self, graph: &Graph, rounding: &Rounding) -> Result<f64, PlanError> {
        let rounded = rounded_weights(graph, rounding);
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        let inverted = inverted(graph);
        let output = run(&rounded, &self.x, |id, values| {
            let unit = f64::from(rounding.fractions[id]).exp2();
            let least = if inverted[id] { 1.0 } else { f64::NEG_INFINITY };
            for v in values {
                // A truncation rounds up or down by chance.
                let units = (f64::from(*v) * unit + random.uniform()).floor();
                *v = (units.max(least) / unit) as f32;
            }
        })?;
        // Where float32 itself has no finite answer there is nothing to compare.
        let pairs = output
            .iter()
            .zip(&self.exact)
            .filter(|(_, exact)| exact.is_finite());
        let error = |(found, exact): (&f32, &f32)| match found.is_finite() {
            true => f64::from(found - exact).abs(),
            false => f64::INFINITY,
        };
        Ok(pairs.map(error).fold(0.0, f64::max) / self.spread)
    }

    /// The value whose rounding alone disturbs the outputs most.
    pub(super) fn worst(&self, graph: &Graph, rounding: &Rounding) -> Result<ValueId, PlanError> {
        /// As good as not rounded.
        const FINE: u32 = 60;
        let mut worst = (0, f64::NEG_INFINITY);
        for id in 0..=graph.nodes.len() {
            let only = |at: usize, bits: u32| if at == id { bits } else { FINE };
            let bits = |all: &[u32], first: usize| {
                all.iter()
                    .enumerate()
                    .map(|(i, &bits)| only(i + first, bits))
                    .collect()
            };
            let alone = Rounding {
                fractions: bits(&rounding.fractions, 0),
                weights: bits(&rounding.weights, 1),
            };
            let error = self.error(graph, &alone)?;
            if error > worst.1 {
                worst = (id, error);
            }
        }
        Ok(worst.0)
    }

    /// The outputs' deviation.
    pub(super) fn spread(&self) -> f64 {
        self.spread
    }
}

/// The values of which a function takes the inverse: of less than their last place it is bounded.
pub(super) fn inverted(graph: &Graph) -> Vec<bool> {
    let mut inverted = vec![false; graph.nodes.len() + 1];
    for node in &graph.nodes {
        if let Op::Function {
            function: Function::Reciprocal | Function::InverseSqrt,
            ..
        } = node.op
        {
            inverted[node.inputs[0]] = true;
        }
    }
    inverted
}

fn spread(outputs: &[f32]) -> f64 {
    let finite = || {
        outputs
            .iter()
            .filter(|v| v.is_finite())
            .map(|&v| f64::from(v))
    };
    let n = finite().count().max(1) as f64;
    let mean = finite().sum::<f64>() / n;
    let deviation = (finite().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
    let largest = finite().fold(0.0, |m: f64, v| m.max(v.abs()));
    deviation
        .max(largest / 128.0)
        .max(f64::from(f32::MIN_POSITIVE))
}

/// The items of a trial that costs `work` multiply-adds, within bounds.
pub(super) fn affordable(graph: &Graph, work: usize, bounds: RangeInclusive<usize>) -> usize {
    let of_op = |op: &Op| match op {
        Op::Conv(c) => c.geometry.out_len() * c.geometry.taps(),
        Op::Linear(l) => l.rows * l.k * l.n,
        _ => 0,
    };
    let per_item: usize = graph.nodes.iter().map(|n| of_op(&n.op)).sum();
    (work / per_item.max(1)).clamp(*bounds.start(), *bounds.end())
}

fn rounded_weights(graph: &Graph, rounding: &Rounding) -> Graph {
    let mut graph = graph.clone();
    for (i, node) in graph.nodes.iter_mut().enumerate() {
        let unit = f64::from(rounding.weights[i]).exp2();
        let round = |values: &mut Weights, unit: f64| {
            let rounded = |v: &f32| ((f64::from(*v) * unit).round() / unit) as f32;
            *values = values.iter().map(rounded).collect();
        };
        match &mut node.op {
            Op::Conv(c) => round(&mut c.weight, unit),
            Op::Linear(l) => round(&mut l.weight, unit),
            Op::Affine(a) => {
                round(&mut a.scale, unit);
                round(&mut a.shift, f64::from(rounding.fractions[i + 1]).exp2());
            }
            _ => {}
        }
    }
    graph
}
