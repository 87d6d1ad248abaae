//! Scales before a Concat, moved behind it.
//!
//! A pipeline scales some columns, puts others beside them and asks trees. Behind the Concat the scale of all columns,
//! which is 1 for the others, meets the comparisons, and goes into their thresholds.

use super::ordered::{only_signs, uses};
use crate::graph::{Affine, Graph, Node, Op, ValueId, len};

/// The graph with the scales of what is only compared behind the Concats. In float32 it computes the same.
pub(super) fn scales_behind(mut graph: Graph) -> Graph {
    while let Some((at, input)) = found(&graph) {
        let scale = graph.nodes[at].inputs[input] - 1;
        let affine = behind(&graph, at, input, scale);
        let node = Node {
            name: graph.nodes[scale].name.clone(),
            op: Op::Affine(affine),
            inputs: vec![at + 1],
            shape: graph.nodes[at].shape.clone(),
        };
        graph.nodes[at].inputs[input] = graph.nodes[scale].inputs[0];
        insert(&mut graph, at + 1, node);
        remove(&mut graph, scale);
    }
    graph
}

/// A Concat of which nothing but comparisons is left, and which of its inputs is scaled for it alone.
fn found(graph: &Graph) -> Option<(usize, usize)> {
    let (compared, uses) = (only_compared(graph), uses(graph));
    let is_scale = |id: &ValueId| {
        let node = id.checked_sub(1).map(|at| &graph.nodes[at].op);
        uses[*id] == 1 && matches!(node, Some(Op::Affine(affine)) if is_positive(affine))
    };
    let nodes = graph.nodes.iter().enumerate();
    let concats = nodes.filter(|(_, node)| matches!(node.op, Op::Concat { .. }));
    let input = |(at, node): (usize, &Node)| Some((at, node.inputs.iter().position(is_scale)?));
    let compared = concats.filter(|&(at, _)| compared[at + 1]);
    compared.filter_map(input).next()
}

fn is_positive(affine: &Affine) -> bool {
    affine.scale.iter().all(|&s| s > 0.0 && s.is_finite())
}

/// Whether each value is only scaled, moved and compared with thresholds.
fn only_compared(graph: &Graph) -> Vec<bool> {
    let signs = only_signs(graph);
    let mut compared = vec![true; graph.nodes.len() + 1];
    compared[graph.output] = false;
    // A fill reads nothing, whatever stands there.
    let readers = graph.nodes.iter().enumerate().rev();
    for (at, node) in readers.filter(|(_, node)| !node.is_fill()) {
        let kept = match &node.op {
            Op::Rearrange { .. } => compared[at + 1],
            Op::Sub => signs[at + 1],
            Op::Affine(affine) if affine.scale.is_empty() && signs[at + 1] => true,
            Op::Affine(affine) => is_positive(affine) && compared[at + 1],
            _ => false,
        };
        node.inputs.iter().for_each(|&id| compared[id] &= kept);
    }
    compared
}

/// The scale of one input of a Concat as that of its output.
fn behind(graph: &Graph, at: usize, input: usize, scale: usize) -> Affine {
    let Op::Affine(affine) = &graph.nodes[scale].op else {
        unreachable!("the input is scaled");
    };
    let Op::Concat { outer } = graph.nodes[at].op else {
        unreachable!("the node is a Concat");
    };
    let size = |&id: &ValueId| match id.checked_sub(1) {
        Some(node) => len(&graph.nodes[node].shape) / outer,
        None => len(&graph.row_shape()) / outer,
    };
    let sizes: Vec<usize> = graph.nodes[at].inputs.iter().map(size).collect();
    let (row, first): (usize, usize) = (sizes.iter().sum(), sizes[..input].iter().sum());
    let of = |e: usize| {
        let own = (e % row)
            .checked_sub(first)
            .filter(|&column| column < sizes[input]);
        own.map(|column| e / row * sizes[input] + column)
    };
    let each = |neutral: f32, number: &dyn Fn(usize) -> f32| {
        (0..outer * row)
            .map(|e| of(e).map_or(neutral, number))
            .collect()
    };
    Affine {
        inner: 1,
        scale: each(1.0, &|e| affine.scale_at(e)),
        shift: each(0.0, &|e| affine.shift_at(e)),
    }
}

/// Puts a node in at `at`; who read the value before it reads the node's.
fn insert(graph: &mut Graph, at: usize, node: Node) {
    let later = graph.nodes[at..]
        .iter_mut()
        .flat_map(|node| &mut node.inputs);
    for id in later.chain([&mut graph.output]) {
        *id += usize::from(*id >= at);
    }
    graph.nodes.insert(at, node);
}

/// Takes a node out; a fill that stands on it, and reads nothing, stands on what the node read.
fn remove(graph: &mut Graph, at: usize) {
    let input = graph.nodes.remove(at).inputs[0];
    let later = graph.nodes[at..]
        .iter_mut()
        .flat_map(|node| &mut node.inputs);
    for id in later.chain([&mut graph.output]) {
        match *id == at + 1 {
            true => *id = input,
            false => *id -= usize::from(*id > at + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Input, Output};
    use crate::reference::outputs;

    /// Two columns, the first scaled, beside a third; signs of these less thresholds, and the sum of `kept` if it
    /// is more than that.
    fn tree(kept: bool) -> Graph {
        let node = |op, inputs: &[usize], n: usize| Node {
            name: format!("{inputs:?}"),
            op,
            inputs: inputs.to_vec(),
            shape: vec![n],
        };
        let pick = |index: Vec<u32>| Op::Rearrange { index, fill: 0.0 };
        let affine = |scale: Vec<f32>, shift: Vec<f32>| {
            Op::Affine(Affine {
                inner: 1,
                scale: scale.into(),
                shift: shift.into(),
            })
        };
        let last = if kept { Op::Relu } else { Op::NonNegative };
        Graph {
            inputs: vec![Input::numbers("x", &[3])],
            nodes: vec![
                node(pick(vec![0, 1]), &[0], 2),
                node(affine(vec![], vec![-39.56075, -1.0]), &[1], 2),
                node(affine(vec![0.083_750_94, 3.0], vec![]), &[2], 2),
                node(pick(vec![2]), &[0], 1),
                node(Op::Concat { outer: 1 }, &[4, 3], 3),
                node(pick(vec![1, 0, 2, 1]), &[5], 4),
                node(affine(vec![], vec![-0.371_791_42, 0.5, 2.0, 0.1]), &[6], 4),
                node(last, &[7], 4),
            ],
            output: 8,
            outputs: vec![Output::whole("y", &[4])],
            remarks: vec![],
        }
    }

    /// A scaled column is compared exactly as float32 does: on a threshold, where float32 rounds the scaled number
    /// above it, and around it.
    #[test]
    fn a_scaled_column_is_compared_as_it_is() {
        let optimised = tree(false).optimise();
        let scales = optimised.nodes.iter().filter(|node| match &node.op {
            Op::Affine(affine) => !affine.scale.is_empty(),
            _ => false,
        });
        assert_eq!(scales.count(), 0);
        for x in [44.0, 44.0f32.next_down(), 44.0f32.next_up(), 43.9, -7.0] {
            let row = [x, 1.2, -0.5];
            let [before, after] = [&tree(false), &optimised].map(|g| outputs(g, &row).unwrap());
            assert_eq!(before, after, "{x}");
        }
        let kept = tree(true).optimise();
        let row = [44.0, 1.2, -0.5];
        let [before, after] = [&tree(true), &kept].map(|g| outputs(g, &row).unwrap());
        assert!(before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}
