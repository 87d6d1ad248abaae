//! Correlated OTs from small-field VOLEs: the local work of SoftSpoken OT (Roy: "SoftSpokenOT:
//! Quieter OT Extension from Small-Field Silent VOLE in the Minicrypt Model", CRYPTO 2022).
//!
//! Every tree's `2^k` leaves are seeds of streams of bits `r_x`. Who has all of them, the receiver
//! of the OTs, takes `u = sum r_x` and the `k` bits of `v = sum x r_x` (section 3.1 there). Who lacks
//! the leaf of its secret `d` takes `w = sum (x ^ d) r_x`, in which the missing leaf has the factor
//! 0, so `w = v ^ d u`. The first tree's `u` is the vector of choices `b`; the receiver sends
//! `c = u ^ b` of the others, the sender adds `d c`, and then `w = v ^ d b` holds in all trees: side
//! by side, 128 bits of `q = t ^ b delta`.
//!
//! All streams advance together, by whole blocks of 128 OTs; they have no seek and no copy.

use aes::Aes128Enc;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use zeroize::Zeroize;

use super::transpose::{ROWS, columns};
use crate::isa::{self, Isa, simd};
use crate::par;
use crate::prg::{BLOCK, number};

/// OTs come in multiples of this, a block of every stream.
pub const UNIT: usize = 128;

/// OTs whose rows are made and transposed while they are in the second-level cache.
const STRIP: usize = 4096;

/// Words of a strip's row.
const WORDS: usize = STRIP / 64;

/// Leaves that are folded at once are at most `2^HEIGHT`.
const HEIGHT: u32 = 4;

type Row = [u64; WORDS];

/// The bytes of the corrections of `n` OTs, a multiple of [`UNIT`], over `trees` trees.
pub fn corrections_len(trees: usize, n: usize) -> usize {
    (trees - 1) * n / 8
}

/// The streams of all trees' leaves, at one position.
struct Streams {
    depth: u32,
    leaves: Vec<Aes128Enc>,
    counter: u128,
}

impl Streams {
    fn new(depth: u32, mut leaves: Vec<u128>) -> Self {
        let ciphers = leaves
            .iter()
            .map(|seed| Aes128Enc::new(&seed.to_le_bytes().into()));
        let streams = Streams {
            depth,
            leaves: ciphers.collect(),
            counter: 0,
        };
        leaves.zeroize();
        streams
    }

    fn trees(&self) -> usize {
        self.leaves.len() >> self.depth
    }

    /// Takes the blocks of `n` OTs out of every stream.
    fn take(&mut self, n: usize) -> u128 {
        assert!(n.is_multiple_of(UNIT));
        let first = self.counter;
        self.counter += (n / UNIT) as u128;
        first
    }
}

/// What the strips of one tree are folded in.
struct Scratch {
    /// The numbers of the streams' blocks.
    numbers: [[u8; BLOCK]; STRIP / UNIT],
    leaves: [Row; 1 << HEIGHT],
    sums: [Row; 1 << HEIGHT],
    /// The bits of `v` or `w`, tree after tree.
    rows: Vec<Row>,
}

