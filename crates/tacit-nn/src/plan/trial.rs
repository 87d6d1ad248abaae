//! Tries a plan's rounding in the clear.

mod columns;
mod labels;
mod shown;

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;

use columns::Column;
pub(super) use labels::Changed;
use shown::{InManner, Sight, runs, shares};
pub(super) use shown::{Shown, Tried};

use super::PlanError;
use super::bounds::{Answered, Inputs};
use super::ranges::{Interval, without_end};
use super::rounded::{MANNERS, manners};
use super::rounding::Rounding;
use super::spread::Spread;
use crate::graph::{Graph, Node, Op, Output, len};
use crate::reference::{NONE, join, ranges};
use crate::tail;

/// Multiply-adds that one trial may cost.
pub(crate) const TRIAL_WORK: usize = 1_000_000_000;
/// The fewest and the most items of a trial.
pub(super) const TRIAL_ITEMS: RangeInclusive<usize> = 4..=64;
/// The most outputs of all items of a trial together, unless those of the fewest items are more: each is held several
/// times, as it is made in each manner.
const TRIAL_OUTPUTS: usize = 1 << 22;
/// Multiply-adds that a look at more samples may cost: among the few that a trial of a large model affords none may
/// err as others do.
const SAMPLES_WORK: usize = 2 * TRIAL_WORK;
/// The most samples that are looked at, and the multiply-adds that more than [`TRIAL_ITEMS`] may cost: of a table's rows
/// one of a hundred may lie beside a threshold, and a small model tries them all in no time.
const SAMPLES: usize = 1024;
const MANY_SAMPLES_WORK: usize = TRIAL_WORK / 50;

/// The most manners of rounding that few inputs are tried in for a choice, and the fewest for more samples.
const TO_CHOOSE: usize = 2;

/// The largest errors of a trial, as shares of what they are held against.
#[derive(Clone, Copy, Default)]
pub(super) struct Erred {
    /// The error of the outputs of all inputs, each as a whole, and of their small columns.
    pub(super) with_columns: f64,
    /// The error of the outputs of all inputs, each as a whole.
    pub(super) all: f64,
    /// The error of the samples among the inputs; of all inputs, if none is one.
    pub(super) of_samples: f64,
}

impl Erred {
    /// The larger errors of these and of what others, such as more samples, show.
    pub(super) fn or(self, others: Self) -> Self {
        Erred {
            with_columns: self.with_columns.max(others.with_columns),
            all: self.all.max(others.all),
            of_samples: self.of_samples.max(others.of_samples),
        }
    }

    /// The errors of some looks, the last of which is at samples if any is: each at whole outputs, and with their
    /// columns.
    fn of(looks: &[[f64; 2]]) -> Self {
        let most = |at: usize| looks.iter().map(|look| look[at]).fold(0.0, f64::max);
        Erred {
            with_columns: most(1),
            all: most(0),
            of_samples: looks.last().map_or(0.0, |look| look[0]),
        }
    }
}

/// Inputs with their outputs in float32.
#[derive(Clone)]
struct Cases {
    x: Vec<f32>,
    exact: Vec<f32>,
    /// The range of every value.
    seen: Vec<Interval>,
}

impl Cases {
    fn new(graph: &Graph, x: Vec<f32>) -> Result<Self, PlanError> {
        let (exact, seen) = ranges(graph, &x)?;
        let seen = without_end(seen);
        Ok(Cases { x, exact, seen })
    }

    fn of(graph: &Graph, answered: Answered) -> Self {
        let mut seen = vec![NONE; graph.nodes.len() + 1];
        answered.show(&mut seen);
        Cases {
            seen: without_end(seen),
            x: answered.x,
            exact: answered.outputs,
        }
    }

    fn items(&self, graph: &Graph) -> usize {
        self.x.len() / graph.row_len().max(1)
    }

    fn of_item(&self, graph: &Graph, item: usize) -> Self {
        let one = |values: &[f32]| {
            let each = values.len() / self.items(graph).max(1);
            values[item * each..(item + 1) * each].to_vec()
        };
        Cases {
            x: one(&self.x),
            exact: one(&self.exact),
            seen: self.seen.clone(),
        }
    }
}

/// The inputs that plans are tried on.
pub(super) struct Trial {
    /// The inputs that a plan is chosen by, and others of a second look at it.
    cases: Cases,
    /// How many of them a plan is chosen by.
    first: usize,
    /// How many of the first are samples of which nothing but the outputs tells how rough an error is.
    samples: usize,
    /// More samples, if they can be afforded.
    sampled: Option<Cases>,
    /// The columns of every output that are looked at by themselves.
    small: Vec<Vec<Column>>,
    repeats: usize,
    /// The rounding that the first were run with last, and what they made.
    last: RefCell<Option<(Rounding, Rc<Vec<InManner>>)>>,
}

