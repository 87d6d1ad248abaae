//! Gates of any width: the messages of one instance after the other.

use super::{Block, Isa, Offered, RowLayout, Table, add_fields, sub_fields};
use crate::isa::simd;
use crate::ot::pack::{pack_into, unpack_into};

/// Pads that are hashed at once.
const TOGETHER: usize = 256;
/// The fewest instances whose messages are whole bytes, whatever the width.
const BYTES: usize = 8;

simd! {
    /// The row of `own`, without an address that depends on it.
    fn any_row(rows: &[u64], own: u64, row: &mut [u64]) {
        row.fill(0);
        for (u, candidate) in rows.chunks_exact(row.len()).enumerate() {
            let chosen = ((u as u64 == own) as u64).wrapping_neg();
            for (r, c) in row.iter_mut().zip(candidate) {
                *r |= c & chosen;
            }
        }
    }

    /// `table` rotated by `own`: by each power of two or not.
    fn rotated_row(table: &[u64], own: u64, row: &mut [u64]) {
        let size = row.len();
        let mut other = [0u64; 256];
        row.copy_from_slice(table);
        let mut step = 1;
        while step < size {
            let chosen = ((own & step as u64 != 0) as u64).wrapping_neg();
            let other = &mut other[..size];
            other[..size - step].copy_from_slice(&row[step..]);
            other[size - step..].copy_from_slice(&row[..step]);
            for (r, o) in row.iter_mut().zip(other) {
                *r ^= (*r ^ *o) & chosen;
            }
            step *= 2;
        }
    }

    /// The messages of one instance, and the share that makes message 0 vanish.
    fn hide(row: &[u64], d: usize, pads: &[Block], messages: &mut [u64], tops: u64, mask: u64) -> u64 {
        let share = add_fields(row[d], pads[0] as u64, tops) & mask;
        for ((p, pad), message) in (1..).zip(&pads[1..]).zip(messages) {
            let value = sub_fields(row[(p ^ d) & (row.len() - 1)], share, tops);
            *message = add_fields(value, *pad as u64, tops) & mask;
        }
        share
    }

    /// The entry `at` of `0, values...`, without an address that depends on it.
    fn pick(values: &[u64], at: u64) -> u64 {
        let mut picked = 0;
        for (i, value) in (1..).zip(values) {
            picked |= value & ((i == at) as u64).wrapping_neg();
        }
        picked
    }
}

fn find_row(isa: Isa, table: &Table, side: usize, own: u64, row: &mut [u64]) {
    match table.layout == RowLayout::Rotated {
        true => rotated_row(isa, &table.rows[side], own, row),
        false => any_row(isa, &table.rows[side], own, row),
    }
}

impl Offered<'_> {
    /// The messages, one instance after the other.
    pub(super) fn wide(&self, wire: &mut [u8], shares: &mut [u64]) {
        let (isa, table, m) = (self.isa, self.table, self.table.index_bits as usize);
        let together = (TOGETHER >> m).max(BYTES);
        let mut row = vec![0; 1 << m];
        let mut pads = vec![0; together << m];
        let mut messages = vec![0; together * table.messages()];
        let groups = shares.chunks_mut(together);
        let groups = groups.zip(wire.chunks_mut(table.wire_len(together)));
        for ((shares, wire), s) in groups.zip((0..).step_by(together)) {
            let pads = &mut pads[..shares.len() << m];
            for (pads, q) in (pads.chunks_exact_mut(1 << m)).zip(&self.q[s..]) {
                for (pad, offset) in pads.iter_mut().zip(self.offsets) {
                    *pad = q ^ offset;
                }
            }
            self.hash.sent(isa, self.of.from(s), pads);
            let messages = &mut messages[..shares.len() * table.messages()];
            for (((share, messages), pads), j) in shares
                .iter_mut()
                .zip(messages.chunks_exact_mut(table.messages()))
                .zip(pads.chunks_exact(1 << m))
                .zip(s..)
            {
                find_row(isa, table, self.side, self.own[j], &mut row);
                let (mask, d) = (table.mask(), self.corrections[j] as usize);
                *share = hide(isa, &row, d, pads, messages, table.tops, mask);
            }
            pack_into(isa, messages, table.output_bits, wire);
        }
    }
}

/// The receiver's shares of a strip.
pub(super) fn taken(
    isa: Isa,
    table: &Table,
    (random, pads): (&[u64], &[Block]),
    wire: &[u8],
    shares: &mut [u64],
) {
    let each = table.messages();
    let mut messages = vec![0; BYTES * each];
    let groups = (shares.chunks_mut(BYTES)).zip(wire.chunks(table.wire_len(BYTES)));
    for ((shares, wire), s) in groups.zip((0..).step_by(BYTES)) {
        let messages = &mut messages[..shares.len() * each];
        unpack_into(isa, wire, table.output_bits, messages);
        let messages = messages.chunks_exact(each);
        for ((share, messages), j) in shares.iter_mut().zip(messages).zip(s..) {
            let message = pick(isa, messages, random[j]);
            *share = sub_fields(message, pads[j] as u64, table.tops) & table.mask();
        }
    }
}
