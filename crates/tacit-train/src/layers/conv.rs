//! Convolutions and their gradients, which are convolutions too.
//!
//! `dx` is that of `dy`, with `stride - 1` zeros between its elements, with the kernel turned around;
//! `dw` is that of the input with `dy`, whose taps are `stride` apart, items and channels exchanged.

use tacit_nn::graph::ConvGeometry;
use tacit_protocols::machine::{Conv2d, Erased, Handle, Machine, Operand, PAD};

use super::linear::operands;
use super::{Gradients, channel_sums};
use crate::{Error, FixedPoint};

/// `(conv(x, w) + b) >> f`.
pub(super) fn forward(
    machine: &mut Erased,
    fixed: FixedPoint,
    x: &Handle,
    parameters: &[Handle],
    geometry: &ConvGeometry,
    batch: usize,
) -> Result<Handle, Error> {
    let (w, bias) = operands(machine, fixed, parameters);
    let shape = of(geometry, batch);
    Ok(machine.conv2d(x, &w, bias.as_ref(), &shape, fixed.fraction)?)
}

/// The gradients; that of the input where there is a `w` for it.
pub(super) fn backward(
    machine: &mut Erased,
    fixed: FixedPoint,
    (x, dy): (&Handle, &Handle),
    w: Option<&Handle>,
    geometry: &ConvGeometry,
    batch: usize,
    bias: bool,
) -> Result<Gradients, Error> {
    let dx = match w {
        Some(w) => Some(of_input(machine, fixed, dy, w, geometry, batch)?),
        None => None,
    };
    let mut gradients = vec![of_weights(machine, x, dy, geometry, batch)?];
    if bias {
        let [rows, columns] = geometry.out();
        let sum = channel_sums(machine, dy, [batch, geometry.filters, rows * columns]);
        gradients.push(machine.scale(&sum, 1 << fixed.fraction));
    }
    Ok((dx, gradients))
}

fn of(geometry: &ConvGeometry, batch: usize) -> Conv2d {
    Conv2d {
        batch,
        channels: geometry.channels,
        height: geometry.height,
        width: geometry.width,
        filters: geometry.filters,
        kernel: geometry.kernel,
        stride: geometry.stride,
        pad: geometry.pad,
        dilation: geometry.dilation,
        groups: geometry.groups,
    }
}

/// `dx`. 1 convolution.
fn of_input(
    machine: &mut Erased,
    fixed: FixedPoint,
    dy: &Handle,
    w: &Handle,
    geometry: &ConvGeometry,
    batch: usize,
) -> Result<Handle, Error> {
    let (out, kernel, stride) = (geometry.out(), geometry.kernel, geometry.stride);
    let apart = [0, 1].map(|d| (out[d] - 1) * stride[d] + 1);
    let dy = match stride {
        [1, 1] => dy.clone(),
        _ => machine.gather(dy, &dilated(batch * geometry.filters, out, apart, stride)),
    };
    let reach = [0, 1].map(|d| (kernel[d] - 1) * geometry.dilation[d]);
    let before = [0, 1].map(|d| reach[d] - geometry.pad[d]);
    let size = [geometry.height, geometry.width];
    let after = [0, 1].map(|d| size[d] + reach[d] - apart[d] - before[d]);
    let shape = Conv2d {
        batch,
        channels: geometry.filters,
        height: apart[0],
        width: apart[1],
        filters: geometry.channels,
        kernel,
        stride: [1; 2],
        pad: [before[0], before[1], after[0], after[1]],
        dilation: geometry.dilation,
        groups: geometry.groups,
    };
    let turned = Operand::Secret(machine.gather(w, &turned(geometry)));
    Ok(machine.conv2d(&dy, &turned, None, &shape, fixed.fraction)?)
}

/// Planes of `out` with zeros between their elements.
fn dilated(planes: usize, out: [usize; 2], apart: [usize; 2], stride: [usize; 2]) -> Vec<u32> {
    let mut index = vec![PAD; planes * apart[0] * apart[1]];
    for (plane, to) in index.chunks_exact_mut(apart[0] * apart[1]).enumerate() {
        for (row, to) in to.chunks_mut(apart[1]).step_by(stride[0]).enumerate() {
            for (column, to) in to.iter_mut().step_by(stride[1]).enumerate() {
                *to = ((plane * out[0] + row) * out[1] + column) as u32;
            }
        }
    }
    index
}

/// The weights turned around: for every input channel those of the filters of its group.
fn turned(geometry: &ConvGeometry) -> Vec<u32> {
    let taps = geometry.kernel[0] * geometry.kernel[1];
    let channels = geometry.channels / geometry.groups;
    let filters = geometry.filters / geometry.groups;
    let mut index = Vec::with_capacity(geometry.filters * channels * taps);
    for channel in 0..geometry.channels {
        let (group, channel) = (channel / channels, channel % channels);
        for filter in group * filters..(group + 1) * filters {
            let first = (filter * channels + channel) * taps;
            index.extend((first..first + taps).rev().map(|i| i as u32));
        }
    }
    index
}

/// `dw`, a sum over the batch with `2 f` fraction bits. 1 convolution, in which the channels of a group
/// are the items and the items of every group the channels.
fn of_weights(
    machine: &mut Erased,
    x: &Handle,
    dy: &Handle,
    geometry: &ConvGeometry,
    batch: usize,
) -> Result<Handle, Error> {
    let (out, size) = (geometry.out(), [geometry.height, geometry.width]);
    let (groups, channels) = (geometry.groups, geometry.channels / geometry.groups);
    let shape = Conv2d {
        batch: channels,
        channels: groups * batch,
        height: size[0],
        width: size[1],
        filters: geometry.filters,
        kernel: out,
        stride: geometry.dilation,
        pad: geometry.pad,
        dilation: geometry.stride,
        groups,
    };
    let x = machine.gather(x, &exchanged(batch, [groups, channels], size[0] * size[1]));
    let dy = machine.gather(
        dy,
        &exchanged(batch, [1, geometry.filters], out[0] * out[1]),
    );
    let dw = machine.conv2d(&x, &Operand::Secret(dy), None, &shape, 0)?;
    let made = [shape.out_height(), shape.out_width()];
    Ok(machine.gather(&dw, &cropped(geometry, made)))
}

/// Items and channels exchanged: channel by channel of a group, for every group the items.
fn exchanged(batch: usize, [groups, channels]: [usize; 2], plane: usize) -> Vec<u32> {
    let mut index = Vec::with_capacity(batch * groups * channels * plane);
    for channel in 0..channels {
        for group in 0..groups {
            for item in 0..batch {
                let first = ((item * groups + group) * channels + channel) * plane;
                index.extend((first..first + plane).map(|i| i as u32));
            }
        }
    }
    index
}

/// From a group's channels x filters x `made` the weights in their order: what the strides do not reach
/// may make more places than the kernel has.
fn cropped(geometry: &ConvGeometry, made: [usize; 2]) -> Vec<u32> {
    let mut index = Vec::with_capacity(geometry.filters * geometry.taps());
    for filter in 0..geometry.filters {
        for channel in 0..geometry.channels / geometry.groups {
            let plane = channel * geometry.filters + filter;
            for row in 0..geometry.kernel[0] {
                let first = (plane * made[0] + row) * made[1];
                index.extend((first..first + geometry.kernel[1]).map(|i| i as u32));
            }
        }
    }
    index
}
