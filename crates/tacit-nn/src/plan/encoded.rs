//! What encoded weights and truncations lead to: of many weights that are all rounded up a sum may be a hundredth more
//! than that of the weights themselves, and whatever holds it must hold that.

use std::borrow::Cow;
use std::rc::Rc;

use super::ranges::{Bound, Interval, hull};
use super::rounded::{rounded_means, rounded_op};
use super::rounding::{Rounding, Step};
use super::worst::worst_case_of;
use crate::graph::{Graph, Node, ValueId};

/// How far above its worst case a value may be without another bound: half of the room that is left everywhere.
const ROOM: f64 = 1.005;
/// The last places by which a truncation errs at most, and those that what compares adds for them.
const TRUNCATED: f64 = 4.0;

/// The bounds of values whose weights and truncations are rounded as planned, where these go beyond those of the
/// candidate, and the first value of which that is so.
pub(super) fn led(
    graph: &Graph,
    ends: &[f64],
    rounding: &Rounding,
    bounds: &[Bound],
) -> Option<(Rc<[Bound]>, ValueId)> {
    let means = rounded_means(graph, rounding);
    let changed = |layer, node| of_rounded(layer, node, rounding);
    let beyond = |id: ValueId, (low, high): Interval| {
        let unit = (-f64::from(rounding.fractions[id])).exp2();
        let far = low.abs().max(high.abs());
        let slack = match rounding.steps[id] {
            Step::Exact => 0.0,
            Step::Encoded => 0.5,
            Step::Truncated(_) => TRUNCATED,
            Step::Function(units, share) => units + share * far + TRUNCATED,
        };
        let means = id.checked_sub(1).map_or(&[][..], |layer| &means[layer]);
        let factor = means.iter().copied().fold(1.0, f64::max);
        let farther = |end: f64| factor * end + end.signum() * slack * unit;
        away(&farther, (low, high))
    };
    let led = worst_case_of(graph, ends, changed, beyond);
    let mut first = None;
    let wider = |(id, (&bound, led)): (ValueId, (&Bound, Interval))| {
        let far = led.0.abs().max(led.1.abs());
        if rounding.ranks_of(id).is_some() || far <= ROOM * bound.worst {
            return bound;
        }
        first.get_or_insert(id);
        let worst_within = hull(bound.worst_within, led);
        match bound.planned < bound.worst {
            true => Bound {
                worst: far,
                worst_within,
                ..bound
            },
            false => Bound {
                within: hull(bound.within, led),
                ..Bound::worst(worst_within)
            },
        }
    };
    let wider = bounds.iter().zip(led).enumerate().map(wider).collect();
    first.map(|id| (wider, id))
}

/// An interval with ends farther from 0: what is of one sign stays so, and shares and gates stay within 1, for what is
/// bounded by construction is bounded by that.
fn away(farther: &dyn Fn(f64) -> f64, (low, high): Interval) -> Interval {
    let led = (
        if low < 0.0 { farther(low) } else { low },
        if high > 0.0 { farther(high) } else { high },
    );
    match low >= 0.0 && high <= 1.0 {
        true => (led.0, led.1.min(1.0)),
        false => led,
    }
}

/// A layer's node with its weights as they are encoded.
fn of_rounded<'a>(layer: usize, node: &'a Node, rounding: &Rounding) -> Cow<'a, Node> {
    match rounded_op(&node.op, layer, rounding) {
        Some(op) => Cow::Owned(Node { op, ..node.clone() }),
        None => Cow::Borrowed(node),
    }
}

#[cfg(test)]
mod tests {
    use super::super::graphs::{graph, node};
    use super::*;
    use crate::graph::{Linear, Op};

    /// What is of one sign stays so, and what is within 1.
    #[test]
    fn ends_are_led_away_from_0() {
        let led = |interval| away(&|end: f64| 1.5 * end + end.signum(), interval);
        assert_eq!(led((-2.0, 4.0)), (-4.0, 7.0));
        assert_eq!(led((2.0, 4.0)), (2.0, 7.0));
        assert_eq!(led((-4.0, -2.0)), (-7.0, -2.0));
        assert_eq!(led((0.0, 1.0)), (0.0, 1.0));
        assert_eq!(led((0.0, 1.5)), (0.0, 3.25));
    }

    /// Weights that are all rounded up lead beyond the worst case of the weights themselves; those that are as they are
    /// do not.
    #[test]
    fn weights_that_are_rounded_up_lead_beyond() {
        let sum = |weight: f32, bits: u32| {
            let linear = Linear {
                rows: 1,
                k: 64,
                n: 1,
                weight: vec![weight; 64].into(),
                bias: vec![].into(),
            };
            let graph = graph(&[64], vec![node(Op::Linear(linear), &[0], &[1])]);
            let rounding = Rounding {
                fractions: vec![16; 2],
                weights: vec![bits],
                steps: vec![Step::Encoded, Step::Truncated(bits)],
                field: None,
                exact: false,
                ranks: None,
            };
            let worst = |most: f64| Bound::worst((-most, most));
            let bounds = [worst(1.0), worst(64.0 * f64::from(weight))];
            let led = led(&graph, &[1.0; 64], &rounding, &bounds);
            led.map(|(wider, first)| (wider[1].worst, wider[1].planned, first))
        };
        // Of 4 fraction bits a 20th is a 16th.
        let (worst, planned, first) = sum(0.05, 4).expect("beyond");
        assert!((worst - 4.0).abs() < 1e-3 && worst >= 4.0, "{worst}");
        assert_eq!((planned, first), (worst, 1));
        assert_eq!(sum(0.0625, 4), None);
        assert_eq!(sum(0.05, 16), None);
    }
}
