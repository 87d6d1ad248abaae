//! A model computed in float32 with everything rounded as a plan has it.

use std::sync::Arc;

use super::rounding::{FINE, Manner, Rounding, Signs};
use super::units::{in_units, nearest};
use crate::graph::{Function, Graph, Node, Op, ValueId, Weights};
use crate::reference::{Ends, Lanes, NONE, Ranges, ShapeError, ends, items, joined, parts};

/// How a trial is repeated, of small models in all of these ways.
pub(super) const MANNERS: [Manner; 5] = [
    Manner::ByChance,
    Manner::Down(Signs::Negative),
    Manner::Down(Signs::Positive),
    Manner::Down(Signs::Mixed),
    Manner::Down(Signs::ByChance),
];

/// The first so many manners to try a plan in; of truncations that are exact, none by chance.
pub(super) fn manners(rounding: &Rounding, repeats: usize) -> Vec<Manner> {
    let first = usize::from(rounding.exact);
    let all = MANNERS.iter().cycle().copied();
    all.skip(first).take(repeats).collect()
}

/// The outputs of some inputs as rounded, and the range of every value on the way.
pub(super) type Run = (Vec<f32>, Ranges);

/// What inputs `x`, the first of which has this number among others, make in each of these manners.
pub(super) fn rounded_runs(
    graph: &Graph,
    rounding: &Rounding,
    (x, first): (&[f32], usize),
    manners: &[Manner],
) -> Result<Vec<Run>, ShapeError> {
    let model = Rounded {
        graph,
        rounding,
        means: rounded_means(graph, rounding),
        lowest: lowest(graph, rounding),
        lens: graph.lens(),
    };
    model.runs(x, first, manners)
}

/// A model with what its rounding needs to know of it.
struct Rounded<'a> {
    graph: &'a Graph,
    rounding: &'a Rounding,
    means: Vec<Vec<f64>>,
    /// What no value of which a root or an inverse is taken is below.
    lowest: Vec<Option<f32>>,
    /// The elements that every value of an item has.
    lens: Vec<usize>,
}

impl Rounded<'_> {
    /// Runs all manners together, one after the other among the items: weights are rounded alike in each, and once.
    fn runs(&self, x: &[f32], first: usize, manners: &[Manner]) -> Result<Vec<Run>, ShapeError> {
        let each = items(self.graph, x)?;
        let mut seen = vec![vec![NONE; self.lowest.len()]; manners.len()];
        let changed = |layer, op: &Op| rounded_op(op, layer, self.rounding);
        let rounded = |id, mut item, mut values: &mut [f32]| {
            let len = self.lens[id];
            let mut found = Vec::new();
            while !values.is_empty() {
                let (manner, at) = (item / each, item % each);
                let of_manner = values.len().min((each - at) * len);
                let (some, others) = values.split_at_mut(of_manner);
                self.round(id, some, (first + at) * len, manners[manner]);
                found.push((manner, ends(some)));
                (item, values) = (item + each - at, others);
            }
            found
        };
        let told = |id: ValueId, found: Vec<(usize, Ends)>| {
            for (manner, ends) in found {
                seen[manner][id] = joined(seen[manner][id], ends);
            }
        };
        let outputs =
            Lanes::with(self.graph, changed).run(&x.repeat(manners.len()), rounded, told)?;
        let of_manner = outputs.len().checked_div(manners.len()).unwrap_or(0);
        let of_manner = |at: usize| outputs[at * of_manner..(at + 1) * of_manner].to_vec();
        Ok((seen.into_iter().enumerate())
            .map(|(at, seen)| (of_manner(at), seen))
            .collect())
    }

    /// Rounds elements of value `id` from place `first` on.
    fn round(&self, id: ValueId, values: &mut [f32], first: usize, manner: Manner) {
        if let Some(ranks) = self.rounding.ranks_of(id) {
            return ranks.round(id, values);
        }
        if let Some(layer) = id.checked_sub(1)
            && let means = &self.means[layer]
            && means.iter().any(|&factor| factor != 1.0)
        {
            for (v, factor) in values.iter_mut().zip(means.iter().cycle()) {
                *v = (f64::from(*v) * factor) as f32;
            }
        }
        self.rounding.round(id, values, first, manner);
        if let Some(lowest) = self.lowest[id] {
            values.iter_mut().for_each(|v| *v = v.max(lowest));
        }
    }
}

/// What rounding leaves at least of the values of which a function takes the inverse, one last place, and of those
/// of which it takes the root, 0.
fn lowest(graph: &Graph, rounding: &Rounding) -> Vec<Option<f32>> {
    let place = |id: ValueId| (-f64::from(rounding.fractions[id])).exp2() as f32;
    let inverted = inverted(graph);
    let mut lowest: Vec<_> = (0..inverted.len())
        .map(|id| inverted[id].then(|| place(id)))
        .collect();
    for node in &graph.nodes {
        let function = Function::SquareRoot;
        if matches!(node.op, Op::Function { function: of, .. } if of == function) {
            lowest[node.inputs[0]].get_or_insert(0.0);
        }
    }
    lowest
}

