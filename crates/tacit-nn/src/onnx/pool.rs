//! Windows over the space of an item: pooling, and the geometry that convolution shares.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::{Composer, value};
use super::constant::bounded_len;
use super::norm::norms;
use super::reduce::{Rows, largest, sum};
use crate::graph::{Affine, FILL, Op, Pool, ValueId, Weights, len};

/// A window's geometry, a number for every axis of space.
pub(super) struct Window {
    pub kernel: Vec<usize>,
    pub stride: Vec<usize>,
    /// Padding at the start of every axis, then at the end of every one.
    pub pad: Vec<usize>,
    pub dilation: Vec<usize>,
}

/// The channels of an item, and its space.
pub(super) fn spatial(shape: &[usize]) -> Result<(usize, &[usize]), Fault> {
    match shape {
        [channels, space @ ..] if !space.is_empty() => Ok((*channels, space)),
        _ => unsupported(format!(
            "its input has the item shape {shape:?}; channels and one dimension or more are supported"
        )),
    }
}

/// One or two numbers as two, `fill` for a missing height.
pub(super) fn two(values: &[usize], fill: usize) -> [usize; 2] {
    match *values {
        [w] => [fill, w],
        [h, w, ..] => [h, w],
        [] => [fill, fill],
    }
}

impl Window {
    /// Reads strides, pads and dilations of a window with the given kernel over `size`.
    pub(super) fn read(call: &Call, kernel: &[usize], size: &[usize]) -> Result<Window, Fault> {
        let rank = kernel.len();
        let stride = call.sizes("strides", rank, 1)?;
        let dilation = call.sizes("dilations", rank, 1)?;
        if [kernel, &stride, &dilation].concat().contains(&0) {
            return bad("its kernel, strides and dilations must be at least 1");
        }
        let mut window = Window {
            kernel: kernel.to_vec(),
            stride,
            dilation,
            pad: vec![0; 2 * rank],
        };
        window.pad = match call.text("auto_pad", "NOTSET").as_str() {
            "NOTSET" => call.sizes("pads", 2 * rank, 0)?,
            "VALID" => vec![0; 2 * rank],
            "SAME_UPPER" => window.same(size, 0),
            "SAME_LOWER" => window.same(size, 1),
            other => return bad(format!("its 'auto_pad' is '{other}'")),
        };
        Ok(window)
    }

    /// This window over space with an axis more before the others, of which it sees one place.
    pub(super) fn with_one_before(mut self) -> Window {
        let rank = self.rank();
        for sizes in [&mut self.kernel, &mut self.stride, &mut self.dilation] {
            sizes.insert(0, 1);
        }
        for start in [rank, 0] {
            self.pad.insert(start, 0);
        }
        self
    }

    fn rank(&self) -> usize {
        self.kernel.len()
    }

    /// The places from the first tap to the last along axis `d`.
    pub(super) fn span(&self, d: usize) -> usize {
        (self.kernel[d] - 1) * self.dilation[d] + 1
    }

    /// Padding that makes the output `ceil(size / stride)`; an odd one is longer at the end
    /// (`odd_first` 0) or at the start (1).
    fn same(&self, size: &[usize], odd_first: usize) -> Vec<usize> {
        let total = |d: usize| {
            let out = size[d].div_ceil(self.stride[d]);
            (out.saturating_sub(1) * self.stride[d] + self.span(d)).saturating_sub(size[d])
        };
        let first = |d| (total(d) + odd_first) / 2;
        let axes = 0..self.rank();
        let last = axes.clone().map(|d| total(d) - first(d));
        axes.map(first).chain(last).collect()
    }

    /// The sizes of the output.
    pub(super) fn out(&self, size: &[usize], ceil: bool) -> Result<Vec<usize>, Fault> {
        let axis = |d: usize| {
            let padded = size[d] + self.pad[d] + self.pad[d + self.rank()];
            let Some(room) = padded.checked_sub(self.span(d)).filter(|_| size[d] > 0) else {
                return bad(format!(
                    "its window spans {} of {padded} positions",
                    self.span(d)
                ));
            };
            let out = room / self.stride[d] + 1;
            // A window that would start in the padding after the end is left out.
            let more = ceil
                && !room.is_multiple_of(self.stride[d])
                && out * self.stride[d] < size[d] + self.pad[d];
            Ok(out + usize::from(more))
        };
        (0..self.rank()).map(axis).collect()
    }

