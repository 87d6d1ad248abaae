//! One side of the inner product that a bilinear map compresses to. The factors are points, given by the bits of
//! their coefficients, so that elements of the ring are only added up: twelve times each, where a product with the
//! coefficients would take 48 multiplications.

use std::ops::Range;

use super::sums::{FEW, ImageRows, column_sums, dense_sums, joined, row_sums};
use super::{Extension, Galois};
use crate::gemm::Dense;
use crate::{BatchMatMul, Conv2d, MatMul, Ring, par};

/// The columns `inner` of `a^T x` for every matrix `x` of a batch, each with points of `a` of its own.
pub fn left<R: Ring>(
    a: &[u64],
    x: &[R],
    shape: BatchMatMul,
    inner: Range<usize>,
) -> Vec<Galois<R>> {
    let MatMul { m, k, .. } = shape.each;
    assert!(a.len() == shape.batch * m && x.len() == shape.left());
    if a.is_empty() || inner.is_empty() {
        return vec![Galois::ZERO; shape.batch * inner.len()];
    }
    let each = a.chunks(m).zip(x.chunks(m * k));
    let sums = |(a, data): (&[u64], &[R])| {
        let data = &data[inner.start..];
        match a.len() {
            // The row is as many rows of one column.
            1 => row_sums(a, &data[..inner.len()], inner.len()),
            _ => dense_sums(a, data, k, inner.len()),
        }
    };
    joined(each.map(sums), shape.batch * inner.len())
}

/// The rows `inner` of `w b` for every matrix `w` of a batch, of `b.len()` columns.
pub fn right<R: Ring>(
    b: &[u64],
    w: &[R],
    shape: BatchMatMul,
    inner: Range<usize>,
) -> Vec<Galois<R>> {
    let MatMul { k, n: cols, .. } = shape.each;
    assert!(b.len() == cols && w.len() == shape.right());
    if inner == (0..k) {
        return row_sums(b, w, shape.batch * k);
    }
    let sums = |each| {
        let data = &w[(each * k + inner.start) * cols..];
        row_sums(b, data, inner.len())
    };
    joined((0..shape.batch).map(sums), shape.batch * inner.len())
}

/// Sums of the weights of each group, of its channels `inner`, over its filters, each times its point of `a`.
pub fn filters<R: Ring>(a: &[u64], w: &[R], shape: &Conv2d, inner: Range<usize>) -> Vec<Galois<R>> {
    assert!(a.len() == shape.filters && w.len() == shape.weight_len());
    let (each, cols) = (shape.filters / shape.groups, w.len() / shape.filters);
    let taps = shape.kernel[0] * shape.kernel[1];
    let groups = a.chunks(each).zip(w.chunks(each * cols));
    let sums = |(a, data): (_, &[R])| {
        let data = &data[inner.start * taps..];
        dense_sums(a, data, cols, inner.len() * taps)
    };
    joined(groups.map(sums), shape.groups * inner.len() * taps)
}

/// Sums of what every tap of each group, of its channels `inner`, meets over the output positions of all images, each
/// times the points of its row, of which every image has others, and of its column.
pub fn patches<R: Ring>(
    [down, right]: [&[u64]; 2],
    x: &[R],
    shape: &Conv2d,
    inner: Range<usize>,
) -> Vec<Galois<R>> {
    let (height, width) = (shape.out_height(), shape.out_width());
    assert!(x.len() == shape.input_len() && right.len() == width);
    assert!(down.len() == shape.batch * height);
    let Conv2d {
        channels, groups, ..
    } = *shape;
    let (all_of_group, each) = (channels / groups, inner.len());
    let plane = shape.height * shape.width;
    let [rows, columns] = shape.kernel;
    let mut out = vec![Galois::ZERO; groups * each * rows * columns];
    if down.len() <= FEW_ROWS {
        at_each_position([down, right], x, shape, inner, &mut out);
        return out;
    }
    for (group, tap) in (0..groups).flat_map(|group| (0..rows).map(move |tap| (group, tap))) {
        // What the tap meets is inside the image for some rows of the result, the same of every image.
        let inside = shape.met(0, tap);
        let all = (0..shape.batch).flat_map(|image| inside.clone().map(move |y| (image, y)));
        let points: Vec<u64> = all
            .clone()
            .map(|(image, y)| down[image * height + y])
            .collect();
        let start = |(image, y)| {
            let row = shape.meets(0, tap, y);
            let channel = group * all_of_group + inner.start;
            (image * channels + channel) * plane + row * shape.width
        };
        let matrix = ImageRows {
            data: x,
            starts: all.map(start).collect(),
            width: shape.width,
            plane,
        };
        let sums = column_sums(&points, &matrix, each * shape.width);
        for (channel, sums) in sums.chunks_exact(shape.width.max(1)).enumerate() {
            let at = ((group * each + channel) * rows + tap) * columns;
            for (tap, out) in out[at..at + columns].iter_mut().enumerate() {
                let inside = shape.met(1, tap);
                if !inside.is_empty() {
                    let sums = &sums[shape.meets(1, tap, inside.start)..];
                    *out = R::sum_at_points(&right[inside], sums, shape.stride[1]);
                }
            }
        }
    }
    out
}

