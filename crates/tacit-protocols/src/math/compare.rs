//! Comparisons of two secrets: the sign of their difference, which must lie in the ring's signed
//! range (and within 32 bits where signs are taken of so many).

use crate::Error;
use crate::machine::{Erased, Handle, KeyBits, Machine};

/// 1 where `x >= y`, else 0. One DReLU.
pub fn compare(machine: &mut Erased, x: &Handle, y: &Handle) -> Result<Handle, Error> {
    let difference = machine.sub(x, y);
    machine.drelu(&difference, KeyBits::ALL)
}

/// 1 where `x < y`, else 0: of integers, where `y - x - 1 >= 0`. One DReLU.
pub fn less_than(machine: &mut Erased, x: &Handle, y: &Handle) -> Result<Handle, Error> {
    let n = machine.len(x);
    let one = machine.constant_by(n, || vec![1; n]);
    let next = machine.add(x, &one);
    compare(machine, y, &next)
}
