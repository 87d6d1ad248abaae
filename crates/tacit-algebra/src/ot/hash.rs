//! The hash that breaks the correlation of OTs.
//!
//! The pad of block `x` is `E_k(s(x)) ^ s(x)`, with AES-128 for `E`, `s(l, r) = (l ^ r, l)` of a
//! block's halves, and for `k` the session's nonce XOR the number of the key: a multi-instance
//! tweakable hash (Guo, Katz, Wang, Weng, Yu: "Better Concrete Security for Half-Gates Garbling (in
//! the Multi-Instance Setting)", CRYPTO 2020; the bound below is derived here). A key makes at most [`PADS`] pads: those of
//! `16 / 2^m` neighbouring 1-of-2^m transfers, of one transfer with `m` = 4, of sixteen neighbouring
//! messages of one with more. No other transfer of a session has the key, of whatever direction or
//! kind, and of several lanes of pads of a transfer each has keys of its own.
//!
//! **Bound**, by counting. Whoever receives a transfer knows `t`, and of the pads that it does not have only that
//! they are those of `t ^ r` for secret `r`, of which each difference has `2^rho` equally likely
//! values. Let AES be an ideal cipher that it asks `p` times. A question helps if it is about a key
//! and `s(t ^ r)` for one of at most `mu` unknown pads under the key, or about the key and the
//! cipher's value there: with probability `mu 2^-rho`. So the unknown pads differ from uniform by at
//! most
//!
//! ```text
//! 2 mu p / 2^rho  +  mu n / 2^rho
//! ```
//!
//! of which the second term, of `n` pads, is that two of one key have equal blocks. Whatever the
//! number of transfers, `mu` is at most 8 for correlated OTs and 16 for others. Correlated OTs of
//! any source, and 1-of-2^m OTs combined of them, have `rho` = 127, [`Code`](super::Code)s of trees
//! 125 or more. So `p` is `2^123` for correlated OTs and `2^120` for all, before the bound is 1; and
//! the second term is below `2^-80` for `2^40` pads.
//!
//! One key for all would give `mu = n`: by `E_k(z) ^ z` one look-up tests a `z` against every known
//! pad, and a tweak that is added between two calls of `E_k` does not change that. The attack is in
//! `attack.rs`.

use rayon::prelude::*;

use super::Block;
use crate::Bits;
use crate::isa::{self, Isa, simd};

#[cfg(test)]
mod attack;
mod runs;

use runs::hash_runs;

/// The most pads of a key.
pub const PADS: usize = 16;

/// Blocks that are hashed at once.
const STRIP: usize = 64;

/// Neighbouring transfers of a direction and a kind: the keys of their pads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transfers {
    /// The side that sends them, and their kind.
    series: u64,
    index_bits: u32,
    first: u64,
}

impl Transfers {
    /// 1-of-2^m transfers of a side, `m = index_bits`, from number `first` on.
    pub fn new(sender: usize, index_bits: u32, first: u64) -> Self {
        assert!(sender < 2 && (1..=8).contains(&index_bits) && first >> 56 == 0);
        Transfers {
            series: (sender as u64) << 63 | u64::from(index_bits) << 56,
            index_bits,
            first,
        }
    }

    /// The transfers without the first `n`.
    pub fn from(self, n: usize) -> Self {
        let first = self.first + n as u64;
        Transfers { first, ..self }
    }

    /// The number of the first.
    pub fn first(self) -> u64 {
        self.first
    }

    /// Transfers that share a key: its binary logarithm.
    fn sharing(self) -> u32 {
        PADS.ilog2().saturating_sub(self.index_bits)
    }

    /// Keys of a transfer: the binary logarithm.
    fn split(self) -> u32 {
        self.index_bits.saturating_sub(PADS.ilog2())
    }

    /// The number of the key of the transfers `group 2^sharing ..`, and of a lane of their pads or a
    /// part of their messages.
    fn key(self, group: u64, part: u64) -> Block {
        Block::from(self.series | group) | Block::from(part) << 64
    }
}

/// The hash of a session.
pub struct Hash {
    nonce: Block,
}

