//! Chooses together what a plan provides for and how precise it is.
//!
//! Four kinds of ranges are tried: those of the samples and of inputs made from them, those of the worst
//! case, those of the worst case wherever it is not much wider, and those of the samples alone, where no
//! others fit; with each, several numbers of fraction bits, or of bits where every tensor has its own. Of the
//! plans whose rounding, tried out in the clear, disturbs the outputs little, the one is taken about
//! which there are the fewest doubts.

use std::rc::Rc;

use super::bounds::Inputs;
use super::doubts::{doubts, is_rough, rounding};
use super::mixed::{self, Assigned, Precision, TRIED};
use super::ranges::Bound;
use super::scales::{Limits, Scale};
use super::trial::{Rounding, Trial};
use super::width::is_wide;
use super::{Order, PlanError, PlanOptions};
use crate::graph::{Graph, ValueId};

/// The fraction bits that are taken over 64 or 61 bits where nothing speaks for others.
const USUAL: u32 = 18;
/// The error of a trial that is little, of the outputs' deviation: where there is room to spare, where
/// fewer bits mean fewer bytes, and where there is no choice but between errors and doubts.
const LITTLE: f64 = 1.0 / 1024.0;
const LITTLE_MIXED: f64 = 1.0 / 256.0;
const LITTLE_NARROW: f64 = 1.0 / 128.0;
/// How many times wider than what was seen the worst case may be to be provided for at any rate.
const NEAR: f64 = 16.0;
/// How many times the error of its trial a plan states.
const CAUTION: f64 = 4.0;

/// A plan's ranges, scales and what is doubtful about them.
pub(super) struct Chosen<T> {
    pub bounds: Rc<[Bound]>,
    pub made: T,
    pub warnings: Vec<String>,
    /// The largest error of an output that is to be expected.
    pub error: f64,
}

/// The scales of all layers at so many fraction bits.
pub(super) struct AtFraction {
    pub f: u32,
    pub scales: Vec<Scale>,
}

impl AtFraction {
    /// The fraction bits of a value: its layer's own, or those of all values.
    pub(super) fn fraction(&self, id: ValueId) -> u32 {
        let own = id
            .checked_sub(1)
            .and_then(|layer| self.scales[layer].fraction);
        own.unwrap_or(self.f)
    }
}

/// One way to plan.
struct Candidate<T> {
    bounds: Rc<[Bound]>,
    made: T,
    doubts: Vec<String>,
    rounding: Rounding,
}

/// What a choice is made for.
pub(super) struct Choice<'a> {
    pub graph: &'a Graph,
    pub options: &'a PlanOptions<'a>,
    ranges: [Rc<[Bound]>; 4],
    trial: Trial,
}

impl<'a> Choice<'a> {
    pub(super) fn new(graph: &'a Graph, options: &'a PlanOptions) -> Result<Self, PlanError> {
        let inputs = Inputs::new(graph, options)?;
        let observed = inputs.observed(graph, options.margin)?;
        let widened: Rc<[Bound]> = observed
            .iter()
            .map(|bound| bound.up_to_worst(NEAR))
            .collect();
        Ok(Choice {
            graph,
            options,
            // Where both are as good, what was seen leaves more bits to the weights.
            ranges: [
                observed.into(),
                widened,
                inputs.worst(graph).into(),
                inputs.typical(graph, options.margin)?.into(),
            ],
            trial: Trial::new(graph, &inputs)?,
        })
    }

    /// The fraction bits and scales over a ring or field: of `asked` fraction bits, if given. `narrow`
    /// says whether all comparisons are narrow, for which up to two fraction bits are given up.
    pub(super) fn fraction_bits(
        &self,
        limits: &Limits,
        asked: Option<u32>,
        narrow: impl Fn(&[Bound], &AtFraction) -> bool,
    ) -> Result<Chosen<AtFraction>, PlanError> {
        let wide = is_wide(limits.ring_bits);
        let fractions = asked.map_or_else(|| preferred(wide, limits.order), |f| vec![f]);
        let little = if wide { LITTLE } else { LITTLE_NARROW };
        let fewest = fractions.iter().copied().min().unwrap_or(USUAL);
        let made = |bounds: &Rc<[Bound]>, f: u32| self.at_fraction(limits, bounds, f);
        let all = self
            .ranges
            .iter()
            .flat_map(|bounds| fractions.iter().map(move |&f| (bounds, f)));
        let fitting: Vec<_> = all.filter_map(|(bounds, f)| made(bounds, f).ok()).collect();
        if fitting.is_empty() {
            // Nothing fits: say which layer stands in the way of the fewest bits.
            return Err(match made(&self.ranges[0], fewest) {
                Err(refused) => refused,
                Ok(_) => PlanError::Option("no number of fraction bits fits the model".into()),
            });
        }
        let (best, error) = self.best(fitting, little, wide)?;
        if asked.is_some() || narrow(&best.bounds, &best.made) {
            return self.chosen(best, error);
        }
        let f = best.made.f;
        let fewer = (f.saturating_sub(2).max(2)..f).rev();
        for other in fewer.filter_map(|f| made(&best.bounds, f).ok()) {
            if !narrow(&other.bounds, &other.made) || other.doubts.len() > best.doubts.len() {
                continue;
            }
            let others = self.trial.error(self.graph, &other.rounding)?;
            if others <= error.max(little) {
                return self.chosen(other, others);
            }
        }
        self.chosen(best, error)
    }

