//! Chooses together what a plan provides for and how precise it is.
//!
//! Four kinds of ranges are tried: those of the samples and of inputs made from them, those of the worst
//! case, those of the worst case wherever it is not much wider, and those of the samples alone, where no
//! others fit; with each, several numbers of fraction bits, or of bits where every tensor has its own. Of the
//! plans whose rounding, tried out in the clear, disturbs the outputs little, the one is taken about
//! which there are the fewest doubts, or about as few.

mod candidate;
mod pick;

use std::rc::Rc;
use std::sync::Arc;

use candidate::{Candidate, reached};
use pick::{Best, ENOUGH, ENOUGH_SURE, OF_ALL, OF_SAMPLES};

use super::bounds::Inputs;
use super::doubts::{doubts, labels, led_beyond, rounded_beyond, rounding};
use super::encoded::led;
use super::mixed::{self, Assigned, Precision, TRIED};
use super::ranges::Bound;
use super::ranks::Ranks;
use super::rounding::Rounding;
use super::scales::{Limits, Scale, Scaled, largest_weights};
use super::trial::{Trial, Tried};
use super::{Order, PlanError, PlanOptions};
use crate::graph::{Graph, Op, ValueId};

/// The fraction bits that are taken over 64 or 61 bits where nothing speaks for others.
const USUAL: u32 = 18;
/// The most, of which products and functions over 64 bits leave little room: where with fewer the error is worse than any
/// doubt, and these halve it.
const MOST: u32 = 28;
/// The error of a trial that is little, of the outputs' spread: where there is room to spare, and
/// where fewer bits mean fewer bytes.
const LITTLE: f64 = 1.0 / 2048.0;
const LITTLE_MIXED: f64 = 1.0 / 256.0;
/// How many times wider than what was seen the worst case may be to be provided for at any rate.
const NEAR: f64 = 16.0;
/// How many times the error of its trial a plan states.
const CAUTION: f64 = 4.0;
/// How often bounds are widened to what rounding leads to.
const WIDENED: usize = 4;
/// How many bits are given up at most for wider bounds.
const GIVEN_UP: u32 = 8;

/// A plan's ranges, scales and what is doubtful about them.
pub(super) struct Chosen<T> {
    pub bounds: Rc<[Bound]>,
    pub made: T,
    pub warnings: Vec<String>,
    /// The largest error of an output that is to be expected.
    pub error: f64,
    /// The share of the outputs' deviation that rounding was seen to cost, where a user must hear of it.
    pub rough: Option<f64>,
    /// The largest errors that the trial shows of every output: of the output itself, and of what the receiver
    /// computes from it.
    pub shown: Vec<[f64; 2]>,
}

/// The scales of all layers at so many fraction bits.
pub(super) struct AtFraction {
    pub f: u32,
    pub scales: Vec<Scale>,
}

impl Scaled for AtFraction {
    fn scales(&self) -> &[Scale] {
        &self.scales
    }

    /// The fraction bits of value `id`: its layer's own, or those of all values.
    fn fraction(&self, id: ValueId) -> u32 {
        let own = id
            .checked_sub(1)
            .and_then(|layer| self.scales[layer].fraction);
        own.unwrap_or(self.f)
    }
}

/// What a choice is made for.
pub(super) struct Choice<'a> {
    pub graph: &'a Graph,
    pub options: &'a PlanOptions<'a>,
    ranges: [Rc<[Bound]>; 4],
    /// The largest magnitude of the numbers of every input.
    pub inputs: Vec<f64>,
    /// How far from 0 each number of the inputs' row is at most.
    ends: Vec<f64>,
    trial: Trial,
    /// The largest factor and term of every layer.
    largest: Vec<[f64; 2]>,
    /// Which values are ranks, if the inputs are only compared.
    pub ranks: Option<Arc<Ranks>>,
}

