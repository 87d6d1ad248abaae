//! Oblivious transfer: where random correlated OTs come from.
//!
//! Everything above consumes one thing: a random correlated OT. Its sender has a block `q`, its
//! receiver a random bit `b` and `t = q ^ b delta`, with one `delta` for all OTs of a direction.

use tacit_algebra::Bits;
use tacit_net::Party;
use tacit_protocols::{Cost, Error};

use crate::PARTIES;

mod base;
#[cfg(test)]
pub(crate) mod ideal;
mod puncture;
mod random;
mod silent;
mod softspoken;
#[cfg(test)]
mod tests;

pub use silent::Silent;
pub use softspoken::SoftSpoken;

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

/// Which OTs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// SoftSpoken OT, whose receiver sends `ceil(128 / k) - 1` bits per OT.
    SoftSpoken {
        /// 1 to 8: the higher, the less is sent and the more is computed.
        k: u32,
    },
    /// Silent OT of Ferret's type, which sends next to nothing for many OTs and computes more.
    Silent,
}

impl Default for Kind {
    fn default() -> Self {
        Kind::SoftSpoken { k: 4 }
    }
}

impl Kind {
    /// What the set-up takes.
    pub fn setup_cost(self) -> Cost {
        match self {
            Kind::SoftSpoken { k } => SoftSpoken::setup_cost(k),
            Kind::Silent => Silent::setup_cost(),
        }
    }

    /// What the first extension takes after which party `i` has sent `cots[i]`. Only of silent OT
    /// do later ones take less, by what the first ones left over.
    pub fn cost(self, cots: [usize; 2]) -> Cost {
        match self {
            Kind::SoftSpoken { k } => SoftSpoken::cost_of(k, cots),
            Kind::Silent => Silent::first_cost(cots),
        }
    }
}

/// A source of OTs between this party and the other, both 0 or 1, which call it alike. Runs the
/// set-up; both directions have secrets of their own, new in every session.
pub fn source(party: &mut Party, kind: Kind) -> Result<Box<dyn RandomCot>, Error> {
    if party.parties() != PARTIES {
        let parties = party.parties();
        return Err(Error::Invalid(format!(
            "OTs need two parties, not {parties}"
        )));
    }
    Ok(match kind {
        Kind::SoftSpoken { k } if !(1..=8).contains(&k) => {
            return Err(Error::Invalid(format!("SoftSpoken's k is 1 to 8, not {k}")));
        }
        Kind::SoftSpoken { k } => Box::new(SoftSpoken::setup(party, k)?),
        Kind::Silent => Box::new(Silent::setup(party)?),
    })
}

/// The other of two parties.
fn peer_of(party: &Party) -> usize {
    1 - party.id()
}
