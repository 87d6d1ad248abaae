//! The local steps of truncations. [`gap`] and [`signed`] go from an opened masked value to one
//! component of the quotient (docs/spec/falcon.md, section 5.1); [`local`] opens nothing
//! (docs/spec/bicoptor2.md, section 3).
//!
//! The mask is `r = low + 2^{l-1} msb`; `low_shifted` and `msb` are this component of sharings of
//! `low >> d` and of the top bit over the ring. `constant`: this component carries public terms.

use crate::fresh::build;
use crate::isa::{self, simd};
use crate::{Ring, vec};

simd! {
    fn gap_into<R: Ring>(out: &mut [R], c: &[R], low: &[R], msb: &[R], d: u32, constant: bool) {
        let gap = R::ONE.shl(R::BITS - 2 - d);
        for (((out, c), low), msb) in out.iter_mut().zip(c).zip(low).zip(msb) {
            // Without a wrap r_msb counts 2^{l-1-d} in r >> d; where r wrapped c, that is
            // 2^{l-d} too little, and it wrapped where its top bit is set and that of c is not.
            let top = msb.shl(R::BITS - 1 - d);
            let top = if c.shr(R::BITS - 1) == R::ONE { top.neg() } else { top };
            let public = if constant { c.shr(d).sub(gap) } else { R::ZERO };
            *out = public.sub(*low).add(top);
        }
    }

    fn signed_into<R: Ring>(out: &mut [R], c: &[R], low: &[R], msb: &[R], d: u32, constant: bool) {
        for (((out, c), low), msb) in out.iter_mut().zip(c).zip(low).zip(msb) {
            let public = if constant { c.sar(d) } else { R::ZERO };
            *out = public.sub(*low).add(msb.shl(R::BITS - 1 - d));
        }
    }

    fn local_into<R: Ring>(out: &mut [R], share: &[R], first: bool, k: u32) {
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

    fn count_large<R: Ring>(x: &[R], q: &[R], d: u32) -> usize {
        let large = |(x, q): (&R, &R)| q.sub(x.sar(d)).shr(1) != R::ZERO;
        x.iter().zip(q).map(|pair| usize::from(large(pair))).sum()
    }
}

/// One-bit-gap truncation by `d` bits, `0 < d <= BITS - 2`, from `c = x + 2^{l-2} + r`:
/// `(c >> d) - (r >> d) + w 2^{l-d} - 2^{l-2-d}` with `w = msb(r) (1 - msb(c))`.
pub fn gap<R: Ring>(c: &[R], low_shifted: &[R], msb: &[R], d: u32, constant: bool) -> Vec<R> {
    assert!(c.len() == low_shifted.len() && c.len() == msb.len() && 0 < d && d <= R::BITS - 2);
    let isa = isa::current();
    build(c.len(), |s, out| {
        let e = s + out.len();
        gap_into(
            isa,
            out,
            &c[s..e],
            &low_shifted[s..e],
            &msb[s..e],
            d,
            constant,
        )
    })
}

/// ABY3's truncation by `d` bits, `0 < d < BITS`, from `c = x + r`, all signed:
/// `(c >> d) - (r >> d)`.
pub fn signed<R: Ring>(c: &[R], low_shifted: &[R], msb: &[R], d: u32, constant: bool) -> Vec<R> {
    assert!(c.len() == low_shifted.len() && c.len() == msb.len() && 0 < d && d < R::BITS);
    let isa = isa::current();
    build(c.len(), |s, out| {
        let e = s + out.len();
        signed_into(
            isa,
            out,
            &c[s..e],
            &low_shifted[s..e],
            &msb[s..e],
            d,
            constant,
        )
    })
}

/// SecureML's truncation by `k < l` bits (Algorithm 1): of the first summand `x >> k`, of the
/// second `-((-x) >> k)`.
///
/// A value of absolute value `xi` comes out as its sign times `xi >> k`, or one more, except with
/// probability `xi / 2^l`: then `2^(l-k)` is added or missing.
pub fn local<R: Ring>(first: bool, share: &[R], k: u32) -> Vec<R> {
    assert!(k < R::BITS);
    let isa = isa::current();
    build(share.len(), |s, out| {
        local_into(isa, out, &share[s..s + out.len()], first, k)
    })
}

/// What [`gap`] and [`signed`] take shares of, for masks `r` and
/// `trunc <= l - 2`: `(r mod 2^(l-1)) >> trunc` and the top bit of `r`.
pub fn split_mask<R: Ring>(r: &[R], trunc: u32) -> (Vec<R>, Vec<R>) {
    assert!(trunc <= R::BITS - 2);
    let isa = isa::current();
    let shifted = build(r.len(), |s, out| {
        split_into(isa, out, &r[s..s + out.len()], trunc)
    });
    (shifted, vec::shr(r, R::BITS - 1))
}

/// How many of `q` are neither `x >> d` nor one more: truncations with the large error `e1`.
pub fn large_errors<R: Ring>(x: &[R], q: &[R], d: u32) -> usize {
    assert!(x.len() == q.len() && d < R::BITS);
    count_large(isa::current(), x, q, d)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;

    /// Every value of the gap's range under every mask, trivially shared: error 0 or 1.
    #[test]
    fn gap_is_within_one_for_every_mask() {
        let masks: Vec<u8> = (0..=255).collect();
        let msb: Vec<u8> = masks.iter().map(|r| r >> 7).collect();
        for d in 1..=6 {
            let low: Vec<u8> = masks.iter().map(|r| (r & 127) >> d).collect();
            for x in -64i8..64 {
                let c: Vec<u8> = masks
                    .iter()
                    .map(|r| (x as u8).wrapping_add(64).wrapping_add(*r))
                    .collect();
                let out = same_everywhere(|| gap(&c, &low, &msb, d, true));
                assert!(
                    out.iter().all(|q| [0, 1].contains(&(*q as i8 - (x >> d)))),
                    "{x} >> {d}"
                );
            }
        }
    }

    /// Large errors for exactly `abs(x)` of the 256 masks.
    #[test]
    fn signed_fails_for_as_many_masks_as_stated() {
        let masks: Vec<u8> = (0..=255).collect();
        let msb: Vec<u8> = masks.iter().map(|r| r >> 7).collect();
        for d in 1..=6 {
            let low: Vec<u8> = masks.iter().map(|r| (r & 127) >> d).collect();
            for x in -128i8..=127 {
                let c: Vec<u8> = masks.iter().map(|r| (x as u8).wrapping_add(*r)).collect();
                let out = same_everywhere(|| signed(&c, &low, &msb, d, true));
                let large = out
                    .iter()
                    .filter(|q| ![0, 1].contains(&(**q as i8).wrapping_sub(x >> d)))
                    .count();
                assert_eq!(large, usize::from(x.unsigned_abs()), "{x} >> {d}");
                let counted = same_everywhere(|| large_errors(&[x as u8; 256], &out, d));
                assert_eq!(counted, large, "{x} >> {d}");
            }
        }
    }

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
        let wraps = both(|h, a| local(h, a, 4), &shares);
        assert_eq!((wraps[0xAA], wraps[0xE0]), (5, 0xF4));
    }

    /// Every value under every mask: off by one in the direction of the sign, and a wrap for
    /// exactly `xi` of the 256 masks.
    #[test]
    fn probabilistic_truncation_fails_as_often_as_stated() {
        for (x, k) in (-127i8..=127).flat_map(|x| (0..8).map(move |k| (x, k))) {
            let out = both(|h, a| local(h, a, k), &shares(x as u8));
            let (xi, sign) = (x.unsigned_abs(), if x < 0 { -1 } else { 1 });
            let error = |v: u8| (v as i8).wrapping_mul(sign).wrapping_sub((xi >> k) as i8);
            let wraps = out.iter().filter(|v| ![0, 1].contains(&error(**v))).count();
            let expected = if k == 0 { 0 } else { xi as usize };
            assert_eq!(wraps, expected, "{x} >> {k}");
        }
    }

    /// Both truncations of opened values on masks that were split, in two shares.
    #[test]
    fn split_masks_serve_the_opened_truncations() {
        let r: Vec<u8> = (0..=255).collect();
        let share: Vec<u8> = r.iter().map(|r| r.wrapping_mul(77)).collect();
        for trunc in 1..=6 {
            let (shifted, msb) = same_everywhere(|| split_mask(&r, trunc));
            let parts = [vec::sub(&shifted, &share), vec::add(&msb, &share)];
            type Kernel = fn(&[u8], &[u8], &[u8], u32, bool) -> Vec<u8>;
            let large = |x: i8, kernel: Kernel, room: u8| {
                let c: Vec<u8> = r
                    .iter()
                    .map(|r| r.wrapping_add(x as u8).wrapping_add(room))
                    .collect();
                let first = kernel(&c, &parts[0], &parts[1], trunc, true);
                let second = kernel(&c, &share, &vec::neg(&share), trunc, false);
                let out = vec::add(&first, &second);
                let error = |v: &&u8| ![0, 1].contains(&(**v as i8).wrapping_sub(x >> trunc));
                out.iter().filter(error).count()
            };
            for x in -64..64 {
                assert_eq!(large(x, gap, 64), 0, "{x} >> {trunc}");
                assert_eq!(
                    large(x, signed, 0),
                    x.unsigned_abs() as usize,
                    "{x} >> {trunc}"
                );
            }
        }
    }
}
