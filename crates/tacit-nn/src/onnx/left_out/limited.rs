//! Numbers below which, or above which, nothing of a value is read.

use std::collections::{HashMap, HashSet};

use crate::onnx::lowest::BEYOND;
use crate::onnx::makers::{Makers, attribute};
use crate::onnx::proto::{GraphProto, NodeProto};

/// The numbers, by the values' names: below, and above.
#[derive(Default)]
pub(super) struct Limited {
    pub below: HashMap<String, f32>,
    pub above: HashMap<String, f32>,
    /// Values that are asked whether they are infinite.
    pub asked: HashSet<String>,
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
            let Some((x, [low, high])) = clipped(&makers, node) else {
                continue;
            };
            if asks_of_infinity(&makers, node) {
                limited.asked.insert(x.clone());
            }
            if readers.get(&x[..]) != Some(&1) {
                continue;
            }
            limited.below.extend(low.map(|low| (x.clone(), low)));
            limited.above.extend(high.map(|high| (x.clone(), high)));
        }
        limited
    }
}

/// Whether a node asks whether its first input is infinite.
fn asks_of_infinity(makers: &Makers, node: &NodeProto) -> bool {
    let is_infinite = |other: &String| makers.float(other).is_some_and(f32::is_infinite);
    match &node.op_type[..] {
        "IsInf" => true,
        "Equal" => node.input.get(1).is_some_and(is_infinite),
        _ => false,
    }
}

/// A value that a node reads, and the numbers that it clips it to, if it does.
fn clipped<'a>(makers: &Makers, node: &'a NodeProto) -> Option<(&'a String, [Option<f32>; 2])> {
    let bound = |i: usize, name: &str| {
        let given = node.input.get(i).and_then(|bound| makers.float(bound));
        let number = given.or_else(|| attribute(node, name)?.f);
        // Those that bound nothing are no better than what a mask leaves out.
        number.filter(|number| number.abs() < BEYOND)
    };
    let first = node.input.first()?;
    Some(match (&node.op_type[..], &node.input[..]) {
        ("Clip", _) => (first, [bound(1, "min"), bound(2, "max")]),
        ("Relu", _) => (first, [Some(0.0), None]),
        ("Max" | "Min", [one, other]) => {
            let (x, number) = match bound(0, "") {
                Some(number) => (other, Some(number)),
                None => (one, bound(1, "")),
            };
            match &node.op_type[..] {
                "Max" => (x, [number, None]),
                _ => (x, [None, number]),
            }
        }
        _ => (first, [None, None]),
    })
}