impl Hash {
    /// A hash with the session's nonce, which need not be secret.
    pub fn new(nonce: [u8; 16]) -> Self {
        Hash {
            nonce: Block::from_le_bytes(nonce),
        }
    }

    /// Replaces the blocks of all messages of transfers, `2^m` of each after those of the one
    /// before, by their pads.
    #[inline]
    pub(super) fn sent(&self, isa: Isa, of: Transfers, blocks: &mut [Block]) {
        debug_assert!(blocks.len().is_multiple_of(1 << of.index_bits));
        if of.split() > 0 {
            let parts = 1 << of.split();
            let key = |run: u64| of.key(of.first + run / parts, run % parts);
            return hash_runs(isa, |run| self.nonce ^ key(run), (PADS, PADS), blocks);
        }
        self.lane(isa, of, 0, 1 << of.index_bits, blocks);
    }

    /// Replaces one block of each transfer, that of the index, by its pad.
    #[inline]
    pub(super) fn received(&self, isa: Isa, of: Transfers, indices: &[u64], blocks: &mut [Block]) {
        if of.split() > 0 {
            // The key depends on the index, which is secret: the schedule has no branches or tables.
            let part = |run: u64| indices.get(run as usize).copied().unwrap_or(0) >> PADS.ilog2();
            let key = |run: u64| self.nonce ^ of.key(of.first + run, part(run));
            return hash_runs(isa, key, (1, 1), blocks);
        }
        self.lane(isa, of, 0, 1, blocks);
    }

    /// Replaces `each` blocks of every transfer with at most 16 messages by the pads of this lane:
    /// several are several pads of a message, under keys of their own.
    #[inline]
    pub(super) fn lane(
        &self,
        isa: Isa,
        of: Transfers,
        lane: u64,
        each: usize,
        blocks: &mut [Block],
    ) {
        let (sharing, before) = (of.sharing(), of.first & ((1 << of.sharing()) - 1));
        let key = |run: u64| self.nonce ^ of.key((of.first >> sharing) + run, lane);
        let run = each << sharing;
        hash_runs(isa, key, (run - before as usize * each, run), blocks);
    }
}

simd! {
    /// The two lowest bits of every `step`th of up to 64 `step` blocks, as two words.
    fn low_bits(blocks: &[Block], step: usize) -> [u64; 2] {
        let mut words = [0; 2];
        for (block, i) in blocks.iter().step_by(step).zip(0..) {
            words[0] |= (*block as u64 & 1) << i;
            words[1] |= (*block as u64 >> 1 & 1) << i;
        }
        words
    }
}

