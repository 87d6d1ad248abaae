//! The sizes of values that a plan may provide for, and the inputs that it is tried on.

use super::ranges::{self, Bound, Random};
use super::rounded::inverted;
use super::trial::{TRIAL_WORK, affordable};
use super::{DEFAULT_INPUT_RANGE, PlanError, PlanOptions};
use crate::graph::{Graph, len};
use crate::reference::run;

/// How many times less the quiet inputs of a trial are than the others. A normalisation makes as much of
/// the rounding of inputs as their variance is small, down to its epsilon, which is 1e-5 by custom.
const QUIET: [f32; 3] = [16.0, 64.0, 1024.0];
/// Items that are varied for a trial.
const VARIED: usize = 6;
/// How many times farther than with samples values may lie from those of made-up inputs.
const MADE_UP_MARGIN: f64 = 4.0;

/// What is declared of the inputs, and some of them.
pub(super) struct Inputs {
    /// The largest magnitude of an input; larger ones are refused when they are encoded.
    pub range: f64,
    /// The samples, or made-up inputs, one item after the other.
    pub typical: Vec<f32>,
    /// Inputs within the range that are unlike them: zero, all at one end of the range, mirrored, quiet,
    /// and far.
    pub unlike: Vec<f32>,
    /// Whether samples were given that show something.
    pub sampled: bool,
}

impl Inputs {
    /// Of the options. Samples that are all zero show nothing, so they count as none.
    pub(super) fn new(graph: &Graph, options: &PlanOptions) -> Result<Self, PlanError> {
        let largest = |x: &[f32]| x.iter().fold(0.0, |m, v| f64::max(m, f64::from(v.abs())));
        let samples = options.samples.filter(|x| largest(x) > 0.0);
        let seen = samples.map(largest);
        let range = options.input_range.or(seen.map(|s| s * options.margin));
        let range = range
            .unwrap_or(DEFAULT_INPUT_RANGE)
            .max(f64::from(f32::MIN_POSITIVE));
        if let Some(seen) = seen.filter(|&s| s > range) {
            return Err(PlanError::Option(format!(
                "the samples reach {seen}, beyond the input range {range}"
            )));
        }
        let item = len(&graph.input_shape);
        let typical = samples.map_or_else(|| made_up(item, range), <[f32]>::to_vec);
        let varied = affordable(graph, TRIAL_WORK, 1..=VARIED);
        let unlike = unlike(&spread(&typical, item, varied), item, range);
        Ok(Inputs {
            unlike: with_answers(graph, unlike)?,
            typical,
            range,
            sampled: samples.is_some(),
        })
    }

    /// What no input within the range exceeds.
    pub(super) fn worst(&self, graph: &Graph) -> Vec<Bound> {
        let worst = ranges::worst_case(graph, self.range);
        worst.into_iter().map(Bound::worst).collect()
    }

    /// `margin` times what the typical inputs show, and all that the others do, but no more than the
    /// worst case. Made-up inputs are no substitute for real ones and leave more room.
    pub(super) fn observed(&self, graph: &Graph, margin: f64) -> Result<Vec<Bound>, PlanError> {
        self.seen(graph, margin, &self.unlike)
    }

    /// The same of the typical inputs alone.
    pub(super) fn typical(&self, graph: &Graph, margin: f64) -> Result<Vec<Bound>, PlanError> {
        self.seen(graph, margin, &[])
    }

    fn seen(&self, graph: &Graph, margin: f64, unlike: &[f32]) -> Result<Vec<Bound>, PlanError> {
        let margin = match self.sampled {
            true => margin,
            false => MADE_UP_MARGIN * margin,
        };
        let typical = ranges::observed(graph, &self.typical)?;
        let unlike = ranges::observed(graph, unlike)?;
        let worst = ranges::worst_case(graph, self.range);
        let seen = typical.iter().zip(&unlike).zip(&worst);
        let bound = |((&typical, &unlike), &worst)| Bound::observed(typical, unlike, worst, margin);
        let mut bounds: Vec<Bound> = seen.map(bound).collect();
        bounds[0].planned = self.range;
        Ok(bounds)
    }

    /// About `items` inputs, half of them typical.
    pub(super) fn trial(&self, item: usize, items: usize) -> Vec<f32> {
        let half = items.div_ceil(2);
        let mut x = spread(&self.typical, item, half);
        x.extend(spread(&self.unlike, item, half));
        x
    }

