//! GF(2^64) = Z_2[X] / (X^64 + X^4 + X^3 + X + 1), bit `i` the coefficient of `X^i`.

#[cfg(target_arch = "x86_64")]
mod affine;
mod packed;
#[cfg(target_arch = "x86_64")]
mod planes;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::ops::Range;

use self::packed::{COLUMNS, Weights, block_words, combined, words};
use super::{Extension, cube, pair_by_pair};
use crate::isa;
use crate::{Bits, Prg};

/// An element of GF(2^64); every element is a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Binary(pub u64);

// SAFETY: it is a word, and every word is an element.
unsafe impl bytemuck::TransparentWrapper<u64> for Binary {}

/// The product of two polynomials. Integers whose bits lie five apart are multiplied without a carry from one
/// of 13 bits into the next.
#[inline(always)]
fn carryless(a: u64, b: u64) -> u128 {
    const APART: usize = 5;
    const KEPT: [u128; APART] = {
        let mut masks = [0; APART];
        let mut bit = 0;
        while bit < 128 {
            masks[bit % APART] |= 1 << bit;
            bit += 1;
        }
        masks
    };
    let apart = |x: u64| KEPT.map(|kept| u128::from(x) & kept);
    let (a, b) = (apart(a), apart(b));
    let mut sum = 0;
    for (i, a) in a.iter().enumerate() {
        for (k, b) in b.iter().enumerate() {
            sum ^= a.wrapping_mul(*b) & KEPT[(i + k) % APART];
        }
    }
    sum
}

/// The remainder of a polynomial of degree at most 126.
#[inline(always)]
fn reduce(wide: u128) -> u64 {
    let once = |high: u64| {
        let high = high as u128;
        high ^ high << 1 ^ high << 3 ^ high << 4
    };
    let folded = once((wide >> 64) as u64);
    wide as u64 ^ folded as u64 ^ once((folded >> 64) as u64) as u64
}

#[inline(always)]
fn dot_by(a: &[u64], b: &[u64], product: impl Fn(u64, u64) -> u128) -> u128 {
    let products = a.iter().zip(b).map(|(a, b)| product(*a, *b));
    products.fold(0, |sum, p| sum ^ p)
}

#[inline(always)]
fn multiply_by(acc: &mut [Binary], b: &[u64], product: impl Fn(u64, u64) -> u128) {
    for (acc, b) in acc.iter_mut().zip(b) {
        acc.0 = reduce(product(acc.0, *b));
    }
}

fn words_of(a: &[Binary]) -> &[u64] {
    bytemuck::TransparentWrapper::peel_slice(a)
}

fn words_of_mut(a: &mut [Binary]) -> &mut [u64] {
    bytemuck::TransparentWrapper::peel_slice_mut(a)
}

/// `acc_g = acc_g b_g`.
fn multiply(acc: &mut [Binary], b: &[u64]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(wide) = x86::Wide::of(isa::current()) {
        return wide.multiply(acc, b);
    }
    multiply_by(acc, b, carryless)
}

/// `sum a_g b_g`.
fn dot(a: &[u64], b: &[u64]) -> Binary {
    assert_eq!(a.len(), b.len());
    #[cfg(target_arch = "x86_64")]
    if let Some(wide) = x86::Wide::of(isa::current()) {
        return Binary(reduce(wide.dot(a, b)));
    }
    Binary(reduce(dot_by(a, b, carryless)))
}

/// `sum_g u_j[g] v_k[g]` of all pairs of different parts, several at a time; `None` without the instructions.
fn side_by_side(u: &[Binary], v: &[Binary], radix: usize, len: usize) -> Option<Vec<Binary>> {
    #[cfg(target_arch = "x86_64")]
    if let Some(wide) = x86::Wide::of(isa::current()) {
        let mut sums = vec![0; radix * radix];
        wide.products(&mut sums, u, v, radix, len);
        sums.iter_mut().step_by(radix + 1).for_each(|sum| *sum = 0);
        return Some(sums.into_iter().map(|sum| Binary(reduce(sum))).collect());
    }
    None
}

