//! The fields as machine words.

use bytemuck::{Pod, Zeroable};

use super::Field;

/// Sums of products, reduced late.
pub trait Lazy: Copy + 'static {
    /// A sum that is not reduced.
    type Sum: Pod + Send + Sync;
    /// Products that may be added to a folded or an opened sum before it is folded again.
    const RUN: usize;

    /// The element as a sum.
    fn open(self) -> Self::Sum;
    /// `sum + a b`.
    fn add_product(sum: Self::Sum, a: Self, b: Self) -> Self::Sum;
    /// A smaller sum of the same class.
    fn fold(sum: Self::Sum) -> Self::Sum;
    /// The class of any sum.
    fn close(sum: Self::Sum) -> Self;
    /// `x y + r`.
    fn mul_add(x: Self, y: Self, r: Self) -> Self;
    /// `x y - r`.
    fn mul_sub(x: Self, y: Self, r: Self) -> Self;
    /// `x^2 + 2 r`.
    fn square_add_twice(x: Self, r: Self) -> Self;
    /// The element where `bit` is 1, zero where it is 0.
    fn keep(self, bit: u64) -> Self;
    /// Logical shift of the representative.
    fn shift(self, d: u32) -> Self;
    /// The low `l` bits of a random word; may be `p`, which no other function takes.
    fn low_bits(self) -> Self;
}

macro_rules! field {
    ($(#[$meta:meta])* $name:ident, $word:ty, $wide:ty, $bits:literal) => {
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

            /// The class of a value of at most `p^2 - 1`.
            #[inline(always)]
            fn of_product(v: $wide) -> Self {
                Self::reduced((v & Self::ORDER as $wide) as $word + (v >> $bits) as $word)
            }
        }

        impl Lazy for $name {
            type Sum = $wide;
            const RUN: usize = {
                let p = Self::ORDER as $wide;
                let run = (<$wide>::MAX - p - (<$wide>::MAX >> $bits)) / (p * p);
                if run > 1 << 16 { 1 << 16 } else { run as usize }
            };

            #[inline(always)]
            fn open(self) -> $wide {
                self.0 as $wide
            }
            #[inline(always)]
            fn add_product(sum: $wide, a: Self, b: Self) -> $wide {
                sum + a.0 as $wide * b.0 as $wide
            }
            #[inline(always)]
            fn fold(sum: $wide) -> $wide {
                (sum & Self::ORDER as $wide) + (sum >> $bits)
            }
            #[inline(always)]
            fn close(sum: $wide) -> Self {
                let (mut sum, mut most) = (sum, <$wide>::MAX);
                while most >= 2 * Self::ORDER as $wide {
                    sum = Self::fold(sum);
                    most = Self::ORDER as $wide + (most >> $bits);
                }
                Self::reduced(sum as $word)
            }
            #[inline(always)]
            fn mul_add(x: Self, y: Self, r: Self) -> Self {
                Self::of_product(x.0 as $wide * y.0 as $wide + r.0 as $wide)
            }
            #[inline(always)]
            fn mul_sub(x: Self, y: Self, r: Self) -> Self {
                Self::of_product(x.0 as $wide * y.0 as $wide + (Self::ORDER - r.0) as $wide)
            }
            #[inline(always)]
            fn square_add_twice(x: Self, r: Self) -> Self {
                Self::of_product(x.0 as $wide * x.0 as $wide + 2 * r.0 as $wide)
            }
            #[inline(always)]
            fn keep(self, bit: u64) -> Self {
                $name(self.0 & (bit as $word).wrapping_neg())
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
                Self::of_product(self.0 as $wide * o.0 as $wide)
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
    F5, u8, u64, 5
);
field!(
    /// Integers modulo 127; for tests.
    F7, u8, u64, 7
);
field!(
    /// Integers modulo 8191; for tests.
    F13, u16, u64, 13
);
field!(
    /// Integers modulo `2^31 - 1`.
    F31, u32, u64, 31
);
field!(
    /// Integers modulo `2^61 - 1`.
    F61, u64, u128, 61
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
            is(F::mul_sub(a, b, r), (x * y + p - z) % p, "mul_sub");
            is(F::square_add_twice(a, r), (x * x + 2 * z) % p, "square");
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
            assert_eq!((a.keep(0), a.keep(1)), (F::ZERO, a));
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
        let (mut sum, mut expected) = (most.open(), p - 1);
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
