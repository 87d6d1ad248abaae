//! Values that are known to be others over whole numbers, and what sums, products and rests make of them.
//!
//! A quotient is rounded, its dividend is not: what is rounded of it, and on which side of a limit it is, are found of
//! the dividend.

use super::builder::Builder;
use super::call::{Call, Fault, Value};
use super::compare::is_whole;
use super::compose::Composer;
use super::constant::Constant;
use super::element::{Arithmetic, two};
use super::nary::on;
use super::reduce::sum;
use crate::graph::{ValueId, len};

/// Beyond it float32 has no whole number of every size, and no dividend is exact.
const MOST: f64 = (1 << 24) as f64;

/// Whether a quotient is by whole numbers, and, where these are computed, of whole numbers, too.
pub(super) fn is_by_whole(builder: &Builder, x: &Value, by: &Value) -> bool {
    let whole = |value: &Value| match value {
        Value::Constant(constant) => constant.data.floats().iter().all(|v| v.fract() == 0.0),
        _ => is_whole(builder, value),
    };
    whole(by) && (matches!(by, Value::Constant(_)) || whole(x))
}

/// A value that is another over whole numbers.
#[derive(Clone)]
pub(super) struct Quotient {
    /// The value that is divided, whose elements lie as those of the quotient.
    pub dividend: ValueId,
    pub by: Value,
    /// The item shape and the place of the batch that the value had, which the numbers fit.
    shape: Vec<usize>,
    batch: usize,
}

impl Quotient {
    /// The one number that it is divided by.
    pub(super) fn number(&self) -> Option<f32> {
        match &self.by {
            Value::Constant(by) if by.data.len() == 1 => Some(by.data.floats()[0]),
            _ => None,
        }
    }
}

/// Notes that a value is a quotient of a computed value, which may be stretched, unless it is known to be one.
pub(super) fn note_quotient(
    call: &Call,
    builder: &mut Builder,
    quotient: &Value,
    [x, by]: [&Value; 2],
) -> Result<(), Fault> {
    let (
        Value::Secret { id, shape, batch },
        Value::Secret {
            id: x, shape: of, ..
        },
    ) = (quotient, x)
    else {
        return Ok(());
    };
    let quotient = Quotient {
        dividend: Composer::new(call, builder).stretched(*x, of, shape)?,
        by: by.clone(),
        shape: shape.clone(),
        batch: *batch,
    };
    builder.quotients.entry(*id).or_insert(quotient);
    Ok(())
}

/// A value in the shape of another.
fn like(value: &Value, id: ValueId) -> Value {
    match value {
        Value::Secret { shape, batch, .. } => Value::Secret {
            id,
            shape: shape.clone(),
            batch: *batch,
        },
        other => other.clone(),
    }
}

/// What a value is over which whole numbers, if it is such a quotient or a mean.
pub(super) fn quotient_of(
    call: &Call,
    builder: &mut Builder,
    value: &Value,
) -> Result<Option<[Value; 2]>, Fault> {
    let Value::Secret { id, shape, batch } = value else {
        return Ok(None);
    };
    if let Some(&(x, rows, size)) = builder.means.get(id) {
        let sum = sum(&mut Composer::new(call, builder), x, rows, size)?;
        return Ok(Some([like(value, sum), number(size as f32)]));
    }
    let Some(quotient) = builder.quotients.get(id) else {
        return Ok(None);
    };
    let dividend = like(value, quotient.dividend);
    let is_as_made = (&quotient.shape, quotient.batch) == (shape, *batch);
    // In another shape, each element is still that of the dividend over the one number.
    Ok(match quotient.number() {
        Some(by) => Some([dividend, number(by)]),
        None => is_as_made.then(|| [dividend, quotient.by.clone()]),
    })
}

/// A constant that is one number.
pub(super) fn number(v: f32) -> Value {
    Value::Constant(Constant::floats(vec![], vec![v]))
}

/// The largest denominator of a fraction that a limit is taken for.
const DENOMINATOR: u16 = 100;

/// A limit as a fraction of the least denominator that float32 does not tell from it.
fn fraction(limit: f32) -> Option<[f32; 2]> {
    (1..=DENOMINATOR).find_map(|of| {
        let of = f32::from(of);
        let parts = (limit * of).round();
        (parts / of == limit && parts.abs() < MOST as f32).then_some([parts, of])
    })
}

/// A value in place of its quotient by computed numbers, which are positive, and a constant times these in place of the
/// constant that the quotient is compared with: the quotient is rounded, and may be on either side. A limit that is a
/// fraction is one of so many parts of the numbers.
pub(super) fn undivided(
    call: &Call,
    builder: &mut Builder,
    quotient: &Value,
    other: &Value,
) -> Result<Option<[Value; 2]>, Fault> {
    let Value::Constant(limit) = other else {
        return Ok(None);
    };
    let Some([x, by @ Value::Secret { .. }]) = quotient_of(call, builder, quotient)? else {
        return Ok(None);
    };
    let times = |builder: &mut Builder, part: &str, x: &Value, factor: &Value| {
        two(call, builder, (Arithmetic::Mul, part), x, factor)
    };
    let numbers = limit.data.floats();
    let &[one] = &numbers[..] else {
        return Ok(Some([x, times(builder, "so many times", &by, other)?]));
    };
    let [parts, of] = fraction(one).unwrap_or([one, 1.0]);
    let x = times(builder, "all parts", &x, &number(of))?;
    Ok(Some([
        x,
        times(builder, "so many parts", &by, &number(parts))?,
    ]))
}

