//! Tries a plan's rounding in the clear.

use std::ops::{Range, RangeInclusive};

use super::PlanError;
use super::bounds::Inputs;
use super::ranges::{Interval, hull, without_end};
use super::rounded::{MANNERS, rounded_runs};
use super::rounding::Rounding;
use super::spread::Spread;
use crate::graph::{Graph, Node, Op, Output, Tail, ValueId, len};
use crate::reference::{NONE, Ranges, joined, ranges};
use crate::tail;

/// Multiply-adds that one trial may cost.
pub(super) const TRIAL_WORK: usize = 1_000_000_000;
/// The fewest and the most items of a trial.
const TRIAL_ITEMS: RangeInclusive<usize> = 4..=64;

/// So many of them have to do for a choice.
const TO_CHOOSE: usize = 2;

/// So many values are tried one by one.
const ONE_BY_ONE: usize = 32;

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

    fn items(&self, graph: &Graph) -> usize {
        self.x.len() / graph.given_len().max(1)
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
    first: Cases,
    /// The inputs of a second look at the plan that is chosen: these and others.
    more: Cases,
    /// How many of the first are samples of which nothing but the outputs tells how rough an error is.
    samples: usize,
    repeats: usize,
}

/// What a trial shows.
pub(super) struct Tried<'a> {
    /// The largest error that a user hears of.
    pub shown: Shown<'a>,
    /// Of every output the largest errors of it and of what is computed of it.
    pub errors: Vec<[f64; 2]>,
    /// The range of every value, exact and as rounded.
    pub seen: Vec<[Interval; 2]>,
}

/// Where errors are looked for.
#[derive(Clone, Copy)]
struct Sight<'a> {
    /// In so many of the first items.
    items: usize,
    output: &'a Output,
    /// After these steps of the receiver's.
    tail: &'a [Tail],
    /// Whether these are samples.
    samples: bool,
}

impl Sight<'_> {
    /// What is seen of values of so many items.
    fn of(&self, values: &[f32], items: usize) -> Vec<f32> {
        let row = values.len() / items;
        let mut some = tail::part(self.output, row, &values[..row * self.items]);
        tail::apply(self.tail, &mut some);
        some
    }

    fn spread(&self, exact: &[f32]) -> Spread {
        match self.samples {
            true => Spread::of_samples(exact),
            false => Spread::of(exact),
        }
    }
}

/// The largest error that a trial shows.
pub(super) struct Shown<'a> {
    /// The item that has it.
    item: usize,
    /// Where it is seen.
    sight: Sight<'a>,
    pub error: f64,
    pub spread: Spread,
    /// The last place of the outputs.
    unit: f64,
}

impl Shown<'_> {
    /// The error as a share of what it is held against.
    pub(super) fn share(&self) -> f64 {
        self.spread.share(self.error)
    }

    /// Whether a user must hear of it.
    pub(super) fn is_rough(&self) -> bool {
        self.spread.is_rough(self.error, self.unit)
    }
}

impl Trial {
    /// Over narrow rings and fields a last place is much of what outputs differ by, and no plan is finer.
    pub(super) fn new(graph: &Graph, inputs: &Inputs, is_wide: bool) -> Result<Self, PlanError> {
        let most = affordable(graph, TRIAL_WORK, TRIAL_ITEMS);
        let first = Cases::new(graph, inputs.trial(graph.given_len(), most))?;
        let others = inputs.others(graph, most)?;
        let of_both = first.seen.iter().zip(without_end(others.seen));
        let more = Cases {
            x: [&first.x[..], &others.x].concat(),
            exact: [&first.exact[..], &others.outputs].concat(),
            seen: of_both
                .map(|(&first, others)| hull(first, others))
                .collect(),
        };
        let items = first.items(graph);
        let alike = |output: &Output| {
            let tail = &[];
            let sight = Sight {
                items,
                output,
                tail,
                samples: false,
            };
            Spread::of(&sight.of(&first.exact, items)).is_of_alike()
        };
        let alike = graph.outputs.iter().any(alike);
        Ok(Trial {
            repeats: affordable(graph, TRIAL_WORK / most, 1..=MANNERS.len()),
            // Outputs that are all alike tell nothing of what an error means.
            first: match alike {
                true => more.clone(),
                false => first,
            },
            more,
            samples: match is_wide {
                true => inputs.samples(graph.given_len(), most),
                false => 0,
            },
        })
    }

    /// The largest error of an output when everything is rounded as planned, as a share of what it is held
    /// against. Deterministic, so that every plan of one model is the same.
    pub(super) fn error(&self, graph: &Graph, rounding: &Rounding) -> Result<f64, PlanError> {
        let repeats = self.repeats.min(TO_CHOOSE);
        let all = self.first.items(graph);
        let sight = |(items, samples)| {
            move |output| Sight {
                items,
                output,
                tail: &[],
                samples,
            }
        };
        let of = |sights| graph.outputs.iter().map(sight(sights));
        let sights: Vec<Sight> = of((all, false))
            .chain(self.sampled().flat_map(of))
            .collect();
        let (shown, _) = looked(graph, rounding, &self.first, &sights, repeats)?;
        Ok(shown.iter().map(Shown::share).fold(0.0, f64::max))
    }

    /// In how many manners of rounding the chosen plan is tried.
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

