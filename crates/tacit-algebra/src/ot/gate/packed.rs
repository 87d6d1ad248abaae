//! Gates whose rows fit words: functions shared by xor, of which all values for one number of the
//! sender have at most 64 bits together. Field `p` of a row's word is the value for `p`. Instances
//! lie in lanes, and all that depends on their numbers is masks and shifts.

use super::{Block, Isa, Offered, RowLayout, STRIP, Table};
use crate::isa::simd;
use crate::ot::pack::{pack_into, unpack_into};

/// Instances whose pads are hashed at once.
const TOGETHER: usize = 16;

impl Table {
    /// The table with its rows as words.
    pub(super) fn packed(self) -> Self {
        let word = |row: &[u64]| {
            let fields = (0..).step_by(self.output_bits as usize).zip(row);
            fields.fold(0, |word, (at, value)| word | value << at)
        };
        let words = |rows: &Vec<u64>| rows.chunks(1 << self.index_bits).map(word).collect();
        Table {
            layout: RowLayout::Packed,
            rows: self.rows.each_ref().map(words),
            ..self
        }
    }

    /// Bits of an instance's messages.
    fn message_bits(&self) -> u32 {
        self.messages() as u32 * self.output_bits
    }
}

simd! {
    /// Adds the low bits of the pads of all messages to the fields of their words.
    fn add_pads(words: &mut [u64], pads: &[Block], index_bits: u32, width: u32) {
        let mask = u64::MAX >> (64 - width);
        for (word, pads) in words.iter_mut().zip(pads.chunks_exact(1 << index_bits)) {
            for (pad, at) in pads.iter().zip((0..).step_by(width as usize)) {
                *word ^= (*pad as u64 & mask) << at;
            }
        }
    }

    /// The word of each number.
    fn find_rows(rows: &[u64], own: &[u64], words: &mut [u64]) {
        words.fill(0);
        for (u, row) in (0..).zip(rows) {
            for (word, own) in words.iter_mut().zip(own) {
                *word |= row & ((*own == u) as u64).wrapping_neg();
            }
        }
    }

    /// Moves field `p ^ d` to place `p`: by each bit of `d` or not.
    fn move_fields(words: &mut [u64], d: &[u64], index_bits: u32, width: u32) {
        for bit in 0..index_bits {
            let by = width << bit;
            let lower = u64::MAX >> (64 - by);
            // The fields at places without this bit.
            let lower = (bit + 1..index_bits).fold(lower, |l, bit| l | l << (width << bit));
            for (word, d) in words.iter_mut().zip(d) {
                let moved = (*word >> by & lower) | (*word & lower) << by;
                *word ^= (*word ^ moved) & (d >> bit & 1).wrapping_neg();
            }
        }
    }

    /// Takes field 0 of each word of padded values for the share, and hides the other fields, the messages, under it.
    fn hide(words: &mut [u64], shares: &mut [u64], index_bits: u32, width: u32) {
        let mask = u64::MAX >> (64 - width);
        for (word, share) in words.iter_mut().zip(shares) {
            *share = *word & mask;
            let mut everywhere = *share;
            for bit in 0..index_bits {
                everywhere |= everywhere << (width << bit);
            }
            *word = (*word ^ everywhere) >> width;
        }
    }

    /// The message at `random`, 0 for 0, without its pad.
    fn take(messages: &[u64], random: &[u64], pads: &[Block], width: u32, shares: &mut [u64]) {
        let mask = u64::MAX >> (64 - width);
        for (((share, word), at), pad) in shares.iter_mut().zip(messages).zip(random).zip(pads) {
            let message = (word << width) >> (at * u64::from(width));
            *share = (message ^ *pad as u64) & mask;
        }
    }
}

impl Offered<'_> {
    /// The messages of a strip, field after field of all instances.
    pub(super) fn packed(&self, wire: &mut [u8], shares: &mut [u64]) {
        let (isa, table, n) = (self.isa, self.table, shares.len());
        let (m, width) = (table.index_bits, table.output_bits);
        let mut words = [0; STRIP];
        let words = &mut words[..n];
        find_rows(isa, &table.rows[self.side], self.own, words);
        move_fields(isa, words, self.corrections, m, width);
        let mut pads = [0; TOGETHER << 4];
        let together = words.chunks_mut(TOGETHER).zip(self.q.chunks(TOGETHER));
        for ((words, q), s) in together.zip((0..).step_by(TOGETHER)) {
            let pads = &mut pads[..q.len() << m];
            for (pads, q) in pads.chunks_exact_mut(1 << m).zip(q) {
                for (pad, offset) in pads.iter_mut().zip(self.offsets) {
                    *pad = q ^ offset;
                }
            }
            self.hash.sent(isa, self.of.from(s), pads);
            add_pads(isa, words, pads, m, width);
        }
        hide(isa, words, shares, m, width);
        pack_into(isa, words, table.message_bits(), wire);
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
    let mut messages = [0; STRIP];
    let messages = &mut messages[..shares.len()];
    unpack_into(isa, wire, table.message_bits(), messages);
    take(isa, messages, random, pads, table.output_bits, shares);
}
