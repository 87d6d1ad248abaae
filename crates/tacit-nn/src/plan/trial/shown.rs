//! What a trial shows: the largest errors, where they are seen, and which value's rounding makes them.

use std::ops::Range;

use super::super::PlanError;
use super::super::ranges::{Interval, hull, without_end};
use super::super::rounded::{Run, rounded_runs};
use super::super::rounding::{Manner, Rounding};
use super::super::spread::Spread;
use super::Cases;
use super::columns::Column;
use super::labels::Changed;
use crate::graph::{Graph, Output, Tail, TailFunction, ValueId};
use crate::reference::{NONE, Ranges, join};
use crate::tail;

/// The most values that are tried one by one.
const ONE_BY_ONE: usize = 32;
/// How many times as large a share is little of the probabilities that the receiver computes of scores: of those of
/// thousands of classes next to all are 0, and their spread is next to nothing. What is little is an eighth of what a
/// user must hear of, for of many answers some err ten times as much as a trial's few.
const OF_PROBABILITIES: f64 = 4.0;

/// A run, and the manner in which all is rounded in it.
pub(super) type InManner = (Manner, Run);

/// Runs inputs, the first of which has this number among others, in each of these manners.
pub(super) fn runs(
    graph: &Graph,
    rounding: &Rounding,
    (x, first): (&[f32], usize),
    manners: &[Manner],
) -> Result<Vec<InManner>, PlanError> {
    if manners.is_empty() {
        return Ok(Vec::new());
    }
    let runs = rounded_runs(graph, rounding, (x, first), manners)?;
    Ok(manners.iter().copied().zip(runs).collect())
}

/// What a trial shows.
pub(in crate::plan) struct Tried<'a> {
    /// The largest error that a user hears of, and that of a small column.
    pub shown: Shown<'a>,
    pub of_column: Option<Shown<'a>>,
    /// The largest errors of every output and of what is computed of it.
    pub errors: Vec<[f64; 2]>,
    /// The range of every value, exact and as rounded.
    pub seen: Vec<[Interval; 2]>,
    /// The labels of samples that are others.
    pub changed: Changed,
}

impl<'a> Tried<'a> {
    /// Tries the cases: what they show, and of each output its small columns by themselves. `looks` say how many of the
    /// first items, and whether they are samples; `errors` are those of the first look.
    pub(super) fn new(
        graph: &'a Graph,
        rounding: &Rounding,
        (cases, small): (&'a Cases, &[Vec<Column>]),
        looks: &[(usize, bool)],
        runs: &[InManner],
    ) -> Result<Self, PlanError> {
        let of_output = |output: &'a Output| {
            let tail = computed(output);
            let tails = move |&(items, samples)| {
                [&tail[..0], tail].map(|tail| Sight {
                    items,
                    output,
                    tail,
                    samples,
                    column: None,
                })
            };
            looks.iter().flat_map(tails)
        };
        let mut sights: Vec<Sight> = graph.outputs.iter().flat_map(of_output).collect();
        let whole = sights.len();
        sights.extend(
            looks
                .iter()
                .flat_map(|&look| of_columns(graph, small, look)),
        );
        let (mut shown, seen) = looked(graph, rounding, cases, &sights, runs);
        let of_columns = shown.split_off(whole);
        let errors = shown.chunks(2 * looks.len());
        let errors = errors.map(|of| [of[0].error, of[1].error]).collect();
        let changed = shown.iter().map(|shown| shown.changed);
        let changed = changed.reduce(Changed::or).unwrap_or_default();
        let shown = shown.into_iter().reduce(Shown::or);
        let seen = cases.seen.iter().zip(without_end(seen));
        Ok(Tried {
            shown: shown.ok_or_else(|| PlanError::Option("the model has no output".into()))?,
            of_column: of_columns.into_iter().reduce(Shown::or),
            errors,
            seen: seen.map(|(&exact, rounded)| [exact, rounded]).collect(),
            changed,
        })
    }

    /// Adds what others show.
    pub(super) fn join(&mut self, others: Tried<'a>) {
        if others.shown.rank() > self.shown.rank() {
            self.shown = others.shown;
        }
        self.changed = self.changed.or(others.changed);
        let of_columns = [self.of_column.take(), others.of_column];
        self.of_column = of_columns.into_iter().flatten().reduce(Shown::or);
        for (of, others) in self.errors.iter_mut().zip(others.errors) {
            *of = [0, 1].map(|i| of[i].max(others[i]));
        }
        for (of, others) in self.seen.iter_mut().zip(others.seen) {
            *of = [0, 1].map(|i| hull(of[i], others[i]));
        }
    }
}

