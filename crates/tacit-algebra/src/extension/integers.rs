//! Integers modulo the product of two primes of 61 bits: words of a ring and bits, as integers. What differs from the right integer by less than 2^121 differs from it
//! modulo one of the primes.

use std::ops::Range;

use super::tower::padded;
use super::{Binary, Extension};
use crate::{Bits, Buffer, Prg, Ring};

/// Bits of the primes.
const BITS: u32 = 61;
/// The primes are so much less than 2^61.
const BELOW: [u64; 2] = [1, 31];
const PRIMES: [u64; 2] = [(1 << BITS) - BELOW[0], (1 << BITS) - BELOW[1]];
/// Bits of a point: the points are the integers below 2^60, whose differences no prime divides.
const POINT: u32 = 60;
/// Products of two residues whose sum 128 bits hold.
const TERMS: usize = 32;

/// An integer modulo the product of the primes, by its residue modulo each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Integer([u64; 2]);

/// Integers: words of a ring, bits times a factor, or sums of both.
#[derive(Clone)]
pub struct Integers {
    len: usize,
    words: Option<Buffer<u64>>,
    bits: Option<Bits>,
    factor: i128,
}

impl Integers {
    /// Words as integers of at least 0.
    pub fn of_words<R: Ring>(words: &Buffer<R>) -> Self {
        Integers {
            len: words.len(),
            words: Some(words.convert()),
            bits: None,
            factor: 0,
        }
    }

    /// Bits times a factor.
    pub fn of_bits(bits: Bits, factor: i128) -> Self {
        Integers {
            len: bits.len(),
            words: None,
            bits: Some(bits),
            factor,
        }
    }

    /// Words less the ring's size where the bit is set.
    pub fn less<R: Ring>(words: &Buffer<R>, carries: Bits) -> Self {
        assert_eq!(words.len(), carries.len());
        Integers {
            words: Some(words.convert()),
            ..Integers::of_bits(carries, -size_of_ring::<R>())
        }
    }

    /// The residues of all, by primes.
    fn residues(&self) -> [Vec<u64>; 2] {
        [0, 1].map(|p| {
            let words = self.words.as_ref();
            let mut all: Vec<u64> = words.map_or_else(
                || vec![0; self.len],
                |words| words.iter().map(|w| small(*w, p)).collect(),
            );
            if let Some(bits) = &self.bits {
                let factor = self.factor.rem_euclid(i128::from(PRIMES[p])) as u64;
                for (to, word) in all.chunks_mut(64).zip(bits.words()) {
                    for (i, to) in to.iter_mut().enumerate() {
                        *to = once(*to + (factor & (word >> i & 1).wrapping_neg()), p);
                    }
                }
            }
            all
        })
    }
}

/// The integer that a carry stands for.
pub const fn size_of_ring<R: Ring>() -> i128 {
    1 << R::BITS
}

/// `a mod p` of less than twice the prime.
#[inline(always)]
fn once(a: u64, p: usize) -> u64 {
    let less = a.wrapping_sub(PRIMES[p]);
    // The top bit says that the prime was larger.
    less.wrapping_add(PRIMES[p] & (less >> 63).wrapping_neg())
}

/// `a mod p` of a word.
#[inline(always)]
fn small(a: u64, p: usize) -> u64 {
    once((a & (u64::MAX >> 3)) + (a >> BITS) * BELOW[p], p)
}

/// `a mod p`.
#[inline(always)]
fn reduced(a: u128, p: usize) -> u64 {
    const LOW: u128 = (1 << BITS) - 1;
    let below = u128::from(BELOW[p]);
    let folded = (a & LOW) + (a >> BITS) * below;
    let folded = (folded & LOW) + (folded >> BITS) * below;
    small(folded as u64, p)
}

#[inline(always)]
fn times(a: u64, b: u64, p: usize) -> u64 {
    reduced(u128::from(a) * u128::from(b), p)
}

