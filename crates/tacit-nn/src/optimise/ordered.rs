//! Comparisons of scaled numbers, moved before the scale.
//!
//! A scaler before trees keeps the order of every column. So a scaled number is on the same side of a threshold
//! as the number itself of another threshold: the least float that the scaler brings there. Where nothing but
//! comparisons is left of an input, a plan shares its ranks.

use crate::graph::{Affine, FILL, Graph, Op, ValueId, len};

/// The graph with thresholds of scaled numbers in place of scales, wherever only signs are taken of the
/// differences. In float32 it computes the same.
pub(super) fn without_scales(mut graph: Graph) -> Graph {
    let signs = only_signs(&graph);
    let uses = uses(&graph);
    for at in 0..graph.nodes.len() {
        if !signs[at + 1] {
            continue;
        }
        let node = &graph.nodes[at];
        let (moved, held, upwards) = match &node.op {
            Op::Affine(affine) if affine.scale.is_empty() && !affine.shift.is_empty() => {
                (node.inputs[0], at, true)
            }
            Op::Sub => match node.inputs[0].checked_sub(1) {
                Some(held) if is_threshold(&graph, held) && uses[held + 1] == 1 => {
                    (node.inputs[1], held, false)
                }
                _ => continue,
            },
            _ => continue,
        };
        let Some(scaled) = Scaled::of(&graph, &uses, moved) else {
            continue;
        };
        if let Some(shift) = scaled.thresholds(&graph, held, upwards) {
            let rearranged = &mut graph.nodes[moved - 1];
            rearranged.inputs = vec![scaled.root];
            rearranged.op = Op::Rearrange {
                index: scaled.index,
                fill: 0.0,
            };
            graph.nodes[held].op = Op::Affine(Affine {
                inner: 1,
                scale: vec![].into(),
                shift: shift.into(),
            });
        }
    }
    graph
}

/// Whether of every value nothing but the signs matters.
pub(super) fn only_signs(graph: &Graph) -> Vec<bool> {
    let mut signs = vec![true; graph.nodes.len() + 1];
    let mut read = vec![false; graph.nodes.len() + 1];
    signs[graph.output] = false;
    for (at, node) in graph.nodes.iter().enumerate().rev() {
        let kept = match &node.op {
            Op::NonNegative => true,
            Op::Rearrange { .. } | Op::Concat { .. } => signs[at + 1],
            _ => false,
        };
        for &id in &node.inputs {
            signs[id] &= kept;
            read[id] = true;
        }
    }
    signs.iter().zip(read).map(|(&s, read)| s && read).collect()
}

/// How often each value is read. A fill reads nothing, whatever stands there.
pub(super) fn uses(graph: &Graph) -> Vec<usize> {
    let mut uses = vec![0; graph.nodes.len() + 1];
    uses[graph.output] += 1;
    let readers = graph.nodes.iter().filter(|node| !node.is_fill());
    let read = readers.flat_map(|node| &node.inputs);
    read.for_each(|&id| uses[id] += 1);
    uses
}

/// Whether a node is a term of nothing: constant numbers.
fn is_threshold(graph: &Graph, at: usize) -> bool {
    let node = &graph.nodes[at];
    let zeros = |id: ValueId| {
        let from = id.checked_sub(1).map(|at| &graph.nodes[at]);
        from.is_some_and(|node| {
            node.is_fill() && matches!(node.op, Op::Rearrange { fill: 0.0, .. })
        })
    };
    match &node.op {
        Op::Affine(affine) => {
            affine.scale.is_empty() && !affine.shift.is_empty() && zeros(node.inputs[0])
        }
        _ => false,
    }
}

/// A value that is a scale of another, element by element, of which some are picked.
struct Scaled {
    root: ValueId,
    /// The place in the root of every element.
    index: Vec<u32>,
    /// The factors, above 0, and terms of each line, those next to the root last.
    lines: Vec<Line>,
}

/// One factor and term after the other.
type Line = Vec<(f32, f32)>;

