//! Marks of missing numbers among ranks.

use std::collections::HashSet;

use super::Form;
use crate::graph::{self, FILL, Graph, Node, Op, ValueId};

/// Which numbers of a row are marks of numbers that are missing.
pub(super) fn marks(graph: &Graph) -> Vec<bool> {
    let mut are_marks = vec![false; graph.row_len()];
    graph::marks(&graph.inputs).for_each(|(_, mark)| are_marks[mark as usize] = true);
    are_marks
}

/// Whether a node reads marks alone of the row.
pub(super) fn are_marks(node: &Node, marks: &[bool]) -> bool {
    match &node.op {
        Op::Rearrange { index, fill } => {
            let mut read = index.iter().filter(|&&place| place != FILL);
            !node.is_fill() && *fill == 0.0 && read.all(|&place| marks[place as usize])
        }
        _ => false,
    }
}

/// The form of numbers and marks together: a number is 0 where it is missing, so that with its own mark it is one more
/// rank. `None` where a mark is another number's.
pub(super) fn with_marks(graph: &Graph, node: &Node) -> Option<Form> {
    match node.op {
        Op::Add | Op::Sub => {
            let [numbers, marks] = [0, 1].map(|i| places(graph, node.inputs[i]));
            let known: HashSet<(u32, u32)> = graph::marks(&graph.inputs).collect();
            let mut pairs = numbers?.into_iter().zip(marks?);
            let own = |pair: (u32, u32)| pair.1 == FILL || known.contains(&pair);
            pairs.all(own).then_some(Form::Item)
        }
        Op::Concat { .. } => Some(Form::Item),
        _ => None,
    }
}

/// The places in the row of a value's elements, [`FILL`] where one is filled in; `None` of what is more than moved.
fn places(graph: &Graph, id: ValueId) -> Option<Vec<u32>> {
    let Some(at) = id.checked_sub(1) else {
        return Some((0..graph.row_len() as u32).collect());
    };
    let node = &graph.nodes[at];
    match &node.op {
        Op::Rearrange { index, fill } if *fill == 0.0 && !node.is_fill() => {
            let from = places(graph, node.inputs[0])?;
            let place = |&i: &u32| from.get(i as usize).copied().unwrap_or(FILL);
            Some(index.iter().map(place).collect())
        }
        Op::Rearrange { index, fill } if *fill == 0.0 => Some(vec![FILL; index.len()]),
        Op::Concat { outer } => {
            let parts = node.inputs.iter().map(|&id| places(graph, id));
            let parts = parts.collect::<Option<Vec<_>>>()?;
            let rows = (0..*outer).flat_map(|o| {
                parts.iter().flat_map(move |part| {
                    let size = part.len() / outer;
                    part[o * size..][..size].iter().copied()
                })
            });
            Some(rows.collect())
        }
        _ => None,
    }
}
