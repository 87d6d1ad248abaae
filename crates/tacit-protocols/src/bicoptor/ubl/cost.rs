//! What the UBL setting declares of its own cost; tests hold it against the meters.
//!
//! All parties together, at l = 64 and 7 key bits: a ReLU is online 54.5 bytes and 2 hops, offline
//! 8 bytes; a product with a truncation online 16 bytes more than opening its operands, and 2
//! hops, offline 16 bytes.

use tacit_algebra::Ring;
use tacit_algebra::bicoptor::Window;

use super::demand::{Want, wants_of};
use crate::bicoptor::drelu::parts;
use crate::bicoptor::{ASSISTANT, Options, PARTIES, window};
use crate::machine::{Audience, Call, CostModel, KeyBits};
use crate::{Cost, Truncation, pool};

/// The UBL setting's declared cost.
#[derive(Clone, Copy, Debug)]
pub struct UblCost {
    word: u64,
    options: Options,
    window: fn(KeyBits, &Options) -> Option<Window>,
}

impl UblCost {
    /// The cost over the ring `R`.
    pub fn new<R: Ring>(options: Options) -> Self {
        UblCost {
            word: u64::from(R::BITS / 8),
            options,
            window: |keys, options| window::<R>(keys, options.form).ok(),
        }
    }

    fn words(&self, n: usize) -> u64 {
        n as u64 * self.word
    }

    /// Hops, bytes that each holder sends, bytes that the assistant sends.
    fn cost(&self, rounds: u32, holder: u64, assistant: u64) -> Cost {
        let mut cost = Cost::each(PARTIES, rounds, holder);
        cost.bytes[ASSISTANT] = assistant;
        cost
    }

    fn entries(&self, keys: KeyBits, n: usize) -> u64 {
        let len = |window: Window| {
            parts(&window, n)
                .map(|p| window.wire_len(p.len()) as u64)
                .sum()
        };
        (self.window)(keys, &self.options).map_or(0, len)
    }

    fn relu(&self, keys: KeyBits, n: usize) -> Cost {
        let words = self.words(n);
        self.cost(2, self.entries(keys, n) + words, 2 * words)
    }

    fn truncation(&self, n: usize, trunc: u32) -> Cost {
        match (trunc, self.options.truncation) {
            (0, _) | (_, Truncation::SecureMl) => self.cost(0, 0, 0),
            _ => self.cost(1, self.words(n), 0),
        }
    }
}

impl CostModel for UblCost {
    fn online(&self, call: &Call) -> Cost {
        match *call {
            Call::Input { owner, n } if owner == ASSISTANT => self.cost(1, 0, self.words(n)),
            Call::Input { .. } => self.cost(0, 0, 0),
            Call::Reveal {
                n,
                to: Audience::All,
            } => self.cost(1, 2 * self.words(n), 0),
            Call::Reveal {
                n,
                to: Audience::One(to),
            } => {
                let mut cost = self.cost(1, self.words(n), 0);
                cost.bytes[to] = 0;
                cost
            }
            Call::Fix { n } => self.cost(1, self.words(n), 0),
            Call::Product { map, fixed, trunc } => {
                let right = if fixed.is_some() { 0 } else { map.right() };
                let opened = self.cost(1, self.words(map.left() + right), 0);
                opened + &self.truncation(map.outputs(), trunc)
            }
            Call::Truncate { n, trunc } => self.truncation(n, trunc),
            Call::Drelu { n, keys } => self.cost(2, self.entries(keys, n), self.words(n)),
            Call::Relu { n, keys } => self.relu(keys, n),
            Call::Select { n } => self.cost(1, self.words(2 * n), 0),
            Call::Maxpool {
                windows,
                size,
                keys,
            } => pool::levels(size)
                .map(|(pairs, _)| self.relu(keys, pairs * windows))
                .fold(self.cost(0, 0, 0), |sum, level| sum + &level),
        }
    }

    fn offline(&self, calls: &[Call]) -> Cost {
        let wants = calls
            .iter()
            .flat_map(|call| wants_of(call, self.options.truncation));
        let dealt: u64 = wants
            .map(|want| match want {
                Want::Product { trunc: 0, .. } | Want::Relu { .. } => self.words(want.outputs()),
                Want::Product { .. } | Want::Truncate { .. } => 2 * self.words(want.outputs()),
            })
            .sum();
        self.cost(u32::from(dealt > 0), 0, dealt)
    }

    fn stored(&self, call: &Call) -> u64 {
        let of = |want: Want| match want {
            Want::Product { map, fixed, trunc } => {
                let right = if fixed.is_some() { 0 } else { map.right() };
                let masks = if trunc == 0 { 1 } else { 3 };
                self.words(map.left() + right + masks * map.outputs())
            }
            Want::Truncate { n, .. } | Want::Relu { n } => self.words(3 * n),
        };
        let wants = wants_of(call, self.options.truncation);
        wants.into_iter().map(of).sum()
    }
}
