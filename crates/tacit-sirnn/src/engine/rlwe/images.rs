//! Which place of a padded image is which slot of a block.

use std::ops::Range;

use tacit_algebra::Conv2d;

use super::shape::{Block, NONE};

/// A convolution, as what is cut: along one axis that of every phase of a dilation is one of its own, so that taps
/// that are far apart stand side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Images {
    pub shape: Conv2d,
    /// Places from one of a phase to the next: 1, or the dilation.
    apart: usize,
}

impl Images {
    /// The ways to cut a convolution: as it is and, along one axis with a stride of 1, by the phases of its dilation.
    pub fn of(shape: &Conv2d) -> impl Iterator<Item = Self> + use<> {
        let shape = upright(shape);
        let along_one =
            [shape.width, shape.kernel[1]] == [1, 1] && shape.pad[1] + shape.pad[3] == 0;
        let dilated = shape.kernel[0] > 1 && shape.dilation[0] > 1;
        let by_phases = along_one && shape.stride[0] == 1 && dilated;
        let apart = by_phases.then_some(shape.dilation[0]);
        let ways = std::iter::once(1).chain(apart);
        ways.map(move |apart| Images { shape, apart })
    }

    /// The phases of an image that have a result.
    fn phases(&self) -> usize {
        self.apart.min(self.shape.out_height())
    }

    /// The convolution of all phases.
    pub fn cut(&self) -> Conv2d {
        let shape = self.shape;
        if self.apart == 1 {
            return shape;
        }
        let padded = shape.height + shape.pad[0] + shape.pad[2];
        Conv2d {
            batch: shape.batch.saturating_mul(self.phases()),
            height: padded.div_ceil(self.apart),
            pad: [0; 4],
            dilation: [1, 1],
            ..shape
        }
    }

    /// The image that has a phase, and the row of the padded image that is row `y` of it.
    fn row(&self, phase: usize, y: usize) -> [usize; 2] {
        let phases = self.phases();
        [phase / phases, phase % phases + y * self.apart]
    }

    /// The number of a place in the left factor's first channel, if it is none of the padding.
    fn from(&self, phase: usize, y: usize, x: usize) -> Option<usize> {
        let s = &self.shape;
        let [image, row] = self.row(phase, y);
        let own = (s.pad[0]..s.pad[0] + s.height).contains(&row);
        own.then(|| (image * s.channels * s.height + row - s.pad[0]) * s.width + x)
    }

    /// The number of a place in the result's first filter, if there is one.
    fn to(&self, phase: usize, y: usize, x: usize) -> Option<usize> {
        let s = &self.shape;
        let [image, row] = self.row(phase, y);
        let own = row < s.out_height();
        own.then(|| (image * s.filters * s.out_height() + row) * s.out_width() + x)
    }

    /// How many results stand in these rows of these phases.
    pub fn places(&self, [phases, rows]: [Range<usize>; 2]) -> usize {
        let of_phase = |phase: usize| {
            let [_, first] = self.row(phase, 0);
            let all = (self.shape.out_height() - first).div_ceil(self.apart);
            rows.end.min(all).saturating_sub(rows.start)
        };
        phases.map(of_phase).sum::<usize>() * self.shape.out_width()
    }

    /// Slots of a row of the padded image.
    pub fn columns(&self) -> usize {
        columns(&self.cut())
    }
}

/// A convolution along one axis with that axis as the height: strips are of rows, and a row of samples may be longer
/// than any block. Its numbers stand in the same order.
fn upright(shape: &Conv2d) -> Conv2d {
    let [top, left, bottom, right] = shape.pad;
    if [shape.height, shape.kernel[0]] != [1, 1] || [top, bottom] != [0, 0] {
        return *shape;
    }
    let turned = |[down, along]: [usize; 2]| [along, down];
    Conv2d {
        height: shape.width,
        width: 1,
        kernel: turned(shape.kernel),
        stride: turned(shape.stride),
        pad: [left, 0, right, 0],
        dilation: turned(shape.dilation),
        ..*shape
    }
}

fn columns(shape: &Conv2d) -> usize {
    shape.width + shape.pad[1] + shape.pad[3]
}

/// How padded images are cut into blocks: whole images side by side, or strips of one.
pub(super) struct Strips<'a> {
    of: &'a Images,
    shape: Conv2d,
    slots: usize,
    /// Slots of a row.
    columns: usize,
    /// Images in a block; of strips 1.
    images: usize,
    /// Rows of the result in a strip.
    rows: usize,
}

impl<'a> Strips<'a> {
    pub fn new(of: &'a Images, slots: usize) -> Option<Self> {
        let shape = of.cut();
        let columns = columns(&shape);
        let height = shape.height + shape.pad[0] + shape.pad[2];
        let reach = (shape.kernel[0] - 1) * shape.dilation[0] + 1;
        let (images, rows) = match slots / (height * columns) {
            0 => {
                let steps = (slots / columns).checked_sub(reach)? / shape.stride[0];
                (1, steps + 1)
            }
            images => (images, shape.out_height()),
        };
        Some(Strips {
            of,
            shape,
            slots,
            columns,
            images,
            rows,
        })
    }

    pub fn count(&self) -> usize {
        let (batch, height) = (self.shape.batch, self.shape.out_height());
        let strips = height.div_ceil(self.rows);
        batch.div_ceil(self.images).saturating_mul(strips)
    }

    /// Images and rows of the result of every block, from where to where.
    pub fn all(&self) -> impl Iterator<Item = [Range<usize>; 2]> + '_ {
        let (batch, height) = (self.shape.batch, self.shape.out_height());
        (0..batch).step_by(self.images).flat_map(move |image| {
            let images = image..(image + self.images).min(batch);
            (0..height)
                .step_by(self.rows)
                .map(move |row| [images.clone(), row..(row + self.rows).min(height)])
        })
    }

    pub fn block(&self, [images, rows]: &[Range<usize>; 2]) -> Block {
        let s = &self.shape;
        let mut from = vec![NONE; self.slots];
        let mut to = Vec::new();
        let reach = (s.kernel[0] - 1) * s.dilation[0] + 1;
        let first = rows.start * s.stride[0];
        let held = (rows.len() - 1) * s.stride[0] + reach;
        let whole = s.height + s.pad[0] + s.pad[2];
        for (image, slot) in images.clone().zip((0..).step_by(whole * self.columns)) {
            for (row, y) in (first..first + held).enumerate() {
                for x in 0..s.width {
                    if let Some(place) = self.of.from(image, y, x) {
                        from[slot + row * self.columns + s.pad[1] + x] = place as u32;
                    }
                }
            }
            for y in rows.clone() {
                for x in 0..s.out_width() {
                    let at = slot + (y * s.stride[0] - first) * self.columns + x * s.stride[1];
                    if let Some(place) = self.of.to(image, y, x) {
                        to.push((at as u32, place as u32));
                    }
                }
            }
        }
        Block { from, to }
    }
}
