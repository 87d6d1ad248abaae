//! The fixed-point scale of every value and weight for a given number of fraction bits.

use super::functions::{Arguments, PlannedFunction};
use super::ranges::{Bound, FAR};
use super::variance::own_fractions;
use super::{Functions, Modulus, Order, PlanError, clip, first_holders, inverses, whole};
use crate::graph::{Function, Graph, Node, Op, Pool, ValueId, Weights, len};
use crate::reference::ends;

/// The scales of one layer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Scale {
    /// Bits dropped from every factor before the product.
    pub input_trunc: u32,
    /// Fraction bits of the weights, or of the public factor of a mean.
    pub weight_bits: u32,
    /// Bits dropped from the result.
    pub trunc: u32,
    /// The elementary function that the layer computes, if it does.
    pub function: Option<PlannedFunction>,
    /// Fraction bits of the result, where they are not those of all values.
    pub fraction: Option<u32>,
    /// The bounds that a Clip keeps.
    pub clip: clip::Bounds,
    /// Where whole numbers are searched.
    pub whole: whole::Search,
}

/// A result of the planner that gives every layer a scale.
pub(super) trait Scaled {
    /// The scale of every layer.
    fn scales(&self) -> &[Scale];
    /// The fraction bits of a value.
    fn fraction(&self, id: ValueId) -> u32;
}

/// What the scales must hold.
pub(super) struct Limits {
    pub modulus: Modulus,
    pub order: Order,
    /// How near elementary functions are.
    pub functions: Functions,
    /// Whether weights carry the fraction bits of the values.
    pub same_scale: bool,
}

/// The fewest fraction bits of a weight that are worth planning.
const FEWEST_WEIGHT_BITS: i32 = 5;
/// The most of a weight over 31 and 32 bits that help: a float32 one has 24 bits, and the values fewer. The factor of a
/// mean has so many everywhere, or as many as the values.
pub(super) const MOST_WEIGHT_BITS: i32 = 20;
/// The most beyond those before the point of what is multiplied: the rounding of a weight counts as often as
/// that is large.
const MOST_BEYOND: i32 = 16;

/// Bits that weights have beyond the values' over 64 and 61 bits, where there is room: the rounding of a weight counts
/// once for every term of a sum, and that of the sum once.
const MORE_WEIGHT_BITS: i32 = 4;
/// Bits above what is planned for that are left for inputs unlike the samples, where the worst case is out of reach.
const UNLIKE_SAMPLES: i32 = 4;

/// How many of `left` bits above what is planned for a weight may take beyond those of the values: none of those that
/// an input can lead to, if these fit, else none of those that are left for inputs unlike the samples.
fn more_bits(left: i32, planned: f64, worst: f64) -> i32 {
    let beyond = integer_bits(worst) - integer_bits(planned);
    left - if beyond <= left {
        beyond
    } else {
        UNLIKE_SAMPLES
    }
}

/// Bits before the point that hold `value`, with a little room for rounding.
pub(super) fn integer_bits(value: f64) -> i32 {
    (value * 1.01).clamp(f64::MIN_POSITIVE, FAR).log2().ceil() as i32
}

impl Limits {
    /// Bits of magnitude: truncation takes values below a quarter of the ring or field.
    pub(super) fn room(&self) -> i32 {
        self.modulus.bits() as i32 - 2
    }

    /// The fraction bits of every layer's result, where these are its own.
    fn own_fractions(&self, graph: &Graph, bounds: &[Bound], f: u32) -> Vec<Option<u32>> {
        if self.order == Order::TruncateThenMultiply {
            return vec![None; graph.nodes.len()];
        }
        let mut own = own_fractions(graph, bounds, f, self.room().max(0) as u32);
        if self.modulus.is_wide() && !self.same_scale {
            inverses::own_fractions(self, graph, bounds, f, &mut own);
        }
        own
    }

