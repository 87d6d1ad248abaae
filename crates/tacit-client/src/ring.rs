//! Summands modulo a power of two.

use crate::{Refusal, random};

/// The bytes of a word of the ring.
pub fn width(bits: u32) -> usize {
    (bits / 8) as usize
}

/// The lowest bits of a word.
pub fn low(bits: u32, word: u64) -> u64 {
    word & (u64::MAX >> (64 - bits))
}

/// Words of so many bytes.
pub fn read(width: usize, bytes: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..width].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    bytes.chunks_exact(width).map(word).collect()
}

/// The bytes of words.
pub fn write(width: usize, words: &[u64]) -> Vec<u8> {
    let bytes = words.iter().flat_map(|word| {
        let bytes = word.to_le_bytes();
        (0..width).map(move |i| bytes[i])
    });
    bytes.collect()
}

/// The number that a word of so many bits stands for, in two's complement.
pub fn signed(bits: u32, word: u64) -> i64 {
    let unused = 64 - bits;
    (word << unused) as i64 >> unused
}

/// Two summands of each number: one is random, the other what is left.
pub fn split(bits: u32, values: &[i64], width: usize) -> Result<Vec<Vec<u8>>, Refusal> {
    let first = random::words(values.len(), width)?;
    let first: Vec<u64> = first.into_iter().map(|word| low(bits, word)).collect();
    let rest = values.iter().zip(&first);
    let rest: Vec<u64> = rest
        .map(|(&v, &word)| low(bits, (v as u64).wrapping_sub(word)))
        .collect();
    Ok([first, rest].map(|words| write(width, &words)).into())
}

/// The sums of summands.
pub fn join(bits: u32, width: usize, summands: &[&[u8]]) -> Vec<i64> {
    let all: Vec<Vec<u64>> = summands.iter().map(|bytes| read(width, bytes)).collect();
    let n = all.first().map_or(0, Vec::len);
    let sum = |i: usize| (all.iter()).fold(0u64, |sum, words| sum.wrapping_add(words[i]));
    (0..n).map(|i| signed(bits, low(bits, sum(i)))).collect()
}
