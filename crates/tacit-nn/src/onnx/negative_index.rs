//! Indices that a file counts from the end by itself, as Keras writes those of an Embedding: `x + n` where `x < 0`, else
//! `x`, of a table of `n` rows. Gather takes negative indices anyway, so that `x` chooses the same rows.

use super::makers::Makers;
use super::proto::{GraphProto, NodeProto};

/// Lets every Gather take the indices of which the file counts some from the end.
pub(super) fn take_plain(graph: &mut GraphProto) {
    let found: Vec<(usize, String)> = {
        let makers = Makers::of(graph);
        let nodes = graph.node.iter().enumerate();
        nodes
            .filter_map(|(at, node)| Some((at, makers.plain_index(node)?.to_string())))
            .collect()
    };
    for (at, index) in found {
        graph.node[at].input[1] = index;
    }
}

impl<'a> Makers<'a> {
    /// The index of a Gather before some are counted from the end, if they are.
    fn plain_index(&self, node: &NodeProto) -> Option<&'a str> {
        let axis = node.attribute.iter().find(|a| a.name == "axis");
        let [table, index] = &node.input[..] else {
            return None;
        };
        if !std::ptr::eq(self.node(node.output.first()?, "Gather")?, node) {
            return None;
        }
        let dims = &self.tensor(table)?.dims;
        let axis = axis.and_then(|a| a.i).unwrap_or(0);
        let axis = if axis < 0 {
            axis + dims.len() as i64
        } else {
            axis
        };
        let rows = *dims.get(usize::try_from(axis).ok()?)?;
        let node = self.maker(index)?;
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
}