    /// The place along axis `d` under tap `k` of window `o`; `None` in the padding.
    pub(super) fn place(&self, d: usize, o: usize, k: usize, size: usize) -> Option<usize> {
        let place = o * self.stride[d] + k * self.dilation[d];
        place.checked_sub(self.pad[d]).filter(|&p| p < size)
    }

    /// The element of the space `size` under tap `tap` of window `e` of `out`; `None` in the padding.
    fn tap(&self, size: &[usize], out: &[usize], e: usize, tap: usize) -> Option<usize> {
        let (mut e, mut tap, mut stride, mut found) = (e, tap, 1, 0);
        for d in (0..self.rank()).rev() {
            found += stride * self.place(d, e % out[d], tap % self.kernel[d], size[d])?;
            (e, tap) = (e / out[d], tap / self.kernel[d]);
            stride *= size[d];
        }
        Some(found)
    }

    /// The taps of window `e` that are within the padded space.
    fn counted(&self, size: &[usize], out: &[usize], e: usize) -> usize {
        let mut e = e;
        let mut all = 1;
        for d in (0..self.rank()).rev() {
            let end = size[d] + self.pad[d] + self.pad[d + self.rank()];
            let place = |k: &usize| e % out[d] * self.stride[d] + k * self.dilation[d] < end;
            all *= (0..self.kernel[d]).filter(place).count();
            e /= out[d];
        }
        all
    }
}

/// MaxPool with the places of its maxima, of each the first.
pub(super) fn with_places(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    let maxima = pool(call, builder)?;
    let (x, shape) = call.secret(0)?;
    if builder.batch != Some(1) {
        let why = "its indices count the batch axis too; they are supported of a batch of 1";
        return Ok(vec![maxima, Value::Refused(why.into())]);
    }
    let (channels, size) = spatial(shape)?;
    let kernel = call.sizes("kernel_shape", size.len(), 1)?;
    let window = Window::read(call, &kernel, size)?;
    let out = window.out(size, call.int("ceil_mode", 0) != 0)?;
    let (plane, windows, taps) = (len(size), len(&out), len(&kernel));
    let index = taken(channels, (&window, size, &out), true);
    if channels * plane > 1 << 24 {
        return unsupported("its input has places that float32 does not count");
    }
    // Columns before rows where the storage order asks for them.
    let counted = |place: u32| {
        let (channel, mut at) = (place as usize / plane, place as usize % plane);
        if call.int("storage_order", 0) != 0 {
            let (mut turned, mut stride) = (0, 1);
            let mut below = plane;
            for &size in size {
                below /= size;
                turned += at / below * stride;
                (at, stride) = (at % below, stride * size);
            }
            at = turned;
        }
        (channel * plane + at) as f32
    };
    let places: Vec<f32> = index.iter().copied().map(counted).collect();
    let rows = channels * windows;
    let mut c = Composer::new(call, builder);
    let op = Op::Rearrange { index, fill: 0.0 };
    let x = c.node("windows", op, &[x], vec![rows, taps])?;
    let of = Rows {
        x,
        rows,
        size: taps,
        order: vec![0, 1],
    };
    let chosen = largest(&mut c, &of, false)?;
    let numbered = Op::Affine(Affine {
        inner: 1,
        scale: places.into(),
        shift: Weights::default(),
    });
    let numbered = c.each("numbered", numbered, &[chosen])?;
    let id = sum(&mut c, numbered, rows, taps)?;
    builder.wholes.insert(id);
    let shape = [&[channels], &out[..]].concat();
    Ok(vec![maxima, value(id, shape)])
}

/// The elements under the taps of every window of every channel. In place of padding stands [`FILL`], or for a maximum
/// an element of the window.
fn taken(
    channels: usize,
    (window, size, out): (&Window, &[usize], &[usize]),
    max: bool,
) -> Vec<u32> {
    let (plane, windows, taps) = (len(size), len(out), len(&window.kernel));
    let mut index = Vec::with_capacity(channels * windows * taps);
    for row in 0..channels * windows {
        let (channel, e) = (row / windows, row % windows);
        let all = (0..taps).map(|tap| window.tap(size, out, e, tap));
        // In place of padding, which must never be the maximum, a window repeats an element.
        let first = all.clone().flatten().next().filter(|_| max);
        let place = |p: usize| (channel * plane + p) as u32;
        index.extend(all.map(|p| p.or(first).map_or(FILL, place)));
    }
    index
}

