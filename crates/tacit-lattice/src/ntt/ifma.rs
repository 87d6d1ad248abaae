//! Transforms by AVX-512 IFMA: eight products of 52 bits at once.
//!
//! Layers of a span of 8 or more take whole vectors. Of the last three, whose partners lie in one
//! vector, eight blocks of eight are transposed, so that partners lie in different vectors.

use std::arch::x86_64::*;
use std::sync::OnceLock;

use super::{Ntt, Twiddles, portable};
use crate::modulus::{Modulus, WORD};

const LANES: usize = 8;

/// Whether this processor has what the functions here need.
pub fn available() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512ifma")
            && is_x86_feature_detected!("avx512dq")
    })
}

/// `p` and `2 p` in every lane.
#[derive(Clone, Copy)]
struct Prime {
    p: __m512i,
    twice: __m512i,
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
fn prime(p: u64) -> Prime {
    Prime {
        p: _mm512_set1_epi64(p as i64),
        twice: _mm512_set1_epi64(2 * p as i64),
    }
}

/// `y w` below `2 p`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
fn times(y: __m512i, value: __m512i, ratio: __m512i, of: Prime) -> __m512i {
    let zero = _mm512_setzero_si512();
    let quotient = _mm512_madd52hi_epu64(zero, y, ratio);
    let product = _mm512_madd52lo_epu64(zero, y, value);
    let taken = _mm512_madd52lo_epu64(zero, quotient, of.p);
    let low = _mm512_set1_epi64((1 << 52) - 1);
    _mm512_and_si512(_mm512_sub_epi64(product, taken), low)
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
fn below(x: __m512i, bound: __m512i) -> __m512i {
    _mm512_min_epu64(x, _mm512_sub_epi64(x, bound))
}

/// A butterfly with its twiddles.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
fn turn(x: __m512i, y: __m512i, (value, ratio): (__m512i, __m512i), of: Prime) -> [__m512i; 2] {
    let (a, b) = (below(x, of.twice), times(y, value, ratio, of));
    let difference = _mm512_sub_epi64(_mm512_add_epi64(a, of.twice), b);
    [_mm512_add_epi64(a, b), difference]
}

/// The inverse of a butterfly.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
fn turn_back(
    x: __m512i,
    y: __m512i,
    (value, ratio): (__m512i, __m512i),
    of: Prime,
) -> [__m512i; 2] {
    let sum = _mm512_add_epi64(x, y);
    let difference = _mm512_sub_epi64(_mm512_add_epi64(x, of.twice), y);
    [below(sum, of.twice), times(difference, value, ratio, of)]
}

/// Eight words from the `at`th on.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(from: &[u64], at: usize) -> __m512i {
    let words = &from[at..at + LANES];
    // SAFETY: there are eight words.
    unsafe { _mm512_loadu_epi64(words.as_ptr().cast()) }
}

/// Eight whole numbers from the `at`th on.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_signed(from: &[i64], at: usize) -> __m512i {
    let words = &from[at..at + LANES];
    // SAFETY: there are eight words.
    unsafe { _mm512_loadu_epi64(words.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(to: &mut [u64], at: usize, x: __m512i) {
    let words = &mut to[at..at + LANES];
    // SAFETY: there are eight words.
    unsafe { _mm512_storeu_epi64(words.as_mut_ptr().cast(), x) }
}

/// Eight vectors as the columns of eight others.
#[inline]
#[target_feature(enable = "avx512f")]
fn transposed(x: [__m512i; 8]) -> [__m512i; 8] {
    let pairs = |i: usize, j: usize| {
        [
            _mm512_unpacklo_epi64(x[i], x[j]),
            _mm512_unpackhi_epi64(x[i], x[j]),
        ]
    };
    let [a, b, c, d] = [pairs(0, 1), pairs(2, 3), pairs(4, 5), pairs(6, 7)];
    // Lanes of 128 bits: two rounds of a 4 x 4 transposition.
    let quads = |a: __m512i, b: __m512i, c: __m512i, d: __m512i| {
        let even = [
            _mm512_shuffle_i64x2::<0x88>(a, b),
            _mm512_shuffle_i64x2::<0x88>(c, d),
        ];
        let odd = [
            _mm512_shuffle_i64x2::<0xdd>(a, b),
            _mm512_shuffle_i64x2::<0xdd>(c, d),
        ];
        [
            _mm512_shuffle_i64x2::<0x88>(even[0], even[1]),
            _mm512_shuffle_i64x2::<0x88>(odd[0], odd[1]),
            _mm512_shuffle_i64x2::<0xdd>(even[0], even[1]),
            _mm512_shuffle_i64x2::<0xdd>(odd[0], odd[1]),
        ]
    };
    let low = quads(a[0], b[0], c[0], d[0]);
    let high = quads(a[1], b[1], c[1], d[1]);
    [
        low[0], high[0], low[1], high[1], low[2], high[2], low[3], high[3],
    ]
}

/// A vector of twiddles.
#[inline]
#[target_feature(enable = "avx512f")]
fn vector([value, ratio]: &[[u64; 8]; 2]) -> (__m512i, __m512i) {
    (load(value, 0), load(ratio, 0))
}

/// A constant and its ratio, in every lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn constant(c: u64, p: u64) -> (__m512i, __m512i) {
    let ratio = ((u128::from(c) << WORD) / u128::from(p)) as i64;
    (_mm512_set1_epi64(c as i64), _mm512_set1_epi64(ratio))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn one(twiddles: &Twiddles, at: usize) -> (__m512i, __m512i) {
    let of = |from: &[u64]| _mm512_set1_epi64(from[at] as i64);
    (of(&twiddles.value), of(&twiddles.ratio))
}

/// # Safety
/// The processor must have IFMA; there are a multiple of 64 values, the transform's degree.
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
pub unsafe fn forward(ntt: &Ntt, values: &mut [u64]) {
    let of = prime(ntt.modulus.value());
    let (mut m, mut t) = (1, ntt.degree / 2);
    while t >= LANES {
        for i in 0..m {
            let twiddle = one(&ntt.forward, m + i);
            let start = 2 * i * t;
            for at in (start..start + t).step_by(LANES) {
                let [x, y] = turn(load(values, at), load(values, at + t), twiddle, of);
                store(values, at, x);
                store(values, at + t, y);
            }
        }
        (m, t) = (2 * m, t / 2);
    }
    for start in (0..values.len()).step_by(64) {
        let rows = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| load(values, start + 8 * i));
        let mut v = transposed(rows);
        let twiddles = &ntt.forward.tail[start / 64 * 7..][..7];
        for k in 0..3 {
            let span = 4 >> k;
            for i in 0..1 << k {
                let twiddle = vector(&twiddles[(1 << k) - 1 + i]);
                for j in 2 * i * span..2 * i * span + span {
                    [v[j], v[j + span]] = turn(v[j], v[j + span], twiddle, of);
                }
            }
        }
        let v = v.map(|x| below(below(x, of.twice), of.p));
        for (i, row) in transposed(v).into_iter().enumerate() {
            store(values, start + 8 * i, row);
        }
    }
}

/// # Safety
/// The processor must have IFMA; there are a multiple of 64 values, the transform's degree.
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
pub unsafe fn backward(ntt: &Ntt, values: &mut [u64]) {
    let of = prime(ntt.modulus.value());
    for start in (0..values.len()).step_by(64) {
        let rows = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| load(values, start + 8 * i));
        let mut v = transposed(rows);
        let twiddles = &ntt.backward.tail[start / 64 * 7..][..7];
        for k in [2, 1, 0] {
            let span = 4 >> k;
            for i in 0..1 << k {
                let twiddle = vector(&twiddles[(1 << k) - 1 + i]);
                for j in 2 * i * span..2 * i * span + span {
                    [v[j], v[j + span]] = turn_back(v[j], v[j + span], twiddle, of);
                }
            }
        }
        for (i, row) in transposed(v).into_iter().enumerate() {
            store(values, start + 8 * i, row);
        }
    }
    let (mut m, mut t) = (ntt.degree / 16, LANES);
    while m > 0 {
        for i in 0..m {
            let twiddle = one(&ntt.backward, m + i);
            let start = 2 * i * t;
            for at in (start..start + t).step_by(LANES) {
                let [x, y] = turn_back(load(values, at), load(values, at + t), twiddle, of);
                store(values, at, x);
                store(values, at + t, y);
            }
        }
        (m, t) = (m / 2, 2 * t);
    }
    let last = one(&ntt.last, 0);
    for at in (0..values.len()).step_by(LANES) {
        let x = times(load(values, at), last.0, last.1, of);
        store(values, at, below(x, of.p));
    }
}

/// # Safety
/// The processor must have IFMA; all lengths are equal and a multiple of 8.
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
pub unsafe fn multiply_add(low: &mut [u64], high: &mut [u64], x: &[u64], y: &[u64]) {
    for at in (0..low.len()).step_by(LANES) {
        let (a, b) = (load(x, at), load(y, at));
        let l = _mm512_madd52lo_epu64(load(low, at), a, b);
        let h = _mm512_madd52hi_epu64(load(high, at), a, b);
        store(low, at, l);
        store(high, at, h);
    }
}

/// # Safety
/// The processor must have IFMA; the lengths are equal and a multiple of 8.
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
pub unsafe fn join(modulus: &Modulus, low: &mut [u64], high: &[u64]) {
    let p = modulus.value();
    let (of, four) = (prime(p), _mm512_set1_epi64(4 * p as i64));
    let word = _mm512_set1_epi64((1 << WORD) - 1);
    let [one, first, second] =
        [0, u64::from(WORD), 2 * u64::from(WORD)].map(|bits| constant(modulus.pow(2, bits), p));
    for at in (0..low.len()).step_by(LANES) {
        let (l, h) = (load(low, at), load(high, at));
        let h = _mm512_add_epi64(h, _mm512_srli_epi64::<WORD>(l));
        let l = times(_mm512_and_si512(l, word), one.0, one.1, of);
        let m = times(_mm512_and_si512(h, word), first.0, first.1, of);
        let h = times(_mm512_srli_epi64::<WORD>(h), second.0, second.1, of);
        let sum = _mm512_add_epi64(_mm512_add_epi64(l, m), h);
        store(low, at, below(below(below(sum, four), of.twice), of.p));
    }
}

/// # Safety
/// The processor must have IFMA; the lengths are equal and a multiple of 8.
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
pub unsafe fn multiply(modulus: &Modulus, to: &mut [u64], from: &[u64], c: u64) {
    let (of, c) = (prime(modulus.value()), constant(c, modulus.value()));
    for at in (0..to.len()).step_by(LANES) {
        let x = times(load(from, at), c.0, c.1, of);
        store(to, at, below(x, of.p));
    }
}

/// # Safety
/// The processor must have IFMA; the lengths are equal and a multiple of 8.
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
pub unsafe fn signed(modulus: &Modulus, to: &mut [u64], from: &[i64]) {
    let p = modulus.value();
    let of = prime(p);
    let word = _mm512_set1_epi64((1 << WORD) - 1);
    let [one, first] = [0, u64::from(WORD)].map(|bits| constant(modulus.pow(2, bits), p));
    for at in (0..to.len()).step_by(LANES) {
        let x = load_signed(from, at);
        let size = _mm512_abs_epi64(x);
        let low = times(_mm512_and_si512(size, word), one.0, one.1, of);
        let high = times(_mm512_srli_epi64::<WORD>(size), first.0, first.1, of);
        let rest = below(below(_mm512_add_epi64(low, high), of.twice), of.p);
        let turned = below(_mm512_sub_epi64(of.p, rest), of.p);
        let negative = _mm512_movepi64_mask(x);
        store(to, at, _mm512_mask_blend_epi64(negative, rest, turned));
    }
}

/// # Safety
/// The processor must have AVX-512.
#[target_feature(enable = "avx512f,avx512dq")]
pub unsafe fn add(modulus: &Modulus, x: &mut [u64], y: &[u64]) {
    portable::add(modulus, x, y);
}

/// # Safety
/// The processor must have AVX-512.
#[target_feature(enable = "avx512f,avx512dq")]
pub unsafe fn sub(modulus: &Modulus, x: &mut [u64], y: &[u64]) {
    portable::sub(modulus, x, y);
}
