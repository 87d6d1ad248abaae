//! Matrix products over rings.

use crate::Ring;
use crate::gemm::{self, Dense, Output};
use crate::kernel::Kernels;

/// The shape of a product of an `m x k` and a `k x n` matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatMul {
    /// Rows of the left matrix.
    pub m: usize,
    /// Columns of the left, rows of the right matrix.
    pub k: usize,
    /// Columns of the right matrix.
    pub n: usize,
}

/// `acc += a b`, wrapping; all matrices row-major.
///
/// # Panics
/// If a length is not that of the shape.
pub fn matmul_acc<R: Ring>(acc: &mut [R], a: &[R], b: &[R], shape: MatMul) {
    accumulate(acc, a, b, shape)
}

/// [`matmul_acc`] over a ring or a field.
pub(crate) fn accumulate<R: Kernels>(acc: &mut [R], a: &[R], b: &[R], shape: MatMul) {
    let MatMul { m, k, n } = shape;
    assert!(acc.len() == m * n && a.len() == m * k && b.len() == k * n);
    if acc.is_empty() || k == 0 {
        return;
    }
    let out = Output::new(acc, n, n, 0);
    gemm::product(&out, a, &Dense { data: b, cols: n }, (m, k, n));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use crate::isa::same_everywhere;

    fn definition<R: Ring>(acc: &[R], a: &[R], b: &[R], shape: MatMul) -> Vec<R> {
        let MatMul { k, n, .. } = shape;
        let element = |(at, c): (usize, &R)| {
            (0..k).fold(*c, |sum, t| {
                sum.add(a[at / n * k + t].mul(b[t * n + at % n]))
            })
        };
        acc.iter().enumerate().map(element).collect()
    }

    fn check<R: Ring>(m: usize, k: usize, n: usize) {
        let mut prg = Prg::new([1; 16]);
        let (acc, a, b) = (
            prg.ring::<R>(m * n),
            prg.ring::<R>(m * k),
            prg.ring::<R>(k * n),
        );
        let shape = MatMul { m, k, n };
        let out = same_everywhere(|| {
            let mut acc = acc.clone();
            matmul_acc(&mut acc, &a, &b, shape);
            acc
        });
        assert!(
            out == definition(&acc, &a, &b, shape),
            "{shape:?}, {} bits",
            R::BITS
        );
    }

    #[test]
    fn every_shape_up_to_the_tiles() {
        for (m, k, n) in [(0, 3, 3), (3, 0, 3), (3, 3, 0), (1, 1, 1)] {
            check::<u32>(m, k, n);
            check::<u64>(m, k, n);
        }
        for m in 1..=9 {
            for k in [1, 2, 3, 8] {
                for n in [1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65] {
                    check::<u8>(m, k, n);
                    check::<u16>(m, k, n);
                    check::<u32>(m, k, n);
                    check::<u64>(m, k, n);
                }
            }
        }
    }

    #[test]
    fn shapes_across_blocks_and_tasks() {
        for (m, k, n) in [
            (1, 513, 2100),
            (3, 300, 1025),
            (70, 511, 129),
            // Long sums of few elements: no task is short enough.
            (20, 40_000, 25),
            (600, 257, 33),
            (5, 64, 5000),
        ] {
            check::<u32>(m, k, n);
            check::<u64>(m, k, n);
        }
    }

    /// The digits of the 32-bit kernels at their ends, where a dot product comes nearest to
    /// overflow.
    #[test]
    fn extreme_digits() {
        let edges = [
            0,
            1,
            0x7fff,
            0x8000,
            0x8001,
            0xffff,
            0x7fff_ffff,
            0x8000_8000,
            u32::MAX,
        ];
        let (k, n) = (2, 33);
        for x in edges {
            for y in edges {
                let (a, b) = (vec![x; 4 * k], vec![y; k * n]);
                let out = same_everywhere(|| {
                    let mut acc = vec![0; 4 * n];
                    matmul_acc(&mut acc, &a, &b, MatMul { m: 4, k, n });
                    acc
                });
                assert!(
                    out.iter().all(|c| *c == x.wrapping_mul(y).wrapping_mul(2)),
                    "{x:x} {y:x}"
                );
            }
        }
    }
}
