//! Element-wise arithmetic and clipping.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::centred::centred;
use super::compose::Composer;
use super::constant::Constant;
use super::kind::DataType;
use super::mask::{hidden, masked};
use super::proto::NodeProto;
use super::steps::{How, Step};
use super::{absorb, quotient, rounding, shape, token};
use crate::graph::{Affine, Op, ValueId, Weights, len};
use crate::index::{broadcast, common_shape};

/// The operations that arithmetic is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
}

/// Add, Sub, Mul and Div with at least one computed factor.
pub(super) fn arithmetic(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let what = match call.node.op_type.as_str() {
        "Add" => Arithmetic::Add,
        "Sub" => Arithmetic::Sub,
        "Mul" => Arithmetic::Mul,
        _ => Arithmetic::Div,
    };
    let inputs = call.inputs.iter().map(|input| input.is_some_and(is_one));
    match beside_one(call.node, &inputs.collect::<Vec<_>>()) {
        Some(same) => Ok(call.required(same)?.clone()),
        None => match with_itself(call, what, call.required(0)?, call.required(1)?) {
            Some(constant) => Ok(Value::Constant(constant)),
            None if what == Arithmetic::Div => rounding::divided(call, builder),
            None => of_inputs(call, builder, what),
        },
    }
}

/// Whether a value is a constant that is a single 1, and stretches nothing.
pub(super) fn is_one(value: &Value) -> bool {
    matches!(value, Value::Constant(constant) if constant.is_one())
}

/// The input that a product or a quotient only hands on, as converters write it behind probabilities: the other
/// one is 1.
pub(super) fn beside_one(node: &NodeProto, are_one: &[bool]) -> Option<usize> {
    match (node.op_type.as_str(), are_one) {
        ("Mul" | "Div", [_, true]) => Some(0),
        ("Mul", [true, _]) => Some(1),
        _ => None,
    }
}

/// `a` and `b`, of which at least one is computed, as a part of the node that `call` is.
pub(super) fn two(
    call: &Call,
    builder: &mut Builder,
    (what, part): (Arithmetic, &str),
    a: &Value,
    b: &Value,
) -> Result<Value, Fault> {
    let both = Call {
        name: format!("{}.{part}", call.name),
        inputs: vec![Some(a), Some(b)],
        ..*call
    };
    of_inputs(&both, builder, what)
}

pub(super) fn of_inputs(
    call: &Call,
    builder: &mut Builder,
    what: Arithmetic,
) -> Result<Value, Fault> {
    match (call.required(0)?, call.required(1)?) {
        (Value::Secret { .. }, Value::Constant(_)) => {
            let x = call.secret_at(0)?.0;
            with_constant(call, builder, what, x, [0, 1])
        }
        (Value::Constant(_), Value::Secret { .. }) => {
            let x = call.secret_at(1)?.0;
            let x = match what {
                Arithmetic::Div => Composer::new(call, builder).reciprocal(x)?,
                _ => x,
            };
            with_constant(call, builder, what, x, [1, 0])
        }
        _ => of_two(call, builder, what),
    }
}

/// `x - x` and `x / x`: how converters write zeros and ones of a batch's shape, of its type.
fn with_itself(call: &Call, what: Arithmetic, a: &Value, b: &Value) -> Option<Constant> {
    if call.node.input.first() != call.node.input.get(1) {
        return None;
    }
    let (
        Value::Secret { id, shape, batch },
        Value::Secret {
            id: other,
            shape: like,
            ..
        },
    ) = (a, b)
    else {
        return None;
    };
    let number = match what {
        Arithmetic::Sub => 0.0,
        Arithmetic::Div => 1.0,
        Arithmetic::Add | Arithmetic::Mul => return None,
    };
    (id == other && shape == like).then_some(())?;
    let mut shape = shape.clone();
    if !call.whole {
        shape.insert(*batch, 1);
    }
    let (n, kind) = (len(&shape), call.kind.unwrap_or(DataType::Float));
    Constant::of_numbers(kind, shape, &[number], n).ok()
}

