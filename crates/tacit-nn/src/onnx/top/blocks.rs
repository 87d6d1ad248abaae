//! The first elements of long rows: those of every block, and of these the first.

use super::super::call::{Fault, unsupported};
use super::super::compose::Composer;
use super::{chosen, ranks};
use crate::graph::{Matrices, Op, ValueId};

/// The longest row of which every two elements are compared, where blocks serve.
const SHORT: usize = 1 << 8;

/// The longest of which they are compared where they do not.
const LONGEST: usize = 1 << 10;

/// The shortest block.
const BLOCK: usize = 1 << 5;

/// For each of the first `k` elements of every row 1 at its place, else 0: `rows x k x size`.
///
/// Equal elements are taken in their order: those of a block are, and blocks stand in theirs.
pub(super) fn first(
    c: &mut Composer,
    x: ValueId,
    [rows, size]: [usize; 2],
    k: usize,
) -> Result<ValueId, Fault> {
    let block = (4 * k).next_power_of_two().clamp(BLOCK, SHORT);
    if size <= SHORT || 2 * k > block {
        if size > LONGEST {
            return unsupported(format!(
                "its axis has {size} places, more than {LONGEST}, of which it takes {k} and so compares every two"
            ));
        }
        let ranks = ranks(c, x, [rows, size])?;
        return chosen(c, ranks, [rows, size], k);
    }
    let (blocks, whole) = (size / block, size / block * block);
    let mut parts = vec![Part::of(c, x, [rows, size], [0, block, blocks], k)?];
    if whole < size {
        let rest = size - whole;
        parts.push(Part::of(c, x, [rows, size], [whole, rest, 1], k.min(rest))?);
    }
    let widths: Vec<usize> = parts.iter().map(Part::width).collect();
    let all: usize = widths.iter().sum();
    let values: Vec<ValueId> = parts.iter().map(|part| part.values).collect();
    let of_blocks = joined(c, "first of blocks", &values, [rows, 1, all])?;
    let of_these = first(c, of_blocks, [rows, all], k)?;
    let mut start = 0;
    let mut places = Vec::new();
    for part in &parts {
        places.push(part.places(c, of_these, [rows, k, all], start)?);
        start += part.width();
    }
    joined(c, "first of all", &places, [rows, k, size])
}

/// The first elements of some blocks of a row, side by side.
struct Part {
    /// Blocks of a row, elements of each, and how many of these are taken.
    blocks: usize,
    block: usize,
    k: usize,
    /// Marks of the elements chosen, 1 at the place of each: `rows x blocks x k x block`.
    chosen: ValueId,
    /// The elements: `rows x blocks x k`.
    values: ValueId,
}

impl Part {
    fn of(
        c: &mut Composer,
        x: ValueId,
        [rows, size]: [usize; 2],
        [start, block, blocks]: [usize; 3],
        k: usize,
    ) -> Result<Part, Fault> {
        let width = blocks * block;
        let at = |e: usize| e / width * size + start + e % width;
        let all = rows * blocks;
        let x = c.spread("blocks", x, vec![all, block], at)?;
        let ranks = ranks(c, x, [all, block])?;
        let chosen = chosen(c, ranks, [all, block], k)?;
        let matrices = Matrices {
            batch: all,
            m: k,
            k: block,
            n: 1,
        };
        let values = c.node(
            "of blocks",
            Op::MatMul(matrices),
            &[chosen, x],
            vec![rows, blocks * k],
        )?;
        Ok(Part {
            blocks,
            block,
            k,
            chosen,
            values,
        })
    }

    /// How many elements of a row are taken.
    fn width(&self) -> usize {
        self.blocks * self.k
    }

    /// For each of the first `k` of all blocks, of which those here stand from `start` on, 1 at its place here:
    /// `rows x k x (blocks block)`.
    fn places(
        &self,
        c: &mut Composer,
        of_these: ValueId,
        [rows, k, all]: [usize; 3],
        start: usize,
    ) -> Result<ValueId, Fault> {
        let (own, blocks, block) = (self.k, self.blocks, self.block);
        // Rows, blocks, which of the first, and which of its block's first.
        let at = |e: usize| {
            let (row, of_block, i, j) = (
                e / (blocks * k * own),
                e / (k * own) % blocks,
                e / own % k,
                e % own,
            );
            (row * k + i) * all + start + of_block * own + j
        };
        let by_block = c.spread("by block", of_these, vec![rows, blocks, k, own], at)?;
        let matrices = Matrices {
            batch: rows * blocks,
            m: k,
            k: own,
            n: block,
        };
        let places = c.node(
            "places in blocks",
            Op::MatMul(matrices),
            &[by_block, self.chosen],
            vec![rows, blocks, k, block],
        )?;
        let at = |e: usize| {
            let (row, i, of_block, j) = (
                e / (k * blocks * block),
                e / (blocks * block) % k,
                e / block % blocks,
                e % block,
            );
            ((row * blocks + of_block) * k + i) * block + j
        };
        c.spread("side by side", places, vec![rows, k, blocks * block], at)
    }
}

/// Values side by side along the last axis.
fn joined(
    c: &mut Composer,
    part: &str,
    values: &[ValueId],
    shape: [usize; 3],
) -> Result<ValueId, Fault> {
    match values {
        &[one] => Ok(one),
        _ => c.node(
            part,
            Op::Concat {
                outer: shape[0] * shape[1],
            },
            values,
            shape.to_vec(),
        ),
    }
}