/// [`Extension::line_products`] by Karatsuba's rule, where there are as many parts as a cube has corners; `None` where
/// there are not, or without the instructions.
fn by_cube(u: &[Binary], v: &[Binary], radix: usize, len: usize) -> Option<Vec<Binary>> {
    #[cfg(target_arch = "x86_64")]
    if let Some(wide) = x86::Wide::of(isa::current()).filter(|_| radix.is_power_of_two()) {
        let mut sums = vec![0; 3usize.pow(radix.ilog2())];
        wide.line(&mut sums, u, v, radix, len);
        let sums: Vec<_> = sums.into_iter().map(|sum| Binary(reduce(sum))).collect();
        return Some(cube::line_of_places(&sums));
    }
    None
}

impl Extension for Binary {
    type Base = Bits;
    type Weights = Weights;
    const ZERO: Self = Binary(0);
    const ONE: Self = Binary(1);
    const SEGMENT: usize = 1 << 19;
    /// The sums of errors stay small: there are 2^64 points.
    const SEGMENTS: usize = usize::MAX;
    const CUBE: bool = true;

    fn add(self, o: Self) -> Self {
        Binary(self.0 ^ o.0)
    }
    fn sub(self, o: Self) -> Self {
        self.add(o)
    }
    fn mul(self, o: Self) -> Self {
        let mut product = [self];
        multiply(&mut product, &[o.0]);
        product[0]
    }
    /// Parts that `n` elements of the base are cut into: so many that a vector keeps some words of each part. What is
    /// dealt grows with the logarithm of 3 to that of 2 for a power.
    fn base_radix(n: usize) -> usize {
        if n > MIDDLE {
            64
        } else if n > SMALL {
            16
        } else {
            8
        }
    }
    fn radix(n: usize) -> usize {
        match n {
            ..=32 => n.max(2),
            33..=2048 => n.div_ceil(32),
            _ => 32,
        }
    }
    fn inner_radix(n: usize) -> usize {
        match n {
            ..=16 => n.max(2),
            _ => 8,
        }
    }
    /// Whole words of columns, and the corners of a cube.
    fn blocks(n: usize, vectors: usize) -> [usize; 2] {
        let blocks = Self::base_radix(vectors * n) / vectors;
        let len = n.div_ceil(blocks).next_multiple_of(COLUMNS);
        [n.div_ceil(len).next_power_of_two(), len]
    }
    fn random(prg: &mut Prg, n: usize) -> Vec<Self> {
        prg.ring(n).into_iter().map(Binary).collect()
    }
    fn points(prg: &mut Prg, n: usize) -> Vec<Self> {
        Self::random(prg, n)
    }
    fn weights(prg: &mut Prg, n: usize) -> Self::Weights {
        Weights::draw(prg, n)
    }
    fn base_len(x: &Bits) -> usize {
        x.len()
    }
    fn base_part(x: &Bits, range: Range<usize>) -> Bits {
        Bits::gather(&[x], range)
    }
    fn base_gather(x: &[&Bits], range: Range<usize>) -> Bits {
        Bits::gather(x, range)
    }
    fn base_join(x: &[Bits]) -> Bits {
        Bits::concat(&x.iter().collect::<Vec<_>>())
    }
    fn base_product(x: &Bits, y: &Bits) -> Bits {
        x.and(y)
    }
    fn weighted_sums(w: &Weights, x: &[Bits]) -> Vec<Self> {
        w.sums(&words(x, w.columns()))
    }
    fn weighted_products(w: &Weights, u: &[Bits], v: &[Bits]) -> Vec<Self> {
        let [u, v] = [u, v].map(|x| words(x, w.columns()));
        w.products(&u, &v)
    }
    fn combine(c: &[Self], x: &[Bits]) -> Vec<Self> {
        let columns = x.first().map_or(0, Bits::len);
        combined(c, &words(x, columns), columns)
    }
    // Blocks have whole words, which are read where they lie.
    fn block_sums(w: &Weights, blocks: usize, x: &Bits) -> Vec<Self> {
        w.sums(&block_words(std::slice::from_ref(x), blocks))
    }
    fn block_products(w: &Weights, blocks: usize, u: &[Bits], v: &[Bits]) -> Vec<Self> {
        let [u, v] = [u, v].map(|x| block_words(x, blocks));
        w.products(&u, &v)
    }
    fn cube_products(w: &Weights, blocks: usize, u: &[Bits], v: &[Bits]) -> Vec<Self> {
        let [u, v] = [u, v].map(|x| block_words(x, blocks));
        w.cube_products(&u, &v)
    }
    fn combine_blocks(c: &[Self], blocks: usize, x: &[Bits]) -> Vec<Self> {
        let columns = x.first().map_or(0, Bits::len) / blocks;
        combined(c, &block_words(x, blocks), columns)
    }
    fn weigh(u: &mut [Self], w: &Weights) {
        w.weigh(u);
    }
    fn products(u: &[Self], v: &[Self], radix: usize, len: usize) -> Vec<Self> {
        side_by_side(u, v, radix, len).unwrap_or_else(|| pair_by_pair(u, v, radix, len))
    }
    fn line_products(u: &[Self], v: &[Self], radix: usize, len: usize) -> Vec<Self> {
        let by_pairs = || cube::by_distance(&Self::products(u, v, radix, len), radix);
        by_cube(u, v, radix, len).unwrap_or_else(by_pairs)
    }
    fn horner<'a>(parts: impl Iterator<Item = &'a [Self]>, len: usize, point: Self) -> Vec<Self> {
        let mut out = vec![Self::ZERO; len];
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = x86::Wide::of(isa::current()) {
            let parts: Vec<_> = parts.collect();
            let mut powers = point.powers(parts.len());
            powers.reverse();
            wide.combine(&mut out, &powers, &parts);
            return out;
        }
        parts.for_each(|part| Self::times_plus(&mut out, point, part));
        out
    }
    fn dot(a: &[Self], b: &[Self]) -> Self {
        dot(words_of(a), words_of(b))
    }
    fn times_plus(acc: &mut [Self], point: Self, x: &[Self]) {
        // So many at a time, so that the point is written out once.
        let points = [point.0; 512];
        for acc in acc.chunks_mut(points.len()) {
            multiply(acc, &points[..acc.len()]);
        }
        acc.iter_mut().zip(x).for_each(|(acc, x)| acc.0 ^= x.0);
    }
    fn wire_len(n: usize) -> usize {
        8 * n
    }
    fn to_wire(x: &[Self]) -> Vec<u8> {
        x.iter().flat_map(|x| x.0.to_le_bytes()).collect()
    }
    fn from_wire(bytes: &[u8], n: usize) -> Option<Vec<Self>> {
        let (words, rest) = bytes.as_chunks();
        let whole = rest.is_empty() && words.len() == n;
        whole.then(|| {
            words
                .iter()
                .map(|w| Binary(u64::from_le_bytes(*w)))
                .collect()
        })
    }
}