impl Scratch {
    fn new(isa: Isa, streams: &Streams, first: u128) -> Box<Self> {
        let zero = [0; WORDS];
        let mut scratch = Box::new(Scratch {
            numbers: [[0; BLOCK]; STRIP / UNIT],
            leaves: [zero; 1 << HEIGHT],
            sums: [zero; 1 << HEIGHT],
            rows: vec![zero; ROWS.max(streams.trees() * streams.depth as usize)],
        });
        number(isa, &mut scratch.numbers, first);
        scratch
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
    /// Of seeds, `2^depth` for every tree; `depth` is 1 to 8 and the trees have 128 rows or more.
    pub fn new(depth: u32, leaves: Vec<u128>) -> Self {
        Full(Streams::new(depth, leaves))
    }

    /// The next `blocks.len()` OTs: their blocks `t`, their choices, 64 per word, and what is to be
    /// sent of the other trees.
    pub fn extend(&mut self, blocks: &mut [u128], choices: &mut [u64], corrections: &mut [u8]) {
        let (isa, trees) = (isa::current(), self.0.trees());
        let first = self.0.take(blocks.len());
        assert_eq!(choices.len(), blocks.len() / 64);
        assert_eq!(corrections.len(), corrections_len(trees, blocks.len()));
        let outputs = (blocks.chunks_mut(STRIP).zip(choices.chunks_mut(WORDS)))
            .zip(corrections.chunks_mut(corrections_len(trees, STRIP)));
        let mut strips: Vec<_> = outputs
            .map(|((blocks, choices), corrections)| FullStrip {
                blocks,
                choices,
                corrections,
            })
            .collect();
        let streams = &self.0;
        par::for_each_strip(&mut strips, 1, STRIP * trees, |i, strip| {
            full_strip(
                isa,
                streams,
                first + (i * STRIP / UNIT) as u128,
                &mut strip[0],
            );
        });
    }
}

fn full_strip(isa: Isa, streams: &Streams, first: u128, strip: &mut FullStrip) {
    let mut scratch = Scratch::new(isa, streams, first);
    let (units, words) = (strip.blocks.len() / UNIT, strip.choices.len());
    let sum = scratch.fold(isa, streams, 0, false, units);
    strip.choices.copy_from_slice(&sum[..words]);
    for (tree, out) in (1..).zip(strip.corrections.chunks_exact_mut(8 * words)) {
        let mut sum = *scratch.fold(isa, streams, tree, false, units);
        add_masked(isa, &mut sum, strip.choices, u64::MAX);
        out.copy_from_slice(bytemuck::cast_slice(&sum[..words]));
    }
    columns(isa, strip.blocks, scratch.rows.as_flattened(), WORDS);
}

/// The sender's end: all leaves but one of every tree.
pub struct Punctured {
    streams: Streams,
    delta: u128,
}

impl Drop for Punctured {
    fn drop(&mut self) {
        self.delta.zeroize();
    }
}

impl Punctured {
    /// Of seeds, that of leaf `x` of tree `i` at place `x ^ delta_i`, where `delta_i` is bits
    /// `i depth..` of `delta`; the entry at place 0 is not used.
    pub fn new(depth: u32, leaves: Vec<u128>, delta: u128) -> Self {
        Punctured {
            streams: Streams::new(depth, leaves),
            delta,
        }
    }

