//! Where the whole number of a value is searched: in the range of the value, by halves.

use super::ranges::{Bound, Interval};
use super::told::Told;
use crate::graph::{Op, Whole};

/// The most signs of a search, one after the other.
pub(crate) const MOST_STEPS: u32 = 20;

/// The whole numbers from `low` to just below `low + 2^steps`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Search {
    pub low: i64,
    pub steps: u32,
}

impl Search {
    /// The search for the whole numbers of all values within `x`, if they are few enough.
    fn of(whole: Whole, x: Interval) -> Option<Self> {
        let (low, high) = (whole.of(x.0), whole.of(x.1));
        // In a search for the nearest an odd number is the last to be tried, so that a half goes to the even one.
        let low = match whole {
            Whole::Down => low,
            Whole::Nearest => (low / 2.0).floor() * 2.0,
        };
        let most = f64::from(MOST_STEPS).exp2();
        let near = low.abs().max(high.abs()) < f64::from(1u32 << 31);
        let steps = |low: f64| (high - low + 1.0).log2().ceil();
        // The plan is public, and a range tells of the weights: no more than three bits of where it begins.
        let unit = (steps(low) - 3.0).max(0.0).exp2();
        let low = (low / unit).floor() * unit;
        (near && steps(low).exp2() <= most).then(|| Search {
            low: low as i64,
            steps: steps(low) as u32,
        })
    }

    /// The numbers that are searched.
    pub(super) fn within(self) -> Interval {
        let low = self.low as f64;
        (low, low + f64::from(self.steps).exp2() - 1.0)
    }

    /// The magnitude of the farthest number that a value is compared with.
    pub(super) fn far(self) -> f64 {
        let (low, high) = self.within();
        low.abs().max(high.abs() + 1.0)
    }
}

/// The search of a node for arguments in the worst case, or as planned where that is out of reach; none
/// of a node that makes no whole numbers.
pub(super) fn search(op: &Op, x: Bound) -> Result<Search, String> {
    let &Op::Whole(whole) = op else {
        return Ok(Search::default());
    };
    let found = Search::of(whole, x.worst_within).or_else(|| Search::of(whole, x.within));
    found.ok_or_else(|| {
        format!(
            "its arguments are planned from {} to {}, and of more than 2^{MOST_STEPS} whole numbers none is \
             found: declare a smaller range of inputs, or clip the argument",
            Told(x.within.0),
            Told(x.within.1)
        )
    })
}

/// The whole numbers that a node finds, if arguments of a worst case of `x` have others.
pub(super) fn missed(op: &Op, search: Search, x: Interval) -> Option<Interval> {
    let &Op::Whole(whole) = op else {
        return None;
    };
    let (low, high) = search.within();
    (whole.of(x.0) < low || whole.of(x.1) > high).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(whole: Whole, worst: Interval) -> Option<[i64; 2]> {
        let search = search(&Op::Whole(whole), Bound::worst(worst)).ok()?;
        Some([search.low, search.steps.into()])
    }

    /// A search takes as few signs as tell all whole numbers of the range apart, none where there is but one; where it
    /// begins is told roughly.
    #[test]
    fn a_search_covers_the_range_and_no_more() {
        assert_eq!(of(Whole::Down, (0.0, 255.9)), Some([0, 8]));
        assert_eq!(of(Whole::Down, (-0.1, 255.9)), Some([-64, 9]));
        assert_eq!(of(Whole::Down, (0.1, 0.9)), Some([0, 0]));
        assert_eq!(of(Whole::Nearest, (0.1, 254.9)), Some([0, 8]));
        assert_eq!(of(Whole::Nearest, (-129.0, 0.0)), Some([-160, 8]));
        assert_eq!(of(Whole::Down, (-1e9, 1e9)), None);
        assert_eq!(of(Whole::Down, (-1e150, 1e150)), None);
    }

    /// A worst case out of reach is left for what is planned, and what that misses is known.
    #[test]
    fn a_search_of_what_is_planned_says_what_it_misses() {
        let far = (-1e9, 1e9);
        let bound = Bound {
            planned: 3.0,
            worst: 1e9,
            within: (-3.0, 3.0),
            worst_within: far,
        };
        let op = Op::Whole(Whole::Down);
        let found = search(&op, bound).expect("seven numbers are few");
        assert_eq!([found.low, found.steps.into()], [-3, 3]);
        assert_eq!(missed(&op, found, far), Some((-3.0, 4.0)));
        assert_eq!(missed(&op, found, (-3.0, 4.9)), None);
    }
}
