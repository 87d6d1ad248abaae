//! Scales of their own for arguments of roots, inverse roots, reciprocals and logarithms.
//!
//! A product of two values has twice their fraction bits before it is truncated. On the way to an
//! inverse root, as a sum or mean of squares to which an epsilon is added, or to a logarithm, as the power of a
//! tone, it keeps as many of them as the ring has room for: an epsilon of 1e-5 is less than 3 units of 18 fraction
//! bits, and 2^19 of 36.
//!
//! A factor on the way, as the one by which a mean divides, takes of that room: rounded to 12 bits it makes every
//! inverse root wrong by a relative `2^-14`, the smallest and the largest alike. The smallest argument has 12 bits
//! first, and the factor; then the factor has as many as other weights. A difference on the way may be far smaller than
//! what it is of, and that error is not: what is made by one has the scale of other values.

use std::collections::HashMap;

use super::first_holders;
use super::ranges::{self, Bound};
use super::scales::{MOST_WEIGHT_BITS, integer_bits};
use crate::graph::{Function, Graph, Node, Op, len};

/// The functions whose arguments may be powers.
const OF_POWERS: [Function; 4] = [
    Function::InverseSqrt,
    Function::SquareRoot,
    Function::Reciprocal,
    Function::Log,
];
/// The fewest bits of the factor of a mean, or of a scale, beyond those that divide by the number of elements;
/// over 31 and 32 bits, where a variance needs the bits more, all that there are.
const FACTOR_BITS: u32 = 12;
const FEW_FACTOR_BITS: u32 = 7;
/// The fewest bits of weights on the way, of which many make a sum.
const WEIGHT_BITS: u32 = 16;
/// The most layers that are followed.
const LONGEST: usize = 64;
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
        let Op::Function { function, domain } = node.op else {
            continue;
        };
        if !OF_POWERS.contains(&function) || own[node.inputs[0].saturating_sub(1)].is_some() {
            continue;
        }
        let Some(chain) = chain(graph, &uses, node.inputs[0], room) else {
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
            let (divides, factor) = inside(op);
            let left = room.saturating_sub(integer_bits(held).max(0) as u32 + divides);
            match factor {
                Some(bits) => beside_factor([left, bits], room, smallest, f),
                None => left,
            }
        });
        // A function takes arguments with a bit less than there is room for, and the next power of two.
        let reach = integer_bits(bounds[node.inputs[0]].planned).max(0) as u32 + 2;
        let fraction = most.fold((2 * f).min(room.saturating_sub(reach)), u32::min);
        if fraction > f {
            chain.into_iter().for_each(|i| own[i] = Some(fraction));
        }
    }
    own
}

/// How many nodes read each value but those whose arguments have a scale of their own; the output of the model counts as
/// one.
fn uses(graph: &Graph) -> Vec<usize> {
    let mut uses = vec![0; graph.nodes.len() + 1];
    uses[graph.output] = 1;
    let scaled = |node: &&Node| match node.op {
        Op::Function { function, .. } => OF_POWERS.contains(&function),
        _ => false,
    };
    let others = graph.nodes.iter().filter(|node| !scaled(node));
    others
        .flat_map(|node| &node.inputs)
        .for_each(|&id| uses[id] += 1);
    uses
}

