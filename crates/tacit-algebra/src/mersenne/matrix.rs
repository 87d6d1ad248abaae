//! Public linear maps of rows.

use super::Field;
use crate::fresh::build;
use crate::gemm::pack_left;
use crate::isa::{self, Isa, simd};
use crate::kernel::{Kernel, Side};
use crate::par;

/// A public matrix, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix<F> {
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub cols: usize,
    /// The elements, `rows * cols` of them.
    pub data: Vec<F>,
}

/// Rows of a map up to which tiles do not pay.
const THIN: usize = 4;
/// Elements of a row that are summed at once where the map is thin.
const STRIP: usize = 256;
/// Elements of a row that are packed at once.
const BLOCK: usize = 256;

impl<F: Field> Matrix<F> {
    /// A matrix without elements, which maps rows that have a size alone.
    pub fn counted(rows: usize, cols: usize) -> Self {
        let data = Vec::new();
        Matrix { rows, cols, data }
    }

    /// `M[j][i] = (i + 1)^j`: as many columns as rows are independent, whichever they are.
    ///
    /// # Panics
    /// If two columns would be equal.
    pub fn vandermonde(rows: usize, cols: usize) -> Self {
        assert!((cols as u64) < F::P, "{cols} points in a field of {}", F::P);
        let mut data = vec![F::ONE; rows * cols];
        for at in cols..data.len() {
            data[at] = data[at - cols].mul(F::from_u64((at % cols) as u64 + 1));
        }
        Matrix { rows, cols, data }
    }

    /// Maps the values of a polynomial of degree `from.len() - 1` at the points `from` to its
    /// values at the points `to`.
    ///
    /// # Panics
    /// If two points of `from` are equal modulo `p`.
    pub fn lagrange(from: &[u64], to: &[u64]) -> Self {
        let points: Vec<F> = from.iter().map(|x| F::from_u64(*x)).collect();
        let others = |i: usize| points.iter().enumerate().filter(move |(k, _)| *k != i);
        let mut data = Vec::with_capacity(from.len() * to.len());
        let weights: Vec<F> = (0..points.len())
            .map(|i| {
                let product = others(i).fold(F::ONE, |w, (_, x)| w.mul(points[i].sub(*x)));
                assert!(product != F::ZERO, "two points are {}", from[i]);
                product.inverse()
            })
            .collect();
        for y in to.iter().map(|y| F::from_u64(*y)) {
            data.extend(
                (0..points.len())
                    .map(|i| others(i).fold(weights[i], |value, (_, x)| value.mul(y.sub(*x)))),
            );
        }
        Matrix {
            rows: to.len(),
            cols: from.len(),
            data,
        }
    }

    /// `M x`: row `j` of the result is `sum_i M[j][i] rows[i]`.
    ///
    /// # Panics
    /// If there are not `cols` rows of one length.
    pub fn apply(&self, rows: &[&[F]]) -> Vec<Vec<F>> {
        assert_eq!(self.data.len(), self.rows * self.cols);
        assert_eq!(rows.len(), self.cols);
        if self.cols == 0 {
            return vec![Vec::new(); self.rows];
        }
        let n = rows[0].len();
        assert!(rows.iter().all(|row| row.len() == n));
        if self.rows <= THIN {
            let row = |coefficients| combine(coefficients, rows);
            return self.data.chunks_exact(self.cols).map(row).collect();
        }
        let mut out = vec![vec![F::ZERO; n]; self.rows];
        let isa = isa::current();
        let parts = out.iter_mut().map(Vec::as_mut_slice);
        par::for_each_part(
            parts,
            n,
            self.rows * self.cols / 4,
            |start, out| match isa {
                Isa::Portable => apply_to::<F::Portable>(isa, out, self, rows, start),
                Isa::Avx2 => apply_to::<F::Avx2>(isa, out, self, rows, start),
                Isa::Avx512 | Isa::Amx => apply_to::<F::Avx512>(isa, out, self, rows, start),
            },
        );
        out
    }
}

/// `sum_i coefficients[i] rows[i]`.
///
/// # Panics
/// If there are not as many rows as coefficients, or rows of different lengths.
pub fn combine<F: Field>(coefficients: &[F], rows: &[&[F]]) -> Vec<F> {
    assert_eq!(coefficients.len(), rows.len());
    let n = rows.first().map_or(0, |row| row.len());
    assert!(rows.iter().all(|row| row.len() == n));
    let isa = isa::current();
    build(n, |s, out| combine_into(isa, out, coefficients, rows, s))
}

