//! [`Polynomials`] by vector instructions.

use std::arch::x86_64::*;

use super::{Digits32Avx2, Digits32Avx512, Words64Avx2, Words64Avx512, Words256, Words512};
use crate::Ring;
use crate::kernel::Lanes;
use crate::kernel::polynomials::{Element, LINE, Line, Polynomials, Square, outer, times_plus};

lanes!(Words8, u32 x 8, |c, a, b| _mm256_add_epi32(c, _mm256_mullo_epi32(a, b)));
lanes!(Words16, u32 x 16, |c, a, b| _mm512_add_epi32(c, _mm512_mullo_epi32(a, b)));

/// [`Lanes`] with additions under a mask.
///
/// # Safety
/// That of [`Lanes`].
trait Masked: Lanes {
    /// `self + o` in the lanes whose bits are set in `mask`, `self` in the others.
    unsafe fn plus_where(self, o: Self, mask: u64) -> Self;
}

/// [`Polynomials::point_sums`] with the sums of `ROWS` rows, `VECTORS` vectors each, in registers.
///
/// # Safety
/// That of [`Lanes`].
#[inline(always)]
unsafe fn point_sums<L: Masked, const ROWS: usize, const VECTORS: usize>(
    out: &mut [Element<L::Word>],
    points: &[u64],
    x: &[L::Word],
) {
    const { assert!(VECTORS * L::LEN == 2 * LINE) }
    let n = points.len();
    assert_eq!(x.len(), out.len() * n);
    for (out, x) in out.chunks_mut(ROWS).zip(x.chunks(ROWS * n.max(1))) {
        // Rows that are missing are the last one again.
        let rows: [&[L::Word]; ROWS] = std::array::from_fn(|i| &x[i.min(out.len() - 1) * n..][..n]);
        // SAFETY: the caller's promise.
        unsafe {
            let mut sums = [[L::splat(L::Word::ZERO); VECTORS]; ROWS];
            for (j, point) in points.iter().enumerate() {
                for (sums, row) in sums.iter_mut().zip(rows) {
                    let word = L::splat(row[j]);
                    for (v, sum) in sums.iter_mut().enumerate() {
                        *sum = sum.plus_where(word, point >> (v * L::LEN));
                    }
                }
            }
            for (out, sums) in out.iter_mut().zip(sums) {
                let vectors = sums.into_iter().zip(out.chunks_exact_mut(L::LEN));
                vectors.for_each(|(sum, out)| sum.store(out));
            }
        }
    }
}

impl Masked for Words16 {
    #[inline(always)]
    unsafe fn plus_where(self, o: Self, mask: u64) -> Self {
        // SAFETY: the caller has the instructions.
        Words16(unsafe { _mm512_mask_add_epi32(self.0, mask as __mmask16, self.0, o.0) })
    }
}

/// Points whose words are looked up at once, and vectors of an element of 64-bit words.
const TOGETHER: usize = 4;
const VECTORS: usize = 2 * LINE / 8;

