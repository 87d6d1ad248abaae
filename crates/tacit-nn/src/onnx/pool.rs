//! Windows over height and width: pooling, and the geometry that convolution shares.

use super::call::{Call, Fault, Value, bad, item_axis, unsupported};
use super::constant::bounded_len;
use super::lower::Builder;
use crate::graph::{Op, Pool, len};
use crate::index::transpose;

/// A window's geometry in two dimensions; one-dimensional ones have height 1.
pub(super) struct Window {
    pub kernel: [usize; 2],
    pub stride: [usize; 2],
    pub pad: [usize; 4],
    pub dilation: [usize; 2],
}

/// The channels and the height and width of an item of two or three axes.
pub(super) fn spatial(shape: &[usize]) -> Result<(usize, [usize; 2]), Fault> {
    match *shape {
        [c, w] => Ok((c, [1, w])),
        [c, h, w] => Ok((c, [h, w])),
        _ => unsupported(format!(
            "its input has the item shape {shape:?}; channels and one or two dimensions are supported"
        )),
    }
}

/// One or two numbers as two, `fill` for a missing height.
fn two(values: &[usize], fill: usize) -> [usize; 2] {
    match *values {
        [w] => [fill, w],
        [h, w, ..] => [h, w],
        [] => [fill, fill],
    }
}

impl Window {
    /// Reads strides, pads and dilations of a window with the given kernel over `size`.
    pub(super) fn read(call: &Call, kernel: &[usize], size: [usize; 2]) -> Result<Window, Fault> {
        let rank = kernel.len();
        let stride = two(&call.sizes("strides", rank, 1)?, 1);
        let dilation = two(&call.sizes("dilations", rank, 1)?, 1);
        let kernel = two(kernel, 1);
        if [kernel, stride, dilation].concat().contains(&0) {
            return bad("its kernel, strides and dilations must be at least 1");
        }
        let mut window = Window {
            kernel,
            stride,
            dilation,
            pad: [0; 4],
        };
        window.pad = match call.text("auto_pad", "NOTSET").as_str() {
            "NOTSET" => {
                let given = call.sizes("pads", 2 * rank, 0)?;
                let ([top, left], [bottom, right]) =
                    (two(&given[..rank], 0), two(&given[rank..], 0));
                [top, left, bottom, right]
            }
            "VALID" => [0; 4],
            "SAME_UPPER" => window.same(size, 0),
            "SAME_LOWER" => window.same(size, 1),
            other => return bad(format!("its 'auto_pad' is '{other}'")),
        };
        Ok(window)
    }

    fn span(&self, d: usize) -> usize {
        (self.kernel[d] - 1) * self.dilation[d] + 1
    }

    /// Padding that makes the output `ceil(size / stride)`; an odd one is longer at the end
    /// (`odd_first` 0) or at the start (1).
    fn same(&self, size: [usize; 2], odd_first: usize) -> [usize; 4] {
        let total = |d: usize| {
            let out = size[d].div_ceil(self.stride[d]);
            (out.saturating_sub(1) * self.stride[d] + self.span(d)).saturating_sub(size[d])
        };
        let first = |d| (total(d) + odd_first) / 2;
        [first(0), first(1), total(0) - first(0), total(1) - first(1)]
    }

    /// Height and width of the output.
    pub(super) fn out(&self, size: [usize; 2], ceil: bool) -> Result<[usize; 2], Fault> {
        let mut out = [0; 2];
        for d in 0..2 {
            let padded = size[d] + self.pad[d] + self.pad[d + 2];
            let Some(room) = padded.checked_sub(self.span(d)).filter(|_| size[d] > 0) else {
                return bad(format!(
                    "its window spans {} of {padded} positions",
                    self.span(d)
                ));
            };
            out[d] = room / self.stride[d] + 1;
            // A window that would start in the padding after the end is left out.
            if ceil
                && !room.is_multiple_of(self.stride[d])
                && out[d] * self.stride[d] < size[d] + self.pad[d]
            {
                out[d] += 1;
            }
        }
        Ok(out)
    }
}

