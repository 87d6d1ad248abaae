//! What the receiver of the result computes in the clear.

use std::cmp::Ordering;

use crate::graph::Output;
use crate::plan::Scores;
pub(crate) use tacit_client::tail::apply;

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
