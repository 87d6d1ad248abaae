//! The last local step of Falcon's truncations (docs/spec/falcon.md, section 5.1): from the opened
//! masked value to one component of the quotient.
//!
//! The mask is `r = low + 2^{l-1} msb`; `low_shifted` and `msb` are this component of sharings of
//! `low >> d` and of the top bit over the ring. `constant`: this component carries public terms.

use crate::Ring;
use crate::fresh::build;
use crate::isa::{self, simd};

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

    fn aby3_into<R: Ring>(out: &mut [R], c: &[R], low: &[R], msb: &[R], d: u32, constant: bool) {
        for (((out, c), low), msb) in out.iter_mut().zip(c).zip(low).zip(msb) {
            let public = if constant { c.sar(d) } else { R::ZERO };
            *out = public.sub(*low).add(msb.shl(R::BITS - 1 - d));
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
pub fn aby3<R: Ring>(c: &[R], low_shifted: &[R], msb: &[R], d: u32, constant: bool) -> Vec<R> {
    assert!(c.len() == low_shifted.len() && c.len() == msb.len() && 0 < d && d < R::BITS);
    let isa = isa::current();
    build(c.len(), |s, out| {
        let e = s + out.len();
        aby3_into(
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
    fn aby3_fails_for_as_many_masks_as_stated() {
        let masks: Vec<u8> = (0..=255).collect();
        let msb: Vec<u8> = masks.iter().map(|r| r >> 7).collect();
        for d in 1..=6 {
            let low: Vec<u8> = masks.iter().map(|r| (r & 127) >> d).collect();
            for x in -128i8..=127 {
                let c: Vec<u8> = masks.iter().map(|r| (x as u8).wrapping_add(*r)).collect();
                let out = same_everywhere(|| aby3(&c, &low, &msb, d, true));
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
}
