//! Sums of the rows and the columns of matrices, each times a point.

use std::ops::Range;

use super::kernels::{COLUMNS, GROUPS, Row};
use super::{Extension, Galois};
use crate::gemm::{Columns, Dense};
use crate::{Ring, par};

/// Rows that are read at once.
const ROWS: usize = 64;

/// Sums of the columns of a matrix of `cols` columns, each row times its point.
pub(super) fn column_sums<R: Ring>(
    points: &[u64],
    matrix: &impl Strips<R>,
    cols: usize,
) -> Vec<Galois<R>> {
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
pub(super) const FEW: usize = 16;

/// [`column_sums`] of the first `len` columns of a row-major matrix of `cols`.
pub(super) fn dense_sums<R: Ring>(
    points: &[u64],
    data: &[R],
    cols: usize,
    len: usize,
) -> Vec<Galois<R>> {
    if points.len() > FEW {
        return column_sums(points, &Dense { data, cols }, len);
    }
    let factors: Vec<_> = points
        .iter()
        .map(|point| Galois::from_bits(*point))
        .collect();
    let mut out = vec![Galois::ZERO; len];
    par::for_each_strip(&mut out, ROWS, (ROWS * points.len()).max(1), |i, out| {
        let row = |k: usize| &data[k * cols + i * ROWS..][..out.len()];
        let rows: Vec<_> = (0..points.len()).map(row).collect();
        R::combine_into(out, &factors, &rows);
    });
    out
}

/// Vectors one after the other, `len` elements in all.
pub(super) fn joined<T: Copy>(mut vectors: impl Iterator<Item = Vec<T>>, len: usize) -> Vec<T> {
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
pub(super) trait Strips<R>: Columns<R> {
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
pub(super) struct ImageRows<'a, R> {
    pub data: &'a [R],
    pub starts: Vec<usize>,
    pub width: usize,
    pub plane: usize,
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

/// Sums of the first `rows` rows of a matrix of `points.len()` columns, each column times its point.
pub(super) fn row_sums<R: Ring>(points: &[u64], data: &[R], rows: usize) -> Vec<Galois<R>> {
    let cols = points.len();
    let mut out = vec![Galois::ZERO; rows];
    par::for_each_strip(&mut out, ROWS, (ROWS * cols).max(1), |i, out| {
        let data = &data[i * ROWS * cols..][..out.len() * cols];
        if !R::point_sums(out, points, data) {
            out.copy_from_slice(&column_sums(points, &Transposed { data, cols }, out.len()));
        }
    });
    out
}
