//! Elements of a value, followed one by one back to where they are made or known.

use super::builder::Builder;
use crate::graph::{FILL, Op, ValueId};

/// Where an element comes from.
pub(super) enum Element {
    Known(f32),
    /// An element of a value, and what is added to it.
    Found(ValueId, usize, f32),
}

impl Builder {
    /// Element `e` of value `id`, followed back through moves, sums with constants and factors of 0 and 1.
    pub(super) fn traced(&self, mut id: ValueId, mut e: usize) -> Element {
        let mut more = 0.0;
        while let Some(node) = id.checked_sub(1).map(|at| &self.nodes[at]) {
            match &node.op {
                Op::Rearrange { index, fill } => match index[e] {
                    FILL => return Element::Known(fill + more),
                    from => e = from as usize,
                },
                Op::Affine(affine) => {
                    let channel = e / affine.inner % affine.channels().max(1);
                    let shift = affine.shift.get(channel).copied().unwrap_or(0.0);
                    match affine.scale.get(channel).copied().unwrap_or(1.0) {
                        0.0 => return Element::Known(shift + more),
                        1.0 => more += shift,
                        _ => break,
                    }
                }
                Op::Concat { outer } => match self.beside(&node.inputs, *outer, e) {
                    Some(found) => {
                        (id, e) = found;
                        continue;
                    }
                    None => break,
                },
                _ => break,
            }
            id = node.inputs[0];
        }
        Element::Found(id, e, more)
    }

    /// The one of several values side by side that holds element `e`, and which it is there.
    fn beside(&self, parts: &[ValueId], outer: usize, e: usize) -> Option<(ValueId, usize)> {
        let row: usize = parts.iter().map(|&part| self.len(part) / outer).sum();
        let (line, mut at) = (e / row, e % row);
        for &part in parts {
            let size = self.len(part) / outer;
            if at < size {
                return Some((part, line * size + at));
            }
            at -= size;
        }
        None
    }
}
