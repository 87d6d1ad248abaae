//! A bilinear map as products of polynomials (docs/spec/rlwe.md, section 4): which number is which
//! coefficient.
//!
//! The left factor's places (rows of a matrix, pixels of padded images) are cut into blocks of
//! `slots` places, its channels into blocks of `2^width`. Channel `c` of the place in slot `r` is
//! coefficient `r 2^width + c`. Of a filter, the number for channel `c` and the tap that is `d` slots
//! away is coefficient `-(d 2^width + c)`; of `side` filters in one polynomial, filter `l` stands
//! `l slots 2^width` further on. So coefficient `(l slots + r) 2^width` of the product is the sum for
//! slot `r` and filter `l`, and `2^levels` such products are packed into one.

use tacit_algebra::{Conv2d, MatMul};
use tacit_protocols::machine::Bilinear;

/// The place of no number: what stands there is 0.
const NONE: u32 = u32::MAX;

/// How a map is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Coefficients of a polynomial.
    pub degree: usize,
    /// Bits of the number of a channel in its block.
    pub width: u32,
    /// Filters in one polynomial, a power of two.
    pub side: usize,
    /// Levels of packing, at most `width`.
    pub levels: u32,
}

impl Cut {
    /// Places in one polynomial.
    pub fn slots(&self) -> usize {
        (self.degree >> self.width) / self.side
    }
}

/// Sizes of a map that this computes: several products of the same kind side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub groups: usize,
    pub channels: usize,
    pub filters: usize,
    kind: MapKind,
}

/// Whether a map is a product of matrices or a convolution, with what the left factor's places follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MapKind {
    Matrix { rows: usize },
    Images(Conv2d),
}

/// The places of one block: where each slot's number stands in the left factor, and which slots are
/// places of the result.
pub(super) struct Block {
    /// For each slot the number of its place in the left factor's first channel, or none.
    from: Vec<u32>,
    /// Slots with the numbers of their places in the result's first filter.
    pub to: Vec<(u32, u32)>,
}

impl Sizes {
    /// The sizes of a map, if it is one that encryption computes: no product element by element, and none of nothing.
    pub fn of(map: &Bilinear) -> Option<Self> {
        let matrix = |groups, MatMul { m, k, n }| Sizes {
            groups,
            channels: k,
            filters: n,
            kind: MapKind::Matrix { rows: m },
        };
        let sizes = match map {
            Bilinear::Elementwise(_) => return None,
            Bilinear::MatMul(shape) => matrix(1, *shape),
            Bilinear::BatchMatMul(shape) => matrix(shape.batch, shape.each),
            Bilinear::Conv2d(shape) if shape.validate().is_err() => return None,
            Bilinear::Conv2d(shape) => Sizes {
                groups: shape.groups,
                channels: shape.channels / shape.groups,
                filters: shape.filters / shape.groups,
                kind: MapKind::Images(upright(shape)),
            },
        };
        let some = map.left() > 0 && map.right() > 0 && map.outputs() > 0;
        let fit = [map.left(), map.right(), map.outputs()];
        (some && fit.iter().all(|n| *n < NONE as usize)).then_some(sizes)
    }

    /// Products in a sum.
    pub fn terms(&self) -> usize {
        self.channels * self.taps(0).len()
    }

    /// The slots between a place and its taps, `columns` to a row of the padded image.
    fn taps(&self, columns: usize) -> Vec<usize> {
        match &self.kind {
            MapKind::Matrix { .. } => vec![0],
            MapKind::Images(shape) => {
                let [height, width] = shape.kernel;
                let [down, right] = shape.dilation;
                let row = move |y| (0..width).map(move |x| y * down * columns + x * right);
                (0..height).flat_map(row).collect()
            }
        }
    }

