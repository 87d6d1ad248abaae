//! What nobody reads of graphs within nodes.

use std::collections::HashSet;

use crate::onnx::proto::{GraphProto, NodeProto};

/// Takes out of the graphs within nodes what no output of theirs depends on, and of an If the outputs that nobody reads:
/// they may have other shapes in both of its graphs, or come of what is not supported.
pub(in crate::onnx) fn trim(graph: &mut GraphProto) {
    let mut read = ends(graph);
    read.extend(graph.node.iter().flat_map(reads));
    for node in &mut graph.node {
        trim_within(node, &read);
    }
}

/// Takes out of a graph that stands within a node what none of its outputs depends on.
fn trim_all(graph: &mut GraphProto) {
    let mut read = ends(graph);
    let mut kept = Vec::with_capacity(graph.node.len());
    for mut node in std::mem::take(&mut graph.node).into_iter().rev() {
        if node.output.iter().any(|name| read.contains(name)) {
            trim_within(&mut node, &read);
            read.extend(reads(&node));
            kept.push(node);
        }
    }
    kept.reverse();
    graph.node = kept;
}

/// Trims the graphs of a node of whose outputs those are `read`.
fn trim_within(node: &mut NodeProto, read: &HashSet<String>) {
    let unread = |name: &String| name.is_empty() || !read.contains(name);
    if node.op_type == "If" && !node.output.iter().all(unread) {
        let is_kept: Vec<bool> = node.output.iter().map(|name| !unread(name)).collect();
        let mut graphs = node.attribute.iter().filter_map(|a| a.g.as_ref());
        if graphs.all(|graph| graph.output.len() == is_kept.len()) {
            keep(&mut node.output, &is_kept);
            let graphs = node.attribute.iter_mut().filter_map(|a| a.g.as_mut());
            graphs.for_each(|graph| keep(&mut graph.output, &is_kept));
        }
    }
    let graphs = node.attribute.iter_mut().filter_map(|a| a.g.as_mut());
    graphs.for_each(trim_all);
}

fn keep<T>(all: &mut Vec<T>, is_kept: &[bool]) {
    let mut is_kept = is_kept.iter();
    all.retain(|_| is_kept.next().copied().unwrap_or(true));
}

/// The names of a graph's outputs.
fn ends(graph: &GraphProto) -> HashSet<String> {
    graph.output.iter().map(|end| end.name.clone()).collect()
}

/// All names that a node reads, and those that any node of graphs within it does.
fn reads(node: &NodeProto) -> Vec<String> {
    let mut read = Vec::new();
    let mut nodes = vec![node];
    while let Some(node) = nodes.pop() {
        read.extend(node.input.iter().filter(|name| !name.is_empty()).cloned());
        for graph in node.attribute.iter().filter_map(|a| a.g.as_ref()) {
            nodes.extend(&graph.node);
            read.extend(graph.output.iter().map(|end| end.name.clone()));
        }
    }
    read
}
