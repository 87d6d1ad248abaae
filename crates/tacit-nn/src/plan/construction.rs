//! What a value is within by the way it is made, however large its factors become.
//!
//! An element times the inverse root of a mean of squares to which its own belongs, as normalisations
//! have it, is at most the root of how many there are. A number from 0 on times the reciprocal of a
//! sum to which it belongs, as softmax has it, is at most 1. Interval arithmetic alone knows neither.

use super::ranges::{FAR, Interval};
use crate::graph::{Function, Graph, Node, Op, Pool, ValueId};

/// What the node's result is within, besides what its inputs' intervals tell.
pub(super) fn limits(graph: &Graph, node: &Node, intervals: &[Interval]) -> Interval {
    let found = match (&node.op, &node.inputs[..]) {
        (Op::Mul, &[x, y]) => {
            share(graph, x, y, intervals).or_else(|| share(graph, y, x, intervals))
        }
        _ => None,
    };
    found.unwrap_or((-FAR, FAR))
}

/// The limits of `x` times an inverse that is made of `x`.
fn share(graph: &Graph, x: ValueId, inverse: ValueId, intervals: &[Interval]) -> Option<Interval> {
    let (function, rows, argument) = inverted(graph, inverse)?;
    let (pool, summed, divisor) = pooled(graph, argument)?;
    if !covers(pool, &rows) {
        return None;
    }
    match function {
        Function::InverseSqrt => {
            let square = node(graph, summed)?;
            let own = matches!(square.op, Op::Mul) && square.inputs == [x, x];
            let root = (divisor as f64).sqrt();
            own.then_some((-root, root))
        }
        Function::Reciprocal => {
            let own = summed == x && intervals[x].0 >= 0.0;
            own.then_some((0.0, divisor as f64))
        }
        _ => None,
    }
}

fn node(graph: &Graph, id: ValueId) -> Option<&Node> {
    graph.nodes.get(id.checked_sub(1)?)
}

/// The inverse that a value repeats: which function, of which element each one is, and its argument.
fn inverted(graph: &Graph, id: ValueId) -> Option<(Function, Vec<u32>, ValueId)> {
    let first = node(graph, id)?;
    let (inverse, rows) = match &first.op {
        Op::Rearrange { index, .. } => (node(graph, first.inputs[0])?, index.clone()),
        _ => (first, (0..crate::graph::len(&first.shape) as u32).collect()),
    };
    match inverse.op {
        Op::Function { function, .. } => Some((function, rows, inverse.inputs[0])),
        _ => None,
    }
}

/// The sums or means that a value is but for what is added to it, never below 0; what they are of;
/// and by what number at most the sum is divided.
fn pooled(graph: &Graph, id: ValueId) -> Option<(&Pool, ValueId, usize)> {
    let mut found = node(graph, id)?;
    if let Op::Affine(affine) = &found.op {
        let only_adds = affine.scale.is_empty() && affine.shift.iter().all(|&v| v >= 0.0);
        found = only_adds.then(|| node(graph, found.inputs[0]))??;
    }
    match &found.op {
        Op::AveragePool(pool) => {
            let divisors = (0..pool.out_len()).map(|e| pool.divisor(e));
            Some((pool, found.inputs[0], divisors.max()?))
        }
        Op::SumPool(pool) => Some((pool, found.inputs[0], 1)),
        _ => None,
    }
}

/// Whether every element stands in the window of the row that it meets.
fn covers(pool: &Pool, rows: &[u32]) -> bool {
    if rows.len() != pool.in_len() {
        return false;
    }
    let mut met = vec![false; rows.len()];
    for row in 0..pool.out_len() {
        for element in (0..pool.window()).filter_map(|tap| pool.tap(row, tap)) {
            met[element] |= rows[element] as usize == row;
        }
    }
    met.into_iter().all(|met| met)
}
