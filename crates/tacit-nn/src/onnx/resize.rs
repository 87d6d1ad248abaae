//! Resize and Upsample: along every axis whose size changes, sums of constant shares of its places.

use super::along::mapped;
use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::{Composer, value};
use super::constant::{BATCH, bounded_len};
use super::moves::of_item;

/// The largest size of a resized axis.
const LARGEST: usize = 1 << 12;

/// How an axis is resized.
struct Axis {
    /// Places before and after.
    size: usize,
    out: usize,
    /// How many places after stand for one before.
    scale: f64,
    /// Places after as `align_corners` counts them.
    aligned: f64,
    /// What part of the axis is taken, from 0 to 1.
    region: [f64; 2],
}

/// Resize and Upsample of a computed value.
pub(super) fn resize(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    if call.makes_integers() && call.text("mode", "nearest") != "nearest" {
        return unsupported("it makes integers of what has places after the point");
    }
    let rank = shape.len() + usize::from(!call.whole);
    let axes = resized_axes(call, rank)?;
    let all = sizes(call, &axes, shape)?;
    let mut c = Composer::new(call, builder);
    let (mut id, mut now) = (x, shape.to_vec());
    for (along, axis) in all.iter().enumerate() {
        let [low, high] = axis.region;
        if axis.size == axis.out && axis.scale == 1.0 && [low, high] == [0.0, 1.0] {
            continue;
        }
        c.builder.reserve(axis.size.saturating_mul(axis.out))?;
        let map = axis.map(call)?;
        let part = format!("axis {along}");
        (id, now) = mapped(&mut c, &part, (id, &now), along, map)?;
    }
    bounded_len(&now)?;
    Ok(value(id, now))
}

/// The axes of the file that sizes and scales are given for.
fn resized_axes(call: &Call, rank: usize) -> Result<Vec<usize>, Fault> {
    match call.attribute("axes").filter(|a| !a.ints.is_empty()) {
        None => Ok((0..rank).collect()),
        Some(given) => (given.ints.iter())
            .map(|&a| super::call::axis(a, rank))
            .collect(),
    }
}

/// The axes of an item, each as it is resized.
fn sizes(call: &Call, axes: &[usize], shape: &[usize]) -> Result<Vec<Axis>, Fault> {
    let batch = usize::from(!call.whole);
    let full: Vec<usize> = [&vec![1; batch][..], shape].concat();
    let spread = |given: Vec<f64>, neutral: f64| -> Result<Vec<f64>, Fault> {
        if given.len() != axes.len() {
            return bad("its sizes or scales and its axes differ in number");
        }
        let mut all = vec![neutral; full.len()];
        axes.iter().zip(given).for_each(|(&a, v)| all[a] = v);
        of_item(call, &all, shape.len(), neutral)
    };
    let doubles = |i: usize| -> Result<Option<Vec<f64>>, Fault> {
        let given = call.optional_weights(i)?;
        let given = given.filter(|(_, v)| !v.is_empty());
        Ok(given.map(|(_, v)| v.iter().map(|&v| f64::from(v)).collect()))
    };
    let inputs = if call.node.op_type == "Upsample" && call.opset < 9 {
        let given = call.attribute("scales").map(|a| &a.floats);
        [
            None,
            given.map(|v| v.iter().map(|&v| f64::from(v)).collect()),
            None,
        ]
    } else if call.opset < 11 {
        [None, doubles(1)?, None]
    } else {
        let wanted = call.optional_ints(3)?.filter(|v| !v.is_empty());
        let size = |(&axis, &size): (&usize, &i64)| match size {
            BATCH if axis < batch => Ok(1.0),
            BATCH => unsupported("it resizes an axis to the batch size"),
            size => Ok(size as f64),
        };
        let wanted = wanted.map(|v| match v.len() == axes.len() {
            true => axes.iter().zip(v).map(size).collect(),
            false => bad("its sizes and its axes differ in number"),
        });
        [doubles(1)?, doubles(2)?, wanted.transpose()?]
    };
    let [region, scales, given] = inputs;
    let cropped = call.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
    let region = match (region, cropped) {
        (Some(region), true) if region.len() == 2 * axes.len() => {
            let (low, high) = region.split_at(axes.len());
            [spread(low.to_vec(), 0.0)?, spread(high.to_vec(), 1.0)?]
        }
        (_, true) => return bad("it lacks the region that it crops to"),
        _ => [vec![0.0; shape.len()], vec![1.0; shape.len()]],
    };
    let by_scales = scales.is_some();
    let scales = match (scales, given) {
        (Some(scales), None) => {
            let scales = spread(scales, 1.0)?;
            // Products of floats of 32 bits, as onnxruntime has them: 1.8 times 5 is 9, and in 64 bits less.
            let out =
                |(&size, &scale): (&usize, &f64)| f64::from((size as f32 * scale as f32).floor());
            let out: Vec<f64> = shape.iter().zip(&scales).map(out).collect();
            out.into_iter().zip(scales).collect::<Vec<_>>()
        }
        (None, Some(given)) => {
            let targets = kept_aspect(call, given, axes, &full)?;
            let mut all: Vec<[f64; 2]> = full.iter().map(|&size| [size as f64, 1.0]).collect();
            axes.iter().zip(targets).for_each(|(&a, v)| all[a] = v);
            if all[..batch].iter().any(|&[items, _]| items != 1.0) {
                return unsupported("it changes the number of items, or gives the batch a size");
            }
            all[batch..]
                .iter()
                .map(|&[out, scale]| (out, scale))
                .collect()
        }
        _ => return bad("it needs either scales or sizes"),
    };
    let axis = |(i, (out, scale)): (usize, (f64, f64))| {
        if !(1.0..=LARGEST as f64).contains(&out) || scale <= 0.0 {
            return unsupported(format!(
                "it resizes an axis of {} to {out}; 1 to {LARGEST} places are supported",
                shape[i]
            ));
        }
        Ok(Axis {
            size: shape[i],
            out: out as usize,
            scale,
            aligned: match by_scales {
                true => aligned(call, shape[i] as f64 * scale, out)?,
                false => out,
            },
            region: [region[0][i], region[1][i]],
        })
    };
    scales.into_iter().enumerate().map(axis).collect()
}

