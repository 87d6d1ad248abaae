//! The local steps of the comparison by a secret rotation (docs/spec/liu24.md, section 6.3).
//!
//! Rows are laid out `[position][element]`: row `k` starts at `k n`. There are `N` positions: the
//! `l` bits, the sentinel and pads, see [`rot_size`].

use std::sync::atomic::{AtomicBool, Ordering};

use super::Field;
use super::compare::STRIP;
use crate::fresh::build;
use crate::isa::{self, simd};
use crate::par;

/// Positions of a rotation: the smallest power of two above `l`.
pub const fn rot_size<F: Field>() -> usize {
    (F::BITS as usize + 1).next_power_of_two()
}

/// Elements whose rotations are correlated at once.
const NARROW: usize = 16;

simd! {
    fn positions_into<F: Field>(out: &mut [&mut [F]], y: &[F], r: &[F], start: usize) {
        let (n, l, len) = (y.len(), F::BITS as usize, out[0].len());
        for at in (0..len).step_by(STRIP) {
            let end = len.min(at + STRIP);
            let here = start + at..start + end;
            let y = &y[here.clone()];
            let mut above = [F::ZERO; STRIP];
            for i in (0..l).rev() {
                let (r, out) = (&r[i * n..][here.clone()], &mut out[i][at..end]);
                for (((out, above), y), r) in out.iter_mut().zip(&mut above).zip(y).zip(r) {
                    let opposite = F::ONE.sub(*r);
                    let y = y.mask(i as u32);
                    let (c, other) = (F::select(y, opposite, *r), F::select(y, *r, opposite));
                    *out = above.add(other);
                    *above = above.add(c);
                }
            }
            out[l][at..end].copy_from_slice(&above[..end - at]);
        }
        for pad in &mut out[l + 1..] {
            pad.fill(F::ONE);
        }
    }

    fn correlate_into<F: Field>(out: &mut [&mut [F]], h: &[F], z: &[F], n: usize, start: usize) {
        let (size, len) = (out.len(), out[0].len());
        let mut left = vec![[F::ZERO; NARROW]; size];
        let mut right = vec![[F::ZERO; NARROW]; 2 * size];
        for at in (0..len).step_by(NARROW) {
            let (from, wide) = (start + at, NARROW.min(len - at));
            for k in 0..size {
                left[k][..wide].copy_from_slice(&z[k * n + from..][..wide]);
                // Row `size + j - k` of the doubled rotation is `h_{(j - k) mod N}`.
                right[k][..wide].copy_from_slice(&h[k * n + from..][..wide]);
                right[size + k] = right[k];
            }
            for (j, out) in out.iter_mut().enumerate() {
                let mut sums = [0; NARROW];
                let right = right[j + 1..=j + size].rchunks(4);
                for (left, right) in left.chunks(4).zip(right) {
                    for (z, h) in left.iter().zip(right.iter().rev()) {
                        for ((sum, z), h) in sums.iter_mut().zip(z).zip(h) {
                            *sum = F::add_product(*sum, *z, *h);
                        }
                    }
                    for sum in &mut sums {
                        *sum = F::fold(*sum);
                    }
                }
                for (out, sum) in out[at..at + wide].iter_mut().zip(sums) {
                    *out = F::close(sum);
                }
            }
        }
    }

    fn payload_into<F: Field>(out: &mut [F], y: &[F], h: &[F], jstar: &[u32], start: usize) {
        let (n, size) = (y.len(), rot_size::<F>());
        for m in 0..size {
            let here = start..start + out.len();
            let h = &h[m * n..][here.clone()];
            let public = y[here.clone()].iter().zip(&jstar[here]);
            for ((out, h), (y, j)) in out.iter_mut().zip(h).zip(public) {
                // Row m meets the payload of position k = j* - m.
                let k = (*j).wrapping_sub(m as u32) & (size as u32 - 1);
                *out = out.add(if k < F::BITS && y.to_u64() >> k & 1 == 0 { *h } else { F::ZERO });
            }
        }
    }

    /// Whether every element has exactly one zero.
    fn zero_into<F: Field>(out: &mut [u32], opened: &[F], n: usize, start: usize) -> bool {
        let mut good = true;
        for (strip, out) in out.chunks_mut(STRIP).enumerate() {
            let from = start + strip * STRIP;
            let mut count = [0u32; STRIP];
            for (j, row) in opened.chunks_exact(n).enumerate() {
                let row = &row[from..from + out.len()];
                for ((out, count), v) in out.iter_mut().zip(&mut count).zip(row) {
                    let zero = (*v == F::ZERO) as u32;
                    *count += zero;
                    *out += zero * j as u32;
                }
            }
            good &= count[..out.len()].iter().all(|count| *count == 1);
        }
        good
    }
}

