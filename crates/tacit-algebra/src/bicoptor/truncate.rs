//! Truncations of shares without communication, and the modulo switch.
//!
//! The truncations with an opened value are Falcon's kernels: [`crate::truncate::aby3`] for
//! Algorithm 2, and [`crate::truncate::gap`] for the one that leaves a bit of room and does not
//! fail. [`split_mask`] gives the parts of the masks for both.

use super::lane::switch;
use super::window::prime_above;
use crate::fresh::build;
use crate::isa::{self, simd};
use crate::{Ring, vec};

/// `f` of the first summand; of the second, the negative of `f` of its negative.
#[inline(always)]
fn odd<R: Ring>(first: bool, share: R, f: impl Fn(R) -> R) -> R {
    match first {
        true => f(share),
        false => f(share.neg()).neg(),
    }
}

simd! {
    fn truncate_into<R: Ring>(out: &mut [R], share: &[R], first: bool, k: u32) {
        for (out, share) in out.iter_mut().zip(share) {
            *out = odd(first, *share, |a| a.shr(k));
        }
    }

    fn middle_into<R: Ring>(out: &mut [R], share: &[R], first: bool, k1: u32, k2: u32) {
        let k = k1 + k2;
        for (out, share) in out.iter_mut().zip(share) {
            *out = odd(first, *share, |a| a.shl(k2).shr(k)).shl(k).shr(k);
        }
    }

    fn switch_into<R: Ring>(out: &mut [u64], share: &[R], first: bool, m: u32) {
        let (p, mask) = (prime_above(m), (1 << m) - 1);
        for (out, share) in out.iter_mut().zip(share) {
            *out = match first {
                true => switch(share.to_u64(), mask),
                false => p - switch(share.to_u64().wrapping_neg(), mask),
            };
        }
    }

    fn split_into<R: Ring>(shifted: &mut [R], r: &[R], trunc: u32) {
        for (shifted, r) in shifted.iter_mut().zip(r) {
            *shifted = r.shl(1).shr(1 + trunc);
        }
    }
}

/// SecureML's truncation by `k < l` bits (Algorithm 1): of the first summand `x >> k`, of the
/// second `-((-x) >> k)`.
///
/// A value of absolute value `xi` comes out as its sign times `xi >> k`, or one more, except with
/// probability `xi / 2^l`: then `2^(l-k)` is added or missing.
pub fn truncate_share<R: Ring>(first: bool, share: &[R], k: u32) -> Vec<R> {
    assert!(k < R::BITS);
    let isa = isa::current();
    build(share.len(), |s, out| {
        truncate_into(isa, out, &share[s..s + out.len()], first, k)
    })
}

/// Deterministic truncation by `k1` low and `k2` high bits, `w = l - k1 - k2 > 0` (Algorithm 4 for
/// `k2 = 0` and Algorithm 5): a share of `Z_{2^w}` in the low bits, the others zero.
///
/// A value of absolute value `xi` comes out as its sign times `cut(xi, k1, k2)`, or one more,
/// modulo `2^w`, always.
pub fn truncate_share_middle<R: Ring>(first: bool, share: &[R], k1: u32, k2: u32) -> Vec<R> {
    assert!(k1.checked_add(k2).is_some_and(|k| k < R::BITS));
    let isa = isa::current();
    build(share.len(), |s, out| {
        middle_into(isa, out, &share[s..s + out.len()], first, k1, k2)
    })
}

/// Modulo switch (Algorithm 6) from `Z_{2^m}`, `m <= 33`, of which the low `m` bits are read, to
/// `Z_p` for the smallest prime above: `v = 0` goes to 0, any other to some other residue.
pub fn modulo_switch<R: Ring>(first: bool, share: &[R], m: u32) -> Vec<u64> {
    assert!(m <= R::BITS);
    let isa = isa::current();
    build(share.len(), |s, out| {
        switch_into(isa, out, &share[s..s + out.len()], first, m)
    })
}