/// The layers from products of two values to `id`, which a function reads, if nothing else reads what they make; of those
/// with weights only where there is room for both.
fn chain(graph: &Graph, uses: &[usize], id: usize, room: u32) -> Option<Vec<usize>> {
    let mut chain: Vec<usize> = Vec::new();
    let (mut read, mut left) = (HashMap::from([(id, 0)]), vec![id]);
    while let Some(id) = left.pop() {
        let layer = id.checked_sub(1).filter(|_| chain.len() < LONGEST)?;
        let node = &graph.nodes[layer];
        chain.push(layer);
        let of: &[usize] = match node.op {
            Op::Mul => &[],
            Op::Affine(_)
            | Op::AveragePool(_)
            | Op::SumPool(_)
            | Op::Rearrange { .. }
            | Op::Relu
            | Op::Clip { .. } => &node.inputs[..1],
            Op::Linear(_) | Op::Conv(_) if room > LITTLE_ROOM => &node.inputs[..1],
            Op::Add => &node.inputs,
            _ => return None,
        };
        for &id in of {
            let times = read.entry(id).or_insert(0);
            *times += 1;
            if *times == 1 {
                left.push(id);
            }
        }
    }
    read.iter()
        .all(|(&id, &times)| uses[id] == times)
        .then_some(chain)
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

/// Bits by which a layer divides, and how many the factor that it rounds has at least, if it has one: weights of less
/// than 1 as many more as they have zeros behind the point.
fn inside(op: &Op) -> (u32, Option<u32>) {
    match op {
        Op::AveragePool(pool) => {
            let mut sizes = (0..len(&pool.out)).map(|e| pool.divisor(e));
            let first = sizes.next().unwrap_or(1);
            match first.is_power_of_two() && sizes.all(|size| size == first) {
                true => (first.ilog2(), None),
                false => (pool.window().ilog2(), Some(FACTOR_BITS)),
            }
        }
        Op::Affine(affine) => (0, (!affine.scale.is_empty()).then_some(FACTOR_BITS)),
        Op::Linear(linear) => (0, Some(weight_bits(&linear.weight))),
        Op::Conv(conv) => (0, Some(weight_bits(&conv.weight))),
        _ => (0, None),
    }
}

/// The fewest fraction bits of weights.
fn weight_bits(weights: &[f32]) -> u32 {
    let largest = weights.iter().fold(0.0f32, |most, w| most.max(w.abs()));
    WEIGHT_BITS + integer_bits(largest.into()).min(0).unsigned_abs()
}

/// The fraction bits of a product that shares `left` bits with a factor, which has some at least, on the way to an
/// argument of at least `smallest`.
fn beside_factor([left, factor]: [u32; 2], room: u32, smallest: f64, f: u32) -> u32 {
    if room <= LITTLE_ROOM {
        return left.saturating_sub(FEW_FACTOR_BITS);
    }
    let below_one = (-integer_bits(smallest)).clamp(0, left as i32) as u32;
    let least = below_one + FACTOR_BITS;
    let enough = left.saturating_sub(f.max(MOST_WEIGHT_BITS as u32).max(factor));
    least.max(enough).min(left.saturating_sub(factor))
}

#[cfg(test)]
mod tests {
    use super::super::graphs::{graph, node};
    use super::*;

    /// The smallest argument and the factor have 12 bits each, a factor has more before a fraction has, and an
    /// epsilon more than what is larger.
    #[test]
    fn a_factor_and_the_smallest_argument_share_the_room() {
        let fraction = |left, smallest| beside_factor([left, 12], 62, smallest, 18);
        assert_eq!(fraction(55, 0.024), 35);
        assert_eq!(fraction(40, 0.024), 20);
        assert_eq!(fraction(30, 0.024), 17);
        assert_eq!(fraction(50, 1e-5), 30);
        assert_eq!(fraction(45, 1e-5), 28);
        assert_eq!(fraction(40, 1e-5), 28);
        assert_eq!(fraction(30, 1e-5), 18);
        assert_eq!(fraction(8, 1e-5), 0);
        assert_eq!(beside_factor([55, 12], 62, 0.024, 24), 31);
        assert_eq!(beside_factor([20, 12], 30, 1e-5, 12), 13);
    }

    /// A sum of squares and what is above a number of it are read by each other alone, and an input by none of them.
    #[test]
    fn chains_end_at_products_and_have_no_other_readers() {
        let square = || node(Op::Mul, &[0, 0], &[1]);
        let log = |of| {
            let domain = (f32::NEG_INFINITY, f32::INFINITY);
            let function = Function::Log;
            node(Op::Function { function, domain }, &[of], &[1])
        };
        let of = |nodes: Vec<Node>, id| {
            let graph = graph(&[1], nodes);
            let found = chain(&graph, &uses(&graph), id, 62);
            found.map(|mut layers| {
                layers.sort_unstable();
                layers
            })
        };
        let above = vec![
            square(),
            square(),
            node(Op::Add, &[1, 2], &[1]),
            node(Op::Relu, &[3], &[1]),
            node(Op::Add, &[3, 4], &[1]),
            log(5),
        ];
        assert_eq!(of(above.clone(), 5), Some(vec![0, 1, 2, 3, 4]));
        // Nothing else may read the sum, and a sum with an input has no other scale.
        let read = [above.clone(), vec![node(Op::Sub, &[6, 3], &[1])]].concat();
        assert_eq!(of(read, 5), None);
        let with_input = vec![square(), node(Op::Add, &[1, 0], &[1]), log(2)];
        assert_eq!(of(with_input, 2), None);
        let moved = || node(Op::Relu, &[0], &[1]);
        let mut long = vec![square()];
        long.extend((1..=LONGEST).map(|id| node(Op::Relu, &[id], &[1])));
        long.push(log(LONGEST + 1));
        assert_eq!(of(long, LONGEST + 1), None);
        assert_eq!(of(vec![moved(), log(1)], 1), None);
    }

    /// Weights of a hundredth have 6 bits more than those of 1.
    #[test]
    fn small_weights_have_more_bits() {
        assert_eq!(
            [1.0, 0.9, 0.01].map(|w| weight_bits(&[w, -w / 2.0])),
            [16, 16, 22]
        );
    }
}
