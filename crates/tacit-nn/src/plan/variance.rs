//! Scales of their own for arguments of inverse roots and reciprocals.
//!
//! A product of two values has twice their fraction bits before it is truncated. On the way to an
//! inverse root, as a sum or mean of squares to which an epsilon is added, it keeps as many of them as
//! the ring has room for: an epsilon of 1e-5 is less than 3 units of 18 fraction bits, and 2^19 of 36.

use super::first_holders;
use super::ranges::Bound;
use super::scales::integer_bits;
use crate::graph::{Function, Graph, Op, len};

/// Bits of the factor of a mean, or of a scale, beyond those that divide by the number of elements;
/// over 31 and 32 bits, where a variance needs the bits more, few.
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
    let factor = match room {
        ..=LITTLE_ROOM => FEW_FACTOR_BITS,
        _ => FACTOR_BITS,
    };
    let (uses, holders) = (uses(graph), first_holders(graph));
    for node in &graph.nodes {
        let inverse = matches!(
            node.op,
            Op::Function {
                function: Function::InverseSqrt | Function::Reciprocal,
                ..
            }
        );
        let Some(chain) = inverse
            .then(|| chain(graph, &uses, node.inputs[0]))
            .flatten()
        else {
            continue;
        };
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
            let taken = integer_bits(held).max(0) as u32 + inside(op, factor);
            room.saturating_sub(taken)
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

/// Bits of a layer's product beyond those of its result, where a factor has so many.
fn inside(op: &Op, factor: u32) -> u32 {
    match op {
        Op::AveragePool(pool) => {
            let mut sizes = (0..len(&pool.out)).map(|e| pool.divisor(e));
            let first = sizes.next().unwrap_or(1);
            match first.is_power_of_two() && sizes.all(|size| size == first) {
                true => first.ilog2(),
                false => pool.window().ilog2() + factor,
            }
        }
        Op::Affine(affine) if !affine.scale.is_empty() => factor,
        _ => 0,
    }
}
