//! Counts of what was seen, and how far they are from a law or from each other, by chi-square.

use std::collections::{BTreeMap, BTreeSet};

/// Beyond this many standard deviations a law is not kept: by chance below once in 10^10 tests.
pub const LIMIT: f64 = 6.5;

/// How often each of the kinds occurs.
pub fn count(cells: impl Iterator<Item = usize>, kinds: usize) -> Vec<u64> {
    let mut counts = vec![0; kinds];
    cells.for_each(|cell| counts[cell] += 1);
    counts
}

/// All pairs of numbers below `n`, the larger first.
pub fn couples(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(|a| (0..a).map(move |b| (a, b)))
}

/// Wilson and Hilferty's normal deviate of a chi-square statistic.
pub(crate) fn deviate(statistic: f64, freedom: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// How far counts are from a law given by weights.
pub fn from_law(counts: &[u64], law: &[f64]) -> f64 {
    assert_eq!(counts.len(), law.len());
    let total = counts.iter().sum::<u64>() as f64 / law.iter().sum::<f64>();
    let term = |(&count, &weight): (&u64, &f64)| match weight > 0.0 {
        true => (count as f64 - weight * total).powi(2) / (weight * total),
        false if count > 0 => f64::INFINITY,
        false => 0.0,
    };
    let kinds = law.iter().filter(|w| **w > 0.0).count();
    deviate(counts.iter().zip(law).map(term).sum(), kinds as f64 - 1.0)
}

/// How far two histograms are from each other.
pub fn apart(a: &[u64], b: &[u64]) -> f64 {
    let (all_a, all_b) = (a.iter().sum::<u64>() as f64, b.iter().sum::<u64>() as f64);
    let cells: Vec<_> = a.iter().zip(b).filter(|(a, b)| **a + **b > 0).collect();
    let term = |(a, b): &(&u64, &u64)| {
        let (a, b) = (**a as f64, **b as f64);
        (a * (all_b / all_a).sqrt() - b * (all_a / all_b).sqrt()).powi(2) / (a + b)
    };
    let freedom = (cells.len() as f64 - 1.0).max(1.0);
    deviate(cells.iter().map(term).sum(), freedom)
}

/// How far apart two histograms are that are given as counts by cell.
pub fn apart_by_cell(a: &BTreeMap<u32, u64>, b: &BTreeMap<u32, u64>) -> f64 {
    let cells: BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let counts = |h: &BTreeMap<u32, u64>| -> Vec<u64> {
        let of = |cell: &&u32| h.get(cell).copied().unwrap_or(0);
        cells.iter().map(of).collect()
    };
    apart(&counts(a), &counts(b))
}

/// Whether `seen` of `trials` keeps to a probability: within six standard deviations, beyond which
/// a binomial law is by chance below once in 10^8 tests.
pub fn keeps_to_rate(seen: usize, trials: usize, probability: f64) -> bool {
    let mean = trials as f64 * probability;
    // Of a rare event a few more: one that is expected once in a thousand trials does happen.
    (seen as f64 - mean).abs() <= 6.0 * (mean * (1.0 - probability)).sqrt() + 4.0
}