/// [`Polynomials::point_sums`] by a table of the sixteen sums of four words, two registers, for which each coefficient
/// has the number that its bits in the four points make: one lookup where masks take four additions.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn point_sums_by_table<const ROWS: usize>(
    out: &mut [Element<u64>],
    points: &[u64],
    x: &[u64],
) {
    let n = points.len();
    assert_eq!(x.len(), out.len() * n);
    // SAFETY: the caller's promise; the stores are within an element.
    unsafe {
        let mut numbers = vec![[_mm512_setzero_si512(); VECTORS]; n.div_ceil(TOGETHER)];
        // No closures: what they call would not be compiled for the instructions here.
        for (numbers, points) in numbers.iter_mut().zip(points.chunks(TOGETHER)) {
            for (i, point) in points.iter().enumerate() {
                for (v, number) in numbers.iter_mut().enumerate() {
                    let bits = _mm512_maskz_set1_epi64((point >> (8 * v)) as __mmask8, 1 << i);
                    *number = _mm512_or_si512(*number, bits);
                }
            }
        }
        let whole = n / TOGETHER;
        for (out, x) in out.chunks_mut(ROWS).zip(x.chunks(ROWS * n.max(1))) {
            // Rows that are missing are the last one again.
            let rows: [&[u64]; ROWS] = std::array::from_fn(|i| &x[i.min(out.len() - 1) * n..][..n]);
            let mut sums = [[_mm512_setzero_si512(); VECTORS]; ROWS];
            for (at, numbers) in numbers[..whole].iter().enumerate() {
                for (sums, row) in sums.iter_mut().zip(rows) {
                    look_up(sums, numbers, &row.as_chunks::<TOGETHER>().0[at]);
                }
            }
            if let Some(numbers) = numbers.get(whole) {
                for (sums, row) in sums.iter_mut().zip(rows) {
                    let rest = &row[whole * TOGETHER..];
                    let words = std::array::from_fn(|i| rest.get(i).copied().unwrap_or(0));
                    look_up(sums, numbers, &words);
                }
            }
            for (out, sums) in out.iter_mut().zip(sums) {
                for (sum, out) in sums.into_iter().zip(out.chunks_exact_mut(8)) {
                    _mm512_storeu_si512(out.as_mut_ptr().cast(), sum);
                }
            }
        }
    }
}

/// Adds to every coefficient the sum of words that it has the number of.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn look_up(
    sums: &mut [__m512i; VECTORS],
    numbers: &[__m512i; VECTORS],
    words: &[u64; TOGETHER],
) {
    // SAFETY: the caller's promise.
    unsafe {
        let [a, b, c, d] = *words;
        let pairs = _mm512_add_epi64(
            _mm512_maskz_set1_epi64(0b1010_1010, a as i64),
            _mm512_maskz_set1_epi64(0b1100_1100, b as i64),
        );
        let without = _mm512_add_epi64(pairs, _mm512_maskz_set1_epi64(0b1111_0000, c as i64));
        let with = _mm512_add_epi64(without, _mm512_set1_epi64(d as i64));
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum = _mm512_add_epi64(*sum, _mm512_permutex2var_epi64(without, *number, with));
        }
    }
}

/// [`Polynomials::times_plus`] in registers from the element's words to the remainder: nothing is read shifted that was
/// just written, which would wait for the cache.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn times_plus_512(acc: &mut [Element<u64>], point: u64, x: &[Element<u64>]) {
    let zeros = [0; 2 * LINE];
    for (acc, x) in acc
        .iter_mut()
        .zip(x.iter().chain(std::iter::repeat(&zeros)))
    {
        // SAFETY: the caller's promise; what lies beside the element is masked out.
        unsafe {
            let mut sums = [_mm512_setzero_si512(); 2 * VECTORS];
            for lanes in 0..8 {
                let words = acc.as_ptr().cast::<i64>().wrapping_sub(lanes);
                let first_words = 0xff << lanes;
                let mut parts = [_mm512_maskz_loadu_epi64(first_words, words); VECTORS];
                for (v, part) in parts.iter_mut().enumerate().skip(1) {
                    *part = _mm512_loadu_epi64(words.wrapping_add(8 * v));
                }
                let last = _mm512_maskz_loadu_epi64(!first_words, words.wrapping_add(2 * LINE));
                for first in 0..VECTORS {
                    if point >> (8 * first + lanes) & 1 == 1 {
                        for v in 0..VECTORS {
                            sums[first + v] = _mm512_add_epi64(sums[first + v], parts[v]);
                        }
                        sums[first + VECTORS] = _mm512_add_epi64(sums[first + VECTORS], last);
                    }
                }
            }
            remainder_512(acc, &sums, x);
        }
    }
}