/// Shares of the `z_k` of all positions for `[y < r]`, from public `y` and shares of the bits of
/// `r`: with `c_i = y_i xor r_i`, `z_i` is `1 - c_i` plus the sum of the `c_k` above `i`; the
/// sentinel `z_l` is the sum of all, and pads are 1. Exactly one is zero.
pub fn rot_positions<F: Field>(y: &[F], r: &[F]) -> Vec<F> {
    let (n, size) = (y.len(), rot_size::<F>());
    assert_eq!(r.len(), F::BITS as usize * n);
    let mut out = vec![F::ZERO; size * n];
    let isa = isa::current();
    par::for_each_columns(&mut out, n, size, |s, out| {
        positions_into(isa, out, y, r, s)
    });
    out
}

/// Shares of twice the degree of `Z_j = sum_k h_{(j - k) mod N} z_k` for every element.
pub fn rot_correlate<F: Field>(h: &[F], z: &[F]) -> Vec<F> {
    let size = rot_size::<F>();
    assert!(h.len() == z.len() && h.len().is_multiple_of(size));
    let n = h.len() / size;
    let mut out = vec![F::ZERO; size * n];
    let isa = isa::current();
    par::for_each_columns(&mut out, n, size * size / 4, |s, out| {
        correlate_into(isa, out, h, z, n, s)
    });
    out
}

/// Shares of `[y < r]`: the payload `q_k = 1 - y_k`, 0 at the sentinel and pads, that the rotation
/// `h` takes to the public position `jstar` of the zero.
pub fn rot_payload<F: Field>(y: &[F], h: &[F], jstar: &[u32]) -> Vec<F> {
    let (n, size) = (y.len(), rot_size::<F>());
    assert!(h.len() == size * n && jstar.len() == n);
    let isa = isa::current();
    build(n, |s, out| payload_into(isa, out, y, h, jstar, s))
}

