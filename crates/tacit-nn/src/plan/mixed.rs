//! Widths and scales of every tensor's own (SiRnn, section VI-C: programs of 8 to 64 bits).
//!
//! Values that meet in a sum, a maximum or a reshape share a scale, so that no sum has to align its
//! terms; so do the inputs, and the results, of layers with the same weights. The largest value of such a class has
//! `precision` bits: its sign, a spare bit, which keeps every value below a quarter of its range, and
//! the rest before and after the point. Every value has as many bits as it and the sums that it
//! enters need. Weights have as many bits as values; a product has those of its result and of what
//! is truncated from it.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use tacit_protocols::math::Number;

use super::functions::{Arguments, Functions, PlannedFunction};
use super::ranges::Bound;
use super::scales::{Scale, Scaled, integer_bits};
use super::{Modulus, PlanError, clip, first_holders, whole};
use crate::graph::{Function, Graph, Node, Op, ValueId, Weights, len};

/// The precisions that can be asked for.
pub const PRECISIONS: RangeInclusive<u32> = 8..=32;
/// What is tried where none is asked for: first that of the paper's programs.
pub(super) const TRIED: [u32; 9] = [16, 18, 20, 22, 24, 26, 28, 30, 32];
/// What plans are made for whose tensors have widths of their own.
pub(super) const RING: Modulus = Modulus::PowerOfTwo(64);
/// Bits of its numbers.
const RING_BITS: u32 = RING.bits();
/// Bits of a value at least.
const FEWEST_BITS: u32 = 8;
/// Fraction bits that functions have tables for.
const FRACTIONS: RangeInclusive<i32> = 4..=24;
/// How many more bits than others the arguments of roots and inverse roots have: a mean of squares has twice the
/// fraction bits of what it is of.
const ROOT_BITS: i32 = 8;
/// A Clip's bound that is so many times farther than values are planned to be is left out.
const DISTANT: f64 = 64.0;

/// The width of the largest value of those that share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// The first even number of bits from 16 to 32 whose rounding, tried out in the clear, disturbs the
    /// outputs little.
    Auto,
    /// This width, in bits.
    Bits(u32),
}

/// The widths of a layer in a plan whose tensors have widths of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Widths {
    /// Bits of every result.
    pub bits: u32,
    /// Fraction bits of every result.
    pub fraction_bits: u32,
    /// Bits of the weights, of products with weights.
    pub weights: u32,
    /// Bits of products before they are truncated.
    pub product: u32,
}

impl Widths {
    /// What every result is.
    pub fn number(self) -> Number {
        Number {
            bits: self.bits,
            fraction: self.fraction_bits,
        }
    }
}

/// The scales of all layers, their widths, and what the input's numbers are.
pub(super) struct Assigned {
    pub scales: Vec<Scale>,
    pub widths: Vec<Widths>,
    pub input: Number,
}

impl Scaled for Assigned {
    fn scales(&self) -> &[Scale] {
        &self.scales
    }

    fn fraction(&self, id: ValueId) -> u32 {
        match id.checked_sub(1) {
            None => self.input.fraction,
            Some(layer) => self.widths[layer].fraction_bits,
        }
    }
}

/// Gives every tensor its width and scale, or names the first layer that does not fit.
pub(super) fn assign(
    graph: &Graph,
    bounds: &[Bound],
    precision: u32,
    functions: Functions,
) -> Result<Assigned, PlanError> {
    let classes = classes(graph);
    let reaches = reaches(graph, bounds);
    let fractions = fractions(graph, &classes, &reaches, precision);
    let bits = value_bits(graph, &fractions, &reaches);
    let numbers: Vec<Number> = (bits.iter().zip(&fractions))
        .map(|(&bits, &fraction)| Number { bits, fraction })
        .collect();
    let mut scales = Vec::with_capacity(graph.nodes.len());
    let mut widths: Vec<Widths> = Vec::with_capacity(graph.nodes.len());
    for (i, first) in first_holders(graph).into_iter().enumerate() {
        let layer = Planned {
            node: &graph.nodes[i],
            result: bounds[i + 1],
            argument: bounds[graph.nodes[i].inputs[0]],
            clip: kept_bounds(&graph.nodes[i], bounds),
            numbers: &numbers,
            to: numbers[i + 1],
            precision,
            functions,
        };
        let weights = (first < i).then(|| (&scales[first], widths[first].weights));
        let (scale, of) = layer.plan(weights)?;
        scales.push(scale);
        widths.push(of);
    }
    Ok(Assigned {
        scales,
        widths,
        input: numbers[0],
    })
}

/// Whether the result and the inputs of a node have one scale.
fn keeps_scale(op: &Op) -> bool {
    match op {
        Op::Affine(affine) => affine.scale.is_empty(),
        Op::Conv(_)
        | Op::Linear(_)
        | Op::Lookup(_)
        | Op::Mul
        | Op::MatMul(_)
        | Op::Function { .. }
        | Op::NonNegative => false,
        _ => true,
    }
}

