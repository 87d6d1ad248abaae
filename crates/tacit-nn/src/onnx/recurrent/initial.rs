//! The states that a recurrent node begins with.

use super::{Cell, CellKind, State};
use crate::graph::{Affine, FILL, Op, ValueId, Weights};
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, Value, unsupported};
use crate::onnx::compose::Composer;
use crate::onnx::constant::Constant;

impl Cell {
    /// The state of direction `d` of so many before the first step; `None` where it is 0.
    pub(super) fn initial(
        &self,
        call: &Call,
        c: &mut Composer,
        [d, directions]: [usize; 2],
    ) -> Result<Option<State>, Fault> {
        let hidden = part(call, c, (5, "initial state"), [d, directions, self.hidden])?;
        let cell = match self.kind {
            CellKind::Lstm => part(call, c, (6, "initial cell"), [d, directions, self.hidden])?,
            _ => None,
        };
        match (hidden, cell) {
            (None, None) => Ok(None),
            (Some(hidden), cell) => Ok(Some(State { hidden, cell })),
            (None, Some(cell)) => {
                let hidden = zeros(c, cell, self.hidden)?;
                let cell = Some(cell);
                Ok(Some(State { hidden, cell }))
            }
        }
    }
}

/// Constant steps as those of an item whose state is computed, where they are the same for every item.
pub(super) fn of_constants(
    call: &Call,
    builder: &mut Builder,
    steps: &Constant,
) -> Result<Value, Fault> {
    let stands = usize::from(call.int("layout", 0) == 0);
    let state = (5..7).find_map(|i| match call.input(i) {
        Some(Value::Secret { id, .. }) => Some(*id),
        _ => None,
    });
    let (Some(state), &[a, b, width]) = (state, &steps.shape[..]) else {
        return unsupported("its input 0 is a constant, and so is its state");
    };
    let (items, time) = if stands == 0 { (a, b) } else { (b, a) };
    if items != 1 {
        return unsupported("its input 0 is a constant of several items");
    }
    let numbers = steps.data.floats();
    if numbers.iter().any(|v| !v.is_finite()) {
        return unsupported("its input 0 is a constant that is not finite");
    }
    let c = &mut Composer::new(call, builder);
    let zeros = zeros(c, state, time * width)?;
    let op = Op::Affine(Affine {
        inner: 1,
        scale: Weights::default(),
        shift: numbers.to_vec().into(),
    });
    let id = match numbers.iter().all(|&v| v == 0.0) {
        true => zeros,
        false => c.each("steps", op, &[zeros])?,
    };
    Ok(Value::Secret {
        id,
        shape: vec![time, width],
        batch: stands,
    })
}

/// What input `i` has of direction `d`; `None` where that is 0.
fn part(
    call: &Call,
    c: &mut Composer,
    (i, what): (usize, &str),
    [d, directions, hidden]: [usize; 3],
) -> Result<Option<ValueId>, Fault> {
    let own = d * hidden..(d + 1) * hidden;
    let stands = usize::from(call.int("layout", 0) == 0);
    match call.input(i) {
        None => Ok(None),
        Some(Value::Constant(constant)) => {
            let numbers = constant.data.floats();
            if numbers.iter().all(|&v| v == 0.0) {
                return Ok(None);
            }
            if numbers.len() != directions * hidden || numbers.iter().any(|v| !v.is_finite()) {
                return unsupported(format!(
                    "its {what} (input {i}) has the shape {:?}; finite numbers that are the same for \
                     every item are supported",
                    constant.shape
                ));
            }
            let (x, _, _) = call.secret_at(0)?;
            let zeros = zeros(c, x, hidden)?;
            let shift: Weights = numbers[own].into();
            let op = Op::Affine(Affine {
                inner: 1,
                scale: Weights::default(),
                shift,
            });
            c.each(what, op, &[zeros]).map(Some)
        }
        Some(Value::Secret { id, shape, batch })
            if *shape == [directions, hidden] && *batch == stands =>
        {
            c.part(what, *id, own).map(Some)
        }
        Some(_) => unsupported(format!(
            "its {what} (input {i}) is not {directions} x {hidden} numbers of every item"
        )),
    }
}

/// A value of `n` zeros; `x` is not read.
fn zeros(c: &mut Composer, x: ValueId, n: usize) -> Result<ValueId, Fault> {
    let op = Op::Rearrange {
        index: vec![FILL; n],
        fill: 0.0,
    };
    c.node("zeros", op, &[x], vec![n])
}