    /// The blocks for this many slots; none if a filter does not fit.
    pub fn blocks(&self, slots: usize) -> Option<Vec<Block>> {
        match &self.kind {
            MapKind::Matrix { rows } => Some(
                (0..*rows)
                    .step_by(slots)
                    .map(|start| {
                        let own = start..(start + slots).min(*rows);
                        let mut from = vec![NONE; slots];
                        let to = own.clone().zip(0..).map(|(row, slot)| (slot, row as u32));
                        from.iter_mut()
                            .zip(own)
                            .for_each(|(from, row)| *from = (row * self.channels) as u32);
                        Block {
                            from,
                            to: to.collect(),
                        }
                    })
                    .collect(),
            ),
            MapKind::Images(shape) => {
                let strips = Strips::new(shape, slots)?;
                Some(strips.all().map(|part| strips.block(&part)).collect())
            }
        }
    }

    /// How many blocks there are.
    pub fn block_count(&self, slots: usize) -> Option<usize> {
        match &self.kind {
            MapKind::Matrix { rows } => Some(rows.div_ceil(slots)),
            MapKind::Images(shape) => Some(Strips::new(shape, slots)?.count()),
        }
    }

    /// How many places of the result each block has, block by block.
    pub fn places(&self, slots: usize) -> Option<Vec<usize>> {
        match &self.kind {
            MapKind::Matrix { rows } => {
                let starts = (0..*rows).step_by(slots);
                Some(starts.map(|start| slots.min(rows - start)).collect())
            }
            MapKind::Images(shape) => {
                let strips = Strips::new(shape, slots)?;
                let places = |[images, rows]: [std::ops::Range<usize>; 2]| {
                    images.len() * rows.len() * shape.out_width()
                };
                Some(strips.all().map(places).collect())
            }
        }
    }

    /// The number of the left factor's element in channel `channel` of group `group`, if the place's
    /// first channel has number `place`.
    fn left(&self, group: usize, place: u32, channel: usize) -> usize {
        let place = place as usize;
        match &self.kind {
            MapKind::Matrix { rows } => group * rows * self.channels + place + channel,
            MapKind::Images(shape) => {
                place + (group * self.channels + channel) * shape.height * shape.width
            }
        }
    }

    /// The number of the right factor's element.
    fn right(&self, group: usize, filter: usize, channel: usize, tap: usize, taps: usize) -> usize {
        match &self.kind {
            MapKind::Matrix { .. } => (group * self.channels + channel) * self.filters + filter,
            MapKind::Images(_) => {
                ((group * self.filters + filter) * self.channels + channel) * taps + tap
            }
        }
    }

    /// The number of the result's element of a filter, if the first filter's has number `place`.
    pub fn out(&self, group: usize, place: u32, filter: usize) -> usize {
        let place = place as usize;
        match &self.kind {
            MapKind::Matrix { rows } => group * rows * self.filters + place * self.filters + filter,
            MapKind::Images(shape) => {
                place + (group * self.filters + filter) * shape.out_height() * shape.out_width()
            }
        }
    }

    /// The left factor's numbers in one polynomial.
    pub fn left_poly(
        &self,
        cut: &Cut,
        values: &[u64],
        (group, block, channels): (usize, &Block, usize),
    ) -> Vec<u64> {
        let mut poly = vec![0; cut.degree];
        let first = channels << cut.width;
        let own = first..self.channels.min(first + (1 << cut.width));
        for (slot, place) in block.from.iter().enumerate().filter(|(_, p)| **p != NONE) {
            for channel in own.clone() {
                let at = (slot << cut.width) + channel - first;
                poly[at] = values[self.left(group, *place, channel)];
            }
        }
        poly
    }

