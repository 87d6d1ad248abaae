//! Index maps of plans. Those of transposes and repeats are long and regular, so a plan has them as runs:
//! a transformer's would be a hundred times longer, element by element.

use serde::{Deserialize, Serialize};

use crate::graph::FILL;

/// For every element of an output item the element of the input item that it is, or [`FILL`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Places(Vec<Run>);

/// The first place, by how much each is more than the one before, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Run(u32, i32, u32);

impl Run {
    fn place(self, i: u32) -> u32 {
        let Run(first, step, _) = self;
        first.wrapping_add((step as u32).wrapping_mul(i))
    }

    /// Whether all of its places are padding or below `len`.
    fn fits(self, len: usize) -> bool {
        let Run(first, step, count) = self;
        let Some(steps) = count.checked_sub(1) else {
            return false;
        };
        let last = i64::from(first) + i64::from(step) * i64::from(steps);
        let inside = |place: i64| usize::try_from(place).is_ok_and(|place| place < len);
        (first, step) == (FILL, 0) || inside(first.into()) && inside(last)
    }
}

/// By how much `second` is more than `first`, if a run may have both.
fn step(first: u32, second: u32) -> Option<i32> {
    let alike = (first == FILL) == (second == FILL);
    let by = i32::try_from(i64::from(second) - i64::from(first)).ok()?;
    alike.then_some(by)
}

impl Places {
    /// The runs of an index map.
    pub fn new(index: &[u32]) -> Places {
        let mut runs: Vec<Run> = Vec::new();
        let mut rest = index;
        while let [first, others @ ..] = rest {
            let step = others.first().and_then(|second| step(*first, *second));
            let pairs = rest.windows(2).take_while(|pair| {
                step.is_some_and(|by| pair[1] == pair[0].wrapping_add(by as u32))
                    && (pair[0] == FILL) == (pair[1] == FILL)
            });
            let count = 1 + pairs.count();
            let by = step.filter(|_| count > 1).unwrap_or(0);
            runs.push(Run(*first, by, count as u32));
            rest = &rest[count..];
        }
        Places(runs)
    }

    /// How many places there are, padding included.
    pub(crate) fn len(&self) -> u64 {
        self.0.iter().map(|run| u64::from(run.2)).sum()
    }

    /// Whether all places are padding or places of an item of `len` elements.
    pub(crate) fn fit(&self, len: usize) -> bool {
        self.0.iter().all(|run| run.fits(len))
    }

    /// Whether some are padding.
    pub(crate) fn pads(&self) -> bool {
        self.0.iter().any(|run| run.0 == FILL)
    }

    /// Every place, in order, padding included.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + Clone {
        let places = |&run: &Run| (0..run.2).map(move |i| run.place(i));
        self.0.iter().flat_map(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_the_map_that_they_are_made_of() {
        let maps: [&[u32]; 6] = [
            &[],
            &[5],
            &[0, 3, 6, 1, 4, 7, 2, 5, 8],
            &[0, 0, 0, 1, 1, 1],
            &[FILL, FILL, 2, 1, 0, FILL, 7],
            &[0, (1 << 28) - 1, 0, 9, 8, 8],
        ];
        for map in maps {
            let places = Places::new(map);
            assert!(places.iter().eq(map.iter().copied()), "{map:?}");
            assert_eq!(places.len(), map.len() as u64);
            assert_eq!(places.pads(), map.contains(&FILL));
            let most = map
                .iter()
                .filter(|&&i| i != FILL)
                .max()
                .map_or(0, |&i| i as usize);
            assert!(
                places.fit(most + 1) && (most == 0 || !places.fit(most)),
                "{map:?}"
            );
        }
        assert_eq!(Places::new(maps[2]).0.len(), 3);
        assert_eq!(Places::new(maps[3]).0.len(), 2);
    }

    /// Runs of a peer: none are empty, none leave the item on their way.
    #[test]
    fn runs_that_leave_the_item_do_not_fit() {
        let fits = |run| Places(vec![run]).fit(10);
        assert!(fits(Run(9, -9, 2)) && fits(Run(0, 3, 4)) && fits(Run(FILL, 0, u32::MAX)));
        for run in [
            Run(0, 1, 0),
            Run(10, 0, 1),
            Run(0, 3, 5),
            Run(9, -9, 3),
            Run(0, i32::MIN, u32::MAX),
            Run(FILL, 1, 2),
            Run(FILL - 1, 0, 1),
        ] {
            assert!(!fits(run), "{run:?}");
        }
    }
}
