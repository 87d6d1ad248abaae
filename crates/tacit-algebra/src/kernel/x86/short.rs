//! [`Short`] by vector instructions.

use std::arch::x86_64::*;

use super::{Digits32Avx2, Digits32Avx512, Words64Avx2, Words64Avx512, Words256, Words512};
use crate::kernel::Lanes;
use crate::kernel::short::{Element, Line, Masked, Short, Square, outer, point_sums, times_plus};

lanes!(
    Words8,
    __m256i,
    u32,
    8,
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_set1_epi32 as i32,
    _mm256_add_epi32,
    _mm256_sub_epi32,
    |c, a, b| _mm256_add_epi32(c, _mm256_mullo_epi32(a, b))
);

lanes!(
    Words16,
    __m512i,
    u32,
    16,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_set1_epi32 as i32,
    _mm512_add_epi32,
    _mm512_sub_epi32,
    |c, a, b| _mm512_add_epi32(c, _mm512_mullo_epi32(a, b))
);

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

/// Lanes, the vectors of an element and of a product, how many rows of how many vectors an outer product has in
/// registers, and lanes with masks, the rows and vectors of their sums.
macro_rules! short_kernel {
    ($name:ident, $word:ty, $lanes:ident [$vectors:literal, $sums:literal], $rows:literal x $outer:literal,
     $features:literal $(, $masked:ident $masked_rows:literal x $masked_vectors:literal)?) => {
        impl Short for $name {
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

short_kernel!(Words64Avx512, u64, Words512 [6, 12], 8 x 3, "avx512f,avx512dq", Words512 4 x 6);
short_kernel!(Words64Avx2, u64, Words256 [12, 24], 4 x 2, "avx2");
short_kernel!(Digits32Avx512, u32, Words8 [6, 12], 8 x 3, "avx512f,avx512vl", Words16 8 x 3);
short_kernel!(Digits32Avx2, u32, Words8 [6, 12], 4 x 3, "avx2");
