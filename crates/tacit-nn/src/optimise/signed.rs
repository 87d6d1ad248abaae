//! Reciprocals of numbers of either sign: those of magnitudes, by the signs.

use crate::graph::{Affine, Function, Graph, Node, Op, ValueId};

/// What is added to the name of a layer that makes magnitudes.
const MAGNITUDE: &str = ".magnitude";

impl Graph {
    /// The graph in which a reciprocal, by its layer as errors name it, is of either sign: by a comparison and two products
    /// more. `None` if that layer is none, or if it is so already.
    ///
    /// Which numbers a divisor has is known of a plan's samples alone, and of most it is positive.
    pub fn with_either_sign(&self, layer: &str) -> Option<Graph> {
        let is_magnitude = |node: &Node| {
            let made_by = node.inputs[0].checked_sub(1).map(|at| &self.nodes[at]);
            made_by.is_some_and(|node| node.name.ends_with(MAGNITUDE))
        };
        let at = self.nodes.iter().position(|node| {
            let reciprocal = matches!(
                &node.op,
                Op::Function {
                    function: Function::Reciprocal,
                    ..
                }
            );
            reciprocal && layer == format!("layer '{}'", node.name) && !is_magnitude(node)
        })?;
        let (before, rest) = self.nodes.split_at(at);
        let (node, after) = rest.split_first()?;
        let mut nodes = before.to_vec();
        let mut add = |part: &str, op: Op, inputs: &[ValueId]| {
            nodes.push(Node {
                name: format!("{}{part}", node.name),
                op,
                inputs: inputs.to_vec(),
                shape: node.shape.clone(),
            });
            nodes.len()
        };
        let given = node.inputs[0];
        let truth = add(".not negative", Op::NonNegative, &[given]);
        let of_truth = Affine {
            inner: node.shape.iter().product(),
            scale: vec![2.0].into(),
            shift: vec![-1.0].into(),
        };
        let sign = add(".sign", Op::Affine(of_truth), &[truth]);
        let magnitude = add(MAGNITUDE, Op::Mul, &[given, sign]);
        let inverse = add("", node.op.clone(), &[magnitude]);
        let made = add(".signed", Op::Mul, &[inverse, sign]);
        let more = made - (at + 1);
        let moved = |id: ValueId| if id > at { id + more } else { id };
        nodes.extend(after.iter().map(|node| Node {
            inputs: node.inputs.iter().map(|&id| moved(id)).collect(),
            ..node.clone()
        }));
        Some(Graph {
            nodes,
            output: moved(self.output),
            inputs: self.inputs.clone(),
            outputs: self.outputs.clone(),
            remarks: self.remarks.clone(),
        })
    }
}
