//! Nodes whose inputs are all constants are computed at import.

use super::call::{Call, Fault, Value, axis, bad};
use super::constant::{BATCH, Constant, Data, Reader, bounded_len};
use super::proto::data_type;
use super::shape;
use crate::index::{broadcast, common_shape, pick, transpose, whole};

/// The value of a node that depends on no input's values, or `None` if it is not such a node.
pub(super) fn fold(call: &Call, reader: &Reader) -> Result<Option<Constant>, Fault> {
    if call.node.op_type == "Shape" {
        return Ok(Some(shape_of(call)?));
    }
    let mut inputs = Vec::new();
    for input in call.inputs.iter().flatten() {
        match input {
            Value::Constant(constant) => inputs.push(constant),
            _ => return Ok(None),
        }
    }
    Ok(Some(match call.node.op_type.as_str() {
        "Constant" => constant(call, reader)?,
        "ConstantOfShape" => constant_of_shape(call, reader)?,
        "Identity" | "Dropout" => call.constant(0)?.clone(),
        "Cast" => cast(call)?,
        "Add" | "Sub" | "Mul" | "Div" => arithmetic(call)?,
        "Neg" | "Sqrt" | "Reciprocal" => unary(call)?,
        "Concat" => concat(call, &inputs)?,
        "Gather" | "Slice" => rearranged(call, shape::selection(call, &call.constant(0)?.shape)?)?,
        "Transpose" => {
            let given = &call.constant(0)?.shape;
            let order = shape::permutation(call, given.len())?;
            let out = order.iter().map(|&a| given[a]).collect();
            rearranged(call, (out, transpose(given, &order)))?
        }
        "Expand" => {
            let from = call.constant(0)?;
            let target = shape::sizes_of(call.ints(1)?)?;
            let out =
                common_shape(&from.shape, &target).ok_or_else(|| mismatch(&from.shape, &target))?;
            bounded_len(&out)?;
            let index = broadcast(&from.shape, &out).ok_or_else(|| mismatch(&from.shape, &out))?;
            rearranged(call, (out, index))?
        }
        "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => {
            let from = call.constant(0)?;
            Constant {
                shape: shape::constant_shape(call, &from.shape)?,
                data: from.data.clone(),
            }
        }
        _ => return Ok(None),
    }))
}

fn mismatch(a: &[usize], b: &[usize]) -> Fault {
    Fault::Bad(format!("the shapes {a:?} and {b:?} do not fit together"))
}

fn rearranged(call: &Call, (shape, index): (Vec<usize>, Vec<u32>)) -> Result<Constant, Fault> {
    Ok(Constant {
        shape,
        data: call.constant(0)?.data.gather(&index, 0.0),
    })
}

fn shape_of(call: &Call) -> Result<Constant, Fault> {
    let full: Vec<i64> = match call.required(0)? {
        Value::Constant(c) => c.shape.iter().map(|&d| d as i64).collect(),
        Value::Secret { shape, batch, .. } => with_batch(shape, *batch),
        Value::Clear { shape, .. } => with_batch(shape, 0),
        Value::Unknown => return bad("its input is unknown"),
    };
    let rank = full.len() as i64;
    let clamp = |v: i64| (if v < 0 { v.saturating_add(rank) } else { v }).clamp(0, rank) as usize;
    let (start, end) = (clamp(call.int("start", 0)), clamp(call.int("end", rank)));
    Ok(Constant::ints(
        full.get(start..end).unwrap_or_default().to_vec(),
    ))
}

/// A shape as the file has it, with the batch axis.
fn with_batch(shape: &[usize], batch: usize) -> Vec<i64> {
    let mut full: Vec<i64> = shape.iter().map(|&d| d as i64).collect();
    full.insert(batch, BATCH);
    full
}

fn constant(call: &Call, reader: &Reader) -> Result<Constant, Fault> {
    let Some(a) = call
        .node
        .attribute
        .iter()
        .find(|a| a.name.starts_with("value"))
    else {
        return bad("it has no value");
    };
    let floats = |shape: Vec<usize>, v: &[f32]| Constant {
        shape,
        data: Data::Float(v.into()),
    };
    match (a.name.as_str(), &a.t, a.f, a.i) {
        ("value", Some(t), ..) => reader.read(t).map_err(|e| Fault::Bad(e.to_string())),
        ("value_float", _, Some(f), _) => Ok(floats(vec![], &[f])),
        ("value_int", _, _, Some(i)) => Ok(Constant {
            shape: vec![],
            data: Data::Int(vec![i]),
        }),
        ("value_floats", ..) => Ok(floats(vec![a.floats.len()], &a.floats)),
        ("value_ints", ..) => Ok(Constant::ints(a.ints.clone())),
        (other, ..) => bad(format!(
            "its attribute '{other}' is not a tensor, number or list of numbers"
        )),
    }
}

fn constant_of_shape(call: &Call, reader: &Reader) -> Result<Constant, Fault> {
    let shape = shape::sizes_of(call.ints(0)?)?;
    let n = bounded_len(&shape)?;
    let data = match call.attribute("value").and_then(|a| a.t.as_ref()) {
        None => Data::Float(vec![0.0; n].into()),
        Some(t) => match reader.read(t).map_err(|e| Fault::Bad(e.to_string()))?.data {
            Data::Float(v) if v.len() == 1 => Data::Float(vec![v[0]; n].into()),
            Data::Int(v) if v.len() == 1 => Data::Int(vec![v[0]; n]),
            _ => return bad("its value must be one number"),
        },
    };
    Ok(Constant { shape, data })
}

