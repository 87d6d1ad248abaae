//! The fields as machine words.

use bytemuck::{Pod, Zeroable};

use super::Field;

/// Sums of products in 64-bit words, reduced late.
pub trait Lazy: Copy + 'static {
    /// Products that may be added to a folded sum before it is folded again.
    const RUN: usize;

    /// A sum of the class of `sum + a b`.
    fn add_product(sum: u64, a: Self, b: Self) -> u64;
    /// A smaller sum of the same class.
    fn fold(sum: u64) -> u64;
    /// The class of any sum.
    fn close(sum: u64) -> Self;
    /// `x y + r`.
    fn mul_add(x: Self, y: Self, r: Self) -> Self;
    /// All ones where bit `i` of a public word is set, zero where it is clear; for
    /// [`keep`](Self::keep) and [`select`](Self::select).
    fn mask(self, i: u32) -> Self;
    /// The element where `mask` is all ones, zero where it is zero.
    fn keep(self, mask: Self) -> Self;
    /// `a` where `mask` is all ones, `b` where it is zero.
    fn select(mask: Self, a: Self, b: Self) -> Self;
    /// Logical shift of the representative.
    fn shift(self, d: u32) -> Self;
    /// The low `l` bits of a random word; may be `p`, which no other function takes.
    fn low_bits(self) -> Self;
}

/// What a product of two elements becomes in 64 bits.
trait Product {
    /// The largest term.
    const MOST: u64;
    /// The class of `x y`; with twice an element added it still fits in a word, and folded once
    /// that is below `2 p`.
    fn product(x: u64, y: u64) -> u64;
    /// The class of `x y`, at most `MOST`.
    fn term(x: u64, y: u64) -> u64;
}

/// Products of elements of at most 31 bits, which fit in a word.
struct Narrow<const BITS: u32>;

impl<const BITS: u32> Product for Narrow<BITS> {
    const MOST: u64 = ((1 << BITS) - 1) * ((1 << BITS) - 1);

    #[inline(always)]
    fn product(x: u64, y: u64) -> u64 {
        x * y
    }
    #[inline(always)]
    fn term(x: u64, y: u64) -> u64 {
        x * y
    }
}

/// Products of elements of 61 bits, from 32-bit ones, of which vectors have many.
struct Wide;

const ORDER: u64 = (1 << 61) - 1;

impl Product for Wide {
    const MOST: u64 = ORDER + 3;

    /// The class of `x y` in one word, below `3 2^61 + 2^34`.
    #[inline(always)]
    fn product(x: u64, y: u64) -> u64 {
        const LOW: u64 = u32::MAX as u64;
        let (x0, x1, y0, y1) = (x & LOW, x >> 32, y & LOW, y >> 32);
        // x y = low + 2^32 mid + 2^64 high; 2^64 is 8, and 2^32 2^29 is 1.
        let (low, mid, high) = (x0 * y0, x0 * y1 + x1 * y0, x1 * y1);
        let mid = (mid >> 29) + (mid << 32 & ORDER);
        (low & ORDER) + (low >> 61) + mid + (high << 3)
    }
    #[inline(always)]
    fn term(x: u64, y: u64) -> u64 {
        let product = Self::product(x, y);
        (product & ORDER) + (product >> 61)
    }
}

