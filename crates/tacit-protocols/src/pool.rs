//! Maxpool as a balanced tree, for every protocol that has a ReLU (Falcon, Algorithm 4, section
//! 3.6; Liu et al., Protocol 5.4; docs/spec/falcon.md, section 6).

use crate::Error;
use crate::machine::{KeyBits, Machine};

/// The levels of a balanced tree over `size` leaves: (pairs, whether an odd one is carried).
pub fn levels(size: usize) -> impl Iterator<Item = (usize, bool)> {
    let mut left = size;
    std::iter::from_fn(move || {
        (left > 1).then(|| {
            let level = (left / 2, left % 2 == 1);
            left = left.div_ceil(2);
            level
        })
    })
}

/// The maximum of each window by `max(a, b) = b + ReLU(a - b)`: `size - 1` ReLUs per window in
/// `ceil(log2 size)` levels. An odd element is carried to the next level as it is.
pub(crate) fn maxpool<M: Machine>(
    machine: &mut M,
    x: &M::Share,
    windows: usize,
    size: usize,
    keys: KeyBits,
) -> Result<M::Share, Error> {
    maxpool_by(machine, x, windows, size, &mut |machine, x| {
        machine.relu(x, keys)
    })
}

/// A ReLU of the caller's.
type Relu<'a, M> =
    &'a mut dyn FnMut(&mut M, &<M as Machine>::Share) -> Result<<M as Machine>::Share, Error>;

/// The maximum of each window as [`maxpool`] takes it, with a ReLU that the caller gives.
pub(crate) fn maxpool_by<M: Machine>(
    machine: &mut M,
    x: &M::Share,
    windows: usize,
    size: usize,
    relu: Relu<M>,
) -> Result<M::Share, Error> {
    let given = machine.len(x);
    if given != windows * size || size == 0 {
        return Err(Error::Invalid(format!(
            "maxpool of {windows} windows of {size} elements was given {given} elements"
        )));
    }
    let mut level = x.clone();
    for (pairs, odd) in levels(size) {
        let half = pairs * windows;
        let (a, b) = (
            machine.slice(&level, 0..half),
            machine.slice(&level, half..2 * half),
        );
        let difference = machine.sub(&a, &b);
        let excess = relu(machine, &difference)?;
        let larger = machine.add(&b, &excess);
        level = match odd {
            true => {
                let carried = machine.slice(&level, 2 * half..2 * half + windows);
                machine.concat(&[&larger, &carried])
            }
            false => larger,
        };
    }
    Ok(level)
}