    /// The right factor's numbers in one polynomial: `side` filters from number `side index` on.
    pub fn right_poly(
        &self,
        cut: &Cut,
        values: &[i64],
        (group, index, channels): (usize, usize, usize),
    ) -> Vec<i64> {
        let taps = self.taps(self.columns());
        let mut poly = vec![0; cut.degree];
        let first = channels << cut.width;
        let own = first..self.channels.min(first + (1 << cut.width));
        let filters = index * cut.side..self.filters.min((index + 1) * cut.side);
        for (l, filter) in filters.enumerate() {
            let base = (l * cut.slots()) << cut.width;
            for (tap, slots) in taps.iter().enumerate() {
                for channel in own.clone() {
                    let value = values[self.right(group, filter, channel, tap, taps.len())];
                    let back = (slots << cut.width) + channel - first;
                    match base.checked_sub(back) {
                        Some(at) => poly[at] = value,
                        // X^-1 = -X^(N - 1).
                        None => poly[base + cut.degree - back] = value.wrapping_neg(),
                    }
                }
            }
        }
        poly
    }

    /// Slots of a row of the padded image.
    fn columns(&self) -> usize {
        match &self.kind {
            MapKind::Matrix { .. } => 0,
            MapKind::Images(shape) => columns(shape),
        }
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
struct Strips<'a> {
    shape: &'a Conv2d,
    slots: usize,
    /// Slots of a row.
    columns: usize,
    /// Images in a block; of strips 1.
    images: usize,
    /// Rows of the result in a strip.
    rows: usize,
}

impl<'a> Strips<'a> {
    fn new(shape: &'a Conv2d, slots: usize) -> Option<Self> {
        let columns = columns(shape);
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
            shape,
            slots,
            columns,
            images,
            rows,
        })
    }

    fn count(&self) -> usize {
        let (batch, height) = (self.shape.batch, self.shape.out_height());
        batch.div_ceil(self.images) * height.div_ceil(self.rows)
    }

    /// Images and rows of the result of every block, from where to where.
    fn all(&self) -> impl Iterator<Item = [std::ops::Range<usize>; 2]> + '_ {
        let (batch, height) = (self.shape.batch, self.shape.out_height());
        (0..batch).step_by(self.images).flat_map(move |image| {
            let images = image..(image + self.images).min(batch);
            (0..height)
                .step_by(self.rows)
                .map(move |row| [images.clone(), row..(row + self.rows).min(height)])
        })
    }

    fn block(&self, [images, rows]: &[std::ops::Range<usize>; 2]) -> Block {
        let s = self.shape;
        let mut from = vec![NONE; self.slots];
        let mut to = Vec::new();
        let reach = (s.kernel[0] - 1) * s.dilation[0] + 1;
        let first = rows.start * s.stride[0];
        let held = (rows.len() - 1) * s.stride[0] + reach;
        let whole = s.height + s.pad[0] + s.pad[2];
        for (image, slot) in images.clone().zip((0..).step_by(whole * self.columns)) {
            for (row, y) in (first..first + held)
                .enumerate()
                .filter(|(_, y)| (s.pad[0]..s.pad[0] + s.height).contains(y))
            {
                for x in 0..s.width {
                    let place =
                        image * s.channels * s.height * s.width + (y - s.pad[0]) * s.width + x;
                    from[slot + row * self.columns + s.pad[1] + x] = place as u32;
                }
            }
            for y in rows.clone() {
                for x in 0..s.out_width() {
                    let at = slot + (y * s.stride[0] - first) * self.columns + x * s.stride[1];
                    let plane = s.out_height() * s.out_width();
                    let place = image * s.filters * plane + y * s.out_width() + x;
                    to.push((at as u32, place as u32));
                }
            }
        }
        Block { from, to }
    }
}

#[cfg(test)]
mod tests {
    use tacit_algebra::{BatchMatMul, Prg};

    use super::*;