/// MaxPool, AveragePool and LpPool.
pub(super) fn pool(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let (channels, size) = spatial(shape)?;
    if call.attribute("kernel_shape").is_none() {
        return bad("it has no 'kernel_shape'");
    }
    let kernel = call.sizes("kernel_shape", size.len(), 1)?;
    let window = Window::read(call, &kernel, size)?;
    let out = window.out(size, call.int("ceil_mode", 0) != 0)?;
    bounded_len(&[channels, len(&out), len(&kernel)])?;
    let empty = |e| (0..len(&kernel)).all(|tap| window.tap(size, &out, e, tap).is_none());
    if (0..len(&out)).any(empty) {
        return unsupported("one of its windows lies wholly in the padding");
    }
    let of = [&[channels], &out[..]].concat();
    let id = match size.len() {
        1 | 2 => {
            let (rank, pad) = (size.len(), &window.pad);
            let ([top, left], [bottom, right]) = (two(&pad[..rank], 0), two(&pad[rank..], 0));
            let [height, width] = two(size, 1);
            let pool = Pool {
                channels,
                height,
                width,
                kernel: two(&kernel, 1),
                stride: two(&window.stride, 1),
                pad: [top, left, bottom, right],
                dilation: two(&window.dilation, 1),
                out: two(&out, 1),
                count_pad: call.int("count_include_pad", 0) != 0,
            };
            pooled(call, builder, x, pool, of.clone())?
        }
        _ => unfolded(call, builder, x, channels, (&window, size, &out))?,
    };
    Ok(value(id, of))
}

/// A pool of the kind that the node asks for.
fn pooled(
    call: &Call,
    builder: &mut Builder,
    x: ValueId,
    pool: Pool,
    shape: Vec<usize>,
) -> Result<ValueId, Fault> {
    let op = match call.node.op_type.as_str() {
        "MaxPool" | "GlobalMaxPool" => Op::MaxPool(pool),
        "LpPool" | "GlobalLpPool" => {
            let mut compose = Composer::new(call, builder);
            return norms(&mut compose, x, call.int("p", 2), Op::SumPool(pool), shape);
        }
        _ => Op::AveragePool(pool),
    };
    builder.add(call.name.clone(), op, vec![x], shape)
}

/// Windows of three dimensions or more, each as a row of its elements.
fn unfolded(
    call: &Call,
    builder: &mut Builder,
    x: ValueId,
    channels: usize,
    (window, size, out): (&Window, &[usize], &[usize]),
) -> Result<ValueId, Fault> {
    let (windows, taps) = (len(out), len(&window.kernel));
    let max = call.node.op_type == "MaxPool";
    let index = taken(channels, (window, size, out), max);
    let rows = channels * windows;
    let unfolded = Op::Rearrange { index, fill: 0.0 };
    let name = format!("{}.windows", call.name);
    let x = builder.add(name, unfolded, vec![x], vec![rows, taps])?;
    let of_rows = whole(rows, [1, taps]);
    let shape = [&[channels], out].concat();
    if call.node.op_type != "AveragePool" {
        return pooled(call, builder, x, of_rows, shape);
    }
    let mut compose = Composer::new(call, builder);
    let sum = compose.node("sum", Op::SumPool(of_rows), &[x], shape)?;
    let inside = |e| (0..taps).filter(move |&tap| window.tap(size, out, e, tap).is_some());
    let divisor = |e| match call.int("count_include_pad", 0) {
        0 => inside(e).count(),
        _ => window.counted(size, out, e),
    };
    let shares: Vec<f32> = (0..windows).map(|e| 1.0 / divisor(e) as f32).collect();
    let mean = Op::Affine(Affine {
        inner: 1,
        scale: shares.into(),
        shift: Weights::default(),
    });
    compose.each("mean", mean, &[sum])
}

/// GlobalMaxPool, GlobalAveragePool and GlobalLpPool.
pub(super) fn global(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let (channels, size) = spatial(shape)?;
    let [height, width] = match size.len() {
        1 | 2 => two(size, 1),
        _ => [1, len(size)],
    };
    let out = [vec![channels], vec![1; size.len()]].concat();
    let pool = whole(channels, [height, width]);
    let id = pooled(call, builder, x, pool, out.clone())?;
    if call.node.op_type == "GlobalAveragePool" {
        builder.means.insert(id, (x, channels, len(size)));
    }
    Ok(value(id, out))
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