    /// The next `blocks.len()` OTs: their blocks `q`, from what the receiver sent.
    pub fn extend(&mut self, corrections: &[u8], blocks: &mut [u128]) {
        let (isa, trees) = (isa::current(), self.streams.trees());
        let first = self.streams.take(blocks.len());
        assert_eq!(corrections.len(), corrections_len(trees, blocks.len()));
        let (streams, delta) = (&self.streams, self.delta);
        let mut strips: Vec<_> = blocks.chunks_mut(STRIP).collect();
        let len = corrections_len(trees, STRIP);
        par::for_each_strip(&mut strips, 1, STRIP * trees, |i, strip| {
            let corrections = &corrections[i * len..][..corrections_len(trees, strip[0].len())];
            let first = first + (i * STRIP / UNIT) as u128;
            punctured_strip(isa, streams, first, delta, corrections, strip[0]);
        });
    }
}

fn punctured_strip(
    isa: Isa,
    streams: &Streams,
    first: u128,
    delta: u128,
    corrections: &[u8],
    blocks: &mut [u128],
) {
    let mut scratch = Scratch::new(isa, streams, first);
    let (units, words) = (blocks.len() / UNIT, blocks.len() / 64);
    for tree in 0..streams.trees() {
        scratch.fold(isa, streams, tree, true, units);
    }
    let mut correction = [0; WORDS];
    for (tree, sent) in (1..).zip(corrections.chunks_exact(8 * words)) {
        bytemuck::cast_slice_mut(&mut correction[..words]).copy_from_slice(sent);
        let first = tree * streams.depth as usize;
        for row in first..ROWS.min(first + streams.depth as usize) {
            let mask = ((delta >> row & 1) as u64).wrapping_neg();
            add_masked(isa, &mut scratch.rows[row], &correction, mask);
        }
    }
    columns(isa, blocks, scratch.rows.as_flattened(), WORDS);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::ot::pprf::relabel;
    use crate::{Bits, Prg};

    /// Both ends, of which the sender's lacks the leaves of `delta`.
    fn ends(depth: u32, delta: u128) -> (Full, Punctured) {
        let trees = 128usize.div_ceil(depth as usize);
        let seeds: Vec<u64> = Prg::new([4; 16]).ring((2 * trees) << depth);
        let leaves: Vec<u128> = bytemuck::cast_slice(&seeds).to_vec();
        let mut moved = leaves.clone();
        for (i, tree) in moved.chunks_mut(1 << depth).enumerate() {
            let path = (delta >> (i as u32 * depth)) as u64 & ((1 << depth) - 1);
            relabel(tree, path);
            tree[0] = 0;
        }
        (
            Full::new(depth, leaves),
            Punctured::new(depth, moved, delta),
        )
    }

    type Ots = (Vec<u128>, Vec<u64>, Vec<u128>);

    fn ots(full: &mut Full, punctured: &mut Punctured, n: usize) -> Ots {
        let (mut t, mut b, mut q) = (vec![0; n], vec![0; n / 64], vec![0; n]);
        let mut corrections = vec![0; corrections_len(full.0.trees(), n)];
        full.extend(&mut t, &mut b, &mut corrections);
        punctured.extend(&corrections, &mut q);
        (t, b, q)
    }

    #[test]
    fn blocks_differ_by_delta_where_the_choice_is_one() {
        let delta = 0x0123_4567_89ab_cdef_1111_2222_3333_4445;
        for depth in 1..=8 {
            for n in [128, 4096, 4096 + 640, 3 * 4096] {
                let (t, b, q) = same_everywhere(|| {
                    let (mut full, mut punctured) = ends(depth, delta);
                    ots(&mut full, &mut punctured, 256);
                    ots(&mut full, &mut punctured, n)
                });
                let bits = Bits::from_words(n, b);
                for i in 0..n {
                    let expected = q[i] ^ if bits.get(i) { delta } else { 0 };
                    assert!(t[i] == expected, "depth {depth}: OT {i} of {n}");
                }
            }
        }
    }

    /// `u` and `v` as documented, bit by bit.
    #[test]
    fn the_receivers_ends_are_their_definition() {
        let (depth, n) = (6, 256);
        let (mut full, _) = ends(depth, 0);
        let trees = full.0.trees();
        let streams: Vec<Vec<u64>> = Prg::new([4; 16])
            .ring::<u64>((2 * trees) << depth)
            .chunks(2)
            .map(|seed| Prg::new(bytemuck::cast_slice(seed).try_into().unwrap()).ring(n / 64))
            .collect();
        let (mut t, mut b, mut sent) = (vec![0; n], vec![0; n / 64], vec![0; 21 * n / 8]);
        full.extend(&mut t, &mut b, &mut sent);
        let sent: Vec<u64> = bytemuck::pod_collect_to_vec(&sent);
        for i in 0..n {
            let bit = |words: &[u64]| words[i / 64] >> (i % 64) & 1;
            for (tree, leaves) in streams.chunks(1 << depth).enumerate() {
                let (mut u, mut v) = (0, 0);
                for (x, leaf) in leaves.iter().enumerate() {
                    u ^= bit(leaf);
                    v ^= x as u128 * bit(leaf) as u128;
                }
                let at = tree as u32 * depth;
                let width = depth.min(128 - at);
                assert_eq!(t[i] >> at & ((1 << width) - 1), v & ((1 << width) - 1));
                let correction = if tree > 0 {
                    bit(&sent[(tree - 1) * n / 64..])
                } else {
                    0
                };
                assert_eq!(correction, if tree > 0 { u ^ bit(&b) } else { 0 });
                assert!(tree > 0 || u == bit(&b));
            }
        }
    }

    #[test]
    fn streams_do_not_restart() {
        let (mut full, mut punctured) = ends(4, 5);
        let (first, ..) = ots(&mut full, &mut punctured, 4096);
        let (second, ..) = ots(&mut full, &mut punctured, 4096);
        let all: std::collections::HashSet<_> = first.iter().chain(&second).collect();
        assert_eq!(all.len(), 2 * 4096);
    }
}