macro_rules! field {
    ($(#[$meta:meta])* $name:ident, $word:ty, $product:ty, $bits:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug, Pod, Zeroable)]
        #[repr(transparent)]
        pub struct $name($word);

        impl $name {
            const ORDER: $word = (1 << $bits) - 1;

            /// The class of a value below `2 p`.
            #[inline(always)]
            fn reduced(v: $word) -> Self {
                $name(v.min(v.wrapping_sub(Self::ORDER)))
            }

            /// The class of a value that is below `2 p` once folded.
            #[inline(always)]
            fn folded(v: u64) -> Self {
                Self::reduced((v & Self::P) as $word + (v >> $bits) as $word)
            }

            #[inline(always)]
            fn product(x: Self, y: Self) -> u64 {
                <$product>::product(x.to_u64(), y.to_u64())
            }
        }

        impl Lazy for $name {
            const RUN: usize = {
                let run = (u64::MAX - Self::P - (u64::MAX >> $bits)) / <$product>::MOST;
                if run > 64 { 64 } else { run as usize }
            };

            #[inline(always)]
            fn add_product(sum: u64, a: Self, b: Self) -> u64 {
                sum + <$product>::term(a.to_u64(), b.to_u64())
            }
            #[inline(always)]
            fn fold(sum: u64) -> u64 {
                (sum & Self::P) + (sum >> $bits)
            }
            #[inline(always)]
            fn close(sum: u64) -> Self {
                let (mut sum, mut most) = (sum, u64::MAX);
                while most >= 2 * Self::P {
                    sum = Self::fold(sum);
                    most = Self::P + (most >> $bits);
                }
                Self::reduced(sum as $word)
            }
            #[inline(always)]
            fn mul_add(x: Self, y: Self, r: Self) -> Self {
                Self::folded(Self::product(x, y) + r.to_u64())
            }
            #[inline(always)]
            fn mask(self, i: u32) -> Self {
                $name((self.0 >> i & 1).wrapping_neg())
            }
            #[inline(always)]
            fn keep(self, mask: Self) -> Self {
                $name(self.0 & mask.0)
            }
            #[inline(always)]
            fn select(mask: Self, a: Self, b: Self) -> Self {
                $name(a.0 & mask.0 | b.0 & !mask.0)
            }
            #[inline(always)]
            fn shift(self, d: u32) -> Self {
                $name(self.0 >> d)
            }
            #[inline(always)]
            fn low_bits(self) -> Self {
                $name(self.0 & Self::ORDER)
            }
        }

        impl Field for $name {
            const BITS: u32 = $bits;
            const P: u64 = Self::ORDER as u64;
            const BYTES: usize = size_of::<$word>();
            const ZERO: Self = $name(0);
            const ONE: Self = $name(1);

            #[inline(always)]
            fn from_u64(mut v: u64) -> Self {
                let mut most = u64::MAX;
                while most >= 2 * Self::P {
                    v = (v & Self::P) + (v >> $bits);
                    most = Self::P + (most >> $bits);
                }
                Self::reduced(v as $word)
            }
            #[inline(always)]
            fn to_u64(self) -> u64 {
                self.0 as u64
            }
            #[inline(always)]
            fn from_i64(mut v: i64) -> Self {
                let p = Self::P as i64;
                let (mut least, mut most) = (i64::MIN, i64::MAX);
                while least < -p || most >= 2 * p {
                    v = (v & p) + (v >> $bits);
                    (least, most) = (least >> $bits, p + (most >> $bits));
                }
                Self::reduced((v + (p & (v >> 63))) as $word)
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                let v = self.0 as i64;
                v - (Self::P as i64 & (v >> ($bits - 1)).wrapping_neg())
            }
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                Self::reduced(self.0 + o.0)
            }
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                let v = self.0.wrapping_sub(o.0);
                $name(v.min(v.wrapping_add(Self::ORDER)))
            }
            #[inline(always)]
            fn neg(self) -> Self {
                Self::reduced(Self::ORDER - self.0)
            }
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                Self::folded(Self::product(self, o))
            }
            fn inverse(self) -> Self {
                // p - 2 = 4 (2^(l-2) - 1) + 1.
                let mut ones = Self::ONE;
                for _ in 0..$bits - 2 {
                    ones = ones.mul(ones).mul(self);
                }
                let squared = ones.mul(ones);
                squared.mul(squared).mul(self)
            }
        }
    };
}

