//! OTs from small-field VOLEs: the local work of SoftSpoken OT (Roy: "SoftSpokenOT:
//! Quieter OT Extension from Small-Field Silent VOLE in the Minicrypt Model", CRYPTO 2022).
//!
//! Every tree's `2^k` leaves are seeds of streams of bits `r_x`. Who has all of them, the receiver
//! of the OTs, takes `u = sum r_x` and the `k` bits of `v = sum x r_x` (section 3.1 there). Who lacks
//! the leaf of its secret `d` takes `w = sum (x ^ d) r_x`, in which the missing leaf has the factor
//! 0, so `w = v ^ d u`. The first `m` trees' `u` are the bits of the random index `b`; the receiver
//! sends `c = u ^ C(b)` of the others, `C` a [`Code`], the sender adds `d c`, and then
//! `w = v ^ d C(b)` holds in all trees: side by side, brought to 128 bits, `q = t ^ offset[b]`. Of
//! the repetition code, `m` = 1, these are correlated OTs, `q = t ^ b delta`.
//!
//! All streams advance together, by whole blocks of 128 OTs; they have no seek and no copy. The
//! blocks of tree `i` are numbered from `i 2^64` on. The sender lacks one key of each tree, and may
//! know its stream (where it knows the index): so a guess at a key, with AES as an ideal cipher, is
//! tested against one stream by each call, not against those of all trees.

use aes::Aes128Enc;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use zeroize::Zeroize;

use super::code::{Code, added, mix};
use super::pack::pack_into;
use super::transpose::{ROWS, columns};
use crate::isa::{self, Isa, simd};
use crate::prg::{BLOCK, number};
use crate::{par, wipe};

/// OTs come in multiples of this, a block of every stream.
pub const UNIT: usize = 128;

/// OTs whose rows are made and transposed while they are in the second-level cache.
const STRIP: usize = 4096;

/// Words of a strip's row.
const WORDS: usize = STRIP / 64;

/// Leaves that are folded at once are at most `2^HEIGHT`.
const HEIGHT: u32 = 4;

type Row = [u64; WORDS];

/// The bytes of the corrections of `n` OTs, a multiple of [`UNIT`].
pub fn corrections_len(code: &Code, n: usize) -> usize {
    code.sent() * n / 8
}

/// The streams of all trees' leaves, at one position.
struct Streams {
    depth: u32,
    leaves: Vec<Aes128Enc>,
    counter: u64,
}

impl Streams {
    fn new(depth: u32, mut leaves: Vec<u128>) -> Self {
        let cipher = |seed: &u128| Aes128Enc::new(&seed.to_le_bytes().into());
        let ciphers = wipe::after(|| leaves.iter().map(cipher).collect());
        leaves.zeroize();
        Streams {
            depth,
            leaves: ciphers,
            counter: 0,
        }
    }

    /// Takes the blocks of `n` OTs out of every stream.
    fn take(&mut self, n: usize) -> u64 {
        assert!(n.is_multiple_of(UNIT));
        let first = self.counter;
        let next = first.checked_add((n / UNIT) as u64);
        self.counter = next.expect("a tree has 2^64 blocks");
        first
    }

    /// The number of a block of a tree's streams, which no other tree's have.
    fn position(tree: usize, block: u64) -> u128 {
        (tree as u128) << 64 | u128::from(block)
    }
}

/// What the strips of one tree are folded in.
struct Scratch {
    /// The first block of the strip.
    first: u64,
    /// The numbers of the blocks of a tree's streams.
    numbers: [[u8; BLOCK]; STRIP / UNIT],
    leaves: [Row; 1 << HEIGHT],
    sums: [Row; 1 << HEIGHT],
    /// The bits of `v` or `w`, tree after tree.
    rows: Vec<Row>,
}

impl Scratch {
    fn new(streams: &Streams, code: &Code, first: u64) -> Box<Self> {
        let zero = [0; WORDS];
        Box::new(Scratch {
            first,
            numbers: [[0; BLOCK]; STRIP / UNIT],
            leaves: [zero; 1 << HEIGHT],
            sums: [zero; 1 << HEIGHT],
            rows: vec![zero; ROWS.max(code.len() * streams.depth as usize)],
        })
    }

