//! Quantisation by the range of what is quantised.

use crate::graph::{Op, ValueId};
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, Value, bad, unsupported};
use crate::onnx::compose::Composer;
use crate::onnx::constant::{Constant, Data};
use crate::onnx::kind::DataType;
use crate::onnx::pool;

/// DynamicQuantizeLinear: the range of an item, 0 included, in 255 steps. Of a free batch each item has a range of
/// its own, as in a batch of one.
pub(in crate::onnx) fn dynamic(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    if !call.whole && builder.batch.is_some_and(|items| items != 1) {
        return unsupported(
            "it takes the range of a whole batch; items are predicted independently",
        );
    }
    let (x, shape, batch) = call.secret_at(0)?;
    if builder.unquantised {
        let number = |kind, data| {
            Value::Constant(Constant {
                shape: vec![],
                kind,
                data,
            })
        };
        let scale = number(DataType::Float, Data::Float(vec![1.0].into()));
        let zero = number(DataType::Unsigned(8), Data::Int(vec![0]));
        return Ok(vec![call.required(0)?.clone(), scale, zero]);
    }
    let size = builder.len(x);
    let most = f32::from(u8::MAX);
    let c = &mut Composer::new(call, builder);
    let largest = |c: &mut Composer, part: &str, x| {
        let most = c.node(part, Op::MaxPool(pool::whole(1, [1, size])), &[x], vec![1])?;
        c.each(&format!("{part} or 0"), Op::Relu, &[most])
    };
    let high = largest(c, "high", x)?;
    let mirrored = c.affine("mirrored", x, -1.0, 0.0)?;
    let low = largest(c, "low", mirrored)?;
    let range = c.each("range", Op::Add, &[high, low])?;
    let scale = c.affine("scale", range, 1.0 / most, 0.0)?;
    let times = c.affine("zero.times", low, most, 0.0)?;
    let zero = quotient(c, "zero", [times, range], [0, 8])?;
    let [range, shift] = [range, zero].map(|v| c.spread("of all", v, shape.to_vec(), |_| 0));
    let times = c.affine("times", x, most, 0.0)?;
    // With 0 among them, no number is farther from 0 than there are steps.
    let rounded = quotient(c, "rounded", [times, range?], [-256, 9])?;
    let moved = c.each("moved", Op::Add, &[rounded, shift?])?;
    let held = Op::Clip {
        low: Some(0.0),
        high: Some(most),
    };
    let y = c.each("y", held, &[moved])?;
    // One number of every item, in a shape that meets it; of an input that is one item a single number.
    let (ones, of_batch) = match call.whole {
        true => (vec![], 0),
        false => (vec![1; shape.len()], batch),
    };
    let one = |id| Value::Secret {
        id,
        shape: ones.clone(),
        batch: of_batch,
    };
    let y = Value::Secret {
        id: y,
        shape: shape.to_vec(),
        batch,
    };
    Ok(vec![y, one(scale), one(zero)])
}

/// The integer nearest to `x / by` among the `2^steps` from an even `low` on: found by signs of `x` less multiples of `by`,
/// so that nothing is divided.
///
/// Of two as near the odd one, where the standard rounds to even: what lies in the middle are the ends of a range that is as
/// far on both sides, as that of saturated values, 127.5 steps from 0. In float32 these are a little less, and 127, where
/// the range is a power of two, whose 255th part is rounded up.
fn quotient(
    c: &mut Composer,
    name: &str,
    [x, by]: [ValueId; 2],
    [low, steps]: [i32; 2],
) -> Result<ValueId, Fault> {
    let part = |what: &str, step: i32| format!("{name}.{what} {step}");
    let from = c.affine(&part("from", steps), by, low as f32 - 0.5, 0.0)?;
    let mut rest = c.each(&part("rest", steps), Op::Sub, &[x, from])?;
    let mut found = None;
    for step in (0..steps).rev() {
        let size = (1 << step) as f32;
        let multiple = c.affine(&part("multiple", step), by, size, 0.0)?;
        let reached = if step == 0 {
            let over = c.each(&part("over", step), Op::Sub, &[rest, multiple])?;
            c.each(&part("reached", step), Op::NonNegative, &[over])?
        } else {
            // Beyond the middle, which belongs to the odd number before.
            let under = c.each(&part("under", step), Op::Sub, &[multiple, rest])?;
            let under = c.each(&part("not reached", step), Op::NonNegative, &[under])?;
            c.affine(&part("reached", step), under, -1.0, 1.0)?
        };
        if step > 0 {
            let taken = c.each(&part("taken", step), Op::Mul, &[reached, multiple])?;
            rest = c.each(&part("rest", step), Op::Sub, &[rest, taken])?;
        }
        let worth = c.affine(&part("worth", step), reached, size, 0.0)?;
        found = Some(match found {
            None => worth,
            Some(found) => c.each(&part("found", step), Op::Add, &[found, worth])?,
        });
    }
    match found {
        Some(found) => c.affine(name, found, 1.0, low as f32),
        None => bad("it searches no number"),
    }
}