/// The numbers of a constant; where a softmax leaves out what the lowest of them are added to, or marks of a secret
/// mask times them, others that do the same in fixed point.
fn terms_or_factors<'a>(
    call: &Call<'a>,
    builder: &mut Builder,
    what: Arithmetic,
    x: ValueId,
    constant: usize,
) -> Result<(&'a [usize], Weights), Fault> {
    let given = call.constant(constant)?;
    let values = given.data.floats();
    let may_hide = matches!(what, Arithmetic::Add | Arithmetic::Mul);
    if let Some(hidden) = hidden(call, builder, &values).filter(|_| may_hide)
        && (what == Arithmetic::Add || token::ask_for_truths(builder, x)?)
    {
        let hidden = builder.derive(&values, "hidden".into(), || hidden);
        return Ok((&given.shape, hidden));
    }
    call.weights(constant)
}

/// The operation on input `secret` and input `constant`; of a divisor, `x` is the reciprocal already.
fn with_constant(
    call: &Call,
    builder: &mut Builder,
    what: Arithmetic,
    x: ValueId,
    [secret, constant]: [usize; 2],
) -> Result<Value, Fault> {
    let (_, shape, batch) = call.secret_at(secret)?;
    if let Some(value) = masked(call, builder, secret, constant)? {
        return Ok(value);
    }
    if let Some(value) = absorb::sum(call, builder, secret, call.constant(constant)?)? {
        return Ok(value);
    }
    let (given, values) = terms_or_factors(call, builder, what, x, constant)?;
    let fixed = Stretched::new(given, &values, shape, batch)?;
    let x = Composer::new(call, builder).stretched(x, shape, &fixed.out)?;
    let mut number = |what: &str, f: fn(f32) -> f32| {
        let how = format!("{what} {given:?} over {:?}", fixed.out);
        let numbers = || fixed.numbers.iter().copied().map(f).collect();
        builder.derive(&values, how, numbers)
    };
    let none = Weights::default;
    let (scale, shift) = match (what, secret) {
        (Arithmetic::Add, _) => (none(), number("itself", |v| v)),
        (Arithmetic::Sub, 0) => (none(), number("negative", |v| -v)),
        (Arithmetic::Sub, _) => (number("-1", |_| -1.0), number("itself", |v| v)),
        (Arithmetic::Mul, _) | (Arithmetic::Div, 1) => (number("itself", |v| v), none()),
        (Arithmetic::Div, _) => (number("reciprocal", |v| 1.0 / v), none()),
    };
    if scale.iter().any(|v: &f32| !v.is_finite()) {
        return unsupported("it divides by 0, or by what is too small for a reciprocal");
    }
    let affine = Affine {
        inner: fixed.inner,
        scale,
        shift,
    };
    let step = Step {
        from: x,
        how: How::With {
            what,
            turned: secret == 1,
            inner: fixed.inner,
            numbers: fixed.numbers.into(),
        },
    };
    let shape = fixed.out;
    let id = builder.add(
        call.name.clone(),
        Op::Affine(affine),
        vec![x],
        shape.clone(),
    )?;
    builder.steps.entry(id).or_insert(step);
    let batch = fixed.batch;
    let made = Value::Secret { id, shape, batch };
    quotient::with_number(call, builder, what, secret, &made)?;
    Ok(made)
}

/// A constant beside a value, by ONNX's rules of broadcasting.
pub(super) struct Stretched {
    /// The item shape of the result.
    pub out: Vec<usize>,
    /// Where the batch axis of the result stands.
    pub batch: usize,
    /// Neighbouring elements of the result that share a number.
    pub inner: usize,
    pub numbers: Vec<f32>,
}

