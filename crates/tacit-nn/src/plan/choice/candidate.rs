//! One way to plan, beside others.

use std::rc::Rc;

use super::super::ranges::{Bound, FAR, Interval};
use super::super::rounding::Rounding;
use super::super::scales::Scaled;
use crate::graph::ValueId;

/// Number of layers in doubt from which on fewer than twice as many are no worse.
const MANY: usize = 16;
/// How many times as much fewer bits err, where they are the cause: a bit doubles an error, or is of no use.
const STEEP: f64 = 1.5;
/// How many times as much as rounding was seen to lead to is provided for.
const AMPLE: f64 = 2.0;
/// Last places by which values may go beyond what is provided for.
const BEYOND: f64 = 8.0;

/// One way to plan.
pub(super) struct Candidate<T> {
    /// The fraction bits, or the bits, that it was made with.
    pub(super) bits: u32,
    pub(super) bounds: Rc<[Bound]>,
    pub(super) made: T,
    pub(super) doubts: Vec<String>,
    pub(super) rounding: Rounding,
}

impl<T> Candidate<T> {
    /// Whether none of these candidates has more bits with the same ranges.
    pub(super) fn has_most_bits(&self, among: &[Candidate<T>]) -> bool {
        let has_more = |other: &Candidate<T>| {
            Rc::ptr_eq(&other.bounds, &self.bounds) && other.bits > self.bits
        };
        !among.iter().any(has_more)
    }

    /// Whether of candidates with these errors two have the same ranges and more bits, and more than a little error, the
    /// one of fewer bits the larger one: this one has no less.
    pub(super) fn is_rougher(&self, errors: &[(&Candidate<T>, f64)], little: f64) -> bool {
        let has_more = |of: &&(&Candidate<T>, f64)| {
            Rc::ptr_eq(&of.0.bounds, &self.bounds) && of.0.bits > self.bits
        };
        let more = || errors.iter().filter(has_more);
        let is_steep = |(fewer, error): &(&Candidate<T>, f64)| {
            more().any(|(finer, least)| {
                finer.bits > fewer.bits && *least > little && *error >= STEEP * least
            })
        };
        more().any(is_steep)
    }
}

impl<T: Scaled> Candidate<T> {
    /// Whether a value that is not 0 is less than its last place wherever it was seen: what follows it is
    /// rounding alone, and how it is rounded matters.
    pub(super) fn loses(&self) -> bool {
        let lost = |(id, bound): (ValueId, &Bound)| {
            let unit = (-f64::from(self.made.fraction(id))).exp2();
            bound.planned > 0.0 && bound.planned < unit
        };
        self.bounds.iter().enumerate().any(lost)
    }
}

/// Whether so many layers in doubt are no worse than so few.
pub(super) fn are_as_few(doubts: usize, few: usize) -> bool {
    doubts <= few || few >= MANY && doubts < 2 * few
}

/// Bounds that provide for all that was seen of a trial's values as rounded, if those of the candidate do for the
/// exact ones alone; and the first value that goes beyond.
pub(super) fn reached<T: Scaled>(
    of: &Candidate<T>,
    seen: &[[Interval; 2]],
) -> Option<(Rc<[Bound]>, ValueId)> {
    let wider = |id: ValueId| {
        let unit = (-f64::from(of.made.fraction(id))).exp2();
        let [exact, (low, high)] = seen[id];
        let bound = of.bounds[id];
        let passed = |values| bound.is_passed(values, BEYOND * unit);
        let finite = low > -FAR && high < FAR;
        let reaches = finite && !passed(exact) && passed((low, high));
        let ample = (low.min(AMPLE * low), high.max(AMPLE * high));
        reaches.then(|| bound.and(ample))
    };
    let wider: Vec<Option<Bound>> = (0..seen.len()).map(wider).collect();
    let first = wider.iter().position(Option::is_some)?;
    let both = wider.into_iter().zip(of.bounds.iter());
    let all = both.map(|(wider, &bound)| wider.unwrap_or(bound));
    Some((all.collect(), first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_bits_of_the_same_ranges_are_found() {
        let ranges: [Rc<[Bound]>; 2] = [Rc::new([]), Rc::new([])];
        let of = |range: usize, bits| Candidate {
            bits,
            bounds: ranges[range].clone(),
            made: (),
            doubts: Vec::new(),
            rounding: Rounding {
                fractions: Vec::new(),
                weights: Vec::new(),
                steps: Vec::new(),
                field: None,
                exact: false,
                ranks: None,
            },
        };
        let candidates = [of(0, 18), of(0, 20), of(0, 17), of(1, 9), of(1, 8)];
        let most = candidates
            .each_ref()
            .map(|of| of.has_most_bits(&candidates));
        assert_eq!(most, [false, true, false, true, false]);
        let [of_18, of_20, of_17, others, fewer] = &candidates;
        let is_rougher = |errors: [f64; 2], of: &Candidate<()>| {
            of.is_rougher(&[(of_18, errors[0]), (of_20, errors[1])], 0.001)
        };
        assert!(is_rougher([0.008, 0.002], of_17) && !is_rougher([0.002, 0.008], of_17));
        assert!(!is_rougher([0.0025, 0.002], of_17) && !is_rougher([0.004, 0.001], of_17));
        assert!(!is_rougher([0.008, 0.002], of_18) && !is_rougher([0.008, 0.002], others));
        assert!(!fewer.is_rougher(&[(others, 0.5)], 0.001));
    }

    /// One layer in doubt is worse than none, and 16 than 15; of many about as many are no worse.
    #[test]
    fn of_many_doubts_a_few_more_do_not_matter() {
        assert!(are_as_few(0, 0) && !are_as_few(1, 0));
        assert!(are_as_few(15, 15) && !are_as_few(16, 15));
        assert!(are_as_few(31, 16) && !are_as_few(32, 16) && are_as_few(3, 16));
    }
}
