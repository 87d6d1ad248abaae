//! The model in the clear, in float32: for calibration and for checking private results.

use std::rc::Rc;

use rayon::prelude::*;

use crate::graph::{Conv, FILL, Graph, Linear, Lookup, Matrices, Node, Op, Pool, ValueId};
use crate::tail;

mod gemm;
pub(crate) mod signs;

pub use gemm::gemm;

/// Items that are computed at a time, which bounds the memory.
const CHUNK: usize = 64;

/// An input that does not have the model's shape.
#[derive(Debug, thiserror::Error)]
#[error("the input has {found} numbers; a batch of items of {item} numbers is needed")]
pub struct ShapeError {
    found: usize,
    item: usize,
}

/// The smallest and largest value that each [`ValueId`] took.
pub type Ranges = Vec<(f32, f32)>;

/// The model's outputs, tails included, for a batch of items: in every item one behind the other.
pub fn predict(graph: &Graph, x: &[f32]) -> Result<Vec<f32>, ShapeError> {
    let values = run(graph, x, |_, _| {})?;
    Ok(tail::finish(&graph.outputs, values))
}

/// The value that would be revealed, and the range of every value on the way.
pub fn ranges(graph: &Graph, x: &[f32]) -> Result<(Vec<f32>, Ranges), ShapeError> {
    let mut ranges = vec![(f32::INFINITY, f32::NEG_INFINITY); graph.nodes.len() + 1];
    let output = run(graph, x, |id, values| {
        let (low, high) = &mut ranges[id];
        for v in values {
            *low = low.min(*v);
            *high = high.max(*v);
        }
    })?;
    Ok((output, ranges))
}

/// The value that would be revealed. `visit` sees, and may change, every value as it is made,
/// for some of the batch at a time.
pub fn run(
    graph: &Graph,
    x: &[f32],
    mut visit: impl FnMut(ValueId, &mut [f32]),
) -> Result<Vec<f32>, ShapeError> {
    let items = items(graph, x)?;
    let item = x.len() / items.max(1);
    let mut output = Vec::new();
    for chunk in x.chunks(CHUNK * item.max(1)) {
        let mut input = chunk.to_vec();
        visit(0, &mut input);
        let mut evaluation = Evaluation::new(graph, input)?;
        while evaluation.next().is_some() {
            let mut value = evaluation.evaluate();
            visit(evaluation.done(), &mut value);
            evaluation.push(value);
        }
        output.extend_from_slice(evaluation.output());
    }
    Ok(output)
}

/// How many items there are.
pub(crate) fn items(graph: &Graph, x: &[f32]) -> Result<usize, ShapeError> {
    let (found, item) = (x.len(), graph.given_len());
    match item > 0 && found.is_multiple_of(item) {
        true => Ok(found / item),
        false => Err(ShapeError { found, item }),
    }
}

/// The index of the first of the largest numbers.
pub fn largest(item: &[f32]) -> usize {
    let mut best = 0;
    for (i, v) in item.iter().enumerate() {
        if *v > item[best] {
            best = i;
        }
    }
    best
}

/// An evaluation of a batch under way. A copy shares the values so far and goes on by itself.
#[derive(Clone)]
pub(crate) struct Evaluation<'a> {
    graph: &'a Graph,
    last_use: Rc<[usize]>,
    items: usize,
    /// Empty where no later node reads them.
    values: Vec<Rc<Vec<f32>>>,
}

impl<'a> Evaluation<'a> {
    /// Before the first node.
    pub(crate) fn new(graph: &'a Graph, x: Vec<f32>) -> Result<Self, ShapeError> {
        Ok(Evaluation {
            graph,
            last_use: last_uses(graph).into(),
            items: items(graph, &x)?,
            values: vec![Rc::new(x)],
        })
    }

    /// The value that the next node makes.
    pub(crate) fn done(&self) -> ValueId {
        self.values.len()
    }

