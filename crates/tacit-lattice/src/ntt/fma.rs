//! Transforms by AVX2 with fused multiply-add: four residues at once, as floats that are whole.
//!
//! Between passes a word holds a float, of any sign: a product is exact as two floats, of which the
//! multiple of `p` is taken that lies nearest (van der Hoeven, Lecerf and Quintin, "Modular SIMD
//! arithmetic in Mathemagix", TOMS 2016). With `p < 2^50` what is multiplied may be as large as
//! `4 p`, and its product is within `5/8 p`; a butterfly adds as much, so that after five layers
//! residues are reduced to `p / 2`. Layers are taken two at a time, so that they are read half as often.

use std::arch::x86_64::*;
use std::sync::OnceLock;

use super::Ntt;
use crate::modulus::Modulus;

const LANES: usize = 4;
/// The least degree.
pub const LEAST: usize = 4 * LANES;

/// Plus this and less it again, a float is a whole number.
const WHOLE: f64 = 6_755_399_441_055_744.0;
/// The float whose last bits a small whole number is put into.
const SHIFT: f64 = 4_503_599_627_370_496.0;
/// Layers after which what is multiplied may be `4 p`.
const LAYERS: u32 = 5;

/// Whether this processor has what the functions here need.
pub fn available() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"))
}

/// Powers of the root within `p / 2` of 0, each with its quotient by `p`.
#[derive(Clone)]
struct Twiddles {
    each: Vec<[f64; 2]>,
    /// Twiddles of the two layers of the smallest spans, as vectors of four blocks: for each 16 values the one twiddle
    /// of the first of them, the two of the second.
    tail: Vec<[[f64; LANES]; 2]>,
}

impl Twiddles {
    fn new(p: u64, value: &[u64]) -> Self {
        let each: Vec<[f64; 2]> = value.iter().map(|v| balanced(*v, p)).collect();
        let degree = value.len();
        let vectors = (0..degree / 16).flat_map(|group| {
            let first = degree / 4 + 4 * group;
            [(0, first), (1, 2 * first), (1, 2 * first + 1)]
        });
        let lanes = |(k, first): (usize, usize)| {
            [0, 1].map(|of| std::array::from_fn(|lane| each[first + (lane << k)][of]))
        };
        Twiddles {
            tail: vectors.map(lanes).collect(),
            each,
        }
    }
}

/// A residue within `p / 2` of 0, and its quotient by `p`.
fn balanced(v: u64, p: u64) -> [f64; 2] {
    let near = match v > p / 2 {
        true => v as f64 - p as f64,
        false => v as f64,
    };
    [near, near / p as f64]
}

/// What a transform takes.
#[derive(Clone)]
pub struct Floats {
    forward: Twiddles,
    backward: Twiddles,
    /// `1 / N`.
    last: [f64; 2],
}

impl Floats {
    /// Makes floats of the twiddles of a transform, in their order.
    pub fn new(modulus: &Modulus, forward: &[u64], backward: &[u64], last: u64) -> Self {
        let p = modulus.value();
        assert!(p < 1 << 50, "products of residues are exact");
        Floats {
            forward: Twiddles::new(p, forward),
            backward: Twiddles::new(p, backward),
            last: balanced(last, p),
        }
    }
}

/// Constants in every lane.
#[derive(Clone, Copy)]
struct Prime {
    p: __m256d,
    inverse: __m256d,
    whole: __m256d,
    shift: __m256d,
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn prime(p: u64) -> Prime {
    Prime {
        p: _mm256_set1_pd(p as f64),
        inverse: _mm256_set1_pd(1.0 / p as f64),
        whole: _mm256_set1_pd(WHOLE),
        shift: _mm256_set1_pd(SHIFT),
    }
}

type Factor = (__m256d, __m256d);

/// `y w` within `5/8 p` of 0, `y` within `4 p`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn times(y: __m256d, (value, ratio): Factor, of: Prime) -> __m256d {
    let high = _mm256_mul_pd(y, value);
    let low = _mm256_fmsub_pd(y, value, high);
    let quotient = _mm256_sub_pd(_mm256_fmadd_pd(y, ratio, of.whole), of.whole);
    _mm256_add_pd(_mm256_fnmadd_pd(quotient, of.p, high), low)
}

/// `x` within about `p / 2` of 0.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn reduced(x: __m256d, of: Prime) -> __m256d {
    let quotient = _mm256_sub_pd(_mm256_fmadd_pd(x, of.inverse, of.whole), of.whole);
    _mm256_fnmadd_pd(quotient, of.p, x)
}

