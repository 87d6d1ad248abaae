//! Numbers below which, or above which, nothing of a value is read.

use std::collections::HashMap;

use crate::onnx::lowest::BEYOND;
use crate::onnx::makers::{Makers, attribute};
use crate::onnx::proto::{GraphProto, NodeProto};

/// The numbers, by the values' names: below, and above.
#[derive(Default)]
pub(super) struct Limited {
    pub below: HashMap<String, f32>,
    pub above: HashMap<String, f32>,
}

impl Limited {
    /// The numbers that values are clipped to by the one node that reads them.
    pub(super) fn of(graph: &GraphProto) -> Self {
        let makers = Makers::of(graph);
        let mut readers: HashMap<&str, usize> = HashMap::new();
        let outputs = graph.output.iter().map(|output| &output.name);
        for name in graph
            .node
            .iter()
            .flat_map(|node| &node.input)
            .chain(outputs)
        {
            *readers.entry(name).or_default() += 1;
        }
        let mut limited = Limited::default();
        for node in &graph.node {
            let Some(x) = node
                .input
                .first()
                .filter(|x| readers.get(&x[..]) == Some(&1))
            else {
                continue;
            };
            let [low, high] = clipped(&makers, node);
            limited.below.extend(low.map(|low| (x.clone(), low)));
            limited.above.extend(high.map(|high| (x.clone(), high)));
        }
        limited
    }
}

/// The numbers that a node clips its first input to.
fn clipped(makers: &Makers, node: &NodeProto) -> [Option<f32>; 2] {
    let bound = |i: usize, name: &str| {
        let given = node.input.get(i).and_then(|bound| makers.float(bound));
        let number = given.or_else(|| attribute(node, name)?.f);
        // Those that bound nothing are no better than what a mask leaves out.
        number.filter(|number| number.abs() < BEYOND)
    };
    match &node.op_type[..] {
        "Clip" => [bound(1, "min"), bound(2, "max")],
        "Relu" => [Some(0.0), None],
        "Max" if node.input.len() == 2 => [bound(1, ""), None],
        "Min" if node.input.len() == 2 => [None, bound(1, "")],
        _ => [None, None],
    }
}
