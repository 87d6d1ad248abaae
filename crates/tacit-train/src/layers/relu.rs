//! ReLU and its derivative: the sign is taken once and serves both passes (Falcon, Algorithm 3,
//! section 3.5).

use tacit_protocols::machine::{Erased, Handle, KeyBits, Machine};

use super::{Mode, Saved};
use crate::Error;

/// `max(x, 0)`.
pub(super) fn forward(
    machine: &mut Erased,
    x: &Handle,
    mode: Mode,
) -> Result<(Handle, Saved), Error> {
    if mode == Mode::Predict {
        return Ok((machine.relu(x, KeyBits::ALL)?, Saved::Nothing));
    }
    let signs = machine.drelu(x, KeyBits::ALL)?;
    let y = backward(machine, &signs, x)?;
    Ok((y, Saved::Signs(signs)))
}

/// `dy` where the input was not negative, else 0.
pub(super) fn backward(machine: &mut Erased, signs: &Handle, dy: &Handle) -> Result<Handle, Error> {
    let n = machine.len(dy);
    let zero = machine.constant(&vec![0; n]);
    Ok(machine.select(signs, &zero, dy)?)
}
