//! How the values of a plan are rounded on their way, for a trial in the clear.

use std::ops::Range;
use std::sync::Arc;

use super::functions::{Functions, PlannedFunction};
use super::ranks::Ranks;
use super::scales::Scale;
use super::units::{Chances, below, in_units, nearest};
use super::{PlanError, PlanOptions};
use crate::graph::{Graph, ValueId};
use crate::reference::parts;

/// About the largest error of functions by tables, in units of the last place; of reciprocals,
/// roots and inverse roots as many for every unit of the result, too, whose fraction has so many bits at least inside.
const TABLES: f64 = 4.0;
const INSIDE: u32 = 12;
/// What such an error counts for the last truncation.
const LAST: f64 = 2.0;

/// The bits from which on, if a truncation over a wide field drops them, it hardly ever rounds up what is exact.
const SELDOM: u32 = 16;

/// Fraction bits of what is as good as not rounded.
pub(super) const FINE: u32 = 60;

/// How many additions take as long as an element takes to be rounded.
const ROUNDED: usize = 4;

/// Twice the relative error of float32.
const FLOAT: f64 = 1.0 / (1u64 << 23) as f64;

/// How a value is rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// A value that is rounded to the nearest number, as inputs are.
    Encoded,
    /// A value that is not rounded: a sum or a choice of others.
    Exact,
    /// A value that the protocol truncates by so many bits.
    Truncated(u32),
    /// A function's value, truncated after an error of up to so many units, and of so many more for every unit
    /// of value.
    Function(f64, f64),
}

/// What a plan rounds.
#[derive(Clone, PartialEq)]
pub(super) struct Rounding {
    /// The fraction bits with which every value is used.
    pub fractions: Vec<u32>,
    /// The fraction bits of every layer's factors.
    pub weights: Vec<u32>,
    /// How every value is rounded.
    pub steps: Vec<Step>,
    /// Over a field, from how many dropped bits on a truncation hardly ever rounds up what is exact.
    pub field: Option<u32>,
    /// Whether every truncation rounds down, as where tensors have widths of their own.
    pub exact: bool,
    /// Which values are ranks, and not rounded so.
    pub ranks: Option<Arc<Ranks>>,
}

/// The signs of the errors of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signs {
    Negative,
    Positive,
    /// Errors of either sign, by layer.
    Mixed,
    /// Errors of either sign, and any size, by chance.
    ByChance,
}

/// Which errors a repetition of a trial makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Errors of either sign, by chance.
    ByChance,
    /// Truncations round down, as where they are exact; the errors of a layer's functions have one sign.
    Down(Signs),
}

impl Manner {
    /// The sign of the errors of the functions that make value `id`, if all of its elements have one.
    fn sign(self, id: ValueId) -> Option<f64> {
        match self {
            Manner::ByChance | Manner::Down(Signs::ByChance) => None,
            Manner::Down(Signs::Mixed) if !(id / 2).is_multiple_of(2) => Some(-1.0),
            Manner::Down(Signs::Negative) => Some(-1.0),
            Manner::Down(Signs::Positive | Signs::Mixed) => Some(1.0),
        }
    }

    /// What is drawn for value `id`: how its truncations round, and the errors of its functions.
    fn chances(self, id: ValueId) -> [Chances; 2] {
        let number = match self {
            Manner::ByChance => 0,
            Manner::Down(signs) => 1 + signs as usize,
        };
        [0, 1].map(|of| Chances::new([number, id, of]))
    }
}

impl Rounding {
    /// The rounding of layers with these scales, whose values have such fraction bits, `kept` of them when
    /// used.
    pub(super) fn new(
        graph: &Graph,
        options: &PlanOptions,
        scales: &[Scale],
        fraction: impl Fn(ValueId) -> u32,
        kept: Vec<u32>,
    ) -> Result<Self, PlanError> {
        let mut steps = vec![match fraction(0).saturating_sub(kept[0]) {
            0 => Step::Encoded,
            dropped => Step::Truncated(dropped),
        }];
        for (i, (node, scale)) in graph.nodes.iter().zip(scales).enumerate() {
            let argument = node
                .inputs
                .iter()
                .map(|&id| fraction(id))
                .max()
                .unwrap_or(0);
            let narrowed = argument.max(fraction(i + 1)) - fraction(i + 1).min(kept[i + 1]);
            steps.push(match scale.function {
                Some(function) => {
                    let made = fraction(i + 1);
                    let [units, share] = errors(function, options, made, argument)?;
                    let of_used = (f64::from(kept[i + 1]) - f64::from(made)).exp2();
                    Step::Function(units * of_used, share * of_used)
                }
                // Of a value that is truncated twice, the truncation of fewer bits is the rougher one.
                None => match [scale.trunc, narrowed]
                    .into_iter()
                    .filter(|&bits| bits > 0)
                    .min()
                {
                    Some(dropped) => Step::Truncated(dropped),
                    None => Step::Exact,
                },
            });
        }
        Ok(Rounding {
            fractions: kept,
            weights: scales.iter().map(|scale| scale.weight_bits).collect(),
            steps,
            field: (options.modulus.is_prime()).then(|| match options.modulus.is_wide() {
                true => SELDOM,
                false => u32::MAX,
            }),
            exact: options.precision.is_some(),
            ranks: None,
        })
    }

