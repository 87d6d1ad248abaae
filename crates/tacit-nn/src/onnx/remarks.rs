//! Where ONNX Runtime computes otherwise than the numbers that are computed here, by the nodes of a file.

use super::importer::name_of;
use super::proto::{ModelProto, NodeProto};
use super::table::is_of_runtime;

/// How many nodes are named.
const NAMED: usize = 3;

/// What a user must hear of the operations of a file: of its graph, of graphs within it, and of its functions.
pub(super) fn of(model: &ModelProto) -> Vec<String> {
    let inside = model.functions.iter().flat_map(|function| &function.node);
    let nodes = model.graph.iter().flat_map(|graph| &graph.node);
    let mut found = Vec::new();
    nodes.chain(inside).for_each(|node| look(node, &mut found));
    if found.is_empty() {
        return found;
    }
    let rest = found.len().saturating_sub(NAMED);
    found.truncate(NAMED);
    let more = match rest {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    vec![format!(
        "DynamicQuantizeLSTM, as {}{more}: ONNX Runtime rounds its inputs and states to 8 bits of what each step has, and they \
         are exact here: outputs differ from its own by what that rounding costs",
        found.join(", ")
    )]
}

/// The nodes whose inputs are rounded otherwise, by their names.
fn look(node: &NodeProto, found: &mut Vec<String>) {
    if node.op_type == "DynamicQuantizeLSTM" && is_of_runtime(node) {
        found.push(format!("'{}'", name_of(node).escape_debug()));
    }
    let graphs = node.attribute.iter().filter_map(|a| a.g.as_ref());
    graphs
        .flat_map(|graph| &graph.node)
        .for_each(|node| look(node, found));
}
