//! Numbers that stand for integers of a few bits: QuantizeLinear and DequantizeLinear, and products of such.
//!
//! Computed integers are whole fixed-point numbers. What a type does not hold is clipped before it is rounded,
//! which is what saturation means, so that the search for the nearest integer has the range of the type.

mod blocks;
mod dynamic;
mod products;

use super::builder::Builder;
use super::call::{Call, Fault, Value, axis, bad, unsupported};
use super::constant::{Constant, bounded_len};
use super::element::{Arithmetic, two};
use super::fold::{self, rearranged, select};
use super::kind::DataType;
use super::nary::on;
use crate::graph::{Op, Whole};

pub(super) use blocks::blocks;
pub(super) use dynamic::dynamic;
pub(super) use products::{integer, linear};

/// DequantizeLinear: `(x - zero) scale`.
pub(super) fn dequantize(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let scales = Scales::of(call, [1, 2])?;
    scales.dequantized(call, builder, "", call.required(0)?)
}

/// DequantizeLinear of constants.
pub(super) fn constant(call: &Call) -> Result<Constant, Fault> {
    let mut builder = Builder::default();
    match dequantize(call, &mut builder)? {
        Value::Constant(constant) => Ok(constant),
        _ => unsupported("it is of constants and computed"),
    }
}

/// QuantizeLinear: `x / scale` rounded to an integer, and the zero point, of what its type holds.
pub(super) fn quantize(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let scales = Scales::of(call, [1, 2])?;
    let kind = match (
        &scales.zero,
        call.attribute("output_dtype").and_then(|a| a.i),
    ) {
        (Some(zero), _) => zero.kind,
        (None, None | Some(0)) => DataType::Unsigned(8),
        (None, Some(code)) => DataType::of(code as i32)?,
    };
    scales.quantized(call, builder, call.required(0)?, kind)
}

/// A scale with its zero point, in the shape in which they meet what is quantised.
struct Scales {
    scale: Value,
    zero: Option<Constant>,
}

impl Scales {
    /// The scale and the zero point that are inputs `scale` and `zero` of the node.
    fn of(call: &Call, [scale, zero]: [usize; 2]) -> Result<Self, Fault> {
        let x = call.required(0)?;
        let (rank, along) = (rank(call, x), call.int("axis", 1));
        let matmul = call.node.op_type == "QLinearMatMul";
        let shaped = |value: &Value| match matmul {
            // Of rows, or of matrices and rows.
            true => Ok(value.clone()),
            false => met(call, value, rank, along),
        };
        let zero = match call.optional_constant(zero)? {
            None => None,
            Some(zero) => match shaped(&Value::Constant(zero.clone()))? {
                Value::Constant(zero) => Some(zero),
                _ => None,
            },
        };
        let scale = shaped(call.required(scale)?)?;
        Ok(Scales { scale, zero })
    }

    /// The scale and the zero point of the weights of QLinearMatMul and QLinearConv; the latter has them by filter.
    fn of_weights(call: &Call) -> Result<Self, Fault> {
        let w = call.required(3)?;
        let filters = call.node.op_type == "QLinearConv";
        let shaped = |value: &Value| match filters {
            true => met(call, value, rank(call, w), 0),
            false => Ok(value.clone()),
        };
        let zero = call.optional_constant(5)?.cloned().map(Value::Constant);
        let zero = zero.map(|zero| shaped(&zero)).transpose()?;
        Ok(Scales {
            scale: shaped(call.required(4)?)?,
            zero: match zero {
                Some(Value::Constant(zero)) => Some(zero),
                _ => None,
            },
        })
    }

    fn dequantized(
        &self,
        call: &Call,
        builder: &mut Builder,
        part: &str,
        x: &Value,
    ) -> Result<Value, Fault> {
        let mut x = match x {
            Value::Constant(x) => Value::Constant(fold::floats(x)),
            x => x.clone(),
        };
        if let Some(zero) = &self.zero {
            let zero = Value::Constant(fold::floats(zero));
            let part = format!("{part}.centred");
            x = arithmetic(call, builder, (Arithmetic::Sub, &part), &x, &zero)?;
        }
        let part = format!("{part}.scaled");
        arithmetic(call, builder, (Arithmetic::Mul, &part), &x, &self.scale)
    }

