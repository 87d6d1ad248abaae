//! How the values of a plan are rounded on their way, for a trial in the clear.

use std::ops::Range;
use std::rc::Rc;

use super::functions::{Functions, PlannedFunction};
use super::is_field;
use super::ranges::Random;
use super::ranks::Ranks;
use super::scales::Scale;
use super::{PlanError, PlanOptions};
use crate::graph::{Graph, ValueId};

/// About the largest error of functions by tables, in units of the last place; of reciprocals and
/// inverse roots a share of the result, too.
const TABLES: f64 = 4.0;
const TABLES_SHARE: f64 = 1.0 / 4096.0;
/// What such an error counts for the last truncation.
const LAST: f64 = 2.0;

/// By what a field is more likely to round up: where two bits are dropped, an exact number in one of 16.
const FIELD: f64 = 1.0 / 15.0;

/// Twice the relative error of float32.
const FLOAT: f64 = 1.0 / (1u64 << 23) as f64;

/// How a value is rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// To the nearest number, as inputs are.
    Encoded,
    /// Not at all: it is a sum or a choice of others.
    Exact,
    /// As its protocol truncates.
    Truncated,
    /// So, after an error of up to so many units, and of so many more for every unit of value.
    Function(f64, f64),
}

/// What a plan rounds.
#[derive(Clone, PartialEq)]
pub(super) struct Rounding {
    /// The fraction bits of every value when it is used.
    pub fractions: Vec<u32>,
    /// Those of every layer's factors.
    pub weights: Vec<u32>,
    /// How every value is rounded.
    pub steps: Vec<Step>,
    /// Whether a truncation may round up what is exact, as over a field.
    pub field: bool,
    /// Whether every truncation rounds down, as where tensors have widths of their own.
    pub exact: bool,
    /// Which values are ranks, and not rounded so.
    pub ranks: Option<Rc<Ranks>>,
}

/// The signs of the errors of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signs {
    Negative,
    Positive,
    /// Of either, by layer.
    Mixed,
    /// Of either, and of any size, by chance.
    ByChance,
}

/// Which errors a repetition of a trial makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Of either sign, by chance.
    ByChance,
    /// Truncations round down, as where they are exact; the errors of a layer's functions have one sign.
    Down(Signs),
}

impl Manner {
    /// The error of a function that makes value `id`, of at most 1 either way.
    fn error(self, id: ValueId, random: &mut Random) -> f64 {
        match self {
            Manner::ByChance | Manner::Down(Signs::ByChance) => 2.0 * random.uniform() - 1.0,
            Manner::Down(Signs::Mixed) if !(id / 2).is_multiple_of(2) => -1.0,
            Manner::Down(Signs::Negative) => -1.0,
            Manner::Down(Signs::Positive | Signs::Mixed) => 1.0,
        }
    }
}

impl Rounding {
    /// Of layers with these scales, whose values have such fraction bits, `kept` of them when used.
    pub(super) fn new(
        graph: &Graph,
        options: &PlanOptions,
        scales: &[Scale],
        fraction: impl Fn(ValueId) -> u32,
        kept: Vec<u32>,
    ) -> Result<Self, PlanError> {
        let mut steps = vec![match kept[0] < fraction(0) {
            true => Step::Truncated,
            false => Step::Encoded,
        }];
        for (i, (node, scale)) in graph.nodes.iter().zip(scales).enumerate() {
            let argument = node
                .inputs
                .iter()
                .map(|&id| fraction(id))
                .max()
                .unwrap_or(0);
            let narrowed = fraction(i + 1) < argument || kept[i + 1] < fraction(i + 1);
            steps.push(match scale.function {
                Some(function) => {
                    let made = fraction(i + 1);
                    let [units, share] = errors(function, options, made, argument)?;
                    let of_used = (f64::from(kept[i + 1]) - f64::from(made)).exp2();
                    Step::Function(units * of_used, share * of_used)
                }
                None if scale.trunc > 0 || narrowed => Step::Truncated,
                None => Step::Exact,
            });
        }
        Ok(Rounding {
            fractions: kept,
            weights: scales.iter().map(|scale| scale.weight_bits).collect(),
            steps,
            field: is_field(options.ring_bits),
            exact: options.precision.is_some(),
            ranks: None,
        })
    }

