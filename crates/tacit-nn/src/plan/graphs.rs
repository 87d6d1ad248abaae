//! Small graphs for the tests of this folder.

use crate::graph::{Graph, Input, Node, Op, Output, Pool, ValueId};

/// A graph of one input whose last node makes its output.
pub(crate) fn graph(input_shape: &[usize], nodes: Vec<Node>) -> Graph {
    let last = nodes.last().map(|n| n.shape.clone()).unwrap_or_default();
    Graph {
        inputs: vec![Input::numbers("x", input_shape)],
        output: nodes.len(),
        nodes,
        outputs: vec![Output::whole("y", &last)],
        remarks: vec![],
    }
}

pub(crate) fn node(op: Op, inputs: &[ValueId], shape: &[usize]) -> Node {
    Node {
        name: "n".into(),
        op,
        inputs: inputs.to_vec(),
        shape: shape.to_vec(),
    }
}

/// Windows side by side over `channels` of `height` by `width`, without padding.
pub(crate) fn pool(channels: usize, [height, width]: [usize; 2], kernel: [usize; 2]) -> Pool {
    Pool {
        channels,
        height,
        width,
        kernel,
        stride: kernel,
        pad: [0; 4],
        dilation: [1, 1],
        out: [height / kernel[0], width / kernel[1]],
        count_pad: false,
    }
}
