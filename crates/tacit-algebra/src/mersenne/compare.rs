//! The local steps of the comparison by a tree (docs/spec/liu24.md, section 6.1) and of DReLU.
//!
//! Rows of bits are laid out `[bit][element]`: row `i` starts at `i n`.

use super::{Field, vec::at};
use crate::fresh::build;
use crate::isa::{self, simd};
use crate::par;

/// Elements that are worked on at once.
pub(super) const STRIP: usize = 256;

simd! {
    fn leaves_into<F: Field>(out: &mut [&mut [F]], y: &[F], r: &[F], g: &[F], b: &[F], start: usize) {
        let (n, len) = (y.len(), out.first().map_or(0, |row| row.len()));
        for at in (0..len).step_by(STRIP) {
            let end = len.min(at + STRIP);
            let here = start + at..start + end;
            let (y, b) = (&y[here.clone()], &b[here.clone()]);
            let mut above = [F::ONE; STRIP];
            for (i, out) in out.iter_mut().enumerate().rev() {
                let (r, g) = (&r[i * n..][here.clone()], &g[i * n..][here.clone()]);
                let public = y.iter().zip(b);
                let shares = r.iter().zip(g);
                let sums = out[at..end].iter_mut().zip(&mut above);
                for (((out, above), (r, g)), (y, b)) in sums.zip(shares).zip(public) {
                    let (y, z) = (y.mask(i as u32), y.after().mask(i as u32));
                    // With t = b - 2 g: u = r - 2 g - z + b (y + z) = r + t + b (y + z - 1) - z,
                    // and w = r + z - 2 r z + (y - z) t is q or, where z is 1, 1 - q, for
                    // q = r + t (y xor z).
                    let sum = r.add(b.sub(g.add(*g)));
                    let one = F::ONE.keep(z);
                    let part = F::select(y, *b, b.neg());
                    let part = F::select(y.differ(z), F::ZERO, part);
                    let q = F::select(y.differ(z), sum, *r);
                    *out = sum.add(part).sub(one).add(*above);
                    *above = above.add(F::select(z, F::ONE.sub(q), q));
                }
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

/// Shares of the leaves `c_i` of `[y < r]`, row by row, from public `y` and shares of the bits
/// `r_i`, of `g_i = b r_i` and of the random bit `b`. With `y' = y + 1`, one leaf is zero iff
/// `r < y'` and `b = 0`, or `y < r` and `b = 1`.
pub fn tree_leaves<F: Field>(y: &[F], r: &[F], g: &[F], b: &[F]) -> Vec<F> {
    let (n, l) = (y.len(), F::BITS as usize);
    assert!(b.len() == n && r.len() == l * n && g.len() == l * n);
    let mut out = vec![F::ZERO; l * n];
    let isa = isa::current();
    par::for_each_columns(&mut out, n, l, |s, out| {
        leaves_into(isa, out, y, r, g, b, s)
    });
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

    /// On arbitrary shares, from the formulas of docs/spec/liu24.md, section 6.1.
    fn definition<F: Field>() {
        let l = F::BITS as usize;
        for n in [0, 1, 17, 255, 257, 2500] {
            let (y, b) = (sample::<F>(1, n), sample::<F>(2, n));
            let (r, g) = (sample::<F>(3, l * n), sample::<F>(4, l * n));
            let out = same_everywhere(|| tree_leaves(&y, &r, &g, &b));
            assert_eq!(out.len(), l * n);
            for at in 0..n {
                let mut above = F::ZERO;
                for i in (0..l).rev() {
                    let [y, z] =
                        [y[at].to_u64(), y[at].to_u64() + 1].map(|v| F::from_u64(v >> i & 1));
                    let (r, g, b, two) = (r[i * n + at], g[i * n + at], b[at], F::from_u64(2));
                    let u = r.sub(two.mul(g)).sub(z).add(b.mul(y.add(z)));
                    let s = z.add(b.mul(y.sub(z)));
                    let rs = r.mul(z).add(g.mul(y.sub(z)));
                    assert_eq!(out[i * n + at], u.add(F::ONE).add(above), "bit {i} of {at}");
                    above = above.add(r.add(s).sub(two.mul(rs)));
                }
            }
        }
    }

    #[test]
    fn leaves_are_their_definition() {
        on_every_field!(definition);
    }

    /// Every `y`, every `r` with `p` as the second zero, both `b`: the product tells.
    fn exhaustive<F: Field>() {
        let l = F::BITS as usize;
        let cases: Vec<[u64; 3]> = (0..F::P)
            .flat_map(|y| (0..=F::P).flat_map(move |r| [[y, r, 0], [y, r, 1]]))
            .collect();
        let y: Vec<F> = cases.iter().map(|c| F::from_u64(c[0])).collect();
        let b: Vec<F> = cases.iter().map(|c| F::from_u64(c[2])).collect();
        let bits = |of: &dyn Fn(&[u64; 3]) -> u64| -> Vec<F> {
            (0..l)
                .flat_map(|i| cases.iter().map(move |c| F::from_u64(of(c) >> i & 1)))
                .collect()
        };
        let (r, g) = (bits(&|c| c[1]), bits(&|c| c[1] * c[2]));
        let leaves = tree_leaves(&y, &r, &g, &b);
        for (at, [y, r, b]) in cases.iter().enumerate() {
            let product = (0..l).fold(F::ONE, |d, i| d.mul(leaves[i * cases.len() + at]));
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
