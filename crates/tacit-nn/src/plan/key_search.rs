//! Finds the fewest key bits by trying them on samples, in the clear.
//!
//! Layer by layer, with those of the layers before as they were chosen: first as many bits before
//! the point as the samples need and few after it, then one less before it. Deterministic, so that
//! every plan of one model is the same.
//!
//! What fits some samples need not fit others: a class counts as changed where twice the error
//! would change it.

use std::ops::RangeInclusive;

use super::PlanError;
use super::keys::{Chosen, Keys, bits, compared};
use super::ranges::Random;
use super::search::{TRIAL_WORK, affordable};
use crate::graph::{Graph, Node, len};
use crate::reference::signs::{self, Window};
use crate::reference::{Evaluation, largest};

/// Multiply-adds that one trial may cost: a loss shows only on many items.
const WORK: usize = 4 * TRIAL_WORK;
/// How many times the error of a trial is taken.
const CAUTION: f32 = 2.0;
/// The fewest and the most items of a trial.
const ITEMS: RangeInclusive<usize> = 16..=256;

/// The narrowest key bits with which at most `loss` of the samples change their class.
pub(super) fn search(
    graph: &Graph,
    samples: &[f32],
    loss: f64,
    f: u32,
    ring_bits: u32,
) -> Result<Chosen, PlanError> {
    let mut evaluation = Evaluation::new(graph, spread(graph, samples))?;
    let mut trial = Trial {
        right: vec![],
        item: len(&graph.revealed_shape),
        f,
        ring_bits,
    };
    trial.right = output(evaluation.clone());
    let takes_signs = |node: &Node| compared(node, 0.0).is_some();
    let layers = graph.nodes.iter().filter(|node| takes_signs(node)).count();
    let (mut keys, mut done, mut lost) = (Vec::new(), 0, 0);
    while let Some(node) = evaluation.next() {
        if !takes_signs(node) {
            keys.push(Keys::ALL);
            evaluation.push(evaluation.evaluate());
            continue;
        }
        done += 1;
        // No layer takes the share of those after it.
        let share = done as f64 / layers as f64;
        let chosen = trial.narrowest(node, &evaluation, (loss * share * trial.items()) as usize);
        lost = chosen.lost;
        keys.push(chosen.keys);
        evaluation.push(chosen.value);
    }
    Ok((keys, trial.warning(lost, loss).into_iter().collect()))
}

/// As many samples as a trial can afford, from everywhere among them.
fn spread(graph: &Graph, samples: &[f32]) -> Vec<f32> {
    let items: Vec<&[f32]> = samples.chunks(len(&graph.input_shape).max(1)).collect();
    let n = affordable(graph, WORK, ITEMS).min(items.len());
    (0..n)
        .flat_map(|i| items[i * items.len() / n])
        .copied()
        .collect()
}

/// Key bits as they were tried out.
struct Tried {
    keys: Keys,
    /// The layer's output.
    value: Vec<f32>,
    /// Samples whose class changed.
    lost: usize,
}

/// What is revealed once all signs to come were exact.
fn output(mut evaluation: Evaluation) -> Vec<f32> {
    while evaluation.next().is_some() {
        evaluation.push(evaluation.evaluate());
    }
    evaluation.output().to_vec()
}

/// An item's class: the largest number, or the sign of a single one.
fn class(item: &[f32]) -> usize {
    match item {
        [logit] => usize::from(*logit > 0.0),
        item => largest(item),
    }
}

/// What a trial is held against.
struct Trial {
    /// The outputs with exact signs.
    right: Vec<f32>,
    /// Numbers revealed of an item.
    item: usize,
    f: u32,
    ring_bits: u32,
}

impl Trial {
    fn items(&self) -> f64 {
        (self.right.len() / self.item) as f64
    }

    /// The items whose class an error like that of `found` changes.
    fn lost(&self, found: &[f32]) -> usize {
        let pairs = self.right.chunks(self.item).zip(found.chunks(self.item));
        let changes = |(right, found): &(&[f32], &[f32])| {
            let error = right.iter().zip(*found);
            let far: Vec<f32> = error.map(|(r, f)| r + CAUTION * (f - r)).collect();
            class(right) != class(&far)
        };
        pairs.filter(changes).count()
    }

    /// The narrowest key bits for `node`, which is next, that lose no more than `allowed`; or else
    /// the widest that there are.
    fn narrowest(&self, node: &Node, evaluation: &Evaluation, allowed: usize) -> Tried {
        let reach = signs::reach(node, evaluation.input());
        let mut candidates = self.candidates(f64::from(reach)).into_iter();
        let mut best = self.tried(node, evaluation, candidates.next().unwrap_or(Keys::ALL));
        for keys in candidates {
            if best.lost <= allowed {
                break;
            }
            best = self.tried(node, evaluation, keys);
        }
        let Keys { dropped, kept } = best.keys;
        if kept > 1 {
            let kept = kept - 1;
            let fewer = self.tried(node, evaluation, Keys { dropped, kept });
            if fewer.lost <= allowed {
                best = fewer;
            }
        }
        best
    }

    /// Key bits that hold `reach`, with ever more after the point; where the ring has no room for
    /// any of them, those that hold as much as there is room for.
    fn candidates(&self, reach: f64) -> Vec<Keys> {
        let within = |total: u32| -> Vec<Keys> {
            let with = |fraction: u32| {
                let dropped = self.f - fraction;
                let kept = total.checked_sub(dropped)?;
                let keys = Keys { dropped, kept };
                keys.fit(self.ring_bits).then_some(keys)
            };
            (0..=self.f).filter_map(with).collect()
        };
        let mut totals = (1..=bits(reach, self.f).min(self.ring_bits))
            .rev()
            .map(within);
        totals.find(|keys| !keys.is_empty()).unwrap_or_default()
    }

    fn tried(&self, node: &Node, evaluation: &Evaluation, keys: Keys) -> Tried {
        let window = Window {
            unit: keys.unit(self.f) as f32,
            limit: keys.limit(self.f) as f32,
        };
        let mut random = Random(0x1f83_d9ab_fb41_bd6b);
        let value = signs::evaluate(node, evaluation.input(), window, || random.uniform());
        let mut rest = evaluation.clone();
        rest.push(value.clone());
        let lost = self.lost(&output(rest));
        Tried { keys, value, lost }
    }

    fn warning(&self, lost: usize, loss: f64) -> Option<String> {
        let items = self.items();
        if lost as f64 > loss * items {
            let lost = lost as f64 / items;
            return Some(format!(
                "the key bits change the class of {lost:.3} of the samples, more than {loss}: the \
                 ring has no room for more; use fewer fraction bits or a wider ring"
            ));
        }
        (loss * items < 1.0 && loss > 0.0).then(|| {
            let needed = (1.0 / loss).ceil();
            format!(
                "the key bits were tried on {items} samples and change the class of none; a loss \
                 of {loss} is seen only on {needed} or more"
            )
        })
    }
}
