//! Products of matrices and convolutions in the clear.

use rayon::prelude::*;
use tacit_algebra::isa::{Loop, run};

use super::gemm;
use super::slide::{Planes, slide};
use crate::graph::{Conv, ConvGeometry, Linear, Matrices};

/// Rows times fixed weights.
pub(super) fn multiply(linear: &Linear, x: &[f32], threads: usize, out: &mut [f32]) {
    let &Linear { k, n, .. } = linear;
    // Each thread takes some rows, so that it reads the weights once for all of them.
    let rows = (x.len() / k).div_ceil(threads).max(1);
    out.par_chunks_mut(rows * n)
        .zip(x.par_chunks(rows * k))
        .for_each(|(out, x)| {
            match linear.bias.is_empty() {
                true => out.fill(0.0),
                false => (out.chunks_mut(n)).for_each(|row| row.copy_from_slice(&linear.bias)),
            }
            match linear.rows {
                // However many items there are, so that the sums are the same to the last place.
                1 => run(SingleRows { linear, x, out }),
                _ => gemm(out, x, &linear.weight, [k, n]),
            }
        });
}

/// Products of the one row that each item has: reading the weights is all that takes time.
struct SingleRows<'a> {
    linear: &'a Linear,
    x: &'a [f32],
    out: &'a mut [f32],
}

/// Rows that are made at a time, so that the weights are read once for all of them.
const ROWS: usize = 8;
/// Products that are added up before they are added to the sum.
const DEPTH: usize = 4;

impl Loop for SingleRows<'_> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let &Linear { k, n, .. } = self.linear;
        let whole = k / DEPTH * DEPTH;
        let (blocks, rest) = self.linear.weight.split_at(whole * n);
        for (out, x) in self.out.chunks_mut(ROWS * n).zip(self.x.chunks(ROWS * k)) {
            for (block, weight) in blocks.chunks_exact(DEPTH * n).enumerate() {
                for (out, x) in out.chunks_exact_mut(n).zip(x.chunks_exact(k)) {
                    add_block(out, &x[block * DEPTH..][..DEPTH], weight);
                }
            }
            for (at, weight) in rest.chunks_exact(n).enumerate() {
                for (out, x) in out.chunks_exact_mut(n).zip(x.chunks_exact(k)) {
                    for (sum, &w) in out.iter_mut().zip(weight) {
                        *sum += x[whole + at] * w;
                    }
                }
            }
        }
    }
}

/// Adds the products of some numbers with as many rows of weights.
#[inline(always)]
fn add_block(sums: &mut [f32], x: &[f32], weight: &[f32]) {
    let n = sums.len();
    let [a, b, c, d] = [0, 1, 2, 3].map(|at| (&weight[at * n..][..n], x[at]));
    for (e, sum) in sums.iter_mut().enumerate() {
        *sum += (a.0[e] * a.1 + b.0[e] * b.1) + (c.0[e] * c.1 + d.0[e] * d.1);
    }
}

/// The products of matrices of `x` and `y`, pair by pair.
pub(super) fn products(matrices: &Matrices, [x, y]: [&[f32]; 2], out: &mut [f32]) {
    let &Matrices { m, k, n, .. } = matrices;
    out.fill(0.0);
    out.par_chunks_mut(m * n)
        .zip(x.par_chunks(m * k).zip(y.par_chunks(k * n)))
        .for_each(|(out, (x, y))| gemm(out, x, y, [k, n]));
}

/// A convolution of all items.
pub(super) fn convolve(conv: &Conv, x: &[f32], threads: usize, out: &mut [f32]) {
    let g = &conv.geometry;
    let [from, to] = [g.in_len(), g.out_len()];
    let plane = g.out()[0] * g.out()[1];
    if let Some(planes) = Planes::new(g) {
        return slide(conv, &planes, x, out);
    }
    // Small maps are joined side by side, so that the product has wide rows.
    let together = (128 / plane).max(1);
    out.par_chunks_mut(together * to)
        .zip(x.par_chunks(together * from))
        .for_each(|(out, x)| {
            (0..g.groups).for_each(|group| filtered(conv, x, group, threads, out))
        });
}

