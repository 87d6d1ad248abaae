//! Parts without elements, as PyTorch's first exporter writes them of a roll by 0: they join to nothing.

use super::makers::Makers;
use super::proto::{GraphProto, NodeProto};

/// Lets every Concat join only parts that have elements, where others are seen to have none.
pub(super) fn drop_parts(graph: &mut GraphProto) {
    let found: Vec<(usize, Vec<String>)> = {
        let makers = Makers::of(graph);
        let nodes = graph.node.iter().enumerate();
        nodes
            .filter_map(|(at, node)| Some((at, others(&makers, node)?)))
            .collect()
    };
    for (at, inputs) in found {
        graph.node[at].input = inputs;
    }
}

/// The parts of a Concat that may have elements, if there are others.
fn others(makers: &Makers, node: &NodeProto) -> Option<Vec<String>> {
    let axis = node.attribute.iter().find(|a| a.name == "axis")?.i?;
    let concat = makers.node(node.output.first()?, "Concat")?;
    if !std::ptr::eq(concat, node) {
        return None;
    }
    let parts = node.input.iter();
    let left: Vec<String> = parts
        .filter(|part| !is_empty(makers, part, axis))
        .cloned()
        .collect();
    (!left.is_empty() && left.len() < node.input.len()).then_some(left)
}

/// Whether a value is a slice from a place up to the same place, along this axis alone.
fn is_empty(makers: &Makers, value: &str, axis: i64) -> bool {
    let slice = makers.node(value, "Slice").map(|node| &node.input[..]);
    let Some([_, start, end, along, step @ ..]) = slice else {
        return false;
    };
    let [start, end, along] = [start, end, along].map(|value| makers.whole(value));
    let forward = step
        .first()
        .is_none_or(|step| makers.whole(step) == Some(1));
    start.is_some() && start == end && along == Some(axis) && forward
}
