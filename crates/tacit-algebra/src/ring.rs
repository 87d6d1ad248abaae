//! Rings `Z_2^k` as machine words.

use crate::extension::Loops;
use crate::extension::{F11, F19, F37, F67, Prime};
use crate::kernel::Kernels;

/// The ring of integers modulo `2^BITS`.
///
/// `u32` and `u64` carry the protocols; `u8` and `u16` are small enough for exhaustive tests.
pub trait Ring:
    Kernels + Loops + bytemuck::Pod + Default + Eq + std::fmt::Debug + Send + Sync + 'static
{
    /// Bits of an element.
    const BITS: u32;
    /// The neutral element of addition.
    const ZERO: Self;
    /// The neutral element of multiplication.
    const ONE: Self;
    /// The smallest prime that holds every value of Falcon's comparison, `BITS + 2` or more.
    const PRIME: u8;
    /// The field of [`Ring::PRIME`], for its extension.
    type Field: Prime;

    /// `self + o`, wrapping.
    fn add(self, o: Self) -> Self;
    /// `self - o`, wrapping.
    fn sub(self, o: Self) -> Self;
    /// `self * o`, wrapping.
    fn mul(self, o: Self) -> Self;
    /// `-self`, wrapping.
    fn neg(self) -> Self;
    /// `self & o`.
    fn and(self, o: Self) -> Self;
    /// `self | o`.
    fn or(self, o: Self) -> Self;
    /// `self << k` for `k < BITS`.
    fn shl(self, k: u32) -> Self;
    /// Logical `self >> k` for `k < BITS`.
    fn shr(self, k: u32) -> Self;
    /// Arithmetic `self >> k` for `k < BITS`: the sign of the centred value is kept.
    fn sar(self, k: u32) -> Self;
    /// `v mod 2^BITS`.
    fn from_i64(v: i64) -> Self;
    /// The representative in `-2^(BITS-1) .. 2^(BITS-1)`.
    fn to_i64(self) -> i64;
    /// `v mod 2^BITS`.
    fn from_u64(v: u64) -> Self;
    /// The representative in `0 .. 2^BITS`.
    fn to_u64(self) -> u64;
}

macro_rules! ring {
    ($word:ty, $signed:ty, $field:ty) => {
        impl Ring for $word {
            const BITS: u32 = <$word>::BITS;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const PRIME: u8 = <$field>::P;
            type Field = $field;

            #[inline(always)]
            fn add(self, o: Self) -> Self {
                self.wrapping_add(o)
            }
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                self.wrapping_sub(o)
            }
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                self.wrapping_mul(o)
            }
            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn and(self, o: Self) -> Self {
                self & o
            }
            #[inline(always)]
            fn or(self, o: Self) -> Self {
                self | o
            }
            #[inline(always)]
            fn shl(self, k: u32) -> Self {
                self << k
            }
            #[inline(always)]
            fn shr(self, k: u32) -> Self {
                self >> k
            }
            #[inline(always)]
            fn sar(self, k: u32) -> Self {
                (self as $signed >> k) as $word
            }
            #[inline(always)]
            fn from_i64(v: i64) -> Self {
                v as $word
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                self as $signed as i64
            }
            #[inline(always)]
            fn from_u64(v: u64) -> Self {
                v as $word
            }
            #[inline(always)]
            fn to_u64(self) -> u64 {
                self as u64
            }
        }
    };
}

ring!(u8, i8, F11);
ring!(u16, i16, F19);
ring!(u32, i32, F37);
ring!(u64, i64, F67);

#[cfg(test)]
mod tests {
    use super::*;

    fn definition<R: Ring>(values: impl Iterator<Item = i64>) {
        let modulus = 1i128 << R::BITS;
        for v in values {
            let x = R::from_i64(v);
            assert_eq!(x.to_u64() as i128, (v as i128).rem_euclid(modulus));
            assert_eq!((x.to_i64() as i128 - v as i128) % modulus, 0);
            assert!((-modulus / 2..modulus / 2).contains(&(x.to_i64() as i128)));
            for k in 0..R::BITS {
                assert_eq!(x.sar(k).to_i64(), x.to_i64() >> k);
                assert_eq!(x.shr(k).to_u64(), x.to_u64() >> k);
                assert_eq!(x.shl(k).sub(x.mul(R::ONE.shl(k))), R::ZERO);
            }
            assert_eq!(x.add(x.neg()), R::ZERO);
        }
    }

    #[test]
    fn words_are_residues() {
        definition::<u8>(-300..300);
        definition::<u16>(-70_000..70_000);
        let edges = || {
            [
                0,
                1,
                -1,
                i32::MAX as i64,
                i32::MIN as i64,
                i64::MAX,
                i64::MIN,
                1 << 32,
            ]
        };
        definition::<u32>(edges().into_iter());
        definition::<u64>(edges().into_iter());
    }

    #[test]
    fn primes_leave_room_for_the_largest_leaf() {
        fn check<R: Ring>() {
            let is_prime = |p: u32| (2..p).all(|d| !p.is_multiple_of(d));
            let smallest = (R::BITS + 2..).find(|&p| is_prime(p));
            assert_eq!(smallest, Some(R::PRIME as u32));
        }
        check::<u8>();
        check::<u16>();
        check::<u32>();
        check::<u64>();
    }
}
