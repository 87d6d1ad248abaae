//! Finds out which elements of the input each element of the output is made of.

use crate::graph::{Conv, FILL, Graph, Matrices, Node, Op, Pool};
use crate::reference::last_uses;

/// For every element that is revealed the bits, joined, of all elements of the input that it is made
/// of, whatever the weights are.
pub(super) fn reach(graph: &Graph, input: Vec<u8>) -> Vec<u8> {
    let (mut values, last_use) = (vec![input], last_uses(graph));
    for (at, node) in graph.nodes.iter().enumerate() {
        let inputs: Vec<&[u8]> = node.inputs.iter().map(|&id| &values[id][..]).collect();
        let made = of_node(node, &inputs);
        let over = node.inputs.iter().filter(|&&id| last_use[id] == at);
        over.for_each(|&id| values[id] = Vec::new());
        values.push(made);
    }
    std::mem::take(&mut values[graph.output])
}

fn of_node(node: &Node, inputs: &[&[u8]]) -> Vec<u8> {
    let x = inputs[0];
    match &node.op {
        Op::Conv(conv) => of_conv(conv, x),
        Op::Linear(linear) => spread(x, linear.k, linear.n),
        Op::Lookup(lookup) => spread(&x[lookup.start..][..lookup.tokens], 1, lookup.n),
        Op::MatMul(matrices) => of_matrices(matrices, x, inputs[1]),
        Op::MaxPool(pool) | Op::AveragePool(pool) | Op::SumPool(pool) => of_windows(pool, x),
        Op::Rearrange { index, .. } => {
            let element = |&i: &u32| if i == FILL { 0 } else { x[i as usize] };
            index.iter().map(element).collect()
        }
        Op::Concat { outer } => (0..*outer)
            .flat_map(|o| {
                inputs.iter().flat_map(move |x| {
                    let size = x.len() / outer;
                    x[o * size..][..size].iter().copied()
                })
            })
            .collect(),
        _ => (0..x.len())
            .map(|e| all(inputs.iter().map(|input| input[e])))
            .collect(),
    }
}

fn all(bits: impl Iterator<Item = u8>) -> u8 {
    bits.fold(0, |all, bit| all | bit)
}

/// All bits of every `k` elements, joined, `n` times.
fn spread(x: &[u8], k: usize, n: usize) -> Vec<u8> {
    let rows = x.chunks(k).map(|row| all(row.iter().copied()));
    rows.flat_map(|bits| std::iter::repeat_n(bits, n)).collect()
}

fn of_matrices(matrices: &Matrices, x: &[u8], y: &[u8]) -> Vec<u8> {
    let &Matrices { m, k, n, .. } = matrices;
    let pairs = x.chunks(m * k).zip(y.chunks(k * n));
    let product = |(x, y): (&[u8], &[u8])| {
        let columns: Vec<u8> = (0..n).map(|j| all((0..k).map(|p| y[p * n + j]))).collect();
        let rows = x.chunks(k).map(|row| all(row.iter().copied()));
        let elements = rows.flat_map(|row| columns.iter().map(move |column| row | column));
        elements.collect::<Vec<u8>>()
    };
    pairs.flat_map(product).collect()
}

fn of_windows(pool: &Pool, x: &[u8]) -> Vec<u8> {
    let window = |e| (0..pool.window()).filter_map(move |tap| pool.tap(e, tap));
    let element = |e| all(window(e).map(|i| x[i]));
    (0..pool.out_len()).map(element).collect()
}

/// The bits of a convolution's results: those of a pool of each group's channels, which every filter has.
fn of_conv(conv: &Conv, x: &[u8]) -> Vec<u8> {
    let g = &conv.geometry;
    let plane = g.height * g.width;
    let windows = Pool {
        channels: 1,
        height: g.height,
        width: g.width,
        kernel: g.kernel,
        stride: g.stride,
        pad: g.pad,
        dilation: g.dilation,
        out: g.out(),
        count_pad: false,
    };
    let mut out = Vec::new();
    for group in x.chunks(g.channels / g.groups * plane) {
        let place = |at: usize| all(group.iter().skip(at).step_by(plane).copied());
        let joined: Vec<u8> = (0..plane).map(place).collect();
        let map = of_windows(&windows, &joined);
        out.extend(map.repeat(g.filters / g.groups));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{ConvGeometry, Input, Output, Weights};

    fn reached(op: Op, input: &[u8], inputs: &[usize]) -> Vec<u8> {
        let node = Node {
            name: "node".into(),
            op,
            inputs: inputs.to_vec(),
            shape: vec![],
        };
        let graph = Graph {
            inputs: vec![Input::numbers("x", &[input.len()])],
            nodes: vec![node],
            output: 1,
            outputs: vec![Output::whole("y", &[])],
            remarks: vec![],
        };
        reach(&graph, input.to_vec())
    }

    #[test]
    fn products_have_the_bits_of_rows_and_columns() {
        let matrices = Matrices {
            batch: 1,
            m: 2,
            k: 1,
            n: 2,
        };
        assert_eq!(
            reached(Op::MatMul(matrices), &[1, 2], &[0, 0]),
            [1, 3, 3, 2]
        );
        assert_eq!(spread(&[1, 2, 4, 4], 2, 3), [3, 3, 3, 4, 4, 4]);
    }

    /// Two groups of two channels of three places, a window of two with one place of padding before.
    #[test]
    fn filters_have_the_bits_of_their_group_in_their_window() {
        let geometry = ConvGeometry {
            channels: 4,
            height: 1,
            width: 3,
            filters: 2,
            kernel: [1, 2],
            stride: [1, 1],
            pad: [0, 1, 0, 0],
            dilation: [1, 1],
            groups: 2,
        };
        let conv = Conv {
            geometry,
            weight: Weights::default(),
            bias: Weights::default(),
        };
        let x = [1, 0, 0, 0, 2, 0, 4, 0, 0, 0, 0, 8];
        assert_eq!(reached(Op::Conv(conv), &x, &[0]), [1, 3, 2, 4, 4, 8]);
    }

    #[test]
    fn moved_and_joined_elements_keep_their_bits() {
        let index = vec![1, FILL, 0];
        assert_eq!(
            reached(Op::Rearrange { index, fill: 1.0 }, &[1, 2], &[0]),
            [2, 0, 1]
        );
        assert_eq!(
            reached(Op::Concat { outer: 2 }, &[1, 2], &[0, 0]),
            [1, 1, 2, 2]
        );
        assert_eq!(reached(Op::Mul, &[1, 2], &[0, 0]), [1, 2]);
    }
}