/// What a value is over which one number, if it is such a quotient by a constant.
fn by_number(builder: &Builder, value: &Value) -> Option<(Value, f32)> {
    let Value::Secret { id, .. } = value else {
        return None;
    };
    let quotient = builder.quotients.get(id)?;
    Some((like(value, quotient.dividend), quotient.number()?))
}

/// Whether a number is a whole one that float32 has.
fn is_exact(v: f64) -> bool {
    v.fract() == 0.0 && v.abs() < MOST
}

/// Notes that a value is a quotient by one number, if its elements lie as those of the dividend.
fn note(builder: &mut Builder, made: &Value, dividend: &Value, by: f32) {
    if let (Value::Secret { id, shape, batch }, Value::Secret { id: of, .. }) = (made, dividend)
        && builder.len(*of) == len(shape)
    {
        let quotient = Quotient {
            dividend: *of,
            by: number(by),
            shape: shape.clone(),
            batch: *batch,
        };
        builder.quotients.insert(*id, quotient);
    }
}

/// Notes of what a quotient and one number make what that is a quotient of; `secret` is the place of the quotient.
pub(super) fn with_number(
    call: &Call,
    builder: &mut Builder,
    what: Arithmetic,
    secret: usize,
    made: &Value,
) -> Result<(), Fault> {
    let (Some(x), Some(Value::Constant(c))) = (call.input(secret), call.input(1 - secret)) else {
        return Ok(());
    };
    let Some((dividend, by)) = by_number(builder, x).filter(|_| c.data.len() == 1) else {
        return Ok(());
    };
    let (c, of) = (f64::from(c.data.floats()[0]), f64::from(by));
    let (factor, term, by) = match (what, secret) {
        (Arithmetic::Add, _) => (1.0, c * of, of),
        (Arithmetic::Sub, 0) => (1.0, -c * of, of),
        (Arithmetic::Sub, _) => (-1.0, c * of, of),
        (Arithmetic::Mul, _) => (c, 0.0, of),
        (Arithmetic::Div, 0) => (1.0, 0.0, of * c),
        (Arithmetic::Div, _) => return Ok(()),
    };
    if ![factor, term, by].into_iter().all(is_exact) || factor == 0.0 || by == 0.0 {
        return Ok(());
    }
    let dividend = on(call, builder, &dividend, |c, x| {
        c.name = format!("{}.dividend", c.name);
        c.affine("of it", x, factor as f32, term as f32)
    })?;
    note(builder, made, &dividend, by as f32);
    Ok(())
}

/// Notes of the sum or the difference of a quotient and whole numbers what that is a quotient of.
pub(super) fn with_whole(
    call: &Call,
    builder: &mut Builder,
    what: Arithmetic,
    made: &Value,
) -> Result<(), Fault> {
    if builder.quotients.is_empty() || !matches!(what, Arithmetic::Add | Arithmetic::Sub) {
        return Ok(());
    }
    let (a, b) = (call.required(0)?, call.required(1)?);
    // Of a stretched quotient nothing is noted.
    let whole = |builder: &Builder, quotient: &Value, whole: &Value| {
        quotient.place() == made.place() && is_whole(builder, whole)
    };
    let times = |builder: &mut Builder, whole: &Value, by| {
        two(
            call,
            builder,
            (Arithmetic::Mul, "times"),
            whole,
            &number(by),
        )
    };
    let (dividend, by) = if let Some((x, by)) = by_number(builder, a)
        && whole(builder, a, b)
    {
        let whole = times(builder, b, by)?;
        (two(call, builder, (what, "dividend"), &x, &whole)?, by)
    } else if let Some((x, by)) = by_number(builder, b)
        && whole(builder, b, a)
    {
        let whole = times(builder, a, by)?;
        (two(call, builder, (what, "dividend"), &whole, &x)?, by)
    } else {
        return Ok(());
    };
    note(builder, made, &dividend, by);
    Ok(())
}

/// The rest of quotient `x` by the positive whole number `by`: the rest of its dividend by `by` times its divisor,
/// over that divisor. `None` where one of these is no single positive number, or not exact in float32.
pub(super) fn rest_of(
    call: &Call,
    builder: &mut Builder,
    x: &Value,
    by: &Value,
    rest: impl FnOnce(&mut Builder, &Value, &Value) -> Result<Value, Fault>,
) -> Result<Option<Value>, Fault> {
    let (Some((dividend, of)), Value::Constant(by)) = (by_number(builder, x), by) else {
        return Ok(None);
    };
    let &[by] = &by.data.floats()[..] else {
        return Ok(None);
    };
    let times = f64::from(by) * f64::from(of);
    if by <= 0.0 || of <= 0.0 || !is_exact(by.into()) || !is_exact(times) {
        return Ok(None);
    }
    let rest = rest(builder, &dividend, &number(times as f32))?;
    let made = on(call, builder, &rest, |c, x| {
        c.affine("of the quotient", x, 1.0 / of, 0.0)
    })?;
    note(builder, &made, &rest, of);
    Ok(Some(made))
}