/// The position of the one zero of every element; `None` if an element has not exactly one. For
/// opened, public values.
pub fn rot_zero<F: Field>(opened: &[F]) -> Option<Vec<u32>> {
    let size = rot_size::<F>();
    assert!(opened.len().is_multiple_of(size));
    let (isa, n) = (isa::current(), opened.len() / size);
    let good = AtomicBool::new(true);
    let out = build(n, |s, out| {
        if !out.is_empty() && !zero_into(isa, out, opened, n, s) {
            good.store(false, Ordering::Relaxed);
        }
    });
    good.into_inner().then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::mersenne::{F5, F7, on_every_field, sample};

    /// The kernel on arbitrary shares gives what the formulas of docs/spec/liu24.md, section 6.3, say.
    fn definition<F: Field>() {
        let (l, size) = (F::BITS as usize, rot_size::<F>());
        for n in [0, 1, 15, 16, 17, 257, 300] {
            let (y, r) = (sample::<F>(1, n), sample::<F>(2, l * n));
            let (h, w) = (sample::<F>(3, size * n), sample::<F>(4, size * n));
            let jstar: Vec<u32> = (0..n as u32).map(|i| i * 5 % size as u32).collect();
            let z = same_everywhere(|| rot_positions(&y, &r));
            let products = same_everywhere(|| rot_correlate(&h, &w));
            let payload = same_everywhere(|| rot_payload(&y, &h, &jstar));
            assert_eq!(
                (z.len(), products.len(), payload.len()),
                (size * n, size * n, n)
            );
            for at in 0..n {
                let y_bit = |i: usize| F::from_u64(y[at].to_u64() >> i & 1);
                let mut above = F::ZERO;
                for i in (0..l).rev() {
                    let sign = F::ONE.sub(y_bit(i).add(y_bit(i)));
                    let c = y_bit(i).add(sign.mul(r[i * n + at]));
                    assert_eq!(z[i * n + at], above.add(F::ONE).sub(c));
                    above = above.add(c);
                }
                assert_eq!(z[l * n + at], above);
                assert!((l + 1..size).all(|k| z[k * n + at] == F::ONE));
                let turned = |j: usize, k: usize| h[(j + size - k) % size * n + at];
                for j in 0..size {
                    let sum =
                        (0..size).fold(F::ZERO, |sum, k| sum.add(turned(j, k).mul(w[k * n + at])));
                    assert_eq!(products[j * n + at], sum);
                }
                let sum = (0..l).fold(F::ZERO, |sum, k| {
                    sum.add(turned(jstar[at] as usize, k).mul(F::ONE.sub(y_bit(k))))
                });
                assert_eq!(payload[at], sum);
            }
        }
    }

    #[test]
    fn steps_are_their_definition() {
        on_every_field!(definition);
    }

    /// Every `y`, every `r` with `p` as the second zero, some rotation each.
    fn exhaustive<F: Field>() {
        let (l, size) = (F::BITS as usize, rot_size::<F>());
        let cases: Vec<(u64, u64, usize)> = (0..F::P)
            .flat_map(|y| (0..=F::P).map(move |r| (y, r, (3 * y + 5 * r) as usize % size)))
            .collect();
        let n = cases.len();
        let y: Vec<F> = cases.iter().map(|c| F::from_u64(c.0)).collect();
        let r: Vec<F> = (0..l)
            .flat_map(|i| cases.iter().map(move |c| F::from_u64(c.1 >> i & 1)))
            .collect();
        let mut h = vec![F::ZERO; size * n];
        for (at, case) in cases.iter().enumerate() {
            h[case.2 * n + at] = F::ONE;
        }
        let z = rot_positions(&y, &r);
        let zeros = rot_zero(&z).expect("one zero each");
        let jstar = rot_zero(&rot_correlate(&h, &z)).expect("one zero each");
        let less = rot_payload(&y, &h, &jstar);
        for (at, (y, r, s)) in cases.iter().enumerate() {
            assert_eq!(jstar[at] as usize, (zeros[at] as usize + s) % size);
            assert_eq!(less[at].to_u64(), (y < r) as u64, "{y} < {r}");
        }
    }

    #[test]
    fn the_rotation_compares() {
        exhaustive::<F5>();
        exhaustive::<F7>();
    }

    fn refused<F: Field>() {
        let (n, size) = (40_000, rot_size::<F>());
        let mut opened = vec![F::ONE; size * n];
        (0..n).for_each(|at| opened[at % size * n + at] = F::ZERO);
        let good = same_everywhere(|| rot_zero(&opened));
        assert!(good == Some((0..n).map(|at| (at % size) as u32).collect()));
        for at in [0, n / 2, n - 1] {
            for v in [F::ZERO, F::ONE] {
                let mut opened = opened.clone();
                opened[at % size * n + at] = v;
                opened[(at + 1) % size * n + at] = v;
                assert!(same_everywhere(|| rot_zero(&opened)).is_none());
            }
        }
        assert!(rot_zero::<F>(&[]) == Some(Vec::new()));
    }

    #[test]
    fn other_than_one_zero_is_refused() {
        on_every_field!(refused);
    }
}