/// Where errors are looked for.
#[derive(Clone, Copy)]
pub(super) struct Sight<'a> {
    /// How many of the first items are looked at.
    pub(super) items: usize,
    pub(super) output: &'a Output,
    /// The receiver's steps after which it is looked.
    pub(super) tail: &'a [Tail],
    /// Whether the items are samples.
    pub(super) samples: bool,
    /// The only column that is looked at, if it is looked at by itself.
    pub(super) column: Option<Column>,
}

impl Sight<'_> {
    /// What is seen of the values of items, each a row of so many numbers.
    pub(super) fn of(&self, values: &[f32], row: usize) -> Vec<f32> {
        let mut some = tail::part(self.output, row, &values[..row * self.items]);
        tail::apply(self.tail, &mut some);
        match self.column {
            Some(column) => column.of(&some),
            None => some,
        }
    }

    /// Whether scores of samples are seen as they are opened, so that labels can be read off them.
    fn has_labels(&self) -> bool {
        self.samples && self.tail.is_empty() && self.column.is_none()
    }

    fn spread(&self, exact: &[f32]) -> Spread {
        match self.samples {
            true => Spread::of_samples(exact),
            false => Spread::of(exact),
        }
    }
}

/// The largest error that a trial shows.
pub(in crate::plan) struct Shown<'a> {
    /// The item that has it.
    pub(super) item: usize,
    /// The manner of rounding that makes it.
    manner: Manner,
    cases: &'a Cases,
    /// Which items, output and column the error is seen in.
    pub(super) sight: Sight<'a>,
    pub error: f64,
    pub spread: Spread,
    /// The last place of the outputs.
    unit: f64,
    /// The labels that are others, if these are scores of samples.
    pub changed: Changed,
}

impl Shown<'_> {
    /// The error as a share of what it is held against.
    pub(in crate::plan) fn share(&self) -> f64 {
        self.spread.share(self.error)
    }

    /// Whether the error is one of a column that is looked at by itself.
    pub(in crate::plan) fn is_of_a_column(&self) -> bool {
        self.sight.column.is_some()
    }

    /// Whether a user must hear of it.
    pub(in crate::plan) fn is_rough(&self) -> bool {
        self.spread.is_rough(self.error, self.unit)
    }

    /// What a user must hear of goes before what is a larger share of outputs that are alike.
    fn rank(&self) -> (bool, f64) {
        (self.is_rough(), self.share())
    }

    /// The value whose rounding alone disturbs most the item of which an error is shown, in the manner that made
    /// it: of many values one of the half that does more, again and again.
    pub(in crate::plan) fn worst(
        &self,
        graph: &Graph,
        rounding: &Rounding,
    ) -> Result<ValueId, PlanError> {
        let one = self.cases.of_item(graph, self.item);
        let error = |ids: Range<ValueId>| {
            let alone = rounding.alone(&ids);
            let sight = Sight {
                items: 1,
                ..self.sight
            };
            let run = runs(graph, &alone, (&one.x, 0), &[self.manner])?;
            Ok::<_, PlanError>(looked(graph, &alone, &one, &[sight], &run).0[0].error)
        };
        let mut ids = 0..graph.nodes.len() + 1;
        while ids.len() > ONE_BY_ONE {
            let middle = ids.start + ids.len() / 2;
            let halves = [ids.start..middle, middle..ids.end];
            let [first, second] = [error(halves[0].clone())?, error(halves[1].clone())?];
            ids = halves[usize::from(second > first)].clone();
        }
        let mut worst = (0, f64::NEG_INFINITY);
        for id in ids {
            let alone = error(id..id + 1)?;
            if alone > worst.1 {
                worst = (id, alone);
            }
        }
        Ok(worst.0)
    }

    /// The one of two that goes before the other.
    fn or(self, other: Self) -> Self {
        if other.rank() > self.rank() {
            other
        } else {
            self
        }
    }
}

/// What the receiver computes of an output, but for places of the largest.
fn computed(output: &Output) -> &[Tail] {
    let mut steps = output.tail.iter();
    let steps = steps.position(|step| step.function.is_arg_max());
    &output.tail[..steps.unwrap_or(output.tail.len())]
}

/// What is seen of the small columns of each output, if these items are samples.
fn of_columns<'a>(
    graph: &'a Graph,
    small: &[Vec<Column>],
    (items, samples): (usize, bool),
) -> Vec<Sight<'a>> {
    let of_output = |(output, columns): (&'a Output, &Vec<Column>)| {
        let sight = Sight {
            items,
            output,
            tail: &output.tail[..0],
            samples,
            column: None,
        };
        let columns = columns.iter().copied().map(Some);
        let sights = columns.map(|column| Sight { column, ..sight });
        sights.collect::<Vec<_>>()
    };
    let outputs = graph.outputs.iter().zip(small).filter(|_| samples);
    outputs.flat_map(of_output).collect()
}

