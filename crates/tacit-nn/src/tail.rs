//! What the receiver of the result computes in the clear.

use std::cmp::Ordering;

use crate::graph::{Output, Tail, TailFunction};
use crate::plan::Scores;

/// The outputs of a batch, item after item, in each of them one behind the other; `values` has the parts
/// of all outputs in every item.
pub(crate) fn finish(outputs: &[Output], values: Vec<f32>) -> Vec<f32> {
    if let [one] = outputs {
        let mut values = values;
        apply(&one.tail, &mut values);
        return values;
    }
    let ends = outputs
        .iter()
        .map(|output| output.start + output.part_len());
    let row = ends.max().unwrap_or(0).max(1);
    let finished = |output: &Output| {
        let mut part = part(output, row, &values);
        apply(&output.tail, &mut part);
        part
    };
    let finished: Vec<Vec<f32>> = outputs.iter().map(finished).collect();
    let items = values.len() / row;
    let of_item = |item: usize| {
        let parts = finished.iter();
        parts.flat_map(move |all| {
            let each = all.len() / items;
            &all[item * each..(item + 1) * each]
        })
    };
    (0..items).flat_map(of_item).copied().collect()
}

/// The part of an output in every item of `row` numbers.
pub(crate) fn part(output: &Output, row: usize, values: &[f32]) -> Vec<f32> {
    let range = output.start..output.start + output.part_len();
    let rows = values.chunks_exact(row);
    rows.flat_map(|row| &row[range.clone()]).copied().collect()
}

/// Runs the functions one after the other over a batch of items.
pub(crate) fn apply(tail: &[Tail], values: &mut Vec<f32>) {
    for step in tail {
        *values = run(step, values);
    }
}

/// The places of the `k` largest scores of every window of a batch, as they are found on shares.
pub(crate) fn places(scores: &Scores, k: usize, values: &[f32]) -> Vec<f32> {
    let &Scores {
        size, inner, last, ..
    } = scores;
    let windows = values.len() / size;
    let mut out = vec![0.0; windows * k];
    for window in 0..windows {
        let (block, offset) = (window / inner, window % inner);
        let value = |place: &usize| values[(block * size + place) * inner + offset];
        let mut places: Vec<usize> = (0..size).collect();
        if last {
            places.reverse();
        }
        // Stable: of equal ones the order stays.
        places.sort_by(|a, b| value(b).partial_cmp(&value(a)).unwrap_or(Ordering::Equal));
        for (r, &place) in places.iter().take(k).enumerate() {
            out[(block * k + r) * inner + offset] = place as f32;
        }
    }
    out
}

fn run(step: &Tail, values: &[f32]) -> Vec<f32> {
    let out_size = if step.function.is_arg_max() {
        1
    } else {
        step.size
    };
    let mut out = vec![0.0; values.len() / step.size * out_size];
    for line in 0..values.len() / step.size {
        let (block, offset) = (line / step.inner, line % step.inner);
        let lane: Vec<f32> = (0..step.size)
            .map(|i| values[(block * step.size + i) * step.inner + offset])
            .collect();
        for (i, v) in along(step.function, &lane).into_iter().enumerate() {
            out[(block * out_size + i) * step.inner + offset] = v;
        }
    }
    out
}

fn along(function: TailFunction, lane: &[f32]) -> Vec<f32> {
    let max = lane.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum = || lane.iter().map(|v| (v - max).exp()).sum::<f32>();
    match function {
        TailFunction::ArgMax => vec![lane.iter().position(|&v| v == max).unwrap_or(0) as f32],
        TailFunction::ArgMaxLast => vec![lane.iter().rposition(|&v| v == max).unwrap_or(0) as f32],
        TailFunction::LogSoftmax => {
            let log = sum().ln();
            lane.iter().map(|v| v - max - log).collect()
        }
        TailFunction::Sigmoid => lane.iter().map(|v| 1.0 / (1.0 + (-v).exp())).collect(),
        TailFunction::UnitSum => {
            let sum = lane.iter().map(|v| v.abs()).sum::<f32>();
            let divisor = if sum == 0.0 { 1.0 } else { sum };
            lane.iter().map(|v| v / divisor).collect()
        }
        TailFunction::Softmax => {
            let sum = sum();
            lane.iter().map(|v| (v - max).exp() / sum).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(function: TailFunction, outer: usize, size: usize, inner: usize) -> Tail {
        Tail {
            function,
            outer,
            size,
            inner,
        }
    }

    #[test]
    fn by_hand() {
        let mut values = vec![1.0, 4.0, 3.0, 4.0, 0.0, 0.0];
        apply(&[tail(TailFunction::ArgMax, 1, 3, 1)], &mut values);
        assert_eq!(values, [1.0, 0.0]);
        let mut values = vec![1.0, 4.0, 1.0, 4.0];
        apply(&[tail(TailFunction::ArgMaxLast, 1, 2, 2)], &mut values);
        assert_eq!(values, [1.0, 1.0]);
        let mut values = vec![1.0, -3.0, 0.0, 0.0];
        apply(&[tail(TailFunction::UnitSum, 2, 2, 1)], &mut values);
        assert_eq!(values, [0.25, -0.75, 0.0, 0.0]);
        let mut values = vec![1000.0, 1000.0 + 3f32.ln()];
        apply(&[tail(TailFunction::Softmax, 1, 2, 1)], &mut values);
        assert!((values[1] - 0.75).abs() < 1e-4, "{values:?}");
    }
}
