//! Rewrites of the graph that save work or communication and keep what it computes.

mod concat;
mod ordered;
mod signed;
mod squares;

pub(crate) use ordered::first;
use std::collections::HashMap;
use std::sync::Arc;

use crate::graph::{Affine, FILL, Graph, Node, Op, ValueId, Weights, len};

impl Graph {
    /// Compares numbers before they are scaled, folds scales and shifts into neighbouring linear layers, also
    /// across products of two values and what moves elements, and takes the maximum before the comparison with
    /// 0, which leaves fewer elements to compare.
    pub fn optimise(self) -> Graph {
        let mut rewriter = Rewriter::new(ordered::without_scales(concat::scales_behind(self)));
        let passes = [
            Rewriter::fold_into_producer,
            Rewriter::fold_into_consumer,
            Rewriter::scale_first,
            Rewriter::scale_before_square,
            Rewriter::pool_first,
            Rewriter::drop_repeated,
        ];
        while passes
            .iter()
            .any(|pass| (0..rewriter.graph.nodes.len()).any(|i| pass(&mut rewriter, i)))
        {}
        rewriter.finish()
    }
}

struct Rewriter {
    graph: Graph,
    /// Nodes whose output is now that of their first input.
    dropped: Vec<bool>,
    /// How many nodes read each value; the output of the model counts as one.
    uses: Vec<usize>,
    /// How many nodes hold the same factors.
    holders: HashMap<*const f32, usize>,
    /// Affine nodes that were joined, so that the same two always give the same weights.
    joined: Vec<[Affine; 3]>,
}

impl Rewriter {
    fn new(graph: Graph) -> Self {
        let mut uses = vec![0; graph.nodes.len() + 1];
        let mut holders = HashMap::new();
        uses[graph.output] = 1;
        for node in &graph.nodes {
            node.inputs.iter().for_each(|&id| uses[id] += 1);
            let [factors, _] = node.op.weights();
            *holders.entry(factors.as_ptr()).or_default() += 1;
        }
        Rewriter {
            dropped: vec![false; graph.nodes.len()],
            uses,
            holders,
            joined: vec![],
            graph,
        }
    }

    /// Removes node `i`: its readers read its input instead.
    fn drop(&mut self, i: usize) {
        self.dropped[i] = true;
        let input = self.graph.nodes[i].inputs[0];
        self.uses[input] = self.uses[input] - 1 + self.uses[i + 1];
        self.uses[i + 1] = 0;
        let redirect = |id: &mut ValueId| {
            if *id == i + 1 {
                *id = input;
            }
        };
        self.graph
            .nodes
            .iter_mut()
            .flat_map(|n| &mut n.inputs)
            .for_each(redirect);
        redirect(&mut self.graph.output);
    }

    /// Node `i` with the node that alone feeds it.
    fn pair(&mut self, i: usize) -> Option<(usize, &mut Node, &mut Node)> {
        if self.dropped[i] {
            return None;
        }
        let [input] = self.graph.nodes[i].inputs[..] else {
            return None;
        };
        let producer = input.checked_sub(1).filter(|_| self.uses[input] == 1)?;
        let (before, after) = self.graph.nodes.split_at_mut(i);
        Some((producer, &mut before[producer], &mut after[0]))
    }

    /// Whether node `i` is a product with weights that other nodes hold too: another copy of them
    /// would cost more than a fold saves.
    fn shares_weights(&self, i: usize) -> bool {
        let op = &self.graph.nodes[i].op;
        let [factors, _] = op.weights();
        let product = matches!(op, Op::Conv(_) | Op::Linear(_));
        product && self.holders.get(&factors.as_ptr()).is_some_and(|&n| n > 1)
    }

    fn fold_into_producer(&mut self, i: usize) -> bool {
        let Some((at, producer, node)) = self.pair(i) else {
            return false;
        };
        let Op::Affine(affine) = &node.op else {
            return false;
        };
        let done = match &producer.op {
            Op::Affine(first) => {
                let pair = [first.clone(), affine.clone()];
                self.join(at, pair)
            }
            _ => {
                let affine = affine.clone();
                !self.shares_weights(at) && {
                    let node = &mut self.graph.nodes[at];
                    fold_after(&affine, &mut node.op, len(&node.shape))
                }
            }
        };
        if done {
            self.drop(i);
        }
        done
    }

    /// Makes node `at` compute both, if they share the layout of their channels.
    fn join(&mut self, at: usize, [first, second]: [Affine; 2]) -> bool {
        let known = |[a, b, _]: &&[Affine; 3]| same(a, &first) && same(b, &second);
        let joined = match self.joined.iter().find(known) {
            Some([_, _, joined]) => joined.clone(),
            None => {
                let Some(joined) = join(&first, &second) else {
                    return false;
                };
                self.joined.push([first, second, joined.clone()]);
                joined
            }
        };
        self.graph.nodes[at].op = Op::Affine(joined);
        true
    }

