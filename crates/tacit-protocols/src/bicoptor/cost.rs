//! What the costs of both settings are counted in.

use tacit_algebra::Ring;
use tacit_algebra::window::Window;

use super::drelu::parts;
use super::{ASSISTANT, Options, PARTIES, window};
use crate::Cost;
use crate::machine::KeyBits;

/// Bytes of words and of the entries of comparisons over a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub word: u64,
    pub options: Options,
    window: fn(KeyBits, &Options) -> Option<Window>,
}

impl Sizes {
    pub fn new<R: Ring>(options: Options) -> Self {
        Sizes {
            word: u64::from(R::BITS / 8),
            options,
            window: |keys, options| window::<R>(keys, options.form).ok(),
        }
    }

    /// Bytes of `n` ring elements.
    pub fn words(&self, n: usize) -> u64 {
        n as u64 * self.word
    }

    /// The sum over the messages of `n` comparisons of what `bytes` says of each: a window that
    /// does not fit has none.
    pub fn messages(
        &self,
        keys: KeyBits,
        n: usize,
        bytes: impl Fn(&Window, usize) -> usize,
    ) -> u64 {
        let sum = |window: Window| {
            parts(&window, n)
                .map(|p| bytes(&window, p.len()) as u64)
                .sum()
        };
        (self.window)(keys, &self.options).map_or(0, sum)
    }
}

/// Hops, bytes that each holder sends, bytes that the assistant sends.
pub(super) fn cost(rounds: u32, holder: u64, assistant: u64) -> Cost {
    let mut cost = Cost::each(PARTIES, rounds, holder);
    cost.bytes[ASSISTANT] = assistant;
    cost
}
