//! Declared cost: what an operation sends and how many hops it takes, written beside its code.

use std::ops::{Add, AddAssign};

/// Hops on the longest path and bytes sent by each party.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// One-way message delays on the longest path.
    pub rounds: u32,
    /// Payload bytes sent by party 0, 1, ...; empty for an operation that sends nothing.
    pub bytes: Vec<u64>,
}

impl Cost {
    /// A cost that is the same for each of `parties`.
    pub fn each(parties: usize, rounds: u32, bytes: u64) -> Self {
        Cost {
            rounds,
            bytes: vec![bytes; parties],
        }
    }
}

impl AddAssign<&Cost> for Cost {
    fn add_assign(&mut self, other: &Cost) {
        self.rounds += other.rounds;
        if self.bytes.len() < other.bytes.len() {
            self.bytes.resize(other.bytes.len(), 0);
        }
        for (sum, more) in self.bytes.iter_mut().zip(&other.bytes) {
            *sum += more;
        }
    }
}

impl Add<&Cost> for Cost {
    type Output = Cost;

    fn add(mut self, other: &Cost) -> Cost {
        self += other;
        self
    }
}
