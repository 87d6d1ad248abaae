//! The bounds of a Clip that its values can reach: exports write "no bound" as a distant number, and
//! nothing should be widened to hold a difference to it.

use super::ranges::Interval;
use crate::graph::Op;

/// The bounds that matter, of a Clip; without any it changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Bounds {
    pub low: Option<f32>,
    pub high: Option<f32>,
}

/// Those of a node whose arguments are never outside `worst`, where no number beyond `room` is held:
/// whatever would reach a bound out there is warned of where it is made.
pub(super) fn bounds(op: &Op, worst: Interval, room: f64) -> Bounds {
    let Op::Clip { low, high } = *op else {
        return Bounds::default();
    };
    let held = |v: &f32| f64::from(v.abs()) <= room;
    Bounds {
        low: low.filter(|&v| f64::from(v) > worst.0).filter(held),
        high: high.filter(|&v| f64::from(v) < worst.1).filter(held),
    }
}

impl Bounds {
    /// The distance to the farther one.
    pub(super) fn far(self) -> f64 {
        let distance = |v: Option<f32>| f64::from(v.unwrap_or(0.0).abs());
        distance(self.low).max(distance(self.high))
    }
}