    /// The node to come.
    pub(crate) fn next(&self) -> Option<&'a Node> {
        self.graph.nodes.get(self.done() - 1)
    }

    /// What the node to come reads first; empty after the last.
    pub(crate) fn input(&self) -> &[f32] {
        self.next().map_or(&[], |node| &self.values[node.inputs[0]])
    }

    /// The next value in float32; empty after the last.
    pub(crate) fn evaluate(&self) -> Vec<f32> {
        let Some(node) = self.next() else {
            return Vec::new();
        };
        let inputs: Vec<&[f32]> = node
            .inputs
            .iter()
            .map(|&id| self.values[id].as_slice())
            .collect();
        evaluate(node, &inputs, self.items)
    }

    /// Goes on with `value` as the next one.
    pub(crate) fn push(&mut self, value: Vec<f32>) {
        let node = self.done() - 1;
        for &id in &self.graph.nodes[node].inputs {
            if self.last_use[id] == node {
                self.values[id] = Rc::default();
            }
        }
        self.values.push(Rc::new(value));
    }

    /// The value that would be revealed, once all nodes are done.
    pub(crate) fn output(&self) -> &[f32] {
        self.values.get(self.graph.output).map_or(&[], |v| v)
    }
}

/// The last node that reads each value; the output is kept.
fn last_uses(graph: &Graph) -> Vec<usize> {
    let mut last = vec![usize::MAX; graph.nodes.len() + 1];
    for (i, node) in graph.nodes.iter().enumerate() {
        for &id in &node.inputs {
            last[id] = i;
        }
    }
    last[graph.output] = usize::MAX;
    last
}

fn evaluate(node: &Node, inputs: &[&[f32]], batch: usize) -> Vec<f32> {
    let x = inputs[0];
    let each = |f: &dyn Fn(f32) -> f32| x.iter().map(|&v| f(v)).collect();
    let both = |f: fn(f32, f32) -> f32| x.iter().zip(inputs[1]).map(|(&a, &b)| f(a, b)).collect();
    match &node.op {
        Op::Conv(conv) => convolve(conv, x),
        Op::Linear(linear) => multiply(linear, x),
        Op::Lookup(lookup) => look_up(lookup, x, batch),
        Op::Affine(affine) => {
            let item = x.len() / batch;
            let number = |e: usize| (affine.scale_at(e), affine.shift_at(e));
            let numbers: Vec<_> = (0..item).map(number).collect();
            x.chunks(item)
                .flat_map(|x| x.iter().zip(&numbers).map(|(v, (a, b))| v * a + b))
                .collect()
        }
        Op::Add => both(|a, b| a + b),
        Op::Sub => both(|a, b| a - b),
        Op::Mul => both(|a, b| a * b),
        Op::MatMul(matrices) => products(matrices, x, inputs[1]),
        Op::Function { function, .. } => each(&|v| function.of(v.into()) as f32),
        Op::Relu => each(&|v| v.max(0.0)),
        Op::NonNegative => each(&|v| f32::from(v >= 0.0)),
        Op::Clip { low, high } => each(&|v| {
            let v = low.map_or(v, |low| v.max(low));
            high.map_or(v, |high| v.min(high))
        }),
        Op::MaxPool(pool) => windows(pool, x, |_, taps| taps.fold(f32::NEG_INFINITY, f32::max)),
        Op::AveragePool(pool) => windows(pool, x, |e, taps| {
            taps.sum::<f32>() / pool.divisor(e) as f32
        }),
        Op::SumPool(pool) => windows(pool, x, |_, taps| taps.sum()),
        Op::Rearrange { index, fill } => x
            .chunks(x.len() / batch)
            .flat_map(|x| {
                index
                    .iter()
                    .map(|&i| if i == FILL { *fill } else { x[i as usize] })
            })
            .collect(),
        Op::Concat { outer } => concat(inputs, batch * outer),
    }
}

fn concat(inputs: &[&[f32]], outer: usize) -> Vec<f32> {
    let chunk = |o: usize, x: &[f32]| {
        let size = x.len() / outer;
        o * size..(o + 1) * size
    };
    (0..outer)
        .flat_map(|o| {
            inputs
                .iter()
                .flat_map(move |x| x[chunk(o, x)].iter().copied())
        })
        .collect()
}

/// The elements of every window.
fn taps(pool: &Pool) -> Vec<Vec<usize>> {
    let window = |e| (0..pool.window()).filter_map(move |tap| pool.tap(e, tap));
    (0..pool.out_len()).map(|e| window(e).collect()).collect()
}

fn windows(
    pool: &Pool,
    x: &[f32],
    reduce: impl Fn(usize, &mut dyn Iterator<Item = f32>) -> f32 + Sync,
) -> Vec<f32> {
    let taps = taps(pool);
    let item = |x: &[f32]| -> Vec<f32> {
        taps.iter()
            .enumerate()
            .map(|(e, taps)| reduce(e, &mut taps.iter().map(|&i| x[i])))
            .collect()
    };
    x.par_chunks(pool.in_len()).flat_map_iter(item).collect()
}

