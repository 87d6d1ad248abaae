//! Indices that a file counts from the end by itself, as Keras writes those of an Embedding: `x + n` where `x < 0`, else
//! `x`, of a table of `n` rows. Gather takes negative indices anyway, so that `x` chooses the same rows.

use std::collections::HashMap;

use super::constant::{Data, Reader};
use super::proto::{GraphProto, NodeProto, TensorProto};

/// The most copies of copies that are looked through.
const MOST_COPIES: usize = 16;

/// The nodes of a graph by what they make, of the standard's operations, and its constants.
pub(super) struct Made<'a> {
    nodes: HashMap<&'a str, &'a NodeProto>,
    tensors: HashMap<&'a str, &'a TensorProto>,
}

/// Lets every Gather take the indices of which the file counts some from the end.
pub(super) fn unwrap(graph: &mut GraphProto) {
    let found: Vec<(usize, String)> = {
        let made = Made::of(graph);
        let gathers = graph.node.iter().enumerate();
        gathers
            .filter_map(|(at, node)| Some((at, made.plain_index(node)?.to_string())))
            .collect()
    };
    for (at, index) in found {
        graph.node[at].input[1] = index;
    }
}

impl<'a> Made<'a> {
    pub(super) fn of(graph: &'a GraphProto) -> Self {
        let outputs = |node: &'a NodeProto| node.output.iter().map(move |name| (&name[..], node));
        // What another domain's operation does is not known.
        let known = |node: &&NodeProto| matches!(&node.domain[..], "" | "ai.onnx");
        let nodes = || graph.node.iter().filter(known);
        let constants = nodes().filter(|node| node.op_type == "Constant");
        let constants = constants.filter_map(|node| {
            let tensor = node.attribute.iter().find_map(|a| a.t.as_ref())?;
            Some((&node.output.first()?[..], tensor))
        });
        let own = graph.initializer.iter();
        Made {
            nodes: nodes().flat_map(outputs).collect(),
            tensors: own.map(|t| (&t.name[..], t)).chain(constants).collect(),
        }
    }

