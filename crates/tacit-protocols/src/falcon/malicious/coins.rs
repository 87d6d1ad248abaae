//! Coins that a prover cannot foresee, and the generators that pairs of parties have for proofs.
//!
//! At most one party is corrupt: if it is the prover, both verifiers are honest, and may draw the
//! coins from a generator that they have in common. The left verifier sends a coin only when it
//! has the message that the coin is about. So that a corrupt left verifier cannot make an honest
//! prover answer to another coin, the right one has sent the hash of every coin beforehand:
//! a hash of 128 uniform bits tells nothing of them. No commitment of the verifiers to each other
//! is needed.

use tacit_algebra::Prg;

use super::proof::Sources;
use crate::keys::Pair;

/// Bytes of a coin, from which points are expanded, and of its hash.
pub(super) const COIN: usize = 16;

/// A coin, of which points are expanded.
pub(super) type Coin = [u8; COIN];

const HASH_CONTEXT: &str = "tacit 2026 falcon coin";

/// What a coin's hash is compared by.
pub(super) fn hash(coin: &Coin) -> Coin {
    let mut hash = [0; COIN];
    let digest = blake3::derive_key(HASH_CONTEXT, coin);
    hash.copy_from_slice(&digest[..COIN]);
    hash
}

/// What a prover's coins are drawn for. docs/spec/falcon.md, section 11.1, lists them with the
/// message that each must come after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Draw {
    /// The factors of gates.
    Theta,
    /// The factors of the outputs of matrix products and convolutions.
    Compression,
    /// The point of a fold.
    Point,
    /// The factor of the products' claim.
    Lambda,
}

impl Draw {
    /// Marks that it is drawn now, which tests hold against the messages so far.
    pub fn now(self) {
        #[cfg(test)]
        super::attacks::drawn(self);
    }
}

/// This party's generators for proofs; every pair has one for each use, and one party's proofs.
pub(super) struct Generators {
    /// Coins for the proofs of the party after, common with the party before.
    left_coins: Prg,
    /// Coins for the proofs of the party before, common with the party after.
    right_coins: Prg,
    /// What the party before (first) and the party after (second) have in common with this one
    /// for the proofs of this one, and for those in which they prove.
    own: [Prg; 2],
    proved_by_prev: Prg,
    proved_by_next: Prg,
}

/// A coin; nothing of a generator that counts.
fn draw(prg: &mut Prg) -> Coin {
    let mut seed = [0; COIN];
    if !prg.counts() {
        prg.fill(&mut seed);
    }
    seed
}

impl Generators {
    pub fn new(prev: &Pair, next: &Pair) -> Self {
        Generators::of(|label| prev.prg(label), |label| next.prg(label))
    }

    /// The generators of a party that counts.
    pub fn counting() -> Self {
        Generators::of(|_| Prg::counting(), |_| Prg::counting())
    }

    /// Generators for each use from those in common with the party before and the party after.
    fn of(prev: impl Fn(&[u8]) -> Prg, next: impl Fn(&[u8]) -> Prg) -> Self {
        let [coin, left, right] = [
            &b"falcon proof coin"[..],
            b"falcon proof left",
            b"falcon proof right",
        ];
        Generators {
            left_coins: prev(coin),
            right_coins: next(coin),
            own: [prev(left), next(right)],
            proved_by_prev: prev(right),
            proved_by_next: next(left),
        }
    }

    /// Whether the generators are those of a party that only counts.
    pub fn counts(&self) -> bool {
        self.left_coins.counts()
    }

    /// `n` coins for the proofs of the party after, as their left verifier.
    pub fn left_coins(&mut self, n: usize) -> Vec<Coin> {
        (0..n).map(|_| draw(&mut self.left_coins)).collect()
    }

    /// `n` coins for the proofs of the party before, as their right verifier.
    pub fn right_coins(&mut self, n: usize) -> Vec<Coin> {
        (0..n).map(|_| draw(&mut self.right_coins)).collect()
    }

    /// Generators for one proof of this party.
    pub fn prover(&mut self) -> Sources {
        let [left, right] = &mut self.own;
        Sources {
            left: Some(Prg::new(draw(left))),
            right: Some(Prg::new(draw(right))),
        }
    }

    /// Generators for one proof of the party after.
    pub fn left(&mut self) -> Sources {
        Sources {
            left: Some(Prg::new(draw(&mut self.proved_by_next))),
            right: None,
        }
    }

    /// Generators for one proof of the party before.
    pub fn right(&mut self) -> Sources {
        Sources {
            left: None,
            right: Some(Prg::new(draw(&mut self.proved_by_prev))),
        }
    }
}
