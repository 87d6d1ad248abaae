//! Products in GF(2^64) by the instructions for carry-less ones.

mod wide;

use std::arch::x86_64::*;

use self::wide::{by_128, by_256, by_512};
use super::Binary;
use crate::isa::Isa;

#[target_feature(enable = "pclmulqdq,sse2")]
#[inline]
fn carryless(a: u64, b: u64) -> u128 {
    let (a, b) = (_mm_set_epi64x(0, a as i64), _mm_set_epi64x(0, b as i64));
    let product = _mm_clmulepi64_si128::<0>(a, b);
    let high = _mm_cvtsi128_si64(_mm_unpackhi_epi64(product, product)) as u64;
    (high as u128) << 64 | _mm_cvtsi128_si64(product) as u64 as u128
}

/// Kernels on registers of a length that the processor has; there are none without the instructions.
#[derive(Clone, Copy, Debug)]
pub struct Wide(Register);

/// A register's length.
#[derive(Clone, Copy, Debug)]
enum Register {
    /// Of two elements, of which an instruction makes one product.
    By128,
    /// Of four elements, of which an instruction makes two products.
    By256,
    /// Of eight elements, of which an instruction makes four products.
    By512,
}

/// The kernel of a width.
macro_rules! of_width {
    ($wide:ident, $kernel:ident($($given:expr),*)) => {
        match $wide.0 {
            // SAFETY: only `Wide::every` makes one, of registers and instructions that the processor has.
            Register::By128 => unsafe { by_128::$kernel($($given),*) },
            // SAFETY: as above.
            Register::By256 => unsafe { by_256::$kernel($($given),*) },
            // SAFETY: as above.
            Register::By512 => unsafe { by_512::$kernel($($given),*) },
        }
    };
}

impl Wide {
    /// The widest kernels for an instruction set that the processor has, as [`crate::isa::current`] names it.
    pub fn of(isa: Isa) -> Option<Self> {
        Self::every(isa).last()
    }

    /// All kernels for an instruction set that the processor has.
    fn every(isa: Isa) -> impl Iterator<Item = Self> {
        let one = isa >= Isa::Avx2 && is_x86_feature_detected!("pclmulqdq");
        let several = one && is_x86_feature_detected!("vpclmulqdq");
        let most = several && isa >= Isa::Avx512;
        let all = [
            (Register::By128, one),
            (Register::By256, several),
            (Register::By512, most),
        ];
        all.into_iter()
            .filter(|(_, there)| *there)
            .map(|(register, _)| Wide(register))
    }

    /// `sum a_g b_g`, not reduced.
    pub fn dot(self, a: &[u64], b: &[u64]) -> u128 {
        of_width!(self, dot(a, b))
    }

    /// `acc_g = acc_g b_g`.
    pub fn multiply(self, acc: &mut [Binary], b: &[u64]) {
        of_width!(self, multiply(acc, b));
    }

    /// [`super::packed::common_by`].
    pub fn common(self, sums: &mut [u128], coins: &[u64], u: &[&[u64]], v: &[&[u64]]) {
        of_width!(self, common(sums, coins, u, v));
    }

    /// [`super::packed::places_by`] of a cube of any size.
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

#[cfg(test)]
mod tests {
    use super::super::{carryless as portable, multiply_by, reduce};
    use super::*;
    use crate::Prg;

    /// A processor with the widest registers uses no others, so that they are compared here.
    #[test]
    fn registers_of_every_length_make_the_same() {
        let mut prg = Prg::new([5; 16]);
        let mut draw = |n: usize| -> Vec<u64> { prg.ring(n) };
        let vectors: Vec<Vec<u64>> = (0..8).map(|_| draw(21)).collect();
        let (coins, by) = (draw(21), draw(37));
        let elements: Vec<Binary> = draw(37).into_iter().map(Binary).collect();
        let v: Vec<&[u64]> = vectors.iter().map(|v| &v[..]).collect();
        let words: Vec<u64> = elements.iter().map(|a| a.0).collect();
        let made = |wide: Wide| {
            let mut sums = [vec![0; 64], vec![0; 27], vec![0; 27], vec![0; 64]];
            wide.common(&mut sums[0], &coins, &v, &v);
            wide.places(&mut sums[1], &coins, &v, &v);
            wide.line(&mut sums[2], &elements, &elements, 8, 5);
            wide.products(&mut sums[3], &elements, &elements, 8, 5);
            let mut out = [elements.clone(), vec![Binary(0); 37]];
            wide.multiply(&mut out[0], &by);
            wide.combine(&mut out[1], &elements[..2], &[&elements, &elements[..9]]);
            let sums = sums.concat().into_iter().map(reduce).collect::<Vec<_>>();
            (wide.dot(&words, &by), sums, out)
        };
        let all: Vec<_> = Wide::every(crate::isa::current()).map(made).collect();
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
        let mut right = elements.clone();
        multiply_by(&mut right, &by, portable);
        assert!(all.iter().all(|(_, _, out)| out[0] == right));
    }
}
