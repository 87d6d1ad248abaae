//! Fourier transforms: sums by constant sines and cosines. The last axis has one number, or a real and an
//! imaginary one.

use std::f64::consts::TAU;

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::Composer;
use super::constant::{Constant, bounded_len};
use super::product::{Label, Labels, contract};
use crate::graph::len;

/// The longest transform.
const LONGEST: usize = 1 << 12;

/// A transform of lines of `size` places, each of `parts` numbers.
struct Transform {
    size: usize,
    parts: usize,
    length: usize,
    inverse: bool,
    onesided: bool,
}

/// DFT along one axis of an item.
pub(super) fn dft(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (_, shape) = call.secret(0)?;
    let rank = shape.len() + usize::from(!call.whole);
    let given = match call.opset {
        ..20 => call.int("axis", 1),
        _ => match call.optional_ints(2)? {
            None => -2,
            Some(&[axis]) => axis,
            Some(_) => return bad("its axis is no number"),
        },
    };
    let along = call.item_axis(given, shape.len(), 0)?;
    let parts = parts(shape, along)?;
    let (inverse, onesided) = (call.int("inverse", 0) != 0, call.int("onesided", 0) != 0);
    let size = shape[along];
    let usual = match inverse && onesided {
        true => 2 * (size - 1),
        false => size,
    };
    let transform = Transform {
        size,
        parts,
        length: length(call, 1)?.unwrap_or(usual),
        inverse,
        onesided,
    };
    let along = along + usize::from(!call.whole);
    transform.lower(call, builder, call.required(0)?, along, rank, None)
}

/// How many numbers each place along an axis has.
fn parts(shape: &[usize], along: usize) -> Result<usize, Fault> {
    match shape.last() {
        Some(&parts @ (1 | 2)) if along + 1 < shape.len() => Ok(parts),
        _ => bad(format!(
            "its items of the shape {shape:?} have neither one number nor two along their last axis"
        )),
    }
}

/// Input `i` as a length, if it is given.
fn length(call: &Call, i: usize) -> Result<Option<usize>, Fault> {
    match call.optional_ints(i)? {
        None => Ok(None),
        Some(&[length]) => match usize::try_from(length) {
            Ok(length @ 1..=LONGEST) => Ok(Some(length)),
            _ => unsupported(format!(
                "its input {i} is {length}; lengths of 1 to {LONGEST} are supported"
            )),
        },
        Some(_) => bad(format!("its input {i} is no number")),
    }
}

impl Transform {
    /// The transform along axis `along` of the file's `rank` axes, of what a window weighs.
    fn lower(
        &self,
        call: &Call,
        builder: &mut Builder,
        x: &Value,
        along: usize,
        rank: usize,
        window: Option<&[f32]>,
    ) -> Result<Value, Fault> {
        if !(1..=LONGEST).contains(&self.length) {
            return unsupported(format!(
                "its length is {}; 1 to {LONGEST} are supported",
                self.length
            ));
        }
        let [out, made] = self.out();
        let shape = vec![self.size, self.parts, out, made];
        builder.reserve(bounded_len(&shape)?)?;
        let weights = (0..len(&shape)).map(|e| {
            let (place, part) = (e / (self.parts * out * made), e / (out * made) % self.parts);
            let weight = window.map_or(1.0, |window| f64::from(window[place]));
            (weight * self.weight([place, part], [e / made % out, e % made])) as f32
        });
        let weights = Value::Constant(Constant::floats(shape, weights.collect()));
        let both = Call {
            name: call.name.clone(),
            inputs: vec![Some(x), Some(&weights)],
            ..*call
        };
        let all: Vec<Label> = (0..rank as Label).collect();
        let (line, new) = (along as Label, rank as Label);
        let mut output = all.clone();
        (output[along], output[rank - 1]) = (new, new + 1);
        let labels = Labels {
            inputs: [all.clone(), vec![line, all[rank - 1], new, new + 1]],
            output,
        };
        contract(&both, builder, &labels)
    }

    /// Places after the transform, and the numbers of each.
    fn out(&self) -> [usize; 2] {
        match (self.inverse, self.onesided) {
            (false, true) => [self.length / 2 + 1, 2],
            (true, true) => [self.length, 1],
            _ => [self.length, 2],
        }
    }

    /// How much of a number (place and part) is in another after the transform.
    fn weight(&self, [place, part]: [usize; 2], [to, made]: [usize; 2]) -> f64 {
        let half = self.inverse && self.onesided;
        if place
            >= if half {
                self.length / 2 + 1
            } else {
                self.length
            }
        {
            return 0.0;
        }
        let angle = TAU * (place * to % self.length) as f64 / self.length as f64;
        let angle = if self.inverse { angle } else { -angle };
        // Times the real and the imaginary unit.
        let real = match (part, made) {
            (0, 0) | (1, 1) => angle.cos(),
            (0, _) => angle.sin(),
            _ => -angle.sin(),
        };
        let alone = place == 0 || 2 * place == self.length;
        match (self.inverse, half) {
            (false, _) => real,
            (true, false) => real / self.length as f64,
            // Every place but the first and the middle stands for its mirror image too.
            (true, true) if alone && part == 1 => 0.0,
            (true, true) if alone => real / self.length as f64,
            (true, true) => 2.0 * real / self.length as f64,
        }
    }
}

/// STFT: the transforms of frames of a signal.
pub(super) fn stft(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, given) = call.secret(0)?;
    let first = usize::from(call.whole);
    // Real signals may come without an axis of their parts.
    let shape = &match given.len() == 1 + first {
        true => [given, &[1]].concat(),
        false => given.to_vec(),
    }[..];
    if shape.len() != 2 + first {
        return bad(format!("its signals have the item shape {shape:?}"));
    }
    let (steps, parts) = (shape[first], parts(shape, first)?);
    let step = length(call, 1)?.ok_or_else(|| Fault::Bad("it has no step".into()))?;
    let window = call.optional_weights(2)?.map(|(_, numbers)| numbers);
    let size = match (length(call, 3)?, &window) {
        (Some(size), Some(window)) if window.len() != size => {
            return bad(format!(
                "its window has {} numbers for frames of {size}",
                window.len()
            ));
        }
        (Some(size), _) => size,
        (None, Some(window)) => window.len(),
        (None, None) => return bad("it has neither a window nor a length of frames"),
    };
    if size == 0 || size > steps {
        return bad(format!("its frames of {size} do not fit {steps} places"));
    }
    let frames = 1 + (steps - size) / step;
    let before = &shape[..first];
    let all = [before, &[frames, size, parts]].concat();
    bounded_len(&all)?;
    let each = frames * size * parts;
    let index = (0..len(&all)).map(|e| {
        let (signal, frame) = (e / each, e / (size * parts) % frames);
        signal * steps * parts + frame * step * parts + e % (size * parts)
    });
    let index = index.map(|i| i as u32).collect();
    let id = Composer::new(call, builder).moved("frames", x, index, all.clone())?;
    let transform = Transform {
        size,
        parts,
        length: size,
        inverse: false,
        onesided: call.int("onesided", 1) != 0,
    };
    let value = Value::Secret {
        id,
        shape: all,
        batch: 0,
    };
    transform.lower(call, builder, &value, 2, 4, window.as_deref())
}