/// `sum a_g b_g mod p`.
fn dot_of(a: &[u64], b: &[u64], p: usize) -> u64 {
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

/// The residues modulo prime `p` of elements.
fn column(x: &[Integer], p: usize) -> Vec<u64> {
    x.iter().map(|x| x.0[p]).collect()
}

impl Integer {
    fn of(residues: [u64; 2]) -> Self {
        Integer(residues)
    }

    /// An integer below 2^61.
    fn embed(a: u64) -> Self {
        Integer::of([0, 1].map(|p| small(a, p)))
    }

    fn by_primes(f: impl Fn(usize) -> u64) -> Self {
        Integer::of([0, 1].map(f))
    }

    /// Elements from their residues.
    fn joined([a, b]: [Vec<u64>; 2]) -> Vec<Self> {
        a.into_iter()
            .zip(b)
            .map(|(a, b)| Integer::of([a, b]))
            .collect()
    }
}

impl Extension for Integer {
    type Base = Integers;
    type Weights = Vec<u64>;
    const ZERO: Self = Integer([0; 2]);
    const ONE: Self = Integer([1; 2]);
    const PORTION: usize = 1 << 15;
    /// The sums of errors stay small: there are 2^60 points.
    const PORTIONS: usize = usize::MAX;

    fn add(self, o: Self) -> Self {
        Integer::by_primes(|p| once(self.0[p] + o.0[p], p))
    }
    fn sub(self, o: Self) -> Self {
        Integer::by_primes(|p| once(self.0[p] + PRIMES[p] - o.0[p], p))
    }
    fn mul(self, o: Self) -> Self {
        Integer::by_primes(|p| times(self.0[p], o.0[p], p))
    }
    fn base_radix(n: usize) -> usize {
        if n > SMALL { 8 } else { 4 }
    }
    fn radix(n: usize) -> usize {
        if n > SMALL { 8 } else { 4 }
    }
    fn random(prg: &mut Prg, n: usize) -> Vec<Self> {
        let residues = |p: usize| (0..n).map(|_| uniform(prg, PRIMES[p])).collect();
        Self::joined([0, 1].map(residues))
    }
    fn points(prg: &mut Prg, n: usize) -> Vec<Self> {
        let points = Self::weights(prg, n).into_iter();
        points.map(Self::embed).collect()
    }
    fn weights(prg: &mut Prg, n: usize) -> Vec<u64> {
        let words: Vec<u64> = prg.ring(n);
        words
            .into_iter()
            .map(|w| w >> (u64::BITS - POINT))
            .collect()
    }
    fn base_len(x: &Integers) -> usize {
        x.len
    }
    fn base_part(x: &Integers, range: Range<usize>) -> Integers {
        Integers {
            len: range.len(),
            words: x.words.as_ref().map(|w| padded(w, range.clone())),
            bits: x.bits.as_ref().map(|b| Binary::base_part(b, range.clone())),
            factor: x.factor,
        }
    }
    fn base_join(x: &[Integers]) -> Integers {
        let mut with_bits = x.iter().filter(|x| x.bits.is_some());
        let factor = with_bits.clone().next().map_or(0, |x| x.factor);
        assert!(with_bits.all(|x| x.factor == factor), "one factor");
        Integers {
            len: x.iter().map(|x| x.len).sum(),
            words: joined(
                x,
                |x| x.words.as_ref(),
                Buffer::zeros,
                |x| Buffer::concat(&x),
            ),
            bits: joined(x, |x| x.bits.as_ref(), Bits::zeros, |x| Bits::concat(&x)),
            factor,
        }
    }
    /// Right where the products are words of the ring.
    fn base_product(x: &Integers, y: &Integers) -> Integers {
        let words = |x: &Integers| x.words.clone().expect("words are multiplied");
        Integers::of_words(&words(x).mul(&words(y)))
    }
    fn weighted_sums(w: &Vec<u64>, x: &[Integers]) -> Vec<Self> {
        let sum = |x: &Integers| {
            let x = x.residues();
            Integer::by_primes(|p| dot_of(w, &x[p], p))
        };
        x.iter().map(sum).collect()
    }
    fn weighted_products(w: &Vec<u64>, u: &[Integers], v: &[Integers]) -> Vec<Self> {
        let [mut u, v] = [u, v].map(|x| x.iter().map(Integers::residues).collect::<Vec<_>>());
        for (p, u) in u.iter_mut().flat_map(|u| u.iter_mut().enumerate()) {
            u.iter_mut().zip(w).for_each(|(u, w)| *u = times(*u, *w, p));
        }
        let pairs = u.iter().flat_map(|u| v.iter().map(move |v| (u, v)));
        pairs
            .map(|(u, v)| Integer::by_primes(|p| dot_of(&u[p], &v[p], p)))
            .collect()
    }
    fn combine(c: &[Self], x: &[Integers]) -> Vec<Self> {
        assert!(c.len() <= TERMS && c.len() == x.len());
        let n = x.first().map_or(0, Self::base_len);
        let x: Vec<_> = x.iter().map(Integers::residues).collect();
        Self::joined([0, 1].map(|p| {
            let mut sums = vec![0u128; n];
            for (c, x) in c.iter().zip(&x) {
                for (sum, x) in sums.iter_mut().zip(&x[p]) {
                    *sum += u128::from(c.0[p]) * u128::from(*x);
                }
            }
            sums.into_iter().map(|sum| reduced(sum, p)).collect()
        }))
    }
    fn weigh(u: &mut [Self], w: &Vec<u64>) {
        assert_eq!(u.len(), w.len());
        for (u, w) in u.iter_mut().zip(w) {
            *u = Integer::by_primes(|p| times(u.0[p], *w, p));
        }
    }
    fn products(u: &[Self], v: &[Self], radix: usize, len: usize) -> Vec<Self> {
        let [u, v] = [u, v].map(|x| [0, 1].map(|p| column(x, p)));
        let part = |x: &[u64], j: usize| {
            let [start, end] = [j * len, (j + 1) * len].map(|at| at.min(x.len()));
            start..end
        };
        let pairs = (0..radix).flat_map(|j| (0..radix).map(move |k| (j, k)));
        let sum = |(j, k)| {
            Integer::by_primes(|p| dot_of(&u[p][part(&u[p], j)], &v[p][part(&v[p], k)], p))
        };
        pairs.map(sum).collect()
    }
    fn dot(a: &[Self], b: &[Self]) -> Self {
        assert_eq!(a.len(), b.len());
        Integer::by_primes(|p| dot_of(&column(a, p), &column(b, p), p))
    }
    fn times_plus(acc: &mut [Self], point: Self, x: &[Self]) {
        acc.iter_mut().for_each(|acc| *acc = acc.mul(point));
        acc.iter_mut()
            .zip(x)
            .for_each(|(acc, x)| *acc = acc.add(*x));
    }
    fn wire_len(n: usize) -> usize {
        16 * n
    }
    fn to_wire(x: &[Self]) -> Vec<u8> {
        let words = x.iter().flat_map(|x| x.0);
        words.flat_map(u64::to_le_bytes).collect()
    }
    fn from_wire(bytes: &[u8], n: usize) -> Option<Vec<Self>> {
        let (words, rest) = bytes.as_chunks();
        let words: Vec<u64> = words.iter().map(|w| u64::from_le_bytes(*w)).collect();
        let (pairs, odd) = words.as_chunks();
        let fits = |pair: &[u64; 2]| pair[0] < PRIMES[0] && pair[1] < PRIMES[1];
        let whole = rest.is_empty() && odd.is_empty() && pairs.len() == n;
        (whole && pairs.iter().all(fits)).then(|| pairs.iter().map(|x| Integer::of(*x)).collect())
    }
}

/// What some have of vectors one after the other, zeros where they have none; nothing where none has.
fn joined<T: Clone>(
    x: &[Integers],
    of: impl Fn(&Integers) -> Option<&T>,
    zeros: impl Fn(usize) -> T,
    concat: impl Fn(Vec<&T>) -> T,
) -> Option<T> {
    x.iter().any(|x| of(x).is_some()).then(|| {
        let parts = x
            .iter()
            .map(|x| of(x).cloned().unwrap_or_else(|| zeros(x.len)));
        concat(parts.collect::<Vec<_>>().iter().collect())
    })
}

/// Vectors up to so many elements are folded from few parts: fewer bytes.
const SMALL: usize = 1 << 10;

/// A uniform residue: 61 bits, again where they are none.
fn uniform(prg: &mut Prg, prime: u64) -> u64 {
    loop {
        let word = prg.ring::<u64>(1)[0] >> (u64::BITS - BITS);
        if word < prime {
            return word;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fermat's test to several bases, and no small divisor.
    #[test]
    fn the_moduli_are_primes() {
        for (p, prime) in PRIMES.into_iter().enumerate() {
            assert!((2..10_000).all(|d| prime % d != 0));
            for base in [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37] {
                // Miller and Rabin's: these bases decide below 2^64.
                let odd = (prime - 1) >> (prime - 1).trailing_zeros();
                let mut power = (0..BITS).rev().fold(1, |sum, bit| {
                    let square = times(sum, sum, p);
                    if odd >> bit & 1 == 1 {
                        times(square, base, p)
                    } else {
                        square
                    }
                });
                let mut witness = power != 1;
                for _ in 0..(prime - 1).trailing_zeros() {
                    witness &= power != prime - 1;
                    power = times(power, power, p);
                }
                assert!(!witness, "{prime} to base {base}");
            }
        }
    }

    #[test]
    fn residues_are_right_at_the_ends() {
        for p in [0, 1] {
            let prime = PRIMES[p];
            for a in [0, 1, prime - 1, prime, prime + 1, 2 * prime - 1, u64::MAX] {
                assert_eq!(small(a, p), a % prime);
                for b in [0, 1, prime - 1, u64::MAX] {
                    let product = u128::from(a) * u128::from(b);
                    assert_eq!(u128::from(reduced(product, p)), product % u128::from(prime));
                }
            }
            assert_eq!(
                u128::from(reduced(u128::MAX, p)),
                u128::MAX % u128::from(prime)
            );
            // The square of -1 is 1.
            let most = vec![prime - 1; 3 * TERMS + 1];
            assert_eq!(dot_of(&most, &most, p), most.len() as u64);
        }
    }

    /// A word less the ring's size is a negative integer.
    #[test]
    fn carries_take_the_size_of_the_ring_away() {
        fn check<R: Ring>() {
            let words: Buffer<R> = Prg::new([5; 16]).words(70);
            let carries = Bits::from_fn(70, |i| i % 3 == 0);
            let x = Integers::less(&words, carries.clone()).residues();
            for i in 0..70 {
                let size = i128::from(carries.get(i)) << R::BITS;
                let right = i128::from(words[i].to_u64()) - size;
                for p in [0, 1] {
                    assert_eq!(i128::from(x[p][i]), right.rem_euclid(i128::from(PRIMES[p])));
                }
            }
        }
        check::<u8>();
        check::<u32>();
        check::<u64>();
    }
}
