//! Constants computed element by element.

use super::super::call::{Call, Fault, bad, unsupported};
use super::super::constant::{BATCH, Constant, Data, bounded_len};
use super::super::kind::DataType;
use super::mismatch;
use crate::index::{broadcast, common_shape};
use tacit_protocols::math::error_function;

/// The operations of two constants that [`binary`] computes.
pub(super) const BINARY: [&str; 15] = [
    "Add",
    "And",
    "Div",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Or",
    "Sub",
    "Xor",
];

/// The operations of one constant that [`unary`] computes.
pub(super) const UNARY: [&str; 22] = [
    "Abs",
    "Acos",
    "Asin",
    "Atan",
    "Ceil",
    "Cos",
    "Erf",
    "Exp",
    "Floor",
    "Log",
    "Neg",
    "Not",
    "Reciprocal",
    "Relu",
    "Round",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sqrt",
    "Tan",
    "Tanh",
    "Softplus",
];

/// `a - b` as floats, whatever the type of either.
pub(in super::super) fn difference(a: &Constant, b: &Constant) -> Result<Constant, Fault> {
    binary("Sub", &floats(a), &floats(b))
}

/// `a` and `b`, stretched to each other's shape.
pub(in super::super) fn binary(op: &str, a: &Constant, b: &Constant) -> Result<Constant, Fault> {
    let [(shape, x), (_, y)] = met(a, b)?;
    if a.kind != b.kind {
        return bad(format!(
            "its inputs have the data types {} and {}",
            a.kind.name(),
            b.kind.name()
        ));
    }
    let kind = match op {
        "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" => DataType::Bool,
        _ => a.kind,
    };
    let data = match (x, y) {
        (Data::Int(x), Data::Int(y)) => {
            let both = x.iter().zip(&y);
            let values = both.map(|(&x, &y)| match compared(op, x, y) {
                Some(known) => known,
                None => integer(op, x, y, kind),
            });
            Data::Int(values.collect::<Result<_, _>>()?)
        }
        (x, y) => {
            let (x, y) = (doubles(&x), doubles(&y));
            if kind == DataType::Bool {
                let both = x.iter().zip(&y);
                Data::Int(both.map(|(x, y)| i64::from(holds(op, x, y))).collect())
            } else {
                let both = x.iter().zip(&y);
                made(kind, both.map(|(&x, &y)| float(op, x, y)).collect())
            }
        }
    };
    Ok(Constant { shape, kind, data })
}

/// Both constants' numbers over the shape that they have in common.
fn met(a: &Constant, b: &Constant) -> Result<[(Vec<usize>, Data); 2], Fault> {
    let shape = common_shape(&a.shape, &b.shape).ok_or_else(|| mismatch(&a.shape, &b.shape))?;
    bounded_len(&shape)?;
    let stretch = |c: &Constant| -> Result<(Vec<usize>, Data), Fault> {
        let index = broadcast(&c.shape, &shape).ok_or_else(|| mismatch(&c.shape, &shape))?;
        Ok((shape.clone(), c.data.gather(&index, 0.0)))
    };
    Ok([stretch(a)?, stretch(b)?])
}

fn doubles(data: &Data) -> Vec<f64> {
    match data {
        Data::Float(v) => v.iter().copied().map(f64::from).collect(),
        Data::Double { exact, .. } => exact.clone(),
        Data::Int(v) => v.iter().map(|&v| v as f64).collect(),
    }
}

/// Results as the type writes them.
fn made(kind: DataType, values: Vec<f64>) -> Data {
    match kind {
        DataType::Double => Data::double(values),
        _ => Data::Float(values.iter().map(|&v| kind.round(v as f32)).collect()),
    }
}

fn holds<T: PartialOrd>(op: &str, x: T, y: T) -> bool {
    match op {
        "Equal" => x == y,
        "Greater" => x > y,
        "GreaterOrEqual" => x >= y,
        "Less" => x < y,
        _ => x <= y,
    }
}

fn float(op: &str, x: f64, y: f64) -> f64 {
    match op {
        "Add" => x + y,
        "Sub" => x - y,
        "Mul" => x * y,
        "Div" => x / y,
        "Max" => x.max(y),
        "Min" => x.min(y),
        _ => x % y,
    }
}

