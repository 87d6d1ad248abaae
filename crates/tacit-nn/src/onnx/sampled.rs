//! Values between places: DeformConv by constant offsets, and RoiAlign of constant regions. Every result is a sum of
//! constant shares of the elements around its points.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::constant::{Constant, bounded_len};
use super::element::{Arithmetic, two};
use super::product::{Labels, contract};
use crate::graph::len;

/// The elements of `height` x `width` around a point with their shares, nothing of what lies outside.
fn around([y, x]: [f64; 2], [height, width]: [usize; 2]) -> Vec<(usize, f64)> {
    let taps = |at: f64, size: usize| {
        let floor = at.floor();
        let shares = [(floor, 1.0 - (at - floor)), (floor + 1.0, at - floor)];
        let inside = move |&(place, _): &(f64, f64)| place >= 0.0 && place < size as f64;
        shares.into_iter().filter(inside)
    };
    let mut all = Vec::new();
    for (row, share) in taps(y, height) {
        let next =
            |(column, part): (f64, f64)| (row as usize * width + column as usize, share * part);
        all.extend(taps(x, width).map(next));
    }
    all
}

/// How a DeformConv goes over its input.
struct Windows {
    /// Channels, height and width of an item.
    input: [usize; 3],
    /// Filters, and channels of a group.
    filters: [usize; 2],
    kernel: [usize; 2],
    out: [usize; 2],
    stride: Vec<usize>,
    dilation: Vec<usize>,
    pads: Vec<usize>,
    /// Channels that share their offsets.
    shared: usize,
    groups: usize,
}

impl Windows {
    fn of(call: &Call, shape: &[usize], weight: &[usize]) -> Result<Self, Fault> {
        let (&[channels, height, width], &[filters, each, rows, columns]) = (shape, weight) else {
            return unsupported(format!(
                "its item has the shape {shape:?}, its weight {weight:?}; two axes of places are supported"
            ));
        };
        let count = |name: &str| usize::try_from(call.int(name, 1)).unwrap_or(0);
        let (groups, apart) = (count("group"), count("offset_group"));
        let divides = |by: usize, of: usize| by > 0 && of.is_multiple_of(by);
        let fits = divides(groups, filters)
            && divides(apart, channels)
            && groups.checked_mul(each) == Some(channels);
        if !fits {
            return bad(format!(
                "{groups} groups and {apart} of offsets do not fit {channels} channels and {filters} filters"
            ));
        }
        let (stride, dilation) = (call.sizes("strides", 2, 1)?, call.sizes("dilations", 2, 1)?);
        let pads = call.sizes("pads", 4, 0)?;
        let kernel = [rows, columns];
        let size = |i: usize| {
            let all = [height, width][i] + pads[i] + pads[i + 2];
            let taken = kernel[i].checked_sub(1)? * dilation[i] + 1;
            Some(all.checked_sub(taken)?.checked_div(stride[i])? + 1)
        };
        let (Some(high), Some(wide)) = (size(0), size(1)) else {
            return bad("its kernel does not fit its input");
        };
        Ok(Windows {
            input: [channels, height, width],
            filters: [filters, each],
            kernel,
            out: [high, wide],
            stride,
            dilation,
            pads,
            shared: channels / apart,
            groups,
        })
    }

    /// Where tap `tap` of the window at place `at` stands without an offset, of rows or of columns.
    fn start(&self, axis: usize, at: usize, tap: usize) -> f64 {
        (at * self.stride[axis] + tap * self.dilation[axis]) as f64 - self.pads[axis] as f64
    }