/// For every entry of `plus`, one or both of 0 and what the blocks of correlated OTs differ by: `k`
/// vectors of bits, the low bits of the pad of every block plus the entry.
pub fn bit_pads<const C: usize>(
    hash: &Hash,
    (of, blocks): (Transfers, &[Block]),
    plus: [Block; C],
    k: usize,
) -> [Vec<Bits>; C] {
    assert!(k <= 2 && (1..=2).contains(&C) && of.index_bits == 1);
    let isa = isa::current();
    let strips: Vec<[[u64; 2]; C]> = blocks
        .par_chunks(STRIP)
        .with_min_len(16)
        .enumerate()
        .map(|(s, strip)| {
            let mut pads = [[0; C]; STRIP];
            let pads = &mut pads[..strip.len()];
            for (pads, block) in pads.iter_mut().zip(strip) {
                *pads = plus.map(|plus| block ^ plus);
            }
            let (of, pads) = (of.from(s * STRIP), pads.as_flattened_mut());
            hash.lane(isa, of, 0, C, pads);
            std::array::from_fn(|c| low_bits(isa, &pads[c..], C))
        })
        .collect();
    std::array::from_fn(|c| {
        let words = |i: usize| strips.iter().map(|words| words[c][i]).collect();
        let bits = |i| Bits::from_words(blocks.len(), words(i));
        (0..k).map(bits).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use aes::Aes128;
    use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

    use super::*;
    use crate::Prg;
    use crate::isa::same_everywhere;

    fn pad(key: Block, x: Block) -> Block {
        let (l, r) = (x >> 64, x & u128::from(u64::MAX));
        let s = (l ^ r) << 64 | l;
        let mut block = Array::from(s.to_le_bytes());
        Aes128::new(&key.to_le_bytes().into()).encrypt_block(&mut block);
        u128::from_le_bytes(block.into()) ^ s
    }

    /// The number of the key of message `p` of transfer `i`, as documented.
    fn key(of: Transfers, i: usize, p: usize) -> Block {
        let m = of.index_bits;
        let i = of.first + i as u64;
        match m > 4 {
            true => of.key(i, p as u64 >> 4),
            false => of.key(i / (16 >> m), 0),
        }
    }

    #[test]
    fn pads_are_their_definition_and_both_ends_agree() {
        let (nonce, mut prg) = ([3; 16], Prg::new([1; 16]));
        let hash = Hash::new(nonce);
        for m in 1..=8 {
            for (first, n) in [(0, 64), (5, 1), (7, 21), (1 << 40, 0), (3, 64)] {
                let of = Transfers::new(1, m, first);
                let words: Vec<u64> = prg.ring((2 * n) << m);
                let blocks: Vec<Block> = bytemuck::pod_collect_to_vec(&words);
                let sent = same_everywhere(|| {
                    let mut sent = blocks.clone();
                    hash.sent(isa::current(), of, &mut sent);
                    sent
                });
                let indices: Vec<u64> = (0..n as u64).map(|i| i * 77 % (1 << m)).collect();
                let at = |i: usize| i << m | indices[i] as usize;
                let received = same_everywhere(|| {
                    let mut one: Vec<Block> = (0..n).map(|i| blocks[at(i)]).collect();
                    hash.received(isa::current(), of, &indices, &mut one);
                    one
                });
                assert!((0..n).all(|i| received[i] == sent[at(i)]), "1-of-2^{m}");
                let nonce = Block::from_le_bytes(nonce);
                for (i, sent) in sent.iter().enumerate() {
                    let key = nonce ^ key(of, i >> m, i % (1 << m));
                    assert_eq!(*sent, pad(key, blocks[i]), "1-of-2^{m}");
                }
            }
        }
    }

    /// What the bound rests on.
    #[test]
    fn a_key_makes_sixteen_pads_and_serves_no_two_groups() {
        let mut keys = HashSet::new();
        for sender in 0..2 {
            for m in 1..=8 {
                let of = Transfers::new(sender, m, 0);
                let mut own: Vec<Block> = (0..64 << m)
                    .map(|i| key(of, i >> m, i % (1 << m)))
                    .collect();
                assert!(own.chunk_by(|a, b| a == b).all(|run| run.len() == PADS));
                own.dedup();
                assert!(own.into_iter().all(|key| keys.insert(key)));
                let lanes = (1..5).map(|lane| of.key(0, lane));
                assert!(m > 1 || lanes.into_iter().all(|key| keys.insert(key)));
            }
        }
        // The last transfer of one series is far from the next.
        let last = Transfers::new(0, 1, (1 << 56) - 1);
        assert_ne!(
            last.key(last.first, 0) >> 56,
            Transfers::new(0, 2, 0).key(0, 0) >> 56
        );
    }

    #[test]
    fn bits_are_those_of_pads() {
        let hash = Hash::new([4; 16]);
        let words: Vec<u64> = Prg::new([2; 16]).ring(2 * 3001);
        let blocks: Vec<Block> = bytemuck::pod_collect_to_vec(&words);
        for n in [0, 1, 63, 65, 3001] {
            let of = (Transfers::new(0, 1, 13), &blocks[..n]);
            let delta = 99;
            let [zero, one] = same_everywhere(|| bit_pads(&hash, of, [0, delta], 2));
            let [alone] = bit_pads(&hash, of, [delta], 1);
            assert!(one[0] == alone[0]);
            for (i, block) in blocks[..n].iter().enumerate() {
                let key = hash.nonce ^ key(of.0, i, 0);
                for (bits, plus) in [(&zero, 0), (&one, delta)] {
                    let pad = pad(key, block ^ plus);
                    assert!((0..2).all(|j| bits[j].get(i) == (pad >> j & 1 == 1)));
                }
            }
        }
    }
}