/// What [`crate::truncate::gap`] and [`crate::truncate::aby3`] take shares of, for masks `r` and
/// `trunc <= l - 2`: `(r mod 2^(l-1)) >> trunc` and the top bit of `r`.
pub fn split_mask<R: Ring>(r: &[R], trunc: u32) -> (Vec<R>, Vec<R>) {
    assert!(trunc <= R::BITS - 2);
    let isa = isa::current();
    let shifted = build(r.len(), |s, out| {
        split_into(isa, out, &r[s..s + out.len()], trunc)
    });
    (shifted, vec::shr(r, R::BITS - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::truncate::{aby3, gap};

    /// `x` under every mask of 8 bits.
    fn shares(x: u8) -> [Vec<u8>; 2] {
        let masks = || 0..=255u8;
        [
            masks().map(|r| x.wrapping_add(r)).collect(),
            masks().map(|r| r.wrapping_neg()).collect(),
        ]
    }

    fn both(f: impl Fn(bool, &[u8]) -> Vec<u8>, [first, second]: &[Vec<u8>; 2]) -> Vec<u8> {
        let (a, b) = same_everywhere(|| (f(true, first), f(false, second)));
        vec::add(&a, &b)
    }

    /// The examples of the paper, 4 bits dropped of 0x4B.
    #[test]
    fn worked_examples() {
        let shares = shares(0x4B);
        let wraps = both(|h, a| truncate_share(h, a, 4), &shares);
        assert_eq!((wraps[0xAA], wraps[0xE0]), (5, 0xF4));
        let exact = both(|h, a| truncate_share_middle(h, a, 4, 0), &shares);
        assert_eq!((exact[0xAA] % 16, exact[0xE0] % 16), (5, 4));
        let middle = both(|h, a| truncate_share_middle(h, a, 4, 1), &shares);
        assert_eq!(middle[0xE0] % 8, 0b100);
    }

    /// Every value under every mask: off by one in the direction of the sign, and a wrap for
    /// exactly `xi` of the 256 masks.
    #[test]
    fn probabilistic_truncation_fails_as_often_as_stated() {
        for (x, k) in (-127i8..=127).flat_map(|x| (0..8).map(move |k| (x, k))) {
            let out = both(|h, a| truncate_share(h, a, k), &shares(x as u8));
            let (xi, sign) = (x.unsigned_abs(), if x < 0 { -1 } else { 1 });
            let error = |v: u8| (v as i8).wrapping_mul(sign).wrapping_sub((xi >> k) as i8);
            let wraps = out.iter().filter(|v| ![0, 1].contains(&error(**v))).count();
            let expected = if k == 0 { 0 } else { xi as usize };
            assert_eq!(wraps, expected, "{x} >> {k}");
        }
    }

    /// Every value under every mask and every pair of cuts.
    #[test]
    fn deterministic_truncation_is_always_right() {
        for (k1, k2) in (0..8).flat_map(|k1| (0..8 - k1).map(move |k2| (k1, k2))) {
            let modulus = 1i32 << (8 - k1 - k2);
            for x in -127i32..=127 {
                let out = both(
                    |h, a| {
                        let out = truncate_share_middle(h, a, k1, k2);
                        assert!(out.iter().all(|v| (*v as i32) < modulus));
                        out
                    },
                    &shares(x as u8),
                );
                let cut = (x.abs() % (256 >> k2)) >> k1;
                let right = |v: u8, bit| (v as i32 - x.signum() * (cut + bit)) % modulus == 0;
                let good = |v: &u8| right(*v, 0) || right(*v, 1);
                assert!(out.iter().all(good), "{x}, {k1}, {k2}");
            }
        }
    }

    /// Every value under every mask, for every `m` that fits.
    #[test]
    fn the_switch_keeps_zero_and_nothing_else() {
        for m in 1..=8 {
            let p = prime_above(m);
            for v in 0..1u32 << m {
                let [first, second] = shares(v as u8);
                let (a, b) = same_everywhere(|| {
                    let second = modulo_switch(false, &second, m);
                    (modulo_switch(true, &first, m), second)
                });
                assert!(a.iter().chain(&b).all(|s| *s < p));
                let zero = |(a, b): (&u64, &u64)| (a + b) % p == 0;
                assert!(a.iter().zip(&b).all(|pair| zero(pair) == (v == 0)), "{v}");
            }
        }
    }

    /// Falcon's kernels on what is dealt here, shared between two.
    #[test]
    fn dealt_masks_serve_the_opened_truncations() {
        let r: Vec<u8> = (0..=255).collect();
        let share: Vec<u8> = r.iter().map(|r| r.wrapping_mul(77)).collect();
        for trunc in 1..=6 {
            let (shifted, msb) = same_everywhere(|| split_mask(&r, trunc));
            let dealt = [vec::sub(&shifted, &share), vec::add(&msb, &share)];
            type Kernel = fn(&[u8], &[u8], &[u8], u32, bool) -> Vec<u8>;
            let large = |x: i8, kernel: Kernel, room: u8| {
                let c: Vec<u8> = r
                    .iter()
                    .map(|r| r.wrapping_add(x as u8).wrapping_add(room))
                    .collect();
                let first = kernel(&c, &dealt[0], &dealt[1], trunc, true);
                let second = kernel(&c, &share, &vec::neg(&share), trunc, false);
                let out = vec::add(&first, &second);
                let error = |v: &&u8| ![0, 1].contains(&(**v as i8).wrapping_sub(x >> trunc));
                out.iter().filter(error).count()
            };
            for x in -64..64 {
                assert_eq!(large(x, gap, 64), 0, "{x} >> {trunc}");
                assert_eq!(
                    large(x, aby3, 0),
                    x.unsigned_abs() as usize,
                    "{x} >> {trunc}"
                );
            }
        }
    }
}
