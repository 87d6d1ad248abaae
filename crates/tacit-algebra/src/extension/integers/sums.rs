//! Arithmetic modulo the two primes, and sums of integers that are reduced only once.

use super::{Extension, Integer};
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
/// Products of a residue and a word whose sum 128 bits hold beside as many residues, whose sum 64 bits hold,
/// and another one.
pub const PARTS: usize = 8;
/// Bits of a word.
pub const STRIP: usize = u64::BITS as usize;
/// Sums that are taken side by side.
const LANES: usize = 8;
/// Bits of the lower part of a [`Limbs`].
pub const LIMB: u32 = 62;
/// Numbers below `2^LIMB` whose sum a word holds.
const SUMMED: usize = 4;
/// Vectors of elements that are added up at a time.
const VECTORS: usize = 4;

/// `a mod p` of less than twice the prime.
#[inline(always)]
pub fn once(a: u64, p: usize) -> u64 {
    // Where the prime is larger, the difference wraps around and is the larger one.
    a.min(a.wrapping_sub(PRIMES[p]))
}

/// `a mod p` of a word.
#[inline(always)]
pub fn small(a: u64, p: usize) -> u64 {
    once((a & (u64::MAX >> 3)) + (a >> BITS) * BELOW[p], p)
}

/// `a mod p`.
#[inline(always)]
pub fn reduced(a: u128, p: usize) -> u64 {
    const LOW: u64 = (1 << BITS) - 1;
    let digit = |at: u32| (a >> (at * BITS)) as u64 & LOW;
    if BELOW[p] == 1 {
        // A word holds the sum of the digits.
        let folded = digit(0) + digit(1) + digit(2);
        return once((folded & LOW) + (folded >> BITS), p);
    }
    let below = u128::from(BELOW[p]);
    let folded = u128::from(digit(0))
        + u128::from(digit(1)) * below
        + u128::from(digit(2)) * (below * below);
    once(
        (folded as u64 & LOW) + (folded >> BITS) as u64 * BELOW[p],
        p,
    )
}

#[inline(always)]
pub fn times(a: u64, b: u64, p: usize) -> u64 {
    reduced(u128::from(a) * u128::from(b), p)
}

/// A sum of products of words.
#[derive(Clone, Copy)]
pub struct Wide {
    low: u128,
    /// The upper part of the number, in units of `2^128`.
    high: u64,
}

impl Wide {
    /// `sum a_g b_g`.
    pub fn dot(a: &[u64], b: &[u64]) -> Self {
        // Two sums side by side, neither of which waits for the other's carries.
        let middle = a.len().min(b.len()) / 2;
        let ((a, a_more), (b, b_more)) = (a.split_at(middle), b.split_at(middle));
        let mut sums = [(0u128, 0u64); 2];
        let mut add = |to: usize, a: u64, b: u64| {
            let (sum, carry) = sums[to].0.overflowing_add(u128::from(a) * u128::from(b));
            sums[to] = (sum, sums[to].1 + u64::from(carry));
        };
        for ((a, b), (c, d)) in a.iter().zip(b).zip(a_more.iter().zip(b_more)) {
            add(0, *a, *b);
            add(1, *c, *d);
        }
        for (a, b) in a_more.iter().zip(b_more).skip(middle) {
            add(0, *a, *b);
        }
        let (low, carry) = sums[0].0.overflowing_add(sums[1].0);
        let high = sums[0].1 + sums[1].1 + u64::from(carry);
        Wide { low, high }
    }

    /// The sum modulo a prime.
    pub fn residue(self, p: usize) -> u64 {
        once(reduced(self.low, p) + times(self.high, TOP[p], p), p)
    }
}

/// Words or bits that are added up times an element.
pub type Part<'a> = (&'a [u64], Integer);

/// Products of weights and words: `low + 2^LIMB high`, both below `2^LIMB`; zeros up to whole words of bits.
pub struct Limbs {
    pub low: Vec<u64>,
    pub high: Vec<u64>,
}

