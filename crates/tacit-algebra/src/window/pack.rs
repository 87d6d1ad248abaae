//! Entries as a string of bits.
//!
//! Entry `i` of a strip is bits `i b .. (i + 1) b` of its little-endian bytes, where `b` is
//! [`super::Window::entry_bits`]; unused bits of the last byte are zero. Position `q` of element
//! `j` of a strip of `n` is entry `q n + j`. The strips of a message, of
//! [`super::STRIP`] elements but for the last, follow each other: each of these is whole bytes.

use super::lane::Lane;
use crate::isa::{Isa, simd};

/// Entries, a few in each word: bytes can be cast to any lane.
pub(super) type Words = Vec<u64>;

/// Lanes of a word.
const fn lanes<L: Lane>() -> usize {
    u64::BITS as usize / L::BITS as usize
}

/// Words that hold `entries` lanes, the rest of the last one zero.
pub(super) fn words_for<L: Lane>(entries: usize) -> Words {
    vec![0; entries.div_ceil(lanes::<L>())]
}

/// Moves the low `bits` bits of the lanes of a word together.
#[inline(always)]
fn close_up<L: Lane>(x: u64, bits: u32) -> u64 {
    const PAIRS: u64 = 0x0000_ffff_0000_ffff;
    const HALF: u64 = 0xffff_ffff;
    let pair = |x: u64, bits: u32| (x & HALF) | (x >> 32) << bits;
    match L::BITS {
        16 => pair((x & PAIRS) | (x >> 16 & PAIRS) << bits, 2 * bits),
        32 => pair(x, bits),
        _ => x,
    }
}

/// The inverse of [`close_up`].
#[inline(always)]
fn open_up<L: Lane>(x: u64, bits: u32) -> u64 {
    let low = |bits: u32| (1u64 << bits) - 1;
    let part = |x: u64, bits: u32| (x & low(bits)) | x >> bits << 32;
    match L::BITS {
        16 => {
            let (x, each) = (part(x, 2 * bits), low(bits) << 32 | low(bits));
            (x & each) | (x >> bits & each) << 16
        }
        32 => part(x, bits),
        _ => x,
    }
}

simd! {
    fn close_all<L: Lane>(words: &mut [u64], bits: u32) {
        for word in words {
            *word = close_up::<L>(*word, bits);
        }
    }

    fn open_all<L: Lane>(words: &mut [u64], bits: u32) {
        for word in words {
            *word = open_up::<L>(*word, bits);
        }
    }
}

/// Writes entries of `bits` bits as a string; the bytes are as many as these take.
pub(super) fn pack<L: Lane>(isa: Isa, out: &mut [u8], mut words: Words, bits: u32) {
    close_all::<L>(isa, &mut words, bits);
    let (width, mut fill, mut acc) = (bits * lanes::<L>() as u32, 0, 0);
    let (whole, tail) = out.as_chunks_mut::<8>();
    let (mut whole, mut tail) = (whole.iter_mut(), Some(tail));
    let mut put = |acc: u64| match whole.next() {
        Some(part) => *part = acc.to_le_bytes(),
        // What else is put are the unused lanes of the last word.
        None => {
            if let Some(tail) = tail.take() {
                tail.copy_from_slice(&acc.to_le_bytes()[..tail.len()]);
            }
        }
    };
    for word in words {
        acc |= word << fill;
        fill += width;
        if fill >= 64 {
            put(acc);
            fill -= 64;
            acc = word >> (width - fill);
        }
    }
    put(acc);
}

/// The inverse of [`pack`] for `entries` entries. Reads any bytes: what lies behind the entries in
/// the last byte is the caller's business.
pub(super) fn unpack<L: Lane>(isa: Isa, bytes: &[u8], entries: usize, bits: u32) -> Words {
    let width = bits as usize * lanes::<L>();
    let mut padded = vec![0; bytes.len() + 16];
    padded[..bytes.len()].copy_from_slice(bytes);
    let mut words = words_for::<L>(entries);
    let mut at = 0;
    for word in &mut words {
        // A word takes up to 62 bits, of 9 bytes.
        let (low, high) = padded[at / 8..][..9].split_at(8);
        let low = u64::from_le_bytes(low.try_into().unwrap_or_default()) >> (at % 8);
        let high = (high[0] as u64) << 1 << (63 - at % 8);
        *word = (low | high) & ((1 << width) - 1);
        at += width;
    }
    open_all::<L>(isa, &mut words, bits);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use crate::isa::{self, same_everywhere};

    fn string<L: Lane>(bits: u32) {
        for n in [0, 1, 3, 4, 5, 8, 63, 64, 513] {
            let mut words = words_for::<L>(n);
            let mut prg = Prg::new([bits as u8; 16]);
            let lanes: &mut [L] = bytemuck::cast_slice_mut(&mut words);
            for (lane, v) in lanes[..n].iter_mut().zip(prg.ring::<u64>(n)) {
                *lane = L::from_u64(v >> (64 - bits));
            }
            let lanes = lanes.to_vec();
            let packed = same_everywhere(|| {
                let mut out = vec![0xff; (n * bits as usize).div_ceil(8)];
                pack::<L>(isa::current(), &mut out, words.clone(), bits);
                out
            });
            let bit = |i: usize| (packed[i / 8] >> (i % 8) & 1) as u64;
            let b = bits as usize;
            for (j, lane) in lanes[..n].iter().enumerate() {
                let read: u64 = (0..b).map(|i| bit(j * b + i) << i).sum();
                assert_eq!(read, lane.to_u64(), "{j} of {n}, {bits} bits");
            }
            assert!((n * b..packed.len() * 8).all(|i| bit(i) == 0));
            let read = same_everywhere(|| unpack::<L>(isa::current(), &packed, n, bits));
            assert!(read == words, "{n}, {bits} bits");
        }
    }

    #[test]
    fn packing_is_a_bit_string() {
        (2..=13).for_each(string::<u16>);
        (14..=31).for_each(string::<u32>);
        (32..=34).for_each(string::<u64>);
    }
}
