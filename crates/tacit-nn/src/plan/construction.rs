//! What a value is within by the way it is made, however large its factors become.
//!
//! An element times the inverse root of a mean of squares to which its own belongs, as normalisations
//! have it, is at most the root of how many there are. A number from 0 on times the reciprocal of a
//! sum to which it belongs, as softmax has it, is at most 1, and a sum of products with such numbers is a
//! mean, no farther from 0 than what it is of. A number less the mean of `n` to which it belongs is no farther from 0 than `1 - 1/n` of what two of
//! them are from each other, and the mean of the squares of such differences is at most a quarter of that
//! distance's square (Popoviciu). A number less its positive part is its negative part, and less a share of
//! it, it is no farther from 0. What is chosen is one of what is chosen from (`chosen.rs`). Interval arithmetic
//! alone knows none of these.

use super::chosen::{between, one_of};
use super::ranges::{FAR, Interval};
use crate::graph::{Function, Graph, Node, Op, Pool, ValueId};

/// What the node's result is within, besides what its inputs' intervals tell.
pub(super) fn limits(graph: &Graph, node: &Node, intervals: &[Interval]) -> Interval {
    let found = match (&node.op, &node.inputs[..]) {
        (Op::Mul, &[x, y]) => {
            let mut ways = [(x, y), (y, x)].into_iter();
            ways.find_map(|(x, inverse)| share(graph, x, inverse, intervals))
        }
        (Op::Sub, &[x, y]) => match deviation(graph, node, intervals) {
            None => {
                negative_part(graph, [x, y], intervals).or_else(|| rest(graph, [x, y], intervals))
            }
            Some(found) => {
                let most = found.between * (1.0 - 1.0 / found.pool.window() as f64);
                Some((-most, most))
            }
        },
        (Op::Add, &[a, b]) => [(a, b), (b, a)]
            .into_iter()
            .find_map(|(from, share)| between(graph, from, share, intervals)),
        (Op::Linear(linear), &[marks]) => one_of(graph, linear, marks),
        (Op::MatMul(matrices), &[x, y]) => {
            let weighs = weights_of_a_mean(graph, x, matrices.k, intervals);
            weighs.then(|| (intervals[y].0.min(0.0), intervals[y].1.max(0.0)))
        }
        (Op::AveragePool(pool), &[squares]) => variance(graph, pool, squares, intervals),
        _ => None,
    };
    found.unwrap_or((-FAR, FAR))
}

/// The limits of a number less its positive part, or of that less the number.
fn negative_part(graph: &Graph, [x, y]: [ValueId; 2], intervals: &[Interval]) -> Option<Interval> {
    let positive = |id, of| {
        let node = node(graph, id)?;
        (matches!(node.op, Op::Relu) && node.inputs == [of]).then_some(())
    };
    let lowest = |id: ValueId| intervals[id].0.min(0.0);
    match (positive(y, x), positive(x, y)) {
        (Some(()), _) => Some((lowest(x), 0.0)),
        (_, Some(())) => Some((0.0, -lowest(y))),
        _ => None,
    }
}

/// The limits of a number less a share of it: the rest of it.
fn rest(graph: &Graph, [x, y]: [ValueId; 2], intervals: &[Interval]) -> Option<Interval> {
    let product = node(graph, y).filter(|node| matches!(node.op, Op::Mul))?;
    let share = match product.inputs[..] {
        [a, b] if a == x => b,
        [a, b] if b == x => a,
        _ => return None,
    };
    let (low, high) = intervals[share];
    let within = intervals[x];
    (low >= 0.0 && high <= 1.0).then(|| (within.0.min(0.0), within.1.max(0.0)))
}

/// The limits of `x` times an inverse that is made of `x`.
fn share(graph: &Graph, x: ValueId, inverse: ValueId, intervals: &[Interval]) -> Option<Interval> {
    let (function, rows, argument) = inverted(graph, inverse)?;
    let (pool, summed, divisor) = pooled(graph, argument)?;
    if !covers(pool, &rows) {
        return None;
    }
    match function {
        Function::InverseSqrt => {
            let square = node(graph, summed)?;
            let own = matches!(square.op, Op::Mul) && square.inputs == [x, x];
            let root = (divisor as f64).sqrt();
            own.then_some((-root, root))
        }
        Function::Reciprocal => {
            let own = summed == x && intervals[x].0 >= 0.0;
            own.then_some((0.0, divisor as f64))
        }
        _ => None,
    }
}