fn cast(call: &Call) -> Result<Constant, Fault> {
    let from = call.constant(0)?;
    let data = match (call.int("to", 0) as i32, &from.data) {
        (data_type::FLOAT | data_type::FLOAT16 | data_type::DOUBLE, Data::Int(v)) => {
            no_batch(v)?;
            Data::Float(v.iter().map(|&v| v as f32).collect())
        }
        (data_type::INT64 | data_type::INT32, Data::Float(v)) => {
            Data::Int(v.iter().map(|&v| v as i64).collect())
        }
        (data_type::BOOL, _) => return bad("a cast to bool is not read"),
        _ => from.data.clone(),
    };
    Ok(Constant {
        shape: from.shape.clone(),
        data,
    })
}

fn no_batch(values: &[i64]) -> Result<(), Fault> {
    if values.contains(&BATCH) {
        bad("it computes with the batch size, which is free")
    } else {
        Ok(())
    }
}

fn arithmetic(call: &Call) -> Result<Constant, Fault> {
    let (a, b) = (call.constant(0)?, call.constant(1)?);
    let shape = common_shape(&a.shape, &b.shape).ok_or_else(|| mismatch(&a.shape, &b.shape))?;
    bounded_len(&shape)?;
    let stretch = |c: &Constant| -> Result<Data, Fault> {
        let index = broadcast(&c.shape, &shape).ok_or_else(|| mismatch(&c.shape, &shape))?;
        Ok(c.data.gather(&index, 0.0))
    };
    let op = call.node.op_type.as_str();
    let data =
        match (stretch(a)?, stretch(b)?) {
            (Data::Float(x), Data::Float(y)) => Data::Float(
                x.iter()
                    .zip(y.iter())
                    .map(|(x, y)| float_op(op, *x, *y))
                    .collect(),
            ),
            (Data::Int(x), Data::Int(y)) => {
                no_batch(&x)?;
                no_batch(&y)?;
                let values: Option<_> = x.iter().zip(&y).map(|(x, y)| int_op(op, *x, *y)).collect();
                Data::Int(values.ok_or_else(|| {
                    Fault::Bad("its integers overflow or are divided by 0".into())
                })?)
            }
            _ => return bad("its inputs have different data types"),
        };
    Ok(Constant { shape, data })
}

fn float_op(op: &str, x: f32, y: f32) -> f32 {
    match op {
        "Add" => x + y,
        "Sub" => x - y,
        "Mul" => x * y,
        _ => x / y,
    }
}

fn int_op(op: &str, x: i64, y: i64) -> Option<i64> {
    match op {
        "Add" => x.checked_add(y),
        "Sub" => x.checked_sub(y),
        "Mul" => x.checked_mul(y),
        _ => x.checked_div(y),
    }
}

fn unary(call: &Call) -> Result<Constant, Fault> {
    let (shape, values) = call.weights(0)?;
    let f: fn(f32) -> f32 = match call.node.op_type.as_str() {
        "Neg" => |v| -v,
        "Sqrt" => f32::sqrt,
        _ => |v| 1.0 / v,
    };
    Ok(Constant {
        shape: shape.to_vec(),
        data: Data::Float(values.iter().copied().map(f).collect()),
    })
}

fn concat(call: &Call, inputs: &[&Constant]) -> Result<Constant, Fault> {
    let Some(first) = inputs.first() else {
        return bad("it has no inputs");
    };
    let along = axis(call.int("axis", 0), first.shape.len())?;
    let mut shape = first.shape.clone();
    shape[along] = 0;
    for c in inputs {
        let fits = c.shape.len() == shape.len()
            && (0..shape.len()).all(|i| i == along || c.shape[i] == shape[i]);
        if !fits {
            return Err(mismatch(&first.shape, &c.shape));
        }
        shape[along] += c.shape[along];
    }
    bounded_len(&shape)?;
    let outer: usize = shape[..along].iter().product();
    fn join<'a, T: Copy + 'a>(outer: usize, parts: &[&'a [T]]) -> Vec<T> {
        let chunk = |o: usize, part: &'a [T]| {
            &part[o * (part.len() / outer)..(o + 1) * (part.len() / outer)]
        };
        (0..outer)
            .flat_map(|o| {
                parts
                    .iter()
                    .flat_map(move |&part| chunk(o, part).iter().copied())
            })
            .collect()
    }
    let ints: Option<Vec<&[i64]>> = inputs
        .iter()
        .map(|c| {
            if let Data::Int(v) = &c.data {
                Some(v.as_slice())
            } else {
                None
            }
        })
        .collect();
    let floats: Option<Vec<&[f32]>> = inputs
        .iter()
        .map(|c| {
            if let Data::Float(v) = &c.data {
                Some(&v[..])
            } else {
                None
            }
        })
        .collect();
    let data = match (ints, floats) {
        (Some(parts), _) => Data::Int(join(outer, &parts)),
        (_, Some(parts)) => Data::Float(join(outer, &parts).into()),
        _ => return bad("its inputs have different data types"),
    };
    Ok(Constant { shape, data })
}

/// The elements of `shape` at `picks` along `along`.
pub(super) fn select(shape: &[usize], along: usize, picks: Vec<usize>) -> Vec<u32> {
    let axis = |(i, &size): (usize, &usize)| {
        if i == along {
            picks.iter().map(|&p| Some(p)).collect()
        } else {
            whole(size)
        }
    };
    pick(
        shape,
        &shape.iter().enumerate().map(axis).collect::<Vec<_>>(),
    )
}
