//! The model in the clear, in float32: for calibration and for checking private results.

use crate::graph::{Graph, ValueId};
use crate::tail;

mod each;
mod evaluation;
mod functions;
mod gemm;
mod lanes;
mod node;
mod products;
pub(crate) mod signs;
mod slide;
mod windows;

pub use each::Ends;
pub(crate) use each::{NONE, ends, joined, look, parts};
pub(crate) use evaluation::{Evaluation, last_uses};
pub use gemm::gemm;
pub(crate) use lanes::{Lanes, items};

/// An input that does not have the model's shape.
#[derive(Debug, thiserror::Error)]
#[error("the input has {found} numbers; a batch of items of {item} numbers is needed")]
pub struct ShapeError {
    found: usize,
    item: usize,
}

/// The smallest and largest value that each [`ValueId`] took.
pub type Ranges = Vec<Ends>;

/// The model's outputs, tails included, for a batch of items: in every item one behind the other.
pub fn predict(graph: &Graph, x: &[f32]) -> Result<Vec<f32>, ShapeError> {
    let values = outputs(graph, x)?;
    Ok(tail::finish(&graph.outputs, values))
}

/// The value that would be revealed.
pub fn outputs(graph: &Graph, x: &[f32]) -> Result<Vec<f32>, ShapeError> {
    run(graph, x, |_, _| {}, |_, ()| {})
}

/// The value that would be revealed, and the range of every value on the way.
pub fn ranges(graph: &Graph, x: &[f32]) -> Result<(Vec<f32>, Ranges), ShapeError> {
    let mut ranges = vec![NONE; graph.nodes.len() + 1];
    let told = |id: ValueId, ends| ranges[id] = joined(ranges[id], ends);
    let output = run(graph, x, |_, values| ends(values), told)?;
    Ok((output, ranges))
}

/// The value that would be revealed. `look` is shown every value as it is made, of some of the batch at a time and
/// by any thread; what it finds is told in the order of nodes and items.
pub fn run<T: Send>(
    graph: &Graph,
    x: &[f32],
    look: impl Fn(ValueId, &[f32]) -> T + Sync,
    told: impl FnMut(ValueId, T) + Send,
) -> Result<Vec<f32>, ShapeError> {
    Lanes::of(graph).run(x, |id, _, values| look(id, values), told)
}

/// Adds what others show of the range of every value.
pub(crate) fn join(ranges: &mut Ranges, others: &Ranges) {
    for (range, others) in ranges.iter_mut().zip(others) {
        *range = joined(*range, *others);
    }
}

/// The index of the first of the largest numbers.
pub fn largest(item: &[f32]) -> usize {
    let mut best = 0;
    for (i, v) in item.iter().enumerate() {
        if *v > item[best] {
            best = i;
        }
    }
    best
}