/// Whether every `k` elements are numbers from 0 on divided by their sum.
fn weights_of_a_mean(graph: &Graph, x: ValueId, k: usize, intervals: &[Interval]) -> bool {
    let of = || {
        let share = node(graph, x)?;
        let (Op::Mul, &[part, inverse]) = (&share.op, &share.inputs[..]) else {
            return None;
        };
        let (function, rows, argument) = inverted(graph, inverse)?;
        let (pool, summed, _) = pooled(graph, argument)?;
        let own = summed == part && intervals[part].0 >= 0.0 && covers(pool, &rows);
        let in_rows = rows
            .iter()
            .enumerate()
            .all(|(e, &row)| e / k == row as usize);
        let sums = matches!(node(graph, argument)?.op, Op::SumPool(_));
        Some(function == Function::Reciprocal && own && in_rows && sums)
    };
    of().unwrap_or(false)
}

/// Numbers less their means.
struct Deviation<'a> {
    /// The means, of windows that share no element and have no padding.
    pool: &'a Pool,
    /// The largest distance of two numbers.
    between: f64,
}

/// What a difference is, if it is one of numbers to their means. What all elements of a mean have less
/// alike does not matter.
fn deviation<'a>(graph: &'a Graph, node: &Node, all: &[Interval]) -> Option<Deviation<'a>> {
    let (Op::Sub, &[x, mean]) = (&node.op, &node.inputs[..]) else {
        return None;
    };
    let (mean, rows) = repeated(graph, mean)?;
    let Op::AveragePool(pool) = &mean.op else {
        return None;
    };
    if mean.inputs[0] != x || !divides(pool, &rows) {
        return None;
    }
    let (low, high) = all[alike(graph, x, &rows).unwrap_or(x)];
    let between = high - low;
    Some(Deviation { pool, between })
}

/// The limits of a mean of squares, if they are those of numbers less their means in the same windows.
fn variance(graph: &Graph, pool: &Pool, squares: ValueId, all: &[Interval]) -> Option<Interval> {
    let square = node(graph, squares)?;
    let (Op::Mul, &[x, y]) = (&square.op, &square.inputs[..]) else {
        return None;
    };
    let found = deviation(graph, node(graph, x)?, all)?;
    (x == y && found.pool == pool).then(|| (0.0, found.between.powi(2) / 4.0))
}

/// The value of which `x` has every element less one and the same of its row; `None` if `x` is no such difference.
fn alike(graph: &Graph, x: ValueId, rows: &[u32]) -> Option<ValueId> {
    let node_of = node(graph, x)?;
    let (Op::Sub, &[from, other]) = (&node_of.op, &node_of.inputs[..]) else {
        return None;
    };
    let other = node(graph, other)?;
    let Op::Rearrange { index, .. } = &other.op else {
        return None;
    };
    let mut elements = vec![None; rows.len()];
    let same = index.iter().zip(rows).all(|(&element, &row)| {
        let known = elements.get_mut(row as usize);
        known.is_some_and(|known| *known.get_or_insert(element) == element)
    });
    (other.inputs[0] == from && same).then_some(from)
}

pub(super) fn node(graph: &Graph, id: ValueId) -> Option<&Node> {
    graph.nodes.get(id.checked_sub(1)?)
}

/// The inverse that a value repeats: which function, of which element each one is, and its argument.
fn inverted(graph: &Graph, id: ValueId) -> Option<(Function, Vec<u32>, ValueId)> {
    let (inverse, rows) = repeated(graph, id)?;
    match inverse.op {
        Op::Function { function, .. } => Some((function, rows, inverse.inputs[0])),
        _ => None,
    }
}

/// The node whose elements a value repeats, and which of them each one is.
fn repeated(graph: &Graph, id: ValueId) -> Option<(&Node, Vec<u32>)> {
    let first = node(graph, id)?;
    Some(match &first.op {
        Op::Rearrange { index, .. } => (node(graph, first.inputs[0])?, index.clone()),
        _ => (first, (0..crate::graph::len(&first.shape) as u32).collect()),
    })
}

/// The sums or means that a value is but for what is added to it, never below 0; what they are of;
/// and by what number at most the sum is divided.
fn pooled(graph: &Graph, id: ValueId) -> Option<(&Pool, ValueId, usize)> {
    let mut found = node(graph, id)?;
    if let Op::Affine(affine) = &found.op {
        let only_adds = affine.scale.is_empty() && affine.shift.iter().all(|&v| v >= 0.0);
        found = only_adds.then(|| node(graph, found.inputs[0]))??;
    }
    match &found.op {
        Op::AveragePool(pool) => {
            let each = || (0..pool.out_len()).map(|e| pool.divisor(e)).max();
            let most = pool.side_by_side().or_else(each)?;
            Some((pool, found.inputs[0], most))
        }
        Op::SumPool(pool) => Some((pool, found.inputs[0], 1)),
        _ => None,
    }
}

