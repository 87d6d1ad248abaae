//! Products of matrices of float32, by a library's kernels.

/// `c += a b` for row-major `a` of rows of `k`, `b` of `k` x `n` and `c` of as many rows of `n`.
///
/// Panics where the lengths are not those of such matrices.
pub fn gemm(c: &mut [f32], a: &[f32], b: &[f32], [k, n]: [usize; 2]) {
    let m = c.len().checked_div(n).unwrap_or(0);
    assert_eq!(
        [a.len(), b.len(), c.len()],
        [m * k, k * n, m * n],
        "lengths of matrices"
    );
    let rows = |columns: usize| (columns as isize, 1);
    let ((rsa, csa), (rsb, csb), (rsc, csc)) = (rows(k), rows(n), rows(n));
    let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
    // SAFETY: with these strides the three matrices of m x k, k x n and m x n lie within the slices, whose
    // lengths were compared, and `c` is borrowed alone.
    unsafe { matrixmultiply::sgemm(m, k, n, 1.0, a, rsa, csa, b, rsb, csb, 1.0, c, rsc, csc) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_sums() {
        let numbers = |n: usize, by: usize| -> Vec<f32> {
            (0..n).map(|i| ((i * by) % 19) as f32 / 8.0 - 1.0).collect()
        };
        for [m, k, n] in [
            [0, 3, 4],
            [1, 0, 2],
            [1, 1, 1],
            [3, 5, 7],
            [4, 8, 8],
            [13, 300, 17],
            [9, 2, 70],
            [64, 27, 33],
        ] {
            let (a, b) = (numbers(m * k, 7), numbers(k * n, 5));
            let start = numbers(m * n, 3);
            let mut c = start.clone();
            gemm(&mut c, &a, &b, [k, n]);
            for (e, (got, start)) in c.iter().zip(&start).enumerate() {
                let (i, j) = (e / n, e % n);
                let sum: f32 = (0..k).map(|p| a[i * k + p] * b[p * n + j]).sum();
                let error = (got - start - sum).abs();
                assert!(error < 1e-3, "{m} x {k} x {n}, {i}, {j}: {error}");
            }
        }
    }
}
