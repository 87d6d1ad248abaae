//! Products of matrices and convolutions in the clear.

use rayon::prelude::*;

use super::gemm;
use crate::graph::{Conv, Linear, Matrices};

/// Rows times fixed weights.
pub(super) fn multiply(linear: &Linear, x: &[f32]) -> Vec<f32> {
    let Linear {
        k, n, weight, bias, ..
    } = linear;
    let mut out = vec![0.0; x.len() / k * n];
    // Each thread takes some rows, so that it reads the weights once for all of them.
    let rows = (x.len() / k).div_ceil(rayon::current_num_threads()).max(1);
    out.par_chunks_mut(rows * n)
        .zip(x.par_chunks(rows * k))
        .for_each(|(out, x)| {
            if !bias.is_empty() {
                out.chunks_mut(*n).for_each(|row| row.copy_from_slice(bias));
            }
            gemm(out, x, weight, [*k, *n]);
        });
    out
}

/// The products of matrices of `x` and `y`, pair by pair.
pub(super) fn products(matrices: &Matrices, x: &[f32], y: &[f32]) -> Vec<f32> {
    let &Matrices { m, k, n, .. } = matrices;
    let mut out = vec![0.0; x.len() / k * n];
    out.par_chunks_mut(m * n)
        .zip(x.par_chunks(m * k).zip(y.par_chunks(k * n)))
        .for_each(|(out, (x, y))| gemm(out, x, y, [k, n]));
    out
}

/// A convolution of all items.
pub(super) fn convolve(conv: &Conv, x: &[f32]) -> Vec<f32> {
    let g = &conv.geometry;
    let [from, to] = [g.in_len(), g.out_len()];
    let plane = g.out()[0] * g.out()[1];
    let mut out = vec![0.0; x.len() / from * to];
    if g.filters == g.groups {
        let maps = out.par_chunks_mut(plane).enumerate();
        maps.for_each(|(at, map)| {
            let (item, filter) = (at / g.filters, at % g.filters);
            slide(conv, &x[item * from..][..from], filter, map);
        });
        return out;
    }
    // Small maps are joined side by side, so that the product has wide rows.
    let together = (128 / plane).max(1);
    out.par_chunks_mut(together * to)
        .zip(x.par_chunks(together * from))
        .for_each(|(out, x)| (0..g.groups).for_each(|group| filtered(conv, x, group, out)));
    out
}

/// The map of the one filter of a group, which is too few for a product of matrices.
fn slide(conv: &Conv, x: &[f32], filter: usize, map: &mut [f32]) {
    let g = &conv.geometry;
    let ([_, ow], [kh, kw], taps) = (g.out(), g.kernel, g.taps());
    map.fill(conv.bias.get(filter).copied().unwrap_or(0.0));
    for (tap, &w) in conv.weight[filter * taps..][..taps].iter().enumerate() {
        let channel = tap / (kh * kw) + filter * g.channels / g.groups;
        let down = tap / kw % kh * g.dilation[0];
        let right = tap % kw * g.dilation[1];
        // The columns that do not meet the padding.
        let first = g.pad[1].saturating_sub(right).div_ceil(g.stride[1]);
        let reach = (g.width + g.pad[1]).saturating_sub(right);
        let columns = first..reach.div_ceil(g.stride[1]).min(ow);
        if columns.is_empty() {
            continue;
        }
        let start = first * g.stride[1] + right - g.pad[1];
        for (o, row) in map.chunks_mut(ow).enumerate() {
            let y = (o * g.stride[0] + down).checked_sub(g.pad[0]);
            let Some(y) = y.filter(|&y| y < g.height) else {
                continue;
            };
            let x = &x[(channel * g.height + y) * g.width..][start..g.width];
            let row = &mut row[columns.clone()];
            match g.stride[1] {
                1 => row.iter_mut().zip(x).for_each(|(to, v)| *to += w * v),
                by => (row.iter_mut().zip(x.iter().step_by(by))).for_each(|(to, v)| *to += w * v),
            }
        }
    }
}

/// The maps of a group's filters, as a product of matrices; of few items several threads take some filters
/// each.
fn filtered(conv: &Conv, x: &[f32], group: usize, out: &mut [f32]) {
    let g = &conv.geometry;
    let (items, taps) = (x.len() / g.in_len(), g.taps());
    let plane = g.out()[0] * g.out()[1];
    let per_group = g.filters / g.groups;
    let columns = unfold(conv, x, group, items);
    let mut maps = vec![0.0; per_group * items * plane];
    let filters = per_group.div_ceil(rayon::current_num_threads());
    let weight = &conv.weight[group * per_group * taps..][..per_group * taps];
    maps.par_chunks_mut(filters * items * plane)
        .zip(weight.par_chunks(filters * taps))
        .for_each(|(maps, weight)| gemm(maps, weight, &columns, [taps, items * plane]));
    for f in 0..per_group {
        let filter = group * per_group + f;
        let bias = conv.bias.get(filter).copied().unwrap_or(0.0);
        for item in 0..items {
            let map = &maps[(f * items + item) * plane..][..plane];
            let to = &mut out[item * g.out_len() + filter * plane..][..plane];
            to.iter_mut().zip(map).for_each(|(to, v)| *to = v + bias);
        }
    }
}

/// The matrix of one row per tap of a filter and one column per output position of each item.
fn unfold(conv: &Conv, x: &[f32], group: usize, items: usize) -> Vec<f32> {
    let g = &conv.geometry;
    let ([oh, ow], [kh, kw]) = (g.out(), g.kernel);
    let mut columns = vec![0.0; g.taps() * items * oh * ow];
    for tap in 0..g.taps() {
        let (channel, ky, kx) = (
            tap / (kh * kw) + group * g.channels / g.groups,
            tap / kw % kh,
            tap % kw,
        );
        for item in 0..items {
            let map = &x[item * g.in_len() + channel * g.height * g.width..][..g.height * g.width];
            let row = &mut columns[(tap * items + item) * oh * ow..][..oh * ow];
            for o in 0..oh {
                let Some(y) = (o * g.stride[0] + ky * g.dilation[0])
                    .checked_sub(g.pad[0])
                    .filter(|&y| y < g.height)
                else {
                    continue;
                };
                for (p, to) in row[o * ow..][..ow].iter_mut().enumerate() {
                    let position = (p * g.stride[1] + kx * g.dilation[1]).checked_sub(g.pad[1]);
                    if let Some(x) = position.filter(|&x| x < g.width) {
                        *to = map[y * g.width + x];
                    }
                }
            }
        }
    }
    columns
}
