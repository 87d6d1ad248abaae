//! The windows of pooling layers.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The most windows that are looked at one by one, where their taps step over an input.
const MOST_WINDOWS: usize = 1 << 12;

/// The windows of a pooling layer over one item of channels x height x width.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// Channels of the input.
    pub channels: usize,
    /// Height of the input.
    pub height: usize,
    /// Width of the input.
    pub width: usize,
    /// Height and width of a window.
    pub kernel: [usize; 2],
    /// Vertical and horizontal stride.
    pub stride: [usize; 2],
    /// Padding: top, left, bottom, right.
    pub pad: [usize; 4],
    /// Vertical and horizontal dilation.
    pub dilation: [usize; 2],
    /// Height and width of the output.
    pub out: [usize; 2],
    /// Whether a mean counts the padding; of no meaning to a maximum.
    pub count_pad: bool,
}

impl Pool {
    /// Elements of one output item.
    pub fn out_len(&self) -> usize {
        self.channels * self.out[0] * self.out[1]
    }

    /// Elements of one input item.
    pub fn in_len(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// Elements of a window, padding included.
    pub fn window(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    /// The elements of every window, where each is a whole row or a whole map and the next one follows.
    pub(crate) fn side_by_side(&self) -> Option<usize> {
        let [h, w] = [self.height, self.width];
        let dense = self.pad == [0; 4] && self.dilation == [1; 2];
        let rows = self.kernel == [1, w] && self.out == [h, 1];
        let maps = self.kernel == [h, w] && self.out == [1, 1];
        (dense && (rows || maps)).then(|| self.window())
    }

    /// The position along axis `d` (0 vertical, 1 horizontal) of tap `k` of window `o`, counted
    /// from the start of the padding.
    pub(crate) fn position(&self, d: usize, o: usize, k: usize) -> usize {
        o * self.stride[d] + k * self.dilation[d]
    }

    /// The element of the input item under tap `tap` of output element `e`; `None` in the padding.
    pub fn tap(&self, e: usize, tap: usize) -> Option<usize> {
        let [oh, ow] = self.out;
        let (channel, row, column) = (e / (oh * ow), e / ow % oh, e % ow);
        let at = |d: usize, o, k, size| {
            self.position(d, o, k)
                .checked_sub(self.pad[d])
                .filter(|&p| p < size)
        };
        let y = at(0, row, tap / self.kernel[1], self.height)?;
        let x = at(1, column, tap % self.kernel[1], self.width)?;
        Some((channel * self.height + y) * self.width + x)
    }

    /// How many elements are under the window of output element `e`, without the padding.
    pub fn taps(&self, e: usize) -> usize {
        let [_, ow] = self.out;
        let row = e / ow % self.out[0];
        self.inside(0, row, self.height) * self.inside(1, e % ow, self.width)
    }

    /// The number of taps of window `o` along axis `d` that are not padding, in an input of `size`
    /// places.
    pub(crate) fn inside(&self, d: usize, o: usize, size: usize) -> usize {
        self.taps_within(d, o, self.pad[d]..self.pad[d] + size)
    }

    /// The number of taps of window `o` along axis `d` at places of the padded input within a range.
    fn taps_within(&self, d: usize, o: usize, range: Range<usize>) -> usize {
        let start = self.position(d, o, 0);
        let before = |end: usize| {
            let taps = end.saturating_sub(start).div_ceil(self.dilation[d]);
            taps.min(self.kernel[d])
        };
        before(range.end) - before(range.start)
    }

    /// Whether a window along axis `d` has no tap in an input of `size` places; `None` where that takes too long to see.
    pub(crate) fn has_empty_window(&self, d: usize, size: usize) -> Option<bool> {
        let [kernel, dilation, out] = [self.kernel, self.dilation, self.out].map(|of| of[d]);
        let is_empty = |o: usize| self.inside(d, o, size) == 0;
        // Taps that are no further apart than the input is long do not step over it: the first window or the last is
        // empty, if any is.
        match kernel == 1 || dilation <= size {
            true => Some(is_empty(0) || is_empty(out - 1)),
            false => (out <= MOST_WINDOWS).then(|| (0..out).any(is_empty)),
        }
    }

    /// The number by which the sum of the window of output element `e` is divided for its mean.
    pub fn divisor(&self, e: usize) -> usize {
        let [oh, ow] = self.out;
        let count = |d: usize, o, size| {
            let range = if self.count_pad {
                0..size + self.pad[d] + self.pad[d + 2]
            } else {
                self.pad[d]..self.pad[d] + size
            };
            self.taps_within(d, o, range)
        };
        count(0, e / ow % oh, self.height) * count(1, e % ow, self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Taps are counted, and empty windows found, as by looking at every tap of every window.
    #[test]
    fn taps_are_counted_and_empty_windows_are_found() {
        let mut empty = 0;
        for code in 0..4 * 4 * 5 * 4 * 4 * 6 {
            let mut rest = code;
            let mut next = |n: usize| {
                let digit = rest % n;
                rest /= n;
                digit
            };
            let (kernel, stride, dilation) = (next(4) + 1, next(4) + 1, next(5) + 1);
            let (size, pad, out) = (next(4) + 1, next(4), next(6) + 1);
            let pool = Pool {
                channels: 1,
                height: size,
                width: 1,
                kernel: [kernel, 1],
                stride: [stride, 1],
                pad: [pad, 0, 0, 0],
                dilation: [dilation, 1],
                out: [out, 1],
                count_pad: false,
            };
            let places = |o| (0..kernel).map(move |k| o * stride + k * dilation);
            let looked = |o| places(o).filter(|p| (pad..pad + size).contains(p)).count();
            let each: Vec<usize> = (0..out).map(looked).collect();
            let found: Vec<usize> = (0..out).map(|o| pool.inside(0, o, size)).collect();
            assert_eq!(found, each, "{pool:?}");
            assert_eq!(
                pool.has_empty_window(0, size),
                Some(each.contains(&0)),
                "{pool:?}"
            );
            empty += usize::from(each.contains(&0));
        }
        assert!(empty > 1000, "{empty}");
    }
}