/// Comparisons of integers, and what is known of the free batch size, which is 1 or more.
fn compared(op: &str, x: i64, y: i64) -> Option<Result<i64, Fault>> {
    let compares = matches!(
        op,
        "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual"
    );
    let decided = match (x, y) {
        (BATCH, BATCH) => holds(op, 1, 1),
        (BATCH, y) if y <= 0 => holds(op, 1, 0),
        (x, BATCH) if x <= 0 => holds(op, 0, 1),
        (BATCH, _) | (_, BATCH) => return compares.then(free_batch),
        (x, y) => holds(op, x, y),
    };
    compares.then(|| Ok(decided.into()))
}

fn integer(op: &str, x: i64, y: i64, kind: DataType) -> Result<i64, Fault> {
    match (op, x, y) {
        ("Mul" | "Div", BATCH, 1) | ("Max", BATCH, ..=1) => return Ok(BATCH),
        ("Mul", 1, BATCH) | ("Max", ..=1, BATCH) => return Ok(BATCH),
        (_, BATCH, _) | (_, _, BATCH) => return free_batch(),
        _ => {}
    }
    let value = match op {
        "Add" => x.checked_add(y),
        "Sub" => x.checked_sub(y),
        "Mul" => x.checked_mul(y),
        "Div" => x.checked_div(y),
        "Max" => Some(x.max(y)),
        "Min" => Some(x.min(y)),
        "And" => Some(x & y),
        "Or" => Some(x | y),
        "Xor" => Some(x ^ y),
        "Fmod" => x.checked_rem(y),
        // The sign is that of the divisor.
        _ => x
            .checked_rem(y)
            .map(|rest| match rest != 0 && (rest < 0) != (y < 0) {
                true => rest + y,
                false => rest,
            }),
    };
    let wrapped = value.and_then(|value| kind.wrap(value));
    wrapped.ok_or_else(|| Fault::Unsupported("its integers overflow or are divided by 0".into()))
}

pub(super) fn free_batch<T>() -> Result<T, Fault> {
    unsupported(
        "it computes with the batch size, which is free; keep the batch as an axis of its own, or export with a batch of 1",
    )
}

/// Sum, Mean, Max and Min of any number of constants.
pub(super) fn nary(call: &Call, inputs: &[&Constant]) -> Result<Constant, Fault> {
    let op = match call.node.op_type.as_str() {
        "Sum" | "Mean" => "Add",
        other => other,
    };
    let Some((&first, others)) = inputs.split_first() else {
        return bad("it has no inputs");
    };
    let mut result = first.clone();
    for other in others {
        result = binary(op, &result, other)?;
    }
    if call.node.op_type == "Mean" {
        let many = inputs.len() as f64;
        let mean = doubles(&result.data).iter().map(|v| v / many).collect();
        result.data = made(result.kind, mean);
    }
    Ok(result)
}

/// Pow, whose exponents may have a type of their own.
pub(super) fn power(a: &Constant, b: &Constant) -> Result<Constant, Fault> {
    let [(shape, x), (_, y)] = met(a, b)?;
    if let Data::Int(_) = x {
        return unsupported("it has a base of integers");
    }
    let (x, y) = (doubles(&x), doubles(&y));
    let both = x.iter().zip(&y);
    Ok(Constant {
        shape,
        kind: a.kind,
        data: made(a.kind, both.map(|(x, y)| x.powf(*y)).collect()),
    })
}

/// Clip of constants: first the lower bound counts, then the upper one.
pub(super) fn clipped(call: &Call) -> Result<Constant, Fault> {
    let mut clipped = call.constant(0)?.clone();
    for (i, name, op) in [(1, "min", "Max"), (2, "max", "Min")] {
        let bound = match call.opset < 11 {
            true => {
                (call.attribute(name)).map(|a| Constant::floats(vec![], vec![a.f.unwrap_or(0.0)]))
            }
            false => call.optional_constant(i)?.cloned(),
        };
        if let Some(bound) = bound {
            clipped = binary(op, &clipped, &bound)?;
        }
    }
    Ok(clipped)
}