    /// As many others, for a second look: all over the range, and typical ones of all sizes.
    pub(super) fn others(&self, graph: &Graph, items: usize) -> Result<Vec<f32>, PlanError> {
        let item = len(&graph.input_shape);
        let half = items.div_ceil(2);
        let mut random = Random(0xd1b5_4a32_d192_ed03);
        let mut others = spread(&made_up(item, self.range), item, half);
        for some in spread(&self.typical, item, half).chunks(item.max(1)) {
            let size = (-10.0 * random.uniform()).exp2() as f32;
            others.extend(some.iter().map(|v| v * size));
        }
        with_answers(graph, others)
    }
}

/// At most `n` items from everywhere among them.
fn spread(x: &[f32], item: usize, n: usize) -> Vec<f32> {
    let items: Vec<&[f32]> = x.chunks(item.max(1)).collect();
    let n = n.min(items.len());
    (0..n)
        .flat_map(|i| items[i * items.len() / n])
        .copied()
        .collect()
}

/// Zeros, both ends of the range, and these in turn; and of every item its mirror image, its far and its
/// quiet likenesses.
fn unlike(some: &[f32], item: usize, range: f64) -> Vec<f32> {
    let end = largest_within(range);
    let mut x = [0.0, end, -end].map(|v| vec![v; item]).concat();
    x.extend([end, -end].iter().cycle().take(item));
    for item in some.chunks(item.max(1)) {
        let largest = item.iter().fold(0.0, |m: f32, v| m.max(v.abs()));
        let far = match largest > 0.0 {
            true => range / f64::from(largest),
            false => 1.0,
        };
        let far = |v: &f32| ((f64::from(*v) * far) as f32).clamp(-end, end);
        x.extend(item.iter().map(|v| -v).chain(item.iter().map(far)));
        for factor in QUIET {
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

/// Those items of which the model has a finite answer, without the inverse of a number that is not
/// positive.
fn with_answers(graph: &Graph, x: Vec<f32>) -> Result<Vec<f32>, PlanError> {
    let item = len(&graph.input_shape).max(1);
    let inverted = inverted(graph);
    let mut answers = Vec::new();
    for some in x.chunks(item) {
        let mut fine = true;
        run(graph, some, |id, values| {
            let bad = |v: &f32| !v.is_finite() || inverted[id] && *v <= 0.0;
            fine &= !values.iter().any(bad);
        })?;
        if fine {
            answers.extend_from_slice(some);
        }
    }
    Ok(answers)
}

/// Half of the items are noise, half runs of equal numbers, to which a model answers more strongly.
fn made_up(item: usize, range: f64) -> Vec<f32> {
    const ITEMS: usize = 32;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut x = Vec::with_capacity(ITEMS * item);
    for i in 0..ITEMS {
        let mut value = 0.0;
        for e in 0..item {
            let run = if i % 2 == 0 {
                1.0
            } else {
                2.0 + item as f64 / 16.0
            };
            if e == 0 || random.uniform() * run < 1.0 {
                value = (2.0 * random.uniform() - 1.0) * range;
            }
            x.push(value as f32);
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_inputs_stay_in_range_and_repeat() {
        let x = made_up(16, 3.0);
        assert_eq!(x, made_up(16, 3.0));
        assert!(x.iter().all(|v| v.abs() <= 3.0) && x.iter().any(|v| v.abs() > 2.5));
    }

    /// Zeros, both ends, these in turn, and of every item its mirror image, its far and its quiet
    /// likenesses.
    #[test]
    fn unlike_inputs_stay_in_range() {
        let x = unlike(&[1.0, -2.0, 0.0, 0.0], 2, 4.0);
        let mut expected = vec![0.0, 0.0, 4.0, 4.0, -4.0, -4.0, 4.0, -4.0];
        expected.extend([-1.0, 2.0, 2.0, -4.0]);
        expected.extend(QUIET.map(|factor| [1.0 / factor, -2.0 / factor]).concat());
        assert_eq!(x[..18], expected);
        assert_eq!(x[18..], [0.0; 10]);
        let x = unlike(&[0.07], 1, 0.1);
        assert!(x.iter().all(|v| f64::from(v.abs()) <= 0.1));
    }
}
