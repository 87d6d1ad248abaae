//! Explicit vector instructions. The kernels must run only under the
//! [`Isa`](crate::isa::Isa) of their names.

use std::arch::x86_64::*;

use super::{Kernel, Lanes, MOST_WIDTH, Side, accumulate, direct, store};

/// Lanes of so many words, and a sum plus a product.
macro_rules! lanes {
    ($name:ident, u64 x 8, $($add_product:tt)*) => {
        lanes!($name, __m512i, u64 x 8, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_set1_epi64 as i64,
               _mm512_add_epi64, _mm512_sub_epi64, $($add_product)*);
    };
    ($name:ident, u64 x 4, $($add_product:tt)*) => {
        lanes!($name, __m256i, u64 x 4, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_set1_epi64x as i64,
               _mm256_add_epi64, _mm256_sub_epi64, $($add_product)*);
    };
    ($name:ident, u32 x 16, $($add_product:tt)*) => {
        lanes!($name, __m512i, u32 x 16, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_set1_epi32 as i32,
               _mm512_add_epi32, _mm512_sub_epi32, $($add_product)*);
    };
    ($name:ident, u32 x 8, $($add_product:tt)*) => {
        lanes!($name, __m256i, u32 x 8, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_set1_epi32 as i32,
               _mm256_add_epi32, _mm256_sub_epi32, $($add_product)*);
    };
    ($name:ident, $vector:ty, $word:ident x $len:literal, $load:ident, $store:ident,
     $splat:ident as $signed:ty, $plus:ident, $less:ident, |$c:ident, $a:ident, $b:ident| $product:expr) => {
        #[derive(Clone, Copy)]
        struct $name($vector);

        impl Lanes for $name {
            type Word = $word;
            const LEN: usize = $len;

            #[inline(always)]
            unsafe fn load(words: &[$word]) -> Self {
                // SAFETY: the slice holds `LEN` words; the caller has the instructions.
                $name(unsafe { $load(words[..$len].as_ptr().cast()) })
            }
            #[inline(always)]
            unsafe fn splat(word: $word) -> Self {
                // SAFETY: the caller has the instructions.
                $name(unsafe { $splat(word as $signed) })
            }
            #[inline(always)]
            unsafe fn add_product(self, a: Self, b: Self) -> Self {
                let ($c, $a, $b) = (self.0, a.0, b.0);
                // SAFETY: the caller has the instructions.
                $name(unsafe { $product })
            }
            #[inline(always)]
            unsafe fn plus(self, o: Self) -> Self {
                // SAFETY: the caller has the instructions.
                $name(unsafe { $plus(self.0, o.0) })
            }
            #[inline(always)]
            unsafe fn less(self, o: Self) -> Self {
                // SAFETY: the caller has the instructions.
                $name(unsafe { $less(self.0, o.0) })
            }
            #[inline(always)]
            unsafe fn store(self, words: &mut [$word]) {
                // SAFETY: the slice holds `LEN` words; the caller has the instructions.
                unsafe { $store(words[..$len].as_mut_ptr().cast(), self.0) }
            }
        }
    };
}

// Takes the macro above.
mod polynomials;

lanes!(
    Words512,
    u64 x 8,
    |c, a, b| _mm512_add_epi64(c, _mm512_mullo_epi64(a, b))
);

lanes!(
    Words256,
    u64 x 4,
    |c, a, b| {
        let low = _mm256_mul_epu32(a, b);
        let a_high = _mm256_mul_epu32(_mm256_srli_epi64::<32>(a), b);
        let b_high = _mm256_mul_epu32(a, _mm256_srli_epi64::<32>(b));
        let high = _mm256_slli_epi64::<32>(_mm256_add_epi64(a_high, b_high));
        _mm256_add_epi64(c, _mm256_add_epi64(low, high))
    }
);

// Lanes that hold two signed 16-bit digits; the product is the digits' dot product.
lanes!(
    Digits512,
    u32 x 16,
    |c, a, b| dot(c, a, b)
);

lanes!(
    Digits256,
    u32 x 8,
    |c, a, b| _mm256_add_epi32(c, _mm256_madd_epi16(a, b))
);

