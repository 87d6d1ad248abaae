//! Replicated sharing among three parties, for every protocol that computes on it: the sharing
//! itself, opening and resharing (`sharing.rs`), products (`multiply.rs`); and, semi-honest and
//! without preprocessing, exact signs (`adder.rs`) and bits times values (`inject.rs`).

mod adder;
mod dealer;
mod domain;
mod inject;
mod multiply;
mod pipeline;
mod sharing;
mod truncate;

use tacit_algebra::{Prg, Ring};
use tacit_net::Party;

pub use domain::Booleans;
pub(crate) use domain::{Domain, Words, blocks};
pub(crate) use multiply::{accumulate_shares, joined};
pub use sharing::Rss;
pub(crate) use sharing::flip_word;

use crate::call::Call;
use crate::keys::Pair;
use crate::material_portions::Ahead;
use crate::{Error, keys};

/// The number of parties.
pub const PARTIES: usize = 3;

/// The two generators of a party, from which components and zero sharings are drawn.
///
/// Key `K_j` is common to parties `j - 1` and `j`, the holders of component `j`; both draw from it
/// in the same order.
pub(crate) struct Keys {
    /// `K_i`, shared with party `i - 1`.
    pub own: Prg,
    /// `K_{i+1}`, shared with party `i + 1`.
    pub next: Prg,
}

/// One party's end of replicated sharing: its links and its keys.
pub(crate) struct Replicated {
    pub party: Party,
    /// The portions of a program's material that are not made yet.
    pub ahead: Ahead,
    pub keys: Keys,
}

/// About how many bytes a party holds while a call without material is computed: both components of the
/// result, and as much again twice of what is on its way.
pub(crate) fn workspace<R: Ring>(call: &Call) -> u64 {
    let elements = match *call {
        Call::Product { map, .. } => map.outputs(),
        Call::Truncate { n, .. } | Call::Drelu { n, .. } => n,
        Call::Relu { n, .. } | Call::Select { n, .. } => n,
        Call::Maxpool { windows, size, .. } => windows * size,
        _ => 0,
    };
    u64::from(R::BITS / 8) * 6 * elements as u64
}

impl Replicated {
    /// Agrees with the two other parties on both keys, for the protocol `name`.
    /// Also returns the secrets with the party before and the party after, for other generators.
    /// 2 hops; every party sends 64 bytes to each of the two others.
    pub fn new(mut party: Party, name: &str) -> Result<(Self, Vec<Pair>), Error> {
        if party.parties() != PARTIES {
            return Err(Error::Invalid(format!(
                "{name} runs between 3 parties, not {}",
                party.parties()
            )));
        }
        let id = party.id();
        let peers = [(id + PARTIES - 1) % PARTIES, (id + 1) % PARTIES];
        let pairs = keys::agree(&mut party, &peers)?;
        let label = format!("{name} component");
        let keys = Keys {
            own: pairs[0].prg(label.as_bytes()),
            next: pairs[1].prg(label.as_bytes()),
        };
        let ahead = Ahead::default();
        let rss = Replicated { party, ahead, keys };
        Ok((rss, pairs))
    }

    /// The end of a party that counts.
    pub fn counting(party: Party) -> Self {
        let [own, next] = [(); 2].map(|()| Prg::counting());
        Replicated {
            party,
            ahead: Ahead::default(),
            keys: Keys { own, next },
        }
    }
}
