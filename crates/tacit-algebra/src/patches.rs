//! The images of a convolution, read as a matrix: no patch is ever stored.

use std::ops::Range;

use crate::gemm::Columns;
use crate::{Conv2d, Ring};

/// One element of the kernel in one channel: where it looks relative to an output's position.
struct Tap {
    down: isize,
    right: isize,
    /// The same in elements of the input, from the first channel of the image.
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

impl<'a, R: Ring> Patches<'a, R> {
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

impl<R: Ring> Columns<R> for Patches<'_, R> {
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
        let (height, width) = (self.shape.height as isize, self.shape.width as isize);
        let stride = self.shape.stride[1];
        let tap = &self.taps[k];
        for run in runs {
            let (now, rest) = out.split_at_mut(run.len);
            out = rest;
            let (y, x, at) = (run.y + tap.down, run.x + tap.right, run.at + tap.offset);
            let last = x + ((run.len - 1) * stride) as isize;
            if y < 0 || y >= height {
                now.fill(R::ZERO);
            } else if x < 0 || last >= width {
                let row = &self.x[(at - x) as usize..][..width as usize];
                for (t, out) in now.iter_mut().enumerate() {
                    let inside = usize::try_from(x + (t * stride) as isize).ok();
                    *out = inside.and_then(|x| row.get(x)).copied().unwrap_or(R::ZERO);
                }
            } else if stride == 1 {
                copy(&self.x[at as usize..][..run.len], now);
            } else {
                let inside = self.x[at as usize..].iter().step_by(stride);
                now.iter_mut().zip(inside).for_each(|(out, x)| *out = *x);
            }
        }
    }
}

/// Copies a few elements without calling for help: runs are often as short as eight.
#[inline(always)]
fn copy<R: Ring>(from: &[R], to: &mut [R]) {
    const CHUNK: usize = 8;
    match to.len().checked_sub(CHUNK) {
        None => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
        Some(last) => {
            for at in (0..last).step_by(CHUNK).chain([last]) {
                to[at..at + CHUNK].copy_from_slice(&from[at..at + CHUNK]);
            }
        }
    }
}