    /// The scales of all layers at `f` fraction bits, or the first layer that does not fit.
    pub(super) fn scales(
        &self,
        graph: &Graph,
        bounds: &[Bound],
        largest: &[[f64; 2]],
        f: u32,
    ) -> Result<Vec<Scale>, PlanError> {
        self.fits(&graph.inputs_name(), bounds[0].planned, f, 0)?;
        let own = self.own_fractions(graph, bounds, f);
        let layer = |(i, node): (usize, &Node)| -> Result<Scale, PlanError> {
            let [factor, term] = largest[i];
            let name = format!("layer '{}'", node.name);
            let Bound {
                planned: bound,
                worst,
                ..
            } = bounds[i + 1];
            let of = bounds[node.inputs[0]].planned;
            let to = own[i].unwrap_or(f);
            let scale = match &node.op {
                Op::Conv(_) | Op::Linear(_) | Op::Lookup(_) => {
                    self.product(&name, [of, factor], [bound, worst], to)
                }
                Op::Affine(a) => {
                    self.fits(&name, term, to, 0)?;
                    match a.scale.is_empty() {
                        true => Ok(Scale::default()),
                        false => {
                            let held = [bound, worst].map(|bound| bound + term);
                            self.product(&name, [of, factor], held, to)
                        }
                    }
                }
                Op::Function { function, domain } => {
                    let fraction = fraction_of(&own, node.inputs[0], f);
                    let ends = [bounds[node.inputs[0]], bounds[i + 1]];
                    let arguments = Arguments::new(ends, *domain, fraction);
                    self.function(&name, *function, arguments, to)
                }
                Op::Mul | Op::MatMul(_) => {
                    let product = inverses::of_product(node, &own, f);
                    self.square(&name, bound, f, [product, to])
                }
                Op::AveragePool(pool) => self.mean(&name, pool, bound, to),
                Op::Clip { .. } => {
                    let x = bounds[node.inputs[0]];
                    // A difference of two such numbers is held.
                    let room = f64::from(self.room() - 1 - to as i32).exp2();
                    let clip = clip::bounds(&node.op, x.worst_within, 0.98 * room);
                    self.fits(&name, x.planned + clip.far(), to, 0)?;
                    Ok(Scale {
                        clip,
                        ..Scale::default()
                    })
                }
                Op::Whole(_) => {
                    let x = bounds[node.inputs[0]];
                    let whole = whole::search(&node.op, x).map_err(|why| PlanError::Function {
                        layer: name.clone(),
                        why,
                    })?;
                    self.fits(&name, x.planned + whole.far(), f, 0)?;
                    Ok(Scale {
                        whole,
                        ..Scale::default()
                    })
                }
                _ => Ok(Scale::default()),
            }?;
            self.fits(&name, bound, to, 0)?;
            let fraction = own[i];
            Ok(Scale { fraction, ..scale })
        };
        let mut scales: Vec<Scale> = graph
            .nodes
            .iter()
            .enumerate()
            .map(layer)
            .collect::<Result<_, _>>()?;
        // Weights have one scale wherever they are used: the one that fits everywhere.
        let holders = first_holders(graph);
        for (i, &first) in holders.iter().enumerate() {
            if scales[i].weight_bits < scales[first].weight_bits {
                scales[first] = scales[i];
            }
        }
        Ok(holders.into_iter().map(|first| scales[first]).collect())
    }

    /// Whether `value` fits with `fraction` and `weight` bits after the point.
    fn fits(&self, name: &str, value: f64, fraction: u32, weight: u32) -> Result<(), PlanError> {
        let integer = integer_bits(value);
        if integer + (fraction + weight) as i32 <= self.room() {
            return Ok(());
        }
        Err(PlanError::Range {
            layer: name.into(),
            value,
            integer_bits: integer,
            fraction_bits: fraction,
            weight_bits: weight,
            modulus: self.modulus,
            room: self.room(),
        })
    }

    /// A product of numbers up to `of` with weights up to `factor`, provided for up to a bound; an input can lead to the
    /// worst.
    fn product(
        &self,
        name: &str,
        [of, factor]: [f64; 2],
        [bound, worst]: [f64; 2],
        f: u32,
    ) -> Result<Scale, PlanError> {
        if self.order == Order::TruncateThenMultiply {
            let half = f / 2;
            return Ok(Scale {
                input_trunc: half,
                weight_bits: half,
                trunc: 0,
                ..Scale::default()
            });
        }
        if self.same_scale {
            self.fits(name, bound, f, f)?;
            return Ok(Scale {
                input_trunc: 0,
                weight_bits: f,
                trunc: f,
                ..Scale::default()
            });
        }
        let most = if self.modulus.is_wide() {
            f as i32
        } else {
            MOST_WEIGHT_BITS
        };
        let most = most.max(MOST_BEYOND + integer_bits(of));
        let left = self.room() - f as i32 - integer_bits(bound);
        let bits = left.min(most);
        let bits = match self.modulus.is_wide() {
            true => {
                bits + more_bits(left - bits, bound, worst)
                    .clamp(0, (f as i32 + MORE_WEIGHT_BITS - most).max(0))
            }
            false => bits,
        };
        // A weight is a number of the ring or field, too, and what is truncated has a bit left.
        let bits = bits.min(self.room() - integer_bits(factor).max(1));
        if bits < FEWEST_WEIGHT_BITS {
            self.fits(name, factor, 0, FEWEST_WEIGHT_BITS as u32)?;
            self.fits(name, bound, f, FEWEST_WEIGHT_BITS as u32)?;
        }
        Ok(Scale {
            input_trunc: 0,
            weight_bits: bits as u32,
            trunc: bits as u32,
            ..Scale::default()
        })
    }

    /// A product of two computed values, which has `product` fraction bits, and its result `to`.
    fn square(
        &self,
        name: &str,
        bound: f64,
        f: u32,
        [product, to]: [u32; 2],
    ) -> Result<Scale, PlanError> {
        if self.order == Order::TruncateThenMultiply {
            // The other factor drops the other `f - f / 2` bits.
            return Ok(Scale {
                input_trunc: f / 2,
                weight_bits: 0,
                trunc: 0,
                ..Scale::default()
            });
        }
        self.fits(name, bound, f, product - f)?;
        Ok(Scale {
            input_trunc: 0,
            weight_bits: 0,
            trunc: product - to,
            ..Scale::default()
        })
    }