/// MaxPool and AveragePool.
pub(super) fn pool(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let (channels, size) = spatial(shape)?;
    let rank = shape.len() - 1;
    if call.attribute("kernel_shape").is_none() {
        return bad("it has no 'kernel_shape'");
    }
    let window = Window::read(call, &call.sizes("kernel_shape", rank, 1)?, size)?;
    let out = window.out(size, call.int("ceil_mode", 0) != 0)?;
    let pool = Pool {
        channels,
        height: size[0],
        width: size[1],
        kernel: window.kernel,
        stride: window.stride,
        pad: window.pad,
        dilation: window.dilation,
        out,
        count_pad: call.int("count_include_pad", 0) != 0,
    };
    push(call, builder, x, pool, rank, call.node.op_type == "MaxPool")
}

/// GlobalMaxPool and GlobalAveragePool.
pub(super) fn global(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let (channels, size) = spatial(shape)?;
    push(
        call,
        builder,
        x,
        whole(channels, size),
        shape.len() - 1,
        call.node.op_type == "GlobalMaxPool",
    )
}

/// ReduceMean and ReduceSum over axes of an item: one window over all of them, once they stand last.
pub(super) fn reduced(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let mean = call.node.op_type == "ReduceMean";
    let axes_from = if mean { 18 } else { 13 };
    let given = call.list(1, "axes", axes_from)?.unwrap_or_default();
    if given.is_empty() && call.int("noop_with_empty_axes", 0) != 0 {
        return Ok(call.required(0)?.clone());
    }
    if given.is_empty() {
        return unsupported("it works across the batch axis too: name the axes of an item");
    }
    let axes = given
        .iter()
        .map(|&a| item_axis(a, shape.len(), 0))
        .collect::<Result<Vec<_>, _>>()?;
    let (joined, kept): (Vec<usize>, Vec<usize>) =
        (0..shape.len()).partition(|axis| axes.contains(axis));
    let order = [kept.clone(), joined.clone()].concat();
    let sizes = |axes: &[usize]| axes.iter().map(|&a| shape[a]).collect::<Vec<_>>();
    let x = match order.is_sorted() {
        true => x,
        false => {
            let index = transpose(shape, &order);
            let name = format!("{}.turned", call.name);
            let op = Op::Rearrange { index, fill: 0.0 };
            builder.add(name, op, vec![x], sizes(&order))?
        }
    };
    let (channels, size) = (len(&sizes(&kept)), len(&sizes(&joined)));
    let pool = whole(channels, [1, size]);
    let op = match mean {
        true => Op::AveragePool(pool),
        false => Op::SumPool(pool),
    };
    let left = match call.int("keepdims", 1) {
        0 => sizes(&kept),
        _ => (0..shape.len())
            .map(|a| if joined.contains(&a) { 1 } else { shape[a] })
            .collect(),
    };
    builder.push(call, op, vec![x], left)
}

/// One window over each channel.
pub(super) fn whole(channels: usize, [height, width]: [usize; 2]) -> Pool {
    Pool {
        channels,
        height,
        width,
        kernel: [height, width],
        stride: [1, 1],
        pad: [0; 4],
        dilation: [1, 1],
        out: [1, 1],
        count_pad: false,
    }
}

fn push(
    call: &Call,
    builder: &mut Builder,
    x: usize,
    pool: Pool,
    rank: usize,
    max: bool,
) -> Result<Value, Fault> {
    bounded_len(&[
        pool.channels,
        pool.out[0],
        pool.out[1],
        pool.kernel[0],
        pool.kernel[1],
    ])?;
    let plane = pool.out[0] * pool.out[1];
    if (0..plane).any(|e| !(0..pool.window()).any(|tap| pool.tap(e, tap).is_some())) {
        return unsupported("one of its windows lies wholly in the padding");
    }
    let shape = [&[pool.channels], &pool.out[2 - rank..]].concat();
    builder.push(
        call,
        if max {
            Op::MaxPool(pool)
        } else {
            Op::AveragePool(pool)
        },
        vec![x],
        shape,
    )
}
