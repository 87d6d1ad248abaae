//! GridSample: what a value has between its places, at constant points. Every result is a sum of constant
//! shares of the elements around its point.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::constant::{Constant, bounded_len};
use super::product::{Labels, contract};
use super::resize::cubic_share;
use crate::graph::len;

/// The most axes that points lie along: with each there are up to four times as many elements around one.
const MOST_AXES: usize = 3;

/// How points are read.
struct Reading {
    mode: Mode,
    outside: Outside,
    corners: bool,
}

enum Mode {
    Nearest,
    Linear,
    Cubic,
}

/// What stands outside a value.
enum Outside {
    Zeros,
    Border,
    Reflection,
}

/// GridSample of a computed value by a constant grid.
pub(super) fn grid_sample(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (_, shape) = call.secret(0)?;
    let first = usize::from(call.whole);
    let (grid, points) = call.weights(1)?;
    let fits = shape.len() > first + 1 && grid.len() == shape.len() + 1 - first;
    let space = shape.get(first + 1..).unwrap_or_default();
    if !fits || grid.last() != Some(&space.len()) {
        return bad(format!(
            "its grid of the shape {grid:?} does not fit items of the shape {shape:?}"
        ));
    }
    if space.len() > MOST_AXES {
        let axes = space.len();
        return unsupported(format!(
            "it reads along {axes} axes, at most {MOST_AXES} are supported"
        ));
    }
    let reading = Reading::of(call)?;
    let (items, places) = (grid[0], len(&grid[1..grid.len() - 1]));
    let size = len(space);
    let n = bounded_len(&[items, size, places])?;
    builder.reserve(n)?;
    let mut weights = vec![0.0f32; n];
    for (p, point) in points.chunks(space.len()).enumerate() {
        let (item, place) = (p / places, p % places);
        for (element, share) in reading.shares(point, space) {
            weights[(item * size + element) * places + place] += share as f32;
        }
    }
    let weights = Value::Constant(Constant::floats(vec![items, size, places], weights));
    let flat = [&shape[..=first], &[size]].concat();
    let value = call.required(0)?.with_shape(flat);
    let both = Call {
        name: call.name.clone(),
        inputs: vec![Some(&value), Some(&weights)],
        ..*call
    };
    // Items, channels, places before and after.
    let labels = Labels {
        inputs: [vec![0, 1, 2], vec![0, 2, 3]],
        output: vec![0, 1, 3],
    };
    let out = [&shape[..=first], &grid[1..grid.len() - 1]].concat();
    Ok(contract(&both, builder, &labels)?.with_shape(out))
}

impl Reading {
    fn of(call: &Call) -> Result<Reading, Fault> {
        let mode = match call.text("mode", "linear").as_str() {
            "nearest" => Mode::Nearest,
            "linear" | "bilinear" => Mode::Linear,
            "cubic" | "bicubic" => Mode::Cubic,
            other => return bad(format!("its 'mode' is '{other}'")),
        };
        let outside = match call.text("padding_mode", "zeros").as_str() {
            "zeros" => Outside::Zeros,
            "border" => Outside::Border,
            "reflection" => Outside::Reflection,
            other => return bad(format!("its 'padding_mode' is '{other}'")),
        };
        Ok(Reading {
            mode,
            outside,
            corners: call.int("align_corners", 0) != 0,
        })
    }

    /// The elements around a point, whose first number is along the last axis, with their shares.
    fn shares(&self, point: &[f32], space: &[usize]) -> Vec<(usize, f64)> {
        let mut all = vec![(0, 1.0)];
        for (&size, &at) in space.iter().zip(point.iter().rev()) {
            let taps = self.taps(at, size);
            let extend = |&(element, share): &(usize, f64)| {
                let next =
                    move |&(place, part): &(usize, f64)| (element * size + place, share * part);
                taps.iter().map(next).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(extend).collect();
        }
        all
    }

    /// The places of an axis around one from -1 to 1, with their shares.
    fn taps(&self, at: f32, size: usize) -> Vec<(usize, f64)> {
        let n = size as f32;
        let x = match self.corners {
            true => (at + 1.0) / 2.0 * (n - 1.0),
            false => ((at + 1.0) * n - 1.0) / 2.0,
        };
        let x = match self.mode {
            Mode::Nearest => x.round_ties_even(),
            _ => x,
        };
        let [low, high] = self.ends(size);
        let x = match self.outside {
            _ if low <= f64::from(x) && f64::from(x) <= high => f64::from(x),
            Outside::Zeros => f64::from(x),
            // Places around a point are kept inside one by one.
            Outside::Border if matches!(self.mode, Mode::Cubic) => f64::from(x),
            Outside::Border => f64::from(x.clamp(0.0, n - 1.0)),
            Outside::Reflection => self.reflected(x.into(), size),
        };
        let floor = x.floor();
        let shares = match self.mode {
            Mode::Nearest => vec![(0, 1.0)],
            Mode::Linear => vec![(0, 1.0 - (x - floor)), (1, x - floor)],
            Mode::Cubic => (-1..3)
                .map(|i| (i, cubic_share((x - floor - i as f64).abs(), -0.75)))
                .collect(),
        };
        let start = match self.mode {
            Mode::Nearest => x as i64,
            _ => floor as i64,
        };
        let place = |i: i64| self.place(start.saturating_add(i), size);
        let inside = |(i, share)| place(i).map(|place| (place, share));
        shares.into_iter().filter_map(inside).collect()
    }

    /// Where an axis begins and ends.
    fn ends(&self, size: usize) -> [f64; 2] {
        match self.corners {
            true => [0.0, size as f64 - 1.0],
            false => [-0.5, size as f64 - 0.5],
        }
    }

    /// `x` mirrored at both ends until it lies between them.
    fn reflected(&self, x: f64, size: usize) -> f64 {
        let [low, high] = self.ends(size);
        let span = high - low;
        if span <= 0.0 {
            return low;
        }
        let there = (x - low).rem_euclid(2.0 * span);
        low + there.min(2.0 * span - there)
    }

    /// The place that stands at `i`, which may lie outside.
    fn place(&self, i: i64, size: usize) -> Option<usize> {
        let last = size as i64 - 1;
        let place = match self.outside {
            _ if (0..=last).contains(&i) => i,
            Outside::Zeros => return None,
            Outside::Border => i.clamp(0, last),
            Outside::Reflection => (self.reflected(i as f64, size) as i64).clamp(0, last),
        };
        usize::try_from(place).ok()
    }
}
