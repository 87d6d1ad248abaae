//! Finds the fewest key bits by trying them on samples, in the clear.
//!
//! Layer by layer, with those of the layers before as they were chosen: first as many bits before
//! the point as the samples need and few after it, then one less before it. Deterministic, so that
//! every plan of one model is the same.
//!
//! What fits some samples need not fit others. So the search sees every other sample, and what it finds
//! is counted on those that it has not seen: it is taken only where the share of inputs whose class it
//! changes is at most what was allowed with a confidence of 95 %. Two searches are tried in a fixed
//! order, the cautious one first, and the second only if the first holds, so that trying twice does not
//! lessen the confidence.

use std::ops::RangeInclusive;

use super::keys::{Chosen, Keys, bits, full, promises, takes_signs};
use super::ranges::{Bound, Random};
use super::trial::{TRIAL_WORK, affordable};
use super::{PlanError, PlanOptions};
use crate::graph::{Graph, Node};
use crate::reference::signs::{self, Window};
use crate::reference::{Evaluation, largest};

/// Multiply-adds that one trial may cost: a loss shows only on many items.
const WORK: usize = 4 * TRIAL_WORK;
/// How many times the error of a trial is taken.
const CAUTION: f32 = 2.0;
/// The fewest and the most items of a trial.
const ITEMS: RangeInclusive<usize> = 16..=256;
/// The multiply-adds that counting may cost on items that no search has seen.
const UNSEEN_WORK: usize = 20 * TRIAL_WORK;
const UNSEEN: RangeInclusive<usize> = 640..=4096;
/// Items that are counted at a time, which bounds the memory.
const CHUNK: usize = 64;
/// The chance that more inputs than allowed change their class, after all.
const DOUBT: f64 = 0.05;

/// What the search is given: the model, and the loss that is allowed.
pub(super) struct Search<'a> {
    pub graph: &'a Graph,
    pub bounds: &'a [Bound],
    pub f: u32,
    pub options: &'a PlanOptions<'a>,
    /// The share of inputs whose class may change.
    pub loss: f64,
}

impl Search<'_> {
    /// The narrowest key bits that change the class of no more inputs than allowed, as far as these
    /// samples can show it; else all bits, with the reason.
    pub(super) fn run(&self, samples: &[f32]) -> Result<Chosen, PlanError> {
        let item = self.graph.row_len().max(1);
        let every_other = |from: usize| -> Vec<f32> {
            samples
                .chunks(item)
                .skip(from)
                .step_by(2)
                .flatten()
                .copied()
                .collect()
        };
        let unseen = every_other(1);
        let n = affordable(self.graph, UNSEEN_WORK, UNSEEN);
        let unseen = spread(self.graph, &unseen, n);
        let seen = every_other(0);
        let seen = spread(self.graph, &seen, affordable(self.graph, WORK, ITEMS));
        let items = unseen.len() / item;
        let least = ((DOUBT.ln() / (1.0 - self.loss).ln()).ceil() as usize).max(1);
        if items < least {
            return Ok(self.none(format!(
                "a loss of {} cannot be shown on {items} samples: give at least {} for 'auto' to take \
                 fewer bits",
                self.loss,
                2 * least
            )));
        }
        let mut best: Option<Vec<Keys>> = None;
        let mut share = 0.0;
        for allowed in [0.0, self.loss] {
            let keys = self.narrowest(seen.clone(), allowed)?;
            let changed = self.changed(&unseen, &keys)?;
            share = at_most(changed, items);
            if share > self.loss {
                break;
            }
            best = Some(keys);
        }
        let Some(keys) = best else {
            return Ok(self.none(format!(
                "no fewer bits keep the class of all but {} of the inputs: of {items} samples that were \
                 not searched, so many changed that it may be up to {share:.4}",
                self.loss
            )));
        };
        let who = "the key bits that the samples bear";
        let warnings = promises(self.graph, self.bounds, &keys, self.f, who);
        Ok((keys, warnings))
    }

    /// Keeps all key bits, with a warning that says why.
    fn none(&self, why: String) -> Chosen {
        let (keys, _) = full(self.graph, self.bounds, self.f, self.options);
        (keys, vec![format!("all key bits are kept: {why}")])
    }

    /// The narrowest key bits with which at most the share `loss` of the samples change their class.
    fn narrowest(&self, samples: Vec<f32>, loss: f64) -> Result<Vec<Keys>, PlanError> {
        let mut evaluation = Evaluation::new(self.graph, samples)?;
        let trial = Trial {
            right: output(evaluation.clone()),
            item: revealed_len(self.graph),
            f: self.f,
            options: self.options,
        };
        let layers = self
            .graph
            .nodes
            .iter()
            .filter(|node| takes_signs(node))
            .count();
        let (mut keys, mut done) = (Vec::new(), 0);
        while let Some(node) = evaluation.next() {
            if !takes_signs(node) {
                keys.push(Keys::ALL);
                evaluation.advance();
                continue;
            }
            done += 1;
            // No layer takes the share of those after it.
            let share = done as f64 / layers as f64;
            let chosen =
                trial.narrowest(node, &evaluation, (loss * share * trial.items()) as usize);
            keys.push(chosen.keys);
            evaluation.push(chosen.value);
        }
        Ok(keys)
    }

    /// How many items change their class by these key bits.
    fn changed(&self, samples: &[f32], keys: &[Keys]) -> Result<usize, PlanError> {
        let item = self.graph.row_len().max(1);
        let outputs = revealed_len(self.graph);
        let mut random = Random(0x6a09_e667_f3bc_c908);
        let mut changed = 0;
        for chunk in samples.chunks(CHUNK * item) {
            let mut evaluation = Evaluation::new(self.graph, chunk.to_vec())?;
            let right = output(evaluation.clone());
            while let Some(node) = evaluation.next() {
                let keys = keys[evaluation.done() - 1];
                if keys.is_all() {
                    evaluation.advance();
                    continue;
                }
                let (x, window) = (evaluation.input(), window(keys, self.f));
                evaluation.push(signs::evaluate(node, x, window, || random.uniform()));
            }
            let pairs = right
                .chunks(outputs)
                .zip(evaluation.output().chunks(outputs));
            changed += pairs
                .filter(|(right, found)| class(right) != class(found))
                .count();
        }
        Ok(changed)
    }
}

