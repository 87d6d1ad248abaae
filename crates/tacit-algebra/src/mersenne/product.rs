//! Matrix products and convolutions over fields.

use super::Field;
use crate::{BatchMatMul, Conv2d, MatMul, conv, matmul};

/// `acc += a b`; all matrices row-major.
///
/// # Panics
/// If a length is not that of the shape.
pub fn matmul_acc<F: Field>(acc: &mut [F], a: &[F], b: &[F], shape: MatMul) {
    matmul::accumulate(acc, a, b, shape)
}

/// `acc += a b` of every pair of matrices, which lie one after the other.
///
/// # Panics
/// If a length is not that of the shape.
pub fn batch_matmul_acc<F: Field>(acc: &mut [F], a: &[F], b: &[F], shape: BatchMatMul) {
    matmul::accumulate_each(acc, a, b, shape)
}

/// `acc += conv(x, w)`; `acc` is NCHW.
///
/// # Panics
/// If the shape is not valid or a length is not that of the shape.
pub fn conv2d_acc<F: Field>(acc: &mut [F], x: &[F], w: &[F], shape: &Conv2d) {
    conv::accumulate(acc, x, w, shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::mersenne::{F31, F61, on_every_field, sample};

    fn check<F: Field>(m: usize, k: usize, n: usize) {
        let (acc, a, b) = (
            sample::<F>(1, m * n),
            sample::<F>(2, m * k),
            sample::<F>(3, k * n),
        );
        let out = same_everywhere(|| {
            let mut acc = acc.clone();
            matmul_acc(&mut acc, &a, &b, MatMul { m, k, n });
            acc
        });
        for (at, acc) in acc.iter().enumerate() {
            let sum = (0..k).fold(*acc, |sum, t| {
                sum.add(a[at / n * k + t].mul(b[t * n + at % n]))
            });
            assert_eq!(out[at], sum, "{m} x {k} x {n} at {at}");
        }
    }

    fn shapes<F: Field>() {
        for (m, k, n) in [(0, 3, 3), (3, 0, 3), (3, 3, 0), (1, 1, 1)] {
            check::<F>(m, k, n);
        }
        for m in 1..=9 {
            for k in [1, 2, 3, 4, 5, 9, 64, 65] {
                for n in [1, 7, 8, 9, 16, 17, 33] {
                    check::<F>(m, k, n);
                }
            }
        }
    }

    #[test]
    fn products_are_their_definition() {
        on_every_field!(shapes);
        for (m, k, n) in [(1, 513, 2100), (70, 511, 129), (600, 257, 33)] {
            check::<F31>(m, k, n);
            check::<F61>(m, k, n);
        }
    }

    fn largest<F: Field>() {
        let (k, most) = (1000, F::from_u64(F::P - 1));
        for m in [1, 5] {
            let (a, b) = (vec![most; m * k], vec![most; k * 17]);
            let out = same_everywhere(|| {
                let mut acc = vec![most; m * 17];
                matmul_acc(&mut acc, &a, &b, MatMul { m, k, n: 17 });
                acc
            });
            assert!(out.iter().all(|c| *c == F::from_u64(k as u64 - 1)));
        }
    }

    #[test]
    fn the_largest_sums_are_right() {
        on_every_field!(largest);
    }

    /// Against the ring's convolution, on values small enough for both.
    fn convolves<F: Field>() {
        for (stride, pad, dilation, groups) in [
            ([1, 1], [0; 4], [1, 1], 1),
            ([2, 1], [1, 0, 2, 3], [1, 2], 1),
            ([1, 2], [1; 4], [1, 1], 2),
        ] {
            let shape = Conv2d {
                batch: 2,
                channels: 4,
                height: 9,
                width: 10,
                filters: 6,
                kernel: [3, 2],
                stride,
                pad,
                dilation,
                groups,
            };
            let mut prg = crate::Prg::new([1; 16]);
            let mut small = |n| -> Vec<u64> { prg.ring(n).iter().map(|v: &u64| v % 31).collect() };
            let (x, w) = (small(shape.input_len()), small(shape.weight_len()));
            let acc = small(shape.output_len());
            let mut expected = acc.clone();
            crate::conv2d_acc(&mut expected, &x, &w, &shape);
            let field = |v: &[u64]| -> Vec<F> { v.iter().map(|v| F::from_u64(*v)).collect() };
            let out = same_everywhere(|| {
                let mut acc = field(&acc);
                conv2d_acc(&mut acc, &field(&x), &field(&w), &shape);
                acc
            });
            assert!(out == field(&expected), "{shape:?}");
        }
    }

    #[test]
    fn convolutions_are_those_of_integers() {
        on_every_field!(convolves);
    }
}
