//! Computes a node's output from its inputs, in float32.

use super::each::{both, each, parts_of_items};
use super::products::{convolve, multiply, products};
use crate::graph::{Affine, FILL, Lookup, Op, Pool};

/// How many additions take as long as a function.
const FUNCTION: usize = 16;

/// A sum's first term, and how others are added.
const SUM: (f32, fn(f32, f32) -> f32) = (0.0, |a, b| a + b);

/// The value of a batch of so many items.
pub(super) fn evaluate(op: &Op, inputs: &[&[f32]], batch: usize) -> Vec<f32> {
    let x = inputs[0];
    match op {
        Op::Conv(conv) => convolve(conv, x),
        Op::Linear(linear) => multiply(linear, x),
        Op::Lookup(lookup) => look_up(lookup, x, batch),
        Op::Affine(affine) => scaled(affine, x, x.len() / batch),
        Op::Add => both(x, inputs[1], |a, b| a + b),
        Op::Sub => both(x, inputs[1], |a, b| a - b),
        Op::Mul => both(x, inputs[1], |a, b| a * b),
        Op::MatMul(matrices) => products(matrices, x, inputs[1]),
        Op::Function { function, .. } => each(x, FUNCTION, |v| function.of(v.into()) as f32),
        Op::Relu => each(x, 1, |v| v.max(0.0)),
        Op::NonNegative => each(x, 1, |v| f32::from(v >= 0.0)),
        Op::Whole(whole) => each(x, 1, |v| whole.of(v.into()) as f32),
        Op::Clip { low, high } => each(x, 1, |v| {
            let v = low.map_or(v, |low| v.max(low));
            high.map_or(v, |high| v.min(high))
        }),
        Op::MaxPool(pool) => windows(pool, x, (f32::NEG_INFINITY, f32::max), |_, v| v),
        Op::AveragePool(pool) => windows(pool, x, SUM, |e, v| v / pool.divisor(e) as f32),
        Op::SumPool(pool) => windows(pool, x, SUM, |_, v| v),
        Op::Rearrange { index, fill } => rearranged(index, *fill, x, batch),
        Op::Concat { outer } => concat(inputs, batch * outer),
    }
}

fn scaled(affine: &Affine, x: &[f32], item: usize) -> Vec<f32> {
    let channels = 0..affine.channels();
    let at = |numbers: &[f32], c: usize, none| numbers.get(c).copied().unwrap_or(none);
    let number = |c| (at(&affine.scale, c, 1.0), at(&affine.shift, c, 0.0));
    let one = number(0);
    if channels.len() == 1 {
        return each(x, 1, |v| v * one.0 + one.1);
    }
    let each_of = channels.flat_map(|c| std::iter::repeat_n(number(c), affine.inner));
    let numbers: Vec<(f32, f32)> = each_of.cycle().take(item).collect();
    let mut out = x.to_vec();
    parts_of_items(&mut out, item, 1, |start, out| {
        for (v, (scale, shift)) in out.iter_mut().zip(&numbers[start % item..]) {
            *v = *v * scale + shift;
        }
    });
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

/// `first`, and all that stands under a window added to it; of every window what `last` makes of it.
fn windows(
    pool: &Pool,
    x: &[f32],
    (first, add): (f32, fn(f32, f32) -> f32),
    last: impl Fn(usize, f32) -> f32 + Sync,
) -> Vec<f32> {
    let (from, to) = (pool.in_len(), pool.out_len());
    let mut out = vec![0.0; x.len() / from * to];
    parts_of_items(&mut out, to, pool.window(), |start, out| {
        let x = &x[start / to * from..][..from];
        for (e, v) in (start % to..).zip(out) {
            *v = last(e, elements(pool, e).map(|i| x[i]).fold(first, add));
        }
    });
    out
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
