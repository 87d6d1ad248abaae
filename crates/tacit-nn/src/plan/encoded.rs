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
        (factor * low - slack * unit, factor * high + slack * unit)
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

/// A layer's node with its weights as they are encoded.
fn of_rounded<'a>(layer: usize, node: &'a Node, rounding: &Rounding) -> Cow<'a, Node> {
    match rounded_op(&node.op, layer, rounding) {
        Some(op) => Cow::Owned(Node { op, ..node.clone() }),
        None => Cow::Borrowed(node),
    }
}