impl Trial {
    /// A trial of a model's inputs. Over narrow rings and fields a last place is much of what outputs differ by, and no
    /// plan is finer.
    pub(super) fn new(graph: &Graph, inputs: &Inputs, is_wide: bool) -> Result<Self, PlanError> {
        let first = inputs.trial(graph);
        let items = first.items();
        let cases = Cases::of(graph, first.and(inputs.others(graph)?));
        let alike = |output: &Output| {
            let tail = &[];
            let sight = Sight {
                items,
                output,
                tail,
                samples: false,
                column: None,
            };
            let row = cases.exact.len() / cases.items(graph).max(1);
            Spread::of(&sight.of(&cases.exact, row)).is_of_alike()
        };
        let alike = graph.outputs.iter().any(alike);
        let samples = if is_wide { inputs.samples() } else { 0 };
        let more_samples = affordable(graph, SAMPLES_WORK, 1..=*TRIAL_ITEMS.end());
        let more_samples = more_samples.max(affordable(graph, MANY_SAMPLES_WORK, 1..=SAMPLES));
        let sampled = inputs.typical(graph.row_len(), more_samples);
        let has_more = samples > 0 && sampled.len() > samples * graph.row_len();
        let sampled = has_more.then(|| Cases::new(graph, sampled)).transpose()?;
        let small = match &sampled {
            Some(cases) => small_columns(graph, cases, cases.items(graph)),
            None => small_columns(graph, &cases, samples),
        };
        let most = affordable(graph, TRIAL_WORK, TRIAL_ITEMS);
        Ok(Trial {
            small,
            repeats: affordable(graph, TRIAL_WORK / most, 1..=MANNERS.len()),
            // Outputs that are all alike tell nothing of what an error means.
            first: if alike { cases.items(graph) } else { items },
            cases,
            samples,
            sampled,
            last: RefCell::default(),
        })
    }

    /// What the first inputs make in at least so many manners: as they were run last, if with the same rounding.
    fn first_runs(
        &self,
        graph: &Graph,
        rounding: &Rounding,
        repeats: usize,
    ) -> Result<Rc<Vec<InManner>>, PlanError> {
        let known = match self.last.take() {
            Some((last, known)) if last == *rounding => known,
            _ => Rc::default(),
        };
        let manners = manners(rounding, repeats);
        let new = manners.get(known.len()..).unwrap_or_default();
        let x = &self.cases.x[..self.first * graph.row_len()];
        let new = runs(graph, rounding, (x, 0), new)?;
        let known = match new.is_empty() {
            true => known,
            false => Rc::new(known.iter().cloned().chain(new).collect()),
        };
        self.last.replace(Some((rounding.clone(), known.clone())));
        Ok(known)
    }

    /// What all inputs make in so many manners.
    fn all_runs(
        &self,
        graph: &Graph,
        rounding: &Rounding,
        repeats: usize,
    ) -> Result<Vec<InManner>, PlanError> {
        let mut all = self.first_runs(graph, rounding, repeats)?[..repeats].to_vec();
        let others = &self.cases.x[self.first * graph.row_len()..];
        let manners = manners(rounding, repeats);
        let others = runs(graph, rounding, (others, self.first), &manners)?;
        for ((_, (outputs, seen)), (_, (of_others, seen_there))) in all.iter_mut().zip(others) {
            outputs.extend(of_others);
            join(seen, &seen_there);
        }
        Ok(all)
    }

    /// The largest errors of an output when everything is rounded as planned, as shares of what they are held
    /// against. Deterministic, so that every plan of one model is the same.
    pub(super) fn error(&self, graph: &Graph, rounding: &Rounding) -> Result<Erred, PlanError> {
        let repeats = self.repeats.min(TO_CHOOSE);
        let runs = self.first_runs(graph, rounding, repeats)?;
        let looks = [(self.first, false)].into_iter();
        let looks: Vec<(usize, bool)> = looks.chain(self.sampled()).collect();
        let cases = (&self.cases, &self.small[..]);
        Ok(Erred::of(&shares(
            graph,
            rounding,
            cases,
            &looks,
            &runs[..repeats],
        )))
    }

    /// The multiply-adds that looking for an error costs.
    pub(super) fn work(&self, graph: &Graph) -> usize {
        let runs = self.first * self.repeats.min(TO_CHOOSE);
        runs.saturating_mul(work_of_item(graph))
    }

