//! The evaluation of some items, node by node.

use std::sync::Arc;

use super::node::{evaluate, is_by_element};
use super::{ShapeError, items};
use crate::graph::{Graph, Node, Op, ValueId, len};

/// The evaluation of a batch, node by node. A copy shares the values so far and goes on by itself.
#[derive(Clone)]
pub(crate) struct Evaluation<'a> {
    graph: &'a Graph,
    last_use: Arc<[usize]>,
    items: usize,
    /// How many threads a product is split among.
    threads: usize,
    /// Values computed so far, by number; empty where no later node reads one.
    values: Vec<Arc<Vec<f32>>>,
    spare: Spare,
}

impl<'a> Evaluation<'a> {
    /// Begins before the first node.
    pub(crate) fn new(graph: &'a Graph, x: Vec<f32>) -> Result<Self, ShapeError> {
        Ok(Evaluation {
            graph,
            last_use: last_uses(graph).into(),
            items: items(graph, &x)?,
            threads: rayon::current_num_threads(),
            values: vec![Arc::new(x)],
            spare: Spare::default(),
        })
    }

    /// Begins anew with other items, in the memory of those before; products are split among `threads` threads.
    pub(super) fn again(&mut self, x: &[f32], threads: usize) -> Result<(), ShapeError> {
        self.items = items(self.graph, x)?;
        self.threads = threads;
        for value in std::mem::take(&mut self.values) {
            self.spare.give(value);
        }
        let mut input = self.spare.take(x.len());
        input.copy_from_slice(x);
        self.values.push(Arc::new(input));
        Ok(())
    }

    /// The items, before any node is computed of them.
    pub(super) fn given(&mut self) -> &mut [f32] {
        let alone = self.values.first_mut().and_then(Arc::get_mut);
        alone.map_or(&mut [], |values| values)
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

    /// Computes the next value, if any is left, and goes on.
    pub(crate) fn advance(&mut self) {
        if let Some(node) = self.next() {
            let value = self.evaluate_as(node, &node.op);
            self.push(value);
        }
    }

    /// What the operation `op` makes of the inputs of `node`, which is next; they may be lost if nothing else reads
    /// them.
    pub(super) fn evaluate_as(&mut self, node: &Node, op: &Op) -> Vec<f32> {
        let mut out = match is_by_element(op) {
            true => self.taken(node),
            false => self.spare.take(self.items * len(&node.shape)),
        };
        let inputs = node.inputs.iter().map(|&id| self.values[id].as_slice());
        let inputs: Vec<&[f32]> = inputs.collect();
        evaluate(op, &inputs, [self.items, self.threads], &mut out);
        out
    }

    /// The first input of a node, in memory of its own: that of the input itself where nothing else reads it.
    fn taken(&mut self, node: &Node) -> Vec<f32> {
        let id = node.inputs[0];
        let once = node.inputs.iter().filter(|&&other| other == id).count() == 1;
        let last = self.last_use[id] == self.done() - 1;
        if once
            && last
            && let Some(alone) = Arc::get_mut(&mut self.values[id])
        {
            return std::mem::take(alone);
        }
        let mut out = self.spare.take(self.values[id].len());
        out.copy_from_slice(&self.values[id]);
        out
    }

    /// Goes on with `value` as the next one.
    pub(crate) fn push(&mut self, value: Vec<f32>) {
        let node = self.done() - 1;
        for &id in &self.graph.nodes[node].inputs {
            if self.last_use[id] == node {
                self.spare.give(std::mem::take(&mut self.values[id]));
            }
        }
        self.values.push(Arc::new(value));
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

/// Memory of values that nothing reads any more, for those to come: the system clears new memory before it is used.
#[derive(Default)]
struct Spare(Vec<Vec<f32>>);

/// How many values' memory is kept.
const KEPT: usize = 6;

impl Spare {
    /// Memory for `n` elements, with what was there before.
    fn take(&mut self, n: usize) -> Vec<f32> {
        let fitting = self.0.iter().enumerate();
        // A small value that is kept for long must not keep the memory of a large one.
        let fitting = fitting.filter(|(_, spare)| (n..=2 * n).contains(&spare.capacity()));
        match fitting.min_by_key(|(_, spare)| spare.capacity()) {
            Some((at, _)) => {
                let mut spare = self.0.swap_remove(at);
                spare.resize(n, 0.0);
                spare
            }
            None => vec![0.0; n],
        }
    }

    /// Keeps the memory of a value that nothing else reads; of too many not the smallest.
    fn give(&mut self, value: Arc<Vec<f32>>) {
        let Ok(value) = Arc::try_unwrap(value) else {
            return;
        };
        self.0.push(value);
        if self.0.len() > KEPT {
            let sizes = self.0.iter().map(Vec::capacity).enumerate();
            let smallest = sizes.min_by_key(|&(_, size)| size);
            smallest.map(|(at, _)| self.0.swap_remove(at));
        }
    }
}

/// A copy of an evaluation has memory of its own.
impl Clone for Spare {
    fn clone(&self) -> Self {
        Spare::default()
    }
}
