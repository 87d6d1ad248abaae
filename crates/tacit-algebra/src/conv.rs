//! Two-dimensional convolutions over rings.

use std::ops::Range;

use crate::gemm::{self, Output};
use crate::kernel::Kernels;
use crate::patches::Patches;
use crate::{Ring, dots};

/// The shape of a convolution; images are NCHW, weights OIHW with `channels / groups` inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conv2d {
    /// Images of a batch.
    pub batch: usize,
    /// Channels of an image.
    pub channels: usize,
    /// Rows of an image.
    pub height: usize,
    /// Columns of an image.
    pub width: usize,
    /// Channels of the result.
    pub filters: usize,
    /// Height and width of the kernel.
    pub kernel: [usize; 2],
    /// Steps down and right.
    pub stride: [usize; 2],
    /// Zeros around the image: top, left, bottom, right.
    pub pad: [usize; 4],
    /// Distance between the kernel's taps, down and right; 1 is dense.
    pub dilation: [usize; 2],
    /// Groups that channels and filters are split into.
    pub groups: usize,
}

impl Conv2d {
    fn out(&self, axis: usize) -> usize {
        let size = [self.height, self.width][axis] + self.pad[axis] + self.pad[axis + 2];
        let reach = self.dilation[axis] * (self.kernel[axis].max(1) - 1) + 1;
        size.checked_sub(reach)
            .map_or(0, |room| room / self.stride[axis].max(1) + 1)
    }

    /// Rows of the result.
    pub fn out_height(&self) -> usize {
        self.out(0)
    }

    /// Columns of the result.
    pub fn out_width(&self) -> usize {
        self.out(1)
    }

    /// Which row of the image a row of the kernel meets for a row of the result that has it inside (axis 0), or
    /// which column (axis 1).
    pub(crate) fn meets(&self, axis: usize, tap: usize, at: usize) -> usize {
        at * self.stride[axis] + tap * self.dilation[axis] - self.pad[axis]
    }

    /// The rows (axis 0) or columns (axis 1) of the result for which one of the kernel is inside the image.
    pub(crate) fn met(&self, axis: usize, tap: usize) -> Range<usize> {
        let (stride, tap) = (self.stride[axis], tap * self.dilation[axis]);
        let first = self.pad[axis].saturating_sub(tap).div_ceil(stride);
        let beyond = ([self.height, self.width][axis] + self.pad[axis]).saturating_sub(tap);
        first
            ..beyond
                .div_ceil(stride)
                .clamp(first, self.out(axis).max(first))
    }

    /// Whether every result is an inner product of what lies side by side: a filter a group, whose kernel covers the image.
    fn is_of_dots(&self) -> bool {
        let covers = self.kernel == [self.height, self.width] && self.pad == [0; 4];
        covers && self.dilation == [1, 1] && self.filters == self.groups
    }

    /// Elements of the result.
    pub fn output_len(&self) -> usize {
        self.batch * self.filters * self.out_height() * self.out_width()
    }

    /// Elements of the images.
    pub fn input_len(&self) -> usize {
        self.batch * self.channels * self.height * self.width
    }

    /// Elements of the weights.
    pub fn weight_len(&self) -> usize {
        self.filters * (self.channels / self.groups.max(1)) * self.kernel[0] * self.kernel[1]
    }

    /// Whether this is a convolution that fits in memory; the error says what is wrong.
    pub fn validate(&self) -> Result<(), String> {
        let positive = [
            ("channels", self.channels),
            ("filters", self.filters),
            ("kernel height", self.kernel[0]),
            ("kernel width", self.kernel[1]),
            ("vertical stride", self.stride[0]),
            ("horizontal stride", self.stride[1]),
            ("vertical dilation", self.dilation[0]),
            ("horizontal dilation", self.dilation[1]),
            ("groups", self.groups),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Err(format!(
                "the convolution's {name} is 0; it must be at least 1"
            ));
        }
        let sizes = [self.batch, self.height, self.width]
            .into_iter()
            .chain(self.pad);
        if let Some(size) = sizes
            .chain(positive.map(|(_, value)| value))
            .find(|v| *v > LARGEST)
        {
            return Err(format!(
                "the convolution's sizes include {size}, more than {LARGEST}"
            ));
        }
        for (name, value) in [("channels", self.channels), ("filters", self.filters)] {
            if value % self.groups != 0 {
                return Err(format!(
                    "{value} {name} cannot be split into {} groups of equal size",
                    self.groups
                ));
            }
        }
        for (axis, name, size) in [(0, "height", self.height), (1, "width", self.width)] {
            if self.out(axis) == 0 {
                return Err(format!(
                    "the kernel reaches over {} in {name}, the padded image has only {}",
                    self.dilation[axis] * (self.kernel[axis] - 1) + 1,
                    size + self.pad[axis] + self.pad[axis + 2]
                ));
            }
        }
        let [kernel_height, kernel_width] = self.kernel;
        for (name, factors) in [
            (
                "input",
                [self.batch, self.channels, self.height, self.width],
            ),
            (
                "result",
                [
                    self.batch,
                    self.filters,
                    self.out_height(),
                    self.out_width(),
                ],
            ),
            (
                "weights",
                [self.filters, self.channels, kernel_height, kernel_width],
            ),
        ] {
            let bytes = factors.into_iter().try_fold(8usize, usize::checked_mul);
            if bytes.is_none_or(|bytes| bytes > isize::MAX as usize) {
                return Err(format!(
                    "the convolution's {name} of {factors:?} fits in no memory"
                ));
            }
        }
        Ok(())
    }
}

