//! Products in GF(2^64) by the instructions for carry-less ones.

mod wide;

use std::arch::x86_64::*;

use self::wide::{by_256, by_512};
use super::packed::{common_by, places_by};
use super::{Binary, dot_by, multiply_by};
use crate::isa::Isa;

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
pub fn dot(a: &[u64], b: &[u64]) -> u128 {
    dot_by(a, b, |a, b| carryless(a, b))
}

#[target_feature(enable = "pclmulqdq,sse2")]
pub fn multiply(acc: &mut [Binary], b: &[u64]) {
    multiply_by(acc, b, |a, b| carryless(a, b))
}

/// [`common_by`].
#[target_feature(enable = "pclmulqdq,sse2")]
pub fn common(sums: &mut [u128], coins: &[u64], u: &[&[u64]], v: &[&[u64]]) {
    common_by(sums, coins, u, v, |a, b| carryless(a, b))
}

/// [`places_by`].
#[target_feature(enable = "pclmulqdq,sse2")]
pub fn places(sums: &mut [u128], coins: &[u64], u: &[&[u64]], v: &[&[u64]]) {
    places_by(sums, coins, u, v, |a, b| carryless(a, b))
}

/// Kernels that make several products by one instruction; there are none without it.
#[derive(Clone, Copy)]
pub struct Wide {
    of_512: bool,
}

/// The kernel of a width.
macro_rules! of_width {
    ($wide:ident, $kernel:ident($($given:expr),*)) => {
        match $wide.of_512 {
            // SAFETY: the processor has the instruction set, and `Wide::of` has looked for the rest.
            true => unsafe { by_512::$kernel($($given),*) },
            // SAFETY: as above.
            false => unsafe { by_256::$kernel($($given),*) },
        }
    };
}

impl Wide {
    /// The kernels for an instruction set that the processor has, as [`crate::isa::current`] names it, if it has what
    /// else they need.
    pub fn of(isa: Isa) -> Option<Self> {
        let there = isa >= Isa::Avx2 && available(isa) && is_x86_feature_detected!("vpclmulqdq");
        let of_512 = isa >= Isa::Avx512;
        there.then_some(Wide { of_512 })
    }

    /// `sum a_g b_g`, not reduced.
    pub fn dot(self, a: &[u64], b: &[u64]) -> u128 {
        of_width!(self, dot(a, b))
    }

    /// `acc_g = acc_g b_g`.
    pub fn multiply(self, acc: &mut [Binary], b: &[u64]) {
        of_width!(self, multiply(acc, b));
    }

    /// [`common_by`].
    pub fn common(self, sums: &mut [u128], coins: &[u64], u: &[&[u64]], v: &[&[u64]]) {
        of_width!(self, common(sums, coins, u, v));
    }

    /// [`places_by`] of a cube of any size.
    pub fn places(self, sums: &mut [u128], coins: &[u64], u: &[&[u64]], v: &[&[u64]]) {
        of_width!(self, places(sums, coins, u, v));
    }

    /// Adds to `sums` the inner products of two vectors at every place of a cube: the corners are so many parts of
    /// `len` elements, of `v` the last one first, missing elements zero.
    pub fn line(self, sums: &mut [u128], u: &[Binary], v: &[Binary], corners: usize, len: usize) {
        of_width!(self, line(sums, u, v, corners, len));
    }

    /// `sum_g u_j[g] v_k[g]` of all pairs of parts of `len` elements, `k` running fastest; missing elements are zero.
    pub fn products(self, sums: &mut [u128], u: &[Binary], v: &[Binary], parts: usize, len: usize) {
        of_width!(self, products(sums, u, v, parts, len));
    }

    /// `sum_j c_j x_j`, element by element, of vectors that are zero where they end.
    pub fn combine(self, out: &mut [Binary], c: &[Binary], x: &[&[Binary]]) {
        of_width!(self, combine(out, c, x));
    }
}