    fn fold_into_consumer(&mut self, i: usize) -> bool {
        let Some((at, producer, _)) = self.pair(i) else {
            return false;
        };
        let Op::Affine(affine) = &producer.op else {
            return false;
        };
        let (affine, elements) = (affine.clone(), len(&producer.shape));
        let done =
            !self.shares_weights(i) && fold_before(&affine, &mut self.graph.nodes[i].op, elements);
        if done {
            self.drop(at);
        }
        done
    }

    /// One scale for all elements of a product of two values becomes one of its left factor, and one
    /// after elements were moved or repeated one before: there it may meet the weights that it folds into.
    fn scale_first(&mut self, i: usize) -> bool {
        let Some((at, producer, node)) = self.pair(i) else {
            return false;
        };
        let Op::Affine(affine) = node.op.clone() else {
            return false;
        };
        let input = producer.inputs[0];
        let (is_product, places) = match &producer.op {
            Op::MatMul(_) => (true, 0),
            Op::Rearrange { index, .. } if !index.contains(&FILL) => (false, index.len()),
            _ => return false,
        };
        let shape = match input.checked_sub(1) {
            None => self.graph.row_shape(),
            Some(node) => self.graph.nodes[node].shape.clone(),
        };
        let inner = len(&shape);
        let moves = match is_product {
            true => affine.shift.is_empty(),
            false => places >= inner,
        };
        if affine.channels() != 1 || !moves {
            return false;
        }
        let (before, after) = self.graph.nodes.split_at_mut(i);
        let (first, second) = (&mut before[at], &mut after[0]);
        std::mem::swap(&mut first.name, &mut second.name);
        second.op = std::mem::replace(&mut first.op, Op::Affine(Affine { inner, ..affine }));
        second.inputs = std::mem::replace(&mut first.inputs, vec![input]);
        second.inputs[0] = at + 1;
        first.shape = shape;
        true
    }

    /// Relu or Clip before MaxPool becomes MaxPool before Relu or Clip.
    fn pool_first(&mut self, i: usize) -> bool {
        let Some((_, first, second)) = self.pair(i) else {
            return false;
        };
        let swap =
            matches!(first.op, Op::Relu | Op::Clip { .. }) && matches!(second.op, Op::MaxPool(_));
        if swap {
            std::mem::swap(&mut first.op, &mut second.op);
            std::mem::swap(&mut first.name, &mut second.name);
            first.shape.clone_from(&second.shape);
        }
        swap
    }

    fn drop_repeated(&mut self, i: usize) -> bool {
        let Some((_, first, second)) = self.pair(i) else {
            return false;
        };
        let repeated = matches!((&first.op, &second.op), (Op::Relu, Op::Relu));
        if repeated {
            self.drop(i);
        }
        repeated
    }

    /// Drops what the output does not depend on.
    fn finish(mut self) -> Graph {
        let mut needed = vec![false; self.uses.len()];
        needed[self.graph.output] = true;
        for (i, node) in self.graph.nodes.iter().enumerate().rev() {
            if needed[i + 1] {
                node.inputs.iter().for_each(|&id| needed[id] = true);
            }
            self.dropped[i] |= !needed[i + 1];
        }
        let mut renumbered = vec![0];
        let mut next = 0;
        for &dropped in &self.dropped {
            next += usize::from(!dropped);
            renumbered.push(next);
        }
        let mut keep = self.dropped.iter().map(|d| !d);
        self.graph.nodes.retain(|_| keep.next().unwrap_or(true));
        for id in self
            .graph
            .nodes
            .iter_mut()
            .flat_map(|n| &mut n.inputs)
            .chain([&mut self.graph.output])
        {
            *id = renumbered[*id];
        }
        self.graph
    }
}

/// Scale and shift as one pair per key, if all elements of a key share theirs: of keys that stand one after the
/// other, `inner` elements each, over and over.
fn per_key(affine: &Affine, elements: usize, keys: usize, inner: usize) -> Option<Vec<(f32, f32)>> {
    let channels = affine.channels().max(1);
    if (affine.inner, channels) == (inner, keys) && elements >= inner * keys {
        return Some((0..keys).map(|key| affine.numbers(key)).collect());
    }
    let mut numbers = vec![None; keys];
    for e in 0..elements {
        let pair = affine.numbers(e / affine.inner % channels);
        if *numbers[e / inner % keys].get_or_insert(pair) != pair {
            return None;
        }
    }
    numbers.into_iter().collect()
}

