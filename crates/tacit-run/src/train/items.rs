//! Shared items, in pieces so that no vector holds all of them twice.

use tacit_protocols::machine::{Erased, Handle, Machine};
use tacit_train::FixedPoint;

use super::Dataset;
use super::agree::Part;
use crate::Error;

/// Elements of a piece.
const PIECE: usize = 1 << 22;

/// Items of all owners, one set after the other.
pub(super) struct Items {
    pieces: Vec<Handle>,
    /// The number of the first item of each piece.
    starts: Vec<usize>,
    /// Elements of an item.
    width: usize,
    /// The number of items.
    pub len: usize,
}

/// Items of so many numbers that are shared at a time.
pub(super) fn together(width: usize) -> usize {
    (PIECE / width).max(1)
}

impl Items {
    /// Shares the parts, of which each owner knows its own; `of` picks items or targets.
    pub fn share(
        machine: &mut Erased,
        fixed: FixedPoint,
        parts: &[Part],
        width: usize,
        of: impl for<'a> Fn(&Dataset<'a>) -> &'a [f32],
    ) -> Result<Self, Error> {
        let mut items = Items {
            pieces: Vec::new(),
            starts: Vec::new(),
            width,
            len: 0,
        };
        let together = together(width);
        for part in parts {
            for first in (0..part.items).step_by(together) {
                let count = together.min(part.items - first);
                let own = part.own.map(|set| {
                    let values = &of(&set)[first * width..][..count * width];
                    fixed.encode_all(values)
                });
                let own = own.transpose().map_err(|beyond| {
                    let at = first + beyond.index / width;
                    Error::setting("data", format!("item {at} holds {beyond}"))
                })?;
                items.starts.push(items.len);
                let piece = machine.input(part.owner, count * width, own.as_deref())?;
                items.pieces.push(piece);
                items.len += count;
            }
        }
        Ok(items)
    }

    /// Some items, one after the other. Local.
    pub fn pick(&self, machine: &mut Erased, numbers: &[u32]) -> Handle {
        let item = |number: &u32| {
            let number = *number as usize;
            let piece = self.starts.partition_point(|start| *start <= number) - 1;
            let at = (number - self.starts[piece]) * self.width;
            (piece, at..at + self.width)
        };
        let parts: Vec<Handle> = numbers
            .iter()
            .map(item)
            .map(|(piece, range)| machine.slice(&self.pieces[piece], range))
            .collect();
        machine.concat(&parts.iter().collect::<Vec<_>>())
    }
}