impl Limbs {
    /// The limbs of the sum of products of weights below `2^60` with words.
    pub fn of(w: &[u64], x: &[u64]) -> Self {
        let zeros = vec![0; w.len().next_multiple_of(STRIP)];
        let (mut low, mut high) = (zeros.clone(), zeros);
        limbs_to(isa::current(), &mut low, &mut high, w, x);
        Limbs { low, high }
    }

    /// What sums of both parts stand for, by their residues.
    pub fn joined(low: Integer, high: Integer) -> Integer {
        const UNIT: u64 = 1 << LIMB;
        Integer::by_primes(|p| once(low.0[p] + times(high.0[p], small(UNIT, p), p), p))
    }
}

/// All ones where bit `i` of a word is set.
#[inline(always)]
pub fn mask(word: u64, i: usize) -> u64 {
    (word >> i & 1).wrapping_neg()
}

/// The sums of the factors of those bits that are set, not reduced, for every bit of one word of each of at most
/// [`PARTS`] vectors.
#[inline(always)]
fn sums_of_bits(bits: &[Part<'_>], at: usize) -> [[u64; STRIP]; 2] {
    let mut all = [[0u64; STRIP]; 2];
    for first in (0..STRIP).step_by(LANES) {
        let mut sums = [[0u64; LANES]; 2];
        for (bits, factor) in bits {
            let word = bits[at] >> first;
            let masks: [u64; LANES] = std::array::from_fn(|lane| mask(word, lane));
            for (sums, factor) in sums.iter_mut().zip(factor.0) {
                let sums = sums.iter_mut().zip(masks);
                sums.for_each(|(sum, mask)| *sum += factor & mask);
            }
        }
        for (all, sums) in all.iter_mut().zip(sums) {
            all[first..first + LANES].copy_from_slice(&sums);
        }
    }
    all
}

/// The sums of those numbers below `2^LIMB` whose bits are set.
#[inline(always)]
fn masked<const N: usize>(a: [&[u64]; N], bits: &[u64]) -> [u128; N] {
    let a = a.map(|a| &a.as_chunks::<STRIP>().0[..bits.len()]);
    let (mut low, mut high) = ([[0u64; LANES]; N], [[0u64; LANES]; N]);
    for (at, word) in bits.iter().enumerate() {
        for first in (0..STRIP).step_by(SUMMED * LANES) {
            let mut sums = [[0u64; LANES]; N];
            for first in (first..first + SUMMED * LANES).step_by(LANES) {
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

    fn limbs_to(low: &mut [u64], high: &mut [u64], w: &[u64], x: &[u64]) {
        for ((low, high), (w, x)) in low.iter_mut().zip(high).zip(w.iter().zip(x)) {
            let product = u128::from(*w) * u128::from(*x);
            (*low, *high) = (product as u64 & ((1 << LIMB) - 1), (product >> LIMB) as u64);
        }
    }

    fn keep_to(out: &mut [u64], w: &[u64], bits: &[u64]) {
        for ((out, w), word) in out.chunks_mut(STRIP).zip(w.chunks(STRIP)).zip(bits) {
            for (i, (out, w)) in out.iter_mut().zip(w).enumerate() {
                *out = w & mask(*word, i);
            }
        }
    }

    fn add_parts(out: &mut [Integer], words: &[Part<'_>], bits: &[Part<'_>]) {
        for (at, out) in out.chunks_mut(STRIP).enumerate() {
            let of_bits = sums_of_bits(bits, at);
            if words.is_empty() {
                for (i, out) in out.iter_mut().enumerate() {
                    for p in [0, 1] {
                        out.0[p] = once(out.0[p] + small(of_bits[p][i], p), p);
                    }
                }
                continue;
            }
            for (i, out) in out.iter_mut().enumerate() {
                let mut sums = [0, 1].map(|p| u128::from(out.0[p]) + u128::from(of_bits[p][i]));
                for (words, factor) in words {
                    let word = u128::from(words[at * STRIP + i]);
                    sums[0] += u128::from(factor.0[0]) * word;
                    sums[1] += u128::from(factor.0[1]) * word;
                }
                *out = Integer([reduced(sums[0], 0), reduced(sums[1], 1)]);
            }
        }
    }

    fn sums_of_products(a: &[Integer], b: &[Integer]) -> Integer {
        let mut total = Integer([0; 2]);
        for (a, b) in a.chunks(TERMS).zip(b.chunks(TERMS)) {
            let mut sums = [0u128; 2];
            for (a, b) in a.iter().zip(b) {
                sums[0] += u128::from(a.0[0]) * u128::from(b.0[0]);
                sums[1] += u128::from(a.0[1]) * u128::from(b.0[1]);
            }
            for p in [0, 1] {
                total.0[p] = once(total.0[p] + reduced(sums[p], p), p);
            }
        }
        total
    }

    fn add_vectors(out: &mut [Integer], c: [Integer; VECTORS], x: [&[Integer]; VECTORS]) {
        let n = out.len();
        let [first, second, third, fourth] = x.map(|x| &x[..n]);
        for (i, out) in out.iter_mut().enumerate() {
            let x = [first[i], second[i], third[i], fourth[i]];
            let mut sums = out.0.map(u128::from);
            for (c, x) in c.iter().zip(&x) {
                sums[0] += u128::from(c.0[0]) * u128::from(x.0[0]);
                sums[1] += u128::from(c.0[1]) * u128::from(x.0[1]);
            }
            *out = Integer([reduced(sums[0], 0), reduced(sums[1], 1)]);
        }
    }
}

/// The sum of those numbers below `2^LIMB` whose bits are set; of each word of bits there are 64 numbers.
pub fn sum_where(a: &[u64], bits: &[u64]) -> u128 {
    sum_masked(isa::current(), a, bits)
}

/// [`sum_where`] of two vectors.
pub fn sums_where(a: [&[u64]; 2], bits: &[u64]) -> [u128; 2] {
    sums_masked(isa::current(), a, bits)
}

/// The weights where the bit is set, else 0.
pub fn kept(w: &[u64], bits: &[u64]) -> Vec<u64> {
    let mut out = vec![0; w.len()];
    keep_to(isa::current(), &mut out, w, bits);
    out
}

/// `out +=` the sum of words and of bits, at most [`PARTS`] of each.
pub fn add_combined(out: &mut [Integer], words: &[Part<'_>], bits: &[Part<'_>]) {
    assert!(words.len() <= PARTS && bits.len() <= PARTS);
    add_parts(isa::current(), out, words, bits);
}

/// `sum a_g b_g`.
pub fn dot(a: &[Integer], b: &[Integer]) -> Integer {
    sums_of_products(isa::current(), a, b)
}

/// `sum_j c_j x_j`, element by element, of vectors that are zero where they end.
pub fn sum_of(c: &[Integer], x: &[&[Integer]], n: usize) -> Vec<Integer> {
    let mut out = vec![Integer([0; 2]); n];
    let isa = isa::current();
    let zero = Integer([0; 2]);
    for (c, x) in c.chunks(VECTORS).zip(x.chunks(VECTORS)) {
        // Missing ones are any vector times 0.
        let c: [_; VECTORS] = std::array::from_fn(|j| c.get(j).copied().unwrap_or(zero));
        let x: [_; VECTORS] = std::array::from_fn(|j| x.get(j).copied().unwrap_or(x[0]));
        let common = x.iter().fold(n, |len, x| len.min(x.len()));
        add_vectors(isa, &mut out[..common], c, x.map(|x| &x[..common]));
        for (i, out) in out.iter_mut().enumerate().skip(common) {
            for (c, x) in c.iter().zip(x) {
                *out = x.get(i).map_or(*out, |x| out.add(c.mul(*x)));
            }
        }
    }
    out
}
