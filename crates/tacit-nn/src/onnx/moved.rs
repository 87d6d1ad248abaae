//! Values whose elements are those of another, as they are or moved.

use super::builder::Builder;
use crate::graph::{FILL, Op, ValueId};

impl Builder {
    /// The value whose elements a value holds, as they are or moved, and the place there of each. Of a value where
    /// something is filled in that is the value itself.
    pub(super) fn moved_from(&self, id: ValueId) -> (ValueId, Vec<u32>) {
        let mut places: Vec<u32> = (0..self.len(id) as u32).collect();
        let mut at = id;
        while let Some(node) = at.checked_sub(1).map(|node| &self.nodes[node]) {
            match &node.op {
                Op::Rearrange { index, .. } => {
                    let moved: Vec<u32> =
                        places.iter().map(|&place| index[place as usize]).collect();
                    if moved.contains(&FILL) {
                        break;
                    }
                    (at, places) = (node.inputs[0], moved);
                }
                Op::Concat { outer } => match self.of_one(&node.inputs, *outer, &places) {
                    Some(found) => (at, places) = found,
                    None => break,
                },
                _ => break,
            }
        }
        (at, places)
    }

    /// The one of several values side by side that holds these places, and where they are in it.
    fn of_one(
        &self,
        parts: &[ValueId],
        outer: usize,
        places: &[u32],
    ) -> Option<(ValueId, Vec<u32>)> {
        let row: usize = parts.iter().map(|&part| self.len(part) / outer).sum();
        let mut start = 0;
        for &part in parts {
            let size = self.len(part) / outer;
            let own = |place: usize| {
                let at = (place % row).checked_sub(start).filter(|&at| at < size)?;
                Some((place / row * size + at) as u32)
            };
            let all = places.iter().map(|&place| own(place as usize));
            if let Some(found) = all.collect() {
                return Some((part, found));
            }
            start += size;
        }
        None
    }
}
