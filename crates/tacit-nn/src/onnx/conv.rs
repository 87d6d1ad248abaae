//! Convolutions with constant weights, and their transposes.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::constant::bounded_len;
use super::pool::{Window, spatial, two};
use crate::graph::{Conv, ConvGeometry, Op, ValueId, Weights, len};
use crate::index::{pick, whole};

/// The most places of an axis with zeros between.
const LARGEST: usize = 1 << 20;

/// A convolution's input and weights, as the file gives them.
struct Layer<'a> {
    x: ValueId,
    channels: usize,
    size: &'a [usize],
    weight_shape: &'a [usize],
    weight: Weights,
    groups: usize,
}

/// The input and weights of Conv and ConvTranspose; `among` as of [`conv`].
fn layer<'a>(call: &Call<'a>, among: bool) -> Result<Layer<'a>, Fault> {
    let (x, shape) = call.secret(0)?;
    let (weight_shape, weight) = call.weights(1)?;
    let (channels, size) = spatial(shape)?;
    let rank = size.len() - usize::from(among);
    if weight_shape.len() != rank + 2 || weight_shape.contains(&0) {
        return bad(format!(
            "its weights have the shape {weight_shape:?}, {} axes are needed",
            rank + 2
        ));
    }
    let kernel = &weight_shape[2..];
    if call.attribute("kernel_shape").is_some() && call.sizes("kernel_shape", rank, 1)? != kernel {
        return bad("its 'kernel_shape' differs from its weights");
    }
    let groups = usize::try_from(call.int("group", 1)).unwrap_or(0);
    Ok(Layer {
        x,
        channels,
        size,
        weight_shape,
        weight,
        groups,
    })
}

/// Conv by constant weights. Where it is `among` many items, these stand along the first axis of the space.
pub(super) fn conv(call: &Call, builder: &mut Builder, among: bool) -> Result<Value, Fault> {
    let layer = layer(call, among)?;
    let (shape, groups, channels) = (layer.weight_shape, layer.groups, layer.channels);
    let filters = shape[0];
    let divides = groups > 0 && channels.is_multiple_of(groups) && filters.is_multiple_of(groups);
    if !divides || shape[1] != channels / groups {
        return bad(format!(
            "its weights {shape:?} in {groups} groups do not fit {channels} channels"
        ));
    }
    let mut window = Window::read(call, &shape[2..], &layer.size[usize::from(among)..])?;
    if among {
        window = window.with_one_before();
    }
    let weights = (layer.weight.clone(), filters);
    convolution(
        call,
        builder,
        &layer,
        (layer.x, layer.size),
        &window,
        weights,
    )
}

fn bias(given: Option<(&[usize], Weights)>, n: usize) -> Result<Weights, Fault> {
    match given {
        None => Ok(Weights::default()),
        Some((shape, values)) if shape == [n] => Ok(values),
        Some((shape, _)) => bad(format!(
            "its bias has the shape {shape:?}, {n} numbers are needed"
        )),
    }
}

/// The convolution of `x`, over a space of `size`.
fn convolution(
    call: &Call,
    builder: &mut Builder,
    layer: &Layer,
    (x, size): (ValueId, &[usize]),
    window: &Window,
    (weight, filters): (Weights, usize),
) -> Result<Value, Fault> {
    let bias = bias(call.optional_weights(2)?, filters)?;
    let out = window.out(size, false)?;
    let rank = size.len();
    let mut geometry = ConvGeometry {
        channels: layer.channels,
        height: 1,
        width: size[rank - 1],
        filters,
        kernel: two(&window.kernel, 1),
        stride: two(&window.stride, 1),
        pad: [0; 4],
        dilation: two(&window.dilation, 1),
        groups: layer.groups,
    };
    let ([top, left], [bottom, right]) = (two(&window.pad[..rank], 0), two(&window.pad[rank..], 0));
    let mut input = x;
    if rank <= 2 {
        geometry.height = two(size, 1)[0];
        geometry.pad = [top, left, bottom, right];
    } else {
        // All axes but the last become channels, one for each of their taps.
        let (taps, places) = (len(&window.kernel[..rank - 1]), len(&out[..rank - 1]));
        let unfolded = [layer.channels * taps, places, size[rank - 1]];
        bounded_len(&unfolded)?;
        let index = unfolded_index(layer.channels, size, window, &out);
        let op = Op::Rearrange { index, fill: 0.0 };
        let name = format!("{}.windows", call.name);
        input = builder.add(name, op, vec![x], unfolded.to_vec())?;
        geometry = ConvGeometry {
            channels: unfolded[0],
            height: places,
            kernel: [1, window.kernel[rank - 1]],
            stride: [1, window.stride[rank - 1]],
            pad: [0, window.pad[rank - 1], 0, window.pad[2 * rank - 1]],
            dilation: [1, window.dilation[rank - 1]],
            ..geometry
        };
    }
    let shape = [&[filters], &out[..]].concat();
    let conv = Op::Conv(Conv {
        geometry,
        weight,
        bias,
    });
    builder.push(call, conv, vec![input], shape)
}

