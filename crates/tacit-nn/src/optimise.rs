//! Rewrites of the graph that save work or communication and keep what it computes.

use crate::graph::{Affine, Graph, Node, Op, ValueId, len};

impl Graph {
    /// Folds scales and shifts into neighbouring linear layers, and takes the maximum before the
    /// comparison with 0, which leaves fewer elements to compare.
    pub fn optimise(self) -> Graph {
        let mut rewriter = Rewriter::new(self);
        let passes = [
            Rewriter::fold_into_producer,
            Rewriter::fold_into_consumer,
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
}

impl Rewriter {
    fn new(graph: Graph) -> Self {
        Rewriter {
            dropped: vec![false; graph.nodes.len()],
            graph,
        }
    }

    /// The node that makes `id`, if nothing but `reader` uses it.
    fn only_producer(&self, id: ValueId, reader: usize) -> Option<usize> {
        let nodes = self
            .graph
            .nodes
            .iter()
            .enumerate()
            .filter(|&(j, _)| !self.dropped[j]);
        let uses =
            nodes.flat_map(|(j, node)| node.inputs.iter().filter(|&&i| i == id).map(move |_| j));
        let alone = self.graph.output != id && uses.eq([reader]);
        id.checked_sub(1).filter(|_| alone)
    }

    /// Removes node `i`: its readers read its input instead.
    fn drop(&mut self, i: usize) {
        self.dropped[i] = true;
        let input = self.graph.nodes[i].inputs[0];
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
        let producer = self.only_producer(input, i)?;
        let (before, after) = self.graph.nodes.split_at_mut(i);
        Some((producer, &mut before[producer], &mut after[0]))
    }

    fn fold_into_producer(&mut self, i: usize) -> bool {
        let Some((_, producer, node)) = self.pair(i) else {
            return false;
        };
        let Op::Affine(affine) = &node.op else {
            return false;
        };
        let done = fold_after(affine, &mut producer.op, len(&node.shape));
        if done {
            self.drop(i);
        }
        done
    }

    fn fold_into_consumer(&mut self, i: usize) -> bool {
        let Some((at, producer, node)) = self.pair(i) else {
            return false;
        };
        let Op::Affine(affine) = &producer.op else {
            return false;
        };
        let done = fold_before(affine, &mut node.op, len(&producer.shape));
        if done {
            self.drop(at);
        }
        done
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

    fn finish(mut self) -> Graph {
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

/// Scale and shift as one pair per key, if all elements of a key share theirs.
fn per_key(
    affine: &Affine,
    elements: usize,
    keys: usize,
    key: impl Fn(usize) -> usize,
) -> Option<Vec<(f32, f32)>> {
    let mut numbers = vec![None; keys];
    for e in 0..elements {
        let pair = (affine.scale_at(e), affine.shift_at(e));
        if *numbers[key(e)].get_or_insert(pair) != pair {
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
            let Some(numbers) = per_key(affine, elements, filters, |e| e / plane) else {
                return false;
            };
            let taps = conv.geometry.taps();
            conv.weight
                .chunks_mut(taps)
                .zip(&numbers)
                .for_each(|(w, n)| w.iter_mut().for_each(|w| *w *= n.0));
            scale_bias(&mut conv.bias, &numbers);
        }
        Op::Linear(linear) => {
            let n = linear.n;
            let Some(numbers) = per_key(affine, elements, n, |e| e % n) else {
                return false;
            };
            linear
                .weight
                .chunks_mut(n)
                .for_each(|row| row.iter_mut().zip(&numbers).for_each(|(w, n)| *w *= n.0));
            scale_bias(&mut linear.bias, &numbers);
        }
        Op::Affine(first) => {
            let fits = |a: &Affine| a.inner == first.inner && a.channels() == first.channels();
            if !fits(affine) {
                return false;
            }
            let channels = 0..first.channels();
            let at =
                |numbers: &[f32], c: usize, default| numbers.get(c).copied().unwrap_or(default);
            let shift = |c| {
                at(&first.shift, c, 0.0) * at(&affine.scale, c, 1.0) + at(&affine.shift, c, 0.0)
            };
            let scale = |c| at(&first.scale, c, 1.0) * at(&affine.scale, c, 1.0);
            let scales = !first.scale.is_empty() || !affine.scale.is_empty();
            let shifts = !first.shift.is_empty() || !affine.shift.is_empty();
            let new = Affine {
                inner: first.inner,
                shift: if shifts {
                    channels.clone().map(shift).collect()
                } else {
                    vec![]
                },
                scale: if scales {
                    channels.map(scale).collect()
                } else {
                    vec![]
                },
            };
            *first = new;
        }
        _ => return false,
    }
    true
}

fn scale_bias(bias: &mut Vec<f32>, numbers: &[(f32, f32)]) {
    if bias.is_empty() && numbers.iter().any(|n| n.1 != 0.0) {
        bias.resize(numbers.len(), 0.0);
    }
    bias.iter_mut()
        .zip(numbers)
        .for_each(|(b, n)| *b = *b * n.0 + n.1);
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
            let Some(numbers) = per_key(affine, elements, g.channels, |e| e / plane) else {
                return false;
            };
            let (window, per_group) = (g.kernel[0] * g.kernel[1], g.channels / g.groups);
            let filters_per_group = g.filters / g.groups;
            let mut added = vec![(1.0, 0.0); g.filters];
            for (filter, weight) in conv.weight.chunks_mut(g.taps()).enumerate() {
                let first = filter / filters_per_group * per_group;
                added[filter].1 = absorb(weight, |tap| numbers[first + tap / window]);
            }
            scale_bias(&mut conv.bias, &added);
        }
        Op::Linear(linear) => {
            let (k, n) = (linear.k, linear.n);
            let Some(numbers) = per_key(affine, elements, k, |e| e % k) else {
                return false;
            };
            let mut added = vec![(1.0, 0.0); n];
            for (row, weight) in linear.weight.chunks_mut(n).enumerate() {
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
