//! Integers modulo the product of two primes of 61 bits: words of a ring and bits, as integers. What differs from
//! the right integer by less than 2^121 differs from it modulo one of the primes.

mod sums;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::borrow::Cow;
use std::ops::Range;

use self::sums::{
    BITS, Limbs, PARTS, PRIMES, Part, STRIP, Wide, add_combined, kept, once, reduced, small,
    sum_of, sum_where, sums_where, times,
};
use super::tower::padded;
use super::{Binary, Extension, pair_by_pair};
use crate::{Bits, Buffer, Prg, Ring};

/// Bits of a point: the points are the integers below 2^60, whose differences no prime divides.
const POINT: u32 = 60;

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
            words: Some(longest(words)),
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
            words: Some(longest(words)),
            ..Integers::of_bits(carries, -size_of_ring::<R>())
        }
    }

    /// The words; none where there are only bits.
    fn words(&self) -> &[u64] {
        self.words.as_deref().unwrap_or_default()
    }

    /// The words of the bits; none where there are only words.
    fn bits(&self) -> &[u64] {
        self.bits.as_ref().map_or(&[], Bits::words)
    }

    /// What a bit stands for.
    fn factor(&self) -> Integer {
        Integer::by_primes(|p| self.factor.rem_euclid(i128::from(PRIMES[p])) as u64)
    }
}

/// Words as the longest ones, which are not copied.
fn longest<R: Ring>(words: &Buffer<R>) -> Buffer<u64> {
    let same = (words as &dyn Any).downcast_ref::<Buffer<u64>>();
    same.cloned().unwrap_or_else(|| words.convert())
}

/// Numbers, and zeros up to whole words of bits.
fn whole_strips(numbers: &[u64]) -> Cow<'_, [u64]> {
    if numbers.len().is_multiple_of(STRIP) {
        return numbers.into();
    }
    let mut all = Vec::with_capacity(numbers.len().next_multiple_of(STRIP));
    all.extend_from_slice(numbers);
    all.resize(numbers.len().next_multiple_of(STRIP), 0);
    all.into()
}

/// Integers times their weights, of which [`whole_strips`] are given: words are multiplied as integers, bits
/// choose weights.
struct Weighed<'a> {
    weights: &'a [u64],
    x: &'a Integers,
    words: Option<Limbs>,
}

impl<'a> Weighed<'a> {
    fn new(weights: &'a [u64], x: &'a Integers) -> Self {
        let limbs = |words: &Buffer<u64>| Limbs::of(&weights[..x.len], words);
        Weighed {
            weights,
            x,
            words: x.words.as_ref().map(limbs),
        }
    }

    /// The inner product with others: of words and bits each with each, of which only two words are multiplied
    /// once more; what has bits on one side is a sum.
    fn dot(&self, v: &Integers) -> Integer {
        assert_eq!(self.x.len, v.len);
        let mut sum = Integer::ZERO;
        let mut add = |element: Integer| sum = sum.add(element);
        let whole = |sum: u128| Integer::by_primes(|p| reduced(sum, p));
        let product = |a: &[u64], b: &[u64]| {
            let sum = Wide::dot(a, b);
            Integer::by_primes(|p| sum.residue(p))
        };
        if let Some(Limbs { low, high }) = &self.words {
            if v.words.is_some() {
                let [low, high] = [low, high].map(|limb| product(limb, v.words()));
                add(Limbs::joined(low, high));
            }
            if v.bits.is_some() {
                let [low, high] = sums_where([low, high], v.bits()).map(whole);
                add(Limbs::joined(low, high).mul(v.factor()));
            }
        }
        if let Some(bits) = &self.x.bits {
            if v.words.is_some() {
                let sum = product(&kept(self.weights, bits.words()), v.words());
                add(sum.mul(self.x.factor()));
            }
            if let Some(others) = &v.bits {
                let sum = whole(sum_where(self.weights, bits.and(others).words()));
                add(sum.mul(self.x.factor().mul(v.factor())));
            }
        }
        sum
    }
}