/// Vectors of bits up to so many are cut into fewer parts: fewer bytes.
const SMALL: usize = 1 << 13;
const MIDDLE: usize = 1 << 17;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;

    /// Rabin's test: `X^{2^64} = X`, and `X^{2^32} - X` has an inverse.
    #[test]
    fn the_modulus_is_irreducible() {
        let x = Binary(2);
        let frobenius = |n| (0..n).fold(x, |v: Binary, _| v.mul(v));
        assert_eq!(frobenius(64), x);
        let d = frobenius(32).sub(x);
        // In a field d^(2^64 - 2) is the inverse; in a ring with zero divisors d may have none.
        let inverse = (1..64).fold((d, Binary(1)), |(square, product), _| {
            let square = square.mul(square);
            (square, product.mul(square))
        });
        assert_eq!(d.mul(inverse.1), Binary(1));
    }

    #[test]
    fn products_are_the_same_everywhere() {
        for n in [0, 1, 7, 8, 9, 1000] {
            let mut prg = Prg::new([9; 16]);
            let [a, b] = [0; 2].map(|_| Binary::random(&mut prg, n));
            let by: Vec<u64> = b.iter().map(|b| b.0).collect();
            let products = same_everywhere(|| {
                let mut products = a.clone();
                multiply(&mut products, &by);
                products
            });
            let right = |i: usize| reduce(carryless(a[i].0, by[i]));
            assert!((0..n).all(|i| products[i].0 == right(i)), "{n}");
            let dot = same_everywhere(|| Binary::dot(&a, &b));
            let sum = products.iter().fold(Binary(0), |sum, p| sum.add(*p));
            assert_eq!(dot, sum, "{n}");
            let mut scaled = a.clone();
            Binary::times_plus(&mut scaled, Binary(77), &b);
            let right = |i: usize| reduce(carryless(a[i].0, 77)) ^ by[i];
            assert!((0..n).all(|i| scaled[i].0 == right(i)), "{n}");
        }
    }

    #[test]
    fn places_of_a_cube_are_sums_of_pairs() {
        let sizes = [
            (1, 5),
            (2, 5),
            (4, 9),
            (8, 1),
            (8, 16),
            (16, 4),
            (32, 3),
            (64, 7),
        ];
        for (blocks, words) in sizes {
            let mut prg = Prg::new([6; 16]);
            let weights = Binary::weights(&mut prg, 64 * words);
            let [u, v] = [0; 2].map(|_| [prg.bits(64 * words * blocks)]);
            let places = same_everywhere(|| Binary::cube_products(&weights, blocks, &u, &v));
            let pairs = same_everywhere(|| Binary::block_products(&weights, blocks, &u, &v));
            assert_eq!(places, cube::of_pairs(&pairs, blocks), "{blocks} blocks");
        }
    }

    #[test]
    fn coefficients_of_a_line_are_sums_of_pairs() {
        for (radix, len) in [(1, 3), (2, 8), (4, 5), (8, 1), (8, 17), (32, 9), (32, 16)] {
            let mut prg = Prg::new([7; 16]);
            let n = radix * len;
            let (u, v) = (Binary::random(&mut prg, n), Binary::random(&mut prg, n));
            for missing in [0, 1, n / 2] {
                let v = &v[..n - missing];
                let line = same_everywhere(|| {
                    let mut line = Binary::line_products(&u, v, radix, len);
                    line.remove(radix - 1);
                    line
                });
                let pairs = pair_by_pair(&u, v, radix, len);
                assert_eq!(
                    same_everywhere(|| Binary::products(&u, v, radix, len)),
                    pairs
                );
                let mut right = cube::by_distance(&pairs, radix);
                right.remove(radix - 1);
                assert_eq!(line, right, "{radix} parts of {len}, {missing} missing");
            }
        }
    }

    #[test]
    fn sums_chosen_by_bits_are_sums() {
        for vectors in [1, 3, 4, 5, 63, 64, 65, 130] {
            for columns in [1, 64, 255, 256, 257, 511, 512, 513, 1100] {
                let mut prg = Prg::new([8; 16]);
                let c = Binary::random(&mut prg, vectors);
                let x: Vec<_> = (0..vectors).map(|_| prg.bits(columns)).collect();
                let sums = same_everywhere(|| Binary::combine(&c, &x));
                let right = |i| {
                    let chosen = c.iter().zip(&x).filter(|(_, x)| x.get(i));
                    chosen.fold(Binary(0), |sum, (c, _)| sum.add(*c))
                };
                assert!(
                    (0..columns).all(|i| sums[i] == right(i)) && sums.len() == columns,
                    "{vectors} vectors of {columns}"
                );
            }
        }
    }
}