    /// This rounding for the values `ids` and the factors of their layers alone: nothing else is rounded.
    pub(super) fn alone(&self, ids: &Range<ValueId>) -> Self {
        let mut alone = self.clone();
        for (at, bits) in alone.fractions.iter_mut().enumerate() {
            if !ids.contains(&at) {
                (*bits, alone.steps[at]) = (FINE, Step::Exact);
            }
        }
        for (layer, bits) in alone.weights.iter_mut().enumerate() {
            if !ids.contains(&(layer + 1)) {
                *bits = FINE;
            }
        }
        alone
    }

    /// The ranks, if value `id` is one of them.
    pub(super) fn ranks_of(&self, id: ValueId) -> Option<&Ranks> {
        self.ranks.as_deref().filter(|ranks| ranks.has(id))
    }

    /// Rounds elements of value `id`, the first of which stands at place `first` of all that are rounded.
    pub(super) fn round(&self, id: ValueId, values: &mut [f32], first: usize, manner: Manner) {
        let unit = f64::from(self.fractions[id]).exp2();
        let step = self.steps[id];
        let of = Made {
            unit,
            step,
            spare: self.field.map_or(0.0, |seldom| spare(step, seldom)),
            sign: manner.sign(id),
            chances: manner.chances(id),
        };
        parts(values, ROUNDED, |start, values| {
            let first = (first + start) as u32;
            match manner {
                Manner::ByChance => of.by_chance(values, first),
                Manner::Down(_) => of.down(values, first),
            }
        });
    }
}

/// How much more likely a field is to round up than a ring. Of a number that is a whole number of units already it
/// makes one more where the dropped bits of its mask are all ones, and the sum passes the modulus, as at most half of all
/// do (`docs/spec/liu24.md`, section 3). A trial has few inputs, so that what happens to one of a hundred thousand
/// happens to one of 16 in it.
fn spare(step: Step, seldom: u32) -> f64 {
    match step {
        Step::Truncated(dropped) if dropped >= seldom => {
            1.0 / (f64::from(dropped + 1).exp2() - 1.0)
        }
        Step::Truncated(_) | Step::Function(..) => 1.0 / 15.0,
        Step::Encoded | Step::Exact => 0.0,
    }
}

/// How the elements of a value are made, but for the last truncation.
struct Made {
    unit: f64,
    step: Step,
    spare: f64,
    sign: Option<f64>,
    chances: [Chances; 2],
}

impl Made {
    // What is in a register need not be read again for every element: hence `move`.
    fn by_chance(&self, values: &mut [f32], first: u32) {
        let &Made { unit, spare, .. } = self;
        let [chances, errors] = self.chances;
        let raised = move |place| (1.0 + spare) * chances.at(place);
        match self.step {
            Step::Exact | Step::Encoded => in_units(values, unit, |_, x| nearest(x)),
            Step::Truncated(_) => in_units(values, unit, move |i, x| {
                below(x + raised(first.wrapping_add(i)))
            }),
            Step::Function(most, relative) => in_units(values, unit, move |i, x| {
                let place = first.wrapping_add(i);
                let most = most + relative * x.abs() / unit;
                below(x + most * (2.0 * errors.at(place) - 1.0) + raised(place))
            }),
        }
    }

    fn down(&self, values: &mut [f32], first: u32) {
        let unit = self.unit;
        let [_, errors] = self.chances;
        // What float32 makes of a whole number of units may be a little less.
        let whole = |x: f64| (x.abs() * FLOAT).min(0.5);
        match (self.step, self.sign) {
            (Step::Exact | Step::Encoded, _) => in_units(values, unit, |_, x| nearest(x)),
            (Step::Truncated(_), _) => in_units(values, unit, move |_, x| below(x + whole(x))),
            (Step::Function(most, relative), Some(sign)) => in_units(values, unit, move |_, x| {
                let most = most + relative * x.abs() / unit;
                below(x + most * sign + whole(x))
            }),
            (Step::Function(most, relative), None) => in_units(values, unit, move |i, x| {
                let most = most + relative * x.abs() / unit;
                let error = most * (2.0 * errors.at(first.wrapping_add(i)) - 1.0);
                below(x + error + whole(x))
            }),
        }
    }
}

/// The error of a function's result with `f` fraction bits but for its last truncation, in units, and how
/// many more for every unit of value. What is stated counts 2 units for every truncation, all of one sign,
/// at the worst argument: a trial takes a share.
fn errors(
    function: PlannedFunction,
    options: &PlanOptions,
    f: u32,
    argument: u32,
) -> Result<[f64; 2], PlanError> {
    if options.precision.is_some() {
        let units = (TABLES - LAST) / 2.0;
        let share = match function {
            PlannedFunction::Reciprocal { .. }
            | PlannedFunction::InverseSqrt { .. }
            | PlannedFunction::SquareRoot { .. } => {
                units * (-f64::from(INSIDE.saturating_sub(f))).exp2()
            }
            _ => 0.0,
        };
        return Ok([units, share]);
    }
    let of = |value: f64| {
        let function = function.elementary(options.functions, options.modulus.bits(), f, argument);
        function.and_then(|function| function.tolerance(value))
    };
    let refused = |e| PlanError::Option(format!("{}: {e}", function.name()));
    let (at_zero, at_one) = (of(0.0).map_err(refused)?, of(1.0).map_err(refused)?);
    let inside = (at_zero - LAST).max(0.0);
    // What a fast one is off by is no rounding: it is the same at every element.
    let share = match options.functions {
        Functions::Accurate => [8.0, 4.0],
        Functions::Fast => [1.0, 1.0],
    };
    Ok([inside / share[0], (at_one - at_zero) / share[1]])
}

#[cfg(test)]
mod tests;
