//! What the row of a model's inputs is within, number by number.

use super::ranges::{Interval, hull, interval};
use crate::graph::{FILL, Graph, InputKind, Node, Op};

/// What each number of an item's row is within.
pub(super) fn intervals(graph: &Graph, ends: &[f64]) -> Vec<Interval> {
    let kinds = graph.inputs.iter();
    let kinds = kinds.flat_map(|input| std::iter::repeat_n(input.kind, input.given_len()));
    let one = |(kind, &end): (InputKind, &f64)| match kind {
        InputKind::Numbers | InputKind::Integers => (-end, end),
        InputKind::Truths | InputKind::Tokens { .. } => (0.0, end),
    };
    kinds.zip(ends).map(one).collect()
}

/// What a node of the row itself is within, by each of its numbers: columns of a table may differ by powers
/// of ten before they are scaled.
pub(super) fn of_node(node: &Node, row: &[Interval]) -> Option<Interval> {
    match &node.op {
        Op::Rearrange { index, .. } => {
            let met = index.iter().filter(|&&place| place != FILL);
            let met = met.map(|&place| row[place as usize]);
            let x = met.reduce(hull).unwrap_or((0.0, 0.0));
            Some(interval(node, &[x]))
        }
        Op::Affine(affine) => {
            let (inner, channels) = (affine.inner, affine.channels());
            let of = |(e, &x): (usize, &Interval)| {
                let channel = e / inner % channels;
                let scale = affine.scale.get(channel).map_or(1.0, |&v| f64::from(v));
                let shift = affine.shift.get(channel).map_or(0.0, |&v| f64::from(v));
                let ends = [x.0, x.1].map(|v| v * scale + shift);
                (ends[0].min(ends[1]), ends[0].max(ends[1]))
            };
            row.iter().enumerate().map(of).reduce(hull)
        }
        Op::Linear(linear) if linear.rows == 1 && linear.k == row.len() => {
            let mut sums: Vec<Interval> = (0..linear.n)
                .map(|n| {
                    linear
                        .bias
                        .get(n)
                        .map_or((0.0, 0.0), |&b| (b.into(), b.into()))
                })
                .collect();
            for (weights, x) in linear.weight.chunks(linear.n.max(1)).zip(row) {
                for (sum, &w) in sums.iter_mut().zip(weights) {
                    let ends = [x.0, x.1].map(|v| v * f64::from(w));
                    sum.0 += ends[0].min(ends[1]);
                    sum.1 += ends[0].max(ends[1]);
                }
            }
            sums.into_iter().reduce(hull)
        }
        _ => None,
    }
}