/// For every channel, tap and window of all axes but the last, the line of the input under the tap.
fn unfolded_index(channels: usize, size: &[usize], window: &Window, out: &[usize]) -> Vec<u32> {
    let rank = size.len() - 1;
    let (taps, places) = (len(&window.kernel[..rank]), len(&out[..rank]));
    let line = |tap: usize, place: usize| {
        let (mut tap, mut place, mut stride, mut found) = (tap, place, 1, 0);
        for d in (0..rank).rev() {
            found += stride * window.place(d, place % out[d], tap % window.kernel[d], size[d])?;
            (tap, place) = (tap / window.kernel[d], place / out[d]);
            stride *= size[d];
        }
        Some(found)
    };
    let lines = len(&size[..rank]);
    let mut positions = Vec::with_capacity(channels * taps * places);
    for channel in 0..channels {
        for tap in 0..taps {
            positions.extend((0..places).map(|at| line(tap, at).map(|l| channel * lines + l)));
        }
    }
    pick(
        &[channels * lines, size[rank]],
        &[positions, whole(size[rank])],
    )
}

/// ConvTranspose: a convolution by the weights turned round, of the input with zeros between its
/// elements and around them.
pub(super) fn transposed(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let mut layer = layer(call, false)?;
    let (shape, groups, channels) = (layer.weight_shape, layer.groups, layer.channels);
    if groups == 0 || !channels.is_multiple_of(groups) || shape[0] != channels {
        return bad(format!(
            "its weights {shape:?} in {groups} groups do not fit {channels} channels"
        ));
    }
    let (kernel, rank) = (&shape[2..], layer.size.len());
    let (each, filters) = (shape[1], shape[1] * groups);
    let stride = call.sizes("strides", rank, 1)?;
    let dilation = call.sizes("dilations", rank, 1)?;
    if [&stride[..], &dilation].concat().contains(&0) {
        return bad("its strides and dilations must be at least 1");
    }
    let window = Window {
        kernel: kernel.to_vec(),
        stride: vec![1; rank],
        pad: vec![0; 2 * rank],
        dilation,
    };
    let ends = ends(call, layer.size, &window, &stride)?;
    let mut positions = vec![whole(channels)];
    let mut size = Vec::new();
    for d in 0..rank {
        // The first window begins so many places before the first element.
        let before = window.span(d) as i64 - 1 - ends[d].0;
        let places = ends[d].1 + window.span(d) - 1;
        if places > LARGEST {
            return unsupported(format!(
                "its input has {places} places along an axis with zeros between, more than {LARGEST}"
            ));
        }
        let from = |p: usize| {
            let place = usize::try_from(p as i64 - before).ok()?;
            let element = place / stride[d];
            (place.is_multiple_of(stride[d]) && element < layer.size[d]).then_some(element)
        };
        positions.push((0..places).map(from).collect());
        size.push(places);
    }
    let spread = [&[channels], &size[..]].concat();
    bounded_len(&spread)?;
    let of = [&[channels], layer.size].concat();
    let index = pick(&of, &positions);
    let op = Op::Rearrange { index, fill: 0.0 };
    let x = builder.add(format!("{}.spread", call.name), op, vec![layer.x], spread)?;
    let how = format!("{shape:?} turned round in {groups} groups");
    let turned = builder.derive(&layer.weight, how, || {
        let taps = len(kernel);
        let per_group = channels / groups;
        let number = |e: usize| {
            let (tap, input, filter) = (e % taps, e / taps % per_group, e / taps / per_group);
            let channel = filter / each * per_group + input;
            layer.weight[(channel * each + filter % each) * taps + taps - 1 - tap]
        };
        (0..filters * per_group * taps).map(number).collect()
    });
    layer.weight = turned.clone();
    convolution(
        call,
        builder,
        &layer,
        (x, &size),
        &window,
        (turned, filters),
    )
}

/// For every axis what is cut off its start, and the size that is left.
fn ends(
    call: &Call,
    size: &[usize],
    window: &Window,
    stride: &[usize],
) -> Result<Vec<(i64, usize)>, Fault> {
    let rank = size.len();
    let added = call.sizes("output_padding", rank, 0)?;
    let pads = call.sizes("pads", 2 * rank, 0)?;
    let auto = call.text("auto_pad", "NOTSET");
    let asked = match call.attribute("output_shape") {
        None => None,
        Some(_) => Some(call.sizes("output_shape", rank, 0)?),
    };
    let axis = |d: usize| {
        let full = stride[d] * (size[d] - 1) + added[d] + window.span(d);
        let same = matches!(auto.as_str(), "SAME_UPPER" | "SAME_LOWER");
        let target = match &asked {
            Some(asked) => Some(asked[d]),
            None if same => Some(size[d] * stride[d]),
            None => None,
        };
        let (start, out) = match target {
            Some(target) => {
                let total = full as i64 - target as i64;
                let first = match auto.as_str() {
                    "SAME_UPPER" => total.div_euclid(2),
                    _ => total - total.div_euclid(2),
                };
                (if total < 0 { 0 } else { first }, target)
            }
            None if auto == "VALID" => (0, full),
            None => match full.checked_sub(pads[d] + pads[d + rank]) {
                Some(out) => (pads[d] as i64, out),
                None => return bad("its pads are more than its output"),
            },
        };
        match out {
            0 => bad("its output has no elements"),
            out => Ok((start, out)),
        }
    };
    (0..rank).map(axis).collect()
}