/// A butterfly with its twiddles.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn turn(x: __m256d, y: __m256d, twiddle: Factor, of: Prime) -> [__m256d; 2] {
    let b = times(y, twiddle, of);
    [_mm256_add_pd(x, b), _mm256_sub_pd(x, b)]
}

/// The inverse of a butterfly.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn turn_back(x: __m256d, y: __m256d, twiddle: Factor, of: Prime) -> [__m256d; 2] {
    let difference = _mm256_sub_pd(x, y);
    [_mm256_add_pd(x, y), times(difference, twiddle, of)]
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn load(from: &[u64; LANES]) -> __m256d {
    // SAFETY: there are four words.
    unsafe { _mm256_loadu_pd(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn store(to: &mut [u64; LANES], x: __m256d) {
    // SAFETY: there are four words.
    unsafe { _mm256_storeu_pd(to.as_mut_ptr().cast(), x) }
}

/// Whole numbers below `2^52` as floats.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn float(words: __m256d, of: Prime) -> __m256d {
    _mm256_sub_pd(_mm256_or_pd(words, of.shift), of.shift)
}

/// What lies within `p` of 0 as residues: whole numbers.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn residues(x: __m256d, of: Prime) -> __m256d {
    // A blend by the sign, which 0 may have, too.
    let up = _mm256_and_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(x, _mm256_setzero_pd()), of.p);
    let x = _mm256_add_pd(_mm256_add_pd(x, up), of.shift);
    _mm256_xor_pd(x, of.shift)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn one([value, ratio]: [f64; 2]) -> Factor {
    (_mm256_set1_pd(value), _mm256_set1_pd(ratio))
}

/// A vector of twiddles.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn vector(of: &[[f64; LANES]; 2]) -> Factor {
    // SAFETY: there are four floats of each.
    let load = |from: &[f64; LANES]| unsafe { _mm256_loadu_pd(from.as_ptr()) };
    (load(&of[0]), load(&of[1]))
}

/// Four vectors as the columns of four others.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn transposed([a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
    let (e, f) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
    let (g, h) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
    [
        _mm256_permute2f128_pd::<0x20>(e, g),
        _mm256_permute2f128_pd::<0x20>(f, h),
        _mm256_permute2f128_pd::<0x31>(e, g),
        _mm256_permute2f128_pd::<0x31>(f, h),
    ]
}

/// The vectors of some words.
fn vectors(words: &mut [u64]) -> &mut [[u64; LANES]] {
    words.as_chunks_mut().0
}

/// Four quarters of a block, vector by vector.
fn quarters(block: &mut [u64]) -> impl Iterator<Item = [&mut [u64; LANES]; 4]> {
    let (left, right) = block.split_at_mut(block.len() / 2);
    let (a, b) = left.split_at_mut(left.len() / 2);
    let (c, d) = right.split_at_mut(right.len() / 2);
    let pairs = |x, y| std::iter::zip(vectors(x), vectors(y));
    std::iter::zip(pairs(a, b), pairs(c, d)).map(|((a, b), (c, d))| [a, b, c, d])
}

/// One layer of span `t`, of which `m` twiddles are used.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn layer(values: &mut [u64], (m, t): (usize, usize), twiddles: &Twiddles, of: Prime) {
    for (i, block) in values.chunks_exact_mut(2 * t).enumerate() {
        let twiddle = one(twiddles.each[m + i]);
        let (left, right) = block.split_at_mut(t);
        for (x, y) in std::iter::zip(vectors(left), vectors(right)) {
            let [a, b] = turn(load(x), load(y), twiddle, of);
            store(x, a);
            store(y, b);
        }
    }
}

/// Two layers, of spans `t` and `t / 2`; `REDUCE` reduces before them.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn two_layers<const REDUCE: bool>(
    values: &mut [u64],
    (m, t): (usize, usize),
    twiddles: &Twiddles,
    of: Prime,
) {
    for (i, block) in values.chunks_exact_mut(2 * t).enumerate() {
        let [first, left, right] =
            [m + i, 2 * (m + i), 2 * (m + i) + 1].map(|at| one(twiddles.each[at]));
        for words in quarters(block) {
            let [a, b, c, d] = words.each_ref().map(|words| match REDUCE {
                true => reduced(load(words), of),
                false => load(words),
            });
            let [[a, c], [b, d]] = [turn(a, c, first, of), turn(b, d, first, of)];
            let [[a, b], [c, d]] = [turn(a, b, left, of), turn(c, d, right, of)];
            for (to, x) in std::iter::zip(words, [a, b, c, d]) {
                store(to, x);
            }
        }
    }
}