/// The places after as `align_corners` counts them, where a scale makes `exact` of an axis, of which `out` stay.
/// PyTorch, whose exporters write scales, and onnxruntime count whole places; the standard's own program does not.
fn aligned(call: &Call, exact: f64, out: f64) -> Result<f64, Fault> {
    let mode = call.text("coordinate_transformation_mode", "half_pixel");
    let is_whole = (exact - out).abs() < 1e-4;
    if mode != "align_corners" || is_whole || call.torch {
        return Ok(out);
    }
    unsupported(format!(
        "it resizes an axis to {exact} places and aligns corners: of the last, which is a part, runtimes differ; give sizes instead of scales"
    ))
}

/// The sizes asked for and their scales; where the aspect ratio is kept, one scale for all, and what it makes.
fn kept_aspect(
    call: &Call,
    sizes: Vec<f64>,
    axes: &[usize],
    full: &[usize],
) -> Result<Vec<[f64; 2]>, Fault> {
    let each = sizes.iter().zip(axes);
    let each = each.map(|(&size, &a)| [size, size / full[a] as f64]);
    let scales = each.clone().map(|[_, scale]| scale);
    let scale = match call.text("keep_aspect_ratio_policy", "stretch").as_str() {
        "stretch" => return Ok(each.collect()),
        "not_larger" => scales.fold(f64::INFINITY, f64::min),
        "not_smaller" => scales.fold(0.0, f64::max),
        other => return bad(format!("its 'keep_aspect_ratio_policy' is '{other}'")),
    };
    let out = |&a: &usize| [(scale * full[a] as f64 + 0.5).floor(), scale];
    Ok(axes.iter().map(out).collect())
}

impl Axis {
    /// The share of every place before (rows) in every place after, and what is added.
    fn map(&self, call: &Call) -> Result<(Vec<f32>, Vec<f32>, usize), Fault> {
        let outside = call.float("extrapolation_value", 0.0);
        let (mut weight, mut bias) = (vec![0.0; self.size * self.out], vec![0.0; self.out]);
        for (o, added) in bias.iter_mut().enumerate() {
            let Some(x) = self.place(call, o as f64)? else {
                *added = outside;
                continue;
            };
            for (place, share) in self.shares(call, x)? {
                weight[place * self.out + o] += share as f32;
            }
        }
        if bias.iter().all(|&b| b == 0.0) {
            bias.clear();
        }
        Ok((weight, bias, self.out))
    }