    /// The shares of an item's elements in its results, elements x results.
    fn shares(&self, weight: &[f32], offsets: &[f32], mask: Option<&[f32]>) -> Vec<f32> {
        let ([channels, height, width], [filters, each]) = (self.input, self.filters);
        let ([rows, columns], places) = (self.kernel, len(&self.out));
        let results = filters * places;
        let mut all = vec![0.0f32; len(&self.input) * results];
        for (channel, tap, place) in (0..channels).flat_map(|channel| {
            (0..rows * columns).flat_map(move |tap| (0..places).map(move |p| (channel, tap, p)))
        }) {
            let of = channel / self.shared * rows * columns + tap;
            let offset = |axis: usize| f64::from(offsets[(2 * of + axis) * places + place]);
            let at = [
                self.start(0, place / self.out[1], tap / columns) + offset(0),
                self.start(1, place % self.out[1], tap % columns) + offset(1),
            ];
            let kept = mask.map_or(1.0, |mask| f64::from(mask[of * places + place]));
            let group = channel / each;
            let of_group = filters / self.groups;
            for (element, share) in around(at, [height, width]) {
                let row = (channel * height * width + element) * results;
                for filter in group * of_group..(group + 1) * of_group {
                    let w = weight[(filter * each + channel % each) * rows * columns + tap];
                    all[row + filter * places + place] += (share * kept) as f32 * w;
                }
            }
        }
        all
    }
}

/// DeformConv of a computed value by constant weights, offsets and masks.
pub(super) fn deform_conv(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (_, shape) = call.secret(0)?;
    let first = usize::from(call.whole);
    let ((given, weight), (offset, offsets)) = (call.weights(1)?, call.weights(2)?);
    let windows = Windows::of(call, shape.get(first..).unwrap_or_default(), given)?;
    let mask = call.optional_weights(4)?;
    let taps = len(&windows.kernel) * windows.input[0] / windows.shared;
    let items = offset.first().copied().unwrap_or(0);
    let fits = |shape: &[usize], each: usize| shape == [&[items, each], &windows.out[..]].concat();
    let masks = mask.as_ref().is_none_or(|(shape, _)| fits(shape, taps));
    if items == 0 || !fits(offset, 2 * taps) || !masks {
        return bad(format!(
            "its offsets of the shape {offset:?} or its mask do not fit {taps} taps at {:?} places",
            windows.out
        ));
    }
    let (elements, results) = (len(&windows.input), windows.filters[0] * len(&windows.out));
    builder.reserve(bounded_len(&[items, elements, results])?)?;
    let mut shares = Vec::new();
    for item in 0..items {
        let places = len(&windows.out);
        let mask = mask.as_ref().map(|(_, mask)| &mask[item * taps * places..]);
        let offsets = &offsets[item * 2 * taps * places..];
        shares.extend(windows.shares(&weight, offsets, mask));
    }
    let shares = Constant::floats(vec![items, elements, results], shares);
    let flat = [&shape[..first], &[elements]].concat();
    let labels = Labels {
        inputs: [vec![0, 1], vec![0, 1, 2]],
        output: vec![0, 2],
    };
    let x = call.required(0)?.with_shape(flat);
    let made = summed(call, builder, &x, shares, &labels)?;
    let out = [&shape[..first], &windows.filters[..1], &windows.out].concat();
    let made = made.with_shape(out);
    match call.optional_weights(3)? {
        None => Ok(made),
        Some((&[filters], bias)) if filters == windows.filters[0] => {
            let bias = Constant::floats(vec![filters, 1, 1], bias.to_vec());
            let bias = Value::Constant(bias);
            two(call, builder, (Arithmetic::Add, "bias"), &made, &bias)
        }
        Some((shape, _)) => bad(format!("its bias has the shape {shape:?}")),
    }
}

/// The sums of products that the labels say.
fn summed(
    call: &Call,
    builder: &mut Builder,
    x: &Value,
    shares: Constant,
    labels: &Labels,
) -> Result<Value, Fault> {
    let shares = Value::Constant(shares);
    let both = Call {
        name: call.name.clone(),
        inputs: vec![Some(x), Some(&shares)],
        ..*call
    };
    contract(&both, builder, labels)
}

/// How a region is cut into bins.
struct Regions {
    /// Height and width of the input, and of the result.
    input: [usize; 2],
    out: [usize; 2],
    scale: f64,
    half_pixel: bool,
    /// Points of a bin along an axis; 0 for as many as it is wide.
    points: usize,
}

impl Regions {
    /// The start of a region along an axis, the size of a bin and the points along it.
    fn axis(&self, [from, to]: [f32; 2], out: usize) -> Result<(f64, f64, usize), Fault> {
        let shift = if self.half_pixel { 0.5 } else { 0.0 };
        let [from, to] = [from, to].map(|v| f64::from(v) * self.scale - shift);
        let size = match self.half_pixel {
            true => to - from,
            false => (to - from).max(1.0),
        };
        let bin = size / out as f64;
        let points = match self.points {
            0 => bin.ceil().max(0.0) as usize,
            points => points,
        };
        match points <= 1 << 10 {
            true => Ok((from, bin, points)),
            false => unsupported(format!("it takes {points} points along an axis of a bin")),
        }
    }