/// Makes `op` compute `affine(op(x))`, where it can.
fn fold_after(affine: &Affine, op: &mut Op, elements: usize) -> bool {
    match op {
        Op::Conv(conv) => {
            let filters = conv.geometry.filters;
            let plane = elements / filters;
            let Some(numbers) = per_key(affine, elements, filters, plane) else {
                return false;
            };
            let taps = conv.geometry.taps();
            let filters = Arc::make_mut(&mut conv.weight).chunks_mut(taps);
            let filters = filters.zip(&numbers);
            filters.for_each(|(weights, n)| weights.iter_mut().for_each(|w| *w *= n.0));
            scale_bias(&mut conv.bias, &numbers);
        }
        Op::Linear(linear) => {
            let n = linear.n;
            let Some(numbers) = per_key(affine, elements, n, 1) else {
                return false;
            };
            for row in Arc::make_mut(&mut linear.weight).chunks_mut(n) {
                row.iter_mut().zip(&numbers).for_each(|(w, n)| *w *= n.0);
            }
            scale_bias(&mut linear.bias, &numbers);
        }
        _ => return false,
    }
    true
}

fn scale_bias(bias: &mut Weights, numbers: &[(f32, f32)]) {
    if bias.is_empty() && numbers.iter().all(|n| n.1 == 0.0) {
        return;
    }
    let old = bias.iter().copied().chain(std::iter::repeat(0.0));
    *bias = old.zip(numbers).map(|(b, n)| b * n.0 + n.1).collect();
}

/// Whether both are the same numbers, not merely equal ones.
fn same(a: &Affine, b: &Affine) -> bool {
    let held = |a: &Weights, b: &Weights| Arc::ptr_eq(a, b) || a.is_empty() && b.is_empty();
    a.inner == b.inner && held(&a.scale, &b.scale) && held(&a.shift, &b.shift)
}

/// `second(first(x))`, if they share the layout of their channels.
fn join(first: &Affine, second: &Affine) -> Option<Affine> {
    if first.inner != second.inner || first.channels() != second.channels() {
        return None;
    }
    let channels = 0..first.channels();
    let at = |numbers: &[f32], c: usize, default| numbers.get(c).copied().unwrap_or(default);
    let shift =
        |c| at(&first.shift, c, 0.0) * at(&second.scale, c, 1.0) + at(&second.shift, c, 0.0);
    let scale = |c| at(&first.scale, c, 1.0) * at(&second.scale, c, 1.0);
    let given = |numbers: [&Weights; 2], number: &dyn Fn(usize) -> f32| -> Weights {
        match numbers.iter().all(|numbers| numbers.is_empty()) {
            true => Weights::default(),
            false => channels.clone().map(number).collect(),
        }
    };
    Some(Affine {
        inner: first.inner,
        scale: given([&first.scale, &second.scale], &scale),
        shift: given([&first.shift, &second.shift], &shift),
    })
}

/// Makes `op` compute `op(affine(x))`, where it can.
fn fold_before(affine: &Affine, op: &mut Op, elements: usize) -> bool {
    match op {
        Op::Conv(conv) => {
            let g = &conv.geometry;
            // The shift does not reach the padding, so padding would need another bias there.
            if g.pad != [0; 4] && affine.shift.iter().any(|&v| v != 0.0) {
                return false;
            }
            let plane = elements / g.channels;
            let Some(numbers) = per_key(affine, elements, g.channels, plane) else {
                return false;
            };
            let (window, per_group) = (g.kernel[0] * g.kernel[1], g.channels / g.groups);
            let filters_per_group = g.filters / g.groups;
            let mut added = vec![(1.0, 0.0); g.filters];
            let weights = Arc::make_mut(&mut conv.weight).chunks_mut(g.taps());
            for (filter, weight) in weights.enumerate() {
                let first = filter / filters_per_group * per_group;
                added[filter].1 = absorb(weight, |tap| numbers[first + tap / window]);
            }
            scale_bias(&mut conv.bias, &added);
        }
        Op::Linear(linear) => {
            let (k, n) = (linear.k, linear.n);
            let Some(numbers) = per_key(affine, elements, k, 1) else {
                return false;
            };
            let mut added = vec![(1.0, 0.0); n];
            let weights = Arc::make_mut(&mut linear.weight).chunks_mut(n);
            for (row, weight) in weights.enumerate() {
                let (scale, shift) = numbers[row];
                weight.iter_mut().zip(&mut added).for_each(|(w, added)| {
                    added.1 += *w * shift;
                    *w *= scale;
                });
            }
            scale_bias(&mut linear.bias, &added);
        }
        _ => return false,
    }
    true
}

/// Multiplies each weight by its scale; returns the sum of the old weights times the shifts.
fn absorb(weight: &mut [f32], number: impl Fn(usize) -> (f32, f32)) -> f32 {
    let mut sum = 0.0;
    for (tap, w) in weight.iter_mut().enumerate() {
        let (scale, shift) = number(tap);
        sum += *w * shift;
        *w *= scale;
    }
    sum
}
