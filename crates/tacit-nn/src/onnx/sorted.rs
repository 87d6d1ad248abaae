//! Nodes in an order in which each follows those that it reads from. A file must have them so, but tools append what
//! they insert, as converters to float16 do their casts, and onnxruntime takes that.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::proto::{GraphProto, NodeProto};

/// Sorts the nodes of a graph, whose captures are named, and of the graphs inside: those that may stay where they are
/// do. The nodes of a cycle stay for whoever meets them.
pub(super) fn sort(graph: &mut GraphProto) {
    let attributes = graph.node.iter_mut().flat_map(|node| &mut node.attribute);
    attributes
        .filter_map(|attribute| attribute.g.as_mut())
        .for_each(sort);
    if let Some(order) = order(&graph.node) {
        let mut nodes: Vec<_> = graph.node.drain(..).map(Some).collect();
        graph.node = order.iter().filter_map(|&at| nodes[at].take()).collect();
    }
}

/// The places of the nodes in their new order, the earliest that can be next; none if they are sorted, or have a cycle.
fn order(nodes: &[NodeProto]) -> Option<Vec<usize>> {
    let mut makers = HashMap::new();
    for (at, node) in nodes.iter().enumerate() {
        makers.extend(node.output.iter().map(|name| (name.as_str(), at)));
    }
    let read = |node: &NodeProto| -> Vec<usize> {
        let names = node.input.iter().filter(|name| !name.is_empty());
        let makers = names.filter_map(|name| makers.get(name.as_str()));
        makers.copied().collect()
    };
    let mut all = nodes.iter().enumerate();
    if all.all(|(at, node)| read(node).iter().all(|&maker| maker < at)) {
        return None;
    }
    let mut readers = vec![Vec::new(); nodes.len()];
    let mut waits = vec![0usize; nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        for maker in read(node) {
            readers[maker].push(at);
            waits[at] += 1;
        }
    }
    let first = (0..nodes.len()).filter(|&at| waits[at] == 0);
    let mut ready: BinaryHeap<_> = first.map(Reverse).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse(at)) = ready.pop() {
        order.push(at);
        for &reader in &readers[at] {
            waits[reader] -= 1;
            if waits[reader] == 0 {
                ready.push(Reverse(reader));
            }
        }
    }
    (order.len() == nodes.len()).then_some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes that read and make values of one letter each.
    fn nodes(read: &[(&str, &str)]) -> Vec<NodeProto> {
        let names = |letters: &str| letters.chars().map(String::from).collect();
        let node = |&(input, output): &(&str, &str)| NodeProto {
            input: names(input),
            output: names(output),
            ..NodeProto::default()
        };
        read.iter().map(node).collect()
    }

    #[test]
    fn each_follows_what_it_reads_and_no_other_moves() {
        let sorted = nodes(&[("x", "a"), ("x", "b"), ("ab", "c")]);
        assert_eq!(order(&sorted), None);
        let unsorted = nodes(&[("b", "c"), ("x", "d"), ("ax", "b"), ("x", "a"), ("cd", "e")]);
        assert_eq!(order(&unsorted), Some(vec![1, 3, 2, 0, 4]));
        let twice = nodes(&[("aa", "b"), ("x", "a")]);
        assert_eq!(order(&twice), Some(vec![1, 0]));
    }

    #[test]
    fn a_cycle_stays() {
        for cycle in [vec![("a", "a")], vec![("b", "a"), ("a", "b"), ("x", "c")]] {
            assert_eq!(order(&nodes(&cycle)), None, "{cycle:?}");
        }
    }
}
