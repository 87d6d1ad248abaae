//! What nobody reads of graphs within nodes.

use std::collections::{HashMap, HashSet};

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

/// Takes out of a graph that stands within a node what none of its outputs depends on, in whatever order its nodes stand.
fn trim_all(graph: &mut GraphProto) {
    let mut makers: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, node) in graph.node.iter().enumerate() {
        for name in &node.output {
            makers.entry(name).or_default().push(at);
        }
    }
    let mut read = ends(graph);
    let mut open: Vec<String> = read.iter().cloned().collect();
    let mut is_kept = vec![false; graph.node.len()];
    while let Some(name) = open.pop() {
        for &at in makers.get(&name[..]).into_iter().flatten() {
            if !std::mem::replace(&mut is_kept[at], true) {
                let names = reads(&graph.node[at]);
                open.extend(names.into_iter().filter(|name| read.insert(name.clone())));
            }
        }
    }
    keep(&mut graph.node, &is_kept);
    for node in &mut graph.node {
        trim_within(node, &read);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::onnx::made::node;
    use crate::onnx::proto::{AttributeProto, ValueInfoProto};

    fn graph(nodes: Vec<NodeProto>, outputs: &[&str]) -> GraphProto {
        let output = |name: &&str| ValueInfoProto {
            name: (*name).into(),
            ..ValueInfoProto::default()
        };
        GraphProto {
            node: nodes,
            output: outputs.iter().map(output).collect(),
            ..GraphProto::default()
        }
    }

    /// Nodes stay that an output needs, though they stand behind those that read them, and so does what a graph within
    /// reads; of an If the output goes that nobody reads.
    #[test]
    fn what_is_read_stays() {
        let within = graph(vec![node("Neg", &["deep"], "w")], &["w"]);
        let branch = |first: &str| {
            let nodes = vec![
                node("Relu", &["late"], "z"),
                node("Neg", &["p"], "late"),
                node("Abs", &["late"], "nobody's"),
                NodeProto {
                    attribute: vec![AttributeProto {
                        name: "then_branch".into(),
                        g: Some(within.clone()),
                        ..AttributeProto::default()
                    }],
                    ..node("If", &["c"], "of it")
                },
                node("Exp", &["p"], "deep"),
                node("Add", &["z", "of it"], first),
            ];
            graph(nodes, &["unread", first])
        };
        let attribute = |name: &str| AttributeProto {
            name: name.into(),
            g: Some(branch(name)),
            ..AttributeProto::default()
        };
        let either = NodeProto {
            output: vec!["a".into(), "b".into()],
            attribute: vec![attribute("then_branch"), attribute("else_branch")],
            ..node("If", &["c"], "a")
        };
        let mut whole = graph(vec![node("Neg", &["b"], "y"), either], &["y"]);
        trim(&mut whole);
        let either = &whole.node[1];
        assert_eq!(either.output, ["b"]);
        for attribute in &either.attribute {
            let branch = attribute.g.as_ref().expect("a graph");
            let made: Vec<&str> = branch.node.iter().map(|node| &node.output[0][..]).collect();
            assert_eq!(made, ["z", "late", "of it", "deep", &attribute.name]);
            assert_eq!(branch.output.len(), 1);
        }
    }
}