/// The columns of the output for which the tap of this column of a filter does not meet the padding.
fn columns(g: &ConvGeometry, tap: usize) -> std::ops::Range<usize> {
    let right = tap * g.dilation[1];
    let first = g.pad[1].saturating_sub(right).div_ceil(g.stride[1]);
    let reach = (g.width + g.pad[1]).saturating_sub(right);
    first..reach.div_ceil(g.stride[1]).min(g.out()[1]).max(first)
}

/// The row of the input under the tap of this row of a filter, for row `o` of the output; none in the padding.
fn row_under(g: &ConvGeometry, o: usize, tap: usize) -> Option<usize> {
    let y = (o * g.stride[0] + tap * g.dilation[0]).checked_sub(g.pad[0]);
    y.filter(|&y| y < g.height)
}

/// The maps of a group's filters, as a product of matrices; several threads take some filters each.
fn filtered(conv: &Conv, x: &[f32], group: usize, threads: usize, out: &mut [f32]) {
    let g = &conv.geometry;
    let (items, taps) = (x.len() / g.in_len(), g.taps());
    let plane = g.out()[0] * g.out()[1];
    let per_group = g.filters / g.groups;
    let unfolded;
    let columns = match is_by_pixel(g) && items == 1 {
        true => &x[group * taps * plane..][..taps * plane],
        false => {
            unfolded = unfold(conv, x, group, items);
            &unfolded
        }
    };
    let first = group * per_group;
    // The bias comes first, however many items there are, so that the sums are the same to the last place.
    let begin = |maps: &mut [f32], of_filter: usize| {
        for (filter, maps) in maps.chunks_mut(of_filter).enumerate() {
            maps.fill(conv.bias.get(first + filter).copied().unwrap_or(0.0));
        }
    };
    let weight = &conv.weight[first * taps..][..per_group * taps];
    let filters = per_group.div_ceil(threads);
    let product = |maps: &mut [f32]| {
        maps.par_chunks_mut(filters * items * plane)
            .zip(weight.par_chunks(filters * taps))
            .for_each(|(maps, weight)| gemm(maps, weight, columns, [taps, items * plane]));
    };
    if items == 1 {
        let maps = &mut out[first * plane..][..per_group * plane];
        begin(maps, plane);
        return product(maps);
    }
    let mut maps = vec![0.0; per_group * items * plane];
    begin(&mut maps, items * plane);
    product(&mut maps);
    for (at, map) in maps.chunks(plane).enumerate() {
        let (filter, item) = (at / items, at % items);
        out[item * g.out_len() + (first + filter) * plane..][..plane].copy_from_slice(map);
    }
}

/// Whether every output position is made of the input's numbers at that position.
fn is_by_pixel(g: &ConvGeometry) -> bool {
    g.kernel == [1, 1] && g.stride == [1, 1] && g.pad == [0; 4]
}

