//! Matrix products over rings.

use crate::gemm::{self, Dense, Output};
use crate::kernel::Kernels;
use crate::{Ring, dots};

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

/// The shape of as many products of matrices of one shape, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BatchMatMul {
    /// How many products are computed.
    pub batch: usize,
    /// The shape of each.
    pub each: MatMul,
}

impl BatchMatMul {
    /// Elements of all left matrices.
    pub fn left(&self) -> usize {
        self.batch * self.each.m * self.each.k
    }

    /// Elements of all right matrices.
    pub fn right(&self) -> usize {
        self.batch * self.each.k * self.each.n
    }

    /// Elements of all results.
    pub fn outputs(&self) -> usize {
        self.batch * self.each.m * self.each.n
    }
}

/// `acc += a b`, wrapping; all matrices row-major.
///
/// # Panics
/// If a length is not that of the shape.
pub fn matmul_acc<R: Ring>(acc: &mut [R], a: &[R], b: &[R], shape: MatMul) {
    accumulate(acc, a, b, shape)
}

/// `acc += a b` of every pair of matrices, wrapping; they lie one after the other.
///
/// # Panics
/// If a length is not that of the shape.
pub fn batch_matmul_acc<R: Ring>(acc: &mut [R], a: &[R], b: &[R], shape: BatchMatMul) {
    accumulate_each(acc, a, b, shape)
}

/// [`batch_matmul_acc`] over a ring or a field.
pub(crate) fn accumulate_each<R: Kernels>(acc: &mut [R], a: &[R], b: &[R], shape: BatchMatMul) {
    assert!(acc.len() == shape.outputs() && a.len() == shape.left() && b.len() == shape.right());
    if acc.is_empty() || shape.each.k == 0 {
        return;
    }
    let MatMul { m, k, n } = shape.each;
    if (m, n) == (1, 1) {
        return dots::accumulate(acc, a, b, k);
    }
    let factors = a.chunks_exact(m * k).zip(b.chunks_exact(k * n));
    for (acc, (a, b)) in acc.chunks_exact_mut(m * n).zip(factors) {
        accumulate(acc, a, b, shape.each);
    }
}

/// [`matmul_acc`] over a ring or a field.
pub(crate) fn accumulate<R: Kernels>(acc: &mut [R], a: &[R], b: &[R], shape: MatMul) {
    R::add_matrix_product(acc, a, b, shape);
}

/// What [`accumulate`] is for every type of elements.
pub(crate) fn add_product<R: Kernels>(acc: &mut [R], a: &[R], b: &[R], shape: MatMul) {
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

    /// Every product of a batch is that of its own matrices.
    #[test]
    fn products_side_by_side() {
        let mut prg = Prg::new([2; 16]);
        for (batch, m, k, n) in [
            (1, 2, 3, 4),
            (5, 3, 2, 7),
            (3, 1, 9, 1),
            (2, 0, 1, 2),
            (0, 1, 1, 1),
            (2, 3, 0, 2),
        ] {
            let shape = BatchMatMul {
                batch,
                each: MatMul { m, k, n },
            };
            let (acc, a, b) = (
                prg.ring::<u32>(shape.outputs()),
                prg.ring::<u32>(shape.left()),
                prg.ring::<u32>(shape.right()),
            );
            let mut out = acc.clone();
            batch_matmul_acc(&mut out, &a, &b, shape);
            for i in 0..batch {
                let part = |v: &[u32], len: usize| v[i * len..(i + 1) * len].to_vec();
                let (a, b) = (part(&a, m * k), part(&b, k * n));
                let expected = definition(&part(&acc, m * n), &a, &b, shape.each);
                assert_eq!(part(&out, m * n), expected, "{shape:?}");
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