impl<'a> Choice<'a> {
    pub(super) fn new(graph: &'a Graph, options: &'a PlanOptions) -> Result<Self, PlanError> {
        let inputs = Inputs::new(graph, options)?;
        let [observed, worst, typical] = inputs.bounds(graph, options.margin);
        let widened: Rc<[Bound]> = observed
            .iter()
            .map(|bound| bound.up_to_worst(NEAR))
            .collect();
        let ranks = Ranks::planned(graph, options).map(Arc::new);
        let mut largest = largest_weights(graph);
        if let Some(ranks) = &ranks {
            // What ranks are compared with is shared as ranks, too.
            let of_ranks = (0..largest.len()).filter(|layer| ranks.has(layer + 1));
            of_ranks.for_each(|layer| largest[layer] = [0.0; 2]);
        }
        Ok(Choice {
            graph,
            options,
            // Where both are as good, what was seen leaves more bits to the weights.
            ranges: [observed.into(), widened, worst.into(), typical.into()],
            trial: Trial::new(graph, &inputs, options.modulus.is_wide())?,
            inputs: inputs.ranges,
            ends: inputs.ends,
            largest,
            ranks,
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
        let wide = limits.modulus.is_wide();
        let finest = self.ranks.is_none() && compares_inputs(self.graph);
        let fractions = asked.map_or_else(|| preferred(wide, limits.order, finest), |f| vec![f]);
        let little = if wide { LITTLE } else { ENOUGH };
        let made = |bounds: &Rc<[Bound]>, f: u32| self.at_fraction(limits, bounds, f);
        let best = self.best(self.fitting(&fractions, made)?, OF_ALL, little, wide)?;
        let multiplies_first = limits.order == Order::MultiplyThenTruncate;
        let finer = wide && multiplies_first && asked.is_none() && best.error > ENOUGH_SURE;
        let finer = finer.then(|| self.finer(&best, little, made)).transpose()?;
        let Best {
            candidate: best,
            error,
            of,
        } = finer.flatten().unwrap_or(best);
        let f = best.made.f;
        let fewest = asked.unwrap_or(f.saturating_sub(GIVEN_UP).max(2).min(f));
        if asked.is_some() || narrow(&best.bounds, &best.made) {
            return self.chosen(best, fewest, made);
        }
        let fewer = (f.saturating_sub(2).max(2)..f).rev();
        for other in fewer.filter_map(|f| made(&best.bounds, f).ok()) {
            if !narrow(&other.bounds, &other.made) || other.doubts.len() > best.doubts.len() {
                continue;
            }
            let others = self.trial.error(self.graph, &other.rounding)?;
            let of_more = self.trial.of_samples(self.graph, &other.rounding)?;
            if of(&others.or(of_more)) <= error.max(little) {
                return self.chosen(other, fewest, made);
            }
        }
        self.chosen(best, fewest, made)
    }

    /// The most fraction bits, if they halve the error.
    fn finer(
        &self,
        best: &Best<AtFraction>,
        little: f64,
        made: impl Fn(&Rc<[Bound]>, u32) -> Result<Candidate<AtFraction>, PlanError>,
    ) -> Result<Option<Best<AtFraction>>, PlanError> {
        let Ok(fitting) = self.fitting(&[MOST], made) else {
            return Ok(None);
        };
        let finer = self.best(fitting, OF_ALL, little, true)?;
        Ok(Some(finer).filter(|finer| 2.0 * finer.error <= best.error))
    }

    /// The widths where every tensor has its own.
    pub(super) fn widths(&self, precision: Precision) -> Result<Chosen<Assigned>, PlanError> {
        let tried = match precision {
            Precision::Auto => TRIED.to_vec(),
            Precision::Bits(bits) => vec![bits],
        };
        let made = |bounds: &Rc<[Bound]>, bits| self.at_precision(bounds, bits);
        let fitting = self.fitting(&tried, made)?;
        let best = self
            .best(fitting, OF_SAMPLES, LITTLE_MIXED, true)?
            .candidate;
        let bits = best.bits;
        self.chosen(best, bits, made)
    }

    /// Every range with every number of bits that fits it; if none does, the layer that stands in the
    /// way of the fewest bits.
    fn fitting<T>(
        &self,
        bits: &[u32],
        made: impl Fn(&Rc<[Bound]>, u32) -> Result<Candidate<T>, PlanError>,
    ) -> Result<Vec<Candidate<T>>, PlanError> {
        let mut refused = None;
        let mut fitting = Vec::new();
        for (bounds, &bits) in self
            .ranges
            .iter()
            .flat_map(|b| bits.iter().map(move |n| (b, n)))
        {
            match made(bounds, bits) {
                Ok(candidate) => fitting.push(candidate),
                Err(_) if refused.as_ref().is_some_and(|(least, _)| *least <= bits) => {}
                Err(error) => refused = Some((bits, error)),
            }
        }
        match refused {
            Some((_, error)) if fitting.is_empty() => Err(error),
            _ => Ok(fitting),
        }
    }

    /// What is chosen: the best, or one of wider bounds where rounding alone leads beyond its own, as where a
    /// normalisation makes much of next to nothing. That one has as many bits, or the most that fit of not fewer
    /// than `fewest`.
    fn chosen<T: Scaled>(
        &self,
        mut best: Candidate<T>,
        fewest: u32,
        made: impl Fn(&Rc<[Bound]>, u32) -> Result<Candidate<T>, PlanError>,
    ) -> Result<Chosen<T>, PlanError> {
        let look = |of: &Candidate<T>| self.trial.shown(self.graph, &of.rounding, of.loses());
        for round in 0..=WIDENED {
            let led = led(self.graph, &self.ends, &best.rounding, &best.bounds);
            let Some((wider, first)) = led else {
                break;
            };
            let mut bits = (fewest..=best.bits).rev();
            match bits.find_map(|bits| made(&wider, bits).ok()) {
                Some(other) if round < WIDENED => best = other,
                _ => {
                    // Signs are taken of as many bits as that takes all the same.
                    best.bounds = wider;
                    best.doubts.push(rounded_beyond(&self.named(first)));
                    break;
                }
            }
        }
        let mut tried = look(&best)?;
        for _ in 0..WIDENED {
            let Some((wider, _)) = reached(&best, &tried.seen) else {
                break;
            };
            let mut bits = (fewest..=best.bits).rev();
            let Some(other) = bits.find_map(|bits| made(&wider, bits).ok()) else {
                break;
            };
            best = other;
            tried = look(&best)?;
        }
        let beyond = reached(&best, &tried.seen);
        let Tried {
            shown,
            of_column,
            errors,
            changed,
            ..
        } = tried;
        let mut warnings = best.doubts;
        if let Some((_, value)) = beyond {
            warnings.push(led_beyond(&self.named(value)));
        }
        let mut rough = None::<f64>;
        for shown in [Some(shown), of_column].into_iter().flatten() {
            if shown.is_rough() {
                let worst = shown.worst(self.graph, &best.rounding)?;
                warnings.push(rounding(self.options, &shown, &self.named(worst)));
                rough = Some(rough.unwrap_or(0.0).max(shown.share()));
            }
        }
        if changed.share() > 0.0 {
            warnings.push(labels(self.options, changed));
            rough = Some(rough.unwrap_or(0.0).max(changed.share()));
        }
        let ranks = self.ranks.as_ref();
        warnings.extend(ranks.and_then(|ranks| ranks.doubt(self.graph, self.options.modulus)));
        warnings.extend(self.graph.remarks.iter().cloned());
        Ok(Chosen {
            bounds: best.bounds,
            made: best.made,
            warnings,
            rough,
            error: CAUTION * errors.iter().map(|of| of[0]).fold(0.0, f64::max),
            shown: errors,
        })
    }

    /// The layer, or the input, that makes a value.
    fn named(&self, value: ValueId) -> String {
        match value.checked_sub(1) {
            Some(layer) => format!("layer '{}'", self.graph.nodes[layer].name),
            None => self.graph.inputs_name(),
        }
    }

    fn at_fraction(
        &self,
        limits: &Limits,
        bounds: &Rc<[Bound]>,
        f: u32,
    ) -> Result<Candidate<AtFraction>, PlanError> {
        let with_ranks = (self.ranks.as_ref()).map(|ranks| ranks.bounds(bounds, f).into());
        let bounds = with_ranks.as_ref().unwrap_or(bounds);
        let scales = limits.scales(self.graph, bounds, &self.largest, f)?;
        let capacity: Vec<f64> = scales
            .iter()
            .map(|&scale| limits.capacity(scale, f))
            .collect();
        let kept = limits.kept_bits(self.graph, &scales, f);
        let made = AtFraction { f, scales };
        self.candidate((bounds, f), made, &capacity, kept)
    }

    fn at_precision(
        &self,
        bounds: &Rc<[Bound]>,
        precision: u32,
    ) -> Result<Candidate<Assigned>, PlanError> {
        let made = mixed::assign(self.graph, bounds, precision, self.options.functions)?;
        let capacity: Vec<f64> = made
            .widths
            .iter()
            .map(|widths| {
                let number = widths.number();
                f64::from(number.bits as i32 - 2 - number.fraction as i32).exp2()
            })
            .collect();
        let all = 0..=self.graph.nodes.len();
        let kept = all.map(|id| made.fraction(id)).collect();
        self.candidate((bounds, precision), made, &capacity, kept)
    }

    /// What was made for these bounds, with what is doubtful of layers with such capacities, and what is
    /// rounded where `kept` fraction bits of every value are used.
    fn candidate<T: Scaled>(
        &self,
        (bounds, bits): (&Rc<[Bound]>, u32),
        made: T,
        capacity: &[f64],
        kept: Vec<u32>,
    ) -> Result<Candidate<T>, PlanError> {
        let (graph, scales) = (self.graph, made.scales());
        let fraction = |id| made.fraction(id);
        let given = |i: usize| fraction(graph.nodes[i].inputs[0]);
        let doubts = doubts(graph, self.options, bounds, scales, |i| capacity[i], given);
        let mut rounding = Rounding::new(graph, self.options, scales, fraction, kept)?;
        rounding.ranks.clone_from(&self.ranks);
        Ok(Candidate {
            bits,
            bounds: bounds.clone(),
            made,
            doubts,
            rounding,
        })
    }
}

/// Whether signs are taken of differences to the inputs, as trees take them, or between sums of their squares, as the
/// nearest neighbours are found: what is rounded there falls on one side or the other, and no trial may meet it.
fn compares_inputs(graph: &Graph) -> bool {
    let mut near = vec![true];
    let mut compares = false;
    for node in &graph.nodes {
        let of_inputs = node.inputs.iter().any(|&id| near[id]);
        compares |= of_inputs && matches!(node.op, Op::NonNegative);
        let moves = match node.op {
            Op::Mul => node.inputs[0] == node.inputs[1],
            Op::Add | Op::Sub | Op::Affine(_) | Op::SumPool(_) => true,
            Op::Rearrange { .. } | Op::Concat { .. } => true,
            _ => false,
        };
        near.push(of_inputs && moves);
    }
    compares
}

/// The numbers of fraction bits that are tried, the most welcome first: the most where `finest`.
fn preferred(wide: bool, order: Order, finest: bool) -> Vec<u32> {
    match (wide, order) {
        (true, Order::MultiplyThenTruncate) => {
            let mut usual: Vec<u32> = (USUAL..=26).step_by(2).collect();
            if finest {
                usual.reverse();
            }
            usual.into_iter().chain((8..USUAL).rev()).collect()
        }
        (true, Order::TruncateThenMultiply) => (16..=32).rev().collect(),
        (false, Order::MultiplyThenTruncate) => (5..=16).rev().collect(),
        (false, Order::TruncateThenMultiply) => (8..=26).rev().collect(),
    }
}

#[cfg(test)]
mod tests;
