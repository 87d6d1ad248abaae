//! Windows over height and width: pooling, and the geometry that convolution shares.

use super::call::{Call, Fault, Value, axis, bad, unsupported};
use super::constant::bounded_len;
use super::lower::Builder;
use crate::graph::{Op, Pool, len};

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

/// ReduceMean over the last axes, which is a global average.
pub(super) fn reduce_mean(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let given = match (call.optional_ints(1)?, call.attribute("axes")) {
        (Some(axes), _) => axes,
        (None, Some(a)) => &a.ints,
        (None, None) => &[],
    };
    let mut axes = given
        .iter()
        .map(|&a| axis(a, shape.len() + 1))
        .collect::<Result<Vec<_>, _>>()?;
    axes.sort_unstable();
    let first = (shape.len() + 1).saturating_sub(axes.len());
    if axes.is_empty() || first == 0 || !axes.iter().copied().eq(first..shape.len() + 1) {
        return unsupported("it takes the mean over other axes than the last ones of an item");
    }
    let (kept, meant) = shape.split_at(first - 1);
    let mean = push(
        call,
        builder,
        x,
        whole(len(kept), [1, len(meant)]),
        1,
        false,
    )?;
    let ones = if call.int("keepdims", 1) != 0 {
        meant.len()
    } else {
        0
    };
    Ok(mean.with_shape([kept.to_vec(), vec![1; ones]].concat()))
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
        return bad("one of its windows lies wholly in the padding");
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
