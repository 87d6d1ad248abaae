//! The options of Falcon.

use tacit_algebra::Ring;

use super::Truncation;
use crate::Error;
use crate::machine::KeyBits;

/// What a corrupt party may do without harm to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Security {
    /// A corrupt party follows the protocol and looks at what it sees.
    SemiHonest,
    /// A corrupt party does what it likes: the others notice and stop before anything is given out.
    Malicious,
}

/// How signs are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Signs are taken by adding the components' bits (docs/spec/adder.md): few bytes and no material, hops with the
    /// logarithm of the width.
    Adder,
    /// Signs are taken by the paper's wrap3 (docs/spec/falcon.md, section 4): a hop or two less once its material is
    /// made.
    Falcon,
}

/// The options of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How products are brought back to their scale.
    pub truncation: Truncation,
    /// Against whom it is secure.
    pub security: Security,
    /// How signs are taken.
    pub comparison: Comparison,
    /// Bits of the numbers whose signs are taken; the ring's, if it has fewer.
    ///
    /// The low bits of a sharing's components are a sharing of the value modulo a power of two, so signs
    /// are exact as long as every value whose sign is taken, differences in a maxpool included, has so
    /// many bits with its sign; who asks for fewer than the ring's must know that bound. The paper's
    /// comparison takes signs over 32 bits or over the ring's.
    pub sign_bits: u32,
}

impl Default for Options {
    /// Truncations that round down or up, curious parties, the adder, signs of every number.
    fn default() -> Self {
        Options {
            truncation: Truncation::Gap,
            security: Security::SemiHonest,
            comparison: Comparison::Adder,
            sign_bits: u32::MAX,
        }
    }
}

impl Options {
    /// Refuses what Falcon does not have: SecureML's truncation, or signs of too few bits.
    pub(super) fn check(&self) -> Result<(), Error> {
        let why = match self {
            Options {
                truncation: Truncation::SecureMl,
                ..
            } => "Falcon's truncations are gap, exact and aby3",
            Options { sign_bits: 0, .. } => "signs are taken of one bit or more",
            _ => return Ok(()),
        };
        Err(Error::Invalid(why.into()))
    }

    /// Whether truncations take masks that are made beforehand.
    pub(super) fn masks(&self) -> bool {
        self.truncation != Truncation::Gap
    }

    /// The bits in which a sign is taken over the ring `R`.
    pub(super) fn sign_width<R: Ring>(&self, keys: KeyBits) -> u32 {
        match self.comparison {
            Comparison::Falcon => self.compare_bits::<R>(),
            Comparison::Adder => self.compare_bits::<R>().min(keys.width.max(1)),
        }
    }

    /// The most bits in which signs are taken over the ring `R`.
    pub(super) fn compare_bits<R: Ring>(&self) -> u32 {
        match self.comparison {
            Comparison::Falcon if self.sign_bits <= u32::BITS => u32::BITS.min(R::BITS),
            Comparison::Falcon => R::BITS,
            Comparison::Adder => self.sign_bits.min(R::BITS),
        }
    }
}
