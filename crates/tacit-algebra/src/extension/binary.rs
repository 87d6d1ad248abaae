//! GF(2^64) = Z_2[X] / (X^64 + X^4 + X^3 + X + 1), bit `i` the coefficient of `X^i`.

use std::ops::Range;

use super::Extension;
use crate::buffer::Sizes;
use crate::isa::{self, Isa, simd};
use crate::{BitRows, Bits, Prg};

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

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use std::arch::x86_64::*;

    pub(super) fn available(isa: Isa) -> bool {
        isa != Isa::Portable && is_x86_feature_detected!("pclmulqdq")
    }

    #[target_feature(enable = "pclmulqdq,sse2")]
    #[inline]
    fn carryless(a: u64, b: u64) -> u128 {
        let (a, b) = (_mm_set_epi64x(0, a as i64), _mm_set_epi64x(0, b as i64));
        let product = _mm_clmulepi64_si128::<0>(a, b);
        let high = _mm_cvtsi128_si64(_mm_unpackhi_epi64(product, product)) as u64;
        (high as u128) << 64 | _mm_cvtsi128_si64(product) as u64 as u128
    }

    #[target_feature(enable = "pclmulqdq,sse2")]
    pub(super) fn dot(a: &[Binary], b: &[Binary]) -> u128 {
        dot_by(a, b, |a, b| carryless(a, b))
    }

    #[target_feature(enable = "pclmulqdq,sse2")]
    pub(super) fn multiply(acc: &mut [Binary], b: &[u64]) {
        multiply_by(acc, b, |a, b| carryless(a, b))
    }

    /// Elements that a vector holds.
    const LANES: usize = 8;

    pub(super) fn wide(isa: Isa) -> bool {
        isa == Isa::Avx512 && available(isa) && is_x86_feature_detected!("vpclmulqdq")
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load(a: &[u64; LANES]) -> __m512i {
        // SAFETY: the array has 64 bytes; the load need not be aligned.
        unsafe { _mm512_loadu_epi64(a.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn store(a: &mut [u64; LANES], v: __m512i) {
        // SAFETY: the array has 64 bytes; the store need not be aligned.
        unsafe { _mm512_storeu_epi64(a.as_mut_ptr().cast(), v) }
    }

    #[target_feature(enable = "vpclmulqdq,pclmulqdq,avx512f,sse2")]
    pub(super) fn dot_wide(a: &[Binary], b: &[Binary]) -> u128 {
        let (a, b) = (words_of(a), words_of(b));
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
        let mut sum = _mm512_setzero_si512();
        for (a, b) in a.iter().zip(b) {
            let (a, b) = (load(a), load(b));
            let even = _mm512_clmulepi64_epi128::<0x00>(a, b);
            let odd = _mm512_clmulepi64_epi128::<0x11>(a, b);
            sum = _mm512_xor_si512(sum, _mm512_xor_si512(even, odd));
        }
        let mut lanes = [0; LANES];
        store(&mut lanes, sum);
        let pairs = lanes.as_chunks::<2>().0;
        let sums = pairs
            .iter()
            .map(|[low, high]| u128::from(*high) << 64 | u128::from(*low));
        let rest = a_rest.iter().zip(b_rest).map(|(a, b)| carryless(*a, *b));
        sums.chain(rest).fold(0, |sum, product| sum ^ product)
    }

    #[target_feature(enable = "vpclmulqdq,pclmulqdq,avx512f,sse2")]
    pub(super) fn multiply_wide(acc: &mut [Binary], b: &[u64]) {
        let low = _mm512_set1_epi64(0b11011);
        let (chunks, rest) = words_of_mut(acc).as_chunks_mut();
        let (by, by_rest) = b.as_chunks();
        for (acc, b) in chunks.iter_mut().zip(by) {
            let (a, b) = (load(acc), load(b));
            let mut ends = [
                _mm512_clmulepi64_epi128::<0x00>(a, b),
                _mm512_clmulepi64_epi128::<0x11>(a, b),
            ];
            // The upper half times X^4 + X^3 + X + 1, and again what is then above.
            for product in &mut ends {
                let once = _mm512_clmulepi64_epi128::<0x01>(*product, low);
                let twice = _mm512_clmulepi64_epi128::<0x01>(once, low);
                *product = _mm512_xor_si512(*product, _mm512_xor_si512(once, twice));
            }
            store(acc, _mm512_unpacklo_epi64(ends[0], ends[1]));
        }
        for (acc, b) in rest.iter_mut().zip(by_rest) {
            *acc = reduce(carryless(*acc, *b));
        }
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

simd! {
    /// The parity of the common bits of `x` and each row.
    fn parities(rows: &BitRows, x: &[u64]) -> u64 {
        let mut sum = 0;
        for t in 0..64 {
            let common = rows.row(t).iter().zip(x).fold(0, |acc, (row, x)| acc ^ (row & x));
            sum |= ((common.count_ones() & 1) as u64) << t;
        }
        sum
    }

    /// `out ^= c` where the bit is set.
    fn add_where(out: &mut [Binary], c: u64, bits: &[u64]) {
        for (out, word) in out.chunks_mut(64).zip(bits) {
            for (i, out) in out.iter_mut().enumerate() {
                out.0 ^= c & (word >> i & 1).wrapping_neg();
            }
        }
    }
}

impl Extension for Binary {
    type Base = Bits;
    /// The points' bits by rows, and the points themselves.
    type Weights = (BitRows, Vec<u64>);
    const ZERO: Self = Binary(0);
    const ONE: Self = Binary(1);
    const ALIGN: usize = 64;

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
        n.clamp(2, 16)
    }
    fn random(prg: &mut Prg, n: usize) -> Vec<Self> {
        prg.ring(n).into_iter().map(Binary).collect()
    }
    fn points(prg: &mut Prg, n: usize) -> Vec<Self> {
        Self::random(prg, n)
    }
    fn weights(prg: &mut Prg, n: usize) -> Self::Weights {
        let rows = prg.bit_rows(64, n);
        let points = rows.to_ring();
        (rows, points)
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
    fn base_product(x: &Bits, y: &Bits) -> Bits {
        x.and(y)
    }
    fn weighted_sums((rows, _): &Self::Weights, x: &[Bits]) -> Vec<Self> {
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
    fn weigh(u: &mut [Self], (_, w): &Self::Weights) {
        assert_eq!(u.len(), w.len());
        multiply(u, w);
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
