//! One side of the inner product that a bilinear map compresses to.

use super::{DEGREE, Galois};
use crate::extension::Extension;
use crate::patches::Patches;
use crate::{BatchMatMul, Conv2d, MatMul, Ring, matmul_acc};

/// Elements of patches that are stored at once.
const BLOCK: usize = 1 << 17;

/// The points as the columns of a matrix of bits, a row of `DEGREE` for each.
fn rows_of<R: Ring>(points: &[Galois<R>]) -> Vec<R> {
    points.iter().flat_map(|point| point.0).collect()
}

/// Sums of the columns of a `points x cols` matrix, each row times its point.
fn column_sums<R: Ring>(points: &[Galois<R>], matrix: &[R], cols: usize) -> Vec<Galois<R>> {
    let m = points.len();
    let mut bits = vec![R::ZERO; DEGREE * m];
    for (at, point) in points.iter().enumerate() {
        (0..DEGREE).for_each(|i| bits[i * m + at] = point.0[i]);
    }
    let mut sums = vec![R::ZERO; DEGREE * cols];
    let shape = MatMul {
        m: DEGREE,
        k: m,
        n: cols,
    };
    matmul_acc(&mut sums, &bits, matrix, shape);
    let column = |c| Galois(std::array::from_fn(|i| sums[i * cols + c]));
    (0..cols).map(column).collect()
}

/// Sums of the rows of a `rows x points` matrix, each column times its point.
fn row_sums<R: Ring>(points: &[Galois<R>], matrix: &[R], rows: usize) -> Vec<Galois<R>> {
    let shape = MatMul {
        m: rows,
        k: points.len(),
        n: DEGREE,
    };
    let mut sums = vec![R::ZERO; rows * DEGREE];
    matmul_acc(&mut sums, matrix, &rows_of(points), shape);
    Galois::from_rows(&sums)
}

/// `a^T x` for every matrix `x` of a batch, each with points of `a` of its own.
pub fn left<R: Ring>(a: &[Galois<R>], x: &[R], shape: BatchMatMul) -> Vec<Galois<R>> {
    let MatMul { m, k, .. } = shape.each;
    assert!(a.len() == shape.batch * m && x.len() == shape.left());
    if a.is_empty() || k == 0 {
        return vec![Galois::ZERO; shape.batch * k];
    }
    let each = a.chunks(m).zip(x.chunks(m * k));
    each.flat_map(|(a, x)| column_sums(a, x, k)).collect()
}

/// `w b` for every matrix `w` of a batch, of `b.len()` columns.
pub fn right<R: Ring>(b: &[Galois<R>], w: &[R], shape: BatchMatMul) -> Vec<Galois<R>> {
    assert!(b.len() == shape.each.n && w.len() == shape.right());
    row_sums(b, w, shape.batch * shape.each.k)
}

/// Sums of the weights of each group over its filters, each times its point of `a`.
pub fn filters<R: Ring>(a: &[Galois<R>], w: &[R], shape: &Conv2d) -> Vec<Galois<R>> {
    assert!(a.len() == shape.filters && w.len() == shape.weight_len());
    let (each, taps) = (shape.filters / shape.groups, w.len() / shape.filters);
    let groups = a.chunks(each).zip(w.chunks(each * taps));
    groups.flat_map(|(a, w)| column_sums(a, w, taps)).collect()
}

/// Sums of what every tap of each group meets over the output positions of all images, each
/// times its point of `b`.
pub fn patches<R: Ring>(b: &[Galois<R>], x: &[R], shape: &Conv2d) -> Vec<Galois<R>> {
    assert!(x.len() == shape.input_len());
    let (taps, channels) = (
        shape.weight_len() / shape.filters,
        shape.channels / shape.groups,
    );
    // Some taps at a time: the patches of all are many times the image.
    let each = (BLOCK / b.len().max(1)).max(1);
    let mut out = Vec::with_capacity(shape.groups * taps);
    for group in 0..shape.groups {
        let patches = Patches::new(x, shape, group * channels, channels);
        for first in (0..taps).step_by(each) {
            let some = first..taps.min(first + each);
            let rows = some.len();
            out.extend(row_sums(b, &patches.rows(some), rows));
        }
    }
    out
}

