//! Scaled numbers beside constants, as `(x - mean) / deviation < edge`: on which side they are is found of the numbers
//! themselves.
//!
//! Edges are often scaled numbers too, as quantiles are, and then many numbers are just at one. What scales is rounded
//! in shares otherwise than in float32, but it keeps the order: a scaled number is beyond a limit if and only if the
//! number is beyond another, which is searched for among all floats.

use super::builder::Builder;
use super::call::{Call, Fault, Value, unsupported};
use super::compare::{is_whole, not};
use super::compose::Composer;
use super::constant::Constant;
use super::element::{Arithmetic, Stretched, two};
use super::nary::on;
use super::reduce::sum;
use super::steps::{How, One, Step, apply, direction, factor};
use super::tables::{self, above, below};
use crate::graph::{FILL, Op, ValueId, Weights, len};
use crate::index::broadcast;
use crate::optimise::first;

/// The most elements whose limits are searched for, and the most steps to each.
const MOST: usize = 1 << 17;
const MOST_STEPS: usize = 32;
/// The most steps of all elements of a model through which limits are searched for.
const MOST_SEARCHED: usize = 1 << 21;

/// Limits so near to a multiple of this are taken for it: numbers of tables are such multiples, and floats next to one
/// are not told from it in shares.
const GRID: f32 = 1.0 / 1024.0;
const NEAR: f32 = 1.0 / (1 << 20) as f32;

/// What shares hardly tell apart: a limit is no farther from a multiple that leads to the number it is of, and so far
/// from one is what leaves it out.
const UNTOLD: f32 = 1.0 / (1 << 16) as f32;

/// The step that makes a value, a quotient's or a mean's division among them.
fn step(call: &Call, builder: &mut Builder, id: ValueId) -> Result<Option<Step>, Fault> {
    let over = |from, by: f32| Step {
        from,
        how: How::With {
            what: Arithmetic::Div,
            turned: false,
            inner: 1,
            numbers: vec![by].into(),
        },
    };
    if let Some(&(x, rows, size)) = builder.means.get(&id) {
        let sum = sum(&mut Composer::new(call, builder), x, rows, size)?;
        return Ok(Some(over(sum, size as f32)));
    }
    if let Some(step) = builder.steps.get(&id) {
        return Ok(Some(step.clone()));
    }
    Ok((builder.quotients.get(&id))
        .and_then(|quotient| Some(over(quotient.dividend, quotient.number()?))))
}

/// Where numbers begin to be beyond a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    /// Numbers from this multiple of [`GRID`] on are beyond the limit.
    From(f32),
    /// Numbers above this multiple of [`GRID`] are beyond the limit.
    Above(f32),
    /// Numbers from this float on are beyond the limit; it is near no multiple of [`GRID`].
    First(f32),
}

impl Limit {
    /// The number that those beyond are at least.
    fn least(&self) -> f32 {
        match *self {
            Limit::From(v) | Limit::First(v) => v,
            Limit::Above(v) => (v + UNTOLD).max(v.next_up()),
        }
    }

    /// The number that those beyond are more than.
    fn most_below(&self) -> f32 {
        match *self {
            Limit::Above(v) => v,
            Limit::First(v) => v.next_down(),
            Limit::From(v) => (v - UNTOLD).min(v.next_down()),
        }
    }
}

/// Where numbers begin that a rising function leads to at least `to`, or beyond it; none if all floats are on one side.
fn limit(of: impl Fn(f32) -> f32, to: f32, strictly: bool) -> Option<Limit> {
    let holds = |x: f32| {
        let y = of(x);
        y > to || !strictly && y == to
    };
    let first = first(holds)?;
    let plain = (first / GRID).round() * GRID;
    let apart = (plain - first).abs();
    let is_near =
        apart <= NEAR * first.abs() || apart <= UNTOLD && (of(plain) - to).abs() <= NEAR * to.abs();
    Some(match is_near && plain.is_finite() {
        true if holds(plain) => Limit::From(plain),
        true => Limit::Above(plain),
        false => Limit::First(first),
    })
}

/// A value as steps from another, element by element.
struct Scaled {
    root: ValueId,
    /// The places of the elements in the root.
    places: Vec<u32>,
    /// The steps of every element, the last one first.
    steps: Vec<Vec<One>>,
}