/// The integer that a carry stands for.
pub const fn size_of_ring<R: Ring>() -> i128 {
    1 << R::BITS
}

impl Integer {
    fn of(residues: [u64; 2]) -> Self {
        Integer(residues)
    }

    /// The element that stands for a word.
    fn embed(a: u64) -> Self {
        Integer::by_primes(|p| small(a, p))
    }

    // Written out, as `map` of an array stays a call in loops over elements.
    #[inline(always)]
    fn by_primes(f: impl Fn(usize) -> u64) -> Self {
        Integer([f(0), f(1)])
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
    const SEGMENT: usize = 1 << 15;
    /// The sums of errors stay small: there are 2^60 points.
    const SEGMENTS: usize = usize::MAX;

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
        match n {
            ..=32 => n,
            33..=1024 => n.div_ceil(32),
            _ => 8,
        }
    }
    /// Parts that a segment is cut into after its first fold: 4, so that a long vector is folded from few parts; a
    /// segment's are most of a proof's products.
    fn inner_radix(_n: usize) -> usize {
        4
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
        let weights = whole_strips(w);
        let sum = |x: &Integers| {
            assert_eq!(w.len(), x.len);
            let words = Wide::dot(w, x.words());
            let bits = sum_where(&weights, x.bits());
            let bits = Integer::by_primes(|p| reduced(bits, p)).mul(x.factor());
            Integer::by_primes(|p| words.residue(p)).add(bits)
        };
        x.iter().map(sum).collect()
    }
    /// The side that has words is weighed, if only one does: its products with bits are sums.
    fn weighted_products(w: &Vec<u64>, u: &[Integers], v: &[Integers]) -> Vec<Self> {
        assert!(u.iter().chain(v).all(|x| x.len == w.len()));
        let weights = whole_strips(w);
        let turned = u.iter().all(|u| u.words.is_none());
        let [weighed, others] = if turned { [v, u] } else { [u, v] };
        let rows = weighed.iter().map(|x| {
            let weighed = Weighed::new(&weights, x);
            let products = others.iter().map(|other| weighed.dot(other));
            products.collect::<Vec<_>>()
        });
        let rows: Vec<_> = rows.collect();
        if !turned {
            return rows.concat();
        }
        let columns = (0..u.len()).flat_map(|j| rows.iter().map(move |row| row[j]));
        columns.collect()
    }
    fn combine(c: &[Self], x: &[Integers]) -> Vec<Self> {
        let n = x.first().map_or(0, Self::base_len);
        assert!(c.len() == x.len() && x.iter().all(|x| x.len == n));
        let mut out = vec![Self::ZERO; n];
        for (c, x) in c.chunks(PARTS).zip(x.chunks(PARTS)) {
            let parts = || c.iter().zip(x);
            let words = parts().filter(|(_, x)| x.words.is_some());
            let words: Vec<Part> = words.map(|(c, x)| (x.words(), *c)).collect();
            let bits = parts().filter(|(_, x)| x.bits.is_some());
            let bits: Vec<Part> = bits.map(|(c, x)| (x.bits(), c.mul(x.factor()))).collect();
            add_combined(&mut out, &words, &bits);
        }
        out
    }
    fn weigh(u: &mut [Self], w: &Vec<u64>) {
        assert_eq!(u.len(), w.len());
        for (u, w) in u.iter_mut().zip(w) {
            *u = Integer::by_primes(|p| times(u.0[p], *w, p));
        }
    }
    fn products(u: &[Self], v: &[Self], radix: usize, len: usize) -> Vec<Self> {
        pair_by_pair(u, v, radix, len)
    }
    fn horner<'a>(parts: impl Iterator<Item = &'a [Self]>, len: usize, point: Self) -> Vec<Self> {
        let parts: Vec<_> = parts.collect();
        let mut powers = point.powers(parts.len());
        powers.reverse();
        sum_of(&powers, &parts, len)
    }
    fn dot(a: &[Self], b: &[Self]) -> Self {
        assert_eq!(a.len(), b.len());
        sums::dot(a, b)
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

/// Vectors of elements of the base up to so many are folded from few parts: fewer bytes.
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
