//! What the RSS setting declares of its own cost; tests hold it against the meters.
//!
//! All parties together, at l = 64 and 7 key bits: a ReLU is online 46.75 bytes and 2 hops,
//! offline 24 bytes; without a promise 100 bytes and 10 hops, offline nothing. A product with a truncation online 48 bytes and 2 hops, offline 16 bytes.

use tacit_algebra::Ring;
use tacit_algebra::window::Window;

use super::demand::{Want, wants_of};
use crate::bicoptor::cost::{Sizes, cost};
use crate::bicoptor::{Options, PARTIES};
use crate::cost::not_native;
use crate::machine::{Call, CostModel, KeyBits};
use crate::replicated::{inject_cost, negative_cost, sharing_cost, times_cost};
use crate::{Cost, Truncation, pool};

/// The RSS setting's declared cost.
#[derive(Clone, Copy, Debug)]
pub struct RssCost(Sizes);

impl RssCost {
    /// The cost over the ring `R`.
    pub fn new<R: Ring>(options: Options) -> Self {
        RssCost(Sizes::new::<R>(options))
    }

    fn drelu(&self, keys: KeyBits, n: usize) -> Cost {
        match keys.is_all() {
            true => self.exact(n) + &inject_cost(n, self.0.word),
            false => self.sign(keys, n, 0),
        }
    }

    fn relu(&self, keys: KeyBits, n: usize) -> Cost {
        match keys.is_all() {
            true => self.exact(n) + &times_cost(n, self.0.word),
            false => self.sign(keys, n, n),
        }
    }

    /// The adder's sign.
    fn exact(&self, n: usize) -> Cost {
        negative_cost(n, 8 * self.0.word as u32)
    }

    /// A sign, and in the same hops a product of `multiplied` elements.
    fn sign(&self, keys: KeyBits, n: usize, multiplied: usize) -> Cost {
        let entries = self.0.messages(keys, n, Window::wire_len);
        let bits = self.0.messages(keys, n, |_, n| n.div_ceil(8));
        let words = self.0.words(multiplied);
        cost(2, entries + words, 2 * bits + words)
    }

    fn truncation(&self, n: usize, product: bool) -> Cost {
        let (words, summand) = (self.0.words(n), if product { self.0.words(n) } else { 0 });
        match self.0.options.truncation {
            Truncation::SecureMl => cost(1 + u32::from(product), words, summand),
            _ => cost(2, 2 * words, 2 * summand),
        }
    }
}

impl CostModel for RssCost {
    fn online(&self, call: &Call) -> Cost {
        if let Some(cost) = sharing_cost(call, self.0.word) {
            return cost;
        }
        match *call {
            Call::Input { .. }
            | Call::Reveal { .. }
            | Call::Fix { .. }
            | Call::Verify { .. }
            | Call::Truncate { trunc: 0, .. } => cost(0, 0, 0),
            Call::Product { map, trunc: 0, .. } => {
                Cost::each(PARTIES, 1, self.0.words(map.outputs()))
            }
            Call::Product { map, .. } => self.truncation(map.outputs(), true),
            Call::Truncate { n, .. } => self.truncation(n, false),
            Call::Drelu { n, keys, .. } => self.drelu(keys, n),
            Call::Relu { n, keys, .. } => self.relu(keys, n),
            Call::Select { n, .. } => Cost::each(PARTIES, 1, self.0.words(n)),
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
        let (mut signs, mut truncated) = (0, 0);
        for want in calls
            .iter()
            .flat_map(|call| wants_of(call, self.0.options.truncation))
        {
            match want {
                Want::Sign { n } => signs += n,
                Want::Truncate { n, .. } => truncated += n,
            }
        }
        let rounds = match (signs, truncated) {
            (0, 0) => 0,
            (0, _) => 1,
            _ => 2,
        };
        cost(
            rounds,
            self.0.words(signs),
            self.0.words(signs + 2 * truncated),
        )
    }

    fn stored(&self, call: &Call) -> u64 {
        let of = |want: Want| match want {
            Want::Sign { n } => self.0.words(2 * n) + n as u64 / 8,
            Want::Truncate { n, .. } => self.0.words(3 * n),
        };
        let wants = wants_of(call, self.0.options.truncation);
        wants.into_iter().map(of).sum()
    }
}
