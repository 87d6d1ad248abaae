//! Computes a node's output from its inputs, in float32.

use super::each::{both, each, parts_of_items};
use super::functions::of_each;
use super::products::{convolve, multiply, products};
use crate::graph::{Affine, FILL, Lookup, Op, Pool};

/// The value of a batch of so many items.
pub(super) fn evaluate(op: &Op, inputs: &[&[f32]], batch: usize) -> Vec<f32> {
    let x = inputs[0];
    match op {
        Op::Conv(conv) => convolve(conv, x),
        Op::Linear(linear) => multiply(linear, x),
        Op::Lookup(lookup) => look_up(lookup, x, batch),
        Op::Affine(affine) => scaled(affine, x),
        Op::Add => both(x, inputs[1], |a, b| a + b),
        Op::Sub => both(x, inputs[1], |a, b| a - b),
        Op::Mul => both(x, inputs[1], |a, b| a * b),
        Op::MatMul(matrices) => products(matrices, x, inputs[1]),
        Op::Function { function, .. } => of_each(*function, x),
        Op::Relu => each(x, 1, |v| v.max(0.0)),
        Op::NonNegative => each(x, 1, |v| f32::from(v >= 0.0)),
        Op::Whole(whole) => each(x, 1, |v| whole.of(v.into()) as f32),
        Op::Clip { low, high } => each(x, 1, |v| {
            let v = low.map_or(v, |low| v.max(low));
            high.map_or(v, |high| v.min(high))
        }),
        Op::MaxPool(pool) => windows(pool, x, (f32::NEG_INFINITY, f32::max), |_, v| v),
        Op::AveragePool(pool) => windows(pool, x, (0.0, add), |e, v| v / pool.divisor(e) as f32),
        Op::SumPool(pool) => windows(pool, x, (0.0, add), |_, v| v),
        Op::Rearrange { index, fill } => rearranged(index, *fill, x, batch),
        Op::Concat { outer } => concat(inputs, batch * outer),
    }
}

fn scaled(affine: &Affine, x: &[f32]) -> Vec<f32> {
    let channels = affine.channels();
    let numbers = |of: &[f32], none| match of {
        [] => vec![none; channels],
        of => of.to_vec(),
    };
    let (scales, shifts) = (numbers(&affine.scale, 1.0), numbers(&affine.shift, 0.0));
    let both = |channel: usize| (scales[channel], shifts[channel]);
    if channels == 1 {
        let (scale, shift) = both(0);
        return each(x, 1, |v| v * scale + shift);
    }
    let mut out = vec![0.0; x.len()];
    match affine.inner {
        1 => parts_of_items(&mut out, channels, 1, |start, out| {
            let first = start % channels;
            let numbers = scales[first..].iter().zip(&shifts[first..]);
            let elements = out.iter_mut().zip(&x[start..]);
            elements
                .zip(numbers)
                .for_each(|((to, v), (scale, shift))| *to = v * scale + shift);
        }),
        inner => parts_of_items(&mut out, inner, 1, |start, out| {
            let (scale, shift) = both(start / inner % channels);
            let elements = out.iter_mut().zip(&x[start..]);
            elements.for_each(|(to, v)| *to = v * scale + shift);
        }),
    }
    out
}

fn rearranged(index: &[u32], fill: f32, x: &[f32], batch: usize) -> Vec<f32> {
    let (from, to) = (x.len() / batch, index.len());
    let mut out = vec![fill; batch * to];
    parts_of_items(&mut out, to, 1, |start, out| {
        let x = &x[start / to * from..][..from];
        for (v, &i) in out.iter_mut().zip(&index[start % to..]) {
            if i != FILL {
                *v = x[i as usize];
            }
        }
    });
    out
}

fn concat(inputs: &[&[f32]], outer: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(inputs.iter().map(|x| x.len()).sum());
    for o in 0..outer {
        for x in inputs {
            let size = x.len() / outer;
            out.extend_from_slice(&x[o * size..][..size]);
        }
    }
    out
}

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

fn add(a: f32, b: f32) -> f32 {
    a + b
}

/// `first`, and all that stands under a window added to it; of every window what `last` makes of it.
fn windows(
    pool: &Pool,
    x: &[f32],
    (first, add): (f32, impl Fn(f32, f32) -> f32 + Copy + Sync),
    last: impl Fn(usize, f32) -> f32 + Sync,
) -> Vec<f32> {
    let (from, to) = (pool.in_len(), pool.out_len());
    let mut out = vec![0.0; x.len() / from * to];
    let run = run_of(pool);
    parts_of_items(&mut out, to, pool.window(), |start, out| {
        let places = (start % to..).zip(out);
        if let Some(run) = run {
            let windows = x[start * run..].chunks(run);
            let each = places.zip(windows);
            each.for_each(|((e, v), window)| *v = last(e, window.iter().copied().fold(first, add)));
            return;
        }
        let x = &x[start / to * from..][..from];
        for (e, v) in places {
            *v = last(e, elements(pool, e).map(|i| x[i]).fold(first, add));
        }
    });
    out
}

/// The elements of every window, where one is a whole row or a whole map and the next one follows.
fn run_of(pool: &Pool) -> Option<usize> {
    let [h, w] = [pool.height, pool.width];
    let dense = pool.pad == [0; 4] && pool.dilation == [1; 2];
    let rows = pool.kernel == [1, w] && pool.out == [h, 1];
    let maps = pool.kernel == [h, w] && pool.out == [1, 1];
    (dense && (rows || maps)).then(|| pool.window())
}

/// The rows of tokens; NaN where a number is none of them.
fn look_up(lookup: &Lookup, x: &[f32], items: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(items * lookup.tokens * lookup.n);
    let none = vec![f32::NAN; lookup.n];
    for item in x.chunks(x.len() / items.max(1)) {
        for &token in &item[lookup.start..][..lookup.tokens] {
            out.extend_from_slice(lookup.row(token).unwrap_or(&none));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 37) % 101) as f32 - 50.0).collect()
    }

    /// Channels of single elements, which are split among threads anywhere, of several, and one alone.
    #[test]
    fn each_element_has_the_numbers_of_its_channel() {
        for (inner, channels, rows) in [(1, 5, 9001), (1, 3, 2), (7, 3, 1501), (9, 1, 2003)] {
            let numbers_of = |n| numbers(n).into();
            for (scales, shifts) in [(channels, channels), (channels, 0), (0, channels)] {
                let affine = Affine {
                    inner,
                    scale: numbers_of(scales),
                    shift: numbers_of(shifts),
                };
                let x = numbers(inner * channels * rows);
                let right = |(e, v): (usize, &f32)| v * affine.scale_at(e) + affine.shift_at(e);
                let right: Vec<f32> = x.iter().enumerate().map(right).collect();
                assert_eq!(scaled(&affine, &x), right, "{inner} x {channels}");
            }
        }
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
            let sums = windows(&pool, &x, (0.0, add), |_, v| v);
            let right: Vec<f32> = (0..2 * pool.out_len())
                .map(|e| {
                    let (item, e) = (e / pool.out_len(), e % pool.out_len());
                    let taps = (0..pool.window()).filter_map(|tap| pool.tap(e, tap));
                    taps.map(|i| x[item * pool.in_len() + i]).sum()
                })
                .collect();
            assert_eq!(sums, right, "{pool:?}");
            together += usize::from(run_of(&pool).is_some());
        }
        assert_eq!(together, 2);
    }
}