    /// The widths where every tensor has its own.
    pub(super) fn widths(&self, precision: Precision) -> Result<Chosen<Assigned>, PlanError> {
        let tried = match precision {
            Precision::Auto => TRIED.to_vec(),
            Precision::Bits(bits) => vec![bits],
        };
        let made = |bounds: &Rc<[Bound]>, bits: u32| self.at_precision(bounds, bits);
        let all = self
            .ranges
            .iter()
            .flat_map(|bounds| tried.iter().map(move |&bits| (bounds, bits)));
        let fitting: Vec<_> = all
            .filter_map(|(bounds, bits)| made(bounds, bits).ok())
            .collect();
        if fitting.is_empty() {
            return Err(match made(&self.ranges[0], tried[0]) {
                Err(refused) => refused,
                Ok(_) => PlanError::Option("no precision fits the model".into()),
            });
        }
        let (best, error) = self.best(fitting, LITTLE_MIXED, true)?;
        self.chosen(best, error)
    }

    /// The candidate of the fewest doubts with little error, and its error; else that of the least. Of
    /// those with as many doubts the first if `first` is asked for, else that of the least error.
    fn best<T>(
        &self,
        mut candidates: Vec<Candidate<T>>,
        little: f64,
        first: bool,
    ) -> Result<(Candidate<T>, f64), PlanError> {
        candidates.sort_by_key(|candidate| candidate.doubts.len());
        let mut best: Option<(Candidate<T>, f64)> = None;
        for candidate in candidates {
            if let Some((known, least)) = &best
                && *least <= little
                && (first || known.doubts.len() < candidate.doubts.len())
            {
                break;
            }
            let error = self.trial.error(self.graph, &candidate.rounding)?;
            if best.as_ref().is_none_or(|(_, least)| error < *least) {
                best = Some((candidate, error));
            }
        }
        best.ok_or_else(|| PlanError::Option("there is nothing to choose from".into()))
    }

    fn chosen<T>(&self, best: Candidate<T>, error: f64) -> Result<Chosen<T>, PlanError> {
        let spread = self.trial.spread();
        let mut warnings = best.doubts;
        if is_rough(error) {
            let layer = match self.trial.worst(self.graph, &best.rounding)?.checked_sub(1) {
                Some(layer) => format!("layer '{}'", self.graph.nodes[layer].name),
                None => format!("input '{}'", self.graph.input_name),
            };
            warnings.push(rounding(self.options, error, spread, &layer));
        }
        Ok(Chosen {
            bounds: best.bounds,
            made: best.made,
            warnings,
            error: CAUTION * error * spread,
        })
    }

    fn at_fraction(
        &self,
        limits: &Limits,
        bounds: &Rc<[Bound]>,
        f: u32,
    ) -> Result<Candidate<AtFraction>, PlanError> {
        let scales = limits.scales(self.graph, bounds, f)?;
        let made = AtFraction { f, scales };
        let doubts = doubts(
            self.graph,
            self.options,
            bounds,
            &made.scales,
            |i| limits.capacity(made.scales[i], f),
            |i| made.fraction(self.graph.nodes[i].inputs[0]),
        );
        let rounding = Rounding {
            fractions: limits.kept_bits(self.graph, &made.scales, f),
            weights: made.scales.iter().map(|scale| scale.weight_bits).collect(),
        };
        Ok(Candidate {
            bounds: bounds.clone(),
            made,
            doubts,
            rounding,
        })
    }

    fn at_precision(
        &self,
        bounds: &Rc<[Bound]>,
        precision: u32,
    ) -> Result<Candidate<Assigned>, PlanError> {
        let made = mixed::assign(self.graph, bounds, precision)?;
        let capacity = |i: usize| {
            let number = made.widths[i].number();
            f64::from(number.bits as i32 - 2 - number.fraction as i32).exp2()
        };
        let doubts = doubts(
            self.graph,
            self.options,
            bounds,
            &made.scales,
            capacity,
            |i| made.fraction(self.graph.nodes[i].inputs[0]),
        );
        let rounding = Rounding {
            fractions: (0..=self.graph.nodes.len())
                .map(|id| made.fraction(id))
                .collect(),
            weights: made.scales.iter().map(|scale| scale.weight_bits).collect(),
        };
        Ok(Candidate {
            bounds: bounds.clone(),
            made,
            doubts,
            rounding,
        })
    }
}

/// The numbers of fraction bits that are tried, the most welcome first.
fn preferred(wide: bool, order: Order) -> Vec<u32> {
    match (wide, order) {
        (true, Order::MultiplyThenTruncate) => {
            (USUAL..=26).step_by(2).chain((8..USUAL).rev()).collect()
        }
        (true, Order::TruncateThenMultiply) => (16..=32).rev().collect(),
        (false, Order::MultiplyThenTruncate) => (5..=16).rev().collect(),
        (false, Order::TruncateThenMultiply) => (8..=26).rev().collect(),
    }
}
