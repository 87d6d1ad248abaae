//! Loops over words of packed bits.

use std::ops::Range;

use crate::isa::{self, simd};
use crate::{Ring, par};

/// The words that `len` bits take.
pub(crate) fn words_for(len: usize) -> usize {
    len.div_ceil(64)
}

/// Adds bits `start .. start + len` of some words to the `at` bits that `words` hold, whose unused bits are zero.
pub(crate) fn push_bits(
    words: &mut Vec<u64>,
    at: usize,
    more: &[u64],
    Range { mut start, end }: Range<usize>,
) {
    let used = at % 64;
    if let (1.., Some(last)) = (used, words.last_mut())
        && start < end
    {
        let len = (64 - used).min(end - start);
        *last |= word_from(more, start) << used;
        start += len;
        clean_tail(at + len, words);
    }
    let (more, shift) = (&more[start.min(end) / 64..], start % 64);
    let count = words_for(end - start);
    if shift == 0 {
        words.extend_from_slice(&more[..count]);
    } else {
        let pairs = count.min(more.len() - 1);
        push_shifted(isa::current(), words, &more[..=pairs], shift);
        words.extend(more[pairs..count].iter().map(|word| word >> shift));
    }
    clean_tail(end - start, words);
}

/// 64 bits from the `start`-th on, and zeros where there are none.
fn word_from(words: &[u64], start: usize) -> u64 {
    let (at, shift) = (start / 64, start % 64);
    match (shift, words.get(at + 1)) {
        (1.., Some(next)) => words[at] >> shift | next << (64 - shift),
        _ => words[at] >> shift,
    }
}

/// Clears the unused bits of the last word of a run of `len` bits.
pub(crate) fn clean_tail(len: usize, words: &mut [u64]) {
    if let (used @ 1.., Some(last)) = (len % 64, words.last_mut()) {
        *last &= (1 << used) - 1;
    }
}

/// Byte `j` of the result is bit `j` of `bits`.
#[inline(always)]
pub(crate) fn spread(bits: u8) -> u64 {
    let picked = (bits as u64).wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    ((picked + 0x7f7f_7f7f_7f7f_7f7f) >> 7) & 0x0101_0101_0101_0101
}

/// Bit `j` of the result is the lowest bit of byte `j`; the other bits must be zero.
#[inline(always)]
pub(crate) fn squeeze(bytes: u64) -> u8 {
    (bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

simd! {
    /// Adds words that begin within those given, of which the last one only ends a word.
    fn push_shifted(words: &mut Vec<u64>, from: &[u64], shift: usize) {
        let pairs = from.iter().zip(&from[1..]);
        words.extend(pairs.map(|(low, high)| low >> shift | high << (64 - shift)));
    }

    /// `a ^= x y`.
    pub(crate) fn xor_and_to(a: &mut [u64], x: &[u64], y: &[u64]) {
        for (a, (x, y)) in a.iter_mut().zip(x.iter().zip(y)) {
            *a ^= x & y;
        }
    }

    pub(crate) fn xor_to(a: &mut [u64], b: &[u64]) {
        for (a, b) in a.iter_mut().zip(b) {
            *a ^= b;
        }
    }

    pub(crate) fn and_to(a: &mut [u64], b: &[u64]) {
        for (a, b) in a.iter_mut().zip(b) {
            *a &= b;
        }
    }

    pub(crate) fn and_product_to(acc: &mut [u64], x0: &[u64], x1: &[u64], y0: &[u64], y1: &[u64]) {
        let x = x0.iter().zip(x1);
        let y = y0.iter().zip(y1);
        for ((acc, (x0, x1)), (y0, y1)) in acc.iter_mut().zip(x).zip(y) {
            *acc ^= (x0 & (y0 ^ y1)) ^ (x1 & y0);
        }
    }

    pub(crate) fn expand_bytes_into(out: &mut [u8], words: &[u64]) {
        for (out, word) in out.chunks_mut(64).zip(words) {
            let mut tile = [0; 64];
            for (tile, byte) in tile.chunks_exact_mut(8).zip(word.to_le_bytes()) {
                tile.copy_from_slice(&spread(byte).to_le_bytes());
            }
            out.copy_from_slice(&tile[..out.len()]);
        }
    }

    pub(crate) fn expand_ring_into<R: Ring>(out: &mut [R], words: &[u64]) {
        for (out, word) in out.chunks_mut(64).zip(words) {
            for (j, o) in out.iter_mut().enumerate() {
                *o = R::from_u64((word >> j) & 1);
            }
        }
    }

    /// Top bits of `a`, 64 elements per word.
    pub(crate) fn top_bits<R: Ring>(words: &mut [u64], a: &[R]) {
        for (word, a) in words.iter_mut().zip(a.chunks(64)) {
            *word = 0;
            for (j, a) in a.iter().enumerate() {
                *word |= a.shr(R::BITS - 1).to_u64() << j;
            }
        }
    }
}

/// `acc ^= x0 y0 ^ x1 y0 ^ x0 y1` on words of packed bits: the local part of a replicated AND.
pub fn and_product_words(acc: &mut [u64], x0: &[u64], x1: &[u64], y0: &[u64], y1: &[u64]) {
    assert!([x0, x1, y0, y1].iter().all(|v| v.len() == acc.len()));
    let isa = isa::current();
    par::for_each(acc, |s, acc| {
        let e = s + acc.len();
        and_product_to(isa, acc, &x0[s..e], &x1[s..e], &y0[s..e], &y1[s..e])
    });
}
