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

    /// The run with `place` after its others, if that is where it goes on; a second one sets the step.
    fn and(self, place: u32) -> Option<Run> {
        let Run(first, step, count) = self;
        let last = self.place(count - 1);
        let by = i32::try_from(i64::from(place) - i64::from(last)).ok()?;
        let alike = (first == FILL) == (place == FILL);
        (alike && (count == 1 || by == step)).then_some(Run(first, by, count + 1))
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

impl Places {
    /// The runs of an index map.
    pub fn new(index: &[u32]) -> Places {
        let mut runs: Vec<Run> = Vec::new();
        for &place in index {
            let longer = runs.last().and_then(|run| run.and(place));
            match (longer, runs.last_mut()) {
                (Some(longer), Some(run)) => *run = longer,
                _ => runs.push(Run(place, 0, 1)),
            }
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
