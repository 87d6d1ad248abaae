//! Functions of every element, and factors that all parties know.

use tacit_protocols::machine::{Erased, Handle, KeyBits, Machine, Operand};
use tacit_protocols::math::{Elementary, FunctionKind};

use super::{Mode, Saved};
use crate::{Error, FixedPoint, Smooth};

/// `ln(2 / sqrt pi)`, by which the slope of the error function is an exponential.
const LN_SLOPE: f64 = 0.120_782_237_635_245_2;

/// The function of every element. Sigmoid and tanh keep their value, the error function its argument.
pub(super) fn forward(
    machine: &mut Erased,
    fixed: FixedPoint,
    function: Smooth,
    x: Handle,
) -> Result<(Handle, Saved), Error> {
    let kind = match function {
        Smooth::Sigmoid => FunctionKind::Sigmoid,
        Smooth::Tanh => FunctionKind::Tanh,
        Smooth::Erf => FunctionKind::Erf,
    };
    let y = machine.function(&Elementary::new(fixed.format()?, kind), &x)?;
    let kept = match function {
        Smooth::Sigmoid | Smooth::Tanh => y.clone(),
        Smooth::Erf => x,
    };
    Ok((y, Saved::One(kept)))
}

/// `dy` times the slope: `s (1 - s)`, `1 - t^2` or `2 / sqrt(pi) exp(-x^2)`. Two products, of the error
/// function an exponential too.
pub(super) fn backward(
    machine: &mut Erased,
    fixed: FixedPoint,
    function: Smooth,
    (kept, dy): (&Handle, &Handle),
) -> Result<Handle, Error> {
    let f = fixed.fraction;
    let constant = |machine: &mut Erased, value: f64| {
        let n = machine.len(kept);
        machine.constant(&vec![fixed.encode(value); n])
    };
    let slope = match function {
        Smooth::Sigmoid => {
            let one = constant(machine, 1.0);
            let rest = machine.sub(&one, kept);
            machine.mul(kept, &Operand::Secret(rest), f)?
        }
        Smooth::Tanh => {
            let square = machine.mul(kept, &Operand::Secret(kept.clone()), f)?;
            let one = constant(machine, 1.0);
            machine.sub(&one, &square)
        }
        Smooth::Erf => {
            let square = machine.mul(kept, &Operand::Secret(kept.clone()), f)?;
            let top = constant(machine, LN_SLOPE);
            let exponent = machine.sub(&top, &square);
            let exp = Elementary::new(fixed.format()?, FunctionKind::Exp { high: 1 }).bounded();
            machine.function(&exp, &exponent)?
        }
    };
    Ok(machine.mul(dy, &Operand::Secret(slope), f)?)
}

/// `factor x + shift`: 1 truncation, none for a whole factor.
pub(super) fn scaled(
    machine: &mut Erased,
    fixed: FixedPoint,
    x: &Handle,
    (factor, shift): (f64, f64),
) -> Result<Handle, Error> {
    let (units, f) = (fixed.encode(factor), fixed.fraction);
    let y = match units % (1 << f) {
        0 => machine.scale(x, units >> f),
        _ => {
            let scaled = machine.scale(x, units);
            machine.truncate(&scaled, f)?
        }
    };
    if fixed.encode(shift) == 0 {
        return Ok(y);
    }
    let n = machine.len(&y);
    let shift = machine.constant(&vec![fixed.encode(shift); n]);
    Ok(machine.add(&y, &shift))
}

/// `x`, where it is negative times `slope`: a sign and 1 truncation.
pub(super) fn leaky(
    machine: &mut Erased,
    fixed: FixedPoint,
    x: &Handle,
    slope: f64,
    mode: Mode,
) -> Result<(Handle, Saved), Error> {
    if mode == Mode::Predict {
        let above = machine.relu(x, KeyBits::ALL)?;
        let slope = fixed.encode(slope);
        let all = machine.scale(x, slope);
        let rest = machine.scale(&above, (1 << fixed.fraction) - slope);
        let sum = machine.add(&all, &rest);
        return Ok((machine.truncate(&sum, fixed.fraction)?, Saved::Nothing));
    }
    let signs = machine.drelu(x, KeyBits::ALL)?;
    let y = leaky_by(machine, fixed, &signs, x, slope)?;
    Ok((y, Saved::Signs(signs)))
}

/// `x` where the sign is that of no negative number, else `slope x`.
pub(super) fn leaky_by(
    machine: &mut Erased,
    fixed: FixedPoint,
    signs: &Handle,
    x: &Handle,
    slope: f64,
) -> Result<Handle, Error> {
    let below = scaled(machine, fixed, x, (slope, 0.0))?;
    Ok(machine.select(signs, &below, x)?)
}