impl Stretched {
    /// The constant of the shape `given` beside a value of the item shape `shape`.
    pub(super) fn new(
        given: &[usize],
        values: &[f32],
        shape: &[usize],
        batch: usize,
    ) -> Result<Stretched, Fault> {
        let met = Met::new(given, shape, batch)?;
        let item = match met.items {
            None => values.to_vec(),
            Some(at) => one_item(given, at, values).ok_or_else(|| {
                Fault::Unsupported(format!(
                    "its constant has {} different items along the batch axis",
                    given[at]
                ))
            })?,
        };
        let (inner, numbers) =
            channels(&met.fixed, &item, &met.out).ok_or_else(|| misfit(given, shape))?;
        Ok(Stretched {
            out: met.out,
            batch: met.batch,
            inner,
            numbers,
        })
    }
}

fn misfit(given: &[usize], shape: &[usize]) -> Fault {
    Fault::Bad(format!(
        "its constant of the shape {given:?} does not fit the item shape {shape:?}"
    ))
}

/// The shapes of a constant and of an item that meet.
struct Met {
    /// Which axis of the constant meets the batch axis, if it has so many.
    items: Option<usize>,
    /// The constant's other axes.
    fixed: Vec<usize>,
    /// The item shape of the result.
    out: Vec<usize>,
    /// Where the batch axis of the result stands.
    batch: usize,
}

impl Met {
    fn new(given: &[usize], shape: &[usize], batch: usize) -> Result<Met, Fault> {
        // Axes are matched from the last one: so many stand from the batch on.
        let from_batch = shape.len() + 1 - batch;
        let items = given.len().checked_sub(from_batch);
        let mut fixed = given.to_vec();
        items.map(|at| fixed.remove(at));
        let out = common_shape(&fixed, shape).ok_or_else(|| misfit(given, shape))?;
        super::constant::bounded_len(&out)?;
        let batch = out.len() + 1 - from_batch;
        Ok(Met {
            items,
            fixed,
            out,
            batch,
        })
    }
}

/// The elements at the first place of axis `at`, if they are the same at all places.
fn one_item(shape: &[usize], at: usize, values: &[f32]) -> Option<Vec<f32>> {
    let inner = len(&shape[at + 1..]);
    let mut item = Vec::new();
    if values.is_empty() {
        return None;
    }
    for block in values.chunks((shape[at] * inner).max(1)) {
        let (first, others) = block.split_at_checked(inner)?;
        if others.chunks(inner).any(|other| other != first) {
            return None;
        }
        item.extend_from_slice(first);
    }
    Some(item)
}

/// A constant stretched over an item of shape `to`, as neighbouring elements per number and the
/// numbers; as few of them as its shape allows.
fn channels(from: &[usize], values: &[f32], to: &[usize]) -> Option<(usize, Vec<f32>)> {
    let padded: Vec<usize> = [vec![1; to.len().checked_sub(from.len())?], from.to_vec()].concat();
    let varies: Vec<usize> = (0..to.len()).filter(|&i| padded[i] != 1).collect();
    let (Some(&first), Some(&last)) = (varies.first(), varies.last()) else {
        return Some((len(to).max(1), vec![*values.first()?]));
    };
    if (first..=last).all(|i| padded[i] == to[i]) {
        return Some((len(&to[last + 1..]), values.to_vec()));
    }
    let index = broadcast(&padded, to)?;
    Some((1, index.iter().map(|&i| values[i as usize]).collect()))
}

fn of_two(call: &Call, builder: &mut Builder, what: Arithmetic) -> Result<Value, Fault> {
    let ((x, a, first), (y, b, second)) = (call.secret_at(0)?, call.secret_at(1)?);
    let op = match what {
        Arithmetic::Add => Op::Add,
        Arithmetic::Sub => Op::Sub,
        Arithmetic::Mul | Arithmetic::Div => Op::Mul,
    };
    // Axes are matched from the last one, the batch axis among them.
    if a.len() - first != b.len() - second {
        return unsupported(format!(
            "the batch axes of its inputs, of the item shapes {a:?} and {b:?}, do not meet: give both the same number of axes"
        ));
    }
    let Some(out) = common_shape(a, b) else {
        return bad(format!(
            "the item shapes {a:?} and {b:?} do not fit together"
        ));
    };
    let y = match what {
        Arithmetic::Div => Composer::new(call, builder).reciprocal(y)?,
        _ => y,
    };
    let mut compose = Composer::new(call, builder);
    let inputs = vec![
        compose.stretched(x, a, &out)?,
        compose.stretched(y, b, &out)?,
    ];
    let beyond = match what {
        Arithmetic::Sub => centred(call, builder, [inputs[0], inputs[1]], &out)?,
        _ => None,
    };
    let id = match beyond {
        Some(id) => id,
        None => builder.add(call.name.clone(), op, inputs, out.clone())?,
    };
    let made = Value::Secret {
        id,
        batch: out.len() - (a.len() - first),
        shape: out,
    };
    quotient::with_whole(call, builder, what, &made)?;
    Ok(made)
}