    /// The same with nothing rounded but these values and the factors of their layers.
    pub(super) fn alone(&self, ids: &Range<ValueId>) -> Self {
        /// As good as not rounded.
        const FINE: u32 = 60;
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

    /// How many units value `id` has, of which an exact `units` is what it should be: `unit` of them are 1.
    pub(super) fn round(
        &self,
        id: ValueId,
        units: f64,
        unit: f64,
        manner: Manner,
        random: &mut Random,
    ) -> f64 {
        if !units.is_finite() {
            return units;
        }
        let chance = random.uniform();
        let error = match self.steps[id] {
            Step::Exact | Step::Encoded => return units.round(),
            Step::Truncated => 0.0,
            Step::Function(most, relative) => {
                let most = most + relative * units.abs() / unit;
                most * manner.error(id, random)
            }
        };
        let spare = if self.field { FIELD * chance } else { 0.0 };
        match manner {
            Manner::ByChance => (units + error + chance + spare).floor(),
            // What float32 makes of a whole number of units may be a little less.
            Manner::Down(_) => (units + error + (units.abs() * FLOAT).min(0.5)).floor(),
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
        let share = match function {
            PlannedFunction::Reciprocal { .. } | PlannedFunction::InverseSqrt { .. } => {
                TABLES_SHARE * f64::from(f).exp2()
            }
            _ => 0.0,
        };
        return Ok([(TABLES - LAST) / 2.0, share]);
    }
    let of = |value: f64| {
        let function = function.elementary(options.functions, options.ring_bits, f, argument);
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
mod tests {
    use super::super::graphs::{graph, node};
    use super::*;
    use crate::graph::{Function, Op};

    /// All that value 0, an exact `v`, becomes, in units of one fraction bit.
    fn becomes(step: Step, field: bool, v: f64, manner: Manner) -> Vec<i64> {
        let rounding = Rounding {
            fractions: vec![1],
            weights: vec![],
            steps: vec![step],
            field,
            exact: false,
            ranks: None,
        };
        let mut random = Random(7);
        let mut all: Vec<i64> = (0..1000)
            .map(|_| rounding.round(0, 2.0 * v, 2.0, manner, &mut random) as i64)
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    const DOWN: Manner = Manner::Down(Signs::Negative);

    #[test]
    fn truncations_lose_or_toss() {
        assert_eq!(becomes(Step::Truncated, false, 1.25, DOWN), [2]);
        assert_eq!(
            becomes(Step::Truncated, false, 1.25, Manner::ByChance),
            [2, 3]
        );
        assert_eq!(becomes(Step::Truncated, false, 1.5, DOWN), [3]);
        // What float32 makes of 3 units.
        assert_eq!(becomes(Step::Truncated, false, 1.5 - 1e-7, DOWN), [3]);
    }

    #[test]
    fn sums_and_choices_are_exact() {
        for manner in [DOWN, Manner::ByChance] {
            assert_eq!(becomes(Step::Exact, true, 1.5 - 1e-7, manner), [3]);
        }
    }

    #[test]
    fn a_field_rounds_up_an_exact_number_at_times() {
        assert_eq!(becomes(Step::Truncated, false, 1.5, Manner::ByChance), [3]);
        assert_eq!(
            becomes(Step::Truncated, true, 1.5, Manner::ByChance),
            [3, 4]
        );
    }

    #[test]
    fn functions_err_by_what_they_state() {
        let function = Step::Function(1.0, 2.0);
        // 3 units, less 1 + 2 * 1.5.
        assert_eq!(becomes(function, false, 1.5, DOWN), [-1]);
        let above = Manner::Down(Signs::Positive);
        assert_eq!(becomes(function, false, 1.5, above), [7]);
        assert_eq!(
            becomes(function, false, 1.5, Manner::ByChance),
            [-1, 0, 1, 2, 3, 4, 5, 6, 7]
        );
    }

    #[test]
    fn what_is_beyond_all_numbers_stays_there() {
        let rounding = Rounding {
            fractions: vec![1],
            weights: vec![],
            steps: vec![Step::Function(1.0, 0.0)],
            field: false,
            exact: false,
            ranks: None,
        };
        for v in [f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(rounding.round(0, v, 2.0, DOWN, &mut Random(7)), v);
        }
    }

    /// A sigmoid and its product with the input: with factors truncated before the product, the input
    /// is truncated, and the sigmoid's error is one of fewer bits.
    #[test]
    fn steps_follow_the_order_of_truncation() {
        let domain = (f32::NEG_INFINITY, f32::INFINITY);
        let function = Function::Sigmoid;
        let graph = graph(
            &[1],
            vec![
                node(Op::Function { function, domain }, &[0], &[1]),
                node(Op::Mul, &[0, 1], &[1]),
                node(Op::Relu, &[2], &[1]),
            ],
        );
        let options = PlanOptions::default();
        let scales = [
            Scale {
                function: Some(PlannedFunction::Sigmoid),
                ..Scale::default()
            },
            Scale {
                trunc: 8,
                ..Scale::default()
            },
            Scale::default(),
        ];
        let steps = |kept: [u32; 4]| {
            let rounding = Rounding::new(&graph, &options, &scales, |_| 16, kept.to_vec());
            rounding.unwrap_or_else(|e| panic!("{e}")).steps
        };
        let after = steps([16; 4]);
        assert_eq!(
            [after[0], after[2], after[3]],
            [Step::Encoded, Step::Truncated, Step::Exact]
        );
        let before = steps([8, 8, 16, 16]);
        assert_eq!(before[0], Step::Truncated);
        match (after[1], before[1]) {
            (Step::Function(after, _), Step::Function(before, _)) => {
                assert!(after > 0.0 && before == after / 256.0, "{after}, {before}");
            }
            other => panic!("{other:?}"),
        }
    }
}
