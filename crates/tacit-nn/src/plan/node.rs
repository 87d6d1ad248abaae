//! The layer that a node of the graph becomes.

use super::layers::encode;
use super::scales::Scale;
use super::{LayerOp, Places};
use crate::graph::{Affine, Graph, Input, Lookup, Node, Op};

/// The layer that a node of the graph becomes, its inputs having `f` fraction bits.
pub(super) fn layer_op(graph: &Graph, node: &Node, scale: &Scale, f: u32) -> LayerOp {
    match &node.op {
        Op::Function { .. } => match scale.function {
            Some(function) => LayerOp::Function(function),
            None => unreachable!("every function was planned with the scales"),
        },
        Op::Conv(c) => LayerOp::Conv {
            geometry: c.geometry.clone(),
            bias: !c.bias.is_empty(),
        },
        Op::Linear(l) => LayerOp::Linear {
            rows: l.rows,
            k: l.k,
            n: l.n,
            bias: !l.bias.is_empty(),
        },
        Op::Lookup(l) => LayerOp::Lookup {
            start: shared_start(graph, l),
            tokens: l.tokens,
            k: l.classes,
            n: l.n,
        },
        Op::Affine(a) => affine_op(a),
        Op::Add => LayerOp::Add,
        Op::Sub => LayerOp::Sub,
        Op::Mul => LayerOp::Mul,
        Op::MatMul(matrices) => LayerOp::MatMul(*matrices),
        Op::Relu => LayerOp::Relu,
        Op::NonNegative => LayerOp::NonNegative,
        &Op::Whole(whole) => LayerOp::Whole {
            whole,
            low: scale.whole.low,
            steps: scale.whole.steps,
        },
        Op::Clip { .. } => {
            let encoded = |v: Option<f32>| v.map(|v| encode(v.into(), f));
            LayerOp::Clip {
                low: encoded(scale.clip.low),
                high: encoded(scale.clip.high),
            }
        }
        Op::MaxPool(pool) => LayerOp::MaxPool(pool.clone()),
        Op::AveragePool(pool) => LayerOp::AveragePool(pool.clone()),
        Op::SumPool(pool) => LayerOp::SumPool(pool.clone()),
        Op::Rearrange { index, fill } => LayerOp::Rearrange {
            index: Places::new(index),
            fill: encode((*fill).into(), f),
        },
        Op::Concat { outer } => LayerOp::Concat { outer: *outer },
    }
}

/// Where the tokens of a lookup begin among the numbers that are shared.
fn shared_start(graph: &Graph, lookup: &Lookup) -> usize {
    let before = &graph.inputs[..lookup.input];
    let given: usize = before.iter().map(Input::row_len).sum();
    let shared: usize = before.iter().map(Input::shared_len).sum();
    shared + (lookup.start - given) * graph.inputs[lookup.input].kind.shared()
}

fn affine_op(a: &Affine) -> LayerOp {
    LayerOp::Affine {
        inner: a.inner,
        channels: a.channels(),
        scale: !a.scale.is_empty(),
        shift: !a.shift.is_empty(),
    }
}