/// The packed words of a right operand.
#[inline(always)]
fn pack<K: Kernel>(out: &mut [K::Word], x: &[K::Word]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = K::words(Side::Right, *x, *x)[0];
    }
}

simd! {
    fn combine_into<F: Field>(out: &mut [F], coefficients: &[F], rows: &[&[F]], start: usize) {
        for (strip, out) in out.chunks_mut(STRIP).enumerate() {
            let (from, len) = (start + strip * STRIP, out.len());
            let mut sums = [0; STRIP];
            let sums = &mut sums[..len];
            for (k, x) in coefficients.chunks(4).zip(rows.chunks(4)) {
                if let (&[k0, k1, k2, k3], &[x0, x1, x2, x3]) = (k, x) {
                    let low = x0[from..from + len].iter().zip(&x1[from..from + len]);
                    let high = x2[from..from + len].iter().zip(&x3[from..from + len]);
                    for ((sum, (x0, x1)), (x2, x3)) in sums.iter_mut().zip(low).zip(high) {
                        let low = F::add_product(F::add_product(*sum, k0, *x0), k1, *x1);
                        *sum = F::fold(F::add_product(F::add_product(low, k2, *x2), k3, *x3));
                    }
                } else {
                    for (k, x) in k.iter().zip(x) {
                        for (sum, x) in sums.iter_mut().zip(&x[from..from + len]) {
                            *sum = F::add_product(*sum, *k, *x);
                        }
                    }
                }
            }
            for (out, sum) in out.iter_mut().zip(sums) {
                *out = F::close(*sum);
            }
        }
    }

    fn apply_to<K: Kernel<Word: Field>>(
        out: &mut [&mut [K::Word]],
        matrix: &Matrix<K::Word>,
        rows: &[&[K::Word]],
        start: usize,
    ) {
        // The kernels of fields take one word for each element.
        const { assert!(K::STEP == 1 && K::WIDTH == 1 && BLOCK.is_multiple_of(K::COLS)) };
        let (depth, zero) = (matrix.cols, K::Word::ZERO);
        let mut left = vec![zero; matrix.rows.next_multiple_of(K::ROWS) * depth];
        pack_left::<K>(&matrix.data, depth, 0..matrix.rows, 0..depth, &mut left);
        let mut right = vec![zero; BLOCK * depth];
        let mut tile = vec![zero; K::ROWS * K::COLS];
        let n = out.first().map_or(0, |row| row.len());
        for block in (0..n).step_by(BLOCK) {
            let len = BLOCK.min(n - block);
            for (k, row) in rows.iter().enumerate() {
                let row = &row[start + block..][..len];
                let (whole, rest) = row.split_at(len - len % K::COLS);
                let mut panels = right.chunks_exact_mut(depth * K::COLS);
                for (x, panel) in whole.chunks_exact(K::COLS).zip(&mut panels) {
                    pack::<K>(&mut panel[k * K::COLS..][..K::COLS], x);
                }
                if let (1.., Some(panel)) = (rest.len(), panels.next()) {
                    pack::<K>(&mut panel[k * K::COLS..][..rest.len()], rest);
                }
            }
            let panels = right.chunks(depth * K::COLS).zip((block..block + len).step_by(K::COLS));
            for (right, at) in panels {
                let end = (block + len).min(at + K::COLS);
                for (out, left) in out.chunks_mut(K::ROWS).zip(left.chunks(depth * K::ROWS)) {
                    K::tile(left, right, &mut tile);
                    for (out, tile) in out.iter_mut().zip(tile.chunks_exact(K::COLS)) {
                        if end - at == K::COLS {
                            // The same with a length that the compiler knows.
                            out[at..][..K::COLS].copy_from_slice(tile);
                        } else {
                            out[at..end].copy_from_slice(&tile[..end - at]);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::mersenne::{F5, F31, F61, on_every_field, sample};

    fn definition<F: Field>(m: &Matrix<F>, rows: &[&[F]]) -> Vec<Vec<F>> {
        let element = |j: usize, at: usize| {
            let terms = rows.iter().enumerate();
            terms.fold(F::ZERO, |sum, (i, row)| {
                sum.add(m.data[j * m.cols + i].mul(row[at]))
            })
        };
        let n = rows.first().map_or(0, |row| row.len());
        (0..m.rows)
            .map(|j| (0..n).map(|at| element(j, at)).collect())
            .collect()
    }

    fn maps<F: Field>() {
        for (rows, cols, n) in [
            (1, 1, 70),
            (2, 3, 1000),
            (3, 5, 33),
            (3, 4, 0),
            (4, 4, 0),
            (4, 7, 259),
            (5, 6, 1),
            (32, 63, 700),
            (9, 200, 17),
            (4, 3, 40_001),
        ] {
            let data = sample::<F>(1, rows * cols);
            let m = Matrix { rows, cols, data };
            let x = sample::<F>(2, cols * n);
            let x: Vec<&[F]> = (0..cols).map(|i| &x[i * n..(i + 1) * n]).collect();
            let out = same_everywhere(|| m.apply(&x));
            assert!(out == definition(&m, &x), "{rows} x {cols} on {n}");
            let first = same_everywhere(|| combine(&m.data[..cols], &x));
            assert!(first == out[0]);
        }
        // The largest sums.
        let most = [F::from_u64(F::P - 1); 300];
        for rows in [1, 8] {
            let data = most.repeat(rows);
            let m = Matrix {
                rows,
                cols: 300,
                data,
            };
            let out = same_everywhere(|| m.apply(&[&most[..]; 300]));
            assert!(out.iter().flatten().all(|v| *v == F::from_u64(300)));
        }
    }

    #[test]
    fn maps_are_their_definition() {
        on_every_field!(maps);
    }

    #[test]
    fn vandermonde_holds_powers() {
        let m = Matrix::<F31>::vandermonde(5, 7);
        for j in 0..5 {
            for i in 0..7 {
                assert_eq!(m.data[j * 7 + i].to_u64(), (i as u64 + 1).pow(j as u32));
            }
        }
        assert_eq!(Matrix::<F5>::vandermonde(3, 30).data[30 + 29].to_u64(), 30);
    }

    /// Whether the columns named are as many as the matrix has rows, and independent.
    fn independent<F: Field>(m: &Matrix<F>, columns: &[usize]) -> bool {
        let row = |row: &[F]| columns.iter().map(|i| row[*i]).collect();
        let mut left: Vec<Vec<F>> = m.data.chunks(m.cols).map(row).collect();
        let pivots = (0..columns.len()).all(|c| {
            let Some(at) = left.iter().position(|row| row[c] != F::ZERO) else {
                return false;
            };
            let pivot = left.swap_remove(at);
            let inverse = pivot[c].inverse();
            for row in &mut left {
                let factor = row[c].mul(inverse);
                let pairs = row.iter_mut().zip(&pivot);
                pairs.for_each(|(x, y)| *x = x.sub(factor.mul(*y)));
            }
            true
        });
        pivots && left.is_empty()
    }

    fn any_columns<F: Field>() {
        for (n, rows) in (3..=9).flat_map(|n| (1..=n).map(move |rows| (n, rows))) {
            let m = Matrix::<F>::vandermonde(rows, n);
            for set in (0..1u32 << n).filter(|set| set.count_ones() as usize == rows) {
                let columns: Vec<usize> = (0..n).filter(|i| set >> i & 1 == 1).collect();
                assert!(independent(&m, &columns), "{columns:?} of {n}");
            }
        }
        let m = Matrix::<F>::vandermonde(2, 5);
        assert!(!independent(&m, &[1, 1]) && !independent(&m, &[1, 2, 3]));
        assert!(!independent(&m, &[1]));
    }

    /// As many dealings as rows decide, and hide, all that is made of them, whichever parties dealt them.
    #[test]
    fn any_columns_of_a_vandermonde_matrix_are_independent() {
        on_every_field!(any_columns);
    }

    fn interpolates<F: Field>() {
        let from = [3u64, 1, 0, 7, 4];
        let to = [0u64, 9, 3, 20, 1, 7];
        let coefficients = sample::<F>(4, from.len());
        let at = |x: &u64| {
            let x = F::from_u64(*x);
            coefficients
                .iter()
                .rev()
                .fold(F::ZERO, |v, c| v.mul(x).add(*c))
        };
        let values: Vec<[F; 1]> = from.iter().map(|x| [at(x)]).collect();
        let rows: Vec<&[F]> = values.iter().map(|v| &v[..]).collect();
        let out = Matrix::lagrange(&from, &to).apply(&rows);
        assert_eq!(out, to.iter().map(|x| vec![at(x)]).collect::<Vec<_>>());
    }

    #[test]
    fn lagrange_moves_polynomials() {
        on_every_field!(interpolates);
    }

    #[test]
    #[should_panic = "two points are 1"]
    fn points_differ() {
        Matrix::<F5>::lagrange(&[1, 2, 32], &[0]);
    }

    #[test]
    fn no_rows_and_no_columns() {
        let m = Matrix::<F61>::vandermonde(0, 3);
        assert!(m.apply(&[&[F61::ONE][..]; 3]).is_empty());
        assert!(combine::<F61>(&[], &[]).is_empty());
    }
}
