//! Two-dimensional convolutions over rings.

use crate::Ring;

/// The shape of a convolution; images are NCHW, weights OIHW with `channels / groups` inputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Conv2d {
    /// Images.
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

    /// Whether this is a convolution at all; the error says what is wrong.
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
        Ok(())
    }
}

/// `acc += conv(x, w)`, wrapping; `acc` is NCHW.
///
/// # Panics
/// If the shape is not valid or a length is not that of the shape.
pub fn conv2d_acc<R: Ring>(acc: &mut [R], x: &[R], w: &[R], shape: &Conv2d) {
    assert_eq!(shape.validate(), Ok(()));
    assert!(acc.len() == shape.output_len());
    assert!(x.len() == shape.input_len() && w.len() == shape.weight_len());
    let (oh, ow) = (shape.out_height(), shape.out_width());
    let per_group = shape.channels / shape.groups;
    for (at, acc) in acc.iter_mut().enumerate() {
        let (column, row) = (at % ow, at / ow % oh);
        let (filter, image) = (
            at / (ow * oh) % shape.filters,
            at / (ow * oh * shape.filters),
        );
        let first = filter / (shape.filters / shape.groups) * per_group;
        for c in 0..per_group {
            for i in 0..shape.kernel[0] {
                for j in 0..shape.kernel[1] {
                    let y = row * shape.stride[0] + i * shape.dilation[0];
                    let z = column * shape.stride[1] + j * shape.dilation[1];
                    let inside = |v: usize, pad, size| v.checked_sub(pad).filter(|v| *v < size);
                    if let (Some(y), Some(z)) = (
                        inside(y, shape.pad[0], shape.height),
                        inside(z, shape.pad[1], shape.width),
                    ) {
                        let x = x[((image * shape.channels + first + c) * shape.height + y)
                            * shape.width
                            + z];
                        let w = w[((filter * per_group + c) * shape.kernel[0] + i)
                            * shape.kernel[1]
                            + j];
                        *acc = acc.add(x.mul(w));
                    }
                }
            }
        }
    }
}
