//! Convolutions in the clear whose groups have one filter each, which is too few for a product of matrices.

use rayon::prelude::*;
use tacit_algebra::isa::{Loop, run};

use crate::graph::{Conv, ConvGeometry};

/// How many places are summed up at a time, in registers.
const BLOCK: usize = 64;

/// A convolution of all items by one filter a group.
pub(super) fn slide(conv: &Conv, x: &[f32], out: &mut [f32]) {
    let g = &conv.geometry;
    let ([oh, ow], of_group) = (g.out(), g.channels / g.groups * g.height * g.width);
    let planes = Planes::new(g);
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

/// A group's channels with their padding, each apart into planes of the rows and columns that a stride leaves out, so
/// that what a tap meets in one place after the other stands side by side.
struct Planes<'a> {
    g: &'a ConvGeometry,
    /// Numbers of a row, and of a plane.
    row: usize,
    plane: usize,
    /// Where what each tap of a filter meets begins.
    taps: Vec<usize>,
}

impl<'a> Planes<'a> {
    fn new(g: &'a ConvGeometry) -> Self {
        // Rows, and columns, of a plane that some place of the output meets.
        let reach = |d: usize| g.out()[d] + (g.kernel[d] - 1) * g.dilation[d] / g.stride[d];
        let (row, plane) = (reach(1), reach(0) * reach(1));
        let [sy, sx] = g.stride;
        let of_tap = |tap: usize| {
            let (channel, at) = (
                tap / (g.kernel[0] * g.kernel[1]),
                tap % (g.kernel[0] * g.kernel[1]),
            );
            let [y, x] = [
                at / g.kernel[1] * g.dilation[0],
                at % g.kernel[1] * g.dilation[1],
            ];
            let of_stride = (channel * sy + y % sy) * sx + x % sx;
            of_stride * plane + y / sy * row + x / sx
        };
        Planes {
            g,
            row,
            plane,
            taps: (0..g.taps()).map(of_tap).collect(),
        }
    }

    /// The places for which sums are made: those of all rows of the output, in whole blocks.
    fn places(&self) -> usize {
        (self.g.out()[0] * self.row).next_multiple_of(BLOCK)
    }

    /// All planes' numbers, and so many more that no tap of a block goes beyond.
    fn len(&self) -> usize {
        let [sy, sx] = self.g.stride;
        self.g.channels / self.g.groups * sy * sx * self.plane + self.places()
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
            for first in 0..sx {
                let of_stride = (channel * sy + y % sy) * sx + first;
                let to = &mut padded[of_stride * self.plane + y / sy * self.row..][..self.row];
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
