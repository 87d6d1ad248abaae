//! The fixed-point scale of every value and weight for a given number of fraction bits.

use super::functions::PlannedFunction;
use super::ranges::{self, Bound, FAR};
use super::width::is_wide;
use super::{Order, PlanError, first_holders};
use crate::graph::{Function, Graph, Op, Pool, len};

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
}

/// What the scales must hold.
pub(super) struct Limits {
    pub ring_bits: u32,
    pub order: Order,
    /// Whether weights carry the fraction bits of the values.
    pub same_scale: bool,
}

/// The fewest fraction bits of a weight that are worth planning.
const FEWEST_WEIGHT_BITS: i32 = 5;
/// The most that help: a float32 weight has 24 bits, and the activations fewer.
const MOST_WEIGHT_BITS: i32 = 20;

/// Bits before the point that hold `value`, with a little room for rounding.
pub(super) fn integer_bits(value: f64) -> i32 {
    (value * 1.01).clamp(f64::MIN_POSITIVE, FAR).log2().ceil() as i32
}

impl Limits {
    /// Bits of magnitude: truncation takes values below a quarter of the ring or field.
    fn room(&self) -> i32 {
        self.ring_bits as i32 - 2
    }

    /// The scales of all layers at `f` fraction bits, or the first layer that does not fit.
    pub(super) fn scales(
        &self,
        graph: &Graph,
        bounds: &[Bound],
        f: u32,
    ) -> Result<Vec<Scale>, PlanError> {
        self.fits(
            &format!("input '{}'", graph.input_name),
            bounds[0].planned,
            f,
            0,
        )?;
        let layer = |(i, node): (usize, &crate::graph::Node)| {
            let name = format!("layer '{}'", node.name);
            let bound = bounds[i + 1].planned;
            self.fits(&name, bound, f, 0)?;
            match &node.op {
                Op::Conv(_) | Op::Linear(_) => self.product(&name, bound, f),
                Op::Affine(a) if a.scale.is_empty() => Ok(Scale::default()),
                Op::Affine(a) => {
                    let shift = a
                        .shift
                        .iter()
                        .map(|v| f64::from(v.abs()))
                        .fold(0.0, f64::max);
                    self.product(&name, bound + shift, f)
                }
                Op::Function { function, domain } => {
                    let x = bounds[node.inputs[0]].within;
                    self.function(&name, *function, ranges::arguments(x, *domain), f)
                }
                Op::Mul => self.square(&name, bound, f),
                Op::AveragePool(pool) => self.mean(&name, pool, bound, f),
                Op::Clip { low, high } => {
                    let far = low.unwrap_or(0.0).abs().max(high.unwrap_or(0.0).abs());
                    self.fits(&name, bounds[node.inputs[0]].planned + f64::from(far), f, 0)?;
                    Ok(Scale::default())
                }
                _ => Ok(Scale::default()),
            }
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
            ring_bits: self.ring_bits,
            room: self.room(),
        })
    }

    /// A product with weights.
    fn product(&self, name: &str, bound: f64, f: u32) -> Result<Scale, PlanError> {
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
        let most = if is_wide(self.ring_bits) {
            f as i32
        } else {
            MOST_WEIGHT_BITS
        };
        let bits = (self.room() - f as i32 - integer_bits(bound)).min(most);
        if bits < FEWEST_WEIGHT_BITS {
            self.fits(name, bound, f, FEWEST_WEIGHT_BITS as u32)?;
        }
        Ok(Scale {
            input_trunc: 0,
            weight_bits: bits as u32,
            trunc: bits as u32,
            ..Scale::default()
        })
    }

    /// A product of two computed values.
    fn square(&self, name: &str, bound: f64, f: u32) -> Result<Scale, PlanError> {
        if self.order == Order::TruncateThenMultiply {
            // The other factor drops the other `f - f / 2` bits.
            return Ok(Scale {
                input_trunc: f / 2,
                weight_bits: 0,
                trunc: 0,
                ..Scale::default()
            });
        }
        self.fits(name, bound, f, f)?;
        Ok(Scale {
            input_trunc: 0,
            weight_bits: 0,
            trunc: f,
            ..Scale::default()
        })
    }

    /// An elementary function, by the way that every protocol has.
    fn function(
        &self,
        name: &str,
        function: Function,
        x: ranges::Interval,
        f: u32,
    ) -> Result<Scale, PlanError> {
        let refused = |why: String| PlanError::Function {
            layer: name.into(),
            why,
        };
        let planned = PlannedFunction::choose(function, x, f).map_err(refused)?;
        let possible = planned.elementary(self.ring_bits, f);
        possible.map_err(|e| refused(e.to_string()))?;
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
        let bits = room.min(log as i32 + MOST_WEIGHT_BITS);
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
        f64::from(self.room() - (f + scale.trunc) as i32).exp2()
    }
}