    fn quantized(
        &self,
        call: &Call,
        builder: &mut Builder,
        x: &Value,
        kind: DataType,
    ) -> Result<Value, Fault> {
        let (least, most) = match kind {
            DataType::Signed(..=16) | DataType::Unsigned(..=16) => kind.holds_within(),
            _ => return unsupported(format!("it makes numbers of the type {}", kind.name())),
        };
        let zeros = self.zero.as_ref().map(|zero| zero.data.floats());
        let zeros = zeros.iter().flat_map(|zeros| zeros.iter().copied());
        let (low, high) = zeros
            .clone()
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), v| {
                (low.min(v), high.max(v))
            });
        let (low, high) = if zeros.count() == 0 {
            (0.0, 0.0)
        } else {
            (low, high)
        };
        let scaled = arithmetic(call, builder, (Arithmetic::Div, "scaled"), x, &self.scale)?;
        let bounds = Op::Clip {
            low: Some(least - high),
            high: Some(most - low),
        };
        let whole = on(call, builder, &scaled, |c, x| {
            let held = c.each("held", bounds, &[x])?;
            c.each("round", Op::Whole(Whole::Nearest), &[held])
        })?;
        let Some(zero) = &self.zero else {
            return Ok(whole);
        };
        let zero = Value::Constant(fold::floats(zero));
        let moved = arithmetic(call, builder, (Arithmetic::Add, "moved"), &whole, &zero)?;
        if low == high {
            return Ok(moved);
        }
        let bounds = Op::Clip {
            low: Some(least),
            high: Some(most),
        };
        on(call, builder, &moved, |c, x| c.each("clip", bounds, &[x]))
    }
}

/// Numbers along one axis of a value of `rank` axes, or blocks of it, in a shape that meets that value.
fn met(call: &Call, numbers: &Value, rank: usize, along: i64) -> Result<Value, Fault> {
    let shape = match numbers {
        Value::Constant(constant) => constant.shape.clone(),
        Value::Secret { shape, .. } if call.whole => shape.clone(),
        _ => return unsupported("its scale is computed of every item"),
    };
    let block = call.int("block_size", 0);
    if let (Value::Constant(constant), 1.., true) = (numbers, block, shape.len() == rank) {
        return blocked(call, constant, along);
    }
    match shape[..] {
        [] | [1] => Ok(numbers.with_shape(vec![])),
        [many] => {
            let mut shape = vec![1; rank];
            shape[axis(along, rank)?] = many;
            Ok(numbers.with_shape(shape))
        }
        _ => bad(format!("its scale or zero point has the shape {shape:?}")),
    }
}

/// Numbers of blocks of an axis, each repeated for its block.
fn blocked(call: &Call, numbers: &Constant, along: i64) -> Result<Value, Fault> {
    let along = axis(along, numbers.shape.len())?;
    let block = call.int("block_size", 0) as usize;
    let x = call.required(0)?;
    let size = match x {
        Value::Constant(x) => x.shape.get(along).copied(),
        _ => {
            let (_, shape, batch) = call.secret_at(0)?;
            let mut shape = shape.to_vec();
            if !call.whole {
                shape.insert(batch, 1);
            }
            shape.get(along).copied()
        }
    };
    let Some(size) = size else {
        return bad("its scale has more axes than its input");
    };
    if size.div_ceil(block) != numbers.shape[along] {
        return bad(format!(
            "its scale has {} blocks of {block} for an axis of {size}",
            numbers.shape[along]
        ));
    }
    let mut shape = numbers.shape.clone();
    shape[along] = size;
    bounded_len(&shape)?;
    let index = select(
        &numbers.shape,
        along,
        (0..size).map(|i| i / block).collect(),
    );
    Ok(Value::Constant(rearranged(numbers, (shape, index))))
}

/// The axes of a value in the file.
fn rank(call: &Call, value: &Value) -> usize {
    match value {
        Value::Constant(constant) => constant.shape.len(),
        Value::Secret { shape, .. } => shape.len() + usize::from(!call.whole),
        _ => 0,
    }
}

/// `a` and `b`, constants or computed, stretched to each other's shape.
fn arithmetic(
    call: &Call,
    builder: &mut Builder,
    (what, part): (Arithmetic, &str),
    a: &Value,
    b: &Value,
) -> Result<Value, Fault> {
    if let (Value::Constant(a), Value::Constant(b)) = (a, b) {
        let name = match what {
            Arithmetic::Add => "Add",
            Arithmetic::Sub => "Sub",
            Arithmetic::Mul => "Mul",
            Arithmetic::Div => "Div",
        };
        let both = [a, b].map(fold::floats);
        return Ok(Value::Constant(fold::binary(name, &both[0], &both[1])?));
    }
    let most = rank(call, a).max(rank(call, b));
    let spread = |value: &Value| match value {
        Value::Secret { shape, .. } if call.whole => {
            value.with_shape([vec![1; most - shape.len()], shape.clone()].concat())
        }
        other => other.clone(),
    };
    two(call, builder, (what, part), &spread(a), &spread(b))
}