    /// Where place `o` after lies among those before; `None` outside a cropped region.
    fn place(&self, call: &Call, o: f64) -> Result<Option<f64>, Fault> {
        // Of two places that are as near the one that onnxruntime takes hangs on the rounding of its floats.
        let exact = call.text("mode", "nearest") != "nearest";
        let float = |v: f64| if exact { v } else { f64::from(v as f32) };
        let (size, out, scale) = (self.size as f64, self.out as f64, float(self.scale));
        let before = if call.opset < 11 {
            "asymmetric"
        } else {
            "half_pixel"
        };
        let mode = call.text("coordinate_transformation_mode", before);
        Ok(Some(match mode.as_str() {
            "half_pixel" => float(float((o + 0.5) / scale) - 0.5),
            "half_pixel_symmetric" => {
                let adjusted = out / (scale * size);
                let offset = size / 2.0 * (1.0 - adjusted);
                offset + (o + 0.5) / scale - 0.5
            }
            "pytorch_half_pixel" if out <= 1.0 => 0.0,
            "pytorch_half_pixel" => float(float((o + 0.5) / scale) - 0.5),
            "align_corners" if self.aligned <= 1.0 => 0.0,
            "align_corners" => float(o * (size - 1.0) / (self.aligned - 1.0)),
            "asymmetric" => float(o / scale),
            "tf_half_pixel_for_nn" => float((o + 0.5) / scale),
            "tf_crop_and_resize" => {
                let [low, high] = self.region;
                // By scales the last place may be a part.
                let exact = if (scale * size - out).abs() < 1e-4 {
                    out
                } else {
                    scale * size
                };
                let x = match exact > 1.0 {
                    true => {
                        let step = (high - low) * (size - 1.0) / (exact - 1.0);
                        low * (size - 1.0) + o * step
                    }
                    false => 0.5 * (low + high) * (size - 1.0),
                };
                return Ok((0.0..=size - 1.0).contains(&x).then_some(x));
            }
            other => return bad(format!("its 'coordinate_transformation_mode' is '{other}'")),
        }))
    }

    /// The places before that one at `x` is made of, with their shares.
    fn shares(&self, call: &Call, x: f64) -> Result<Vec<(usize, f64)>, Fault> {
        let mode = call.text("mode", "nearest");
        let shrinks = call.int("antialias", 0) != 0 && self.scale < 1.0;
        let stretch = if shrinks { self.scale } else { 1.0 };
        let cubic = f64::from(call.float("cubic_coeff_a", -0.75));
        let reach = match mode.as_str() {
            "nearest" => {
                let place = nearest(call, x)?.clamp(0.0, self.size as f64 - 1.0);
                return Ok(vec![(place as usize, 1.0)]);
            }
            "linear" | "bilinear" => 1.0,
            "cubic" => 2.0,
            other => return bad(format!("its 'mode' is '{other}'")),
        };
        let share = |distance: f64| match reach == 1.0 {
            true => (1.0 - distance).max(0.0),
            false => cubic_share(distance, cubic),
        };
        let span = reach / stretch;
        let (first, last) = ((x - span).ceil() as i64, (x + span).floor() as i64);
        let all = (first..=last).map(|i| (i, share((i as f64 - x).abs() * stretch)));
        let excludes = call.int("exclude_outside", 0) != 0;
        let inside = |i: i64| (0..self.size as i64).contains(&i);
        let mut shares: Vec<(i64, f64)> = all.filter(|&(i, _)| !excludes || inside(i)).collect();
        let sum: f64 = shares.iter().map(|s| s.1).sum();
        if sum == 0.0 {
            shares = vec![(x.round() as i64, 1.0)];
        } else if excludes || stretch < 1.0 {
            shares.iter_mut().for_each(|s| s.1 /= sum);
        }
        let most = self.size as i64 - 1;
        Ok((shares.into_iter())
            .map(|(i, share)| (i.clamp(0, most) as usize, share))
            .collect())
    }
}

/// The place next to `x` by the node's way to round.
fn nearest(call: &Call, x: f64) -> Result<f64, Fault> {
    let before = if call.opset < 11 {
        "floor"
    } else {
        "round_prefer_floor"
    };
    Ok(match call.text("nearest_mode", before).as_str() {
        "round_prefer_floor" => (x - 0.5).ceil(),
        "round_prefer_ceil" => (x + 0.5).floor(),
        "floor" => x.floor(),
        "ceil" => x.ceil(),
        other => return bad(format!("its 'nearest_mode' is '{other}'")),
    })
}

/// Keys' kernel of cubic convolution.
pub(super) fn cubic_share(distance: f64, a: f64) -> f64 {
    let d = distance;
    if d < 1.0 {
        ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
    } else if d < 2.0 {
        ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
    } else {
        0.0
    }
}