/// Expand of a computed value; the batch keeps its size.
pub(super) fn expand(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape, batch) = call.secret_at(0)?;
    let target = shape::sizes_of(call.ints(1)?)?;
    let met = Met::new(&target, shape, batch)?;
    let items = met.items.map_or(1, |at| target[at] as i64);
    if items != 1 && builder.batch != Some(items) {
        return unsupported(format!("it makes {items} of each item"));
    }
    let id = Composer::new(call, builder).stretched(x, shape, &met.out)?;
    Ok(Value::Secret {
        id,
        shape: met.out,
        batch: met.batch,
    })
}

/// Neg of a computed value.
pub(super) fn negative(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, ..) = call.secret_at(0)?;
    let op = Op::Affine(Affine {
        inner: builder.len(x),
        scale: vec![-1.0].into(),
        shift: Weights::default(),
    });
    unary(call, builder, op)
}

/// An operation on every element by itself, wherever the batch axis stands.
pub(super) fn unary(call: &Call, builder: &mut Builder, op: Op) -> Result<Value, Fault> {
    let (x, shape, batch) = call.secret_at(0)?;
    let id = builder.add(call.name.clone(), op, vec![x], shape.to_vec())?;
    let shape = shape.to_vec();
    Ok(Value::Secret { id, shape, batch })
}

/// What `make` makes of every element of the first input, wherever the batch axis stands.
pub(super) fn of_each(
    call: &Call,
    builder: &mut Builder,
    make: impl FnOnce(&mut Composer, ValueId) -> Result<ValueId, Fault>,
) -> Result<Value, Fault> {
    let (x, shape, batch) = call.secret_at(0)?;
    let id = make(&mut Composer::new(call, builder), x)?;
    let shape = shape.to_vec();
    Ok(Value::Secret { id, shape, batch })
}

pub(super) fn clip(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let bound = |i: usize, name: &str| -> Result<Option<f32>, Fault> {
        if call.opset < 11 {
            return Ok(call.attribute(name).map(|a| a.f.unwrap_or(0.0)));
        }
        match call.optional_constant(i)? {
            None => Ok(None),
            Some(c) if c.data.len() == 1 => Ok(Some(c.data.floats()[0])),
            Some(_) => bad(format!("its input {i} is not one number")),
        }
    };
    let (low, high) = (bound(1, "min")?, bound(2, "max")?);
    if [low, high].into_iter().flatten().any(f32::is_nan) {
        return unsupported("one of its bounds is NaN");
    }
    // The largest numbers stand for no bound in many files.
    let (low, high) = (
        low.filter(|&v| v > -f32::MAX),
        high.filter(|&v| v < f32::MAX),
    );
    let op = match (low, high) {
        (None, None) => return Ok(call.required(0)?.clone()),
        (Some(l), None) if l >= f32::MAX => {
            return unsupported(format!("its lower bound is {l}"));
        }
        // The upper bound is the last word.
        (Some(l), Some(h)) if l > h => {
            return of_each(call, builder, |compose, x| {
                compose.affine("bound", x, 0.0, h)
            });
        }
        (None, Some(h)) if h <= -f32::MAX => {
            return unsupported(format!("its upper bound is {h}"));
        }
        (Some(0.0), None) => Op::Relu,
        _ => Op::Clip { low, high },
    };
    unary(call, builder, op)
}
