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

/// The bounds of a node whose arguments are never outside `worst`, where no number beyond `room` is
/// held: whatever would reach a bound out there is warned of where it is made. A bound is kept if
/// everything that is held lies beyond it.
pub(super) fn bounds(op: &Op, worst: Interval, room: f64) -> Bounds {
    let Op::Clip { low, high } = *op else {
        return Bounds::default();
    };
    Bounds {
        low: low.filter(|&v| f64::from(v) > worst.0 && f64::from(v) >= -room),
        high: high.filter(|&v| f64::from(v) < worst.1 && f64::from(v) <= room),
    }
}

impl Bounds {
    /// The distance to the farther one.
    pub(super) fn far(self) -> f64 {
        let distance = |v: Option<f32>| f64::from(v.unwrap_or(0.0).abs());
        distance(self.low).max(distance(self.high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(low: f32, high: f32, worst: Interval, room: f64) -> [Option<f32>; 2] {
        let op = Op::Clip {
            low: Some(low),
            high: Some(high),
        };
        let kept = bounds(&op, worst, room);
        [kept.low, kept.high]
    }

    #[test]
    fn bounds_that_nothing_reaches_are_left_out() {
        assert_eq!(kept(-1.0, 1.0, (-2.0, 2.0), 4.0), [Some(-1.0), Some(1.0)]);
        assert_eq!(kept(-1.0, 1.0, (-0.5, 2.0), 4.0), [None, Some(1.0)]);
        assert_eq!(kept(-1e10, 1e10, (-1e12, 1e12), 4.0), [None, None]);
    }

    /// A value that is always 0 has no room at all.
    #[test]
    fn bounds_that_everything_lies_beyond_are_kept() {
        assert_eq!(kept(0.05, 1.0, (0.0, 0.0), 0.0), [Some(0.05), None]);
        assert_eq!(kept(-1.0, -0.05, (0.0, 0.0), 0.0), [None, Some(-0.05)]);
        assert_eq!(kept(8.0, 9.0, (-1e12, 1e12), 4.0), [Some(8.0), None]);
    }
}