/// The largest size along any dimension; sums and products of two sizes cannot overflow.
const LARGEST: usize = (u32::MAX >> 2) as usize;

/// `acc += conv(x, w)`, wrapping; `acc` is NCHW.
///
/// # Panics
/// If the shape is not valid or a length is not that of the shape.
pub fn conv2d_acc<R: Ring>(acc: &mut [R], x: &[R], w: &[R], shape: &Conv2d) {
    accumulate(acc, x, w, shape)
}

/// [`conv2d_acc`] over a ring or a field.
pub(crate) fn accumulate<R: Kernels>(acc: &mut [R], x: &[R], w: &[R], shape: &Conv2d) {
    R::add_convolution(acc, x, w, shape);
}

/// What [`accumulate`] is for every type of elements.
pub(crate) fn add_convolution<R: Kernels>(acc: &mut [R], x: &[R], w: &[R], shape: &Conv2d) {
    assert_eq!(shape.validate(), Ok(()));
    assert!(acc.len() == shape.output_len());
    assert!(x.len() == shape.input_len() && w.len() == shape.weight_len());
    if acc.is_empty() {
        return;
    }
    if shape.is_of_dots() {
        let images = acc
            .chunks_exact_mut(shape.filters)
            .zip(x.chunks_exact(w.len()));
        return images.for_each(|(acc, x)| dots::accumulate(acc, x, w, w.len() / shape.filters));
    }
    let (plane, k) = (
        shape.out_height() * shape.out_width(),
        w.len() / shape.filters,
    );
    let (filters, channels) = (shape.filters / shape.groups, shape.channels / shape.groups);
    let out = Output::new(acc, plane, plane, shape.filters * plane);
    for group in 0..shape.groups {
        let patches = Patches::new(x, shape, group * channels, channels);
        let w = &w[group * filters * k..][..filters * k];
        let out = out.rows_from(group * filters);
        gemm::product(&out, w, &patches, (filters, k, shape.batch * plane));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use crate::isa::same_everywhere;

    /// Shape with square images: `[batch, channels, size, filters, groups]`.
    fn shape(
        [batch, channels, size, filters, groups]: [usize; 5],
        kernel: [usize; 2],
        stride: [usize; 2],
        pad: [usize; 4],
        dilation: [usize; 2],
    ) -> Conv2d {
        let (height, width) = (size, size + 1);
        Conv2d {
            batch,
            channels,
            height,
            width,
            filters,
            kernel,
            stride,
            pad,
            dilation,
            groups,
        }
    }

    fn definition<R: Ring>(acc: &mut [R], x: &[R], w: &[R], s: &Conv2d) {
        let (oh, ow, inner) = (s.out_height(), s.out_width(), s.channels / s.groups);
        let input = |image, channel, y: usize, x_at: usize| {
            let (y, x_at) = (y.checked_sub(s.pad[0])?, x_at.checked_sub(s.pad[1])?);
            let row = (image * s.channels + channel) * s.height + y;
            (y < s.height && x_at < s.width).then(|| x[row * s.width + x_at])
        };
        for (at, acc) in acc.iter_mut().enumerate() {
            let (filter, image) = (at / (oh * ow) % s.filters, at / (oh * ow) / s.filters);
            let first = filter / (s.filters / s.groups) * inner;
            for tap in 0..inner * s.kernel[0] * s.kernel[1] {
                let (i, j) = (tap / s.kernel[1] % s.kernel[0], tap % s.kernel[1]);
                let channel = first + tap / (s.kernel[0] * s.kernel[1]);
                let y = at / ow % oh * s.stride[0] + i * s.dilation[0];
                let x = at % ow * s.stride[1] + j * s.dilation[1];
                if let Some(x) = input(image, channel, y, x) {
                    *acc = acc.add(x.mul(w[filter * w.len() / s.filters + tap]));
                }
            }
        }
    }

    fn check<R: Ring>(s: &Conv2d) {
        let mut prg = Prg::new([2; 16]);
        let (x, w) = (prg.ring::<R>(s.input_len()), prg.ring::<R>(s.weight_len()));
        let acc = prg.ring::<R>(s.output_len());
        let out = same_everywhere(|| {
            let mut acc = acc.clone();
            conv2d_acc(&mut acc, &x, &w, s);
            acc
        });
        let mut expected = acc;
        definition(&mut expected, &x, &w, s);
        assert!(out == expected, "{s:?}, {} bits", R::BITS);
    }

    #[test]
    fn every_option() {
        let shapes = [
            shape([2, 1, 9, 4, 1], [5, 5], [1, 1], [0; 4], [1, 1]),
            shape([3, 3, 8, 5, 1], [3, 3], [1, 1], [1; 4], [1, 1]),
            shape([1, 2, 7, 2, 1], [3, 2], [2, 3], [2, 0, 1, 3], [1, 1]),
            shape([2, 4, 11, 6, 2], [3, 3], [2, 1], [0, 4, 3, 0], [2, 3]),
            shape([2, 6, 5, 6, 6], [3, 3], [1, 1], [1; 4], [1, 1]),
            shape([1, 8, 4, 12, 4], [1, 1], [1, 1], [0; 4], [1, 1]),
            shape([2, 3, 6, 9, 1], [1, 1], [2, 2], [0; 4], [1, 1]),
            shape([1, 1, 3, 1, 1], [3, 4], [1, 1], [0; 4], [1, 1]),
            shape([1, 2, 2, 5, 1], [2, 2], [3, 4], [5, 6, 7, 8], [1, 2]),
            shape([0, 2, 5, 5, 1], [2, 2], [1, 1], [0; 4], [1, 1]),
            shape([9, 20, 12, 50, 1], [5, 5], [1, 1], [0; 4], [1, 1]),
            // Inner products, and what is none by its filters, dilation or pads.
            shape([3, 10, 2, 5, 5], [2, 3], [1, 1], [0; 4], [1, 1]),
            shape(
                [2, 70_000, 1, 70_000, 70_000],
                [1, 2],
                [1, 1],
                [0; 4],
                [1, 1],
            ),
            shape([3, 10, 2, 10, 5], [2, 3], [1, 1], [0; 4], [1, 1]),
            shape([2, 4, 1, 4, 4], [1, 2], [1, 1], [0, 0, 1, 1], [1, 1]),
            shape([2, 4, 1, 4, 4], [1, 1], [1, 1], [0; 4], [1, 2]),
        ];
        for shape in &shapes {
            check::<u8>(shape);
            check::<u32>(shape);
            check::<u64>(shape);
        }
    }

    #[test]
    fn what_is_not_a_convolution_is_said() {
        let good = || shape([1, 4, 5, 4, 2], [3, 3], [1, 1], [0; 4], [1, 1]);
        assert_eq!(good().validate(), Ok(()));
        let says = |shape: Conv2d, what: &str| {
            let error = shape.validate().unwrap_err();
            assert!(error.contains(what), "{error}");
        };
        says(
            Conv2d {
                groups: 3,
                ..good()
            },
            "4 channels",
        );
        says(
            Conv2d {
                filters: 5,
                ..good()
            },
            "5 filters",
        );
        says(
            Conv2d {
                groups: 0,
                ..good()
            },
            "groups is 0",
        );
        says(
            Conv2d {
                stride: [0, 1],
                ..good()
            },
            "vertical stride is 0",
        );
        says(
            Conv2d {
                kernel: [6, 3],
                ..good()
            },
            "reaches over 6",
        );
        says(
            Conv2d {
                dilation: [1, 3],
                ..good()
            },
            "reaches over 7",
        );
        says(
            Conv2d {
                pad: [0, usize::MAX, 0, 9],
                ..good()
            },
            "more than",
        );
    }
}
