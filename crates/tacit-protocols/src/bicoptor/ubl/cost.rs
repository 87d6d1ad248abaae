//! What the UBL setting declares of its own cost; tests hold it against the meters.
//!
//! All parties together, at l = 64 and 7 key bits: a ReLU is online 54.5 bytes and 2 hops, offline
//! 8 bytes; without a promise 77 bytes and 8 hops, offline 38.6 bytes. A product with a truncation online 16 bytes more than opening its operands, and 2
//! hops, offline 16 bytes.

use tacit_algebra::Ring;
use tacit_algebra::window::Window;

use super::adder::{bit_bytes, sign_bytes, sign_rounds, sign_stored};
use super::demand::{Want, wants_of};
use crate::bicoptor::cost::{Sizes, cost};
use crate::bicoptor::{ASSISTANT, Options};
use crate::cost::not_native;
use crate::machine::{Audience, Call, CostModel, KeyBits};
use crate::{Cost, Truncation, pool};

/// The UBL setting's declared cost.
#[derive(Clone, Copy, Debug)]
pub struct UblCost(Sizes);

impl UblCost {
    /// The cost over the ring `R`.
    pub fn new<R: Ring>(options: Options) -> Self {
        UblCost(Sizes::new::<R>(options))
    }

    fn entries(&self, keys: KeyBits, n: usize) -> u64 {
        self.0.messages(keys, n, Window::wire_len)
    }

    /// Bits of the ring.
    fn width(&self) -> u32 {
        8 * self.0.word as u32
    }

    /// An exact sign and, in one more hop, its bit and `multiplied` elements.
    fn exact(&self, n: usize, multiplied: usize) -> Cost {
        let [holder, _] = sign_bytes(n, self.width());
        let choice = bit_bytes(n) + self.0.words(multiplied);
        cost(sign_rounds(self.width()) + 1, holder + choice, 0)
    }

    fn drelu(&self, keys: KeyBits, n: usize) -> Cost {
        match keys.is_all() {
            true => self.exact(n, 0),
            false => cost(2, self.entries(keys, n), self.0.words(n)),
        }
    }

    fn relu(&self, keys: KeyBits, n: usize) -> Cost {
        if keys.is_all() {
            return self.exact(n, n);
        }
        let words = self.0.words(n);
        cost(2, self.entries(keys, n) + words, 2 * words)
    }

    fn truncation(&self, n: usize, trunc: u32) -> Cost {
        match (trunc, self.0.options.truncation) {
            (0, _) | (_, Truncation::SecureMl) => cost(0, 0, 0),
            _ => cost(1, self.0.words(n), 0),
        }
    }
}

impl CostModel for UblCost {
    fn online(&self, call: &Call) -> Cost {
        match *call {
            Call::Input { owner, n } if owner == ASSISTANT => cost(1, 0, self.0.words(n)),
            Call::Input { .. } => cost(0, 0, 0),
            Call::Reveal {
                n,
                to: Audience::All,
            } => cost(1, 2 * self.0.words(n), 0),
            Call::Reveal {
                n,
                to: Audience::One(to),
            } => {
                let mut cost = cost(1, self.0.words(n), 0);
                cost.bytes[to] = 0;
                cost
            }
            Call::Fix { n } => cost(1, self.0.words(n), 0),
            Call::Verify { .. } => cost(0, 0, 0),
            Call::Product {
                map, fixed, trunc, ..
            } => {
                let right = if fixed.is_some() { 0 } else { map.right() };
                let opened = cost(1, self.0.words(map.left() + right), 0);
                opened + &self.truncation(map.outputs(), trunc)
            }
            Call::Truncate { n, trunc, .. } => self.truncation(n, trunc),
            Call::Drelu { n, keys, .. } => self.drelu(keys, n),
            Call::Relu { n, keys, .. } => self.relu(keys, n),
            Call::Select { n, .. } => cost(1, self.0.words(2 * n), 0),
            Call::Maxpool {
                windows,
                size,
                keys,
                ..
            } => pool::levels(size)
                .map(|(pairs, _)| self.relu(keys, pairs * windows))
                .fold(cost(0, 0, 0), |sum, level| sum + &level),
            Call::Function { .. } => not_native(call),
        }
    }

    fn offline(&self, calls: &[Call]) -> Cost {
        let wants = calls
            .iter()
            .flat_map(|call| wants_of(call, self.0.options.truncation, self.width()));
        let dealt: u64 = wants
            .map(|want| match want {
                Want::Product { trunc: 0, .. } | Want::Relu { .. } => self.0.words(want.outputs()),
                Want::Product { .. } | Want::Truncate { .. } => 2 * self.0.words(want.outputs()),
                Want::Sign { n, width } => sign_bytes(n, width)[1],
                Want::Bit { n } => self.0.words(n),
                Want::Times { n } => self.0.words(2 * n),
            })
            .sum();
        cost(u32::from(dealt > 0), 0, dealt)
    }

    fn stored(&self, call: &Call) -> u64 {
        let of = |want: Want| match want {
            Want::Product { map, fixed, trunc } => {
                let right = if fixed.is_some() { 0 } else { map.right() };
                let masks = if trunc == 0 { 1 } else { 3 };
                self.0.words(map.left() + right + masks * map.outputs())
            }
            Want::Truncate { n, .. } | Want::Relu { n } => self.0.words(3 * n),
            Want::Sign { n, width } => sign_stored(n, width),
            Want::Bit { n } => self.0.words(n) + n as u64 / 8,
            Want::Times { n } => self.0.words(3 * n) + n as u64 / 8,
        };
        let wants = wants_of(call, self.0.options.truncation, self.width());
        wants.into_iter().map(of).sum()
    }
}
