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

impl Masked for Words512 {
    #[inline(always)]
    unsafe fn plus_where(self, o: Self, mask: u64) -> Self {
        // SAFETY: the caller has the instructions.
        Words512(unsafe { _mm512_mask_add_epi64(self.0, mask as __mmask8, self.0, o.0) })
    }
}

impl Masked for Words16 {
    #[inline(always)]
    unsafe fn plus_where(self, o: Self, mask: u64) -> Self {
        // SAFETY: the caller has the instructions.
        Words16(unsafe { _mm512_mask_add_epi32(self.0, mask as __mmask16, self.0, o.0) })
    }
}

/// The arguments: the lanes with the vectors of an element and of a product; the rows, of so many vectors, of an outer
/// product that are in registers; lanes with masks, and the rows and vectors of their sums.
macro_rules! polynomials_kernel {
    ($name:ident, $word:ty, $lanes:ident [$vectors:literal, $sums:literal], $rows:literal x $outer:literal,
     $features:literal $(, $masked:ident $masked_rows:literal x $masked_vectors:literal)?) => {
        impl Polynomials for $name {
            type Word = $word;

            fn times_plus(acc: &mut [Element<$word>], point: u64, x: &[Element<$word>]) {
                #[target_feature(enable = $features)]
                fn run(acc: &mut [Element<$word>], point: u64, x: &[Element<$word>]) {
                    // SAFETY: this function has the instructions of the lanes.
                    unsafe { times_plus::<$lanes, $vectors, $sums>(acc, point, x) }
                }
                // SAFETY: the kernel runs only under the instruction set of its name.
                unsafe { run(acc, point, x) }
            }
            $(
            fn point_sums(out: &mut [Element<$word>], points: &[u64], x: &[$word]) -> bool {
                #[target_feature(enable = $features)]
                fn run(out: &mut [Element<$word>], points: &[u64], x: &[$word]) {
                    // SAFETY: this function has the instructions of the lanes.
                    unsafe { point_sums::<$masked, $masked_rows, $masked_vectors>(out, points, x) }
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

polynomials_kernel!(Words64Avx512, u64, Words512 [6, 12], 8 x 3, "avx512f,avx512dq", Words512 4 x 6);
polynomials_kernel!(Words64Avx2, u64, Words256 [12, 24], 4 x 2, "avx2");
polynomials_kernel!(Digits32Avx512, u32, Words8 [6, 12], 8 x 3, "avx512f,avx512vl", Words16 8 x 3);
polynomials_kernel!(Digits32Avx2, u32, Words8 [6, 12], 4 x 3, "avx2");
