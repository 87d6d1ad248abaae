//! Scales of squares.

use super::Rewriter;
use crate::graph::{Affine, Op};

/// A scale beyond it, up or down, goes before a square.
const FAR: f32 = 16.0;

impl Rewriter {
    /// A square that is scaled far up or down becomes the square of what is scaled by the roots: as small numbers
    /// squared, or large ones, it would lose its bits, or take those of others.
    pub(super) fn scale_before_square(&mut self, i: usize) -> bool {
        let before = match self.graph.nodes[i].inputs[..] {
            [square] if !self.dropped[i] && self.uses[square] == 1 => square.checked_sub(1),
            _ => None,
        };
        let Some((at, Op::Affine(affine))) = before.map(|at| (at, &self.graph.nodes[i].op)) else {
            return false;
        };
        let (before, after) = (&self.graph.nodes[at], &self.graph.nodes[i]);
        let is_square = matches!(before.op, Op::Mul) && before.inputs[0] == before.inputs[1];
        let is_far = |&s: &f32| !(1.0 / FAR..=FAR).contains(&s);
        let scale = &affine.scale;
        let positive = scale.iter().all(|&s| s > 0.0 && s.is_finite());
        if !is_square || !positive || !affine.shift.is_empty() || !scale.iter().any(is_far) {
            return false;
        }
        let roots = Op::Affine(Affine {
            scale: scale.iter().map(|s| s.sqrt()).collect(),
            ..affine.clone()
        });
        let [root, square] = [after.name.clone(), before.name.clone()];
        let x = before.inputs[0];
        let nodes = &mut self.graph.nodes;
        (nodes[at].op, nodes[at].inputs, nodes[at].name) = (roots, vec![x], root);
        (nodes[i].op, nodes[i].inputs, nodes[i].name) = (Op::Mul, vec![at + 1; 2], square);
        self.uses[x] -= 1;
        self.uses[at + 1] = 2;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, Input, Node, Output, Weights};
    use crate::reference::outputs;

    /// The squares of two numbers, by such scales.
    fn squares(scale: [f32; 2], second: usize) -> Graph {
        let node = |op, inputs: &[usize]| Node {
            name: format!("{inputs:?}"),
            op,
            inputs: inputs.to_vec(),
            shape: vec![2],
        };
        let affine = Op::Affine(Affine {
            inner: 1,
            scale: scale.to_vec().into(),
            shift: Weights::default(),
        });
        Graph {
            inputs: vec![Input::numbers("x", &[2])],
            nodes: vec![
                node(Op::Relu, &[0]),
                node(Op::Mul, &[1, second]),
                node(affine, &[2]),
            ],
            output: 3,
            outputs: vec![Output::whole("y", &[2])],
            remarks: vec![],
        }
    }

    /// Where a column's variance divides it, the number is divided by the deviation before; a scale near 1, of
    /// either sign, and one of no square stay.
    #[test]
    fn a_square_is_scaled_by_roots_before() {
        let kinds = |graph: &Graph| graph.nodes.iter().map(|n| n.op.kind()).collect::<Vec<_>>();
        let x = [3.0, 0.5];
        for (scale, second, moves) in [
            ([1e-4, 1e6], 1, true),
            ([2.0, 64.0], 1, true),
            ([0.5, 15.0], 1, false),
            ([1e-4, -1e6], 1, false),
            ([0.0, 1e6], 1, false),
            ([1e-4, 1e6], 0, false),
        ] {
            let before = squares(scale, second);
            let after = before.clone().optimise();
            let expected = match moves {
                true => ["Relu", "Affine", "Mul"],
                false => ["Relu", "Mul", "Affine"],
            };
            assert_eq!(kinds(&after), expected, "{scale:?}");
            let [y, z] = [&before, &after].map(|g| outputs(g, &x).unwrap());
            let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-6 * a.abs();
            assert!(y.iter().zip(&z).all(near), "{y:?} {z:?}");
        }
    }
}
