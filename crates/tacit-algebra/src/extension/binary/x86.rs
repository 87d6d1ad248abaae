//! Products in GF(2^64) by the instructions for carry-less ones.

use super::{Binary, dot_by, multiply_by, reduce, words_of, words_of_mut};
use crate::isa::Isa;
use std::arch::x86_64::*;

pub fn available(isa: Isa) -> bool {
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
pub fn dot(a: &[Binary], b: &[Binary]) -> u128 {
    dot_by(a, b, |a, b| carryless(a, b))
}

#[target_feature(enable = "pclmulqdq,sse2")]
pub fn multiply(acc: &mut [Binary], b: &[u64]) {
    multiply_by(acc, b, |a, b| carryless(a, b))
}

/// Elements that a vector holds.
const LANES: usize = 8;

pub fn wide(isa: Isa) -> bool {
    isa == Isa::Avx512 && available(isa) && is_x86_feature_detected!("vpclmulqdq")
}

#[target_feature(enable = "avx512f")]
#[inline]
pub fn load(a: &[u64; LANES]) -> __m512i {
    // SAFETY: the array has 64 bytes; the load need not be aligned.
    unsafe { _mm512_loadu_epi64(a.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
pub fn store(a: &mut [u64; LANES], v: __m512i) {
    // SAFETY: the array has 64 bytes; the store need not be aligned.
    unsafe { _mm512_storeu_epi64(a.as_mut_ptr().cast(), v) }
}

#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx512f,sse2")]
pub fn dot_wide(a: &[Binary], b: &[Binary]) -> u128 {
    let (a, b) = (words_of(a), words_of(b));
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
    let mut sum = _mm512_setzero_si512();
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (load(a), load(b));
        let even = _mm512_clmulepi64_epi128::<0x00>(a, b);
        let odd = _mm512_clmulepi64_epi128::<0x11>(a, b);
        sum = _mm512_xor_si512(sum, _mm512_xor_si512(even, odd));
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| carryless(*a, *b));
    rest.fold(pairs_summed(sum), |sum, product| sum ^ product)
}

#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx512f,sse2")]
pub fn multiply_wide(acc: &mut [Binary], b: &[u64]) {
    let (chunks, rest) = words_of_mut(acc).as_chunks_mut();
    let (by, by_rest) = b.as_chunks();
    for (acc, b) in chunks.iter_mut().zip(by) {
        let (a, b) = (load(acc), load(b));
        let ends = [
            _mm512_clmulepi64_epi128::<0x00>(a, b),
            _mm512_clmulepi64_epi128::<0x11>(a, b),
        ];
        store(acc, reduced(ends));
    }
    for (acc, b) in rest.iter_mut().zip(by_rest) {
        *acc = reduce(carryless(*acc, *b));
    }
}

/// The remainders of four sums of products each, of even and odd elements.
#[target_feature(enable = "vpclmulqdq,avx512f")]
#[inline]
fn reduced(mut ends: [__m512i; 2]) -> __m512i {
    let low = _mm512_set1_epi64(0b11011);
    // The upper half times X^4 + X^3 + X + 1, and again what is then above.
    for product in &mut ends {
        let once = _mm512_clmulepi64_epi128::<0x01>(*product, low);
        let twice = _mm512_clmulepi64_epi128::<0x01>(once, low);
        *product = _mm512_ternarylogic_epi64::<0x96>(*product, once, twice);
    }
    _mm512_unpacklo_epi64(ends[0], ends[1])
}

/// Parts of each side that are multiplied at a time.
pub const TILE: usize = 4;

/// A part as whole vectors.
pub type Part = Vec<[u64; LANES]>;

/// `x` as `parts` parts of `len` elements, each as whole vectors, with zeros where `x` has no
/// elements.
pub fn padded(x: &[Binary], len: usize, parts: usize) -> Vec<Part> {
    let mut all = vec![vec![[0; LANES]; len.div_ceil(LANES)]; parts];
    for (to, part) in all.iter_mut().zip(words_of(x).chunks(len)) {
        to.as_flattened_mut()[..part.len()].copy_from_slice(part);
    }
    all
}

/// `sum_g u_j[g] v_k[g]` of all pairs, `k` running fastest, of the first parts.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx512f,sse2")]
pub fn tile(u: &[Part], v: &[Part]) -> [[u128; TILE]; TILE] {
    let mut sums = [[_mm512_setzero_si512(); TILE]; TILE];
    let n = u[0].len();
    let u: [_; TILE] = std::array::from_fn(|i| &u[i][..n]);
    let v: [_; TILE] = std::array::from_fn(|i| &v[i][..n]);
    for at in 0..n {
        let v = v.map(|v| load(&v[at]));
        for (sums, u) in sums.iter_mut().zip(u) {
            let u = load(&u[at]);
            for (sum, v) in sums.iter_mut().zip(v) {
                let even = _mm512_clmulepi64_epi128::<0x00>(u, v);
                let odd = _mm512_clmulepi64_epi128::<0x11>(u, v);
                // The sum of three.
                *sum = _mm512_ternarylogic_epi64::<0x96>(*sum, even, odd);
            }
        }
    }
    sums.map(|row| row.map(|sum| pairs_summed(sum)))
}

/// The sum of the four pairs of words.
#[target_feature(enable = "avx512f")]
#[inline]
fn pairs_summed(sum: __m512i) -> u128 {
    let mut lanes = [0; LANES];
    store(&mut lanes, sum);
    let pairs = lanes.as_chunks::<2>().0.iter();
    pairs.fold(0, |sum, [low, high]| {
        sum ^ (u128::from(*high) << 64 | u128::from(*low))
    })
}

/// `sum_j c_j x_j`, element by element, of vectors that are zero where they end.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx512f,sse2")]
pub fn combine(out: &mut [Binary], c: &[Binary], x: &[&[Binary]]) {
    let (chunks, rest) = words_of_mut(out).as_chunks_mut();
    for (at, out) in chunks.iter_mut().enumerate() {
        let mut ends = [_mm512_setzero_si512(); 2];
        for (c, x) in c.iter().zip(x) {
            let (c, x) = (
                _mm512_set1_epi64(c.0 as i64),
                load_some(&x[(LANES * at).min(x.len())..]),
            );
            let even = _mm512_clmulepi64_epi128::<0x00>(c, x);
            let odd = _mm512_clmulepi64_epi128::<0x11>(c, x);
            ends = [
                _mm512_xor_si512(ends[0], even),
                _mm512_xor_si512(ends[1], odd),
            ];
        }
        store(out, reduced(ends));
    }
    let start = LANES * chunks.len();
    for (at, out) in rest.iter_mut().enumerate() {
        let values = x.iter().map(|x| x.get(start + at).map_or(0, |x| x.0));
        let products = c.iter().zip(values).map(|(c, x)| carryless(c.0, x));
        *out = reduce(products.fold(0, |sum, product| sum ^ product));
    }
}

/// The first elements, and zeros where there are none.
#[target_feature(enable = "avx512f")]
#[inline]
fn load_some(x: &[Binary]) -> __m512i {
    match words_of(x).as_chunks().0.first() {
        Some(whole) => load(whole),
        None => {
            let mut some = [0; LANES];
            some[..x.len()].copy_from_slice(words_of(x));
            load(&some)
        }
    }
}
