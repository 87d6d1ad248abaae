//! Truncations of shares without communication.
//!
//! The truncations with an opened value are Falcon's kernels: [`crate::truncate::aby3`] for
//! Algorithm 2, and [`crate::truncate::gap`] for the one that leaves a bit of room and does not
//! fail. [`split_mask`] gives the parts of the masks for both.

use crate::fresh::build;
use crate::isa::{self, simd};
use crate::{Ring, vec};

simd! {
    fn truncate_into<R: Ring>(out: &mut [R], share: &[R], first: bool, k: u32) {
        for (out, share) in out.iter_mut().zip(share) {
            *out = match first {
                true => share.shr(k),
                false => share.neg().shr(k).neg(),
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

    /// The example of the paper, 4 bits dropped of 0x4B.
    #[test]
    fn worked_example() {
        let shares = shares(0x4B);
        let wraps = both(|h, a| truncate_share(h, a, 4), &shares);
        assert_eq!((wraps[0xAA], wraps[0xE0]), (5, 0xF4));
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