/// Rows of the result, of all images, up to which [`at_each_position`] takes less than sums of rows first.
const FEW_ROWS: usize = 16;

/// [`patches`] of few rows in the result: each word that a tap meets times the points of its row and its column, which
/// are one factor.
fn at_each_position<R: Ring>(
    [down, right]: [&[u64]; 2],
    x: &[R],
    shape: &Conv2d,
    inner: Range<usize>,
    out: &mut [Galois<R>],
) {
    let (height, channels) = (shape.out_height(), shape.channels);
    let (all_of_group, plane) = (channels / shape.groups, shape.height * shape.width);
    let [rows, columns] = shape.kernel;
    let right: Vec<_> = right
        .iter()
        .map(|point| Galois::from_bits(*point))
        .collect();
    let factors: Vec<Vec<_>> = down
        .iter()
        .map(|point| {
            let mut factors = right.clone();
            R::times_plus_to(&mut factors, *point, &[]);
            factors
        })
        .collect();
    // Where in a row the taps of a row meet it for each column of the result; nowhere outside the image.
    let meets = |x: usize, tap: usize| {
        let inside = shape.met(1, tap).contains(&x);
        inside.then(|| shape.meets(1, tap, x))
    };
    let met = (0..right.len()).flat_map(|x| (0..columns).map(move |tap| meets(x, tap)));
    let met: Vec<Option<usize>> = met.collect();
    let channel_of = |channel: usize| {
        let (group, channel) = (channel / inner.len(), channel % inner.len());
        group * all_of_group + inner.start + channel
    };
    let weight = columns * down.len() * right.len();
    par::for_each_strip(out, columns.max(1), weight.max(1), |at, out| {
        let (channel, tap) = (channel_of(at / rows), at % rows);
        let (mut known, mut words) = (Vec::new(), Vec::new());
        for (row, factors) in factors.iter().enumerate() {
            let (image, y) = (row / height, row % height);
            if !shape.met(0, tap).contains(&y) {
                continue;
            }
            let start = (image * channels + channel) * plane + shape.meets(0, tap, y) * shape.width;
            let row = &x[start..start + shape.width];
            words.extend(met.iter().map(|at| at.map_or(R::ZERO, |at| row[at])));
            known.extend_from_slice(factors);
        }
        let words: Vec<&[R]> = words.chunks_exact(out.len()).collect();
        R::combine_into(out, &known, &words);
    });
}

/// `sum_{o,p} a_o b_p z_{o,p}` over the outputs `z` of matrix products: row `o` holds those of all
/// products.
pub fn outputs<R: Ring>(a: &[u64], b: &[u64], z: &[R]) -> Galois<R> {
    let cols = b.len();
    assert_eq!(z.len(), a.len() * cols);
    // The longer side is summed first, while the summands are still elements of the ring.
    if a.len() <= FEW.min(cols) {
        return R::sum_at_points(a, &row_sums(b, z, a.len()), 1);
    }
    R::sum_at_points(b, &column_sums(a, &Dense { data: z, cols }, cols), 1)
}

