//! The local steps of the comparison by a tree (docs/spec/liu24.md, section 6.2) and of DReLU.
//!
//! Rows of bits are laid out `[bit][element]`: row `i` starts at `i n`.

use super::{Field, vec::at};
use crate::fresh::build;
use crate::isa::{self, simd};
use crate::par;

/// Elements that are worked on at once.
pub(super) const STRIP: usize = 256;

simd! {
    fn leaves_into<F: Field>(out: &mut [&mut [F]], y: &[F], r: &[F], b: &[F], start: usize) {
        let (n, len) = (y.len(), out.first().map_or(0, |row| row.len()));
        for at in (0..len).step_by(STRIP) {
            let end = len.min(at + STRIP);
            let here = start + at..start + end;
            let (y, b) = (&y[here.clone()], &b[here.clone()]);
            // 1 - 2 b, and three times the bits above in which r and y differ.
            let mut sums = [F::ZERO; STRIP];
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum = F::ONE.sub(b.add(*b));
            }
            let (equal, out) = out.split_first_mut().expect("a leaf for equality");
            for (i, out) in out.iter_mut().enumerate().rev() {
                let r = &r[i * n..][here.clone()];
                let sums = out[at..end].iter_mut().zip(&mut sums);
                for ((out, sum), (r, y)) in sums.zip(r.iter().zip(y)) {
                    let bit = F::ONE.keep(y.mask(i as u32));
                    let differ = F::select(y.mask(i as u32), F::ONE.sub(*r), *r);
                    *out = sum.add(r.sub(bit));
                    *sum = sum.add(differ).add(differ).add(differ);
                }
            }
            for (out, sum) in equal[at..end].iter_mut().zip(&sums) {
                *out = sum.sub(F::ONE);
            }
        }
    }

    fn low_bit_into<F: Field>(out: &mut [F], y: &[F]) {
        for (out, y) in out.iter_mut().zip(y) {
            *out = F::ONE.keep(y.mask(0));
        }
    }

    fn flip_into<F: Field>(out: &mut [F], h: &[F], kappa: &[F]) {
        for ((out, h), kappa) in out.iter_mut().zip(h).zip(kappa) {
            *out = F::select(kappa.mask(0), F::ONE.sub(*h), *h);
        }
    }
}

/// Shares of the leaves `c_i` of `[y < r]`, row by row, from public `y` and shares of the bits `r_i` and of the
/// random bit `b`: `1 - 2 b + r_i - y_i` and three times the number of higher bits in which `r` and `y` differ,
/// for the lowest leaf as if another bit were 0 in `r` and 1 in `y`. One leaf is zero iff `r <= y` and `b = 0`,
/// or `y < r` and `b = 1`.
pub fn tree_leaves<F: Field>(y: &[F], r: &[F], b: &[F]) -> Vec<F> {
    let (n, l) = (y.len(), F::BITS as usize);
    assert!(b.len() == n && r.len() == l * n);
    let mut out = vec![F::ZERO; (l + 1) * n];
    let isa = isa::current();
    par::for_each_columns(&mut out, n, l, |s, out| leaves_into(isa, out, y, r, b, s));
    out
}

/// The lowest bit of every public element.
pub fn low_bit<F: Field>(y: &[F]) -> Vec<F> {
    let isa = isa::current();
    build(y.len(), |s, out| low_bit_into(isa, out, at!(y, s, out)))
}

/// Shares of `h xor kappa` from shares of a bit `h` and the public bit `kappa`:
/// `kappa + (1 - 2 kappa) h`.
pub fn flip<F: Field>(h: &[F], kappa: &[F]) -> Vec<F> {
    assert_eq!(h.len(), kappa.len());
    let isa = isa::current();
    build(h.len(), |s, out| {
        flip_into(isa, out, at!(h, s, out), at!(kappa, s, out))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::mersenne::{F5, F7, on_every_field, sample};

    /// The kernel on arbitrary shares gives what the formulas of docs/spec/liu24.md, section 6.2, say.
    fn definition<F: Field>() {
        let l = F::BITS as usize;
        for n in [0, 1, 17, 255, 257, 2500] {
            let (y, b, r) = (sample::<F>(1, n), sample::<F>(2, n), sample::<F>(3, l * n));
            let out = same_everywhere(|| tree_leaves(&y, &r, &b));
            assert_eq!(out.len(), (l + 1) * n);
            for at in 0..n {
                let mut sum = F::ONE.sub(b[at].add(b[at]));
                for i in (0..l).rev() {
                    let (r, y) = (r[i * n + at], F::from_u64(y[at].to_u64() >> i & 1));
                    let leaf = sum.add(r).sub(y);
                    assert_eq!(out[(i + 1) * n + at], leaf, "bit {i} of {at}");
                    let differ = r.add(y).sub(F::from_u64(2).mul(r).mul(y));
                    sum = sum.add(F::from_u64(3).mul(differ));
                }
                assert_eq!(out[at], sum.sub(F::ONE), "equality of {at}");
            }
        }
    }

    #[test]
    fn leaves_are_their_definition() {
        on_every_field!(definition);
    }

    /// Every `y`, every `r`, both `b`: the product tells.
    fn exhaustive<F: Field>() {
        let l = F::BITS as usize;
        let cases: Vec<[u64; 3]> = (0..F::P)
            .flat_map(|y| (0..F::P).flat_map(move |r| [[y, r, 0], [y, r, 1]]))
            .collect();
        let y: Vec<F> = cases.iter().map(|c| F::from_u64(c[0])).collect();
        let b: Vec<F> = cases.iter().map(|c| F::from_u64(c[2])).collect();
        let bits = (0..l).flat_map(|i| cases.iter().map(move |c| F::from_u64(c[1] >> i & 1)));
        let leaves = tree_leaves(&y, &bits.collect::<Vec<_>>(), &b);
        for (at, [y, r, b]) in cases.iter().enumerate() {
            let product = (0..=l).fold(F::ONE, |d, i| d.mul(leaves[i * cases.len() + at]));
            let less = (product != F::ZERO) as u64 ^ b;
            assert_eq!(less, (y < r) as u64, "{y} < {r}, b = {b}");
        }
    }

    #[test]
    fn the_product_compares() {
        exhaustive::<F5>();
        exhaustive::<F7>();
    }

    fn bits<F: Field>() {
        let (y, h) = (sample::<F>(1, 70_001), sample::<F>(2, 70_001));
        let low = same_everywhere(|| low_bit(&y));
        assert!(
            low.iter()
                .zip(&y)
                .all(|(b, y)| b.to_u64() == y.to_u64() & 1)
        );
        let out = same_everywhere(|| flip(&h, &low));
        for ((out, h), kappa) in out.iter().zip(&h).zip(&low) {
            assert_eq!(*out, kappa.add(h.mul(F::ONE.sub(kappa.add(*kappa)))));
        }
    }

    #[test]
    fn bits_flip() {
        on_every_field!(bits);
    }
}
