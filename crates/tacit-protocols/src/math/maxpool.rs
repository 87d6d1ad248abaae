//! Maxpool with its derivative (Falcon, Algorithm 4, section 3.6; docs/spec/functions.md,
//! section 9): the maximum of each window and the one-hot of its place, which carries a gradient
//! back by one product.
//!
//! Differs from the paper, which goes through a window element by element: a balanced tree, where
//! each subtree has a one-hot of its own. Those of two subtrees become one by a product with the
//! comparison's bit and with its opposite. Neighbours meet, so that of equal values the earliest
//! stays.

use super::argmax::rows;
use super::constant_minus;
use super::steps::sign;
use crate::machine::{Erased, Handle, KeyBits, Machine, Operand};
use crate::{Error, pool};

/// The maximum of each window and the one-hot of its place: element `j` of window `i` is
/// `x[j * windows + i]`, and so are the places, 1 at the first of the largest values, else 0.
/// Differences within a window have the key bits `keys`.
///
/// A tree of `ceil(log2 size)` levels, each with one DReLU, one selection and one product.
pub fn maxpool_with_derivative(
    machine: &mut Erased,
    x: &Handle,
    windows: usize,
    size: usize,
    keys: KeyBits,
) -> Result<[Handle; 2], Error> {
    let given = machine.len(x);
    if given != windows * size || size == 0 {
        return Err(Error::Invalid(format!(
            "maxpool of {windows} windows of {size} elements was given {given} elements"
        )));
    }
    let (mut max, mut places) = (x.clone(), machine.constant_by(given, || vec![1; given]));
    for level in levels(size) {
        let Level { depth, pairs, .. } = level;
        let [a, b] = [0, 1].map(|side| {
            let rows = || rows(windows, (0..pairs).map(|pair| 2 * pair + side));
            machine.gather_by(&max, pairs * windows, rows)
        });
        let difference = machine.sub(&a, &b);
        let first = sign(machine, &difference, keys)?;
        let second = constant_minus(machine, 1, &first);
        // For every leaf whether its side has the larger value.
        let sides = machine.concat(&[&first, &second]);
        let side = |leaf: usize| (leaf >> depth) % 2 * pairs + (leaf >> (depth + 1));
        let (half, under) = (pairs * windows, level.leaves * windows);
        let leaves = || rows(windows, (0..level.leaves).map(side));
        let chosen = machine.gather_by(&sides, under, leaves);

        // All leaves are their own places at first.
        let (values, factors) = match depth {
            0 => (difference, first),
            _ => {
                let met = machine.slice(&places, 0..under);
                let values = machine.concat(&[&difference, &met]);
                (values, machine.concat(&[&first, &chosen]))
            }
        };
        let products = machine.mul(&values, &Operand::Secret(factors), 0)?;
        let excess = machine.slice(&products, 0..half);
        let larger = machine.add(&b, &excess);
        let met = match depth {
            0 => chosen,
            _ => machine.slice(&products, half..half + under),
        };
        max = with_rest(machine, larger, &max, 2 * half);
        places = with_rest(machine, met, &places, under);
    }
    Ok([max, places])
}

/// A level of the tree over neighbours: its pairs, and the leaves under them, `2^depth` on a side
/// but for the last one.
struct Level {
    depth: usize,
    pairs: usize,
    leaves: usize,
}

fn levels(size: usize) -> impl Iterator<Item = Level> {
    pool::levels(size)
        .enumerate()
        .map(move |(depth, (pairs, _))| Level {
            depth,
            pairs,
            leaves: size.min(pairs << (depth + 1)),
        })
}

/// `new`, and what is left of `old` from an element on: the odd one is carried. Local.
fn with_rest(machine: &mut Erased, new: Handle, old: &Handle, from: usize) -> Handle {
    let end = machine.len(old);
    if from == end {
        return new;
    }
    let rest = machine.slice(old, from..end);
    machine.concat(&[&new, &rest])
}
