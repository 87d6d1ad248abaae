//! The sizes of values that a plan may provide for, and the inputs that it is tried on.

use std::ops::RangeInclusive;

use super::inputs::{self, Row};
use super::ranges::{self, Bound, Interval, Random};
use super::rounded::inverted;
use super::trial::{TRIAL_ITEMS, TRIAL_WORK, affordable};
use super::worst::worst_case;
use super::{PlanError, PlanOptions};
use crate::graph::{Graph, ValueId};
use crate::reference::{self, Ends, Lanes, NONE, Ranges, ShapeError, items, join, look};

/// How many times less the quiet inputs of a trial are than the others. A normalisation makes as much of
/// the rounding of inputs as their variance is small, down to its epsilon, which is 1e-5 by custom.
const QUIET: [f32; 3] = [16.0, 64.0, 1024.0];
/// How many times less those are of which a large model affords few: zero is tried at any rate.
const QUIET_OF_LARGE: [f32; 2] = [16.0, 1024.0];
/// Items that are varied for a trial.
const VARIED: usize = 6;
/// The fewest and the most items that are made up, and the multiply-adds that their answers may cost. The sizes of a
/// value's elements are known from few items of a model so large that it has many elements.
const MADE_UP: RangeInclusive<usize> = 3..=32;
const MADE_UP_WORK: usize = 8 * TRIAL_WORK;
/// The fewest and the most items of a second look at a plan.
const OTHERS: RangeInclusive<usize> = 2..=64;
/// How many times farther than with samples values may lie from those of made-up inputs.
const MADE_UP_MARGIN: f64 = 4.0;

/// The inputs of a model as far as the planner knows them: their ranges, and examples.
pub(super) struct Inputs {
    /// The largest magnitude of the numbers of every input; larger ones are refused when they are encoded.
    pub ranges: Vec<f64>,
    /// The largest magnitude of every number of an item; the numbers of one input have that of the input.
    pub ends: Vec<f64>,
    /// The samples, or made-up inputs, one item after the other.
    typical: Vec<f32>,
    /// The typical inputs that plans are tried on, and the others, if these were made up.
    tried: Answered,
    untried: Answered,
    /// The range of every value with all of them.
    typical_seen: Ranges,
    /// Inputs within the range that are unlike them: zero, all at one end of the range, mirrored, quiet,
    /// and far.
    unlike: Answered,
    /// How many of these, the last of them, are quiet.
    quiet: usize,
    /// Whether samples were given that show something.
    sampled: bool,
}

impl Inputs {
    /// The inputs that the options describe. Samples that are all zero show nothing, so they count as
    /// none.
    pub(super) fn new(graph: &Graph, options: &PlanOptions) -> Result<Self, PlanError> {
        items(graph, options.samples.unwrap_or_default())?;
        let samples = options.samples.filter(|x| x.iter().any(|&v| v != 0.0));
        let ranges = inputs::ranges(graph, options, samples)?;
        let ends = inputs::ends(graph, &ranges);
        let row = Row::new(graph, &ends);
        let few = affordable(graph, MADE_UP_WORK, MADE_UP);
        let unsampled = || row.given(&made_up(&row.ends, few));
        let typical = samples.map_or_else(unsampled, <[f32]>::to_vec);
        let half = half_of_trial(graph);
        let [some, rest] = parted(&typical, row.ends.len(), half);
        // Of many samples nothing is kept but what they all show.
        let (answered, rest) = match samples {
            Some(_) => (Answered::of(graph, some)?, rest),
            None => (Answered::of(graph, typical.clone())?, Vec::new()),
        };
        let mut typical_seen = reference::ranges(graph, &rest)?.1;
        answered.show(&mut typical_seen);
        let [tried, untried] = answered.parted(half);
        let varied = affordable(graph, TRIAL_WORK, 1..=VARIED);
        let some = spread(&typical, row.ends.len(), varied);
        // Of a large model a made-up item is not mirrored or taken farther: it fills the range as it is.
        let all = samples.is_some() || varied > 1;
        let quiet = if all { &QUIET[..] } else { &QUIET_OF_LARGE };
        let unlike = row.given(&unlike(&row.free(&some), &row.ends, quiet, all));
        Ok(Inputs {
            unlike: Answered::of(graph, unlike)?.finite(),
            quiet: quiet.len(),
            tried,
            untried: untried.finite(),
            typical_seen,
            typical,
            ranges,
            ends,
            sampled: samples.is_some(),
        })
    }