impl Scaled {
    /// Value `id`, a rearrangement that one node reads.
    fn of(graph: &Graph, uses: &[usize], id: ValueId) -> Option<Self> {
        let own = &graph.nodes[id.checked_sub(1)?];
        if !matches!(own.op, Op::Rearrange { .. }) || uses[id] != 1 {
            return None;
        }
        let mut places: Vec<u32> = (0..len(&own.shape) as u32).collect();
        let mut root = id;
        let mut lines = vec![Line::new(); places.len()];
        while let Some(node) = root.checked_sub(1).map(|at| &graph.nodes[at]) {
            match &node.op {
                Op::Rearrange { index, .. } => {
                    places.iter_mut().for_each(|p| *p = index[*p as usize]);
                    if places.contains(&FILL) {
                        return None;
                    }
                }
                Op::Affine(affine) => {
                    for (line, &p) in lines.iter_mut().zip(&places) {
                        line.push((affine.scale_at(p as usize), affine.shift_at(p as usize)));
                    }
                }
                _ => break,
            }
            root = node.inputs[0];
        }
        let keeps = |line: &Line| !line.is_empty() && line.iter().all(|&(scale, _)| scale > 0.0);
        lines.iter().all(keeps).then_some(Scaled {
            root,
            index: places,
            lines,
        })
    }

    /// The terms of node `held` for the root's numbers: `upwards` it adds the threshold's negative to them,
    /// else they are subtracted from the threshold. `None` where some threshold is out of reach.
    fn thresholds(&self, graph: &Graph, held: usize, upwards: bool) -> Option<Vec<f32>> {
        let Op::Affine(affine) = &graph.nodes[held].op else {
            return None;
        };
        let each = self.lines.iter().enumerate();
        let of = |(e, line): (usize, &Line)| match upwards {
            true => least(line, -affine.shift_at(e)).map(|t| -t),
            false => most(line, affine.shift_at(e)),
        };
        each.map(of).collect()
    }
}

/// The number that a line makes of `x`, as the float32 reference computes it.
fn scaled(line: &[(f32, f32)], x: f32) -> f32 {
    let steps = line.iter().rev();
    steps.fold(x, |x, (scale, shift)| x * scale + shift)
}

/// The least finite float that is scaled to at least `threshold`.
fn least(line: &[(f32, f32)], threshold: f32) -> Option<f32> {
    first(|x| scaled(line, x) >= threshold)
}

/// The least finite float that something holds of, if that holds of all larger ones, too; none if it holds of all
/// floats, or of none.
pub(crate) fn first(holds: impl Fn(f32) -> bool) -> Option<f32> {
    let (mut low, mut high) = (-FINITE, FINITE);
    if holds(float(low)) || !holds(float(high)) {
        return None;
    }
    while high - low > 1 {
        let middle = (low + high).div_euclid(2);
        match holds(float(middle)) {
            true => high = middle,
            false => low = middle,
        }
    }
    Some(float(high))
}

/// The largest finite float that is scaled to at most `threshold`.
fn most(line: &[(f32, f32)], threshold: f32) -> Option<f32> {
    // Rounding is the same on both sides of 0.
    let mirrored: Line = line.iter().map(|&(scale, shift)| (scale, -shift)).collect();
    least(&mirrored, -threshold).map(|t| -t)
}

/// The rank of the largest finite float.
const FINITE: i64 = f32::MAX.to_bits() as i64;

/// The float of a rank: floats in their order, 0 at 0.
fn float(rank: i64) -> f32 {
    let magnitude = f32::from_bits(rank.unsigned_abs() as u32);
    if rank < 0 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The float beside a threshold is on the other side, whatever the scale.
    #[test]
    fn thresholds_are_those_of_the_scaled_numbers() {
        let lines: [&[(f32, f32)]; 5] = [
            &[(1.0, 0.0)],
            &[(0.3, -1.7)],
            &[(1e-3, 12.5)],
            &[(4096.0, -0.1)],
            &[(0.07, 0.0), (1.0, -39.9)],
        ];
        for line in lines {
            for threshold in [0.0, 0.45, -3.2, 1e4] {
                let t = least(line, threshold).expect("within reach");
                assert!(scaled(line, t) >= threshold && scaled(line, t.next_down()) < threshold);
                let t = most(line, threshold).expect("within reach");
                assert!(scaled(line, t) <= threshold && scaled(line, t.next_up()) > threshold);
            }
        }
        assert_eq!(least(&[(1e-30, 0.0)], 1e30), None);
        assert_eq!(least(&[(1e30, 0.0)], f32::NEG_INFINITY), None);
    }
}