/// `c` plus the dot product of the digits in each lane. As an intrinsic the compiler takes
/// it apart into a multiplication and an addition, which halves the throughput.
#[target_feature(enable = "avx512f,avx512vnni")]
#[inline]
fn dot(c: __m512i, a: __m512i, b: __m512i) -> __m512i {
    let mut sum = c;
    // SAFETY: pure arithmetic on registers.
    unsafe {
        std::arch::asm!(
            "vpdpwssd {sum}, {a}, {b}",
            sum = inout(zmm_reg) sum,
            a = in(zmm_reg) a,
            b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    sum
}

macro_rules! words_kernel {
    ($(#[$meta:meta])* $name:ident, $lanes:ident, $rows:literal, $vectors:literal, $features:literal) => {
        $(#[$meta])*
        pub struct $name;

        impl Kernel for $name {
            type Word = u64;
            const ROWS: usize = $rows;
            const COLS: usize = $vectors * $lanes::LEN;
            const STEP: usize = 1;
            const WIDTH: usize = 1;

            #[inline(always)]
            fn words(_: Side, first: u64, _: u64) -> [u64; MOST_WIDTH] {
 [first, 0, 0]
 }

            fn tile(a: &[u64], b: &[u64], tile: &mut [u64]) {
                #[target_feature(enable = $features)]
                fn run(a: &[u64], b: &[u64], tile: &mut [u64]) {
                    // SAFETY: this function has the instructions of the lanes.
                    unsafe { direct::<$lanes, $rows, $vectors>(a, b, tile) }
                }
                // SAFETY: the kernel runs only under the instruction set of its name.
                unsafe { run(a, b, tile) }
            }
        }
    };
}

words_kernel!(
    /// 64-bit words by AVX-512 DQ's `vpmullq`.
    Words64Avx512, Words512, 8, 2, "avx512f,avx512dq"
);
words_kernel!(
    /// 64-bit words from three 32-bit products.
    Words64Avx2, Words256, 4, 2, "avx2"
);

/// The low digit of the value, unsigned or signed: the same 16 bits.
const LOW: u32 = 0xffff;
/// Added to a word, makes its upper half the signed high digit.
const CARRY: u32 = 0x8000;

/// Packs two steps of the inner dimension as three words of signed 16-bit digits.
///
/// With `x = x1 2^16 + x0`, `x0` and `x1` signed, a product of ring elements is
/// `x0 y0 + 2^16 (x0 y1 + x1 y0)`. The first word pairs the low digits of both steps; the
/// others are the digits of each step, swapped on the right so that the dot product crosses.
/// Three dot products thus do two multiplications, where `vpmulld` would take four
/// micro-operations and two additions.
#[inline(always)]
fn digits(side: Side, first: u32, second: u32) -> [u32; MOST_WIDTH] {
    let both = |x: u32| {
        let high = x.wrapping_add(CARRY);
        match side {
            Side::Left => x & LOW | high & !LOW,
            Side::Right => x << 16 | high >> 16,
        }
    };
    [first & LOW | second << 16, both(first), both(second)]
}

macro_rules! digits_kernel {
    ($(#[$meta:meta])* $name:ident, $lanes:ident, $rows:literal, $vectors:literal, $features:literal) => {
        $(#[$meta])*
        pub struct $name;

        impl Kernel for $name {
            type Word = u32;
            const ROWS: usize = $rows;
            const COLS: usize = $vectors * $lanes::LEN;
            const STEP: usize = 2;
            const WIDTH: usize = 3;

            #[inline(always)]
            fn words(side: Side, first: u32, second: u32) -> [u32; MOST_WIDTH] {
 digits(side, first, second)
 }

            fn tile(a: &[u32], b: &[u32], tile: &mut [u32]) {
                #[target_feature(enable = $features)]
                fn run(a: &[u32], b: &[u32], tile: &mut [u32]) {
                    const LEN: usize = $rows * $vectors * $lanes::LEN;
                    let mut cross = [0; LEN];
                    // SAFETY: this function has the instructions of the lanes.
                    unsafe {
                        let [low, high] = accumulate::<$lanes, $rows, $vectors, 3, 2>(a, b);
                        store(low, tile);
                        store(high, &mut cross);
                    }
                    for (tile, cross) in tile.iter_mut().zip(cross) {
                        *tile = tile.wrapping_add(cross << 16);
                    }
                }
                // SAFETY: the kernel runs only under the instruction set of its name.
                unsafe { run(a, b, tile) }
            }
        }
    };
}

digits_kernel!(
    /// 32-bit words by AVX-512 VNNI's `vpdpwssd`.
    Digits32Avx512, Digits512, 6, 2, "avx512f,avx512bw,avx512vnni"
);
digits_kernel!(
    /// 32-bit words by `vpmaddwd`.
    Digits32Avx2, Digits256, 3, 2, "avx2"
);
