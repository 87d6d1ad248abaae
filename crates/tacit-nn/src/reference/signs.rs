//! Nodes whose signs are taken from a window of bits, as the machine's key bits promise at their
//! worst.

use super::windows::taps;
use crate::graph::{Node, Op, Whole};

/// Where a sign is right, in the units of the model's values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Negative values above minus this one may be taken for positive: the likelier the smaller.
    pub unit: f32,
    /// The sign of values from here on is wrong.
    pub limit: f32,
}

impl Window {
    /// Whether `x` is taken for positive; `chance` draws from `0.0..1.0`.
    fn positive(self, x: f32, chance: &mut impl FnMut() -> f64) -> bool {
        if x >= self.limit || x < self.unit - self.limit {
            return x < 0.0;
        }
        x >= 0.0 || (x > -self.unit && f64::from(1.0 + x / self.unit) > chance())
    }
}

/// The value of a ReLU, a sign, a clip or a maximum of `x`.
pub(crate) fn evaluate(
    node: &Node,
    x: &[f32],
    window: Window,
    mut chance: impl FnMut() -> f64,
) -> Vec<f32> {
    let mut positive = |v: f32| window.positive(v, &mut chance);
    if let Op::MaxPool(pool) = &node.op {
        let mut larger = |a: f32, b: f32| if positive(a - b) { a } else { b };
        let taps = taps(pool);
        let mut largest = |x: &[f32], taps: &[usize]| {
            let elements = taps.iter().map(|&i| x[i]);
            elements.reduce(&mut larger).unwrap_or_default()
        };
        let items = x.chunks(pool.in_len());
        return items
            .flat_map(|x| taps.iter().map(|t| largest(x, t)).collect::<Vec<_>>())
            .collect();
    }
    if let Op::NonNegative = node.op {
        return x.iter().map(|&v| f32::from(positive(v))).collect();
    }
    if let Op::Whole(whole) = node.op {
        let half = if whole == Whole::Nearest { 0.5 } else { 0.0 };
        return (x.iter())
            .map(|&v| {
                let found = whole.of(v.into()) as f32;
                found + f32::from(positive(v + half - (found + 1.0)))
            })
            .collect();
    }
    let mut relu = |v: f32| if positive(v) { v } else { 0.0 };
    let clip = |&v: &f32| match node.op {
        Op::Clip { low, high } => {
            let raised = low.map_or(v, |low| low + relu(v - low));
            high.map_or(raised, |high| raised - relu(v - high))
        }
        _ => relu(v),
    };
    x.iter().map(clip).collect()
}

/// The largest magnitude of which such a node takes the sign.
pub(crate) fn reach(node: &Node, x: &[f32]) -> f32 {
    let distance = |from: f32| x.iter().map(|v| (v - from).abs()).fold(0.0, f32::max);
    match &node.op {
        Op::Clip { low, high } => {
            let bounds = low.iter().chain(high);
            bounds.map(|&bound| distance(bound)).fold(0.0, f32::max)
        }
        Op::MaxPool(pool) => {
            let taps = taps(pool);
            let spread = |x: &[f32], taps: &[usize]| {
                let ends = (f32::INFINITY, f32::NEG_INFINITY);
                let ends = taps
                    .iter()
                    .fold(ends, |(low, high), &i| (low.min(x[i]), high.max(x[i])));
                ends.1 - ends.0
            };
            let items = x.chunks(pool.in_len());
            let spreads = items.flat_map(|x| taps.iter().map(move |taps| spread(x, taps)));
            spreads.fold(0.0, f32::max)
        }
        Op::Whole(_) => 2.0 * distance(0.0) + 1.0,
        _ => distance(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Pool;

    const WINDOW: Window = Window {
        unit: 0.5,
        limit: 4.0,
    };

    fn node(op: Op) -> Node {
        Node {
            name: "n".into(),
            op,
            inputs: vec![0],
            shape: vec![],
        }
    }

    /// A node's results with every small negative let through, and with none.
    fn both(op: Op, x: &[f32]) -> [Vec<f32>; 2] {
        let node = node(op);
        [0.0, 1.0].map(|chance| evaluate(&node, x, WINDOW, || chance))
    }

    #[test]
    fn small_negatives_may_pass_and_large_values_are_wrong() {
        let x = [0.0, 3.9, 4.0, -0.1, -0.5, -3.5, -3.6];
        let [passed, stopped] = both(Op::Relu, &x);
        assert_eq!(passed, [0.0, 3.9, 0.0, -0.1, 0.0, 0.0, -3.6]);
        assert_eq!(stopped, [0.0, 3.9, 0.0, 0.0, 0.0, 0.0, -3.6]);
        let [passed, stopped] = both(Op::NonNegative, &x);
        assert_eq!(passed, [1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
        assert_eq!(stopped, [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        let mut draws = [0.75, 0.85].into_iter();
        let chance = || draws.next().expect("one draw each");
        let passes = evaluate(&node(Op::Relu), &[-0.1, -0.1], WINDOW, chance);
        assert_eq!(passes, [-0.1, 0.0], "with probability 0.8");
    }

    #[test]
    fn clips_and_maxima_compare_under_the_window() {
        let clip = |low, high| Op::Clip { low, high };
        let x = [-2.0, 0.25, 0.75, 1.25, 3.0];
        for (low, high, expected) in [
            (Some(0.0), Some(1.0), [0.0, 0.25, 0.75, 1.0, 1.0]),
            (Some(0.0), None, [0.0, 0.25, 0.75, 1.25, 3.0]),
            (None, Some(1.0), [-2.0, 0.25, 0.75, 1.0, 1.0]),
        ] {
            assert_eq!(both(clip(low, high), &x)[1], expected);
        }
        // 0.75 - 1 is in the band of the upper bound.
        assert_eq!(both(clip(None, Some(1.0)), &x)[0][2], 1.0);
        assert_eq!(reach(&node(clip(Some(0.0), Some(1.0))), &x), 3.0);
        let pool = Op::MaxPool(Pool {
            channels: 1,
            height: 2,
            width: 3,
            kernel: [2, 1],
            stride: [1, 1],
            pad: [0; 4],
            dilation: [1, 1],
            out: [1, 3],
            count_pad: false,
        });
        let x = [1.0, 1.0, -2.0, 0.5, 1.25, 3.0];
        assert_eq!(reach(&node(pool.clone()), &x), 5.0);
        let [passed, stopped] = both(pool, &x);
        assert_eq!(stopped, [1.0, 1.25, -2.0]);
        assert_eq!(passed, [1.0, 1.0, -2.0]);
    }
}
