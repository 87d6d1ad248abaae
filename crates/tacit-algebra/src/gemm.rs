//! Blocked matrix products `C += A B`, where B and C may be views of images.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};

pub mod digits;

use crate::isa::{self, Isa, simd};
use crate::kernel::{Kernel, Kernels, MOST_COLS, MOST_ROWS, MOST_STEP, MOST_WIDTH, Side};
use crate::par;

/// Steps of the inner dimension between two visits of a tile of C.
const DEPTH: usize = 256;
/// Rows and columns of C that one task computes at most.
const BLOCK: usize = 512;
/// Multiplications below which splitting does not pay.
const TASK: usize = 1 << 20;
/// Rows of A up to which packing does not pay.
const THIN: usize = 8;
/// Columns of B that the thin product reads at once.
const STRIP: usize = 4096;
/// Rows of B that the thin product reads at once.
const BESIDE: usize = 4;

/// The right operand, read by pieces of rows.
pub trait Columns<R>: Sync {
    /// A range of columns, prepared for reading.
    type Cursor;
    /// Prepares the columns `range`.
    fn cursor(&self, range: Range<usize>) -> Self::Cursor;
    /// Writes the prepared columns of row `k` to `out`.
    fn read(&self, at: &Self::Cursor, k: usize, out: &mut [R]);
    /// The first `len` prepared columns of row `k`, if they lie side by side.
    fn lying(&self, _at: &Self::Cursor, _k: usize, _len: usize) -> Option<&[R]> {
        None
    }
}

/// A row-major right operand.
pub(crate) struct Dense<'a, R> {
    pub(crate) data: &'a [R],
    pub(crate) cols: usize,
}

impl<R: Kernels> Columns<R> for Dense<'_, R> {
    type Cursor = usize;

    #[inline(always)]
    fn cursor(&self, range: Range<usize>) -> usize {
        range.start
    }

    #[inline(always)]
    fn read(&self, at: &usize, k: usize, out: &mut [R]) {
        out.copy_from_slice(&self.data[k * self.cols + at..][..out.len()]);
    }

    #[inline(always)]
    fn lying(&self, at: &usize, k: usize, len: usize) -> Option<&[R]> {
        Some(&self.data[k * self.cols + at..][..len])
    }
}

/// C: column `j` of row `i` is element `j / plane * image + (first + i) * row + j % plane`.
pub struct Output<'a, R> {
    data: *mut R,
    len: usize,
    first: usize,
    row: usize,
    plane: usize,
    image: usize,
    life: PhantomData<&'a mut [R]>,
}

// SAFETY: a mutable slice of `Sync` elements, written only through `add`, whose callers keep to
// disjoint elements.
unsafe impl<R: Kernels> Sync for Output<'_, R> {}

impl<'a, R: Kernels> Output<'a, R> {
    pub(crate) fn new(data: &'a mut [R], row: usize, plane: usize, image: usize) -> Self {
        let (data, len) = (data.as_mut_ptr(), data.len());
        Output {
            data,
            len,
            first: 0,
            row,
            plane,
            image,
            life: PhantomData,
        }
    }

    /// This view without its first `first` rows: row 0 of the result is row `first` here.
    pub(crate) fn rows_from(&self, first: usize) -> Output<'_, R> {
        Output {
            first: self.first + first,
            ..*self
        }
    }

    /// Adds the leading `rows x cols` of `tile`, whose rows are `stride` apart, at `(i, j)`.
    ///
    /// # Safety
    /// No other thread adds to the same elements.
    #[inline(always)]
    unsafe fn add(
        &self,
        (i, j): (usize, usize),
        (rows, cols): (usize, usize),
        tile: &[R],
        stride: usize,
    ) {
        let mut done = 0;
        while done < cols {
            let (image, at) = ((j + done) / self.plane, (j + done) % self.plane);
            let run = (self.plane - at).min(cols - done);
            for r in 0..rows {
                let start = image * self.image + (self.first + i + r) * self.row + at;
                assert!(start + run <= self.len);
                // SAFETY: inside the slice, and this thread's alone.
                let c = unsafe { std::slice::from_raw_parts_mut(self.data.add(start), run) };
                for (c, t) in c.iter_mut().zip(&tile[r * stride + done..]) {
                    *c = c.plus(*t);
                }
            }
            done += run;
        }
    }
}

