//! Labels that rounding changes. Scores far smaller than others of the same output, as densities and products of
//! probabilities are of most items, may all be less than a last place: the errors are little beside the others, and
//! the largest is any of them.

use crate::graph::{Output, Tail};

/// The share of the largest score's size that it is apart from another at least, if float32 tells the two apart.
const TOLD_APART: f64 = 1.0 / (1 << 18) as f64;
/// The share of labels that a user must hear of, and how many these are at least: where two scores are as near to each
/// other as an error, either is as good.
const MANY: f64 = 1.0 / 200.0;
const FEWEST: usize = 2;

/// How many labels of an output are others than in float32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::plan) struct Changed {
    pub labels: usize,
    pub of: usize,
}

impl Changed {
    /// Labels of scores as they are and as a trial found them, both before what the receiver computes of them, which
    /// keeps their order.
    pub(super) fn among(output: &Output, exact: &[f32], found: &[f32]) -> Self {
        let mut steps = output.tail.iter();
        let Some(step) = steps.find(|step| step.function.is_arg_max()) else {
            return Changed::default();
        };
        let each = step.outer * step.size * step.inner;
        if each == 0 || exact.len() != found.len() || !exact.len().is_multiple_of(each) {
            return Changed::default();
        }
        let items = exact.chunks_exact(each).zip(found.chunks_exact(each));
        let all = items.flat_map(|(exact, found)| {
            let windows = (0..step.outer).flat_map(move |o| (0..step.inner).map(move |i| (o, i)));
            windows.map(move |at| is_changed(step, at, exact, found))
        });
        all.fold(Changed::default(), |sum, changed| Changed {
            labels: sum.labels + usize::from(changed),
            of: sum.of + 1,
        })
    }

    /// The share of labels that are others, if a user must hear of it, else 0.
    pub(in crate::plan) fn share(self) -> f64 {
        let share = self.labels as f64 / self.of.max(1) as f64;
        match self.labels >= FEWEST && share > MANY {
            true => share,
            false => 0.0,
        }
    }

    /// The one of two that has the larger share.
    pub(super) fn or(self, other: Self) -> Self {
        if other.share() > self.share() {
            other
        } else {
            self
        }
    }
}

/// Whether another score of a window is the largest.
fn is_changed(step: &Tail, (outer, inner): (usize, usize), exact: &[f32], found: &[f32]) -> bool {
    let at = |place: usize| (outer * step.size + place) * step.inner + inner;
    let largest = |of: &[f32]| {
        let places = (1..step.size).fold(0, |best, place| match of[at(place)] > of[at(best)] {
            true => place,
            false => best,
        });
        at(places)
    };
    let (right, taken) = (
        f64::from(exact[largest(exact)]),
        f64::from(exact[largest(found)]),
    );
    right.is_finite() && taken.is_finite() && right - taken > TOLD_APART * right.abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::TailFunction;

    fn labelled(exact: &[f32], found: &[f32]) -> Changed {
        let mut output = Output::whole("label", &[3]);
        output.tail = vec![Tail {
            function: TailFunction::ArgMax,
            outer: 1,
            size: 3,
            inner: 1,
        }];
        Changed::among(&output, exact, found)
    }

    #[test]
    fn labels_of_small_scores_change() {
        let exact = [
            0.9, 0.1, 0.0, 1e-7, 3e-7, 2e-7, 2e-8, 1e-8, 0.0, 0.5, 0.2, 0.1,
        ];
        let found = [0.9, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1e-6, 0.5, 0.2, 0.1];
        let changed = labelled(&exact, &found);
        assert_eq!(changed, Changed { labels: 2, of: 4 });
        assert_eq!(changed.share(), 0.5);
    }

    /// One may be just between two labels, and equal scores have no label of their own.
    #[test]
    fn what_float32_hardly_tells_apart_is_either() {
        let exact = [0.5, 0.5, 0.0, 0.5, 0.499, 0.0, 1.0, 0.0, 0.0];
        let found = [0.4, 0.5, 0.0, 0.4, 0.5, 0.0, 1.0, 0.0, 0.0];
        let changed = labelled(&exact, &found);
        assert_eq!(changed, Changed { labels: 1, of: 3 });
        assert_eq!(changed.share(), 0.0);
    }
}
