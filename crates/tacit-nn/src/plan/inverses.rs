//! Scales of their own for small reciprocals and inverse roots.
//!
//! Inputs of a thousand have a variance of a million, whose inverse root is 262 units of 18 fraction bits: right to a
//! unit or two, it makes errors of 1 % in what is normalised by it. A product with another value has room for more bits
//! than both have: the inverse is given as many as make it as precise, relatively, as numbers near 1.

use super::functions::{Arguments, PlannedFunction};
use super::ranges::Bound;
use super::scales::{Limits, fraction_of, integer_bits};
use crate::graph::{Function, Graph, Node, Op};

/// Inverses from `2^-8` on are precise enough.
const SMALL: i32 = 8;

/// Gives layers that make small inverses, and those that move them, fraction bits of their own beside those that
/// `own` holds.
pub(super) fn own_fractions(
    limits: &Limits,
    graph: &Graph,
    bounds: &[Bound],
    f: u32,
    own: &mut [Option<u32>],
) {
    for (i, node) in graph.nodes.iter().enumerate() {
        let Op::Function { function, domain } = node.op else {
            continue;
        };
        let ends = [bounds[node.inputs[0]], bounds[i + 1]];
        let arguments = Arguments::new(ends, domain, fraction_of(own, node.inputs[0], f));
        let smallest = match function {
            Function::InverseSqrt | Function::Reciprocal => function.of(arguments.within.1),
            _ => continue,
        };
        let missing = -integer_bits(smallest);
        let Some(moved) = (missing > SMALL)
            .then(|| moved(limits, graph, bounds, f, own, i))
            .flatten()
        else {
            continue;
        };
        let most = f + moved.room.min(missing as u32);
        let (nearness, bits) = (limits.functions, limits.modulus.bits());
        let planned = PlannedFunction::choose(function, arguments, nearness, bits, f);
        let fits = |&to: &u32| {
            let of = |planned: &PlannedFunction| {
                planned.elementary(nearness, bits, to, arguments.fraction)
            };
            planned.as_ref().is_ok_and(|planned| of(planned).is_ok())
        };
        if let Some(to) = (f + 1..=most).rev().find(fits) {
            moved.layers.into_iter().for_each(|i| own[i] = Some(to));
        }
    }
}

/// The layers that hold an inverse, and how many bits more than others it may have there.
struct Moved {
    layers: Vec<usize>,
    room: u32,
}

/// The layer, and those that move what it makes; none where anything else than products with other values reads it.
fn moved(
    limits: &Limits,
    graph: &Graph,
    bounds: &[Bound],
    f: u32,
    own: &[Option<u32>],
    layer: usize,
) -> Option<Moved> {
    let mut holds = vec![false; graph.nodes.len() + 1];
    holds[layer + 1] = true;
    let mut layers = vec![layer];
    let left = |value: usize, fraction: u32| {
        limits.room() - fraction as i32 - integer_bits(bounds[value].planned)
    };
    let mut room = left(layer + 1, f);
    for (i, node) in graph.nodes.iter().enumerate() {
        let held = |id: &&usize| holds[**id];
        match (&node.op, node.inputs.iter().filter(held).count()) {
            (_, 0) => {}
            (Op::Rearrange { fill, .. }, _) if *fill == 0.0 => {
                holds[i + 1] = true;
                layers.push(i);
                room = room.min(left(i + 1, f));
            }
            (Op::Mul, 1) => {
                let other = node.inputs.iter().find(|&&id| !holds[id])?;
                room = room.min(left(i + 1, f + fraction_of(own, *other, f)));
            }
            _ => return None,
        }
    }
    let room = u32::try_from(room).ok()?;
    (!holds[graph.output]).then_some(Moved { layers, room })
}

/// The fraction bits of a product of two computed values before it is truncated.
pub(super) fn of_product(node: &Node, own: &[Option<u32>], f: u32) -> u32 {
    let fractions = node.inputs.iter().map(|&id| fraction_of(own, id, f));
    fractions.sum()
}
