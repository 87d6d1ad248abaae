//! The model in the clear, in float32: for calibration and for checking private results.

use std::rc::Rc;

use crate::graph::{Graph, Node, Op, ValueId, len};
use crate::tail;

mod each;
mod functions;
mod gemm;
mod node;
mod products;
pub(crate) mod signs;

pub use each::Ends;
pub(crate) use each::{NONE, are_finite, ends, joined, parts};
pub use gemm::gemm;
use node::evaluate;

/// The most items that are computed at a time, which bounds the memory.
pub(crate) const CHUNK: usize = 64;
/// The elements that a value of all items at a time may have: memory of more is new, and the system clears it first.
const CHUNK_ELEMENTS: usize = 1 << 20;

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
    let values = run(graph, x, |_, _| {})?;
    Ok(tail::finish(&graph.outputs, values))
}

/// The value that would be revealed, and the range of every value on the way.
pub fn ranges(graph: &Graph, x: &[f32]) -> Result<(Vec<f32>, Ranges), ShapeError> {
    let mut ranges = vec![NONE; graph.nodes.len() + 1];
    let output = run(graph, x, |id, values| {
        ranges[id] = joined(ranges[id], ends(values));
    })?;
    Ok((output, ranges))
}

/// The value that would be revealed. `visit` sees, and may change, every value as it is made,
/// for some of the batch at a time.
pub fn run(
    graph: &Graph,
    x: &[f32],
    visit: impl FnMut(ValueId, &mut [f32]),
) -> Result<Vec<f32>, ShapeError> {
    let evaluate = |evaluation: &Evaluation| evaluation.evaluate();
    run_with(graph, (x, at_a_time(graph)), evaluate, visit)
}

/// Runs as [`run`] does, so many items at a time, where `made` computes each value in place of
/// [`Evaluation::evaluate`].
pub(crate) fn run_with(
    graph: &Graph,
    (x, at_a_time): (&[f32], usize),
    made: impl Fn(&Evaluation) -> Vec<f32>,
    mut visit: impl FnMut(ValueId, &mut [f32]),
) -> Result<Vec<f32>, ShapeError> {
    let items = items(graph, x)?;
    let item = x.len() / items.max(1);
    let mut output = Vec::new();
    for chunk in x.chunks(at_a_time * item.max(1)) {
        let mut input = chunk.to_vec();
        visit(0, &mut input);
        let mut evaluation = Evaluation::new(graph, input)?;
        while evaluation.next().is_some() {
            let mut value = made(&evaluation);
            visit(evaluation.done(), &mut value);
            evaluation.push(value);
        }
        output.extend_from_slice(evaluation.output());
    }
    Ok(output)
}

/// How many items [`run`] computes, and lets be visited, at a time.
pub(crate) fn at_a_time(graph: &Graph) -> usize {
    let largest = graph.nodes.iter().map(|node| len(&node.shape)).max();
    (CHUNK_ELEMENTS / largest.unwrap_or(1).max(1)).clamp(1, CHUNK)
}

/// How many items `x` has; an error if it has no whole number of them.
pub(crate) fn items(graph: &Graph, x: &[f32]) -> Result<usize, ShapeError> {
    let (found, item) = (x.len(), graph.given_len());
    match item > 0 && found.is_multiple_of(item) {
        true => Ok(found / item),
        false => Err(ShapeError { found, item }),
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

/// The evaluation of a batch, node by node. A copy shares the values so far and goes on by itself.
#[derive(Clone)]
pub(crate) struct Evaluation<'a> {
    graph: &'a Graph,
    last_use: Rc<[usize]>,
    items: usize,
    /// Values computed so far, by number; empty where no later node reads one.
    values: Vec<Rc<Vec<f32>>>,
}

impl<'a> Evaluation<'a> {
    /// Begins before the first node.
    pub(crate) fn new(graph: &'a Graph, x: Vec<f32>) -> Result<Self, ShapeError> {
        Ok(Evaluation {
            graph,
            last_use: last_uses(graph).into(),
            items: items(graph, &x)?,
            values: vec![Rc::new(x)],
        })
    }

    /// The id of the value that the next node makes.
    pub(crate) fn done(&self) -> ValueId {
        self.values.len()
    }

    /// The node that is computed next, unless all are done.
    pub(crate) fn next(&self) -> Option<&'a Node> {
        self.graph.nodes.get(self.done() - 1)
    }

    /// The first input of the next node; empty after the last.
    pub(crate) fn input(&self) -> &[f32] {
        self.next().map_or(&[], |node| &self.values[node.inputs[0]])
    }

    /// The next value in float32; empty after the last.
    pub(crate) fn evaluate(&self) -> Vec<f32> {
        self.next()
            .map_or_else(Vec::new, |node| self.evaluate_as(&node.op))
    }

    /// What the operation `op` makes of the next node's inputs.
    pub(crate) fn evaluate_as(&self, op: &Op) -> Vec<f32> {
        let read = self.next().map_or(&[][..], |node| &node.inputs);
        let inputs: Vec<&[f32]> = read.iter().map(|&id| self.values[id].as_slice()).collect();
        evaluate(op, &inputs, self.items)
    }

    /// Goes on with `value` as the next one.
    pub(crate) fn push(&mut self, value: Vec<f32>) {
        let node = self.done() - 1;
        for &id in &self.graph.nodes[node].inputs {
            if self.last_use[id] == node {
                self.values[id] = Rc::default();
            }
        }
        self.values.push(Rc::new(value));
    }

    /// The value that would be revealed, once all nodes are done.
    pub(crate) fn output(&self) -> &[f32] {
        self.values.get(self.graph.output).map_or(&[], |v| v)
    }
}

/// The last node that reads each value; the output is kept.
pub(crate) fn last_uses(graph: &Graph) -> Vec<usize> {
    let mut last = vec![usize::MAX; graph.nodes.len() + 1];
    for (i, node) in graph.nodes.iter().enumerate() {
        for &id in &node.inputs {
            last[id] = i;
        }
    }
    last[graph.output] = usize::MAX;
    last
}
