//! Powers with fixed exponents: inverses and roots of whole buffers.

use super::{Field, vec::at};
use crate::fresh::build;
use crate::isa::{self, simd};

simd! {
    /// `out = (a out + 1) / 2`.
    fn halve_into<F: Field>(out: &mut [F], a: &[F], half: F) {
        for (out, a) in out.iter_mut().zip(a) {
            *out = a.mul(*out).add(F::ONE).mul(half);
        }
    }

    /// `out = a^(2^(l-2) - 1)`, and that to the fourth, times `a`, where `inverse`.
    fn power_into<F: Field>(out: &mut [F], a: &[F], inverse: bool) {
        for (out, a) in out.chunks_mut(STRIP).zip(a.chunks(STRIP)) {
            let mut base = [F::ZERO; STRIP];
            base[..a.len()].copy_from_slice(a);
            let mut power = base;
            // Exponents of `ones` ones: doubled, or doubled and one more, along the bits of l - 2.
            let target = F::BITS - 2;
            let mut ones = 1;
            for bit in (0..target.ilog2()).rev() {
                let half = power;
                square(&mut power, ones);
                multiply(&mut power, &half);
                ones *= 2;
                if target >> bit & 1 == 1 {
                    square(&mut power, 1);
                    multiply(&mut power, &base);
                    ones += 1;
                }
            }
            if inverse {
                square(&mut power, 2);
                multiply(&mut power, &base);
            }
            out.copy_from_slice(&power[..out.len()]);
        }
    }
}

/// Elements whose powers are computed side by side.
const STRIP: usize = 64;

#[inline(always)]
fn square<F: Field>(v: &mut [F; STRIP], times: u32) {
    for _ in 0..times {
        for v in v.iter_mut() {
            *v = v.mul(*v);
        }
    }
}

#[inline(always)]
fn multiply<F: Field>(v: &mut [F; STRIP], by: &[F; STRIP]) {
    for (v, by) in v.iter_mut().zip(by) {
        *v = v.mul(*by);
    }
}

/// The inverse of every element, 0 for 0.
pub fn inverse<F: Field>(v: &[F]) -> Vec<F> {
    let isa = isa::current();
    build(v.len(), |s, out| power_into(isa, out, at!(v, s, out), true))
}

/// `v^((p-3)/4)`, which for a square `v` is the inverse of its root `v^((p+1)/4)`; 0 for 0.
pub fn inverse_sqrt<F: Field>(v: &[F]) -> Vec<F> {
    let isa = isa::current();
    build(v.len(), |s, out| {
        power_into(isa, out, at!(v, s, out), false)
    })
}

/// `(a / sqrt(v) + 1) / 2` with the root of [`inverse_sqrt`]: for public squares `v` of random
/// numbers with shares `a`, shares of random bits.
pub fn sign_bits<F: Field>(a: &[F], v: &[F]) -> Vec<F> {
    assert_eq!(a.len(), v.len());
    let (isa, half) = (isa::current(), F::from_u64(2).inverse());
    build(v.len(), |s, out| {
        // Strip by strip, so that the roots are still in cache.
        for (i, out) in out.chunks_mut(16 * STRIP).enumerate() {
            let s = s + 16 * STRIP * i;
            power_into(isa, out, at!(v, s, out), false);
            halve_into(isa, out, at!(a, s, out), half);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::mersenne::{on_every_field, sample, vec::mul};

    fn definition<F: Field>() {
        for n in [0, 1, 63, 64, 65, 1001, 40_001] {
            let a = sample::<F>(1, n);
            let inverses = same_everywhere(|| inverse(&a));
            let powers = same_everywhere(|| inverse_sqrt(&a));
            let roots = inverse_sqrt(&mul(&a, &a));
            assert_eq!((inverses.len(), powers.len(), roots.len()), (n, n, n));
            let bits = same_everywhere(|| sign_bits(&a, &mul(&a, &a)));
            for (i, a) in a.iter().enumerate() {
                assert_eq!(inverses[i], a.inverse());
                assert!(*a == F::ZERO || bits[i] == F::ZERO || bits[i] == F::ONE);
                assert_eq!(bits[i].add(bits[i]), a.mul(roots[i]).add(F::ONE));
                let power = (2..F::BITS).fold(F::ONE, |power, _| power.mul(power).mul(*a));
                assert_eq!(powers[i], power);
                // The inverse of one of the two roots of a^2.
                let sign = a.mul(roots[i]);
                let good = [F::ONE, F::ONE.neg()].contains(&sign);
                assert!(if *a == F::ZERO { sign == F::ZERO } else { good });
                // The same one for both: the root that is a square itself.
                assert_eq!(inverse_sqrt(&[a.neg().mul(a.neg())])[0], roots[i]);
            }
        }
    }

    #[test]
    fn powers_are_their_definitions() {
        on_every_field!(definition);
    }
}