/// The first of the values that share a scale, for every value.
fn classes(graph: &Graph) -> Vec<ValueId> {
    let mut parent: Vec<ValueId> = (0..=graph.nodes.len()).collect();
    fn find(parent: &mut [ValueId], id: ValueId) -> ValueId {
        let mut root = id;
        while parent[root] != root {
            parent[root] = parent[parent[root]];
            root = parent[root];
        }
        root
    }
    let mut join = |a: ValueId, b: ValueId| {
        let (a, b) = (find(&mut parent, a), find(&mut parent, b));
        parent[a.max(b)] = a.min(b);
    };
    for (i, first) in first_holders(graph).into_iter().enumerate() {
        let node = &graph.nodes[i];
        if keeps_scale(&node.op) {
            node.inputs.iter().for_each(|&id| join(id, i + 1));
        }
        if first < i {
            join(node.inputs[0], graph.nodes[first].inputs[0]);
            join(i + 1, first + 1);
        }
    }
    (0..parent.len()).map(|id| find(&mut parent, id)).collect()
}

/// The largest magnitude that every value's width must hold: its own, and what its readers compare
/// it with.
fn reaches(graph: &Graph, bounds: &[Bound]) -> Vec<f64> {
    let mut reaches: Vec<f64> = bounds.iter().map(|bound| bound.planned).collect();
    for (i, node) in graph.nodes.iter().enumerate() {
        let more = match &node.op {
            Op::Clip { .. } => kept_bounds(node, bounds).far(),
            Op::MaxPool(_) => bounds[node.inputs[0]].planned,
            Op::Whole(_) => {
                whole::search(&node.op, bounds[node.inputs[0]]).map_or(0.0, |found| found.far())
            }
            _ => 0.0,
        };
        for &id in &node.inputs {
            reaches[id] = reaches[id].max(bounds[id].planned + more);
        }
        if let Op::Affine(affine) = &node.op {
            let shift = largest(&affine.shift);
            reaches[i + 1] = reaches[i + 1].max(bounds[i + 1].planned + shift);
        }
    }
    reaches
}

/// The bounds of a Clip that values of these bounds reach.
fn kept_bounds(node: &Node, bounds: &[Bound]) -> clip::Bounds {
    let x = bounds[node.inputs[0]];
    clip::bounds(&node.op, x.worst_within, DISTANT * x.planned)
}

/// The fraction bits of every value: those of its class.
fn fractions(graph: &Graph, classes: &[ValueId], reaches: &[f64], precision: u32) -> Vec<u32> {
    let mut largest = vec![0.0f64; classes.len()];
    for (&class, &reach) in classes.iter().zip(reaches) {
        largest[class] = largest[class].max(reach);
    }
    let of = |reach: &f64| precision as i32 - 2 - integer_bits(*reach);
    let mut of_class: Vec<i32> = largest.iter().map(of).collect();
    let root = |node: &&Node| {
        let roots = [Function::InverseSqrt, Function::SquareRoot];
        matches!(&node.op, Op::Function { function, .. } if roots.contains(function))
    };
    let mut roots: Vec<ValueId> = (graph.nodes.iter().filter(root))
        .map(|node| classes[node.inputs[0]])
        .collect();
    roots.sort_unstable();
    roots.dedup();
    roots
        .into_iter()
        .for_each(|class| of_class[class] += ROOT_BITS);
    for fraction in &mut of_class {
        *fraction = (*fraction).clamp(*FRACTIONS.start(), *FRACTIONS.end());
    }
    // A product of two values has no more fraction bits than both.
    let products = |node: &Node| {
        let inputs = || [node.inputs[0], node.inputs[1]];
        matches!(node.op, Op::Mul | Op::MatMul(_)).then(inputs)
    };
    loop {
        let mut changed = false;
        for (i, node) in graph.nodes.iter().enumerate() {
            let Some([x, y]) = products(node) else {
                continue;
            };
            let most = of_class[classes[x]] + of_class[classes[y]];
            let own = &mut of_class[classes[i + 1]];
            changed |= *own > most;
            *own = most.min(*own);
        }
        if !changed {
            break;
        }
    }
    classes
        .iter()
        .map(|&class| of_class[class] as u32)
        .collect()
}

/// The bits of every value: those that it needs, and those of the results that are made of it without
/// a product, so that no sum has to extend its terms.
fn value_bits(graph: &Graph, fractions: &[u32], reaches: &[f64]) -> Vec<u32> {
    let needed = |(&fraction, &reach): (&u32, &f64)| {
        (fraction as i32 + integer_bits(reach) + 2).max(FEWEST_BITS as i32) as u32
    };
    let mut bits: Vec<u32> = fractions.iter().zip(reaches).map(needed).collect();
    for (i, node) in graph.nodes.iter().enumerate().rev() {
        if let Op::Function { .. } = node.op {
            bits[i + 1] = bits[i + 1].max(fractions[i + 1] + 2);
        }
        if keeps_scale(&node.op) && !matches!(node.op, Op::AveragePool(_)) {
            for &id in &node.inputs {
                bits[id] = bits[id].max(bits[i + 1]);
            }
        }
    }
    bits
}