    /// The multiply-adds that looking among more samples costs.
    pub(super) fn work_of_samples(&self, graph: &Graph) -> usize {
        let items = self.sampled.as_ref().map_or(0, |cases| cases.items(graph));
        (TO_CHOOSE * items).saturating_mul(work_of_item(graph))
    }

    /// The largest errors among more samples, if there are any.
    pub(super) fn of_samples(
        &self,
        graph: &Graph,
        rounding: &Rounding,
    ) -> Result<Erred, PlanError> {
        let Some(cases) = &self.sampled else {
            return Ok(Erred::default());
        };
        let runs = runs(
            graph,
            rounding,
            (&cases.x, 0),
            &manners(rounding, TO_CHOOSE),
        )?;
        let looks = [(cases.items(graph), true)];
        let cases = (cases, &self.small[..]);
        Ok(Erred::of(&shares(graph, rounding, cases, &looks, &runs)))
    }

    /// Whether columns of outputs are looked at by themselves.
    pub(super) fn has_columns(&self) -> bool {
        self.small.iter().any(|columns| !columns.is_empty())
    }

    /// How many manners of rounding the chosen plan is tried in.
    fn repeats(&self, in_all_manners: bool) -> usize {
        match in_all_manners {
            true => MANNERS.len(),
            false => self.repeats,
        }
    }

    /// How many samples there are, if any.
    fn sampled(&self) -> impl Iterator<Item = (usize, bool)> {
        Some((self.samples, true))
            .filter(|_| self.samples > 0)
            .into_iter()
    }

    /// The largest share of more inputs and more samples, too: of the outputs, and of what the receiver
    /// computes of them, but for places of the largest: an error that is little among numbers up to 100 is
    /// much in a softmax of them. Of a large model not all manners of rounding are tried unless they are asked for.
    pub(super) fn shown<'a>(
        &'a self,
        graph: &'a Graph,
        rounding: &Rounding,
        in_all_manners: bool,
    ) -> Result<Tried<'a>, PlanError> {
        let repeats = self.repeats(in_all_manners);
        let all = self.all_runs(graph, rounding, repeats)?;
        let looks = [self.cases.items(graph), self.first].map(|items| (items, false));
        let looks: Vec<(usize, bool)> = looks.into_iter().chain(self.sampled()).collect();
        let cases = (&self.cases, &self.small[..]);
        let mut tried = Tried::new(graph, rounding, cases, &looks, &all)?;
        if let Some(cases) = &self.sampled {
            let manners = manners(rounding, repeats.max(TO_CHOOSE));
            let runs = runs(graph, rounding, (&cases.x, 0), &manners)?;
            let looks = [(cases.items(graph), true)];
            tried.join(Tried::new(
                graph,
                rounding,
                (cases, &self.small),
                &looks,
                &runs,
            )?);
        }
        Ok(tried)
    }
}

/// The columns of every output that the first of the cases, `samples` samples, show to deviate far less than all.
fn small_columns(graph: &Graph, cases: &Cases, samples: usize) -> Vec<Vec<Column>> {
    let row = cases.exact.len() / cases.items(graph).max(1);
    let of_output = |output: &Output| match samples {
        0 => vec![],
        _ => columns::small(
            output,
            &tail::part(output, row, &cases.exact[..row * samples]),
        ),
    };
    graph.outputs.iter().map(of_output).collect()
}

/// How many multiply-adds take as long as an element takes to be made and rounded.
const OF_AN_ELEMENT: usize = 16;

/// The items of a trial that costs `work` multiply-adds, within bounds.
pub(crate) fn affordable(graph: &Graph, work: usize, bounds: RangeInclusive<usize>) -> usize {
    let outputs = graph.nodes.last().map_or(1, |node| len(&node.shape));
    let held = TRIAL_OUTPUTS / outputs.max(1);
    let items = (work / work_of_item(graph).max(1)).min(held);
    items.clamp(*bounds.start(), *bounds.end())
}

/// The multiply-adds that one item costs.
fn work_of_item(graph: &Graph) -> usize {
    let of_op = |op: &Op| match op {
        Op::Conv(c) => c.geometry.out_len() * c.geometry.taps(),
        Op::Linear(l) => l.rows * l.k * l.n,
        Op::MatMul(s) => s.batch * s.m * s.k * s.n,
        _ => 0,
    };
    let of_node = |node: &Node| {
        let each = match &node.op {
            Op::MaxPool(pool) | Op::AveragePool(pool) | Op::SumPool(pool) => pool.window(),
            _ => 1,
        };
        of_op(&node.op) + each.max(OF_AN_ELEMENT).saturating_mul(len(&node.shape))
    };
    (graph.nodes.iter().map(of_node)).fold(0, usize::saturating_add)
}

#[cfg(test)]
pub(super) mod tests;
