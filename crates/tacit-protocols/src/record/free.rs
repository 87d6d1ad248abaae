//! The cost model that a program is recorded by before a protocol is known.

use crate::Cost;
use crate::machine::{Call, CostModel};
use crate::math::Elementary;

/// A cost model in which nothing costs anything, and functions and widths stay what they are.
pub(super) struct Free;

impl CostModel for Free {
    fn online(&self, _call: &Call) -> Cost {
        Cost::default()
    }
    fn offline(&self, _calls: &[Call]) -> Cost {
        Cost::default()
    }
    fn stored(&self, _call: &Call) -> u64 {
        0
    }
    fn native(&self, _function: &Elementary) -> bool {
        true
    }
    fn mixed(&self) -> bool {
        true
    }
}