    /// Folds the first `units` blocks of a tree's leaves into its rows and returns their sum. A
    /// missing leaf is at place 0, whose factor is 0: then the sum is that of the others.
    fn fold(
        &mut self,
        isa: Isa,
        streams: &Streams,
        tree: usize,
        missing: bool,
        units: usize,
    ) -> &Row {
        let depth = streams.depth;
        let (low, high) = (depth.min(HEIGHT), depth.saturating_sub(HEIGHT));
        let ciphers = &streams.leaves[tree << depth..(tree + 1) << depth];
        let rows = &mut self.rows[tree * depth as usize..][..depth as usize];
        let (low_rows, high_rows) = rows.split_at_mut(low as usize);
        let first = Streams::position(tree, self.first);
        number(isa, &mut self.numbers[..units], first);
        let numbers = Array::cast_slice_from_core(&self.numbers[..units]);
        for (group, ciphers) in ciphers.chunks_exact(1 << low).enumerate() {
            for (i, (cipher, leaf)) in ciphers.iter().zip(&mut self.leaves).enumerate() {
                if missing && group + i == 0 {
                    *leaf = [0; WORDS];
                    continue;
                }
                let (out, _) = bytemuck::cast_slice_mut::<u64, u8>(leaf).as_chunks_mut();
                let out = Array::cast_slice_from_core_mut(&mut out[..units]);
                cipher
                    .encrypt_blocks_b2b(numbers, out)
                    .expect("equal lengths");
            }
            let leaves = &mut self.leaves[..1 << low];
            fold_leaves(isa, leaves, low_rows);
            self.sums[group] = leaves[0];
        }
        // The sums of the groups are the leaves of what is left of the tree.
        fold_leaves(isa, &mut self.sums[..1 << high], high_rows);
        &self.sums[0]
    }

    /// The rows of all trees as blocks.
    fn blocks(&mut self, isa: Isa, code: &Code, blocks: &mut [u128]) {
        let rest = self.rows.len() - ROWS;
        let rows = self.rows.as_flattened_mut();
        if code.mixes() {
            mix(isa, rows, WORDS, &added(rest));
        }
        columns(isa, blocks, rows, WORDS);
    }
}

simd! {
    /// Replaces the first leaf by the sum of all `2^rows.len()`; adds to row `j` those at places
    /// with bit `j`.
    fn fold_leaves(leaves: &mut [Row], rows: &mut [Row]) {
        let mut rest = leaves;
        for row in rows.iter_mut().rev() {
            let (lower, upper) = rest.split_at_mut(rest.len() / 2);
            for (lower, upper) in lower.iter_mut().zip(upper) {
                for ((l, u), r) in lower.iter_mut().zip(upper).zip(&mut *row) {
                    *l ^= *u;
                    *r ^= *u;
                }
            }
            rest = lower;
        }
    }

    /// Numbers whose bits lie in rows.
    fn gather_indices(rows: &[Row], numbers: &mut [u64]) {
        for (w, numbers) in numbers.chunks_mut(64).enumerate() {
            for (i, number) in numbers.iter_mut().enumerate() {
                *number = 0;
                for (j, row) in rows.iter().enumerate() {
                    *number |= (row[w] >> i & 1) << j;
                }
            }
        }
    }

    /// `row ^= with & mask`.
    fn add_masked(row: &mut [u64], with: &[u64], mask: u64) {
        for (row, with) in row.iter_mut().zip(with) {
            *row ^= with & mask;
        }
    }
}

/// The receiver's end: all leaves of every tree.
pub struct Full(Streams);

/// One strip of the receiver's results.
struct FullStrip<'a> {
    blocks: &'a mut [u128],
    choices: &'a mut [u64],
    corrections: &'a mut [u8],
}

impl Full {
    /// Begins from seeds, `2^depth` for every tree; `depth` is 1 to 8.
    pub fn new(depth: u32, leaves: Vec<u128>) -> Self {
        Full(Streams::new(depth, leaves))
    }

    /// The next `blocks.len()` OTs: their blocks `t`, their indices one after the other, and what is
    /// to be sent.
    pub fn extend(
        &mut self,
        code: &Code,
        blocks: &mut [u128],
        choices: &mut [u64],
        corrections: &mut [u8],
    ) {
        let isa = isa::current();
        let first = self.0.take(blocks.len());
        let m = code.index_bits() as usize;
        assert_eq!(choices.len(), blocks.len() / 64 * m);
        assert_eq!(corrections.len(), corrections_len(code, blocks.len()));
        let outputs = (blocks.chunks_mut(STRIP).zip(choices.chunks_mut(WORDS * m)))
            .zip(corrections.chunks_mut(corrections_len(code, STRIP)));
        let mut strips: Vec<_> = outputs
            .map(|((blocks, choices), corrections)| FullStrip {
                blocks,
                choices,
                corrections,
            })
            .collect();
        let streams = &self.0;
        par::for_each_strip(&mut strips, 1, STRIP * code.len(), |i, strip| {
            let first = first + (i * STRIP / UNIT) as u64;
            full_strip(isa, streams, code, first, &mut strip[0]);
        });
    }
}

