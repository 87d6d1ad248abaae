//! The worst case: what no item within the inputs' ranges exceeds.

use std::borrow::Cow;

use super::ranges::{FAR, Interval, hull, interval};
use super::{construction, row};
use crate::graph::{Graph, Node, ValueId};

/// The interval of each value, for items whose numbers are at most `ends` from 0.
pub(crate) fn worst_case(graph: &Graph, ends: &[f64]) -> Vec<Interval> {
    worst_case_of(
        graph,
        ends,
        |_, node| Cow::Borrowed(node),
        |_, interval| interval,
    )
}

/// The interval of each value where a layer's node is another, such as one of rounded weights, and a value may be
/// beyond what its node makes.
pub(super) fn worst_case_of<'a>(
    graph: &'a Graph,
    ends: &[f64],
    changed: impl Fn(usize, &'a Node) -> Cow<'a, Node>,
    beyond: impl Fn(ValueId, Interval) -> Interval,
) -> Vec<Interval> {
    let row = row::intervals(graph, ends);
    let all = row.iter().copied();
    let mut intervals = vec![beyond(0, all.reduce(hull).unwrap_or((0.0, 0.0)))];
    let mut own = row::Own::new(graph, &row);
    for (layer, node) in graph.nodes.iter().enumerate() {
        let node = &*changed(layer, node);
        let inputs: Vec<Interval> = node.inputs.iter().map(|&id| intervals[id]).collect();
        let of_row = own.of(node, intervals.len());
        let (low, high) = of_row.unwrap_or_else(|| interval(node, &inputs));
        let (least, most) = construction::limits(graph, node, &intervals);
        // What is beyond all numbers, or none, may be anything.
        let end = |v: f64, far: f64| if v.is_nan() { far } else { v.clamp(-FAR, FAR) };
        let (low, high) = (end(low, -FAR), end(high, FAR));
        let within = (low.clamp(least, most), high.clamp(least, most));
        intervals.push(beyond(layer + 1, within));
    }
    intervals
}