/// What the share of a whole is at most, with confidence, of which `found` were found among `n`: the
/// bound of Clopper and Pearson, the largest share with which so few are not yet unlikely.
fn at_most(found: usize, n: usize) -> f64 {
    let unlikely = |share: f64| {
        // The terms of the binomial distribution from 0 on, each made of the one before.
        let mut term = (1.0 - share).powi(n as i32);
        let mut sum = term;
        for k in 0..found {
            term *= (n - k) as f64 / (k + 1) as f64 * share / (1.0 - share);
            sum += term;
        }
        sum < DOUBT
    };
    let (mut low, mut high) = (found as f64 / n as f64, 1.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        match middle >= 1.0 || unlikely(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    high
}

/// At most `n` of the samples, from everywhere among them.
fn spread(graph: &Graph, samples: &[f32], n: usize) -> Vec<f32> {
    let items: Vec<&[f32]> = samples.chunks(graph.row_len().max(1)).collect();
    let n = n.min(items.len());
    (0..n)
        .flat_map(|i| items[i * items.len() / n])
        .copied()
        .collect()
}

/// The values of which these key bits tell the sign.
fn window(keys: Keys, f: u32) -> Window {
    Window {
        unit: keys.unit(f) as f32,
        limit: keys.limit(f) as f32,
    }
}

/// Key bits as they were tried out.
struct Tried {
    keys: Keys,
    /// The layer's output under these key bits.
    value: Vec<f32>,
    /// Samples whose class changed.
    lost: usize,
}

/// What is revealed once all signs to come were exact.
fn output(mut evaluation: Evaluation) -> Vec<f32> {
    while evaluation.next().is_some() {
        evaluation.advance();
    }
    evaluation.output().to_vec()
}

/// Numbers revealed of an item.
fn revealed_len(graph: &Graph) -> usize {
    let ends = graph.outputs.iter().map(|o| o.start + o.part_len());
    ends.max().unwrap_or(0).max(1)
}

/// An item's class: the largest number, or the sign of a single one.
fn class(item: &[f32]) -> usize {
    match item {
        [logit] => usize::from(*logit > 0.0),
        item => largest(item),
    }
}

/// What a trial is held against.
struct Trial<'a> {
    /// The outputs with exact signs.
    right: Vec<f32>,
    /// Numbers revealed of an item.
    item: usize,
    f: u32,
    options: &'a PlanOptions<'a>,
}

impl Trial<'_> {
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
        let Keys { dropped, kept, .. } = best.keys;
        if kept > 1 {
            let kept = kept - 1;
            let fewer = self.tried(node, evaluation, Keys::of(dropped, kept));
            if fewer.lost <= allowed {
                best = fewer;
            }
        }
        best
    }

    /// Key bits that hold `reach`, with ever more after the point; where the ring has no room for
    /// any of them, those that hold as much as there is room for.
    fn candidates(&self, reach: f64) -> Vec<Keys> {
        let PlanOptions { signs, modulus, .. } = *self.options;
        let within = |total: u32| -> Vec<Keys> {
            let with = |fraction: u32| {
                let dropped = self.f - fraction;
                let kept = total.checked_sub(dropped)?;
                let keys = Keys::of(dropped, kept);
                keys.fit(signs, modulus.bits()).then_some(keys)
            };
            (0..=self.f).filter_map(with).collect()
        };
        let mut totals = (1..=bits(reach, self.f).min(modulus.bits()))
            .rev()
            .map(within);
        totals.find(|keys| !keys.is_empty()).unwrap_or_default()
    }

    fn tried(&self, node: &Node, evaluation: &Evaluation, keys: Keys) -> Tried {
        let window = window(keys, self.f);
        let mut random = Random(0x1f83_d9ab_fb41_bd6b);
        let value = signs::evaluate(node, evaluation.input(), window, || random.uniform());
        let mut rest = evaluation.clone();
        rest.push(value.clone());
        let lost = self.lost(&output(rest));
        Tried { keys, value, lost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule of three, and sums of the distribution by exact arithmetic.
    #[test]
    fn shares_are_bounded_as_in_tables() {
        assert!((at_most(0, 598) - 0.004997).abs() < 1e-5);
        assert!((at_most(5, 100) - 0.102253).abs() < 1e-5);
        assert!((at_most(20, 400) - 0.071829).abs() < 1e-5);
        assert_eq!(at_most(3, 3), 1.0);
    }
}