    /// Three bounds of every value. The first provides for `margin` times what the typical inputs show and
    /// for all that the others show, but for no more than the worst case. The second provides for the
    /// worst case. The third provides for what the typical inputs show alone. Made-up inputs are no
    /// substitute for real ones and leave more room.
    pub(super) fn bounds(&self, graph: &Graph, margin: f64) -> [Vec<Bound>; 3] {
        let typical = ranges::without_end(self.typical_seen.clone());
        let mut unlike = vec![NONE; typical.len()];
        let none = ranges::without_end(unlike.clone());
        self.unlike.show(&mut unlike);
        let worst = worst_case(graph, &self.ends);
        let margin = match self.sampled {
            true => margin,
            false => MADE_UP_MARGIN * margin,
        };
        let seen = |unlike: &[Interval]| {
            let seen = typical.iter().zip(unlike).zip(&worst);
            let bound =
                |((&typical, &unlike), &worst)| Bound::observed(typical, unlike, worst, margin);
            let mut bounds: Vec<Bound> = seen.map(bound).collect();
            bounds[0] = match graph.inputs.as_slice() {
                [one] if one.kind.shared() == 1 => Bound {
                    planned: self.ranges[0],
                    ..bounds[0]
                },
                // Of a row of several kinds of numbers no sample tells.
                _ => Bound::worst(worst[0]),
            };
            bounds
        };
        let (observed, alone) = (seen(&ranges::without_end(unlike)), seen(&none));
        let worst = worst.into_iter().map(Bound::worst).collect();
        [observed, worst, alone]
    }

    /// The inputs that plans are chosen by, half of them typical.
    pub(super) fn trial(&self, graph: &Graph) -> Answered {
        (self.tried.clone()).and(self.unlike.some(half_of_trial(graph)))
    }

    /// At most `items` of the typical inputs, from everywhere among them.
    pub(super) fn typical(&self, item: usize, items: usize) -> Vec<f32> {
        spread(&self.typical, item, items)
    }

    /// How many of the inputs that plans are chosen by are samples: the first of them.
    pub(super) fn samples(&self) -> usize {
        if self.sampled { self.tried.items() } else { 0 }
    }

    /// Items for a second look, half of them all over the range, the others quiet: typical ones of all sizes. Where there
    /// are enough of both among made-up items that plans are not chosen by, these are taken.
    pub(super) fn others(&self, graph: &Graph) -> Result<Answered, PlanError> {
        let half = affordable(graph, TRIAL_WORK, OTHERS).div_ceil(2);
        let [_, unlike] = self.unlike.clone().parted(half_of_trial(graph));
        let quiet = unlike.items().saturating_sub(self.quiet)..unlike.items();
        if self.untried.items() >= half && quiet.len() >= half {
            return Ok(self.untried.some(half).and(unlike.at(quiet).some(half)));
        }
        let row = Row::new(graph, &self.ends);
        let item = row.ends.len();
        let mut random = Random(0xd1b5_4a32_d192_ed03);
        let mut others = made_up(&row.ends, half);
        for some in row
            .free(&spread(&self.typical, item, half))
            .chunks(item.max(1))
        {
            let size = (-10.0 * random.uniform()).exp2() as f32;
            others.extend(some.iter().map(|v| v * size));
        }
        Ok(Answered::of(graph, row.given(&others))?.finite())
    }
}

/// How many typical inputs plans are chosen by at most, and how many that are unlike them.
fn half_of_trial(graph: &Graph) -> usize {
    affordable(graph, TRIAL_WORK, TRIAL_ITEMS).div_ceil(2)
}

/// The places of at most `n` items of `all`, from everywhere among them.
fn places(all: usize, n: usize) -> impl Iterator<Item = usize> {
    let n = n.min(all);
    (0..n).map(move |i| i * all / n)
}

/// At most `n` items of `x`, from everywhere among them.
fn spread(x: &[f32], item: usize, n: usize) -> Vec<f32> {
    let items: Vec<&[f32]> = x.chunks(item.max(1)).collect();
    let some = places(items.len(), n).flat_map(|at| items[at]);
    some.copied().collect()
}

