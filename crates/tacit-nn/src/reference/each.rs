//! Work on every element of a value, shared out among the threads.

use rayon::prelude::*;
use tacit_algebra::isa::{Loop, run};

/// Additions that a thread does at a time; of so few alone another thread gains nothing.
const AT_ONCE: usize = 1 << 14;

/// Shares out `values`, each element of which takes `work` additions; `f` is given the place of the first
/// element of its part.
pub(crate) fn parts(values: &mut [f32], work: usize, f: impl Fn(usize, &mut [f32]) + Sync) {
    share_out(values, work, &f);
}

/// What splits, compiled once for all closures.
fn share_out(values: &mut [f32], work: usize, f: &(dyn Fn(usize, &mut [f32]) + Sync)) {
    let size = AT_ONCE.div_ceil(work.max(1));
    if values.len() <= size {
        return f(0, values);
    }
    let parts = values.par_chunks_mut(size).enumerate();
    parts.for_each(|(i, part)| f(i * size, part));
}

/// Shares out `values` as [`parts`] does, in parts that never have elements of two items.
pub(crate) fn parts_of_items(
    values: &mut [f32],
    item: usize,
    work: usize,
    f: impl Fn(usize, &mut [f32]) + Sync,
) {
    parts(values, work, |mut start, mut rest| {
        while !rest.is_empty() {
            let within = (item - start % item).min(rest.len());
            let (part, later) = rest.split_at_mut(within);
            f(start, part);
            (start, rest) = (start + within, later);
        }
    });
}

/// Makes `f` of every element, each of which takes `work` additions.
pub(super) fn each(values: &mut [f32], work: usize, f: impl Fn(f32) -> f32 + Copy + Sync) {
    parts(values, work, |_, values| run(Each(values, f)));
}

struct Each<'a, F>(&'a mut [f32], F);

impl<F: Fn(f32) -> f32> Loop for Each<'_, F> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Each(values, f) = self;
        for v in values {
            *v = f(*v);
        }
    }
}

/// Makes `f` of every element and the one of `others` in its place.
pub(super) fn both(values: &mut [f32], others: &[f32], f: impl Fn(f32, f32) -> f32 + Copy + Sync) {
    parts(values, 1, |start, values| {
        run(Both(values, &others[start..], f))
    });
}

struct Both<'a, F>(&'a mut [f32], &'a [f32], F);

impl<F: Fn(f32, f32) -> f32> Loop for Both<'_, F> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Both(values, others, f) = self;
        for (v, &other) in values.iter_mut().zip(others) {
            *v = f(*v, other);
        }
    }
}

/// The smallest and the largest of some numbers.
pub type Ends = (f32, f32);

/// The ends of no number.
pub(crate) const NONE: Ends = (f32::INFINITY, f32::NEG_INFINITY);

pub(crate) fn joined(a: Ends, b: Ends) -> Ends {
    (a.0.min(b.0), a.1.max(b.1))
}

/// The smallest and the largest element; NaN is neither.
pub(crate) fn ends(values: &[f32]) -> Ends {
    look(values).0
}

/// The smallest and the largest element, NaN being neither, and whether no element is infinite or NaN.
pub(crate) fn look(values: &[f32]) -> (Ends, bool) {
    let both = |(ends, finite), (others, finite_too)| (joined(ends, others), finite & finite_too);
    let of_part = |part| run(Look(part));
    match values.len() {
        ..=AT_ONCE => of_part(values),
        _ => (values.par_chunks(AT_ONCE))
            .map(of_part)
            .reduce(|| (NONE, true), both),
    }
}

/// Looks at several at a time, as processors do at once.
struct Look<'a>(&'a [f32]);

impl Loop for Look<'_> {
    type Made = (Ends, bool);

    #[inline(always)]
    fn run(self) -> (Ends, bool) {
        const LANES: usize = 32;
        let (rows, rest) = self.0.as_chunks::<LANES>();
        let (mut low, mut high) = ([NONE.0; LANES], [NONE.1; LANES]);
        // No finite number times 0 is anything but 0.
        let mut nothing = [0.0; LANES];
        for row in rows {
            let ends = low.iter_mut().zip(&mut high);
            for (((low, high), nothing), &v) in ends.zip(&mut nothing).zip(row) {
                *low = if v < *low { v } else { *low };
                *high = if v > *high { v } else { *high };
                *nothing += v * 0.0;
            }
        }
        let of_rows = low.into_iter().zip(high).fold(NONE, joined);
        let ends = rest.iter().fold(of_rows, |ends, &v| joined(ends, (v, v)));
        let nothing = rest
            .iter()
            .fold(nothing.iter().sum(), |sum: f32, v| sum + v * 0.0);
        (ends, nothing == 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ends of rows are found wherever they stand: of all lengths about a row of lanes, with the ends and NaN at
    /// every place.
    #[test]
    fn ends_are_found_wherever_they_stand() {
        for n in [1, 15, 31, 32, 33, 65, 3 * AT_ONCE + 5] {
            for at in [0, n / 3, n - 1] {
                let mut values: Vec<f32> = (0..n).map(|i| (i % 7) as f32).collect();
                values[at] = -2.5;
                let (seen, finite) = look(&values);
                assert!(seen.0 == -2.5 && finite);
                values[at] = f32::INFINITY;
                let (seen, finite) = look(&values);
                assert!(seen.1 == f32::INFINITY && !finite);
                values[at] = f32::NAN;
                let (seen, finite) = look(&values);
                assert!(!finite && look(&values[..at]).1);
                assert!(seen == NONE || (0.0..=6.0).contains(&seen.1), "{seen:?}");
            }
        }
        assert_eq!(ends(&[]), NONE);
    }

    #[test]
    fn no_part_has_elements_of_two_items() {
        let mut values = vec![0.0; 5 * 7001];
        parts_of_items(&mut values, 7001, 1, |start, part| {
            assert!(start % 7001 + part.len() <= 7001);
            part.iter_mut()
                .enumerate()
                .for_each(|(i, v)| *v = (start + i) as f32);
        });
        assert!(values.iter().enumerate().all(|(i, &v)| v == i as f32));
    }
}