/// Whether every element stands in the window of the row that it meets.
fn covers(pool: &Pool, rows: &[u32]) -> bool {
    if rows.len() != pool.in_len() {
        return false;
    }
    if let Some(window) = pool.side_by_side() {
        return meet_their_own(rows, window);
    }
    let mut met = vec![false; rows.len()];
    for row in 0..pool.out_len() {
        for element in (0..pool.window()).filter_map(|tap| pool.tap(row, tap)) {
            met[element] |= rows[element] as usize == row;
        }
    }
    met.into_iter().all(|met| met)
}

/// Whether elements meet the rows that they stand in, each of so many.
fn meet_their_own(rows: &[u32], size: usize) -> bool {
    let mut all = rows.chunks(size).enumerate();
    all.all(|(at, met)| met.iter().all(|&row| row as usize == at))
}

/// Whether every element stands in the window of the row that it meets and in no other, all of equal size.
fn divides(pool: &Pool, rows: &[u32]) -> bool {
    if let Some(window) = pool.side_by_side() {
        return rows.len() == pool.in_len() && meet_their_own(rows, window);
    }
    let own = |row: usize| {
        let mut taps = (0..pool.window()).map(move |tap| pool.tap(row, tap));
        taps.all(|element| element.is_some_and(|e| rows.get(e) == Some(&(row as u32))))
    };
    rows.len() == pool.in_len()
        && pool.out_len() * pool.window() == rows.len()
        && (0..pool.out_len()).all(own)
}

#[cfg(test)]
mod tests {
    use super::super::graphs::{graph, node, pool};
    use super::super::worst::worst_case;
    use super::*;
    use crate::graph::Matrices;

    /// Rows of shares times six numbers from -4 to 4 are means of these; of shares of other rows, or of sums
    /// over more than a row, nothing is known but that shares are at most 1.
    #[test]
    fn products_with_shares_are_means() {
        let of = |rows: [u32; 6], [m, k, n]: [usize; 3]| {
            let function = |function, domain| Op::Function { function, domain };
            let index = rows.to_vec();
            let matrices = Matrices { batch: 1, m, k, n };
            let nodes = vec![
                node(function(Function::Exp, (-10.0, 0.0)), &[0], &[6]),
                node(Op::SumPool(pool(1, [2, 3], [1, 3])), &[1], &[2]),
                node(function(Function::Reciprocal, (1.0, 3.0)), &[2], &[2]),
                node(Op::Rearrange { index, fill: 0.0 }, &[3], &[6]),
                node(Op::Mul, &[1, 4], &[6]),
                node(Op::MatMul(matrices), &[5, 0], &[m * n]),
            ];
            worst_case(&graph(&[6], nodes), &[4.0; 6])[6]
        };
        let own = [0, 0, 0, 1, 1, 1];
        assert_eq!(of(own, [2, 3, 2]), (-4.0, 4.0));
        assert_eq!(of([1, 1, 1, 0, 0, 0], [2, 3, 2]), (-12.0, 12.0));
        assert_eq!(of(own, [1, 6, 1]), (-24.0, 24.0));
    }

    /// `x - max(x, 0)`, `max(x, 0) - x`, and of another positive part, of which nothing is known.
    #[test]
    fn a_number_less_its_positive_part_has_no_other_sign() {
        let less = |inputs: [usize; 2]| {
            let nodes = vec![
                node(Op::Relu, &[0], &[3]),
                node(Op::NonNegative, &[0], &[3]),
                node(Op::Sub, &inputs, &[3]),
            ];
            worst_case(&graph(&[3], nodes), &[2.0; 3])[3]
        };
        assert_eq!(less([0, 1]), (-2.0, 0.0));
        assert_eq!(less([1, 0]), (0.0, 2.0));
        assert_eq!(less([2, 1]), (-2.0, 1.0));
    }