/// The matrix of one row per tap of a filter and one column per output position of each item.
fn unfold(conv: &Conv, x: &[f32], group: usize, items: usize) -> Vec<f32> {
    let g = &conv.geometry;
    let ([oh, ow], [kh, kw]) = (g.out(), g.kernel);
    let mut unfolded = vec![0.0; g.taps() * items * oh * ow];
    let maps = unfolded.par_chunks_mut(oh * ow).enumerate();
    maps.for_each(|(at, map)| {
        let (tap, item) = (at / items, at % items);
        let channel = tap / (kh * kw) + group * g.channels / g.groups;
        let from = &x[item * g.in_len() + channel * g.height * g.width..];
        let columns = columns(g, tap % kw);
        if columns.is_empty() {
            return;
        }
        let start = columns.start * g.stride[1] + tap % kw * g.dilation[1] - g.pad[1];
        for (o, row) in map.chunks_mut(ow).enumerate() {
            let Some(y) = row_under(g, o, tap / kw % kh) else {
                continue;
            };
            let from = &from[y * g.width..][start..g.width];
            let row = &mut row[columns.clone()];
            match g.stride[1] {
                1 => row.copy_from_slice(&from[..row.len()]),
                by => (row.iter_mut().zip(from.iter().step_by(by))).for_each(|(to, v)| *to = *v),
            }
        }
    });
    unfolded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 37) % 101) as f32 - 50.0).collect()
    }

    /// Output element `e` of an item by the definition.
    fn defined(conv: &Conv, x: &[f32], e: usize) -> f32 {
        let g = &conv.geometry;
        let ([oh, ow], [kh, kw], taps) = (g.out(), g.kernel, g.taps());
        let (filter, row, column) = (e / (oh * ow), e / ow % oh, e % ow);
        let group = filter / (g.filters / g.groups);
        let of_tap = |tap: usize| {
            let channel = group * (g.channels / g.groups) + tap / (kh * kw);
            let y = row * g.stride[0] + tap / kw % kh * g.dilation[0];
            let x_at = column * g.stride[1] + tap % kw * g.dilation[1];
            let y = y.checked_sub(g.pad[0]).filter(|&y| y < g.height)?;
            let x_at = x_at.checked_sub(g.pad[1]).filter(|&x| x < g.width)?;
            Some(conv.weight[filter * taps + tap] * x[(channel * g.height + y) * g.width + x_at])
        };
        let sum: f32 = (0..taps).filter_map(of_tap).sum();
        conv.bias.get(filter).copied().unwrap_or(0.0) + sum
    }

    /// A stride or a dilation as a file may have it, for which the planes of all rows would be without end.
    const FAR: usize = 1 << 20;

    /// Kernels, strides, paddings and dilations, groups of one filter and of several, by one thread and by more.
    #[test]
    fn convolutions_are_what_they_are_defined_to_be() {
        let mut tried = 0;
        for (kernel, stride, pad, dilation) in [
            ([1, 1], [1, 1], [0; 4], [1, 1]),
            ([1, 1], [2, 3], [0; 4], [1, 1]),
            ([3, 3], [1, 1], [1; 4], [1, 1]),
            ([3, 3], [2, 2], [1; 4], [1, 1]),
            ([2, 3], [3, 2], [0, 1, 2, 3], [2, 1]),
            ([3, 2], [1, 4], [2, 0, 0, 5], [1, 3]),
            ([1, 5], [1, 2], [0, 7, 0, 6], [1, 2]),
            ([7, 7], [1, 1], [3; 4], [1, 1]),
            ([1, 1], [3, 3], [4, 5, 3, 2], [1, 1]),
            ([1, 1], [FAR, FAR], [0; 4], [1, 1]),
            ([2, 2], [FAR, 1], [FAR, FAR, 3, 2], [FAR, FAR]),
        ] {
            for (channels, filters, groups) in
                [(4, 4, 4), (6, 3, 3), (1, 5, 1), (4, 6, 2), (3, 9, 3)]
            {
                let geometry = ConvGeometry {
                    channels,
                    height: 7,
                    width: 9,
                    filters,
                    kernel,
                    stride,
                    pad,
                    dilation,
                    groups,
                };
                let bias = if tried % 2 == 0 { filters } else { 0 };
                let conv = Conv {
                    weight: numbers(filters * geometry.taps()).into(),
                    bias: numbers(bias).into(),
                    geometry,
                };
                let (from, to) = (conv.geometry.in_len(), conv.geometry.out_len());
                let x = numbers(3 * from);
                let right =
                    (0..3 * to).map(|e| defined(&conv, &x[e / to * from..][..from], e % to));
                let right: Vec<f32> = right.collect();
                for threads in [1, 3] {
                    let mut out = vec![f32::NAN; 3 * to];
                    convolve(&conv, &x, threads, &mut out);
                    assert_eq!(out, right, "{:?}", conv.geometry);
                }
                tried += 1;
            }
        }
    }

    /// The sums of items alone are those of items together to the last place, whoever computes them: of more products
    /// than are added up at once, with numbers that are not exact.
    #[test]
    fn convolutions_are_the_same_for_items_together() {
        let geometry = ConvGeometry {
            channels: 40,
            height: 5,
            width: 5,
            filters: 6,
            kernel: [3, 3],
            stride: [1, 1],
            pad: [1; 4],
            dilation: [1, 1],
            groups: 1,
        };
        let inexact = |n: usize| -> Vec<f32> { numbers(n).iter().map(|v| v / 7.0).collect() };
        let conv = Conv {
            weight: inexact(6 * geometry.taps()).into(),
            bias: inexact(6).into(),
            geometry,
        };
        let (x, to) = (inexact(4 * conv.geometry.in_len()), conv.geometry.out_len());
        let of = |threads, each: usize| -> Vec<f32> {
            let x = x.chunks(each * conv.geometry.in_len());
            let outs = x.flat_map(|x| {
                let mut out = vec![f32::NAN; x.len() / conv.geometry.in_len() * to];
                convolve(&conv, x, threads, &mut out);
                out
            });
            outs.collect()
        };
        let right = of(1, 4);
        for (threads, each) in [(1, 1), (1, 3), (2, 4), (5, 2), (3, 1)] {
            assert!(
                of(threads, each) == right,
                "{threads} threads, {each} items"
            );
        }
    }

    /// Single rows of any length, and several, are what they are defined to be, and the same for items together.
    #[test]
    fn rows_times_weights_are_what_they_are_defined_to_be() {
        for (rows, k, n) in [(1, 1, 1), (1, 4, 3), (1, 11, 17), (1, 300, 70), (2, 11, 17)] {
            let linear = Linear {
                rows,
                k,
                n,
                weight: numbers(k * n).into(),
                bias: numbers(n).into(),
            };
            let x = numbers(19 * rows * k);
            let of = |e: usize| {
                let of_row = &x[e / n * k..][..k];
                let sum = (0..k).map(|i| of_row[i] * linear.weight[i * n + e % n]);
                linear.bias[e % n] + sum.sum::<f32>()
            };
            let right: Vec<f32> = (0..19 * rows * n).map(of).collect();
            for (threads, together) in [(1, 19), (3, 19), (1, 1), (2, 9)] {
                let each = x.chunks(together * rows * k).flat_map(|x| {
                    let mut out = vec![f32::NAN; x.len() / k * n];
                    multiply(&linear, x, threads, &mut out);
                    out
                });
                assert!(each.eq(right.iter().copied()), "{rows} x {k} x {n}");
            }
        }
    }

    /// Products begin anew, whatever the memory held.
    #[test]
    fn products_do_not_add_to_what_was_there() {
        for bias in [vec![], vec![1.0, 2.0]] {
            let begun: f32 = bias.iter().sum();
            let linear = Linear {
                rows: 1,
                k: 2,
                n: 2,
                weight: vec![1.0; 4].into(),
                bias: bias.into(),
            };
            let mut out = [f32::NAN; 4];
            multiply(&linear, &[1.0; 4], 1, &mut out);
            assert_eq!(out[..2].iter().sum::<f32>(), 4.0 + begun);
        }
        let mut out = [f32::NAN; 2];
        let matrices = Matrices {
            batch: 1,
            m: 1,
            k: 2,
            n: 1,
        };
        products(&matrices, [&[1.0; 4], &[2.0; 4]], &mut out);
        assert_eq!(out, [4.0; 2]);
    }
}
