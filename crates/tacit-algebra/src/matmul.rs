//! Matrix products over rings.

use rayon::prelude::*;

use crate::Ring;

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
    let MatMul { m, k, n } = shape;
    assert!(acc.len() == m * n && a.len() == m * k && b.len() == k * n);
    if acc.is_empty() || k == 0 {
        return;
    }
    acc.par_chunks_mut(n)
        .zip(a.par_chunks(k))
        .for_each(|(acc, a)| {
            for (a, b) in a.iter().zip(b.chunks_exact(n)) {
                for (acc, b) in acc.iter_mut().zip(b) {
                    *acc = acc.add(a.mul(*b));
                }
            }
        });
}