impl Scaled {
    /// Elements of a value, at these places.
    fn of(
        call: &Call,
        builder: &mut Builder,
        id: ValueId,
        mut places: Vec<u32>,
    ) -> Result<Option<Self>, Fault> {
        let mut steps: Vec<Vec<One>> = vec![vec![]; places.len()];
        let mut at = id;
        loop {
            if steps.first().is_some_and(|steps| steps.len() > MOST_STEPS) {
                return Ok(None);
            }
            if let Some(step) = step(call, builder, at)? {
                let each = steps.iter_mut().zip(&places);
                each.for_each(|(steps, &place)| steps.push(step.at(place as usize)));
                at = step.from;
                continue;
            }
            let Some(node) = at.checked_sub(1).map(|node| &builder.nodes[node]) else {
                break;
            };
            let Op::Rearrange { index, .. } = &node.op else {
                break;
            };
            let moved: Vec<u32> = places.iter().map(|&place| index[place as usize]).collect();
            if moved.contains(&FILL) {
                break;
            }
            (at, places) = (node.inputs[0], moved);
        }
        let is_scaled = steps.first().is_some_and(|steps| !steps.is_empty());
        let found = is_scaled.then_some(Scaled {
            root: at,
            places,
            steps,
        });
        Ok(found.filter(|scaled| scaled.is_fine(builder)))
    }

    /// Whether the root has at least as fine a scale, or numbers that have no scale: those of an input, and whole ones.
    fn is_fine(&self, builder: &Builder) -> bool {
        let factor = |steps: &Vec<One>| steps.iter().copied().map(factor).product::<f32>();
        let root = Value::Secret {
            id: self.root,
            shape: vec![],
            batch: 0,
        };
        self.root == 0
            || is_whole(builder, &root)
            || self.steps.iter().all(|steps| factor(steps) <= 1.0)
    }

    /// The direction of all elements, if it is one.
    fn direction(&self) -> Option<f32> {
        let of_one = |steps: &Vec<One>| {
            let mut all = steps.iter().copied().map(direction);
            all.try_fold(1.0, |product, step| Some(product * step?))
        };
        let mut all = self.steps.iter().map(of_one);
        let first = all.next()??;
        all.all(|other| other == Some(first)).then_some(first)
    }

    /// The limits of numbers times the direction that lead to at least each of these, or beyond it, if all have one.
    fn limits(&self, direction: f32, of: &[f32], strictly: bool) -> Option<Vec<Limit>> {
        let mut found: Vec<Limit> = Vec::with_capacity(of.len());
        for (e, (steps, &limit_of)) in self.steps.iter().zip(of).enumerate() {
            let known = e.checked_sub(1).filter(|&last| {
                of[last].to_bits() == limit_of.to_bits() && self.steps[last] == *steps
            });
            found.push(match known {
                Some(last) => found[last],
                None => {
                    let made = |x| steps.iter().rev().copied().fold(direction * x, apply);
                    limit(made, limit_of, strictly)?
                }
            });
        }
        Some(found)
    }
}

/// A comparison of a scaled number with a constant: 1 where it holds, else 0.
pub(super) fn found(call: &Call, builder: &mut Builder) -> Result<Option<Value>, Fault> {
    let (x, constant, turned) = match (call.required(0)?, call.required(1)?) {
        (x @ Value::Secret { .. }, Value::Constant(c)) => (x, c, false),
        (Value::Constant(c), x @ Value::Secret { .. }) => (x, c, true),
        _ => return Ok(None),
    };
    let Value::Secret { id, shape, batch } = x else {
        return Ok(None);
    };
    let numbers = constant.data.floats();
    let fixed = Stretched::new(&constant.shape, &numbers, shape, *batch)?;
    let n = len(&fixed.out);
    let Some(index) = broadcast(shape, &fixed.out).filter(|_| n <= MOST) else {
        return Ok(None);
    };
    let Some(scaled) = Scaled::of(call, builder, *id, index)? else {
        return Ok(None);
    };
    let Some(direction) = scaled.direction() else {
        return Ok(None);
    };
    builder.searched += n * scaled.steps.first().map_or(0, Vec::len);
    if builder.searched > MOST_SEARCHED {
        return Ok(None);
    }
    let of = |e: usize| fixed.numbers[e / fixed.inner % fixed.numbers.len()];
    let of: Vec<f32> = (0..n).map(of).collect();
    let root = Composer::new(call, builder).moved(
        "numbers",
        scaled.root,
        scaled.places.clone(),
        fixed.out.clone(),
    )?;
    let root = Value::Secret {
        id: root,
        shape: fixed.out.clone(),
        batch: fixed.batch,
    };
    let mut side = |strictly: bool| {
        let Some(limits) = scaled.limits(direction, &of, strictly) else {
            return Ok(None);
        };
        let part = if strictly { "beyond" } else { "reached" };
        let call = Call {
            name: format!("{}.{part}", call.name),
            inputs: call.inputs.clone(),
            ..*call
        };
        side(&call, builder, (&root, direction), &limits, strictly).map(Some)
    };
    let (strictly, is_rest) = match (call.node.op_type.as_str(), turned) {
        ("GreaterOrEqual", false) | ("LessOrEqual", true) => (false, false),
        ("Greater", false) | ("Less", true) => (true, false),
        ("Less", false) | ("Greater", true) => (false, true),
        ("LessOrEqual", false) | ("GreaterOrEqual", true) => (true, true),
        _ => {
            let (Some(reached), Some(beyond)) = (side(false)?, side(true)?) else {
                return Ok(None);
            };
            let what = (Arithmetic::Sub, "equal");
            return two(call, builder, what, &reached, &beyond).map(Some);
        }
    };
    match side(strictly)? {
        Some(found) if is_rest => not(call, builder, &found).map(Some),
        found => Ok(found),
    }
}