/// The largest error of the outputs of so many of the first items, whether these are samples beside it, as a share
/// of what it is held against: of each look, and with that of its small columns. An error of the probabilities that
/// the receiver computes of scores counts an [`OF_PROBABILITIES`]th.
pub(super) fn shares(
    graph: &Graph,
    rounding: &Rounding,
    (cases, small): (&Cases, &[Vec<Column>]),
    looks: &[(usize, bool)],
    runs: &[InManner],
) -> Vec<[f64; 2]> {
    let of_look = |&(items, samples)| {
        let tails = |output| {
            let tail = computed(output);
            let of_classes = |step: &Tail| step.function == TailFunction::Softmax;
            let some = tail.iter().any(of_classes).then_some(tail);
            std::iter::once(&tail[..0])
                .chain(some)
                .map(move |tail| (output, tail))
        };
        let whole = graph.outputs.iter().flat_map(tails);
        let whole = whole.map(move |(output, tail)| Sight {
            items,
            output,
            tail,
            samples,
            column: None,
        });
        whole.chain(of_columns(graph, small, (items, samples)))
    };
    let sights = looks.iter().map(|look| of_look(look).collect());
    let sights: Vec<Vec<Sight>> = sights.collect();
    let (shown, _) = looked(graph, rounding, cases, &sights.concat(), runs);
    let mut shown = shown.iter();
    let largest = |sights: &Vec<Sight>| {
        let of_look = shown.by_ref().take(sights.len());
        of_look.fold([0.0, 0.0], |[whole, all]: [f64; 2], shown| {
            let share = shown.share().max(shown.changed.share());
            let share = match shown.sight.tail {
                [] => share,
                _ => share / OF_PROBABILITIES,
            };
            let of_whole = if shown.is_of_a_column() { 0.0 } else { share };
            [whole.max(of_whole), all.max(share)]
        })
    };
    sights.iter().map(largest).collect()
}

/// The largest errors when all is rounded, of each sight, and the range of every value. The runs are of the first of
/// the cases: of as many as any sight has.
fn looked<'a>(
    graph: &Graph,
    rounding: &Rounding,
    cases: &'a Cases,
    sights: &[Sight<'a>],
    runs: &[InManner],
) -> (Vec<Shown<'a>>, Ranges) {
    let all = cases.items(graph).max(1);
    let row = cases.exact.len() / all;
    let exact: Vec<Vec<f32>> = sights.iter().map(|s| s.of(&cases.exact, row)).collect();
    let mut largest = vec![(0.0, 0, Manner::ByChance); sights.len()];
    let mut changed = vec![Changed::default(); sights.len()];
    let mut seen = vec![NONE; graph.nodes.len() + 1];
    for (manner, (outputs, of_run)) in runs {
        join(&mut seen, of_run);
        let all_sights = sights
            .iter()
            .zip(&exact)
            .zip(&mut largest)
            .zip(&mut changed);
        for (((sight, exact), largest), changed) in all_sights {
            let found = sight.of(outputs, row);
            let (error, at) = farthest(&found, exact);
            if error > largest.0 {
                *largest = (error, at, *manner);
            }
            if sight.has_labels() {
                *changed = changed.or(Changed::among(sight.output, exact, &found));
            }
        }
    }
    let shown = sights.iter().zip(&exact).zip(&largest).zip(changed);
    let shown = shown.map(|(((&sight, exact), &(error, at, manner)), changed)| Shown {
        item: at * sight.items / exact.len().max(1),
        manner,
        cases,
        sight,
        error,
        spread: sight.spread(exact),
        unit: (-f64::from(rounding.fractions[graph.output])).exp2(),
        changed,
    });
    (shown.collect(), seen)
}

/// How far an output is from the exact one at most, and which. Where float32 itself has no finite answer
/// there is nothing to compare.
fn farthest(outputs: &[f32], exact: &[f32]) -> (f64, usize) {
    let error = |(found, exact): (&f32, &f32)| match (found.is_finite(), exact.is_finite()) {
        (_, false) => 0.0,
        (true, true) => f64::from(found - exact).abs(),
        (false, true) => f64::INFINITY,
    };
    let errors = outputs.iter().zip(exact).map(error).enumerate();
    errors.fold(
        (0.0, 0),
        |most, (i, error)| if error > most.0 { (error, i) } else { most },
    )
}