    /// An elementary function, by the way that every protocol has.
    fn function(
        &self,
        name: &str,
        function: Function,
        arguments: Arguments,
        f: u32,
    ) -> Result<Scale, PlanError> {
        let refused = |why: String| PlanError::Function {
            layer: name.into(),
            why,
        };
        let planned =
            PlannedFunction::choose(function, arguments, self.functions, self.modulus.bits(), f);
        let planned = planned.map_err(refused)?;
        Ok(Scale {
            function: Some(planned),
            ..Scale::default()
        })
    }

    /// The window's sum times `round(2^s / size)`, then `s` bits dropped.
    fn mean(&self, name: &str, pool: &Pool, bound: f64, f: u32) -> Result<Scale, PlanError> {
        let sizes = || (0..len(&pool.out)).map(|e| pool.divisor(e));
        let largest = sizes().max().unwrap_or(1);
        let log = largest.ilog2();
        if largest.is_power_of_two() && sizes().all(|size| size == largest) {
            self.fits(name, bound, f, log)?;
            return Ok(Scale {
                input_trunc: 0,
                weight_bits: log,
                trunc: log,
                ..Scale::default()
            });
        }
        let room = self.room() - f as i32 - integer_bits(bound);
        let bits = room.min(log as i32 + MOST_WEIGHT_BITS.max(f as i32));
        if bits < log as i32 + FEWEST_WEIGHT_BITS {
            self.fits(name, bound, f, log + FEWEST_WEIGHT_BITS as u32)?;
        }
        Ok(Scale {
            input_trunc: 0,
            weight_bits: bits as u32,
            trunc: bits as u32,
            ..Scale::default()
        })
    }

    /// The largest value that the layer's result can have before it wraps.
    pub(super) fn capacity(&self, scale: Scale, f: u32) -> f64 {
        let f = scale.fraction.unwrap_or(f);
        f64::from(self.room() - (f + scale.trunc) as i32).exp2()
    }
}

impl Limits {
    /// The fraction bits of each value when it is used: fewer where a product truncates it first.
    pub(super) fn kept_bits(&self, graph: &Graph, scales: &[Scale], f: u32) -> Vec<u32> {
        let own = scales.iter().map(|scale| scale.fraction.unwrap_or(f));
        let mut kept: Vec<u32> = std::iter::once(f).chain(own).collect();
        for (node, scale) in graph.nodes.iter().zip(scales) {
            for &id in &node.inputs {
                kept[id] = kept[id].min(f.max(kept[id]) - scale.input_trunc);
            }
        }
        kept
    }
}

/// The largest factor and the largest term of every layer.
pub(super) fn largest_weights(graph: &Graph) -> Vec<[f64; 2]> {
    let largest = |values: &Weights| {
        let (low, high) = ends(values);
        f64::from(high.max(-low).max(0.0))
    };
    let of_node = |node: &Node| node.op.weights().map(largest);
    graph.nodes.iter().map(of_node).collect()
}

/// The fraction bits of a value: its layer's own, or `f`.
pub(super) fn fraction_of(own: &[Option<u32>], id: ValueId, f: u32) -> u32 {
    id.checked_sub(1).and_then(|layer| own[layer]).unwrap_or(f)
}

#[cfg(test)]
mod tests {
    use super::super::PlanOptions;
    use super::super::graphs::{graph, node};
    use super::*;
    use crate::graph::Linear;

    /// What an input can lead to keeps its room; where there is none for that, 16 times what is planned for.
    #[test]
    fn more_bits_of_weights_take_no_room_from_inputs() {
        let more = |left, worst| more_bits(left, 8.0, worst);
        assert_eq!(more(10, 8.0), 10);
        assert_eq!(more(10, 1000.0), 4);
        assert_eq!(more(10, 1e6), 6);
        assert_eq!(more(3, 1e6), -1);
    }

    /// Weights keep four bits more than the values, and those that multiply columns up to 4096 more than those of
    /// columns up to 16, as far as the product leaves room.
    #[test]
    fn weights_of_large_numbers_keep_more_bits() {
        let bits = |range: f64, weight: f32, f: u32| {
            let linear = Op::Linear(Linear {
                rows: 1,
                k: 2,
                n: 1,
                weight: vec![weight; 2].into(),
                bias: vec![].into(),
            });
            let graph = graph(&[2], vec![node(linear, &[0], &[1])]);
            let options = PlanOptions {
                input_range: Some(range),
                fraction_bits: Some(f),
                ..PlanOptions::default()
            };
            super::super::plan(&graph, &options).unwrap().layers[0].weight_bits
        };
        assert_eq!(bits(15.0, 0.01, 18), 22);
        assert_eq!(bits(4000.0, 0.01, 18), 28);
        assert_eq!(bits(4000.0, 30.0, 18), 26);
        assert_eq!(bits(15.0, 0.01, 24), 28);
        assert_eq!(bits(15.0, 1000.0, 24), 23);
    }
}