/// A constant less a value, for its sign: a difference, and no product with -1.
pub(super) fn less(
    call: &Call,
    builder: &mut Builder,
    part: &str,
    constant: &Constant,
    x: &Value,
) -> Result<Value, Fault> {
    let Value::Secret { id, shape, batch } = x else {
        return unsupported("it compares what exists only in the clear, at the end of the model");
    };
    let numbers = constant.data.floats();
    if let Some(number) = numbers.iter().find(|number| !number.is_finite()) {
        return unsupported(format!("it compares with {number}"));
    }
    let fixed = Stretched::new(&constant.shape, &numbers, shape, *batch)?;
    let number = |e: usize| fixed.numbers[e / fixed.inner % fixed.numbers.len()];
    let numbers: Weights = (0..len(&fixed.out)).map(number).collect();
    let mut c = Composer::new(call, builder);
    let x = c.stretched(*id, shape, &fixed.out)?;
    c.name = format!("{}.{part}", c.name);
    Ok(Value::Secret {
        id: below(&mut c, x, numbers)?,
        shape: fixed.out,
        batch: fixed.batch,
    })
}

/// 1 where a value times the direction is beyond its limits, else 0. Whether `strictly` is what the operation says: of
/// the limits themselves, which are the model's, the signs that are taken tell nothing.
fn side(
    call: &Call,
    builder: &mut Builder,
    (x, direction): (&Value, f32),
    limits: &[Limit],
    strictly: bool,
) -> Result<Value, Fault> {
    let number = |limit: &Limit| match strictly {
        true => direction * limit.most_below(),
        false => direction * limit.least(),
    };
    let numbers: Weights = limits.iter().map(number).collect();
    on(call, builder, x, |c, x| {
        // What is not more is on the other side, or just there.
        let rest = match (direction > 0.0) == strictly {
            true => below(c, x, numbers)?,
            false => above(c, x, numbers)?,
        };
        let side = c.each("side", Op::NonNegative, &[rest])?;
        match strictly {
            true => tables::not(c, side),
            false => Ok(side),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quantile of scaled whole numbers is one of them scaled: the limit is that number, with it or without.
    #[test]
    fn limits_of_scaled_whole_numbers_are_whole() {
        for (mean, deviation) in [(4.031_57, 2.017_33), (2.486_666_7, 1.705_464_6)] {
            let scale = |x: f32| (x - mean) / deviation;
            for whole in 0..40 {
                let (whole, edge) = (whole as f32, scale(whole as f32));
                assert_eq!(limit(scale, edge, false), Some(Limit::From(whole)));
                assert_eq!(limit(scale, edge, true), Some(Limit::Above(whole)));
            }
        }
    }

    #[test]
    fn limits_of_others_are_the_first_floats_beyond() {
        let scale = |x: f32| x * 0.3 - 0.7;
        let Some(Limit::First(found)) = limit(scale, 0.012_345, false) else {
            panic!("it is no multiple");
        };
        assert!(scale(found) >= 0.012_345 && scale(found.next_down()) < 0.012_345);
        assert_eq!(limit(|_| 1.0, 0.0, true), None);
        assert_eq!(limit(|_| -1.0, 0.0, false), None);
    }
}