/// The remainder of a product modulo `X^48 + X^5 + X^3 + X^2 + 1`, plus `x`.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn remainder_512(
    out: &mut Element<u64>,
    product: &[__m512i; 2 * VECTORS],
    x: &Element<u64>,
) {
    // SAFETY: the caller's promise; the loads and stores are within an element.
    unsafe {
        let zero = _mm512_setzero_si512();
        let mut high = [zero; VECTORS];
        high.copy_from_slice(&product[VECTORS..]);
        // What the highest terms leave beyond the degree.
        let over = higher_terms(zero, high[VECTORS - 1]);
        high[0] = _mm512_sub_epi64(high[0], over);
        let mut before = zero;
        for v in 0..VECTORS {
            let less = _mm512_add_epi64(high[v], higher_terms(high[v], before));
            let x = _mm512_loadu_epi64(x[8 * v..][..8].as_ptr().cast());
            let sum = _mm512_sub_epi64(_mm512_add_epi64(product[v], x), less);
            _mm512_storeu_epi64(out[8 * v..][..8].as_mut_ptr().cast(), sum);
            before = high[v];
        }
    }
}

/// Eight coefficients, and the eight before them, times `X^2 + X^3 + X^5`.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn higher_terms(here: __m512i, before: __m512i) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe {
        let two = _mm512_alignr_epi64::<6>(here, before);
        let three = _mm512_alignr_epi64::<5>(here, before);
        let five = _mm512_alignr_epi64::<3>(here, before);
        _mm512_add_epi64(_mm512_add_epi64(two, three), five)
    }
}

/// The arguments: how a product with a point is computed; the lanes; the rows, of so many vectors, of an outer product
/// that are in registers; how sums of points times words are computed.
macro_rules! polynomials_kernel {
    ($name:ident, $word:ty, $times_plus:expr, $lanes:ident $rows:literal x $outer:literal,
     $features:literal $(, $point_sums:expr)?) => {
        impl Polynomials for $name {
            type Word = $word;

            fn times_plus(acc: &mut [Element<$word>], point: u64, x: &[Element<$word>]) {
                #[target_feature(enable = $features)]
                fn run(acc: &mut [Element<$word>], point: u64, x: &[Element<$word>]) {
                    // SAFETY: this function has the instructions of the lanes.
                    unsafe { $times_plus(acc, point, x) }
                }
                // SAFETY: the kernel runs only under the instruction set of its name.
                unsafe { run(acc, point, x) }
            }
            $(
            fn point_sums(out: &mut [Element<$word>], points: &[u64], x: &[$word]) -> bool {
                #[target_feature(enable = $features)]
                fn run(out: &mut [Element<$word>], points: &[u64], x: &[$word]) {
                    // SAFETY: this function has the instructions of the lanes.
                    unsafe { $point_sums(out, points, x) }
                }
                // SAFETY: the kernel runs only under the instruction set of its name.
                unsafe { run(out, points, x) }
                true
            }
            )?
            fn add_outer(sums: &mut Square<$word>, a: &[Line<$word>], b: &[Line<$word>]) {
                #[target_feature(enable = $features)]
                fn run(sums: &mut Square<$word>, a: &[Line<$word>], b: &[Line<$word>]) {
                    // SAFETY: this function has the instructions of the lanes.
                    unsafe { outer::<$lanes, $rows, $outer>(sums, a, b) }
                }
                // SAFETY: the kernel runs only under the instruction set of its name.
                unsafe { run(sums, a, b) }
            }
        }
    };
}

polynomials_kernel!(Words64Avx512, u64, times_plus_512, Words512 8 x 3, "avx512f,avx512dq", point_sums_by_table::<3>);
polynomials_kernel!(Words64Avx2, u64, times_plus::<Words256, 12, 24>, Words256 4 x 2, "avx2");
polynomials_kernel!(Digits32Avx512, u32, times_plus::<Words8, 6, 12>, Words8 8 x 3, "avx512f,avx512vl", point_sums::<Words16, 8, 3>);
polynomials_kernel!(Digits32Avx2, u32, times_plus::<Words8, 6, 12>, Words8 4 x 3, "avx2");
