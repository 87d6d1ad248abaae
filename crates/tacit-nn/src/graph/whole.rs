//! Whole numbers near a value.

use serde::{Deserialize, Serialize};

/// Which whole number is taken for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Whole {
    /// The largest that is not above it.
    Down,
    /// The nearest, of two the even one.
    Nearest,
}

impl Whole {
    /// The name of the operation for tables and messages.
    pub fn name(self) -> &'static str {
        match self {
            Whole::Down => "Floor",
            Whole::Nearest => "Round",
        }
    }

    /// The whole number of `x`.
    pub fn of(self, x: f64) -> f64 {
        match self {
            Whole::Down => x.floor(),
            Whole::Nearest => x.round_ties_even(),
        }
    }
}
