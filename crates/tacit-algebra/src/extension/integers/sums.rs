//! Arithmetic modulo the two primes, and sums of integers that are reduced only once.

use super::Integer;
use crate::isa::{self, simd};

/// Bits of the primes.
pub const BITS: u32 = 61;
/// The primes are so much less than 2^61.
const BELOW: [u64; 2] = [1, 31];
pub const PRIMES: [u64; 2] = [(1 << BITS) - BELOW[0], (1 << BITS) - BELOW[1]];
/// `2^128` modulo the primes.
const TOP: [u64; 2] = [(BELOW[0] * BELOW[0]) << 6, (BELOW[1] * BELOW[1]) << 6];
/// Products of two residues whose sum 128 bits hold.
pub const TERMS: usize = 32;
/// Products of a residue and a word whose sum 128 bits hold, and residues whose sum 64 bits hold.
pub const PARTS: usize = 7;
/// Bits of a word.
pub const STRIP: usize = u64::BITS as usize;
/// Sums that are taken side by side.
const LANES: usize = 8;

/// `a mod p` of less than twice the prime.
#[inline(always)]
pub fn once(a: u64, p: usize) -> u64 {
    let less = a.wrapping_sub(PRIMES[p]);
    // The top bit says that the prime was larger.
    less.wrapping_add(PRIMES[p] & (less >> 63).wrapping_neg())
}

/// `a mod p` of a word.
#[inline(always)]
pub fn small(a: u64, p: usize) -> u64 {
    once((a & (u64::MAX >> 3)) + (a >> BITS) * BELOW[p], p)
}

/// `a mod p`.
#[inline(always)]
pub fn reduced(a: u128, p: usize) -> u64 {
    const LOW: u128 = (1 << BITS) - 1;
    let below = u128::from(BELOW[p]);
    let folded = (a & LOW) + (a >> BITS) * below;
    let folded = (folded & LOW) + (folded >> BITS) * below;
    small(folded as u64, p)
}

#[inline(always)]
pub fn times(a: u64, b: u64, p: usize) -> u64 {
    reduced(u128::from(a) * u128::from(b), p)
}

/// `sum a_g b_g mod p`.
pub fn dot_of(a: &[u64], b: &[u64], p: usize) -> u64 {
    let chunks = a.chunks(TERMS).zip(b.chunks(TERMS));
    let sums = chunks.map(|(a, b)| {
        let products = a
            .iter()
            .zip(b)
            .map(|(a, b)| u128::from(*a) * u128::from(*b));
        reduced(products.sum(), p)
    });
    sums.fold(0, |sum, more| once(sum + more, p))
}

/// A sum of products of words.
#[derive(Clone, Copy)]
pub struct Wide {
    low: u128,
    /// In units of `2^128`.
    high: u64,
}

impl Wide {
    /// `sum a_g b_g`.
    pub fn dot(a: &[u64], b: &[u64]) -> Self {
        let (mut low, mut high) = (0u128, 0);
        for (a, b) in a.iter().zip(b) {
            let (sum, carry) = low.overflowing_add(u128::from(*a) * u128::from(*b));
            low = sum;
            high += u64::from(carry);
        }
        Wide { low, high }
    }

    /// The sum modulo a prime.
    pub fn residue(self, p: usize) -> u64 {
        once(reduced(self.low, p) + times(self.high, TOP[p], p), p)
    }
}

/// Vectors that are added up, each times an element: words, and bits times another element; either may be missing.
pub struct Part<'a> {
    pub words: &'a [u64],
    pub factor: Integer,
    pub bits: &'a [u64],
    pub factor_of_bits: Integer,
}

/// All ones where bit `i` of a word is set.
#[inline(always)]
pub fn mask(word: u64, i: usize) -> u64 {
    (word >> i & 1).wrapping_neg()
}

/// The sums of those numbers below 2^61 whose bits are set.
#[inline(always)]
fn masked<const N: usize>(a: [&[u64]; N], bits: &[u64]) -> [u128; N] {
    let a = a.map(|a| &a.as_chunks::<STRIP>().0[..bits.len()]);
    let (mut low, mut high) = ([[0u64; LANES]; N], [[0u64; LANES]; N]);
    for (at, word) in bits.iter().enumerate() {
        // Eight numbers of every lane.
        let mut sums = [[0u64; LANES]; N];
        for first in (0..STRIP).step_by(LANES) {
            let masks: [u64; LANES] = std::array::from_fn(|lane| mask(*word, first + lane));
            for (sums, a) in sums.iter_mut().zip(&a) {
                let numbers = a[at][first..].iter().zip(&masks);
                for (sum, (a, mask)) in sums.iter_mut().zip(numbers) {
                    *sum += a & mask;
                }
            }
        }
        for (sums, halves) in sums.iter().zip(low.iter_mut().zip(&mut high)) {
            for (sum, (low, high)) in sums.iter().zip(halves.0.iter_mut().zip(halves.1)) {
                *low += sum & u64::from(u32::MAX);
                *high += sum >> 32;
            }
        }
    }
    let total = |lanes: [u64; LANES]| lanes.iter().map(|sum| u128::from(*sum)).sum::<u128>();
    std::array::from_fn(|n| total(low[n]) + (total(high[n]) << 32))
}

simd! {
    fn sum_masked(a: &[u64], bits: &[u64]) -> u128 {
        masked([a], bits)[0]
    }

    fn sums_masked(a: [&[u64]; 2], bits: &[u64]) -> [u128; 2] {
        masked(a, bits)
    }

    fn add_parts(out: &mut [Integer], parts: &[Part<'_>]) {
        for (at, out) in out.chunks_mut(STRIP).enumerate() {
            for p in [0, 1] {
                let mut of_bits = [0u64; STRIP];
                for part in parts {
                    let (word, factor) = (part.bits.get(at).copied().unwrap_or(0), part.factor_of_bits.0[p]);
                    for (i, sum) in of_bits.iter_mut().enumerate() {
                        *sum += factor & mask(word, i);
                    }
                }
                for (i, (out, of_bits)) in out.iter_mut().zip(of_bits).enumerate() {
                    let mut sum = u128::from(of_bits);
                    for part in parts {
                        if let Some(word) = part.words.get(at * STRIP + i) {
                            sum += u128::from(part.factor.0[p]) * u128::from(*word);
                        }
                    }
                    out.0[p] = once(out.0[p] + reduced(sum, p), p);
                }
            }
        }
    }
}

/// The sum of those numbers below 2^61 whose bits are set; of each word of bits there are 64 numbers.
pub fn sum_where(a: &[u64], bits: &[u64]) -> u128 {
    sum_masked(isa::current(), a, bits)
}

/// [`sum_where`] of two vectors.
pub fn sums_where(a: [&[u64]; 2], bits: &[u64]) -> [u128; 2] {
    sums_masked(isa::current(), a, bits)
}

/// `out += ` the sum of parts, at most [`PARTS`].
pub fn add_combined(out: &mut [Integer], parts: &[Part<'_>]) {
    assert!(parts.len() <= PARTS);
    add_parts(isa::current(), out, parts);
}