fn largest(values: &Weights) -> f64 {
    values
        .iter()
        .map(|v| f64::from(v.abs()))
        .fold(0.0, f64::max)
}

/// One layer with what is known of its values.
struct Planned<'a> {
    node: &'a Node,
    result: Bound,
    argument: Bound,
    /// The bounds that a Clip keeps.
    clip: clip::Bounds,
    numbers: &'a [Number],
    to: Number,
    precision: u32,
    functions: Functions,
}

impl Planned<'_> {
    fn name(&self) -> String {
        format!("layer '{}'", self.node.name)
    }

    fn from(&self) -> Number {
        self.numbers[self.node.inputs[0]]
    }

    /// The scale and the widths; `weights` are those that an earlier layer gave the same weights.
    fn plan(&self, weights: Option<(&Scale, u32)>) -> Result<(Scale, Widths), PlanError> {
        let (scale, weights) = match &self.node.op {
            Op::Conv(_) | Op::Linear(_) | Op::Lookup(_) => self.weighted(weights),
            Op::Affine(affine) if !affine.scale.is_empty() => self.weighted(weights),
            Op::Mul | Op::MatMul(_) => {
                let [x, y] = [0, 1].map(|i| self.numbers[self.node.inputs[i]].fraction);
                let trunc = x + y - self.to.fraction;
                (
                    Scale {
                        trunc,
                        ..Scale::default()
                    },
                    0,
                )
            }
            Op::AveragePool(pool) => {
                let sizes = (0..len(&pool.out)).map(|e| pool.divisor(e));
                (self.mean(sizes.collect()), 0)
            }
            Op::Function { function, domain } => {
                let fraction = self.from().fraction.max(self.to.fraction);
                let arguments = Arguments::new([self.argument, self.result], *domain, fraction);
                let refused = |why: String| PlanError::Function {
                    layer: self.name(),
                    why,
                };
                let planned = PlannedFunction::choose(
                    *function,
                    arguments,
                    self.functions,
                    RING_BITS,
                    fraction,
                );
                let function = Some(planned.map_err(refused)?);
                (
                    Scale {
                        function,
                        ..Scale::default()
                    },
                    0,
                )
            }
            Op::Whole(_) => {
                let found = whole::search(&self.node.op, self.argument);
                let whole = found.map_err(|why| PlanError::Function {
                    layer: self.name(),
                    why,
                })?;
                (
                    Scale {
                        whole,
                        ..Scale::default()
                    },
                    0,
                )
            }
            _ => {
                let clip = self.clip;
                (
                    Scale {
                        clip,
                        ..Scale::default()
                    },
                    0,
                )
            }
        };
        let widths = Widths {
            bits: self.to.bits,
            fraction_bits: self.to.fraction,
            weights,
            product: self.to.bits + scale.trunc,
        };
        match widths.product {
            ..=RING_BITS => Ok((scale, widths)),
            _ => Err(self.refused(scale.trunc)),
        }
    }

    fn refused(&self, trunc: u32) -> PlanError {
        PlanError::Range {
            layer: self.name(),
            value: self.result.planned,
            integer_bits: integer_bits(self.result.planned),
            fraction_bits: self.to.fraction,
            weight_bits: trunc,
            modulus: RING,
            room: RING_BITS as i32 - 2,
        }
    }

    /// Bits that a product may lose, so that it fits the ring before.
    fn room(&self) -> u32 {
        RING_BITS.saturating_sub(self.to.bits)
    }

    /// A product with weights: of as many bits as values and as the product has room for, and no fewer
    /// fraction bits than the result asks for.
    fn weighted(&self, given: Option<(&Scale, u32)>) -> (Scale, u32) {
        let [factors, _] = self.node.op.weights();
        let integer = integer_bits(largest(factors));
        let missing = self.to.fraction as i32 - self.from().fraction as i32;
        let most = (*FRACTIONS.end()).min(self.room() as i32 + missing);
        let least = missing.max(1);
        let own = (self.precision as i32 - 1 - integer).clamp(least, most.max(least));
        let weight_bits = given.map_or(own as u32, |(scale, _)| scale.weight_bits);
        let width = (weight_bits as i32 + integer + 1).clamp(2, 64) as u32;
        let trunc = self.from().fraction + weight_bits - self.to.fraction;
        let scale = Scale {
            weight_bits,
            trunc,
            ..Scale::default()
        };
        (scale, given.map_or(width, |(_, width)| width))
    }

    /// The window's sum times `round(2^s / size)`, then `s` bits dropped; of windows of one size, a
    /// power of two, only the latter.
    fn mean(&self, sizes: Vec<usize>) -> Scale {
        let largest = sizes.iter().copied().max().unwrap_or(1);
        let log = largest.ilog2();
        let exact = largest.is_power_of_two() && sizes.iter().all(|&size| size == largest);
        let bits = match exact {
            true => log,
            false => (log + self.precision).min(self.room()),
        };
        Scale {
            weight_bits: bits,
            trunc: bits,
            ..Scale::default()
        }
    }
}
