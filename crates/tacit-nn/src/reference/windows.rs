//! Maxima, sums and means of windows in the clear.

use tacit_algebra::isa::{Loop, run};

use super::each::parts_of_items;
use crate::graph::Pool;

/// The elements under the window of output element `e`, without the padding.
fn elements(pool: &Pool, e: usize) -> impl Iterator<Item = usize> {
    let [oh, ow] = pool.out;
    let within = move |d: usize, o: usize, size: usize| {
        let places = (0..pool.kernel[d]).map(move |k| pool.position(d, o, k));
        places.filter_map(move |p| p.checked_sub(pool.pad[d]).filter(|&p| p < size))
    };
    let first = e / (oh * ow) * pool.height;
    within(0, e / ow % oh, pool.height).flat_map(move |y| {
        let row = (first + y) * pool.width;
        within(1, e % ow, pool.width).map(move |x| row + x)
    })
}

/// The elements of every window.
pub(super) fn taps(pool: &Pool) -> Vec<Vec<usize>> {
    let windows = 0..pool.out_len();
    windows.map(|e| elements(pool, e).collect()).collect()
}

pub(super) fn add(a: f32, b: f32) -> f32 {
    a + b
}

/// `first`, and all that stands under a window added to it.
pub(super) fn windows(
    pool: &Pool,
    x: &[f32],
    (first, add): (f32, impl Fn(f32, f32) -> f32 + Copy + Sync),
    out: &mut [f32],
) {
    let (from, to) = (pool.in_len(), pool.out_len());
    let dense = pool.side_by_side();
    parts_of_items(out, to, pool.window(), |start, out| {
        if let Some(size) = dense {
            let rows = x[start * size..].chunks_exact(size);
            return run(Rows {
                out,
                rows,
                first,
                add,
            });
        }
        let x = &x[start / to * from..][..from];
        for (e, v) in (start % to..).zip(out) {
            *v = elements(pool, e).map(|i| x[i]).fold(first, add);
        }
    });
}

/// What stands in every row added up, several numbers at a time.
struct Rows<'a, F> {
    out: &'a mut [f32],
    rows: std::slice::ChunksExact<'a, f32>,
    first: f32,
    add: F,
}

impl<F: Fn(f32, f32) -> f32 + Copy> Loop for Rows<'_, F> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        const LANES: usize = 32;
        for (to, row) in self.out.iter_mut().zip(self.rows) {
            let (parts, rest) = row.as_chunks::<LANES>();
            let mut sums = [self.first; LANES];
            for part in parts {
                for (sum, &v) in sums.iter_mut().zip(part) {
                    *sum = (self.add)(*sum, v);
                }
            }
            let of_rest = rest.iter().copied().fold(self.first, self.add);
            *to = match parts {
                [] => of_rest,
                _ => sums.into_iter().fold(of_rest, self.add),
            };
        }
    }
}

/// The mean of every window.
pub(super) fn mean(pool: &Pool, x: &[f32], out: &mut [f32]) {
    windows(pool, x, (0.0, add), out);
    let map = pool.out[0] * pool.out[1];
    let divisors: Vec<f32> = (0..map).map(|e| pool.divisor(e) as f32).collect();
    parts_of_items(out, map, 1, |start, out| {
        let divisors = &divisors[start % map..];
        out.iter_mut().zip(divisors).for_each(|(v, by)| *v /= by);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 37) % 101) as f32 - 50.0).collect()
    }

    /// Windows that are whole rows or maps, and such as only look like it.
    #[test]
    fn windows_have_the_elements_under_them() {
        let whole = |kernel, out, stride, pad, dilation| Pool {
            channels: 3,
            height: 4,
            width: 5,
            kernel,
            stride,
            pad,
            dilation,
            out,
            count_pad: false,
        };
        let mut together = 0;
        for pool in [
            whole([1, 5], [4, 1], [1, 5], [0; 4], [1, 1]),
            whole([4, 5], [1, 1], [1, 1], [0; 4], [1, 1]),
            whole([1, 5], [2, 1], [2, 1], [0; 4], [1, 1]),
            whole([4, 1], [1, 5], [1, 1], [0; 4], [1, 1]),
            whole([1, 5], [4, 1], [1, 1], [0, 1, 0, 1], [1, 2]),
            whole([2, 5], [3, 1], [1, 1], [0; 4], [1, 1]),
            whole([4, 5], [1, 1], [1, 1], [1, 1, 1, 1], [1, 1]),
        ] {
            let x = numbers(2 * pool.in_len());
            let mut sums = vec![0.0; 2 * pool.out_len()];
            windows(&pool, &x, (0.0, add), &mut sums);
            let right: Vec<f32> = (0..2 * pool.out_len())
                .map(|e| {
                    let (item, e) = (e / pool.out_len(), e % pool.out_len());
                    let taps = (0..pool.window()).filter_map(|tap| pool.tap(e, tap));
                    taps.map(|i| x[item * pool.in_len() + i]).sum()
                })
                .collect();
            assert_eq!(sums, right, "{pool:?}");
            together += usize::from(pool.side_by_side().is_some());
        }
        assert_eq!(together, 2);
    }
}
