//! Products of bits at one side with numbers at the other, out of random correlated OTs.
//!
//! For choice `j`, `k0` and `k1` are the hashes of the sender's blocks for `c = 0` and `c = 1`;
//! the sender sends `k0 + number - k1` and keeps `-k0`, the receiver with `c` gets `k0 + c number`.
//! A hash gives pads for several neighbouring lanes.

use std::ops::Range;

use rayon::prelude::*;

use super::pack::{pack_into, packed_len, unpack_into};
use super::{Block, Hash, Transfers};
use crate::Bits;
use crate::isa::{self, Isa, simd};

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

/// Choices of which messages are whole bytes, whatever the width.
const WORD: usize = 64;
/// Pads that are worked on at once, so that they stay in the first-level cache.
const TOGETHER: usize = 256;

impl Products {
    /// Bytes of the messages of `n` choices.
    pub fn wire_len(&self, n: usize) -> usize {
        packed_len(n * self.lanes, self.bits)
    }

    /// Lanes that the pads of one block serve.
    fn per_block(&self) -> usize {
        (128 / self.bits.next_power_of_two().max(8)) as usize
    }

    /// The pads of every choice, for its block plus each entry of `plus`: a lane of the hash makes
    /// those of `per_block` of the lanes here.
    fn pads<const C: usize>(
        &self,
        (isa, hash): (Isa, &Hash),
        (of, blocks): (Transfers, &[Block]),
        plus: [Block; C],
        Pads { hashed, out }: &mut Pads<C>,
    ) {
        let (each, hashed) = (self.per_block(), &mut hashed[..blocks.len()]);
        let width = 128 / each as u32;
        for (lane, start) in (0..self.lanes).step_by(each).enumerate() {
            for (hashed, block) in hashed.iter_mut().zip(blocks) {
                *hashed = plus.map(|plus| block ^ plus);
            }
            hash.lane(isa, of, lane as u64, C, hashed.as_flattened_mut());
            for (c, out) in out.iter_mut().enumerate() {
                let out = &mut out[..blocks.len() * self.lanes];
                if self.lanes == 1 {
                    low_words(isa, &hashed.as_flattened()[c..], C, out);
                    continue;
                }
                let lanes = start..(start + each).min(self.lanes);
                for (out, hashed) in out.chunks_exact_mut(self.lanes).zip(&*hashed) {
                    for (pad, i) in out[lanes.clone()].iter_mut().zip(0..) {
                        *pad = (hashed[c] >> (i * width)) as u64;
                    }
                }
            }
        }
    }

    /// Choices for one task: whole strips.
    fn task(&self) -> usize {
        ((1 << 14) / (self.lanes * self.strip())).max(1) * self.strip()
    }

    /// Choices that are worked on at once.
    fn strip(&self) -> usize {
        (TOGETHER / (self.lanes * WORD)).max(1) * WORD
    }

    /// The outputs that choices contribute to.
    fn outputs(&self, choices: &Range<usize>) -> Range<usize> {
        choices.start / self.fold * self.lanes..choices.end.div_ceil(self.fold) * self.lanes
    }

    /// Adds the values of choices to the sums of the outputs of `all` that they contribute to.
    fn add_up(
        &self,
        isa: Isa,
        (all, choices): (&Range<usize>, Range<usize>),
        values: &[u64],
        sums: &mut [u64],
    ) {
        let origin = self.outputs(all).start;
        let sums = &mut sums[self.outputs(&choices).start - origin..];
        if self.fold == 1 {
            return add_to(isa, &mut sums[..values.len()], values);
        }
        // The first output may have had choices before these.
        let first = (self.fold - choices.start % self.fold).min(choices.len()) * self.lanes;
        let (first, rest) = values.split_at(first);
        let outputs = std::iter::once(first).chain(rest.chunks(self.fold * self.lanes));
        for (values, sums) in outputs.zip(sums.chunks_exact_mut(self.lanes)) {
            for values in values.chunks_exact(self.lanes) {
                add_to(isa, sums, values);
            }
        }
    }
}

/// The pads of a strip for `C` blocks of each choice, and the blocks that they are hashed in.
struct Pads<const C: usize> {
    hashed: Vec<[Block; C]>,
    out: [Vec<u64>; C],
}

impl<const C: usize> Pads<C> {
    fn new(sizes: &Products) -> Self {
        Pads {
            hashed: vec![[0; C]; sizes.strip()],
            out: [(); C].map(|()| vec![0; sizes.strip() * sizes.lanes]),
        }
    }
}

