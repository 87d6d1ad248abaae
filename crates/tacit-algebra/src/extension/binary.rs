//! GF(2^64) = Z_2[X] / (X^64 + X^4 + X^3 + X + 1), bit `i` the coefficient of `X^i`.

#[cfg(target_arch = "x86_64")]
mod gfni;
mod packed;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::ops::Range;

use self::packed::{BLOCKS, Weights, add_where, parities};
use super::{Extension, pair_by_pair, split_all};
use crate::buffer::Sizes;
use crate::isa;
use crate::{Bits, Prg};

/// An element of GF(2^64); every element is a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Binary(pub u64);

// SAFETY: it is a word, and every word is an element.
unsafe impl bytemuck::TransparentWrapper<u64> for Binary {}

/// The product of two polynomials, all 64 steps whatever the values.
#[inline(always)]
fn carryless(a: u64, b: u64) -> u128 {
    (0..64).fold(0, |sum, i| {
        sum ^ ((a as u128) << i & ((b >> i & 1) as u128).wrapping_neg())
    })
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
fn dot_by(a: &[Binary], b: &[Binary], product: impl Fn(u64, u64) -> u128) -> u128 {
    let products = a.iter().zip(b).map(|(a, b)| product(a.0, b.0));
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
    if x86::wide(isa::current()) {
        // SAFETY: the processor has the instructions.
        return unsafe { x86::multiply_wide(acc, b) };
    }
    #[cfg(target_arch = "x86_64")]
    if x86::available(isa::current()) {
        // SAFETY: the processor has the instructions.
        return unsafe { x86::multiply(acc, b) };
    }
    multiply_by(acc, b, carryless)
}

/// `sum_g u_j[g] v_k[g]` of all pairs of parts, by tiles; `None` without the instructions.
fn tiled(u: &[Binary], v: &[Binary], radix: usize, len: usize) -> Option<Vec<Binary>> {
    #[cfg(target_arch = "x86_64")]
    if x86::wide(isa::current()) {
        let side = radix.next_multiple_of(x86::TILE);
        let [u, v] = [u, v].map(|x| x86::padded(x, len, side));
        let mut out = vec![Binary::ZERO; radix * radix];
        for j in (0..side).step_by(x86::TILE) {
            for k in (0..side).step_by(x86::TILE) {
                // SAFETY: the processor has the instructions.
                let sums = unsafe { x86::tile(&u[j..], &v[k..]) };
                for (row, sums) in out.chunks_mut(radix).skip(j).zip(sums) {
                    for (to, sum) in row.iter_mut().skip(k).zip(sums) {
                        *to = Binary(reduce(sum));
                    }
                }
            }
        }
        return Some(out);
    }
    None
}

impl Extension for Binary {
    type Base = Bits;
    type Weights = Weights;
    const ZERO: Self = Binary(0);
    const ONE: Self = Binary(1);
    /// The sums of errors stay small: there are 2^64 points.
    const PORTIONS: usize = usize::MAX;

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
    fn base_radix(_n: usize) -> usize {
        16
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
    fn blocks(n: usize, _vectors: usize) -> [usize; 2] {
        [BLOCKS, n.div_ceil(64) * 8]
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
        let end = range.end.min(x.len());
        let start = range.start.min(end);
        if x.is_counted() {
            return Bits::counted(range.len());
        }
        let mut words = x.slice(start, end - start).into_words();
        words.resize(range.len().div_ceil(64), 0);
        Bits::from_words(range.len(), words)
    }
    fn base_join(x: &[Bits]) -> Bits {
        Bits::concat(&x.iter().collect::<Vec<_>>())
    }
    fn base_product(x: &Bits, y: &Bits) -> Bits {
        x.and(y)
    }
    fn weighted_sums(Weights { rows, .. }: &Weights, x: &[Bits]) -> Vec<Self> {
        let isa = isa::current();
        let sum = |x: &Bits| {
            assert_eq!(rows.cols(), x.len());
            Binary(parities(isa, rows, x.words()))
        };
        x.iter().map(sum).collect()
    }
    fn combine(c: &[Self], x: &[Bits]) -> Vec<Self> {
        let isa = isa::current();
        let mut out = vec![Binary(0); x.first().map_or(0, Bits::len)];
        for (c, x) in c.iter().zip(x) {
            assert_eq!(x.len(), out.len());
            add_where(isa, &mut out, c.0, x.words());
        }
        out
    }
    fn split(x: &Bits, blocks: usize) -> Vec<Bits> {
        assert_eq!((blocks, x.len() % 64), (BLOCKS, 0));
        (0..BLOCKS).map(|q| packed::block(x, q)).collect()
    }
    fn block_sums(w: &Weights, blocks: usize, x: &Bits) -> Vec<Self> {
        w.sums(x)
            .unwrap_or_else(|| Self::weighted_sums(w, &Self::split(x, blocks)))
    }
    fn block_products(w: &Weights, blocks: usize, u: &[Bits], v: &[Bits]) -> Vec<Self> {
        w.products(u, v).unwrap_or_else(|| {
            let [u, v] = [u, v].map(|x| split_all::<Self>(x, blocks));
            Self::weighted_products(w, &u, &v)
        })
    }
    fn combine_blocks(c: &[Self], blocks: usize, x: &[Bits]) -> Vec<Self> {
        packed::combined(c, x).unwrap_or_else(|| Self::combine(c, &split_all::<Self>(x, blocks)))
    }
    fn weigh(u: &mut [Self], Weights { points, .. }: &Weights) {
        assert_eq!(u.len(), points.len());
        multiply(u, points);
    }
    fn products(u: &[Self], v: &[Self], radix: usize, len: usize) -> Vec<Self> {
        tiled(u, v, radix, len).unwrap_or_else(|| pair_by_pair(u, v, radix, len))
    }
    fn horner<'a>(parts: impl Iterator<Item = &'a [Self]>, len: usize, point: Self) -> Vec<Self> {
        let mut out = vec![Self::ZERO; len];
        #[cfg(target_arch = "x86_64")]
        if x86::wide(isa::current()) {
            let parts: Vec<_> = parts.collect();
            let mut powers = point.powers(parts.len());
            powers.reverse();
            // SAFETY: the processor has the instructions.
            unsafe { x86::combine(&mut out, &powers, &parts) };
            return out;
        }
        parts.for_each(|part| Self::times_plus(&mut out, point, part));
        out
    }
    fn dot(a: &[Self], b: &[Self]) -> Self {
        assert_eq!(a.len(), b.len());
        #[cfg(target_arch = "x86_64")]
        if x86::wide(isa::current()) {
            // SAFETY: the processor has the instructions.
            return Binary(reduce(unsafe { x86::dot_wide(a, b) }));
        }
        #[cfg(target_arch = "x86_64")]
        if x86::available(isa::current()) {
            // SAFETY: the processor has the instructions.
            return Binary(reduce(unsafe { x86::dot(a, b) }));
        }
        Binary(reduce(dot_by(a, b, carryless)))
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
}
