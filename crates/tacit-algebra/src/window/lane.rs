//! Words that entries are computed in, and their arithmetic modulo `p`.

use bytemuck::Pod;

use crate::Ring;
use crate::prg::Residue;

/// A word of `w` bits that holds residues modulo `p` and sums of two.
pub(super) trait Lane: Residue + Ring + PartialOrd {
    /// Holds the bits that all entries of a value are cut from.
    type Bits: Pod + Send + Sync;

    /// `a` with `low` behind it where there is to be one more bit, that is, `2 a + low`.
    fn bits(a: u64, low: Option<u64>) -> Self::Bits;
    /// The bits from `i` on, as many as fit.
    fn cut(bits: Self::Bits, i: u16) -> Self;
    /// `floor(self o / 2^w)`.
    fn mul_high(self, o: Self) -> Self;
    /// The lesser of two numbers.
    fn min(self, o: Self) -> Self;
}

macro_rules! lane {
    ($word:ty, $wide:ty, $bits:ty) => {
        impl Lane for $word {
            type Bits = $bits;

            #[inline(always)]
            fn bits(a: u64, low: Option<u64>) -> $bits {
                match low {
                    Some(low) => (a as $bits) << 1 | low as $bits,
                    None => a as $bits,
                }
            }
            #[inline(always)]
            fn cut(bits: $bits, i: u16) -> $word {
                (bits >> i as $bits) as $word
            }
            #[inline(always)]
            fn mul_high(self, o: $word) -> $word {
                ((self as $wide * o as $wide) >> <$word>::BITS) as $word
            }
            #[inline(always)]
            fn min(self, o: $word) -> $word {
                Ord::min(self, o)
            }
        }
    };
}

// Entries of m bits start at bit m at the most: there are 2 m bits or fewer, but 2 m - 1 when
// corrected. The 65 bits of 31 key bits in a ring of 64 need the widest.
lane!(u16, u32, u32);
lane!(u32, u64, u64);
lane!(u64, u128, u128);

/// `$call` with the narrowest lane for entries of `$m` bits as the type `$lane`.
macro_rules! with_lane {
    ($m:expr, $lane:ident => $call:expr) => {
        match $m {
            ..=12 => {
                type $lane = u16;
                $call
            }
            13..=30 => {
                type $lane = u32;
                $call
            }
            _ => {
                type $lane = u64;
                $call
            }
        }
    };
}
pub(super) use with_lane;

/// Modulo switch (Algorithm 6): a share of `v` in `Z_{2^m}` to a share in `Z_p`, `2^m < p`, of a
/// value that is zero exactly where `v` is. `mask` is `2^m - 1`.
///
/// Takes the first summand to its representative in `1..=2^m`, 0 to `2^m`. The second, `s`, goes to
/// `s - 2^m`: its negative goes to the negative of that by the same step. The two results differ
/// by less than `2^m`, and by 0 where the shares of `v` cancel.
#[inline(always)]
pub(super) fn switch<L: Lane>(share: L, mask: L) -> L {
    share.sub(L::ONE).and(mask).add(L::ONE)
}

/// An odd prime `p`, where a lane holds `2 p`.
#[derive(Clone, Copy)]
pub(super) struct Modulus<L> {
    pub(super) p: L,
    /// `1 / p mod 2^w`.
    inverse: L,
}

impl<L: Lane> Modulus<L> {
    pub(super) fn new(p: u64) -> Self {
        // Every step doubles the correct low bits; p itself has three.
        let step = |inverse: u64| inverse.wrapping_mul(2u64.wrapping_sub(p.wrapping_mul(inverse)));
        Modulus {
            p: L::from_u64(p),
            inverse: L::from_u64((0..5).fold(p, |inverse, _| step(inverse))),
        }
    }

    /// `a b / 2^w mod p` (Montgomery).
    #[inline(always)]
    pub(super) fn mul(self, a: L, b: L) -> L {
        let quotient = a.mul(b).mul(self.inverse);
        let v = a.mul_high(b).sub(quotient.mul_high(self.p));
        v.min(v.add(self.p))
    }

    /// `a + b mod p`.
    #[inline(always)]
    pub(super) fn add(self, a: L, b: L) -> L {
        let v = a.add(b);
        v.min(v.sub(self.p))
    }

    /// `a`, the first summand, or the second one, of which it is the negative, `0 <= a <= p`.
    #[inline(always)]
    pub(super) fn signed(self, first: bool, a: L) -> L {
        let v = match first {
            true => a,
            false => self.p.sub(a),
        };
        v.min(v.sub(self.p))
    }
}

#[cfg(test)]
mod tests {
    use super::super::prime_above;
    use super::*;

    fn arithmetic<L: Lane>(m: u32) {
        let p = prime_above(m);
        let modulus = Modulus::<L>::new(p);
        let edges = [0, 1, 2, p / 2, p - 2, p - 1];
        let small = (0..if m < 10 { p } else { 0 }).step_by(7);
        let values: Vec<u64> = edges.into_iter().chain(small).collect();
        for &a in &values {
            for &b in &values {
                let (x, y) = (L::from_u64(a), L::from_u64(b));
                let (product, sum) = (modulus.mul(x, y).to_u64(), modulus.add(x, y).to_u64());
                assert!(product < p);
                let scaled = ((product as u128) << L::BITS) % p as u128;
                assert_eq!(scaled, a as u128 * b as u128 % p as u128, "m = {m}");
                assert_eq!(sum, (a + b) % p);
            }
            let signed = |first| modulus.signed(first, L::from_u64(a)).to_u64();
            assert_eq!(signed(true), a);
            assert_eq!(signed(false), (p - a) % p);
        }
    }

    #[test]
    fn residues_are_computed_with() {
        (1..=12).for_each(arithmetic::<u16>);
        (1..=30).for_each(arithmetic::<u32>);
        (1..=33).for_each(arithmetic::<u64>);
    }

    #[test]
    fn cuts_have_the_bit_behind() {
        let a = 0x8000_0000_0000_0005;
        assert_eq!(<u64 as Lane>::cut(<u64 as Lane>::bits(a, Some(1)), 63), 2);
        assert_eq!(<u64 as Lane>::cut(<u64 as Lane>::bits(a, Some(1)), 0), 11);
        assert_eq!(<u32 as Lane>::cut(<u32 as Lane>::bits(a, None), 1), 2);
        assert_eq!(<u16 as Lane>::cut(<u16 as Lane>::bits(a, Some(0)), 1), 5);
    }
}
