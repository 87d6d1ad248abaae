//! Products of bits at one party with numbers at the other, out of random correlated OTs.
//!
//! For choice `j`, `k0` and `k1` are the hashes of the sender's blocks for `c = 0` and `c = 1`;
//! the sender sends `k0 + number - k1` and keeps `-k0`, the receiver with `c` gets `k0 + c number`.
//! A hash gives pads for several neighbouring lanes.

use std::ops::Range;

use rayon::prelude::*;

use super::gate::Multiples;
use super::pack::{pack_into, packed_len, unpack_into};
use super::{Block, Hash};
use crate::Bits;
use crate::isa::{self, simd};

/// The sizes of a batch of products (see [`correlate`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Products {
    /// The width of the products, 1 to 64.
    pub bits: u32,
    /// Numbers that one choice bit multiplies.
    pub lanes: usize,
    /// Neighbouring choices whose products are summed.
    pub fold: usize,
}

/// Choices that are worked on at once: whatever the width their messages are whole bytes.
const STRIP: usize = 64;

impl Products {
    /// Bytes of the messages of `n` choices.
    pub fn wire_len(&self, n: usize) -> usize {
        packed_len(n * self.lanes, self.bits)
    }

    /// Lanes that the pads of one block serve.
    fn per_block(&self) -> usize {
        (128 / self.bits.next_power_of_two().max(8)) as usize
    }

    fn blocks(&self) -> usize {
        self.lanes.div_ceil(self.per_block())
    }

    /// The pads of every choice: block `b` of choice `j` is the hash of `blocks[j]` under
    /// `first + j` and `b`.
    fn pads(&self, hash: &Hash, first: u64, blocks: impl Iterator<Item = Block>, out: &mut [u64]) {
        let per_choice = self.blocks();
        let mut hashed: Vec<Block> = blocks
            .flat_map(|x| std::iter::repeat_n(x, per_choice))
            .collect();
        hash.all(&mut hashed, |i| {
            Block::from(first + (i / per_choice) as u64) | ((i % per_choice) as Block) << 64
        });
        let (each, width) = (self.per_block(), 128 / self.per_block() as u32);
        for (out, hashed) in out
            .chunks_exact_mut(self.lanes)
            .zip(hashed.chunks_exact(per_choice))
        {
            for (out, block) in out.chunks_mut(each).zip(hashed) {
                for (i, pad) in (0..).zip(out) {
                    *pad = (block >> (i * width)) as u64;
                }
            }
        }
    }

    /// Choices for one task: whole strips.
    fn task(&self) -> usize {
        ((1 << 14) / (self.lanes * STRIP)).max(1) * STRIP
    }

    /// The outputs that choices contribute to.
    fn outputs(&self, choices: &Range<usize>) -> Range<usize> {
        choices.start / self.fold * self.lanes..choices.end.div_ceil(self.fold) * self.lanes
    }

    /// `sums[output of choice j] += values[j]`.
    fn add_up(&self, choices: &Range<usize>, values: &[u64], sums: &mut [u64]) {
        let origin = choices.start / self.fold;
        for (j, values) in choices.clone().zip(values.chunks_exact(self.lanes)) {
            let at = (j / self.fold - origin) * self.lanes;
            for (sum, value) in sums[at..at + self.lanes].iter_mut().zip(values) {
                *sum = sum.wrapping_add(*value);
            }
        }
    }
}

simd! {
    /// `k0 + number - k1` in the place of `k1`, and `-k0` in the place of `k0`.
    fn hide(numbers: &[u64], k0: &mut [u64], k1: &mut [u64], mask: u64) {
        for ((number, k0), k1) in numbers.iter().zip(k0).zip(k1) {
            *k1 = k0.wrapping_add(*number).wrapping_sub(*k1) & mask;
            *k0 = k0.wrapping_neg();
        }
    }

    /// `pad + c message` in the place of `pad`.
    fn reveal(messages: &[u64], c: u64, pad: &mut [u64]) {
        let chosen = c.wrapping_neg();
        for (message, pad) in messages.iter().zip(pad) {
            *pad = pad.wrapping_add(*message & chosen);
        }
    }
}

/// The sender's messages and shares for the choices from number `start` on: one for each block of
/// `q`. Choice `j` multiplies row `j` modulo the number of `rows`; the shares are of the outputs
/// that the choices contribute to. `first` is the number of the first OT of the direction,
/// `corrections` what the receiver sent for these choices.
pub fn correlate(
    sizes: &Products,
    (hash, multiples): (&Hash, &Multiples),
    (first, q): (u64, &[Block]),
    (start, rows): (usize, &[u64]),
    corrections: &Bits,
) -> (Vec<u8>, Vec<u64>) {
    let isa = isa::current();
    let mask = u64::MAX >> (64 - sizes.bits);
    let delta = multiples.delta();
    let (lanes, count) = (sizes.lanes, rows.len() / sizes.lanes);
    let mut wire = vec![0; sizes.wire_len(q.len())];
    let task = sizes.task();
    let parts: Vec<_> = wire
        .par_chunks_mut(sizes.wire_len(task))
        .zip(q.par_chunks(task))
        .enumerate()
        .map(|(i, (wire, q))| {
            let s = i * task;
            let flips =
                (s..s + q.len()).map(|j| (corrections.get(j) as u128).wrapping_neg() & delta);
            let zero: Vec<Block> = q.iter().zip(flips).map(|(q, flip)| q ^ flip).collect();
            let first = first + s as u64;
            let mut k0 = vec![0; q.len() * lanes];
            let mut k1 = k0.clone();
            sizes.pads(hash, first, zero.iter().copied(), &mut k0);
            sizes.pads(hash, first, zero.iter().map(|x| x ^ delta), &mut k1);
            let choices = start + s..start + s + q.len();
            for ((k0, k1), j) in k0
                .chunks_exact_mut(lanes)
                .zip(k1.chunks_exact_mut(lanes))
                .zip(choices.clone())
            {
                let row = j % count * lanes;
                hide(isa, &rows[row..row + lanes], k0, k1, mask);
            }
            pack_into(isa, &k1, sizes.bits, wire);
            let mut sums = vec![0; sizes.outputs(&choices).len()];
            sizes.add_up(&choices, &k0, &mut sums);
            (choices, sums)
        })
        .collect();
    (wire, sizes.join(start..start + q.len(), parts))
}