/// The values of which a function takes the inverse, which there is none of where they are not above 0.
pub(super) fn inverted(graph: &Graph) -> Vec<bool> {
    let mut inverted = vec![false; graph.nodes.len() + 1];
    for node in &graph.nodes {
        if let Op::Function {
            function: Function::Reciprocal | Function::InverseSqrt | Function::Log,
            ..
        } = node.op
        {
            inverted[node.inputs[0]] = true;
        }
    }
    inverted
}

/// What each element of a mean is off by, for its public factor is rounded; nothing of other layers.
pub(super) fn rounded_means(graph: &Graph, rounding: &Rounding) -> Vec<Vec<f64>> {
    let of = |(node, &bits): (&Node, &u32)| match &node.op {
        Op::AveragePool(pool) => {
            let unit = f64::from(bits).exp2();
            let off = |size: f64| (unit / size).round() / unit * size;
            (0..pool.out_len())
                .map(|e| off(pool.divisor(e) as f64))
                .collect()
        }
        _ => Vec::new(),
    };
    graph.nodes.iter().zip(&rounding.weights).map(of).collect()
}

/// A layer's operation with rounded weights, if it has any.
pub(super) fn rounded_op(op: &Op, layer: usize, rounding: &Rounding) -> Option<Op> {
    if op.weights().iter().all(|weights| weights.is_empty()) {
        return None;
    }
    let bits = rounding.weights[layer];
    let id = layer + 1;
    let mut op = op.clone();
    match &mut op {
        Op::Affine(a) => match rounding.ranks_of(id) {
            Some(ranks) => a.shift = a.shift.iter().map(|&v| ranks.term(v)).collect(),
            None => {
                round(&mut a.scale, bits);
                round(&mut a.shift, rounding.fractions[id]);
            }
        },
        Op::Conv(c) => round(&mut c.weight, bits),
        Op::Linear(l) => round(&mut l.weight, bits),
        Op::Lookup(l) => round(&mut l.table, bits),
        _ => return None,
    }
    Some(op)
}

/// Rounds weights to so many fraction bits; those of so many that nothing is rounded stay the same.
fn round(weights: &mut Weights, bits: u32) {
    if bits < FINE {
        let unit = f64::from(bits).exp2();
        let of = |_, v: &mut [f32]| in_units(v, unit, |_, x| nearest(x));
        parts(Arc::make_mut(weights), 1, of);
    }
}

#[cfg(test)]
mod tests {
    use super::super::graphs::{graph, node, pool};
    use super::super::rounding::Step;
    use super::*;

    /// Values and weights of so many fraction bits.
    fn with_bits(bits: u32) -> Rounding {
        Rounding {
            fractions: vec![bits; 4],
            weights: vec![bits; 3],
            steps: vec![Step::Truncated(2); 4],
            field: None,
            exact: false,
            ranks: None,
        }
    }

    /// Of 0 there is a root, and no inverse.
    #[test]
    fn a_root_is_not_inverted() {
        let of = |function| {
            let domain = (f32::NEG_INFINITY, f32::INFINITY);
            let node = node(Op::Function { function, domain }, &[0], &[1]);
            inverted(&graph(&[1], vec![node]))[0]
        };
        assert!(!of(Function::SquareRoot));
        assert!(of(Function::InverseSqrt) && of(Function::Reciprocal) && of(Function::Log));
    }

    /// Rounding leaves no number below 0 of which there is a root, and a last place of what is inverted as well.
    #[test]
    fn roots_and_inverses_have_a_lowest_number() {
        let of = |function| {
            let domain = (f32::NEG_INFINITY, f32::INFINITY);
            node(Op::Function { function, domain }, &[1], &[1])
        };
        let made = node(Op::Relu, &[0], &[1]);
        let rounding = with_bits(4);
        let lowest = |functions: &[Function]| {
            let functions = functions.iter().map(|&function| of(function));
            let nodes = std::iter::once(made.clone()).chain(functions).collect();
            lowest(&graph(&[1], nodes), &rounding)[1]
        };
        assert_eq!(lowest(&[Function::SquareRoot]), Some(0.0));
        let both = [Function::SquareRoot, Function::InverseSqrt];
        assert_eq!(lowest(&both), Some(1.0 / 16.0));
        assert_eq!(lowest(&[Function::Tanh]), None);
    }

    /// A third in 4 bits is 5/16, so a mean of three is 15/16 of what it should be; of four it is exact.
    #[test]
    fn the_factors_of_means_are_rounded() {
        let mean = |size| {
            let pool = pool(1, [1, size], [1, size]);
            node(Op::AveragePool(pool), &[0], &[1])
        };
        let graph = graph(&[3], vec![mean(3), mean(4)]);
        let rounding = with_bits(4);
        assert_eq!(
            rounded_means(&graph, &rounding),
            [vec![15.0 / 16.0], vec![1.0]]
        );
    }
}
