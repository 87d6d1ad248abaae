//! Marks of missing numbers among ranks.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::Form;
use crate::graph::{self, FILL, Graph, Node, Op, ValueId};

/// The most elements whose places are looked at.
const MOST: usize = 1 << 26;

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
pub(super) fn with_marks(places: &mut Places, node: &Node) -> Option<Form> {
    match node.op {
        Op::Add | Op::Sub => {
            let (numbers, marks) = (places.of(node.inputs[0])?, places.of(node.inputs[1])?);
            let known: HashSet<(u32, u32)> = graph::marks(&places.graph.inputs).collect();
            let mut pairs = numbers.iter().copied().zip(marks.iter().copied());
            let own = |pair: (u32, u32)| pair.1 == FILL || known.contains(&pair);
            pairs.all(own).then_some(Form::Item)
        }
        Op::Concat { .. } => Some(Form::Item),
        _ => None,
    }
}

/// The places in the row of values' elements, [`FILL`] where one is filled in.
pub(super) struct Places<'a> {
    graph: &'a Graph,
    /// The places that are known; `None` of what is more than moved.
    known: HashMap<ValueId, Option<Rc<[u32]>>>,
    /// How many of all values are known.
    elements: usize,
}

impl<'a> Places<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        Places {
            graph,
            known: HashMap::new(),
            elements: 0,
        }
    }

    /// The places of a value's elements; `None` of what is more than moved, and of more than are looked at.
    fn of(&mut self, id: ValueId) -> Option<Rc<[u32]>> {
        let mut open = vec![id];
        while let Some(&id) = open.last() {
            let before = open.len();
            if !self.known.contains_key(&id) {
                let unknown = |id: &&ValueId| !self.known.contains_key(*id);
                open.extend(self.moved(id).iter().filter(unknown));
            }
            if open.len() == before {
                open.pop();
                if !self.known.contains_key(&id) {
                    let made = self.made(id).filter(|_| self.elements <= MOST);
                    self.elements += made.as_ref().map_or(0, |places| places.len());
                    self.known.insert(id, made);
                }
            }
        }
        self.known[&id].clone()
    }

    /// The values whose elements a value's are, moved.
    fn moved(&self, id: ValueId) -> &'a [ValueId] {
        let node = id.checked_sub(1).map(|at| &self.graph.nodes[at]);
        match node.map(|node| (&node.op, node)) {
            Some((Op::Rearrange { .. }, node)) if !node.is_fill() => &node.inputs,
            Some((Op::Concat { .. }, node)) => &node.inputs,
            _ => &[],
        }
    }

    /// The places of a value of which those of what it is moved of are known.
    fn made(&self, id: ValueId) -> Option<Rc<[u32]>> {
        let Some(at) = id.checked_sub(1) else {
            return Some((0..self.graph.row_len() as u32).collect());
        };
        let node = &self.graph.nodes[at];
        match &node.op {
            Op::Rearrange { index, fill } if *fill == 0.0 && !node.is_fill() => {
                let from = self.known[&node.inputs[0]].as_ref()?;
                let place = |&i: &u32| from.get(i as usize).copied().unwrap_or(FILL);
                Some(index.iter().map(place).collect())
            }
            Op::Rearrange { index, fill } if *fill == 0.0 => Some(vec![FILL; index.len()].into()),
            Op::Concat { outer } => {
                let parts = node.inputs.iter().map(|id| self.known[id].clone());
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
}
