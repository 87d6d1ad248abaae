//! Powers: products of a whole exponent, roots of a half one, else the exponential of a logarithm.

use super::activation::exp_of;
use super::builder::Builder;
use super::call::{Call, Fault, Value, unsupported};
use super::compose::{ANY, Composer};
use super::constant::{Constant, Data};
use super::element::{Arithmetic, Stretched, of_each, two};
use super::fold;
use super::function::root;
use super::kind::DataType;
use super::nary::on;
use crate::graph::{Function, Op, ValueId, Whole};

/// The largest whole exponent that is computed by products.
const MOST: f32 = 64.0;
/// The most different exponents of one node that are made of products.
const DIFFERENT: usize = 16;

/// Pow of a value by constants, of constants by a value, and of a value by another.
pub(super) fn pow(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (base, exponent) = (call.required(0)?, call.required(1)?);
    match (base, exponent) {
        (_, Value::Constant(_)) => by_constants(call, builder),
        (Value::Constant(base), _) => {
            let logarithms = Value::Constant(fold::logarithms(base)?);
            let inner = two(
                call,
                builder,
                (Arithmetic::Mul, "inner"),
                exponent,
                &logarithms,
            )?;
            exponential(call, builder, &inner)
        }
        _ => by_exponential(call, builder, exponent),
    }
}

/// The powers of constant exponents: those that are products each where it is asked for, all others by one
/// exponential.
fn by_constants(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (_, shape, batch) = call.secret_at(0)?;
    let (given, exponents) = call.weights(1)?;
    let exponents: Vec<f32> = exponents.iter().map(|&e| as_half(e)).collect();
    if call.makes_integers() && exponents.iter().any(|e| *e < 0.0 || e.fract() != 0.0) {
        return unsupported(
            "it makes integers by a negative exponent, or a fraction: cast to float before",
        );
    }
    let mut different = exponents.clone();
    different.sort_by(f32::total_cmp);
    different.dedup();
    let out = Stretched::new(given, &exponents, shape, batch)?.out;
    if let (&[exponent], true) = (&different[..], out == shape) {
        return of_each(call, builder, |c, x| power(c, x, exponent));
    }
    let (products, others): (Vec<f32>, Vec<f32>) =
        different.into_iter().partition(|&e| is_product(e));
    if products.len() > DIFFERENT {
        return unsupported(format!(
            "it has {} different whole and half exponents, more than {DIFFERENT}",
            products.len()
        ));
    }
    let constant = |of: &dyn Fn(f32) -> f32| {
        Value::Constant(Constant {
            shape: given.to_vec(),
            kind: DataType::Float,
            data: Data::Float(exponents.iter().map(|&e| of(e)).collect()),
        })
    };
    let mut parts: Vec<(String, Value, Value)> = Vec::new();
    if !others.is_empty() {
        let other = |e: f32| if is_product(e) { 0.0 } else { e };
        let all = by_exponential(call, builder, &constant(&other))?;
        if products.is_empty() {
            return Ok(all);
        }
        let asked = constant(&|e| f32::from(u8::from(!is_product(e))));
        parts.push(("to others".into(), all, asked));
    }
    for exponent in products {
        let part = format!("to {exponent}");
        let all = of_each(call, builder, |c, x| {
            c.name = format!("{}.{part}", c.name);
            power(c, x, exponent)
        })?;
        let asked = constant(&|e| f32::from(u8::from(e == exponent)));
        parts.push((part, all, asked));
    }
    let mut result: Option<Value> = None;
    for (part, all, asked) in parts {
        let mut one = two(call, builder, (Arithmetic::Mul, &part), &all, &asked)?;
        if let Some(others) = &result {
            let name = format!("{part} and before");
            one = two(call, builder, (Arithmetic::Add, &name), others, &one)?;
        }
        result = Some(one);
    }
    result.map_or_else(|| unsupported("it has no exponent"), Ok)
}

/// Every element, which must be positive, to a power of its own.
fn by_exponential(call: &Call, builder: &mut Builder, exponents: &Value) -> Result<Value, Fault> {
    let log = of_each(call, builder, |c, x| c.function(Function::Log, x, ANY))?;
    let inner = two(call, builder, (Arithmetic::Mul, "inner"), &log, exponents)?;
    exponential(call, builder, &inner)
}

/// The exponential of what a power's logarithm is. Of integers that is next to a whole number, or, of a negative
/// exponent, at most a half, of which nothing is left.
fn exponential(call: &Call, builder: &mut Builder, logarithm: &Value) -> Result<Value, Fault> {
    on(call, builder, logarithm, |c, x| {
        let power = c.each("power", exp_of(ANY), &[x])?;
        if !call.makes_integers() {
            return Ok(power);
        }
        let beside = c.affine("beside", power, 1.0, 0.25)?;
        c.each("whole", Op::Whole(Whole::Down), &[beside])
    })
}

/// How near to a whole number twice an exponent is taken for it: `x` to the rest is 1 to within `2^-21 |ln x|`, less
/// than a logarithm and an exponential lose. A norm of a distance is exported as the power `1 / 2.000001`.
const AS_HALF: f32 = 1.0 / (1 << 20) as f32;

/// An exponent, or the half one that is as good.
fn as_half(exponent: f32) -> f32 {
    let nearest = (2.0 * exponent).round();
    match (2.0 * exponent - nearest).abs() <= AS_HALF && nearest != 0.0 {
        true => nearest / 2.0,
        false => exponent,
    }
}

/// Whether a power of this exponent is made of products, roots and reciprocals.
fn is_product(exponent: f32) -> bool {
    let doubled = 2.0 * exponent.abs();
    doubled.fract() == 0.0 && doubled <= 2.0 * MOST
}

/// `x` to the power `exponent`; of fractions and negative exponents `x` must be positive.
pub(super) fn power(c: &mut Composer, x: ValueId, exponent: f32) -> Result<ValueId, Fault> {
    let doubled = 2.0 * exponent.abs();
    if !is_product(exponent) {
        let log = c.function(Function::Log, x, ANY)?;
        let inner = c.affine("inner", log, exponent, 0.0)?;
        let power = c.each("power", exp_of(ANY), &[inner])?;
        if exponent > 0.0 {
            c.builder.raised.insert(power, x);
        }
        return Ok(power);
    }
    if exponent == 0.0 {
        return c.affine("one", x, 0.0, 1.0);
    }
    // Half a power more is a root, or the inverse of one.
    let half = doubled % 2.0 == 1.0;
    let base = match (half, exponent < 0.0) {
        (true, _) => root(c, x)?,
        (false, false) => x,
        (false, true) => c.reciprocal(x)?,
    };
    let base = match half && exponent < 0.0 {
        true => c.reciprocal(base)?,
        false => base,
    };
    let times = if half { doubled } else { exponent.abs() };
    whole_power(c, base, times as u32)
}

/// `x` times itself, `exponent` factors in all, by squares.
fn whole_power(c: &mut Composer, x: ValueId, exponent: u32) -> Result<ValueId, Fault> {
    let (mut result, mut square, mut left) = (None, x, exponent);
    loop {
        if left % 2 == 1 {
            result = Some(match result {
                None => square,
                Some(made) => c.each(&format!("product {left}"), Op::Mul, &[made, square])?,
            });
        }
        left /= 2;
        match (left, result) {
            (0, Some(made)) => return Ok(made),
            _ => square = c.each(&format!("square {left}"), Op::Mul, &[square, square])?,
        }
    }
}
