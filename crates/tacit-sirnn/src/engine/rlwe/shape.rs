//! A bilinear map as products of polynomials (docs/spec/rlwe.md, section 4): which number is which
//! coefficient.
//!
//! The left factor's places (rows of a matrix, pixels of padded images) are cut into blocks of
//! `slots` places, its channels into blocks of `2^width`. Channel `c` of the place in slot `r` is
//! coefficient `r 2^width + c`. Of a filter, the number for channel `c` and the tap that is `d` slots
//! away is coefficient `-(d 2^width + c)`; of `side` filters in one polynomial, filter `l` stands
//! `l slots 2^width` further on. So coefficient `(l slots + r) 2^width` of the product is the sum for
//! slot `r` and filter `l`, and `2^levels` such products are packed into one.

use tacit_algebra::MatMul;
use tacit_protocols::machine::Bilinear;

use super::images::{Images, Strips};

/// The place of no number: what stands there is 0.
pub(super) const NONE: u32 = u32::MAX;

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
    Images(Images),
}

/// The places of one block: where each slot's number stands in the left factor, and which slots are
/// places of the result.
pub(super) struct Block {
    /// For each slot the number of its place in the left factor's first channel, or none.
    pub from: Vec<u32>,
    /// Slots with the numbers of their places in the result's first filter.
    pub to: Vec<(u32, u32)>,
}

impl Sizes {
    /// The sizes of a map by every way to cut it, if it is one that encryption computes: no product element by element,
    /// and none of nothing.
    pub fn of(map: &Bilinear) -> Vec<Self> {
        let matrix = |groups, MatMul { m, k, n }| Sizes {
            groups,
            channels: k,
            filters: n,
            kind: MapKind::Matrix { rows: m },
        };
        let sizes = match map {
            Bilinear::Elementwise(_) => vec![],
            Bilinear::MatMul(shape) => vec![matrix(1, *shape)],
            Bilinear::BatchMatMul(shape) => vec![matrix(shape.batch, shape.each)],
            Bilinear::Conv2d(shape) if shape.validate().is_err() => vec![],
            Bilinear::Conv2d(shape) => {
                let of = |images| Sizes {
                    groups: shape.groups,
                    channels: shape.channels / shape.groups,
                    filters: shape.filters / shape.groups,
                    kind: MapKind::Images(images),
                };
                Images::of(shape).map(of).collect()
            }
        };
        let fit = [map.left(), map.right(), map.outputs()];
        match fit.iter().all(|n| (1..NONE as usize).contains(n)) {
            true => sizes,
            false => vec![],
        }
    }

    /// Products in a sum.
    pub fn terms(&self) -> usize {
        let taps = match &self.kind {
            MapKind::Matrix { .. } => 1,
            MapKind::Images(images) => images.shape.kernel.iter().product(),
        };
        self.channels * taps
    }

    /// The slots between a place and its taps, `columns` to a row of the padded image.
    fn taps(&self, columns: usize) -> Vec<usize> {
        match &self.kind {
            MapKind::Matrix { .. } => vec![0],
            MapKind::Images(images) => {
                let shape = images.cut();
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
            MapKind::Images(images) => {
                let strips = Strips::new(images, slots)?;
                Some(strips.all().map(|part| strips.block(&part)).collect())
            }
        }
    }

    /// How many blocks there are.
    pub fn block_count(&self, slots: usize) -> Option<usize> {
        match &self.kind {
            MapKind::Matrix { rows } => Some(rows.div_ceil(slots)),
            MapKind::Images(images) => Some(Strips::new(images, slots)?.count()),
        }
    }

    /// How many places of the result each block has, block by block.
    pub fn places(&self, slots: usize) -> Option<Vec<usize>> {
        match &self.kind {
            MapKind::Matrix { rows } => {
                let starts = (0..*rows).step_by(slots);
                Some(starts.map(|start| slots.min(rows - start)).collect())
            }
            MapKind::Images(images) => {
                let strips = Strips::new(images, slots)?;
                Some(strips.all().map(|part| images.places(part)).collect())
            }
        }
    }

    /// The number of the left factor's element in channel `channel` of group `group`, if the place's
    /// first channel has number `place`.
    fn left(&self, group: usize, place: u32, channel: usize) -> usize {
        let place = place as usize;
        match &self.kind {
            MapKind::Matrix { rows } => group * rows * self.channels + place + channel,
            MapKind::Images(Images { shape, .. }) => {
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
            MapKind::Images(Images { shape, .. }) => {
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
            MapKind::Images(images) => images.columns(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tacit_algebra::{BatchMatMul, Conv2d, Prg};

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
            // Taps farther apart than any block is long, and phases without a result.
            Bilinear::Conv2d(Conv2d {
                height: 1,
                width: 300,
                kernel: [1, 3],
                pad: [0, 7, 0, 2],
                dilation: [1, 150],
                ..image
            }),
            Bilinear::Conv2d(Conv2d {
                height: 61,
                width: 1,
                kernel: [4, 1],
                pad: [2, 0, 3, 0],
                dilation: [7, 1],
                channels: 4,
                filters: 2,
                groups: 2,
                ..image
            }),
        ];
        let mut tried = 0;
        for (map, seed) in maps.iter().zip(1..) {
            let mut prg = Prg::new([seed; 16]);
            let (x, w): (Vec<u64>, Vec<u64>) = (prg.ring(map.left()), prg.ring(map.right()));
            let mut expected = vec![0u64; map.outputs()];
            map.accumulate(&mut expected, &x, &w);
            let w: Vec<i64> = w.into_iter().map(|w| w as i64).collect();
            let all = Sizes::of(map);
            assert!(!all.is_empty(), "this computes it");
            let cuts = all.iter().flat_map(|sizes| {
                (0..6).flat_map(move |width| [1, 2, 4].map(move |side| (sizes, width, side)))
            });
            for (sizes, width, side) in cuts {
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
        assert!(tried > 110, "{tried} cuts");
    }
}
