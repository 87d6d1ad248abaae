//! Computes a node's output from its inputs, in float32.

use super::each::{both, each, parts_of_items};
use super::functions::of_each;
use super::products::{convolve, multiply, products};
use super::windows::{self, mean, windows};
use crate::graph::{Affine, FILL, Lookup, Op};

/// Whether each element of the output is made of those in its place, so that it may take the first one's memory.
pub(super) fn is_by_element(op: &Op) -> bool {
    match op {
        Op::Affine(_) | Op::Add | Op::Sub | Op::Mul | Op::Function { .. } => true,
        Op::Relu | Op::NonNegative | Op::Whole(_) | Op::Clip { .. } => true,
        Op::Conv(_) | Op::Linear(_) | Op::Lookup(_) | Op::MatMul(_) => false,
        Op::MaxPool(_) | Op::AveragePool(_) | Op::SumPool(_) => false,
        Op::Rearrange { .. } | Op::Concat { .. } => false,
    }
}

/// Computes the value of a batch of so many items, products by so many threads. `out` is as long as that is; where the
/// operation [`is_by_element`] it holds the first input, which is not read elsewhere, else anything.
pub(super) fn evaluate(op: &Op, inputs: &[&[f32]], [batch, threads]: [usize; 2], out: &mut [f32]) {
    let x = inputs[0];
    match op {
        Op::Conv(conv) => convolve(conv, x, threads, out),
        Op::Linear(linear) => multiply(linear, x, threads, out),
        Op::Lookup(lookup) => look_up(lookup, x, batch, out),
        Op::Affine(affine) => scale(affine, out),
        Op::Add => both(out, inputs[1], |a, b| a + b),
        Op::Sub => both(out, inputs[1], |a, b| a - b),
        Op::Mul => both(out, inputs[1], |a, b| a * b),
        Op::MatMul(matrices) => products(matrices, [x, inputs[1]], out),
        Op::Function { function, .. } => of_each(*function, out),
        Op::Relu => each(out, 1, |v| v.max(0.0)),
        Op::NonNegative => each(out, 1, |v| f32::from(u8::from(v >= 0.0))),
        Op::Whole(whole) => each(out, 1, |v| whole.of(v.into()) as f32),
        Op::Clip { low, high } => each(out, 1, |v| {
            let v = low.map_or(v, |low| v.max(low));
            high.map_or(v, |high| v.min(high))
        }),
        Op::MaxPool(pool) => windows(pool, x, (f32::NEG_INFINITY, f32::max), out),
        Op::SumPool(pool) => windows(pool, x, (0.0, windows::add), out),
        Op::AveragePool(pool) => mean(pool, x, out),
        Op::Rearrange { index, fill } => rearrange((index, *fill), x, batch, out),
        Op::Concat { outer } => concat(inputs, batch * outer, out),
    }
}

fn scale(affine: &Affine, out: &mut [f32]) {
    let channels = affine.channels();
    let numbers = |of: &[f32], none| match of {
        [] => vec![none; channels],
        of => of.to_vec(),
    };
    let (scales, shifts) = (numbers(&affine.scale, 1.0), numbers(&affine.shift, 0.0));
    let both = |channel: usize| (scales[channel], shifts[channel]);
    if channels == 1 {
        let (scale, shift) = both(0);
        return each(out, 1, |v| v * scale + shift);
    }
    match affine.inner {
        1 => parts_of_items(out, channels, 1, |start, out| {
            let first = start % channels;
            let numbers = scales[first..].iter().zip(&shifts[first..]);
            let elements = out.iter_mut().zip(numbers);
            elements.for_each(|(v, (scale, shift))| *v = *v * scale + shift);
        }),
        inner => parts_of_items(out, inner, 1, |start, out| {
            let (scale, shift) = both(start / inner % channels);
            out.iter_mut().for_each(|v| *v = *v * scale + shift);
        }),
    }
}

fn rearrange((index, fill): (&[u32], f32), x: &[f32], batch: usize, out: &mut [f32]) {
    let (from, to) = (x.len() / batch, index.len());
    parts_of_items(out, to, 1, |start, out| {
        let x = &x[start / to * from..][..from];
        for (v, &i) in out.iter_mut().zip(&index[start % to..]) {
            debug_assert!(i == FILL || (i as usize) < from);
            // No item is so large that FILL is a place in it.
            *v = x.get(i as usize).copied().unwrap_or(fill);
        }
    });
}

fn concat(inputs: &[&[f32]], outer: usize, out: &mut [f32]) {
    let mut rest = out;
    for o in 0..outer {
        for x in inputs {
            let size = x.len() / outer;
            let (part, later) = rest.split_at_mut(size);
            part.copy_from_slice(&x[o * size..][..size]);
            rest = later;
        }
    }
}

/// The rows of tokens; NaN where a number is none of them.
fn look_up(lookup: &Lookup, x: &[f32], items: usize, out: &mut [f32]) {
    let none = vec![f32::NAN; lookup.n];
    let tokens = x.chunks((x.len() / items.max(1)).max(1));
    let tokens = tokens.flat_map(|item| &item[lookup.start..][..lookup.tokens]);
    for (row, &token) in out.chunks_mut(lookup.n.max(1)).zip(tokens) {
        row.copy_from_slice(lookup.row(token).unwrap_or(&none));
    }
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
                let mut made = x.clone();
                scale(&affine, &mut made);
                assert_eq!(made, right, "{inner} x {channels}");
            }
        }
    }
}
