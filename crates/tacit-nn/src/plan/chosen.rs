//! What chosen numbers are within: those that they are chosen from.
//!
//! A number and a share of what another has more is between both, as the one of them that a truth chooses. A row of a
//! table that marks choose, of which one at most is 1, is one of its rows, or 0.

use super::construction::node;
use super::ranges::{Interval, hull};
use crate::graph::{FILL, Graph, Linear, Op, ValueId};

/// The limits of `y` and a share of what another number has more than it: those of both.
pub(super) fn between(
    graph: &Graph,
    y: ValueId,
    share: ValueId,
    intervals: &[Interval],
) -> Option<Interval> {
    let product = node(graph, share).filter(|node| matches!(node.op, Op::Mul))?;
    let other = |more: ValueId| {
        let more = node(graph, more)?;
        match (&more.op, &more.inputs[..]) {
            (Op::Sub, &[x, less]) if less == y => Some(intervals[x]),
            (Op::Affine(affine), &[less]) if less == y => {
                let numbers = (0..affine.channels().max(1)).map(|at| affine.numbers(at));
                let terms = numbers.map(|(scale, shift)| (scale == -1.0).then(|| f64::from(shift)));
                let terms: Option<Vec<f64>> = terms.collect();
                terms?.into_iter().map(|term| (term, term)).reduce(hull)
            }
            _ => None,
        }
    };
    let of = |(truth, more): (ValueId, ValueId)| {
        let (low, high) = intervals[truth];
        let chosen = (low >= 0.0 && high <= 1.0).then_some(more)?;
        other(chosen)
    };
    let [a, b] = product.inputs[..] else {
        return None;
    };
    let x = [(a, b), (b, a)].into_iter().find_map(of)?;
    Some(hull(x, intervals[y]))
}

/// The limits of a table's rows times marks of which one at most is 1 in every item: those of the rows, and 0.
pub(super) fn one_of(graph: &Graph, table: &Linear, marks: ValueId) -> Option<Interval> {
    are_of_one(graph, table, marks)?;
    let column = |at: usize| {
        let numbers = table.weight.iter().skip(at).step_by(table.n).copied();
        let numbers = numbers.map(f64::from).map(|number| (number, number));
        let (low, high) = numbers.fold((0.0, 0.0), hull);
        let term = f64::from(table.bias.get(at).copied().unwrap_or(0.0));
        (low + term, high + term)
    };
    (0..table.n).map(column).reduce(hull)
}

/// Whether the marks of every item are the differences of signs of one number over thresholds, and no two of them lie
/// between the same.
fn are_of_one(graph: &Graph, table: &Linear, marks: ValueId) -> Option<()> {
    let difference = node(graph, marks).filter(|node| matches!(node.op, Op::Sub))?;
    let (from, signs) = moved(graph, difference.inputs[0])?;
    let (beyond, others) = moved(graph, difference.inputs[1])?;
    let sign =
        node(graph, signs).filter(|node| signs == others && matches!(node.op, Op::NonNegative))?;
    let over = node(graph, sign.inputs[0])?;
    let Op::Affine(affine) = &over.op else {
        return None;
    };
    let (of, _) = moved(graph, over.inputs[0])?;
    let k = table.k.max(1);
    let mut items = from.chunks(k).zip(beyond.chunks(k));
    let are_apart = |(from, beyond): (&[u32], &[u32])| {
        let threshold = |place: u32| {
            let e = place as usize;
            (affine.scale_at(e) == 1.0).then(|| (of.get(e), -affine.shift_at(e)))
        };
        let mut spans = Vec::new();
        let mut number = None;
        for (&from, &beyond) in from.iter().zip(beyond) {
            if (from, beyond) == (FILL, FILL) {
                continue;
            }
            let (own, low) = threshold(from)?;
            let high = match beyond {
                FILL => f32::INFINITY,
                _ => threshold(beyond).filter(|(other, _)| *other == own)?.1,
            };
            (*number.get_or_insert(own) == own).then_some(())?;
            spans.push((low, high));
        }
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let follow = spans.windows(2).all(|pair| pair[0].1 <= pair[1].0);
        (follow && spans.iter().all(|(low, high)| low <= high)).then_some(())
    };
    items.all(|item| are_apart(item).is_some()).then_some(())
}

/// Where the elements of a value stand in another, and that one.
fn moved(graph: &Graph, id: ValueId) -> Option<(&[u32], ValueId)> {
    let node = node(graph, id)?;
    match &node.op {
        Op::Rearrange { index, fill } if *fill == 0.0 => Some((index, node.inputs[0])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::graphs::{graph, node};
    use super::super::worst::worst_case;
    use super::*;
    use crate::graph::{Affine, Node};

    /// `y + c (x - y)` of a sign is between both, also where `x` is constant; of a number up to 2 it is not.
    #[test]
    fn what_a_truth_chooses_is_between_both() {
        let less = Op::Affine(Affine {
            inner: 1,
            scale: vec![-1.0].into(),
            shift: vec![3.0].into(),
        });
        let of = |more: Node, truth: usize| {
            let nodes = vec![
                node(Op::NonNegative, &[0], &[1]),
                more,
                node(Op::Mul, &[truth, 2], &[1]),
                node(Op::Add, &[3, 0], &[1]),
            ];
            worst_case(&graph(&[1], nodes), &[2.0])[4]
        };
        assert_eq!(of(node(Op::Sub, &[1, 0], &[1]), 1), (-2.0, 2.0));
        assert_eq!(of(node(less.clone(), &[0], &[1]), 1), (-2.0, 3.0));
        assert_eq!(of(node(less, &[0], &[1]), 0), (-12.0, 12.0));
    }

    /// Rows of 5 and of -7 times the marks of a number between 0, 1 and 2: one of the two, or 0, where the marks
    /// do not overlap.
    #[test]
    fn a_row_that_marks_choose_is_one_of_the_table() {
        let of = |[from, beyond]: [[u32; 2]; 2], numbers: [u32; 3]| {
            let moved = |index: &[u32]| Op::Rearrange {
                index: index.to_vec(),
                fill: 0.0,
            };
            let over = Op::Affine(Affine {
                inner: 1,
                scale: vec![].into(),
                shift: vec![0.0, -1.0, -2.0].into(),
            });
            let table = Op::Linear(Linear {
                rows: 1,
                k: 2,
                n: 1,
                weight: vec![5.0, -7.0].into(),
                bias: vec![1.0].into(),
            });
            let nodes = vec![
                node(moved(&numbers), &[0], &[3]),
                node(over, &[1], &[3]),
                node(Op::NonNegative, &[2], &[3]),
                node(moved(&from), &[3], &[2]),
                node(moved(&beyond), &[3], &[2]),
                node(Op::Sub, &[4, 5], &[2]),
                node(table, &[6], &[1]),
            ];
            worst_case(&graph(&[2], nodes), &[9.0; 2])[7]
        };
        let one = [0; 3];
        assert_eq!(of([[0, 1], [1, 2]], one), (-6.0, 6.0));
        assert_eq!(of([[1, 0], [FILL, 1]], one), (-6.0, 6.0));
        // Spans that overlap, one that is turned, and two numbers.
        let unknown = (-11.0, 13.0);
        assert_eq!(of([[0, 0], [1, 2]], one), unknown);
        assert_eq!(of([[1, 1], [0, 2]], one), unknown);
        assert_eq!(of([[0, 1], [1, 2]], [0, 1, 1]), unknown);
    }
}
