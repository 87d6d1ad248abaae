//! Scales of their own for arguments of inverse roots and reciprocals.
//!
//! A product of two values has twice their fraction bits before it is truncated. On the way to an
//! inverse root, as a sum or mean of squares to which an epsilon is added, it keeps as many of them as
//! the ring has room for: an epsilon of 1e-5 is less than 3 units of 18 fraction bits, and 2^19 of 36.
//!
//! A factor on the way, as the one by which a mean divides, takes of that room: rounded to 12 bits it makes every
//! inverse root wrong by a relative `2^-14`, the smallest and the largest alike. The smallest argument has 12 bits
//! first, and the factor; then the factor has as many as other weights.

use super::first_holders;
use super::ranges::{self, Bound};
use super::scales::{MOST_WEIGHT_BITS, integer_bits};
use crate::graph::{Function, Graph, Op, len};

/// The fewest bits of the factor of a mean, or of a scale, beyond those that divide by the number of elements;
/// over 31 and 32 bits, where a variance needs the bits more, all that there are.
const FACTOR_BITS: u32 = 12;
const FEW_FACTOR_BITS: u32 = 7;
/// The room over 32 bits, and a little more.
const LITTLE_ROOM: u32 = 32;

/// The fraction bits of every layer's result, where these are its own: more than the `f` of all other values. `room` is
/// the magnitude that products stay below.
pub(super) fn own_fractions(
    graph: &Graph,
    bounds: &[Bound],
    f: u32,
    room: u32,
) -> Vec<Option<u32>> {
    let mut own = vec![None; graph.nodes.len()];
    let (uses, holders) = (uses(graph), first_holders(graph));
    for node in &graph.nodes {
        let Op::Function {
            function: Function::InverseSqrt | Function::Reciprocal,
            domain,
        } = node.op
        else {
            continue;
        };
        let Some(chain) = chain(graph, &uses, node.inputs[0]) else {
            continue;
        };
        let (smallest, _) = ranges::arguments(bounds[node.inputs[0]].within, domain);
        // Terms that other layers add too have their scale.
        if chain
            .iter()
            .any(|&i| holders.iter().filter(|&&first| first == holders[i]).count() > 1)
        {
            continue;
        }
        let most = chain.iter().map(|&i| {
            let op = &graph.nodes[i].op;
            let held = bounds[i + 1].planned + shift(op);
            let (divides, has_factor) = inside(op);
            let left = room.saturating_sub(integer_bits(held).max(0) as u32 + divides);
            match has_factor {
                true => beside_factor(left, room, smallest, f),
                false => left,
            }
        });
        let fraction = most.fold(2 * f, u32::min);
        if fraction > f {
            chain.into_iter().for_each(|i| own[i] = Some(fraction));
        }
    }
    own
}

/// How many nodes read each value; the output of the model counts as one.
fn uses(graph: &Graph) -> Vec<usize> {
    let mut uses = vec![0; graph.nodes.len() + 1];
    uses[graph.output] = 1;
    let inputs = graph.nodes.iter().flat_map(|node| &node.inputs);
    inputs.for_each(|&id| uses[id] += 1);
    uses
}

/// The layers from a product of two values to `id`, if nothing else reads what they make.
fn chain(graph: &Graph, uses: &[usize], mut id: usize) -> Option<Vec<usize>> {
    let mut chain = Vec::new();
    loop {
        let layer = id.checked_sub(1).filter(|_| uses[id] == 1)?;
        let node = &graph.nodes[layer];
        chain.push(layer);
        match node.op {
            Op::Mul => return Some(chain),
            Op::Affine(_) | Op::AveragePool(_) | Op::SumPool(_) | Op::Rearrange { .. } => {
                id = node.inputs[0];
            }
            _ => return None,
        }
    }
}

/// What a layer adds, which its product holds before.
fn shift(op: &Op) -> f64 {
    match op {
        Op::Affine(affine) => affine
            .shift
            .iter()
            .fold(0.0, |most, v| f64::max(most, v.abs().into())),
        _ => 0.0,
    }
}

/// Bits by which a layer divides, and whether by a factor that is rounded.
fn inside(op: &Op) -> (u32, bool) {
    match op {
        Op::AveragePool(pool) => {
            let mut sizes = (0..len(&pool.out)).map(|e| pool.divisor(e));
            let first = sizes.next().unwrap_or(1);
            match first.is_power_of_two() && sizes.all(|size| size == first) {
                true => (first.ilog2(), false),
                false => (pool.window().ilog2(), true),
            }
        }
        Op::Affine(affine) => (0, !affine.scale.is_empty()),
        _ => (0, false),
    }
}

/// The fraction bits of a product that shares `left` bits with a factor, on the way to an argument of at least
/// `smallest`.
fn beside_factor(left: u32, room: u32, smallest: f64, f: u32) -> u32 {
    if room <= LITTLE_ROOM {
        return left.saturating_sub(FEW_FACTOR_BITS);
    }
    let below_one = (-integer_bits(smallest)).clamp(0, left as i32) as u32;
    let least = below_one + FACTOR_BITS;
    let enough = left.saturating_sub(f.max(MOST_WEIGHT_BITS as u32));
    least.max(enough).min(left.saturating_sub(FACTOR_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest argument and the factor have 12 bits each, a factor has more before a fraction has, and an
    /// epsilon more than what is larger.
    #[test]
    fn a_factor_and_the_smallest_argument_share_the_room() {
        let fraction = |left, smallest| beside_factor(left, 62, smallest, 18);
        assert_eq!(fraction(55, 0.024), 35);
        assert_eq!(fraction(40, 0.024), 20);
        assert_eq!(fraction(30, 0.024), 17);
        assert_eq!(fraction(50, 1e-5), 30);
        assert_eq!(fraction(45, 1e-5), 28);
        assert_eq!(fraction(40, 1e-5), 28);
        assert_eq!(fraction(30, 1e-5), 18);
        assert_eq!(fraction(8, 1e-5), 0);
        assert_eq!(beside_factor(55, 62, 0.024, 24), 31);
        assert_eq!(beside_factor(20, 30, 1e-5, 12), 13);
    }
}
