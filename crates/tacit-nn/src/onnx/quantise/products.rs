//! Products of quantised numbers: of what they mean, and quantised again where the operation says so.

use super::{Scales, arithmetic, rank};
use crate::onnx::call::{Call, Fault, Value, bad, unsupported};
use crate::onnx::constant::Constant;
use crate::onnx::element::Arithmetic;
use crate::onnx::lower::Builder;
use crate::onnx::{conv, fold, product};

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
            convolved(&inside(inputs), builder)?
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
        let Some(zero) = call.optional_constant(i + 2)? else {
            return Ok(x.clone());
        };
        let mut zero = fold::floats(zero);
        if let (&[many], 1..) = (&zero.shape[..], many_of(&zero)) {
            // Of rows, of columns, which stand last, or of filters.
            zero.shape = match (matmul, i) {
                (true, 0) => vec![many, 1],
                (true, _) => vec![many],
                _ => [vec![many], vec![1; rank(call, x).saturating_sub(1)]].concat(),
            };
        }
        let part = format!("{i}.centred");
        arithmetic(
            call,
            builder,
            (Arithmetic::Sub, &part),
            x,
            &Value::Constant(zero),
        )
    };
    let (x, w) = (less(builder, 0)?, less(builder, 1)?);
    let inside = Call {
        name: call.name.clone(),
        inputs: vec![Some(&x), Some(&w)],
        ..*call
    };
    match matmul {
        true => product::matmul(&inside, builder),
        false => convolved(&inside, builder),
    }
}

/// The numbers of a zero point that is no single one.
fn many_of(zero: &Constant) -> usize {
    zero.data.len().saturating_sub(1)
}

/// Conv; of an input that is one item, of the one that it holds.
fn convolved(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    if !call.whole {
        return conv::conv(call, builder);
    }
    let (id, shape) = call.secret(0)?;
    let [1, item @ ..] = shape else {
        return unsupported("its batch is neither free nor of one item");
    };
    let (shape, batch) = (item.to_vec(), 0);
    let x = Value::Secret { id, shape, batch };
    let mut inputs = call.inputs.clone();
    inputs[0] = Some(&x);
    let name = call.name.clone();
    let one = Call {
        name,
        whole: false,
        inputs,
        ..*call
    };
    match conv::conv(&one, builder)? {
        Value::Secret { id, shape, .. } => Ok(Value::Secret {
            id,
            shape: [vec![1], shape].concat(),
            batch: 0,
        }),
        other => Ok(other),
    }
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