    /// `x y` modulo `X^N + 1`.
    fn product(x: &[u64], y: &[i64]) -> Vec<u64> {
        let n = x.len();
        let mut z = vec![0u64; n];
        for (i, a) in x.iter().enumerate().filter(|(_, a)| **a != 0) {
            for (j, b) in y.iter().enumerate().filter(|(_, b)| **b != 0) {
                let term = a.wrapping_mul(*b as u64);
                let at = &mut z[(i + j) % n];
                *at = match i + j < n {
                    true => at.wrapping_add(term),
                    false => at.wrapping_sub(term),
                };
            }
        }
        z
    }

    /// Every cut of maps of every kind: their coefficients are the map's results.
    #[test]
    fn coefficients_of_products_are_the_map() {
        let image = Conv2d {
            batch: 3,
            channels: 5,
            height: 6,
            width: 4,
            filters: 3,
            kernel: [3, 2],
            stride: [1, 1],
            pad: [1, 0, 1, 1],
            dilation: [1, 1],
            groups: 1,
        };
        let each = MatMul { m: 7, k: 9, n: 5 };
        let maps = [
            Bilinear::MatMul(each),
            Bilinear::MatMul(MatMul { m: 1, k: 130, n: 3 }),
            Bilinear::BatchMatMul(BatchMatMul { batch: 2, each }),
            Bilinear::Conv2d(image),
            Bilinear::Conv2d(Conv2d {
                stride: [2, 3],
                dilation: [2, 1],
                ..image
            }),
            Bilinear::Conv2d(Conv2d {
                channels: 6,
                groups: 3,
                ..image
            }),
            Bilinear::Conv2d(Conv2d {
                height: 30,
                width: 6,
                ..image
            }),
            Bilinear::Conv2d(Conv2d {
                height: 1,
                width: 70,
                kernel: [1, 3],
                stride: [1, 2],
                pad: [0, 1, 0, 2],
                dilation: [1, 2],
                ..image
            }),
        ];
        let mut tried = 0;
        for (map, seed) in maps.iter().zip(1..) {
            let sizes = Sizes::of(map).expect("this computes it");
            let mut prg = Prg::new([seed; 16]);
            let (x, w): (Vec<u64>, Vec<u64>) = (prg.ring(map.left()), prg.ring(map.right()));
            let mut expected = vec![0u64; map.outputs()];
            map.accumulate(&mut expected, &x, &w);
            let w: Vec<i64> = w.into_iter().map(|w| w as i64).collect();
            for width in 0..6 {
                for side in [1, 2, 4] {
                    let cut = Cut {
                        degree: 256,
                        width,
                        side,
                        levels: 0,
                    };
                    let blocks = sizes.blocks(cut.slots());
                    assert_eq!(
                        blocks.as_ref().map(Vec::len),
                        sizes.block_count(cut.slots())
                    );
                    let Some(blocks) = blocks else { continue };
                    let places: Vec<_> = blocks.iter().map(|block| block.to.len()).collect();
                    assert_eq!(sizes.places(cut.slots()), Some(places));
                    tried += 1;
                    let mut got = vec![0u64; map.outputs()];
                    for group in 0..sizes.groups {
                        for block in &blocks {
                            for index in 0..sizes.filters.div_ceil(side) {
                                let mut sum = vec![0u64; cut.degree];
                                for channels in 0..sizes.channels.div_ceil(1 << width) {
                                    let x = sizes.left_poly(&cut, &x, (group, block, channels));
                                    let w = sizes.right_poly(&cut, &w, (group, index, channels));
                                    let z = product(&x, &w);
                                    sum.iter_mut()
                                        .zip(z)
                                        .for_each(|(s, z)| *s = s.wrapping_add(z));
                                }
                                for l in 0..side.min(sizes.filters - index * side) {
                                    for (slot, place) in &block.to {
                                        let at = (l * cut.slots() + *slot as usize) << width;
                                        got[sizes.out(group, *place, index * side + l)] = sum[at];
                                    }
                                }
                            }
                        }
                    }
                    assert!(got == expected, "{map:?} by {cut:?}");
                }
            }
        }
        assert!(tried > 110, "{tried} cuts");
    }
}