    /// Adds the shares of a region's elements in its bins: those of element `e` in bin `b` to `add(e, b)`.
    fn shares(&self, region: &[f32], mut add: impl FnMut(usize, usize, f64)) -> Result<(), Fault> {
        let (top, high, rows) = self.axis([region[1], region[3]], self.out[0])?;
        let (left, wide, columns) = self.axis([region[0], region[2]], self.out[1])?;
        let part = 1.0 / (rows * columns).max(1) as f64;
        for bin in 0..len(&self.out) {
            let (row, column) = ((bin / self.out[1]) as f64, (bin % self.out[1]) as f64);
            for point in 0..rows * columns {
                let (i, j) = ((point / columns) as f64, (point % columns) as f64);
                let y = top + (row + (i + 0.5) / rows as f64) * high;
                let x = left + (column + (j + 0.5) / columns as f64) * wide;
                for (element, share) in self.around(y, x) {
                    add(element, bin, share * part);
                }
            }
        }
        Ok(())
    }

    /// What stands around a point: beyond an edge by up to a place the edge, farther nothing.
    fn around(&self, y: f64, x: f64) -> Vec<(usize, f64)> {
        let [height, width] = self.input;
        let inside = |at: f64, size: usize| (-1.0..=size as f64).contains(&at);
        if !inside(y, height) || !inside(x, width) {
            return vec![];
        }
        let edge = |at: f64, size: usize| at.clamp(0.0, size as f64 - 1.0);
        around([edge(y, height), edge(x, width)], self.input)
    }
}

/// RoiAlign of an input that is one item by constant regions, of each bin its mean.
pub(super) fn roi_align(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (_, shape) = call.secret(0)?;
    // Of this the standard's own evaluator and runtimes have others.
    if call.text("mode", "avg") != "avg" {
        return unsupported(
            "its 'mode' is not 'avg': the standard does not say of what it is the maximum",
        );
    }
    let (&[items, channels, height, width], true) = (shape, call.whole) else {
        return unsupported(
            "its regions are of items of a batch; of a fixed batch size it is run as one item",
        );
    };
    let ((regions, numbers), at) = (call.weights(1)?, call.ints(2)?);
    let size = |name: &str| usize::try_from(call.int(name, 1)).unwrap_or(0);
    let out = [size("output_height"), size("output_width")];
    let count = at.len();
    let valid = |&item: &i64| (0..items as i64).contains(&item);
    if regions != [count, 4] || !at.iter().all(valid) || len(&out) == 0 {
        return bad(format!(
            "its {count} regions of the shape {regions:?} do not fit {items} items, or its output has no size"
        ));
    }
    let half = match call.opset {
        ..16 => "output_half_pixel",
        _ => "half_pixel",
    };
    let all = Regions {
        input: [height, width],
        out,
        scale: call.float("spatial_scale", 1.0).into(),
        half_pixel: call.text("coordinate_transformation_mode", half) == "half_pixel",
        points: usize::try_from(call.int("sampling_ratio", 0)).unwrap_or(0),
    };
    let (elements, bins) = (height * width, len(&out));
    let sizes = vec![items, elements, count, bins];
    let n = bounded_len(&sizes)?;
    builder.reserve(n)?;
    let mut shares = vec![0.0f32; n];
    for (i, region) in numbers.chunks(4).enumerate() {
        let item = at[i] as usize;
        all.shares(region, |element, bin, share| {
            shares[((item * elements + element) * count + i) * bins + bin] += share as f32;
        })?;
    }
    let labels = Labels {
        inputs: [vec![0, 1, 2], vec![0, 2, 3, 4]],
        output: vec![3, 1, 4],
    };
    let x = call
        .required(0)?
        .with_shape(vec![items, channels, elements]);
    let made = summed(call, builder, &x, Constant::floats(sizes, shares), &labels)?;
    Ok(made.with_shape(vec![count, channels, out[0], out[1]]))
}
