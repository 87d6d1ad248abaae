//! Products of quantised numbers: of what they mean, and quantised again where the operation says so.

use super::{Scales, arithmetic, rank};
use crate::graph::len;
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, Value, bad, unsupported};
use crate::onnx::constant::Constant;
use crate::onnx::element::Arithmetic;
use crate::onnx::{fold, many, product};

/// QLinearMatMul and QLinearConv: of the numbers that are meant, quantised again.
pub(in crate::onnx) fn linear(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let [x, w] = [
        Scales::of(call, [1, 2])?.dequantized(call, builder, "x", call.required(0)?)?,
        Scales::of_weights(call)?.dequantized(call, builder, "w", call.required(3)?)?,
    ];
    let inside = |inputs| Call {
        name: format!("{}.product", call.name),
        inputs,
        ..*call
    };
    let y = match call.node.op_type.as_str() {
        "QLinearMatMul" => product::matmul(&inside(vec![Some(&x), Some(&w)]), builder)?,
        _ => {
            let bias = bias(call)?.map(Value::Constant);
            let inputs = vec![Some(&x), Some(&w), bias.as_ref()];
            many::conv(&inside(inputs), builder)?
        }
    };
    let scales = Scales::of(call, [6, 7])?;
    let Some(zero) = &scales.zero else {
        return bad("its zero point of the result is missing");
    };
    scales.quantized(call, builder, &y, zero.kind)
}

/// MatMulInteger and ConvInteger: products of integers less their zero points.
pub(in crate::onnx) fn integer(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let matmul = call.node.op_type == "MatMulInteger";
    let less = |builder: &mut Builder, i: usize| {
        let x = call.required(i)?;
        let zero = match call.inputs.get(i + 2).copied().flatten() {
            None => return Ok(x.clone()),
            Some(Value::Constant(zero)) => Value::Constant(along(call, x, fold::floats(zero), i)),
            Some(Value::Secret { shape, .. }) if len(shape) > 1 => {
                return unsupported("its zero point is computed, and more than one number");
            }
            Some(zero) => zero.clone(),
        };
        let part = format!("{i}.centred");
        arithmetic(call, builder, (Arithmetic::Sub, &part), x, &zero)
    };
    let (x, w) = (less(builder, 0)?, less(builder, 1)?);
    let inside = Call {
        name: call.name.clone(),
        inputs: vec![Some(&x), Some(&w)],
        ..*call
    };
    match matmul {
        true => product::matmul(&inside, builder),
        false => many::conv(&inside, builder),
    }
}

/// A zero point of operand `i` in the shape in which it meets it: of rows, of columns, which stand last, or of
/// filters, if it is no single number.
fn along(call: &Call, x: &Value, mut zero: Constant, i: usize) -> Constant {
    if let (&[many], 2..) = (&zero.shape[..], zero.data.len()) {
        zero.shape = match (call.node.op_type.as_str(), i) {
            ("MatMulInteger", 0) => vec![many, 1],
            ("MatMulInteger", _) => vec![many],
            _ => [vec![many], vec![1; rank(call, x).saturating_sub(1)]].concat(),
        };
    }
    zero
}

/// The bias of QLinearConv, which counts products of both scales.
fn bias(call: &Call) -> Result<Option<Constant>, Fault> {
    let Some(bias) = call.optional_constant(8)? else {
        return Ok(None);
    };
    let scale = fold::binary(
        "Mul",
        &fold::floats(call.constant(1)?),
        &fold::floats(call.constant(4)?),
    )?;
    Ok(Some(fold::binary("Mul", &fold::floats(bias), &scale)?))
}