/// `sum a_o b_{i,y} c_x z_{i,o,y,x}` over the outputs `z` of a convolution: images outermost, in each a plane
/// for every channel `o`. `b` has points for the rows of every image, `c` for the columns.
pub fn planes<R: Ring>(a: &[u64], [b, c]: [&[u64]; 2], z: &[R], shape: &Conv2d) -> Galois<R> {
    let (height, width) = (shape.out_height(), shape.out_width());
    assert_eq!(z.len(), a.len() * b.len() * c.len());
    let plane = height * width;
    let start = |row: usize| row / height * a.len() * plane + row % height * width;
    let matrix = ImageRows {
        data: z,
        starts: (0..b.len()).map(start).collect(),
        width,
        plane,
    };
    let sums = column_sums(b, &matrix, a.len() * width);
    let rows = sums.chunks_exact(width);
    let sums: Vec<_> = rows.map(|row| R::sum_at_points(c, row, 1)).collect();
    R::sum_at_points(a, &sums, 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::{Prg, batch_matmul_acc, conv2d_acc};

    /// A ring element times points.
    fn times<R: Ring>(z: R, points: &[u64]) -> Galois<R> {
        let points = points.iter().map(|point| Galois::from_bits(*point));
        points.fold(Galois::embed(z), Galois::mul)
    }

    /// What both sides compress to has the compressed outputs as its inner product.
    fn compresses<R: Ring>() {
        let mut prg = Prg::new([5; 16]);
        for (batch, m, k, n) in [
            (1, 1, 1, 1),
            (1, 1, 9, 30),
            (1, 3, 5, 2),
            (1, 40, 70, 20),
            (4, 3, 5, 2),
        ] {
            let shape = BatchMatMul {
                batch,
                each: MatMul { m, k, n },
            };
            let (x, w) = (prg.ring::<R>(shape.left()), prg.ring::<R>(shape.right()));
            let mut z = vec![R::ZERO; shape.outputs()];
            batch_matmul_acc(&mut z, &x, &w, shape);
            let a = Galois::<R>::weights(&mut prg, batch * m);
            let b = Galois::<R>::weights(&mut prg, n);
            let (sides, compressed) = same_everywhere(|| {
                (
                    (left(&a, &x, shape, 0..k), right(&b, &w, shape, 0..k)),
                    outputs(&a, &b, &z),
                )
            });
            assert_eq!(Galois::dot(&sides.0, &sides.1), compressed);
            let sum = z.iter().enumerate().fold(Galois::ZERO, |sum, (i, z)| {
                sum.add(times(*z, &[a[i / n], b[i % n]]))
            });
            assert_eq!(compressed, sum);
        }
        for (batch, groups, pad, stride, dilation) in [
            (3, 1, [0; 4], [1, 1], [1, 1]),
            (3, 2, [1, 2, 0, 1], [2, 1], [1, 1]),
            (70, 4, [0; 4], [1, 2], [1, 2]),
            (20, 2, [1, 2, 0, 1], [2, 1], [1, 1]),
            // Some taps are nowhere inside the image.
            (1, 1, [6, 7, 5, 4], [3, 2], [2, 3]),
        ] {
            let shape = Conv2d {
                batch,
                channels: 4,
                height: 6,
                width: 5,
                filters: 8,
                kernel: [3, 2],
                stride,
                pad,
                dilation,
                groups,
            };
            let (x, w) = (
                prg.ring::<R>(shape.input_len()),
                prg.ring::<R>(shape.weight_len()),
            );
            let mut z = vec![R::ZERO; shape.output_len()];
            conv2d_acc(&mut z, &x, &w, &shape);
            let (height, width) = (shape.out_height(), shape.out_width());
            let draw = |prg: &mut Prg, n| Galois::<R>::weights(prg, n);
            let a = draw(&mut prg, shape.filters);
            let (b, c) = (draw(&mut prg, shape.batch * height), draw(&mut prg, width));
            let (sides, compressed) = same_everywhere(|| {
                (
                    (
                        filters(&a, &w, &shape, 0..shape.channels / groups),
                        patches([&b, &c], &x, &shape, 0..shape.channels / groups),
                    ),
                    planes(&a, [&b, &c], &z, &shape),
                )
            });
            assert_eq!(Galois::dot(&sides.0, &sides.1), compressed, "{shape:?}");
            let sum = z.iter().enumerate().fold(Galois::ZERO, |sum, (i, z)| {
                let (column, row, plane) = (i % width, i / width % height, i / width / height);
                let (image, filter) = (plane / shape.filters, plane % shape.filters);
                sum.add(times(*z, &[a[filter], b[image * height + row], c[column]]))
            });
            assert_eq!(compressed, sum);
        }
    }

    #[test]
    fn bilinear_maps_compress() {
        compresses::<u8>();
        compresses::<u32>();
        compresses::<u64>();
    }
}