/// The items that [`spread`] takes, and the rest.
fn parted(x: &[f32], item: usize, n: usize) -> [Vec<f32>; 2] {
    let mut taken = places(x.len() / item.max(1), n).peekable();
    let mut parts = [Vec::new(), Vec::new()];
    for (at, item) in x.chunks(item.max(1)).enumerate() {
        let is_taken = taken.next_if_eq(&at).is_some();
        parts[usize::from(!is_taken)].extend_from_slice(item);
    }
    parts
}

/// Zeros, both ends of the ranges, and these in turn; and of every item likenesses that are so many times less, and its
/// mirror image and its far one if `all` are asked for.
fn unlike(some: &[f32], ends: &[f64], quiet: &[f32], all: bool) -> Vec<f32> {
    let within: Vec<f32> = ends.iter().map(|&end| largest_within(end)).collect();
    let signed = |sign: fn(usize) -> f32| {
        let one = move |(at, end): (usize, &f32)| sign(at) * end;
        within.iter().enumerate().map(one)
    };
    let mut x = vec![0.0; ends.len()];
    x.extend(signed(|_| 1.0).chain(signed(|_| -1.0)));
    x.extend(signed(|at| if at % 2 == 0 { 1.0 } else { -1.0 }));
    for item in some.chunks(ends.len().max(1)) {
        let share = |(v, end): (&f32, &f64)| f64::from(v.abs()) / end;
        let largest = item.iter().zip(ends).map(share).fold(0.0, f64::max);
        let far = if largest > 0.0 { 1.0 / largest } else { 1.0 };
        let far = |(v, end): (&f32, &f32)| ((f64::from(*v) * far) as f32).clamp(-end, *end);
        if all {
            x.extend(item.iter().map(|v| -v));
            x.extend(item.iter().zip(&within).map(far));
        }
        for factor in quiet {
            x.extend(item.iter().map(|v| v / factor));
        }
    }
    x
}

/// The largest float32 that is not beyond the range.
fn largest_within(range: f64) -> f32 {
    let nearest = range as f32;
    match f64::from(nearest) > range {
        true => nearest.next_down(),
        false => nearest,
    }
}

/// Items, and what a model makes of them.
#[derive(Clone, Default)]
pub(super) struct Answered {
    pub x: Vec<f32>,
    /// The model's answers for the items.
    pub outputs: Vec<f32>,
    looks: Vec<Look>,
}

/// What is seen of the values of an item.
#[derive(Clone)]
struct Look {
    /// The range of every value.
    seen: Ranges,
    /// Whether a value is not finite, or the inverse is taken of one that is not positive.
    bad: bool,
}

impl Answered {
    /// The model's answers for the items `x`.
    fn of(graph: &Graph, x: Vec<f32>) -> Result<Self, ShapeError> {
        let (inverted, lens) = (inverted(graph), graph.lens());
        let nothing = Look {
            seen: vec![NONE; inverted.len()],
            bad: false,
        };
        let mut looks = vec![nothing; items(graph, &x)?];
        let of_items = |id: ValueId, item, values: &mut [f32]| {
            let each = values.chunks(lens[id].max(1));
            let each = each.map(look);
            (item, each.collect::<Vec<_>>())
        };
        let told = |id: ValueId, (item, seen): (usize, Vec<(Ends, bool)>)| {
            for (look, (ends, finite)) in looks[item..].iter_mut().zip(seen) {
                look.seen[id] = ends;
                look.bad |= inverted[id] && ends.0 <= 0.0 || !finite;
            }
        };
        let outputs = Lanes::of(graph).run(&x, of_items, told)?;
        Ok(Answered { x, outputs, looks })
    }

    pub(super) fn items(&self) -> usize {
        self.looks.len()
    }

    /// Adds what the items show of the range of every value.
    pub(super) fn show(&self, ranges: &mut Ranges) {
        self.looks.iter().for_each(|look| join(ranges, &look.seen));
    }

    /// The items with a finite answer, without the inverse of a number that is not positive.
    fn finite(self) -> Self {
        let finite = (0..self.items()).filter(|&at| !self.looks[at].bad);
        self.at(finite)
    }