/// # Safety
/// The processor must have AVX2 and FMA; there are as many values as the transform's degree, [`LEAST`] or more.
#[target_feature(enable = "avx2,fma")]
pub unsafe fn forward(ntt: &Ntt, floats: &Floats, values: &mut [u64]) {
    let (of, twiddles) = (prime(ntt.modulus.value()), &floats.forward);
    for words in vectors(values) {
        store(words, float(load(words), of));
    }
    // Residues are within `p`, which a layer makes of what is reduced.
    let (mut m, mut t, mut grown) = (1, ntt.degree / 2, 1);
    if t.ilog2() % 2 == 0 {
        layer(values, (m, t), twiddles, of);
        (m, t, grown) = (2 * m, t / 2, grown + 1);
    }
    while t > LANES / 2 {
        if grown + 1 > LAYERS {
            two_layers::<true>(values, (m, t), twiddles, of);
            grown = 0;
        } else {
            two_layers::<false>(values, (m, t), twiddles, of);
        }
        (m, t, grown) = (4 * m, t / 4, grown + 2);
    }
    for (block, twiddles) in values
        .chunks_exact_mut(16)
        .zip(twiddles.tail.chunks_exact(3))
    {
        let [first, left, right] = [0, 1, 2].map(|i| vector(&twiddles[i]));
        let rows = vectors(block);
        let [a, b, c, d] = transposed([0, 1, 2, 3].map(|i| reduced(load(&rows[i]), of)));
        let [[a, c], [b, d]] = [turn(a, c, first, of), turn(b, d, first, of)];
        let [[a, b], [c, d]] = [turn(a, b, left, of), turn(c, d, right, of)];
        let made = [a, b, c, d].map(|x| residues(reduced(x, of), of));
        for (row, x) in rows.iter_mut().zip(transposed(made)) {
            store(row, x);
        }
    }
}

/// # Safety
/// The processor must have AVX2 and FMA; there are as many values as the transform's degree, [`LEAST`] or more.
#[target_feature(enable = "avx2,fma")]
pub unsafe fn backward(ntt: &Ntt, floats: &Floats, values: &mut [u64]) {
    let (of, twiddles) = (prime(ntt.modulus.value()), &floats.backward);
    for (block, twiddles) in values
        .chunks_exact_mut(16)
        .zip(twiddles.tail.chunks_exact(3))
    {
        let [first, left, right] = [0, 1, 2].map(|i| vector(&twiddles[i]));
        let rows = vectors(block);
        let [a, b, c, d] = transposed([0, 1, 2, 3].map(|i| float(load(&rows[i]), of)));
        let [[a, b], [c, d]] = [turn_back(a, b, left, of), turn_back(c, d, right, of)];
        let [a, c] = [a, c].map(|sum| reduced(sum, of));
        let [[a, c], [b, d]] = [turn_back(a, c, first, of), turn_back(b, d, first, of)];
        for (row, x) in rows.iter_mut().zip(transposed([a, b, c, d])) {
            store(row, x);
        }
    }
    // Sums are within `5/4 p` here, and after two layers of which the first is reduced.
    let (mut m, mut t) = (ntt.degree / 8, LANES);
    while m > 1 {
        for (i, block) in values.chunks_exact_mut(4 * t).enumerate() {
            let i = i + m / 2;
            let [first, left, right] = [i, 2 * i, 2 * i + 1].map(|at| one(twiddles.each[at]));
            for words in quarters(block) {
                let [a, b, c, d] = words.each_ref().map(|words| load(words));
                let [[a, b], [c, d]] = [turn_back(a, b, left, of), turn_back(c, d, right, of)];
                let [a, c] = [a, c].map(|sum| reduced(sum, of));
                let [[a, c], [b, d]] = [turn_back(a, c, first, of), turn_back(b, d, first, of)];
                for (to, x) in std::iter::zip(words, [a, b, c, d]) {
                    store(to, x);
                }
            }
        }
        (m, t) = (m / 4, 4 * t);
    }
    if m == 1 {
        let twiddle = one(twiddles.each[1]);
        let (left, right) = values.split_at_mut(t);
        for (x, y) in std::iter::zip(vectors(left), vectors(right)) {
            let [a, b] = turn_back(load(x), load(y), twiddle, of);
            store(x, a);
            store(y, b);
        }
    }
    let last = one(floats.last);
    for words in vectors(values) {
        store(words, residues(times(load(words), last, of), of));
    }
}