/// The rows of tokens; NaN where a number is none of them.
fn look_up(lookup: &Lookup, x: &[f32], items: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(items * lookup.tokens * lookup.n);
    let none = vec![f32::NAN; lookup.n];
    for item in x.chunks(x.len() / items.max(1)) {
        for &token in &item[lookup.start..][..lookup.tokens] {
            out.extend_from_slice(lookup.row(token).unwrap_or(&none));
        }
    }
    out
}

fn multiply(linear: &Linear, x: &[f32]) -> Vec<f32> {
    let Linear {
        k, n, weight, bias, ..
    } = linear;
    let mut out = vec![0.0; x.len() / k * n];
    // Each thread takes some rows, so that it reads the weights once for all of them.
    let rows = (x.len() / k).div_ceil(rayon::current_num_threads()).max(1);
    out.par_chunks_mut(rows * n)
        .zip(x.par_chunks(rows * k))
        .for_each(|(out, x)| {
            if !bias.is_empty() {
                out.chunks_mut(*n).for_each(|row| row.copy_from_slice(bias));
            }
            gemm(out, x, weight, [*k, *n]);
        });
    out
}

/// The products of matrices of `x` and `y`, pair by pair.
fn products(matrices: &Matrices, x: &[f32], y: &[f32]) -> Vec<f32> {
    let &Matrices { m, k, n, .. } = matrices;
    let mut out = vec![0.0; x.len() / k * n];
    out.par_chunks_mut(m * n)
        .zip(x.par_chunks(m * k).zip(y.par_chunks(k * n)))
        .for_each(|(out, (x, y))| gemm(out, x, y, [k, n]));
    out
}

fn convolve(conv: &Conv, x: &[f32]) -> Vec<f32> {
    let g = &conv.geometry;
    let plane = g.out()[0] * g.out()[1];
    // Small maps are joined side by side, so that the product has wide rows.
    let together = (128 / plane).max(1);
    let mut out = vec![0.0; x.len() / g.in_len() * g.out_len()];
    out.par_chunks_mut(together * g.out_len())
        .zip(x.par_chunks(together * g.in_len()))
        .for_each(|(out, x)| {
            let items = x.len() / g.in_len();
            let (per_group, taps) = (g.filters / g.groups, g.taps());
            for group in 0..g.groups {
                let columns = unfold(conv, x, group, items);
                let mut maps = vec![0.0; per_group * items * plane];
                gemm(
                    &mut maps,
                    &conv.weight[group * per_group * taps..][..per_group * taps],
                    &columns,
                    [taps, items * plane],
                );
                for f in 0..per_group {
                    let filter = group * per_group + f;
                    let bias = conv.bias.get(filter).copied().unwrap_or(0.0);
                    for item in 0..items {
                        let map = &maps[(f * items + item) * plane..][..plane];
                        let to = &mut out[item * g.out_len() + filter * plane..][..plane];
                        to.iter_mut().zip(map).for_each(|(to, v)| *to = v + bias);
                    }
                }
            }
        });
    out
}

/// The matrix of one row per tap of a filter and one column per output position of each item.
fn unfold(conv: &Conv, x: &[f32], group: usize, items: usize) -> Vec<f32> {
    let g = &conv.geometry;
    let ([oh, ow], [kh, kw]) = (g.out(), g.kernel);
    let mut columns = vec![0.0; g.taps() * items * oh * ow];
    for tap in 0..g.taps() {
        let (channel, ky, kx) = (
            tap / (kh * kw) + group * g.channels / g.groups,
            tap / kw % kh,
            tap % kw,
        );
        for item in 0..items {
            let map = &x[item * g.in_len() + channel * g.height * g.width..][..g.height * g.width];
            let row = &mut columns[(tap * items + item) * oh * ow..][..oh * ow];
            for o in 0..oh {
                let Some(y) = (o * g.stride[0] + ky * g.dilation[0])
                    .checked_sub(g.pad[0])
                    .filter(|&y| y < g.height)
                else {
                    continue;
                };
                for (p, to) in row[o * ow..][..ow].iter_mut().enumerate() {
                    let position = (p * g.stride[1] + kx * g.dilation[1]).checked_sub(g.pad[1]);
                    if let Some(x) = position.filter(|&x| x < g.width) {
                        *to = map[y * g.width + x];
                    }
                }
            }
        }
    }
    columns
}
