//! What the row of a model's inputs is within, number by number.

use std::collections::HashMap;

use super::ranges::{Interval, hull, interval};
use crate::graph::{FILL, Graph, Input, InputKind, Node, Op, ValueId};

/// What each number of an item's row is within.
pub(super) fn intervals(graph: &Graph, ends: &[f64]) -> Vec<Interval> {
    let of = |input: &Input, at: usize| match (input.kind, input.kind_at(at)) {
        (InputKind::Numbers, InputKind::Tokens { classes }) => (classes - 1) as f64,
        _ => f64::INFINITY,
    };
    let kinds = graph.inputs.iter();
    let kinds = kinds
        .flat_map(|input| (0..input.row_len()).map(move |at| (input.kind_at(at), of(input, at))));
    let one = |((kind, most), &end): ((InputKind, f64), &f64)| match kind {
        InputKind::Numbers | InputKind::Integers => (-end, end),
        InputKind::Truths | InputKind::Tokens { .. } | InputKind::Marks { .. } => {
            (0.0, end.min(most))
        }
    };
    kinds.zip(ends).map(one).collect()
}

/// The row's numbers where they stand: as they are, and, beside marks, as the numbers of an input alone.
pub(super) struct Own<'a> {
    row: &'a [Interval],
    has_marks: bool,
    inputs: HashMap<ValueId, Vec<Interval>>,
}

impl<'a> Own<'a> {
    pub(super) fn new(graph: &Graph, row: &'a [Interval]) -> Self {
        Own {
            row,
            has_marks: graph.has_marks(),
            inputs: HashMap::new(),
        }
    }

    /// What value `id`, which a node makes of the row's numbers, is within.
    pub(super) fn of(&mut self, node: &Node, id: ValueId) -> Option<Interval> {
        let &[from] = &node.inputs[..] else {
            return None;
        };
        let numbers = match from {
            0 => self.row,
            _ => self.inputs.get(&from)?,
        };
        let found = of_node(node, numbers);
        let moved = match &node.op {
            Op::Rearrange { index, .. } if self.has_marks && !index.contains(&FILL) => {
                let of = index.iter().map(|&place| numbers[place as usize]);
                Some(of.collect())
            }
            _ => None,
        };
        self.inputs.extend(moved.map(|moved| (id, moved)));
        found
    }
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