field!(
    /// Integers modulo 31; for tests.
    F5, u8, Narrow<5>, 5
);
field!(
    /// Integers modulo 127; for tests.
    F7, u8, Narrow<7>, 7
);
field!(
    /// Integers modulo 8191; for tests.
    F13, u16, Narrow<13>, 13
);
field!(
    /// Integers modulo `2^31 - 1`.
    F31, u32, Narrow<31>, 31
);
field!(
    /// Integers modulo `2^61 - 1`.
    F61, u64, Wide, 61
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mersenne::{edges, on_every_field, sample};

    fn pair<F: Field>(a: F, b: F) {
        let (p, x, y) = (F::P as u128, a.to_u64() as u128, b.to_u64() as u128);
        let is = |v: F, expected: u128, what: &str| {
            assert_eq!(v.to_u64() as u128, expected, "{x} {what} {y}")
        };
        is(a.add(b), (x + y) % p, "+");
        is(a.sub(b), (x + p - y) % p, "-");
        is(a.mul(b), x * y % p, "*");
        is(a.neg(), (p - x) % p, "neg");
        for r in edges::<F>().into_iter().chain([a, b]) {
            let z = r.to_u64() as u128;
            is(F::mul_add(a, b, r), (x * y + z) % p, "mul_add");
        }
    }

    fn arithmetic<F: Field>() {
        let values = match F::BITS {
            5 | 7 => (0..F::P).map(F::from_u64).collect(),
            _ => sample::<F>(1, 200),
        };
        for &a in &values {
            assert!(a.to_u64() < F::P);
            let inverse = if a == F::ZERO { F::ZERO } else { F::ONE };
            assert_eq!(a.mul(a.inverse()), inverse);
            for i in 0..F::BITS {
                let bit = a.to_u64() >> i & 1 == 1;
                let kept = if bit { a.neg() } else { F::ZERO };
                assert_eq!(a.neg().keep(a.mask(i)), kept);
                let chosen = if bit { a } else { a.neg() };
                assert_eq!(F::select(a.mask(i), a, a.neg()), chosen);
            }
            for d in 0..F::BITS {
                assert_eq!(a.shift(d).to_u64(), a.to_u64() >> d);
            }
            values.iter().for_each(|b| pair(a, *b));
        }
    }

    fn conversion<F: Field>() {
        let p = F::P as i128;
        let half = (p - 1) / 2;
        let mut values: Vec<i64> = (-300..300)
            .chain([i64::MIN, i64::MAX, i64::MIN + 1])
            .collect();
        for around in [
            F::P as i64,
            F::P as i64 / 2,
            1 << 61,
            1 << 62,
            1 << 31,
            1 << 32,
        ] {
            values.extend((around - 3..=around + 3).flat_map(|v| [v, -v]));
        }
        for v in values {
            let x = F::from_i64(v);
            assert_eq!(x.to_u64() as i128, (v as i128).rem_euclid(p), "{v}");
            assert!((-half..=half).contains(&(x.to_i64() as i128)));
            assert_eq!((x.to_i64() as i128 - v as i128) % p, 0);
            assert_eq!(F::from_u64(v as u64).to_u64(), v as u64 % F::P, "{v}");
        }
        assert_eq!(F::from_u64(u64::MAX).to_u64(), u64::MAX % F::P);
        assert_eq!(F::BYTES, size_of::<F>());
        assert_eq!((F::ZERO.to_u64(), F::ONE.to_u64()), (0, 1));
    }

    /// The largest operands in the longest runs.
    fn sums<F: Field>() {
        const { assert!(F::RUN >= 4) };
        let (most, p) = (F::from_u64(F::P - 1), F::P as u128);
        let (mut sum, mut expected) = (F::fold(u64::MAX), u64::MAX as u128 % p);
        for _ in 0..3 {
            for _ in 0..F::RUN {
                sum = F::add_product(sum, most, most);
                expected = (expected + (p - 1) * (p - 1)) % p;
            }
            assert_eq!(F::close(sum).to_u64() as u128, expected);
            sum = F::fold(sum);
            assert_eq!(F::close(sum).to_u64() as u128, expected);
        }
    }

    #[test]
    fn arithmetic_is_modulo_p() {
        on_every_field!(arithmetic);
    }

    #[test]
    fn words_are_residues() {
        on_every_field!(conversion);
    }

    #[test]
    fn runs_do_not_overflow() {
        on_every_field!(sums);
    }
}
