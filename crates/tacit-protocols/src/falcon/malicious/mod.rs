//! Security against one party that deviates from the protocol in any way: the run then ends with an
//! error, and nobody is given a wrong or an undeserved result (docs/spec/falcon.md, section 8).
//!
//! A party can cheat in three ways. It can send another summand of a product than that of its
//! shares: every product is recorded and later verified by an inner-product proof. It can send
//! another component in an opening than the one that it holds: the other holder's copy is
//! compared by a hash. It can send what is no message: that was always refused. What it inputs is
//! its own choice: whichever component an owner sends, one other party holds it and it is a
//! sharing of some value.
//!
//! | file | what |
//! |---|---|
//! | `gates.rs`, `products.rs`, `cut.rs` | what is recorded of products: element by element, of matrices, of long ones |
//! | `proof_segments.rs` | the gates of a proof, a segment at a time |
//! | `joins.rs` | how matrix products join a proof |
//! | `proof.rs`, `fold.rs`, `counted.rs` | one inner-product proof, its folds; one of which only messages are counted |
//! | `defences.rs` | the defences by name, for the tests that leave one out |
//! | `verify.rs` | all that wait, side by side: the verification |
//! | `coins.rs` | the verifiers' coins and the generators of pairs |
//! | `open.rs` | products and openings that leave a record |
//! | `compare.rs` | the product tree of private compare |
//! | `sign.rs`, `times.rs` | signs by the adder, bits times values |
//! | `wraps.rs` | truncations without masks |
//! | `adder.rs`, `inject.rs`, `truncate.rs` | the offline phase where it differs |
//! | `checked.rs` | the verifications that a machine makes by itself, as a plan lists them |

mod adder;
#[cfg(test)]
mod attacks;
pub(super) mod checked;
mod coins;
mod compare;
mod counted;
mod cut;
mod defences;
mod fold;
pub(super) mod gates;
mod inject;
mod joins;
mod open;
mod products;
mod proof;
mod proof_segments;
pub(super) mod sign;
mod times;
mod truncate;
mod verify;
pub(super) mod wraps;

use tacit_algebra::Ring;

use coins::Generators;
use defences::Defences;
use gates::Pending;
use open::Transcripts;

use crate::keys::Pair;

/// Elements that wait to be verified before a machine call ends with a verification.
pub(super) const LIMIT: usize = 1 << 20;

/// What malicious security adds to a party's end of the protocol.
pub(super) struct Checks<R> {
    pub pending: Pending<R>,
    transcripts: Transcripts,
    generators: Generators,
    /// Whether something was opened or multiplied since the last verification of all domains.
    pub dirty: bool,
    /// Elements of the ring products that wait; public, for it depends on sizes only.
    pub waiting: usize,
    /// Whether a verification has begun and not ended well: then nothing is verified or revealed any more.
    failed: bool,
    defences: Defences,
}

impl<R: Ring> Checks<R> {
    /// The checks of a party, from its secrets with the party before and the party after.
    pub fn new(pairs: &[Pair]) -> Self {
        Checks::of(Generators::new(&pairs[0], &pairs[1]))
    }

    /// The checks of a party that counts.
    pub fn counting() -> Self {
        Checks::of(Generators::counting())
    }

    fn of(generators: Generators) -> Self {
        Checks {
            pending: Pending::new(),
            transcripts: Transcripts::new(),
            generators,
            dirty: false,
            waiting: 0,
            failed: false,
            defences: Defences::default(),
        }
    }
}
