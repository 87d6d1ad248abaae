//! One side of the inner product that a bilinear map compresses to. The factors are points, given by the bits of
//! their coefficients, so that elements of the ring are only added up: twelve times each, where a product with the
//! coefficients would take 48 multiplications.

use std::ops::Range;

use super::kernels::{COLUMNS, GROUPS, Row};
use super::{Extension, Galois};
use crate::gemm::{Columns, Dense};
use crate::{BatchMatMul, Conv2d, MatMul, Ring, par};

/// Rows that are read at once.
const ROWS: usize = 64;

/// Sums of the columns of a matrix of `cols` columns, each row times its point.
fn column_sums<R: Ring>(points: &[u64], matrix: &impl Strips<R>, cols: usize) -> Vec<Galois<R>> {
    let mut out = vec![Galois::ZERO; cols];
    let weight = COLUMNS * points.len();
    par::for_each_strip(&mut out, COLUMNS, weight.max(1), |i, out| {
        let first = i * COLUMNS;
        let columns = matrix.cursor(first..first + out.len());
        let mut buckets = Box::new([[[R::ZERO; COLUMNS]; 16]; GROUPS]);
        let mut rows = [[R::ZERO; COLUMNS]; ROWS];
        for (block, points) in points.chunks(ROWS).enumerate() {
            let all = block * ROWS..block * ROWS + points.len();
            let strips = strips(matrix, &columns, all, out.len(), &mut rows);
            R::add_rows(&mut buckets, points, &strips);
        }
        R::take_sums(out, &mut buckets);
    });
    out
}

/// Rows up to which a product with each costs less than [`column_sums`].
const FEW: usize = 16;

/// [`column_sums`] of the first `len` columns of a row-major matrix of `cols`.
fn dense_sums<R: Ring>(points: &[u64], data: &[R], cols: usize, len: usize) -> Vec<Galois<R>> {
    if points.len() > FEW {
        return column_sums(points, &Dense { data, cols }, len);
    }
    let factors: Vec<_> = points
        .iter()
        .map(|point| Galois::from_bits(*point))
        .collect();
    let rows: Vec<_> = (0..points.len())
        .map(|k| &data[k * cols..][..len])
        .collect();
    let mut out = vec![Galois::ZERO; len];
    R::combine_into(&mut out, &factors, &rows);
    out
}

/// Vectors one after the other, `len` elements in all.
fn joined<T: Copy>(mut vectors: impl Iterator<Item = Vec<T>>, len: usize) -> Vec<T> {
    let mut all = vectors.next().unwrap_or_default();
    all.reserve(len - all.len());
    vectors.for_each(|vector| all.extend_from_slice(&vector));
    all
}

/// Some rows of the prepared columns, as many as `width`: where they lie, or as they are read into `room`.
fn strips<'a, R: Ring, M: Strips<R>>(
    matrix: &'a M,
    columns: &M::Cursor,
    rows: Range<usize>,
    width: usize,
    room: &'a mut [Row<R>; ROWS],
) -> Vec<&'a Row<R>> {
    let found: Option<Vec<_>> = rows.clone().map(|k| matrix.strip(columns, k)).collect();
    if let Some(found) = found {
        return found;
    }
    let n = rows.len();
    for (k, to) in rows.zip(room.iter_mut()) {
        matrix.read(columns, k, &mut to[..width]);
    }
    room[..n].iter().collect()
}

/// A matrix whose columns may lie side by side in memory.
trait Strips<R>: Columns<R> {
    /// Row `k` of the prepared columns where it lies, and what follows it.
    fn strip(&self, at: &Self::Cursor, k: usize) -> Option<&Row<R>>;
}

impl<R: Ring> Strips<R> for Dense<'_, R> {
    fn strip(&self, at: &usize, k: usize) -> Option<&Row<R>> {
        self.data[k * self.cols + at..].first_chunk()
    }
}

impl<R: Ring> Strips<R> for Transposed<'_, R> {
    fn strip(&self, _at: &usize, _k: usize) -> Option<&Row<R>> {
        None
    }
}

impl<R: Ring> Strips<R> for ImageRows<'_, R> {
    fn strip(&self, runs: &Self::Cursor, k: usize) -> Option<&Row<R>> {
        match runs.as_slice() {
            [[start, _]] => self.data[self.starts[k] + start..].first_chunk(),
            _ => None,
        }
    }
}

/// The transpose of a row-major matrix of `cols` columns.
struct Transposed<'a, R> {
    data: &'a [R],
    cols: usize,
}

impl<R: Ring> Columns<R> for Transposed<'_, R> {
    type Cursor = usize;

    fn cursor(&self, range: Range<usize>) -> usize {
        range.start
    }

    fn read(&self, first: &usize, k: usize, out: &mut [R]) {
        let rows = self.data[first * self.cols..].chunks_exact(self.cols);
        out.iter_mut()
            .zip(rows)
            .for_each(|(out, row)| *out = row[k]);
    }
}

/// Rows of images: row `k` begins at `starts[k]` in the first channel of its image, and has `width` columns of
/// each channel, which are `plane` elements apart.
struct ImageRows<'a, R> {
    data: &'a [R],
    starts: Vec<usize>,
    width: usize,
    plane: usize,
}

impl<R: Ring> Columns<R> for ImageRows<'_, R> {
    /// Where columns that lie side by side begin in the row, and how many they are.
    type Cursor = Vec<[usize; 2]>;

    fn cursor(&self, mut range: Range<usize>) -> Self::Cursor {
        let mut runs = Vec::new();
        while !range.is_empty() {
            let (channel, column) = (range.start / self.width, range.start % self.width);
            let len = range.len().min(self.width - column);
            runs.push([channel * self.plane + column, len]);
            range.start += len;
        }
        runs
    }

    fn read(&self, runs: &Self::Cursor, k: usize, mut out: &mut [R]) {
        for [start, len] in runs {
            let (now, rest) = out.split_at_mut(*len);
            now.copy_from_slice(&self.data[self.starts[k] + start..][..*len]);
            out = rest;
        }
    }
}

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
    let sums = |(a, data): (_, &[R])| {
        let data = &data[inner.start..];
        dense_sums(a, data, k, inner.len())
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

/// Sums of the first `rows` rows of a matrix of `points.len()` columns, each column times its point.
fn row_sums<R: Ring>(points: &[u64], data: &[R], rows: usize) -> Vec<Galois<R>> {
    let cols = points.len();
    let mut out = vec![Galois::ZERO; rows];
    if R::point_sums(&mut [], points, &[]) {
        let data = &data[..rows * cols];
        par::for_each_strip(&mut out, ROWS, cols.max(1), |i, out| {
            let data = &data[i * ROWS * cols..][..out.len() * cols];
            R::point_sums(out, points, data);
        });
    } else {
        out = column_sums(points, &Transposed { data, cols }, rows);
    }
    out
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

/// `sum_{o,p} a_o b_p z_{o,p}` over the outputs `z` of matrix products: row `o` holds those of all
/// products.
pub fn outputs<R: Ring>(a: &[u64], b: &[u64], z: &[R]) -> Galois<R> {
    let cols = b.len();
    assert_eq!(z.len(), a.len() * cols);
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
        for (batch, m, k, n) in [(1, 1, 1, 1), (1, 3, 5, 2), (1, 40, 70, 20), (4, 3, 5, 2)] {
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