/// `out += a b` for a row-major `a` of `m x k` and `b` of `k x n`.
pub(crate) fn product<R: Kernels, B: Columns<R>>(
    out: &Output<'_, R>,
    a: &[R],
    b: &B,
    (m, k, n): (usize, usize, usize),
) {
    let isa = isa::current();
    let thin = m <= THIN;
    let (mut rows, mut cols) = (m.min(BLOCK), n.min(if thin { STRIP } else { BLOCK }));
    let threads = par::threads();
    let tasks = |rows, cols| m.div_ceil(rows) * n.div_ceil(cols);
    let wanted = match isa {
        // Packing weighs more where products are fast.
        Isa::Amx => threads,
        _ => 4 * threads,
    };
    while threads > 1 && tasks(rows, cols) < wanted && rows * cols * k > TASK {
        let longer = if cols >= rows { &mut cols } else { &mut rows };
        let half = longer.div_ceil(2).next_multiple_of(32);
        if half >= *longer {
            break;
        }
        *longer = half;
    }
    let across = n.div_ceil(cols);
    let task = |t: usize| {
        let (i, j) = (t / across * rows, t % across * cols);
        let (rows, cols) = (i..m.min(i + rows), j..n.min(j + cols));
        if thin {
            thin_block(isa, out, a, b, k, m, cols)
        } else {
            let part = (rows, cols);
            match isa {
                Isa::Portable => Packed::<R::Portable>::run(isa, out, a, b, k, part),
                Isa::Avx2 => Packed::<R::Avx2>::run(isa, out, a, b, k, part),
                Isa::Avx512 => Packed::<R::Avx512>::run(isa, out, a, b, k, part),
                Isa::Amx => R::Amx::run(isa, out, a, b, k, part),
            }
        }
    };
    par::tasks(tasks(rows, cols), &task);
}

/// How one task of a product is computed.
pub trait Block<R> {
    /// Adds to `out` the product of rows of `a` and columns of `b`, whose inner dimension is `k`.
    fn run<B: Columns<R>>(
        isa: Isa,
        out: &Output<'_, R>,
        a: &[R],
        b: &B,
        k: usize,
        part: (Range<usize>, Range<usize>),
    );
}

/// Blocks by a kernel on packed panels.
pub struct Packed<K>(PhantomData<K>);

impl<K: Kernel> Block<K::Word> for Packed<K> {
    fn run<B: Columns<K::Word>>(
        isa: Isa,
        out: &Output<'_, K::Word>,
        a: &[K::Word],
        b: &B,
        k: usize,
        (rows, cols): (Range<usize>, Range<usize>),
    ) {
        packed_block::<K, B>(isa, out, a, b, k, rows, cols)
    }
}

