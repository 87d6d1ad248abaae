//! Linear codes that make 1-of-2^m OTs of small-field VOLEs (Roy: "SoftSpokenOT", CRYPTO 2022,
//! section 4.2; for trees of depth 1 Kolesnikov and Kumaresan, "Improved OT Extension for
//! Transferring Short Secrets", CRYPTO 2013).
//!
//! A receiver's index `b` of `m` bits becomes a word `C(b)` with a bit for every tree, its sender's
//! secrets `d` a string of bits for every tree: `t = q ^ (d & C(b))`, so the pads of two indices are
//! as far apart as the bits of `d` at the places in which their words differ, 128 or more.
//!
//! Differences from the papers: Walsh-Hadamard codes without the columns that a shorter word does
//! not need; the rows of all trees, at most [`WIDEST`], are brought to 128 by adding to each of the
//! first 128 a fixed choice of the others. That is linear, so what relates the blocks depends on
//! nothing but the index, and is tested to leave the bits of `d` at any word's ones 125 or more
//! dimensions, which is what a guess of a pad has to meet.

use crate::isa::simd;
use crate::{Prg, ot::Block};

/// Rows of a block.
pub(super) const ROWS: usize = 128;
/// The most rows of all trees together.
pub const WIDEST: usize = 384;
/// Rows that are added to each of the first 128.
const ADDED: usize = 24;

/// A code of `2^m` words; for `m` = 1 the repetition code.
#[derive(Clone, Debug)]
pub struct Code {
    index_bits: u32,
    /// For every place of a word the mask of the bits of an index whose sum it is; the first `m` are
    /// these bits.
    columns: Vec<u8>,
}

impl Code {
    /// The shorter of two codes any two words of which differ in `distance` places or more: all
    /// sums of index bits, or the sums of an odd number of them, repeated.
    pub fn new(index_bits: u32, distance: usize) -> Code {
        assert!((1..=8).contains(&index_bits), "{index_bits} index bits");
        let masks = 1..=u8::MAX >> (8 - index_bits);
        let all: Vec<u8> = masks.clone().collect();
        let odd: Vec<u8> = masks.filter(|mask| mask.count_ones() % 2 == 1).collect();
        let all_times = distance.div_ceil(1 << (index_bits - 1));
        let odd_times = match index_bits {
            1 => all_times,
            _ => distance.div_ceil(1 << (index_bits - 2)),
        };
        let (mut masks, times) = match odd.len() * odd_times < all.len() * all_times {
            true => (odd, odd_times),
            false => (all, all_times),
        };
        masks.sort_by_key(|mask| (mask.count_ones() > 1, *mask));
        let columns = masks.repeat(times);
        Code {
            index_bits,
            columns,
        }
    }

    /// Bits of an index.
    pub fn index_bits(&self) -> u32 {
        self.index_bits
    }

    /// Places of a word, and trees that it takes.
    #[expect(clippy::len_without_is_empty, reason = "no word is empty")]
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Bits that the receiver sends per OT.
    pub fn sent(&self) -> usize {
        self.len() - self.index_bits as usize
    }

    pub(super) fn columns(&self) -> &[u8] {
        &self.columns
    }

    /// Whether rows beyond the 128th are added to others; those of the repetition code are dropped.
    pub(super) fn mixes(&self) -> bool {
        self.index_bits > 1
    }

    /// What relates the blocks of index `p` to those of index 0, by `p`, where tree `i` has the
    /// `depth` secret bits `secrets[i]`.
    pub fn offsets(&self, depth: u32, secrets: &[u64]) -> Vec<Block> {
        let of = |p: u32| {
            let mut rows = vec![0u64; ROWS.max(self.len() * depth as usize)];
            let places = self.columns.iter().zip(secrets);
            for ((mask, secret), rows) in places.zip(rows.chunks_mut(depth as usize)) {
                let on = u64::from((u32::from(*mask) & p).count_ones() & 1);
                for (j, row) in rows.iter_mut().enumerate() {
                    *row = secret >> j & on;
                }
            }
            let block = |rows: &[u64]| (0..ROWS).fold(0, |b, i| b | Block::from(rows[i]) << i);
            match self.mixes() {
                true => {
                    let (first, rest) = rows.split_at_mut(ROWS);
                    for (row, places) in first.iter_mut().zip(added(rest.len())) {
                        *row ^= places.iter().fold(0, |sum, place| sum ^ rest[*place]);
                    }
                    block(first)
                }
                false => block(&rows),
            }
        };
        (0..1 << self.index_bits).map(of).collect()
    }
}

