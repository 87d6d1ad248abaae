//! A model computed in float32 with everything rounded as a plan has it.

use std::sync::Arc;

use rayon::prelude::*;

use super::rounding::{FINE, Manner, Rounding, Signs};
use super::units::{in_units, nearest};
use crate::graph::{Function, Graph, Node, Op, ValueId, Weights};
use crate::reference::{Lanes, NONE, Ranges, ShapeError, ends, joined, parts};

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
        inverted: inverted(graph),
        lens: graph.lens(),
    };
    let runs = manners
        .par_iter()
        .map(|&manner| model.run(x, first, manner));
    runs.collect()
}

/// A model with what its rounding needs to know of it.
struct Rounded<'a> {
    graph: &'a Graph,
    rounding: &'a Rounding,
    means: Vec<Vec<f64>>,
    inverted: Vec<bool>,
    /// The elements that every value of an item has.
    lens: Vec<usize>,
}

impl Rounded<'_> {
    fn run(&self, x: &[f32], first: usize, manner: Manner) -> Result<Run, ShapeError> {
        let mut seen = vec![NONE; self.inverted.len()];
        let changed = |layer, op: &Op| rounded_op(op, layer, self.rounding);
        let rounded = |id, item, values: &mut [f32]| {
            self.round(id, values, (first + item) * self.lens[id], manner);
            ends(values)
        };
        let told = |id: ValueId, ends| seen[id] = joined(seen[id], ends);
        let outputs = Lanes::with(self.graph, changed).run(x, rounded, told)?;
        Ok((outputs, seen))
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
        if self.inverted[id] {
            let least = (-f64::from(self.rounding.fractions[id])).exp2() as f32;
            values.iter_mut().for_each(|v| *v = v.max(least));
        }
    }
}

/// The values of which a function takes the inverse: of less than their last place it is bounded.
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

/// The inverted values that are not also right at 0, as a value is whose inverse root makes nothing but its
/// root.
pub(super) fn poles(graph: &Graph) -> Vec<bool> {
    let inverse_of = |id: ValueId| {
        let node = &graph.nodes[id.checked_sub(1)?];
        let is_root = matches!(
            node.op,
            Op::Function {
                function: Function::InverseSqrt,
                ..
            }
        );
        is_root.then(|| node.inputs[0])
    };
    let mut poles = inverted(graph);
    let roots: Vec<ValueId> = (1..poles.len()).filter_map(inverse_of).collect();
    roots.into_iter().for_each(|x| poles[x] = false);
    for node in &graph.nodes {
        let function = match node.op {
            Op::Function { function, .. } => Some(function),
            _ => None,
        };
        if matches!(function, Some(Function::Reciprocal | Function::Log)) {
            poles[node.inputs[0]] = true;
        }
        for x in node.inputs.iter().filter_map(|&id| inverse_of(id)) {
            poles[x] |= !(matches!(node.op, Op::Mul) && node.inputs.contains(&x));
        }
    }
    if let Some(x) = inverse_of(graph.output) {
        poles[x] = true;
    }
    poles
}

/// What each element of a mean is off by, for its public factor is rounded; nothing of other layers.
fn rounded_means(graph: &Graph, rounding: &Rounding) -> Vec<Vec<f64>> {
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
fn rounded_op(op: &Op, layer: usize, rounding: &Rounding) -> Option<Op> {
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

    /// A root alone is right at 0; its inverse is not, nor are others.
    #[test]
    fn a_root_has_no_pole() {
        let function = |function, of| {
            let domain = (f32::NEG_INFINITY, f32::INFINITY);
            node(Op::Function { function, domain }, &[of], &[1])
        };
        let inverse = function(Function::InverseSqrt, 0);
        let root = node(Op::Mul, &[0, 1], &[1]);
        let of = |nodes: &[&Node]| {
            let nodes = nodes.iter().map(|&node| node.clone()).collect();
            poles(&graph(&[1], nodes))
        };
        assert_eq!(of(&[&inverse, &root]), [false; 3]);
        assert_eq!(of(&[&inverse]), [true, false]);
        let twice = node(Op::Mul, &[1, 1], &[1]);
        assert!(of(&[&inverse, &root, &twice])[0]);
        let reciprocal = function(Function::Reciprocal, 2);
        let poles = of(&[&inverse, &root, &reciprocal]);
        assert_eq!(poles, [false, false, true, false]);
        assert!(of(&[&function(Function::Log, 0)])[0]);
    }

    /// A third in 4 bits is 5/16, so a mean of three is 15/16 of what it should be; of four it is exact.
    #[test]
    fn the_factors_of_means_are_rounded() {
        let mean = |size| {
            let pool = pool(1, [1, size], [1, size]);
            node(Op::AveragePool(pool), &[0], &[1])
        };
        let graph = graph(&[3], vec![mean(3), mean(4)]);
        let rounding = Rounding {
            fractions: vec![4; 3],
            weights: vec![4; 2],
            steps: vec![Step::Truncated(2); 3],
            field: None,
            exact: false,
            ranks: None,
        };
        assert_eq!(
            rounded_means(&graph, &rounding),
            [vec![15.0 / 16.0], vec![1.0]]
        );
    }
}
