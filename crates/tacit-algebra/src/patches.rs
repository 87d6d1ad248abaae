//! The images of a convolution, read as a matrix: no patch is ever stored.

use std::ops::Range;

use crate::Conv2d;
use crate::gemm::Columns;
use crate::kernel::Kernels;

/// One element of the kernel in one channel: where it looks relative to an output's position.
struct Tap {
    down: isize,
    right: isize,
    /// The distance of the looked-at element in elements of the input, from the first channel of the image.
    offset: isize,
}

/// Outputs that lie side by side in one row of one image.
pub(crate) struct Run {
    len: usize,
    /// Where the first one's window would start without padding: row, column and element.
    y: isize,
    x: isize,
    at: isize,
}

/// The matrix whose row `k` holds, for every output position, the input that tap `k` meets.
pub(crate) struct Patches<'a, R> {
    x: &'a [R],
    shape: &'a Conv2d,
    out_width: usize,
    plane: usize,
    taps: Vec<Tap>,
}

impl<'a, R: Kernels> Patches<'a, R> {
    /// The patches of `channels` channels from `first` on.
    pub(crate) fn new(x: &'a [R], shape: &'a Conv2d, first: usize, channels: usize) -> Self {
        let [rows, columns] = shape.kernel;
        let taps = (0..channels * rows * columns).map(|k| {
            let down = (k / columns % rows * shape.dilation[0]) as isize - shape.pad[0] as isize;
            let right = (k % columns * shape.dilation[1]) as isize - shape.pad[1] as isize;
            let plane = ((first + k / (rows * columns)) * shape.height * shape.width) as isize;
            Tap {
                down,
                right,
                offset: plane + down * shape.width as isize + right,
            }
        });
        let (out_width, plane) = (shape.out_width(), shape.out_height() * shape.out_width());
        Patches {
            x,
            shape,
            out_width,
            plane,
            taps: taps.collect(),
        }
    }
}

impl<R: Kernels> Patches<'_, R> {
    /// Row `k`, for every position of every image.
    pub(crate) fn row(&self, k: usize, out: &mut [R]) {
        self.read(&self.cursor(0..out.len()), k, out);
    }

    /// What tap `tap` meets along `run`, with zeros where that is outside the image.
    fn read_run(&self, run: &Run, tap: &Tap, out: &mut [R]) {
        let (height, width) = (self.shape.height as isize, self.shape.width as isize);
        let stride = self.shape.stride[1];
        let (y, x, at) = (run.y + tap.down, run.x + tap.right, run.at + tap.offset);
        if y < 0 || y >= height {
            return out.fill(R::zeroed());
        }
        // The steps that lie before a column. Runs are short, so that a division by what is not known would be felt.
        let before = |column: isize| {
            let columns = column.max(0) as usize;
            let steps = match stride {
                1 => columns,
                2 => columns.div_ceil(2),
                _ => columns.div_ceil(stride),
            };
            steps.min(run.len)
        };
        let (first, end) = (before(-x), before(width - x));
        out[..first].fill(R::zeroed());
        out[end..].fill(R::zeroed());
        let out = &mut out[first..end];
        if out.is_empty() {
            return;
        }
        let inside = &self.x[(at + (first * stride) as isize) as usize..];
        if stride == 1 {
            copy(inside, out);
        } else {
            let inside = inside.iter().step_by(stride);
            out.iter_mut().zip(inside).for_each(|(out, x)| *out = *x);
        }
    }
}

impl<R: Kernels> Columns<R> for Patches<'_, R> {
    type Cursor = Vec<Run>;

    fn cursor(&self, range: Range<usize>) -> Vec<Run> {
        let Conv2d {
            channels,
            height,
            width,
            stride,
            ..
        } = *self.shape;
        let mut runs = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let (image, position) = (at / self.plane, at % self.plane);
            let (row, column) = (position / self.out_width, position % self.out_width);
            let len = (self.out_width - column).min(range.end - at);
            let (y, x) = (row * stride[0], column * stride[1]);
            let first = (image * channels * height + y) * width + x;
            runs.push(Run {
                len,
                y: y as isize,
                x: x as isize,
                at: first as isize,
            });
            at += len;
        }
        runs
    }

    #[inline(always)]
    fn read(&self, runs: &Vec<Run>, k: usize, mut out: &mut [R]) {
        let tap = &self.taps[k];
        let plain = self.shape.stride[1] == 1 && self.shape.pad == [0; 4];
        for run in runs {
            let (now, rest) = out.split_at_mut(run.len);
            out = rest;
            if plain {
                copy(&self.x[(run.at + tap.offset) as usize..], now);
            } else {
                self.read_run(run, tap, now);
            }
        }
    }
}

/// Copies the first elements of `from`, in pieces that need no call: runs are often as short as
/// eight.
#[inline(always)]
fn copy<R: Kernels>(from: &[R], to: &mut [R]) {
    const PIECE: usize = 8;
    let from = &from[..to.len()];
    let Some(last) = to.len().checked_sub(PIECE) else {
        return to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    };
    let mut at = 0;
    while at < last {
        to[at..at + PIECE].copy_from_slice(&from[at..at + PIECE]);
        at += PIECE;
    }
    to[last..last + PIECE].copy_from_slice(&from[last..last + PIECE]);
}