/// Which of `rest` rows are added to each of the first 128, by a seed that leaves the
/// tested dimensions.
pub(super) fn added(rest: usize) -> Vec<[usize; ADDED]> {
    let picks: Vec<u32> = Prg::new(*b"tacit: rows of s").ring(ROWS * ADDED);
    let (rows, _) = picks.as_chunks::<ADDED>();
    rows.iter()
        .map(|row| row.map(|pick| pick as usize % rest.max(1)))
        .collect()
}

simd! {
    /// Adds rows of `width` words, as many as [`added`] says, to each of the first 128.
    pub(super) fn mix(rows: &mut [u64], width: usize, added: &[[usize; ADDED]]) {
        let (first, rest) = rows.split_at_mut(ROWS * width);
        for (row, places) in first.chunks_exact_mut(width).zip(added) {
            for place in places {
                for (word, other) in row.iter_mut().zip(&rest[place * width..][..width]) {
                    *word ^= *other;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(code: &Code, index: u32) -> Vec<bool> {
        let bit = |mask: &u8| (u32::from(*mask) & index).count_ones() % 2 == 1;
        code.columns.iter().map(bit).collect()
    }

    #[test]
    fn words_are_far_apart_and_begin_with_their_index() {
        for index_bits in 1..=8 {
            for distance in [16, 19, 22, 26, 32, 43, 64, 128] {
                let code = Code::new(index_bits, distance);
                for index in 1..1 << index_bits {
                    let word = word(&code, index);
                    assert!(word.iter().filter(|bit| **bit).count() >= distance);
                    assert!((0..index_bits as usize).all(|j| word[j] == (index >> j & 1 == 1)));
                }
                assert!(code.len() <= index_bits as usize * distance);
            }
        }
        assert_eq!(Code::new(1, 128).sent(), 127);
        assert_eq!(Code::new(4, 128).sent(), 236);
        assert_eq!(Code::new(8, 128).sent(), 247);
        assert_eq!(Code::new(7, 32).sent(), 57);
    }

    /// The dimensions of what random bits at the ones of every word become. The lowest bit of the
    /// first tree is not random: it makes `delta` odd.
    #[test]
    fn mixing_leaves_secrets_their_dimensions() {
        let mut least = ROWS;
        for depth in 1..=8 {
            for index_bits in 2..=8 {
                let code = Code::new(index_bits, ROWS.div_ceil(depth));
                if code.len() * depth > WIDEST {
                    continue;
                }
                // What each single secret bit becomes.
                let mut images = Vec::new();
                let rest = code.len() * depth - ROWS;
                for row in 0..ROWS {
                    images.push(1 << row);
                }
                let added = added(rest);
                images.extend((0..rest).map(|place| {
                    let times = |row: usize| added[row].iter().filter(|p| **p == place).count();
                    (0..ROWS).fold(0u128, |b, row| b | (times(row) as u128 & 1) << row)
                }));
                for index in 1..1 << index_bits {
                    let at = word(&code, index);
                    let rows = (1..images.len()).filter(|row| at[row / depth]);
                    least = least.min(rank(rows.map(|row| images[row]).collect()));
                }
            }
        }
        println!("{least} dimensions at least");
        assert!(least >= 125, "{least}");
    }

    fn rank(mut vectors: Vec<u128>) -> usize {
        let mut rank = 0;
        for bit in 0..128 {
            let found = (rank..vectors.len()).find(|i| vectors[*i] >> bit & 1 == 1);
            let Some(i) = found else { continue };
            vectors.swap(rank, i);
            let pivot = vectors[rank];
            for v in &mut vectors[rank + 1..] {
                *v ^= pivot & (*v >> bit & 1).wrapping_neg();
            }
            rank += 1;
        }
        rank
    }

    #[test]
    fn offsets_are_linear_in_the_index() {
        let secrets: Vec<u64> = Prg::new([1; 16]).ring(400);
        for (index_bits, depth) in [(1, 3), (4, 4), (7, 4), (8, 1)] {
            let code = Code::new(index_bits, ROWS.div_ceil(depth as usize));
            let offsets = code.offsets(depth, &secrets);
            for p in 0..offsets.len() {
                let sum = (0..index_bits).fold(0, |sum, j| sum ^ offsets[p & 1 << j]);
                assert_eq!(offsets[p], sum);
                assert!(p == 0 || offsets[p] != 0);
            }
        }
    }
}
