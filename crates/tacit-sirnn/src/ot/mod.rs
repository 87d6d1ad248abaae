//! Oblivious transfer: where random correlated OTs come from.
//!
//! Everything above consumes one thing: a random correlated OT. Its sender has a block `q`, its
//! receiver a random bit `b` and `t = q ^ b delta`, with one `delta` for all OTs of a direction.

use tacit_algebra::Bits;
use tacit_net::Party;
use tacit_protocols::{Cost, Error};

#[cfg(test)]
pub(crate) mod ideal;

/// 128 bits.
pub type Block = u128;

/// The receiver's end of random correlated OTs.
#[derive(Default)]
pub struct Received {
    /// The random choices.
    pub choices: Bits,
    /// `q ^ b delta`.
    pub blocks: Vec<Block>,
}

/// A source of random correlated OTs between two parties, in both directions.
pub trait RandomCot: Send {
    /// What relates the two blocks of every OT that this party sends; secret, from the operating
    /// system's randomness.
    fn delta(&self) -> Block;

    /// Makes `send` OTs that this party sends, of which it gets the blocks `q`, and `recv` that it
    /// receives. The peer calls it with the numbers swapped.
    fn extend(
        &mut self,
        party: &mut Party,
        send: usize,
        recv: usize,
    ) -> Result<(Vec<Block>, Received), Error>;

    /// The declared cost of an `extend` after which party `i` has sent `cots[i]`.
    fn cost(&self, cots: [usize; 2]) -> Cost;
}
