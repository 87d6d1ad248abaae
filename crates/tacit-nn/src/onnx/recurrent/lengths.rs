//! Sequences that end before the last time step: their states stay as they are from there on, and what is shown of
//! them is 0.

use super::State;
use crate::graph::{FILL, Op, ValueId, Weights};
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, Value, bad, unsupported};
use crate::onnx::compose::Composer;
use crate::onnx::token;

/// How many time steps of an item count.
pub(super) enum Lengths {
    /// Every time step counts.
    All,
    /// The first steps count, as many as everybody knows.
    Known(usize),
    /// The steps before a secret number: the value holds 1 for each of them, and 0 for the others.
    Told(ValueId),
}

impl Lengths {
    /// The lengths of input 4: a constant that all items share, or a whole number of every item.
    pub(super) fn of(call: &Call, builder: &mut Builder, steps: usize) -> Result<Self, Fault> {
        match call.input(4) {
            None => Ok(Lengths::All),
            Some(Value::Secret {
                shape, batch: 0, ..
            }) if shape.is_empty() => Self::told(call, builder, steps),
            Some(Value::Secret { shape, .. }) => bad(format!(
                "its lengths have the item shape {shape:?}; one number of every item is needed"
            )),
            Some(_) => match call.ints(4)? {
                [] => Ok(Lengths::All),
                [n, rest @ ..] if rest.iter().any(|other| other != n) => {
                    unsupported("its constant lengths differ from item to item of a free batch")
                }
                [n, ..] => match usize::try_from(*n) {
                    Ok(n) if n == steps => Ok(Lengths::All),
                    Ok(n @ 1..) if n < steps => Ok(Lengths::Known(n)),
                    _ => bad(format!(
                        "its sequences of {steps} steps have the length {n}"
                    )),
                },
            },
        }
    }

    /// A length is a token: it chooses a row of as many ones as it says.
    fn told(call: &Call, builder: &mut Builder, steps: usize) -> Result<Self, Fault> {
        let classes = steps + 1;
        builder.reserve(classes * steps)?;
        let counts = |e: usize| f32::from(u8::from(e % steps < e / steps));
        let table: Weights = (0..classes * steps).map(counts).collect();
        match token::rows(call, builder, 4, (classes, steps), &table, vec![steps])? {
            Value::Secret { id, .. } => Ok(Lengths::Told(id)),
            _ => unsupported("its lengths are known to the receiver alone"),
        }
    }

    /// Whether nothing counts from step `t` on.
    pub(super) fn is_over(&self, t: usize) -> bool {
        matches!(self, Lengths::Known(n) if t >= *n)
    }

    /// The state after step `t`, which would be `new`, and what is shown of it.
    pub(super) fn after(
        &self,
        c: &mut Composer,
        t: usize,
        new: State,
        before: Option<State>,
    ) -> Result<(State, ValueId), Fault> {
        let Lengths::Told(counts) = *self else {
            return Ok((new, new.hidden));
        };
        let size = c.builder.len(new.hidden);
        let counts = c.spread("counts", counts, vec![size], |_| t)?;
        let shown = c.each("shown", Op::Mul, &[new.hidden, counts])?;
        let hidden = stays(c, counts, shown, before.map(|state| state.hidden))?;
        let cell = match new.cell {
            None => None,
            Some(cell) => {
                let counted = c.each("counted", Op::Mul, &[cell, counts])?;
                let old = before.and_then(|state| state.cell);
                Some(stays(c, counts, counted, old)?)
            }
        };
        Ok((State { hidden, cell }, shown))
    }
}

/// `new`, which is 0 where a step does not count, and `old` there.
fn stays(
    c: &mut Composer,
    counts: ValueId,
    new: ValueId,
    old: Option<ValueId>,
) -> Result<ValueId, Fault> {
    let Some(old) = old else {
        return Ok(new);
    };
    let gone = c.each("gone", Op::Mul, &[old, counts])?;
    let kept = c.each("left", Op::Sub, &[old, gone])?;
    c.each("after", Op::Add, &[new, kept])
}

/// What is shown of a step that does not count; `x` is not read.
pub(super) fn nothing(c: &mut Composer, x: ValueId, size: usize) -> Result<ValueId, Fault> {
    let index = vec![FILL; size];
    c.node(
        "nothing",
        Op::Rearrange { index, fill: 0.0 },
        &[x],
        vec![size],
    )
}