/// The receiver's shares for the choices from number `start` on, as of [`correlate`].
pub fn correlated(
    sizes: &Products,
    hash: &Hash,
    (first, t): (u64, &[Block]),
    (start, choices): (usize, &Bits),
    wire: &[u8],
) -> Vec<u64> {
    let isa = isa::current();
    let lanes = sizes.lanes;
    let task = sizes.task();
    let parts: Vec<_> = t
        .par_chunks(task)
        .zip(wire.par_chunks(sizes.wire_len(task)))
        .enumerate()
        .map(|(i, (t, wire))| {
            let s = i * task;
            let mut pads = vec![0; t.len() * lanes];
            sizes.pads(hash, first + s as u64, t.iter().copied(), &mut pads);
            let mut messages = vec![0; t.len() * lanes];
            unpack_into(isa, wire, sizes.bits, &mut messages);
            for ((pads, messages), j) in pads
                .chunks_exact_mut(lanes)
                .zip(messages.chunks_exact(lanes))
                .zip(s..)
            {
                reveal(isa, messages, choices.get(start + j) as u64, pads);
            }
            let range = start + s..start + s + t.len();
            let mut sums = vec![0; sizes.outputs(&range).len()];
            sizes.add_up(&range, &pads, &mut sums);
            (range, sums)
        })
        .collect();
    sizes.join(start..start + t.len(), parts)
}

impl Products {
    /// The sums of all parts, modulo `2^bits`.
    fn join(&self, choices: Range<usize>, parts: Vec<(Range<usize>, Vec<u64>)>) -> Vec<u64> {
        let outputs = self.outputs(&choices);
        let mut sums = vec![0u64; outputs.len()];
        for (part, values) in parts {
            let at = self.outputs(&part).start - outputs.start;
            crate::vec::add_assign(&mut sums[at..at + values.len()], &values);
        }
        crate::vec::low_bits(&sums, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use crate::isa::same_everywhere;

    #[test]
    fn shares_sum_to_the_products() {
        for (bits, lanes, fold, count, n) in [
            (1, 1, 1, 65, 65),
            (7, 1, 1, 1000, 1000),
            (16, 3, 5, 5, 200),
            (20, 10, 8, 4, 640),
            (64, 2, 3, 3, 33),
            (33, 130, 64, 64, 128),
            (12, 1, 7, 7, 70_000),
            (9, 4, 1, 1, 0),
        ] {
            let sizes = Products { bits, lanes, fold };
            let mut prg = Prg::new([9; 16]);
            let block = |prg: &mut Prg| {
                let w = prg.ring::<u64>(2);
                Block::from(w[0]) << 64 | Block::from(w[1])
            };
            let delta = block(&mut prg);
            let q: Vec<Block> = (0..n).map(|_| block(&mut prg)).collect();
            let (random, choices) = (prg.bits(n), prg.bits(n));
            let t: Vec<Block> = (0..n)
                .map(|i| q[i] ^ if random.get(i) { delta } else { 0 })
                .collect();
            let mask = u64::MAX >> (64 - bits);
            let rows: Vec<u64> = prg.ring(count * lanes);
            let (hash, multiples) = (Hash::new([1; 16]), Multiples::new(delta));
            let corrections = random.xor(&choices);
            let shares = same_everywhere(|| {
                let (wire, ours) = correlate(
                    &sizes,
                    (&hash, &multiples),
                    (3, &q),
                    (0, &rows),
                    &corrections,
                );
                (
                    correlated(&sizes, &hash, (3, &t), (0, &choices), &wire),
                    ours,
                )
            });
            let mut expected = vec![0u64; n / fold * lanes];
            for j in 0..n {
                for l in 0..lanes {
                    let product = rows[j % count * lanes + l] * choices.get(j) as u64;
                    let sum = &mut expected[j / fold * lanes + l];
                    *sum = sum.wrapping_add(product) & mask;
                }
            }
            let sums: Vec<u64> = shares
                .0
                .iter()
                .zip(&shares.1)
                .map(|(a, b)| a.wrapping_add(*b) & mask)
                .collect();
            assert!(sums == expected, "{sizes:?}");
        }
    }
}
