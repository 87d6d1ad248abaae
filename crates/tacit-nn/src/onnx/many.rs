//! Operations that the standard defines for a batch, of a value whose batch is an axis of the item: of all its places at
//! once, in as many rounds as one place takes.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad};
use super::conv;
use super::lower;
use super::pool::spatial;
use crate::graph::{Op, ValueId, len};
use crate::index::transpose;

/// Conv. The places of the batch stand along an axis of the space, over which the window has one tap.
pub(super) fn conv(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    if !call.whole {
        return conv::conv(call, builder, false);
    }
    let (x, shape) = call.secret(0)?;
    let (many, item) = places(shape)?;
    let (channels, size) = spatial(item)?;
    if many == 1 {
        let of_one = conv::conv(&of(call, &secret(x, item.to_vec())), builder, false)?;
        return Ok(with_places(of_one, 1));
    }
    let turned = [&[channels, many], size].concat();
    let name = format!("{}.beside", call.name);
    let beside = secret(exchanged(builder, name, x, shape)?, turned);
    match conv::conv(&of(call, &beside), builder, true)? {
        Value::Secret { id, shape, .. } => {
            let name = format!("{}.all", call.name);
            let all = exchanged(builder, name, id, &shape)?;
            let out = [&[shape[1], shape[0]], &shape[2..]].concat();
            Ok(secret(all, out))
        }
        other => Ok(other),
    }
}

/// What is made of every channel by itself: the channels of all places are those of one item.
pub(super) fn channels(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    let (x, shape) = call.secret(0)?;
    let (many, item) = places(shape)?;
    let (channels, size) = spatial(item)?;
    let all = secret(x, [&[many * channels], size].concat());
    let made = lower::items(&of(call, &all), builder)?.into_iter();
    let apart = |value: Value| match &value {
        Value::Secret { shape, .. } => {
            value.with_shape([&[many, shape[0] / many], &shape[1..]].concat())
        }
        _ => value,
    };
    Ok(made.map(apart).collect())
}

/// The places of a batch, and the shape of what stands at each.
fn places(shape: &[usize]) -> Result<(usize, &[usize]), Fault> {
    match shape.split_first() {
        Some((&many, item)) if len(shape) > 0 => Ok((many, item)),
        _ => bad("its input has no elements"),
    }
}

fn secret(id: ValueId, shape: Vec<usize>) -> Value {
    let batch = 0;
    Value::Secret { id, shape, batch }
}

/// The node, of items, of this value in place of its first input.
fn of<'a>(call: &Call<'a>, x: &'a Value) -> Call<'a> {
    let mut inputs = call.inputs.clone();
    inputs[0] = Some(x);
    Call {
        name: call.name.clone(),
        whole: false,
        inputs,
        ..*call
    }
}

fn with_places(value: Value, many: usize) -> Value {
    match &value {
        Value::Secret { shape, .. } => value.with_shape([&[many], &shape[..]].concat()),
        _ => value,
    }
}

/// The elements with the first two axes exchanged.
fn exchanged(
    builder: &mut Builder,
    name: String,
    x: ValueId,
    shape: &[usize],
) -> Result<ValueId, Fault> {
    let order: Vec<usize> = [1, 0].into_iter().chain(2..shape.len()).collect();
    let sizes = order.iter().map(|&axis| shape[axis]).collect();
    let index = transpose(shape, &order);
    let op = Op::Rearrange { index, fill: 0.0 };
    builder.add(name, op, vec![x], sizes)
}