    /// At most `n` of the items, from everywhere among them.
    fn some(&self, n: usize) -> Self {
        self.at(places(self.items(), n))
    }

    /// The items that [`Answered::some`] takes, and the rest.
    fn parted(self, n: usize) -> [Self; 2] {
        let taken: Vec<usize> = places(self.items(), n).collect();
        let rest = (0..self.items()).filter(|at| !taken.contains(at));
        [self.some(n), self.at(rest)]
    }

    fn at(&self, places: impl Iterator<Item = usize>) -> Self {
        let of = |values: &[f32], at: usize| {
            let each = values.len() / self.items();
            values[at * each..][..each].to_vec()
        };
        let alone = places.map(|at| Answered {
            x: of(&self.x, at),
            outputs: of(&self.outputs, at),
            looks: vec![self.looks[at].clone()],
        });
        alone.fold(Answered::default(), Answered::and)
    }

    /// The items, and then others.
    pub(super) fn and(mut self, others: Self) -> Self {
        self.x.extend(others.x);
        self.outputs.extend(others.outputs);
        self.looks.extend(others.looks);
        self
    }
}

/// Half of the items are noise, half runs of equal shares of the ranges, to which a model answers more
/// strongly.
fn made_up(ends: &[f64], items: usize) -> Vec<f32> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut x = Vec::with_capacity(items * ends.len());
    for i in 0..items {
        let mut share = 0.0;
        for (e, end) in ends.iter().enumerate() {
            let run = if i % 2 == 0 {
                1.0
            } else {
                2.0 + ends.len() as f64 / 16.0
            };
            if e == 0 || random.uniform() * run < 1.0 {
                share = 2.0 * random.uniform() - 1.0;
            }
            x.push((share * end) as f32);
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_inputs_stay_in_range_and_repeat() {
        let x = made_up(&[3.0; 16], 32);
        assert_eq!(x, made_up(&[3.0; 16], 32));
        assert!(x.iter().all(|v| v.abs() <= 3.0) && x.iter().any(|v| v.abs() > 2.5));
    }

    /// Zeros, both ends, these in turn, and of every item its mirror image, its far and its quiet
    /// likenesses.
    #[test]
    fn unlike_inputs_stay_in_range() {
        let x = unlike(&[1.0, -2.0, 0.0, 0.0], &[4.0; 2], &QUIET, true);
        let mut expected = vec![0.0, 0.0, 4.0, 4.0, -4.0, -4.0, 4.0, -4.0];
        expected.extend([-1.0, 2.0, 2.0, -4.0]);
        expected.extend(QUIET.map(|factor| [1.0 / factor, -2.0 / factor]).concat());
        assert_eq!(x[..18], expected);
        assert_eq!(x[18..], [0.0; 10]);
        let x = unlike(&[0.07], &[0.1], &QUIET, true);
        assert!(x.iter().all(|v| f64::from(v.abs()) <= 0.1));
        let of_made_up = unlike(&[1.0, -2.0], &[4.0; 2], &QUIET, false);
        assert_eq!(of_made_up, [&expected[..8], &expected[12..]].concat());
    }

    /// Of values so large that items are computed one by one, each item has what is seen of it alone.
    #[test]
    fn an_item_without_an_answer_takes_no_other_with_it() {
        use super::super::graphs::{graph, node};
        use crate::graph::{Function, Op};
        let function = Op::Function {
            function: Function::Reciprocal,
            domain: (f32::NEG_INFINITY, f32::INFINITY),
        };
        for elements in [3, 1 << 20] {
            let repeated = Op::Rearrange {
                index: vec![0; elements],
                fill: 0.0,
            };
            let nodes = vec![
                node(repeated, &[0], &[elements]),
                node(function.clone(), &[1], &[elements]),
            ];
            let answered = Answered::of(&graph(&[1], nodes), vec![2.0, -1.0, 0.5, 0.0, 4.0]);
            let answered = answered.expect("a batch of items of one number").finite();
            assert_eq!(answered.x, [2.0, 0.5, 4.0]);
            assert_eq!(answered.outputs.len(), 3 * elements);
            let mut seen = vec![NONE; 3];
            answered.show(&mut seen);
            assert_eq!(seen, [(0.5, 4.0), (0.5, 4.0), (0.25, 2.0)]);
        }
    }
}