    /// Six numbers in two rows less their means, and the same of their differences to an element of
    /// their row; less a mean of another row, or of differences to other elements, nothing is known.
    #[test]
    fn a_number_less_its_mean_is_less_far_than_two_numbers_are() {
        let rows = pool(1, [2, 3], [1, 3]);
        let mean = |x| node(Op::AveragePool(rows.clone()), &[x], &[2]);
        let pick = |index: [u32; 6], x| {
            let index = index.to_vec();
            node(Op::Rearrange { index, fill: 0.0 }, &[x], &[6])
        };
        let less = |x, y| node(Op::Sub, &[x, y], &[6]);
        let (own, turned) = ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]);
        let of = |first: [u32; 6], rows: [u32; 6]| {
            let nodes = vec![
                pick(first, 0),
                less(0, 1),
                mean(2),
                pick(rows, 3),
                less(2, 4),
            ];
            worst_case(&graph(&[6], nodes), &[4.0; 6])[5]
        };
        let plain = vec![mean(0), pick(own, 1), less(0, 2)];
        let most = 8.0 * (1.0 - 1.0 / 3.0);
        assert_eq!(worst_case(&graph(&[6], plain), &[4.0; 6])[3], (-most, most));
        assert_eq!(of([0, 0, 0, 3, 3, 3], own), (-most, most));
        assert_eq!(of([0, 0, 0, 3, 3, 3], turned), (-16.0, 16.0));
        assert_eq!(of([0, 1, 0, 3, 3, 3], own), (-2.0 * most, 2.0 * most));
    }

    /// Numbers from -4 to 4 have a variance of 16 at most, which half of them at either end reach; of means
    /// that count padding, of windows that overlap, and of squares in other windows nothing is known.
    #[test]
    fn a_variance_is_a_quarter_of_the_square_of_what_is_between() {
        let of = |means: Pool, own: &[u32], windows: Pool| {
            let (n, rows) = (own.len(), means.out_len());
            let index = own.to_vec();
            let nodes = vec![
                node(Op::AveragePool(means), &[0], &[rows]),
                node(Op::Rearrange { index, fill: 0.0 }, &[1], &[n]),
                node(Op::Sub, &[0, 2], &[n]),
                node(Op::Mul, &[3, 3], &[n]),
                node(Op::AveragePool(windows), &[4], &[1]),
            ];
            let graph = graph(&[n], nodes);
            let x: Vec<f32> = (0..n).map(|i| [4.0, -4.0][i % 2]).collect();
            let (_, seen) = crate::reference::ranges(&graph, &x).unwrap();
            let reached = f64::from(seen[5].1);
            (reached, worst_case(&graph, &vec![4.0; n])[5].1)
        };
        let halves = pool(1, [1, 4], [1, 2]);
        let whole = whole_of(4);
        let padded = Pool {
            pad: [0, 1, 0, 1],
            out: [1, 3],
            count_pad: true,
            ..halves.clone()
        };
        let overlapping = Pool {
            stride: [1, 1],
            out: [1, 3],
            ..halves.clone()
        };
        assert_eq!(of(whole.clone(), &[0; 4], whole.clone()), (16.0, 16.0));
        let own = [0, 0, 1, 1];
        assert_eq!(of(halves.clone(), &own, halves.clone()), (16.0, 16.0));
        // A difference is still at most half of what is between.
        assert_eq!(of(halves, &own, whole).1, 16.0);
        assert_eq!(of(padded, &[0, 1, 1, 2], whole_of(4)).1, 64.0);
        assert_eq!(of(overlapping, &[0, 0, 1, 2], whole_of(4)).1, 64.0);
    }

    fn whole_of(n: usize) -> Pool {
        pool(1, [1, n], [1, n])
    }

    /// What reaches a branch of a tree is parted by a bit, level by level: without its rule the rest would
    /// be told to be twice as large on each. Of another number, and by no share, it may be.
    #[test]
    fn a_number_less_a_share_of_it_is_no_farther_from_0() {
        let of = |whole: usize, bit: Op| {
            let nodes = vec![
                node(bit, &[0], &[1]),
                node(Op::Mul, &[0, 1], &[1]),
                node(Op::Sub, &[whole, 2], &[1]),
                node(Op::Mul, &[3, 1], &[1]),
                node(Op::Sub, &[3, 4], &[1]),
            ];
            worst_case(&graph(&[1], nodes), &[4.0])
        };
        let parted = of(0, Op::NonNegative);
        assert_eq!([parted[3], parted[5]], [(-4.0, 4.0); 2]);
        assert_eq!(of(1, Op::NonNegative)[3], (-4.0, 5.0));
        assert_eq!(of(0, Op::Relu)[3], (-20.0, 20.0));
    }
}