thread_local! {
    static PANELS: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// A line of the cache, which no vector register's load then crosses.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

// SAFETY: an array of words, of which every content is valid; nothing is padded.
unsafe impl Zeroable for Line {}
// SAFETY: as above.
unsafe impl Pod for Line {}

/// The memory of a thread's packed panels, kept from task to task: fresh pages cost more than
/// packing does.
struct Panels(Vec<Line>);

impl Panels {
    fn take() -> Self {
        Panels(PANELS.with(RefCell::take))
    }

    /// `n` words of any content.
    fn words<W: Pod>(&mut self, n: usize) -> &mut [W] {
        let lines = (n * size_of::<W>()).div_ceil(size_of::<Line>());
        if self.0.len() < lines {
            self.0.resize(lines, Line::zeroed());
        }
        &mut bytemuck::cast_slice_mut(&mut self.0[..lines])[..n]
    }
}

impl Drop for Panels {
    fn drop(&mut self) {
        PANELS.with(|kept| kept.swap(&RefCell::new(std::mem::take(&mut self.0))));
    }
}

simd! {
    /// The rows and columns of one task, from packed panels.
    fn packed_block<K: Kernel, B: Columns<K::Word>>(
        out: &Output<'_, K::Word>,
        a: &[K::Word],
        b: &B,
        k: usize,
        rows: Range<usize>,
        cols: Range<usize>,
    ) {
        const { assert!(K::ROWS <= MOST_ROWS && K::COLS <= MOST_COLS && K::STEP <= MOST_STEP && K::WIDTH <= MOST_WIDTH) };
        let words = k.min(DEPTH).div_ceil(K::STEP) * K::WIDTH;
        let left_len = rows.len().next_multiple_of(K::ROWS) * words;
        let right_len = cols.len().next_multiple_of(K::COLS) * words;
        let mut panels = Panels::take();
        let all = panels.words::<K::Word>(left_len + right_len + K::ROWS * K::COLS);
        let (left, rest) = all.split_at_mut(left_len);
        let (right, tile) = rest.split_at_mut(right_len);
        for from in (0..k).step_by(DEPTH) {
            let depth = from..k.min(from + DEPTH);
            let words = depth.len().div_ceil(K::STEP) * K::WIDTH;
            pack_left::<K>(a, k, rows.clone(), depth.clone(), left);
            pack_right::<K, B>(b, cols.clone(), depth, right);
            for (j, right) in cols.clone().step_by(K::COLS).zip(right.chunks(words * K::COLS)) {
                for (i, left) in rows.clone().step_by(K::ROWS).zip(left.chunks(words * K::ROWS)) {
                    K::tile(left, right, tile);
                    let size = (K::ROWS.min(rows.end - i), K::COLS.min(cols.end - j));
                    // SAFETY: tasks have disjoint rows and columns.
                    unsafe { out.add((i, j), size, tile, K::COLS) };
                }
            }
        }
    }

    /// The columns of one task for a few rows, unpacked: B is read once, as it lies.
    fn thin_block<R: Kernels, B: Columns<R>>(
        out: &Output<'_, R>,
        a: &[R],
        b: &B,
        k: usize,
        rows: usize,
        cols: Range<usize>,
    ) {
        let len = cols.len();
        let (mut sums, mut read) = (vec![R::zeroed(); rows * len], Vec::new());
        let cursor = b.cursor(cols.clone());
        for from in (0..k).step_by(BESIDE) {
            let beside = BESIDE.min(k - from);
            if b.lying(&cursor, from, len).is_none() {
                read.resize(BESIDE * len, R::zeroed());
                for (i, row) in read.chunks_exact_mut(len).take(beside).enumerate() {
                    b.read(&cursor, from + i, row);
                }
            }
            let row = |i: usize| match b.lying(&cursor, from + i, len) {
                Some(row) => row,
                None => &read[i * len..][..len],
            };
            // What is missing at the end of the inner dimension is any row, times 0.
            let [b0, b1, b2, b3] = std::array::from_fn(|i| row(i.min(beside - 1)));
            for (a, sums) in a.chunks_exact(k).zip(sums.chunks_exact_mut(len)) {
                let factor = |i: usize| a.get(from..from + beside).and_then(|a| a.get(i)).copied();
                let [a0, a1, a2, a3] = std::array::from_fn(|i| factor(i).unwrap_or(R::zeroed()));
                let beside = b0.iter().zip(b1).zip(b2.iter().zip(b3));
                for (sum, ((b0, b1), (b2, b3))) in sums.iter_mut().zip(beside) {
                    let (low, high) = (a0.times(*b0).plus(a1.times(*b1)), a2.times(*b2).plus(a3.times(*b3)));
                    *sum = sum.plus(low.plus(high));
                }
            }
        }
        // SAFETY: tasks have disjoint columns.
        unsafe { out.add((0, cols.start), (rows, len), &sums, len) };
    }
}

/// Packs `rows` of the row-major `a`, whose rows have `k` elements, panel by panel; what is
/// missing in the last panel and the last step is zero.
#[inline(always)]
pub(crate) fn pack_left<K: Kernel>(
    a: &[K::Word],
    k: usize,
    rows: Range<usize>,
    depth: Range<usize>,
    out: &mut [K::Word],
) {
    let panel_len = depth.len().div_ceil(K::STEP) * K::WIDTH * K::ROWS;
    for (i, panel) in rows
        .clone()
        .step_by(K::ROWS)
        .zip(out.chunks_exact_mut(panel_len))
    {
        let mut sources = [[].as_slice(); MOST_ROWS];
        for (row, source) in (i..rows.end).zip(&mut sources[..K::ROWS]) {
            *source = &a[row * k..][depth.clone()];
        }
        for (step, out) in panel.chunks_exact_mut(K::WIDTH * K::ROWS).enumerate() {
            for (row, source) in sources[..K::ROWS].iter().enumerate() {
                let at = |k: usize| source.get(k).copied().unwrap_or(K::Word::zeroed());
                let (first, second) = (at(step * K::STEP), at(step * K::STEP + K::STEP - 1));
                let words = K::words(Side::Left, first, second);
                for word in 0..K::WIDTH {
                    out[word * K::ROWS + row] = words[word];
                }
            }
        }
    }
}

/// Packs the columns `cols` of `b`, panel by panel; what is missing in the last step is zero,
/// what is missing in the last panel is not used.
#[inline(always)]
fn pack_right<K: Kernel, B: Columns<K::Word>>(
    b: &B,
    cols: Range<usize>,
    depth: Range<usize>,
    out: &mut [K::Word],
) {
    let panel_len = depth.len().div_ceil(K::STEP) * K::WIDTH * K::COLS;
    for (j, panel) in cols
        .clone()
        .step_by(K::COLS)
        .zip(out.chunks_exact_mut(panel_len))
    {
        let len = K::COLS.min(cols.end - j);
        let cursor = b.cursor(j..j + len);
        let mut values = [K::Word::zeroed(); MOST_COLS * MOST_STEP];
        let values = &mut values[..K::STEP * K::COLS];
        for (step, out) in panel.chunks_exact_mut(K::WIDTH * K::COLS).enumerate() {
            for (row, values) in values.chunks_exact_mut(K::COLS).enumerate() {
                let k = depth.start + step * K::STEP + row;
                if k >= depth.end {
                    values.fill(K::Word::zeroed());
                } else if len == K::COLS {
                    // The same with a length that the compiler knows.
                    b.read(&cursor, k, values);
                } else {
                    b.read(&cursor, k, &mut values[..len]);
                }
            }
            let (first, second) = (&values[..K::COLS], &values[(K::STEP - 1) * K::COLS..]);
            for (word, out) in out.chunks_exact_mut(K::COLS).enumerate() {
                for ((out, first), second) in out.iter_mut().zip(first).zip(second) {
                    *out = K::words(Side::Right, *first, *second)[word];
                }
            }
        }
    }
}