/// One constant, element by element.
pub(super) fn unary(op: &str, from: &Constant) -> Result<Constant, Fault> {
    let data = match &from.data {
        Data::Int(v) => {
            let one = |&v: &i64| match op {
                "Neg" => integer("Sub", 0, v, from.kind),
                "Abs" => match v {
                    BATCH => Ok(BATCH),
                    v => integer("Max", v, v.saturating_neg(), from.kind),
                },
                "Relu" => integer("Max", v, 0, from.kind),
                "Sign" => match v {
                    BATCH => Ok(1),
                    v => Ok(v.signum()),
                },
                "Not" => Ok(i64::from(v == 0)),
                _ => bad("its input must hold floats"),
            };
            Data::Int(v.iter().map(one).collect::<Result<_, _>>()?)
        }
        other => {
            let function = |v: f64| match op {
                "Abs" => v.abs(),
                "Acos" => v.acos(),
                "Asin" => v.asin(),
                "Atan" => v.atan(),
                "Cos" => v.cos(),
                "Sin" => v.sin(),
                "Tan" => v.tan(),
                "Ceil" => v.ceil(),
                "Erf" => error_function(v),
                "Exp" => v.exp(),
                "Floor" => v.floor(),
                "Log" => v.ln(),
                "Neg" => -v,
                "Reciprocal" => v.recip(),
                "Relu" => v.max(0.0),
                "Round" => v.round_ties_even(),
                "Sigmoid" => 1.0 / (1.0 + (-v).exp()),
                "Sign" if v == 0.0 => 0.0,
                "Sign" => v.signum(),
                "Sqrt" => v.sqrt(),
                "Tanh" => v.tanh(),
                _ => v.max(0.0) + (-v.abs()).exp().ln_1p(),
            };
            made(
                from.kind,
                doubles(other).into_iter().map(function).collect(),
            )
        }
    };
    Ok(Constant {
        data,
        ..from.clone()
    })
}

/// Where: the numbers of the second input where the first holds, else those of the third.
pub(super) fn choose(call: &Call) -> Result<Constant, Fault> {
    let (condition, x, y) = (call.constant(0)?, call.constant(1)?, call.constant(2)?);
    if x.kind != y.kind {
        return bad("its inputs have different data types");
    }
    if !matches!(condition.data, Data::Int(_)) {
        return bad("its condition must hold bools");
    }
    chosen(condition, x, y)
}

/// The numbers of `x` where a condition is not 0, else those of `y`.
pub(in super::super) fn chosen(
    condition: &Constant,
    x: &Constant,
    y: &Constant,
) -> Result<Constant, Fault> {
    let shape = common_shape(&x.shape, &y.shape)
        .and_then(|both| common_shape(&both, &condition.shape))
        .ok_or_else(|| mismatch(&x.shape, &y.shape))?;
    bounded_len(&shape)?;
    let index =
        |c: &Constant| broadcast(&c.shape, &shape).ok_or_else(|| mismatch(&c.shape, &shape));
    let chosen = condition.data.gather(&index(condition)?, 0.0).floats();
    fn mixed<T: Copy, C: FromIterator<T>>(chosen: &[f32], x: &[T], y: &[T]) -> C {
        let both = x.iter().zip(y).zip(chosen);
        both.map(|((x, y), &c)| if c != 0.0 { *x } else { *y })
            .collect()
    }
    let data = match (
        x.data.gather(&index(x)?, 0.0),
        y.data.gather(&index(y)?, 0.0),
    ) {
        (Data::Int(x), Data::Int(y)) => Data::Int(mixed(&chosen, &x, &y)),
        (Data::Float(x), Data::Float(y)) => Data::Float(mixed(&chosen, &x, &y)),
        (x, y) => Data::double(mixed(&chosen, &doubles(&x), &doubles(&y))),
    };
    let kind = x.kind;
    Ok(Constant { shape, kind, data })
}

/// The numbers as floats of 32 bits.
pub(in super::super) fn floats(from: &Constant) -> Constant {
    Constant {
        kind: DataType::Float,
        data: Data::Float(from.data.floats()),
        ..from.clone()
    }
}

/// 1.0 where a condition is as `of` asks, else 0.0.
pub(in super::super) fn truths(from: &Constant, of: impl Fn(bool) -> bool) -> Constant {
    let one = |v: &f32| f32::from(of(*v != 0.0));
    Constant {
        kind: DataType::Float,
        data: Data::Float(from.data.floats().iter().map(one).collect()),
        ..from.clone()
    }
}

/// The natural logarithms of positive numbers.
pub(in super::super) fn logarithms(from: &Constant) -> Result<Constant, Fault> {
    let from = floats(from);
    match from.data.floats().iter().all(|&v| v > 0.0) {
        true => unary("Log", &from),
        false => unsupported("its base is a constant that is not positive"),
    }
}