    /// The largest share of more inputs, too: of the outputs, and of what the receiver computes of them, but
    /// for places of the largest: an error that is little among numbers up to 100 is much in a softmax of
    /// them. Of a large model not all manners of rounding are tried unless they are asked for.
    pub(super) fn shown<'a>(
        &self,
        graph: &'a Graph,
        rounding: &Rounding,
        in_all_manners: bool,
    ) -> Result<Tried<'a>, PlanError> {
        let repeats = self.repeats(in_all_manners);
        let [few, all] = [&self.first, &self.more].map(|cases| cases.items(graph));
        let of_output = |output: &'a Output| {
            let mut steps = output.tail.iter();
            let steps = steps.position(|step| step.function.is_arg_max());
            let tail = &output.tail[..steps.unwrap_or(output.tail.len())];
            let looks = [
                (all, &tail[..0]),
                (all, tail),
                (few, &tail[..0]),
                (few, tail),
            ];
            let looks = looks.map(|(items, tail)| ((items, false), tail));
            let sampled = self.sampled().flat_map(|of| [(of, &tail[..0]), (of, tail)]);
            let sight = move |((items, samples), tail)| Sight {
                items,
                output,
                tail,
                samples,
            };
            looks.into_iter().chain(sampled).map(sight)
        };
        let sights: Vec<Sight> = graph.outputs.iter().flat_map(of_output).collect();
        let (shown, seen) = looked(graph, rounding, &self.more, &sights, repeats)?;
        let errors = shown.chunks(sights.len() / graph.outputs.len());
        let errors = errors.map(|of| [of[0].error, of[1].error]);
        let errors = errors.collect();
        // What a user must hear of goes before what is a larger share of outputs that are alike.
        let rank = |shown: &Shown| (shown.is_rough(), shown.share());
        let larger = |a: Shown<'a>, b: Shown<'a>| if rank(&b) > rank(&a) { b } else { a };
        let worst = shown.into_iter().reduce(larger);
        Ok(Tried {
            shown: worst.ok_or_else(|| PlanError::Option("the model has no output".into()))?,
            errors,
            seen: (self.more.seen.iter().zip(without_end(seen)))
                .map(|(&exact, rounded)| [exact, rounded])
                .collect(),
        })
    }

    /// The value whose rounding alone disturbs most the item of which an error is shown: of many values
    /// one of the half that does more, again and again.
    pub(super) fn worst(
        &self,
        graph: &Graph,
        (rounding, in_all_manners): (&Rounding, bool),
        shown: &Shown,
    ) -> Result<ValueId, PlanError> {
        let repeats = self.repeats(in_all_manners);
        let one = self.more.of_item(graph, shown.item);
        let error = |ids: Range<ValueId>| {
            let alone = rounding.alone(&ids);
            let sight = Sight {
                items: 1,
                ..shown.sight
            };
            Ok::<_, PlanError>(looked(graph, &alone, &one, &[sight], repeats)?.0[0].error)
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
}

/// The largest errors when all is rounded, of each sight, and the range of every value.
fn looked<'a>(
    graph: &Graph,
    rounding: &Rounding,
    cases: &Cases,
    sights: &[Sight<'a>],
    repeats: usize,
) -> Result<(Vec<Shown<'a>>, Ranges), PlanError> {
    let all = cases.items(graph).max(1);
    let exact: Vec<Vec<f32>> = sights.iter().map(|s| s.of(&cases.exact, all)).collect();
    let mut largest = vec![(0.0, 0); sights.len()];
    let mut seen = vec![NONE; graph.nodes.len() + 1];
    for (outputs, of_run) in rounded_runs(graph, rounding, &cases.x, repeats)? {
        for (all, of_run) in seen.iter_mut().zip(of_run) {
            *all = joined(*all, of_run);
        }
        for ((sight, exact), largest) in sights.iter().zip(&exact).zip(&mut largest) {
            let found = farthest(&sight.of(&outputs, all), exact);
            if found.0 > largest.0 {
                *largest = found;
            }
        }
    }
    let shown = sights.iter().zip(&exact).zip(&largest);
    let shown = shown.map(|((&sight, exact), &(error, at))| Shown {
        item: at * sight.items / exact.len().max(1),
        sight,
        error,
        spread: sight.spread(exact),
        unit: (-f64::from(rounding.fractions[graph.output])).exp2(),
    });
    Ok((shown.collect(), seen))
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

/// How many multiply-adds take as long as an element takes to be made and rounded.
const OF_AN_ELEMENT: usize = 16;

/// The items of a trial that costs `work` multiply-adds, within bounds.
pub(super) fn affordable(graph: &Graph, work: usize, bounds: RangeInclusive<usize>) -> usize {
    let of_op = |op: &Op| match op {
        Op::Conv(c) => c.geometry.out_len() * c.geometry.taps(),
        Op::Linear(l) => l.rows * l.k * l.n,
        Op::MatMul(s) => s.batch * s.m * s.k * s.n,
        _ => 0,
    };
    let of_node = |node: &Node| of_op(&node.op) + OF_AN_ELEMENT * len(&node.shape);
    let per_item: usize = graph.nodes.iter().map(of_node).sum();
    (work / per_item.max(1)).clamp(*bounds.start(), *bounds.end())
}

#[cfg(test)]
mod tests;
