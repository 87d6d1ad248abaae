//! Convolutions in the clear whose groups have one filter each, which is too few for a product of matrices.

use rayon::prelude::*;
use tacit_algebra::isa::{Loop, run};

use crate::graph::{Conv, ConvGeometry};

/// How many places are summed up at a time, in registers.
const BLOCK: usize = 64;

/// A convolution of all items by one filter a group.
pub(super) fn slide(conv: &Conv, planes: &Planes, x: &[f32], out: &mut [f32]) {
    let g = &conv.geometry;
    let ([oh, ow], of_group) = (g.out(), g.channels / g.groups * g.height * g.width);
    // What is padding for one group is so for all.
    let memory = || (vec![0.0; planes.len()], vec![0.0; planes.places()]);
    let maps = out.par_chunks_mut(oh * ow).enumerate();
    maps.for_each_init(memory, |(padded, sums), (at, map)| {
        planes.fill(&x[at * of_group..][..of_group], padded);
        let filter = at % g.filters;
        run(Sums {
            weight: &conv.weight[filter * g.taps()..][..g.taps()],
            places: &planes.taps,
            first: conv.bias.get(filter).copied().unwrap_or(0.0),
            padded,
            sums,
        });
        for (row, sums) in map.chunks_mut(ow).zip(sums.chunks(planes.row)) {
            row.copy_from_slice(&sums[..ow]);
        }
    });
}

/// A group's channels with their padding, apart into planes of rows and columns that lie a stride from each other, so
/// that what a tap meets in one place after the other stands side by side.
pub(super) struct Planes<'a> {
    g: &'a ConvGeometry,
    /// The first rows, and the first columns, of the planes that some tap meets.
    first: [Vec<usize>; 2],
    /// Numbers of a row, and of a plane.
    row: usize,
    plane: usize,
    /// Where what each tap of a filter meets begins.
    taps: Vec<usize>,
}

/// Planes have at most so many times the numbers of a group's channels and its map: a file's padding and dilations can be
/// without end.
const MOST: usize = 8;
/// The most planes of a channel along an axis. Each row, and each tap, is looked for among them.
const MOST_PLANES: usize = 64;

impl<'a> Planes<'a> {
    /// Planes, where there is one filter a group and they are not far larger than what they are made of.
    pub(super) fn new(g: &'a ConvGeometry) -> Option<Self> {
        // A file's kernel may be as wide as its input, and its stride, too.
        let planes = |d: usize| g.kernel[d].min(g.stride[d]);
        if g.filters != g.groups || planes(0).max(planes(1)) > MOST_PLANES {
            return None;
        }
        let first = [0, 1].map(|d| {
            let mut first: Vec<usize> = Vec::new();
            for tap in (0..g.kernel[d]).map(|tap| tap * g.dilation[d] % g.stride[d]) {
                if !first.contains(&tap) {
                    first.push(tap);
                }
            }
            first
        });
        // Rows, and columns, of a plane that some place of the output meets.
        let reach = |d: usize| g.out()[d] + (g.kernel[d] - 1) * g.dilation[d] / g.stride[d];
        let (row, plane) = (reach(1), reach(0).saturating_mul(reach(1)));
        let per_group = g.channels / g.groups;
        let own = per_group * g.height * g.width + g.out_len() / g.filters + BLOCK;
        let all = plane.saturating_mul(per_group * first[0].len() * first[1].len());
        if all > MOST * own {
            return None;
        }
        let mut planes = Planes {
            g,
            first,
            row,
            plane,
            taps: Vec::new(),
        };
        planes.taps = (0..g.taps()).map(|tap| planes.met_by(tap)).collect();
        Some(planes)
    }

    /// Where what a tap meets begins.
    fn met_by(&self, tap: usize) -> usize {
        let (g, [kh, kw]) = (self.g, self.g.kernel);
        let (channel, y) = (tap / (kh * kw), tap / kw % kh * g.dilation[0]);
        let x = tap % kw * g.dilation[1];
        let plane = self.of(channel, y, x).unwrap_or_default();
        plane * self.plane + y / g.stride[0] * self.row + x / g.stride[1]
    }

    /// The plane that a place between the padding is in, if any tap meets it.
    fn of(&self, channel: usize, y: usize, x: usize) -> Option<usize> {
        let at = |d: usize, place: usize| {
            let first = place % self.g.stride[d];
            self.first[d].iter().position(|&of| of == first)
        };
        let (y, x) = (at(0, y)?, at(1, x)?);
        Some((channel * self.first[0].len() + y) * self.first[1].len() + x)
    }

    /// The places for which sums are made: those of all rows of the output, in whole blocks.
    fn places(&self) -> usize {
        (self.g.out()[0] * self.row).next_multiple_of(BLOCK)
    }

    /// All planes' numbers, and so many more that no tap of a block goes beyond.
    fn len(&self) -> usize {
        let planes = self.first[0].len() * self.first[1].len();
        self.g.channels / self.g.groups * planes * self.plane + self.places()
    }

    /// Copies the channels `x` of a group between the padding.
    fn fill(&self, x: &[f32], padded: &mut [f32]) {
        let (g, [sy, sx]) = (self.g, self.g.stride);
        let rows = self.plane / self.row;
        for (at, from) in x.chunks(g.width).enumerate() {
            let (channel, y) = (at / g.height, at % g.height + g.pad[0]);
            if y / sy >= rows {
                continue;
            }
            for &first in &self.first[1] {
                let Some(plane) = self.of(channel, y, first) else {
                    continue;
                };
                let to = &mut padded[plane * self.plane + y / sy * self.row..][..self.row];
                // The first column of the padded row that this plane has and that is no padding.
                let column = g.pad[1] + (first + sx - g.pad[1] % sx) % sx;
                let to = to.get_mut(column / sx..).unwrap_or_default();
                let from = from.get(column - g.pad[1]..).unwrap_or_default();
                match sx {
                    1 => {
                        let n = to.len().min(from.len());
                        to[..n].copy_from_slice(&from[..n]);
                    }
                    _ => (to.iter_mut().zip(from.iter().step_by(sx))).for_each(|(to, v)| *to = *v),
                }
            }
        }
    }
}

/// The sums of what a filter's taps meet.
struct Sums<'a> {
    weight: &'a [f32],
    places: &'a [usize],
    first: f32,
    padded: &'a [f32],
    sums: &'a mut [f32],
}

impl Loop for Sums<'_> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let (blocks, _) = self.sums.as_chunks_mut::<BLOCK>();
        for (block, to) in blocks.iter_mut().enumerate() {
            let padded = &self.padded[block * BLOCK..];
            let mut sums = [self.first; BLOCK];
            for (&w, &place) in self.weight.iter().zip(self.places) {
                let x = &padded[place..][..BLOCK];
                for (sum, &v) in sums.iter_mut().zip(x) {
                    *sum += w * v;
                }
            }
            *to = sums;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel and a stride of thousands make as many planes, among which each of as many taps would be looked for.
    #[test]
    fn wide_kernels_have_no_planes() {
        let of = |width| ConvGeometry {
            channels: 1,
            height: 1,
            width: 1 << 20,
            filters: 1,
            kernel: [1, width],
            stride: [1, width],
            pad: [0; 4],
            dilation: [1, 1],
            groups: 1,
        };
        assert!(Planes::new(&of(MOST_PLANES)).is_some());
        assert!(Planes::new(&of(MOST_PLANES + 1)).is_none());
        assert!(Planes::new(&of(1 << 20)).is_none());
    }
}