simd! {
    /// `q`, plus `delta` where `bits` has a 1.
    fn flip(q: &[Block], bits: &[u64], delta: Block, out: &mut [Block]) {
        for ((q, out), word) in q.chunks(WORD).zip(out.chunks_mut(WORD)).zip(bits) {
            for ((q, out), i) in q.iter().zip(out).zip(0..) {
                *out = q ^ (delta & Block::from(word >> i & 1).wrapping_neg());
            }
        }
    }

    /// The low halves of every `step`th block.
    fn low_words(blocks: &[Block], step: usize, out: &mut [u64]) {
        for (out, block) in out.iter_mut().zip(blocks.iter().step_by(step)) {
            *out = *block as u64;
        }
    }

    fn add_to(sums: &mut [u64], values: &[u64]) {
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum = sum.wrapping_add(*value);
        }
    }

    /// `k0 + number - k1` in the place of `k1`, and `-k0` in the place of `k0`.
    fn hide(numbers: &[u64], k0: &mut [u64], k1: &mut [u64], mask: u64) {
        for ((number, k0), k1) in numbers.iter().zip(k0).zip(k1) {
            *k1 = k0.wrapping_add(*number).wrapping_sub(*k1) & mask;
            *k0 = k0.wrapping_neg();
        }
    }

    /// `pad + c message` in the place of `pad`, `c` the bit of the choice.
    fn reveal(messages: &[u64], choices: &[u64], lanes: usize, pads: &mut [u64]) {
        let strips = messages.chunks(WORD * lanes).zip(pads.chunks_mut(WORD * lanes));
        for ((messages, pads), word) in strips.zip(choices) {
            if lanes == 1 {
                for ((message, pad), i) in messages.iter().zip(pads).zip(0..) {
                    *pad = pad.wrapping_add(message & (word >> i & 1).wrapping_neg());
                }
                continue;
            }
            let strips = messages.chunks_exact(lanes).zip(pads.chunks_exact_mut(lanes));
            for ((messages, pads), i) in strips.zip(0..) {
                let chosen = (word >> i & 1).wrapping_neg();
                for (message, pad) in messages.iter().zip(pads) {
                    *pad = pad.wrapping_add(message & chosen);
                }
            }
        }
    }
}

/// The sender's messages and shares for the choices from number `start` on: one for each block of
/// `q`. Choice `j` multiplies row `j` modulo the number of `rows`; the shares are of the outputs
/// that the choices contribute to. `of` are the OTs, `corrections` what the receiver sent for these choices.
pub fn correlate(
    sizes: &Products,
    (hash, delta): (&Hash, Block),
    (of, q): (Transfers, &[Block]),
    (start, rows): (usize, &[u64]),
    corrections: &Bits,
) -> (Vec<u8>, Vec<u64>) {
    let isa = isa::current();
    let mask = u64::MAX >> (64 - sizes.bits);
    let (lanes, count) = (sizes.lanes, rows.len() / sizes.lanes);
    let mut wire = vec![0; sizes.wire_len(q.len())];
    let (task, strip) = (sizes.task(), sizes.strip());
    let parts: Vec<_> = wire
        .par_chunks_mut(sizes.wire_len(task))
        .zip(q.par_chunks(task))
        .enumerate()
        .map(|(i, (wire, q))| {
            let all = start + i * task..start + i * task + q.len();
            let mut sums = vec![0; sizes.outputs(&all).len()];
            let (mut pads, mut blocks) = (Pads::<2>::new(sizes), vec![0; strip]);
            let strips = wire.chunks_mut(sizes.wire_len(strip)).zip(q.chunks(strip));
            for ((wire, q), s) in strips.zip((i * task..).step_by(strip)) {
                let (of, blocks) = (of.from(s), &mut blocks[..q.len()]);
                flip(isa, q, &corrections.words()[s / WORD..], delta, blocks);
                sizes.pads((isa, hash), (of, blocks), [0, delta], &mut pads);
                let [k0, k1] = pads.out.each_mut().map(|out| &mut out[..q.len() * lanes]);
                let (mut at, mut row) = (0, (start + s) % count);
                while at < q.len() {
                    let run = (count - row).min(q.len() - at);
                    let places = at * lanes..(at + run) * lanes;
                    let numbers = &rows[row * lanes..(row + run) * lanes];
                    hide(isa, numbers, &mut k0[places.clone()], &mut k1[places], mask);
                    (at, row) = (at + run, 0);
                }
                pack_into(isa, k1, sizes.bits, wire);
                sizes.add_up(isa, (&all, start + s..start + s + q.len()), k0, &mut sums);
            }
            (all, sums)
        })
        .collect();
    (wire, sizes.join(start..start + q.len(), parts))
}

/// The receiver's shares for the choices from number `start` on, a multiple of 64, as of
/// [`correlate`].
pub fn correlated(
    sizes: &Products,
    hash: &Hash,
    (of, t): (Transfers, &[Block]),
    (start, choices): (usize, &Bits),
    wire: &[u8],
) -> Vec<u64> {
    let isa = isa::current();
    let lanes = sizes.lanes;
    let (task, strip) = (sizes.task(), sizes.strip());
    let parts: Vec<_> = t
        .par_chunks(task)
        .zip(wire.par_chunks(sizes.wire_len(task)))
        .enumerate()
        .map(|(i, (t, wire))| {
            let all = start + i * task..start + i * task + t.len();
            let mut sums = vec![0; sizes.outputs(&all).len()];
            let (mut pads, mut messages) = (Pads::<1>::new(sizes), vec![0; strip * lanes]);
            let strips = wire.chunks(sizes.wire_len(strip)).zip(t.chunks(strip));
            for ((wire, t), s) in strips.zip((i * task..).step_by(strip)) {
                sizes.pads((isa, hash), (of.from(s), t), [0], &mut pads);
                let pads = &mut pads.out[0][..t.len() * lanes];
                let messages = &mut messages[..t.len() * lanes];
                unpack_into(isa, wire, sizes.bits, messages);
                let choices = &choices.words()[(start + s) / WORD..];
                reveal(isa, messages, choices, lanes, pads);
                sizes.add_up(isa, (&all, start + s..start + s + t.len()), pads, &mut sums);
            }
            (all, sums)
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
            let hash = Hash::new([1; 16]);
            let corrections = random.xor(&choices);
            let of = Transfers::new(1, 1, 3);
            let shares = same_everywhere(|| {
                let (wire, ours) =
                    correlate(&sizes, (&hash, delta), (of, &q), (0, &rows), &corrections);
                (
                    correlated(&sizes, &hash, (of, &t), (0, &choices), &wire),
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