    /// The index of a Gather before some are counted from the end, if they are.
    fn plain_index(&self, node: &NodeProto) -> Option<&'a str> {
        let axis = node.attribute.iter().find(|a| a.name == "axis");
        let [table, index] = &node.input[..] else {
            return None;
        };
        if !self.nodes.contains_key(&node.output.first()?[..]) || node.op_type != "Gather" {
            return None;
        }
        let dims = &self.tensors.get(self.source(table))?.dims;
        let axis = axis.and_then(|a| a.i).unwrap_or(0);
        let axis = if axis < 0 {
            axis + dims.len() as i64
        } else {
            axis
        };
        let rows = *dims.get(usize::try_from(axis).ok()?)?;
        let node = self.nodes.get(self.source(index))?;
        let inputs: Vec<&str> = node.input.iter().map(String::as_str).collect();
        match (&node.op_type[..], &inputs[..]) {
            ("Where", &[condition, wrapped, x]) if self.is_negative(condition, x) => {
                self.is_wrapped(wrapped, x, rows)
            }
            ("Where", &[condition, x, wrapped]) if self.is_from_0(condition, x) => {
                self.is_wrapped(wrapped, x, rows)
            }
            ("Add", &[one, other]) => {
                let sides = [(one, other), (other, one)];
                sides.into_iter().find_map(|sides| self.masked(sides, rows))
            }
            _ => None,
        }
    }

    /// `x`, if one side is it wherever it is at least 0, and the other what is counted from the end elsewhere.
    fn masked(&self, (kept, wrapped): (&str, &str), rows: i64) -> Option<&'a str> {
        let mut pairs = self.factors(kept).into_iter().flat_map(|kept| {
            let others = self.factors(wrapped).into_iter();
            others.map(move |wrapped| (kept, wrapped))
        });
        pairs.find_map(|([x, from_0], [wrapped, negative])| {
            let halves = self.is_from_0(from_0, x) && self.is_negative(negative, x);
            halves.then(|| self.is_wrapped(wrapped, x, rows)).flatten()
        })
    }

    /// Both factors of a product, in either order.
    fn factors(&self, value: &str) -> Vec<[&'a str; 2]> {
        match self.inputs(value, "Mul") {
            Some([a, b]) => vec![[a, b], [b, a]],
            None => Vec::new(),
        }
    }

    /// `x` as the file names it, if `wrapped` is `x + rows`.
    fn is_wrapped(&self, wrapped: &str, x: &str, rows: i64) -> Option<&'a str> {
        let [a, b] = self.inputs(wrapped, "Add")?;
        [(a, b), (b, a)]
            .into_iter()
            .find(|&(of, added)| self.are_same(of, x) && self.is_number(added, rows))
            .map(|(of, _)| of)
    }

    fn is_negative(&self, condition: &str, x: &str) -> bool {
        self.compares(condition, "Less", x) || self.is_not(condition, "GreaterOrEqual", x)
    }

    fn is_from_0(&self, condition: &str, x: &str) -> bool {
        self.compares(condition, "GreaterOrEqual", x) || self.is_not(condition, "Less", x)
    }

    /// Whether a condition is this comparison of `x` with 0.
    fn compares(&self, condition: &str, kind: &str, x: &str) -> bool {
        let inputs = self.inputs(condition, kind);
        inputs.is_some_and(|[a, b]| self.are_same(a, x) && self.is_number(b, 0))
    }

    fn is_not(&self, condition: &str, kind: &str, x: &str) -> bool {
        let of = self
            .node(condition, "Not")
            .and_then(|not| not.input.first());
        of.is_some_and(|of| self.compares(of, kind, x))
    }

    /// What a value is a copy of, of the same or another kind of numbers.
    fn source<'b>(&self, value: &'b str) -> &'b str
    where
        'a: 'b,
    {
        let mut at = value;
        // A file's copies may go round in a circle.
        for _ in 0..MOST_COPIES {
            match self.nodes.get(at).map(|node| (&node.op_type[..], *node)) {
                Some(("Identity", node)) if node.input.len() == 1 => at = &node.input[0],
                Some(("Cast", node)) if node.input.len() == 1 && keeps(node) => at = &node.input[0],
                _ => break,
            }
        }
        at
    }

    fn are_same(&self, one: &str, other: &str) -> bool {
        self.source(one) == self.source(other)
    }

    /// The node that makes a value, if it is of this kind.
    pub(super) fn node(&self, value: &str, kind: &str) -> Option<&'a NodeProto> {
        let node = self.nodes.get(self.source(value)).copied();
        node.filter(|node| node.op_type == kind)
    }

    fn inputs(&self, value: &str, kind: &str) -> Option<[&'a str; 2]> {
        match &self.node(value, kind)?.input[..] {
            [a, b] => Some([a, b]),
            _ => None,
        }
    }

    /// Whether a value is this number alone, and gives nothing an axis more.
    fn is_number(&self, value: &str, number: i64) -> bool {
        match self.single(value) {
            Some(Data::Int(values)) => values == [number],
            Some(data) => data.floats()[..] == [number as f32],
            None => false,
        }
    }

    /// The whole number that a value is, alone.
    pub(super) fn whole(&self, value: &str) -> Option<i64> {
        match self.single(value)? {
            Data::Int(values) => values.first().copied(),
            _ => None,
        }
    }

    fn single(&self, value: &str) -> Option<Data> {
        let tensor = self.tensors.get(self.source(value))?;
        let is_single = matches!(tensor.dims[..], [] | [1]);
        let read = is_single.then(|| Reader { folder: None }.read(tensor))?;
        read.ok().map(|constant| constant.data)
    }
}

/// Whether a cast keeps every index, as one to narrower numbers or truths does not: to float, int32 or int64.
fn keeps(cast: &NodeProto) -> bool {
    let to = cast.attribute.iter().find(|a| a.name == "to");
    matches!(to.and_then(|a| a.i), Some(1 | 6 | 7))
}