fn full_strip(isa: Isa, streams: &Streams, code: &Code, first: u64, strip: &mut FullStrip) {
    let mut scratch = Scratch::new(streams, code, first);
    let (units, words) = (strip.blocks.len() / UNIT, strip.blocks.len() / 64);
    let mut indices = vec![[0; WORDS]; code.index_bits() as usize];
    for (tree, index) in indices.iter_mut().enumerate() {
        *index = *scratch.fold(isa, streams, tree, false, units);
    }
    let sent = strip.corrections.chunks_exact_mut(8 * words);
    let trees = code.columns().iter().enumerate().skip(indices.len());
    for ((tree, column), out) in trees.zip(sent) {
        let mut sum = *scratch.fold(isa, streams, tree, false, units);
        for (j, index) in indices.iter().enumerate() {
            let mask = u64::from(column >> j & 1).wrapping_neg();
            add_masked(isa, &mut sum, index, mask);
        }
        out.copy_from_slice(bytemuck::cast_slice(&sum[..words]));
    }
    interleave(isa, &indices, strip.choices);
    scratch.blocks(isa, code, strip.blocks);
}

/// Indices one after the other, from a row of bits for each of theirs.
fn interleave(isa: Isa, indices: &[Row], choices: &mut [u64]) {
    if let [only] = indices {
        choices.copy_from_slice(&only[..choices.len()]);
        return;
    }
    let mut numbers = [0; STRIP];
    let numbers = &mut numbers[..choices.len() * 64 / indices.len()];
    gather_indices(isa, indices, numbers);
    let bytes = bytemuck::cast_slice_mut(choices);
    pack_into(isa, numbers, indices.len() as u32, bytes);
}

/// The sender's end: all leaves but one of every tree.
pub struct Punctured {
    streams: Streams,
    /// The missing leaf of each tree, in `depth` bits.
    secrets: Vec<u64>,
}

impl Drop for Punctured {
    fn drop(&mut self) {
        self.secrets.zeroize();
    }
}

impl Punctured {
    /// Begins from seeds: that of leaf `x` of tree `i` stands at place `x ^ secrets[i]`, and the
    /// entry at place 0 is not used.
    pub fn new(depth: u32, leaves: Vec<u128>, secrets: Vec<u64>) -> Self {
        Punctured {
            streams: Streams::new(depth, leaves),
            secrets,
        }
    }

    /// The next `blocks.len()` OTs: their blocks `q`, from what the receiver sent.
    pub fn extend(&mut self, code: &Code, corrections: &[u8], blocks: &mut [u128]) {
        let isa = isa::current();
        let first = self.streams.take(blocks.len());
        assert_eq!(corrections.len(), corrections_len(code, blocks.len()));
        let mut strips: Vec<_> = blocks.chunks_mut(STRIP).collect();
        let len = corrections_len(code, STRIP);
        let this = &*self;
        par::for_each_strip(&mut strips, 1, STRIP * code.len(), |i, strip| {
            let corrections = &corrections[i * len..][..corrections_len(code, strip[0].len())];
            let first = first + (i * STRIP / UNIT) as u64;
            this.strip(isa, code, first, corrections, strip[0]);
        });
    }

    fn strip(&self, isa: Isa, code: &Code, first: u64, corrections: &[u8], blocks: &mut [u128]) {
        let mut scratch = Scratch::new(&self.streams, code, first);
        let (units, words) = (blocks.len() / UNIT, blocks.len() / 64);
        for tree in 0..code.len() {
            scratch.fold(isa, &self.streams, tree, true, units);
        }
        let depth = self.streams.depth as usize;
        let known = code.index_bits() as usize;
        let rows = scratch.rows.chunks_exact_mut(depth).zip(&self.secrets);
        let mut correction = [0; WORDS];
        for ((rows, secret), sent) in rows.skip(known).zip(corrections.chunks_exact(8 * words)) {
            bytemuck::cast_slice_mut(&mut correction[..words]).copy_from_slice(sent);
            for (j, row) in rows.iter_mut().enumerate() {
                let mask = (secret >> j & 1).wrapping_neg();
                add_masked(isa, row, &correction, mask);
            }
        }
        scratch.blocks(isa, code, blocks);
    }
}

#[cfg(test)]
mod tests;
