//! Where ONNX Runtime computes otherwise than the numbers that are computed here, by the nodes of a file.

use super::proto::{ModelProto, NodeProto};
use super::table::is_of_runtime;

/// What a user must hear of the operations of a file: of its graph, of graphs within it, and of its functions.
pub(super) fn of(model: &ModelProto) -> Vec<String> {
    let inside = model.functions.iter().flat_map(|function| &function.node);
    let nodes = model.graph.iter().flat_map(|graph| &graph.node);
    let mut found = Vec::new();
    nodes.chain(inside).for_each(|node| look(node, &mut found));
    found
}

fn look(node: &NodeProto, found: &mut Vec<String>) {
    if node.op_type == "DynamicQuantizeLSTM" && is_of_runtime(node) {
        found.push(format!(
            "node '{}' (DynamicQuantizeLSTM): ONNX Runtime rounds its inputs and states to 8 bits of what each step has, and \
             they are exact here: outputs differ from its own by what that rounding costs",
            node.name.escape_debug()
        ));
    }
    let graphs = node.attribute.iter().filter_map(|a| a.g.as_ref());
    graphs
        .flat_map(|graph| &graph.node)
        .for_each(|node| look(node, found));
}