/// `sum_{o,p} a_o b_p z_{o,p}` over the outputs `z` of matrix products: row `o` holds those of all
/// products.
pub fn outputs<R: Ring>(a: &[Galois<R>], b: &[Galois<R>], z: &[R]) -> Galois<R> {
    assert_eq!(z.len(), a.len() * b.len());
    Galois::dot(a, &row_sums(b, z, a.len()))
}

/// `sum_{o,p} a_o b_p z_{o,p}` over the outputs `z` of a convolution: images outermost, in each a
/// row of `plane` elements for every channel `o`. `b` has `plane` points for each image.
pub fn planes<R: Ring>(a: &[Galois<R>], b: &[Galois<R>], z: &[R], plane: usize) -> Galois<R> {
    assert_eq!(z.len(), a.len() * b.len());
    let images = z.chunks(a.len() * plane).zip(b.chunks(plane));
    let sums = images.map(|(z, b)| outputs(a, b, z));
    sums.fold(Galois::ZERO, Galois::add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Prg, batch_matmul_acc, conv2d_acc};

    /// What both sides compress to has the compressed outputs as its inner product.
    fn compresses<R: Ring>() {
        let mut prg = Prg::new([5; 16]);
        for (batch, m, k, n) in [(1, 1, 1, 1), (1, 3, 5, 2), (1, 7, 70, 20), (4, 3, 5, 2)] {
            let shape = BatchMatMul {
                batch,
                each: MatMul { m, k, n },
            };
            let (x, w) = (prg.ring::<R>(shape.left()), prg.ring::<R>(shape.right()));
            let mut z = vec![R::ZERO; shape.outputs()];
            batch_matmul_acc(&mut z, &x, &w, shape);
            let (a, b) = (
                Galois::points(&mut prg, batch * m),
                Galois::points(&mut prg, n),
            );
            let sides = (left(&a, &x, shape), right(&b, &w, shape));
            assert_eq!(Galois::dot(&sides.0, &sides.1), outputs(&a, &b, &z));
            let sum = z.iter().enumerate().fold(Galois::ZERO, |sum, (i, z)| {
                sum.add(a[i / n].mul(b[i % n]).mul(Galois::embed(*z)))
            });
            assert_eq!(outputs(&a, &b, &z), sum);
        }
        for (groups, pad, stride) in [
            (1, [0; 4], [1, 1]),
            (2, [1, 2, 0, 1], [2, 1]),
            (4, [0; 4], [1, 2]),
        ] {
            let shape = Conv2d {
                batch: 3,
                channels: 4,
                height: 6,
                width: 5,
                filters: 8,
                kernel: [3, 2],
                stride,
                pad,
                dilation: [1, 1],
                groups,
            };
            let (x, w) = (
                prg.ring::<R>(shape.input_len()),
                prg.ring::<R>(shape.weight_len()),
            );
            let mut z = vec![R::ZERO; shape.output_len()];
            conv2d_acc(&mut z, &x, &w, &shape);
            let plane = shape.out_height() * shape.out_width();
            let (a, b) = (
                Galois::points(&mut prg, 8),
                Galois::points(&mut prg, 3 * plane),
            );
            let sides = (filters(&a, &w, &shape), patches(&b, &x, &shape));
            let outputs = planes(&a, &b, &z, plane);
            assert_eq!(Galois::dot(&sides.0, &sides.1), outputs, "{shape:?}");
            let sum = z.iter().enumerate().fold(Galois::ZERO, |sum, (i, z)| {
                let (filter, at) = (i / plane % 8, i / (8 * plane) * plane + i % plane);
                sum.add(a[filter].mul(b[at]).mul(Galois::embed(*z)))
            });
            assert_eq!(outputs, sum);
        }
    }

    #[test]
    fn bilinear_maps_compress() {
        compresses::<u8>();
        compresses::<u32>();
        compresses::<u64>();
    }
}
