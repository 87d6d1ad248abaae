//! Declared cost: what an operation sends and how many hops it takes, as its protocol counts it.

use std::ops::{Add, AddAssign};
use std::time::Duration;

use tacit_net::LinkModel;

use crate::call::Call;
use crate::math::Elementary;

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

    /// Whether nothing is sent.
    pub fn is_free(&self) -> bool {
        self.rounds == 0 && self.bytes.iter().all(|bytes| *bytes == 0)
    }

    /// A rough prediction of the time that this takes over links like this one, for choosing between ways
    /// to do the same. Parties that share a machine send by copying.
    pub(crate) fn seconds(&self, link: &LinkModel) -> f64 {
        const WAKE: f64 = 20e-6;
        const BYTE: f64 = 0.5e-9;
        let hops = f64::from(self.rounds);
        if *link == LinkModel::LOCAL {
            return hops * WAKE + self.bytes.iter().sum::<u64>() as f64 * BYTE;
        }
        let busiest = self.bytes.iter().max().copied().unwrap_or(0);
        let own = LinkModel {
            rtt: Duration::ZERO,
            ..*link
        };
        hops * link.rtt.as_secs_f64() / 2.0 + own.time(busiest as usize).as_secs_f64()
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

/// How many times as much memory as material its making takes, as measured: what it is made of, messages on their
/// way, and what the allocator keeps.
pub(crate) const MAKING: u64 = 2;

/// What a protocol declares of its own cost; tests hold it against the meters.
pub trait CostModel: Sync {
    /// Hops on the longest path and bytes sent by each party for one online call.
    fn online(&self, call: &Call) -> Cost;
    /// Hops and bytes of these calls one after the other, all of one layer: the sum of their costs,
    /// unless a call can begin at some parties before the last has ended at the others.
    fn in_a_row(&self, calls: &[Call]) -> Cost {
        let mut sum = Cost::default();
        calls.iter().for_each(|call| sum += &self.online(call));
        sum
    }
    /// Hops and bytes of making all the correlated randomness that these calls consume, in this order.
    fn offline(&self, calls: &[Call]) -> Cost;
    /// About how many bytes of material one party holds for a call between the phases.
    fn stored(&self, call: &Call) -> u64;
    /// About how many bytes one party holds at once while a call's material is made and the call
    /// computed, where this is more than [`CostModel::stored`]. Calls that need not be made whole are cut
    /// by it.
    fn workspace(&self, call: &Call) -> u64 {
        self.stored(call)
    }
    /// Bytes that a party holds of a shared element.
    fn share_bytes(&self, _party: usize) -> u64 {
        8
    }
    /// About how many bytes a party holds at most, beside its shares, while the material of these calls is made
    /// and they are computed.
    fn memory(&self, calls: &[Call]) -> u64 {
        let stored = calls.iter().map(|call| self.stored(call));
        let beside = |call| self.workspace(call).saturating_sub(self.stored(call));
        let widest = calls.iter().map(beside).max().unwrap_or(0);
        let made = stored.fold(0, u64::saturating_add).saturating_mul(MAKING);
        made.saturating_add(widest)
    }
    /// Hops and bytes of the keys that a session makes for these portions' calls, beside those of every session.
    fn keys(&self, _portions: &[&[Call]]) -> Cost {
        Cost::default()
    }
    /// Whether the protocol computes the function in a way of its own, at a cost of its own.
    fn native(&self, _function: &Elementary) -> bool {
        false
    }
    /// Nanoseconds, roughly and of no machine in particular, that the product of a call takes where it is one of
    /// encrypted numbers: bytes do not tell them. None of other calls.
    fn encrypted(&self, _call: &Call) -> Option<f64> {
        None
    }
    /// Whether tensors have widths of their own.
    fn mixed(&self) -> bool {
        false
    }
    /// The calls with the verifications that the machine makes among them.
    fn checked(&self, calls: Vec<Call>) -> Vec<Call> {
        calls
    }
}

/// Panics: a cost model that computes no functions by itself was asked about one.
pub fn not_native(call: &Call) -> ! {
    unreachable!("{call:?} must be lowered before it is counted or prepared")
}
