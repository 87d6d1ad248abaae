//! The local steps of truncation (docs/spec/liu24.md, sections 2.2 and 3).

use super::compare::STRIP;
use super::{Field, vec::at};
use crate::fresh::build;
use crate::isa::{self, simd};

simd! {
    fn finish_into<F: Field>(out: &mut [F], c: &[F], shift: &[F], msb: &[F], d: u32, bias: F) {
        let step = F::from_u64(1 << (F::BITS - d));
        for (((out, c), shift), msb) in out.iter_mut().zip(c).zip(shift).zip(msb) {
            let kept = msb.mul(step);
            let wrap = kept.sub(kept.keep(c.mask(F::BITS - 1)));
            *out = c.shift(d).sub(bias).sub(*shift).add(wrap);
        }
    }

    fn weigh_into<F: Field>(out: &mut [F], rows: &[F], n: usize, last: F, start: usize) {
        for (strip, out) in out.chunks_mut(STRIP).enumerate() {
            let from = start + strip * STRIP;
            for row in rows.chunks_exact(n).rev() {
                for (out, r) in out.iter_mut().zip(&row[from..]) {
                    *out = out.add(*out).add(*r);
                }
            }
            for out in out.iter_mut() {
                *out = out.mul(last);
            }
        }
    }
}

/// The last step of a truncation by `1 <= d <= l - 2` bits, from the opened `c` and shares of
/// `r >> d` and of the top bit of the mask `r`:
/// `(c >> d) - r_shifted + r_msb (1 - msb(c)) 2^(l-d) - bias`.
pub fn finish_truncation<F: Field>(
    c: &[F],
    r_shifted: &[F],
    r_msb: &[F],
    d: u32,
    bias: F,
) -> Vec<F> {
    assert!(c.len() == r_shifted.len() && c.len() == r_msb.len());
    assert!((1..=F::BITS - 2).contains(&d));
    let isa = isa::current();
    build(c.len(), |s, out| {
        let (shift, msb) = (at!(r_shifted, s, out), at!(r_msb, s, out));
        finish_into(isa, out, at!(c, s, out), shift, msb, d, bias)
    })
}

/// `sum_i 2^(i + first_power) r_i` over rows of `n` elements.
pub fn weighted_bits<F: Field>(rows: &[F], n: usize, first_power: u32) -> Vec<F> {
    assert!(n == 0 && rows.is_empty() || n > 0 && rows.len().is_multiple_of(n));
    let (isa, power) = (isa::current(), F::from_u64(1 << (first_power % F::BITS)));
    build(n, |s, out| {
        if !out.is_empty() {
            weigh_into(isa, out, rows, n, power, s)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::mersenne::{F5, F7, on_every_field, sample};

    fn definition<F: Field>() {
        let c = match F::BITS {
            5 | 7 => (0..F::P).map(F::from_u64).collect(),
            _ => sample::<F>(1, 40_001),
        };
        let (shift, msb) = (sample::<F>(2, c.len()), sample::<F>(3, c.len()));
        let bias = F::from_u64(F::P / 3);
        for d in [1, 2, F::BITS / 2, F::BITS - 3, F::BITS - 2] {
            let ends = same_everywhere(|| finish_truncation(&c, &shift, &msb, d, bias));
            for (i, end) in ends.iter().enumerate() {
                let v = c[i].to_u64();
                let wrap = msb[i].mul(F::from_u64(1 - (v >> (F::BITS - 1))));
                let wrap = wrap.mul(F::from_u64(1 << (F::BITS - d)));
                let definition = F::from_u64(v >> d).sub(shift[i]).add(wrap).sub(bias);
                assert_eq!(*end, definition, "{v} by {d}");
            }
        }
    }

    #[test]
    fn steps_are_their_definition() {
        on_every_field!(definition);
    }

    /// Every value of the range under every mask, all ones included: the floor or the number after it
    /// (docs/spec/liu24.md, section 3).
    fn exhaustive<F: Field>() {
        let l = F::BITS;
        for d in 1..=l - 2 {
            let masks: Vec<u64> = (0..=F::P).collect();
            let bits: Vec<F> = (0..l)
                .flat_map(|i| masks.iter().map(move |r| F::from_u64(r >> i & 1)))
                .collect();
            let n = masks.len();
            let msb = &bits[(l as usize - 1) * n..];
            let high = weighted_bits(&bits[d as usize * n..], n, 0);
            let r = weighted_bits(&bits, n, 0);
            let half = 1i64 << (l - 2);
            for a in -half..half {
                let c: Vec<F> = r.iter().map(|r| r.add(F::from_i64(a + half))).collect();
                let out = finish_truncation(&c, &high, msb, d, F::from_u64(half as u64 >> d));
                for (out, r) in out.iter().zip(&masks) {
                    let error = out.to_i64() - (a >> d);
                    assert!(
                        (0..=1).contains(&error),
                        "{a} >> {d} under {r}: off by {error}"
                    );
                }
            }
        }
    }

    #[test]
    fn truncation_is_the_floor_or_the_next_for_every_mask() {
        exhaustive::<F5>();
        exhaustive::<F7>();
    }

    fn weights<F: Field>() {
        for (rows, n) in [(F::BITS as usize, 300), (1, 1), (5, 40_000), (0, 5), (3, 0)] {
            let bits = sample::<F>(1, rows * n);
            let power = |i: usize| (0..i).fold(F::ONE, |v, _| v.add(v));
            for first in [0, 3, F::BITS + 1] {
                let out = same_everywhere(|| weighted_bits(&bits, n, first));
                assert_eq!(out.len(), n);
                for at in 0..n {
                    let term = |i: usize| bits[i * n + at].mul(power(i + first as usize));
                    let plain = (0..rows).fold(F::ZERO, |sum, i| sum.add(term(i)));
                    assert_eq!(out[at], plain);
                }
            }
        }
    }

    #[test]
    fn rows_are_weighted() {
        on_every_field!(weights);
    }
}
