//! Secrets that pairs of parties agree on, from which their common generators are made.
//!
//! Both contribute 32 bytes of operating-system randomness by commit-and-open, so that neither
//! chooses the secret alone and a weak generator at one of them does not make it weak.

use tacit_algebra::{Prg, wipe};
use tacit_net::Party;
use zeroize::Zeroizing;

use crate::Error;
use crate::message::{Message, Secret};

const COMMIT: Message<[u8; 32]> = Message::new("key commitment");
const OPEN: Message<Secret<32>> = Message::new("key opening");
const KEY_CONTEXT: &str = "tacit 2026 pairwise key";
const COMMIT_CONTEXT: &str = "tacit 2026 pairwise key commitment";

/// 32 bytes, on the heap: what is moved leaves no copy.
type Contribution = Zeroizing<Vec<u8>>;

/// A secret that this party has in common with one other.
pub(crate) struct Pair(Contribution);

impl Pair {
    /// A secret that a test has chosen.
    #[cfg(test)]
    pub(crate) fn of(secret: [u8; 32]) -> Self {
        Pair(Zeroizing::new(secret.to_vec()))
    }

    /// The generator that both make for the purpose `label`; a label may be used once.
    pub(crate) fn prg(&self, label: &[u8]) -> Prg {
        wipe::after(|| {
            let mut hasher = Zeroizing::new(blake3::Hasher::new_derive_key(KEY_CONTEXT));
            hasher.update(&self.0);
            hasher.update(label);
            let mut key = Zeroizing::new([0; 16]);
            Zeroizing::new(hasher.finalize_xof()).fill(&mut *key);
            Prg::new(*key)
        })
    }
}

/// Agrees on a secret with each of `peers`, who are told why it fails. 2 hops; every party sends 64 bytes
/// to each of them.
pub(crate) fn agree(party: &mut Party, peers: &[usize]) -> Result<Vec<Pair>, Error> {
    let pairs = exchange(party, peers);
    pairs.inspect_err(|error| error.end_set_up(party))
}

fn exchange(party: &mut Party, peers: &[usize]) -> Result<Vec<Pair>, Error> {
    let id = party.id();
    let ours = peers
        .iter()
        .map(|_| contribution())
        .collect::<Result<Vec<_>, _>>()?;
    for (&peer, secret) in peers.iter().zip(&ours) {
        COMMIT.send(party, peer, &commitment(id, peer, secret))?;
    }
    let mut commitments = Vec::with_capacity(peers.len());
    for &peer in peers {
        commitments.push(COMMIT.recv(party, peer, ())?);
    }
    for (&peer, secret) in peers.iter().zip(&ours) {
        OPEN.send(party, peer, secret)?;
    }
    let mut pairs = Vec::with_capacity(peers.len());
    for ((&peer, secret), committed) in peers.iter().zip(ours).zip(&commitments) {
        let theirs = OPEN.recv(party, peer, ())?;
        if commitment(peer, id, &theirs) != *committed {
            return Err(OPEN.refused(peer, "the opening does not fit the commitment"));
        }
        pairs.push(Pair(xor(secret, &theirs)));
    }
    Ok(pairs)
}

fn contribution() -> Result<Contribution, Error> {
    let mut secret = Zeroizing::new(vec![0; 32]);
    getrandom::fill(&mut secret).map_err(|e| Error::Randomness(e.to_string()))?;
    Ok(secret)
}

fn commitment(from: usize, to: usize, secret: &Contribution) -> [u8; 32] {
    let mut hasher = Zeroizing::new(blake3::Hasher::new_derive_key(COMMIT_CONTEXT));
    hasher.update(&(from as u64).to_le_bytes());
    hasher.update(&(to as u64).to_le_bytes());
    hasher.update(secret);
    *hasher.finalize().as_bytes()
}

fn xor(mut ours: Contribution, theirs: &Contribution) -> Contribution {
    for (o, t) in ours.iter_mut().zip(theirs.iter()) {
        *o ^= t;
    }
    ours
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tacit_net::testing::{self, Fate};

    use super::*;

    /// Whoever opens another secret than it committed to ends the set-up, and all hear of whom and why.
    #[test]
    fn another_secret_than_committed_to_is_refused_and_all_are_told() {
        let parties = testing::mesh_with(3, Duration::from_secs(60), |message| {
            if (message.from, message.to, message.step) == (1, 0, OPEN.step()) {
                message.payload[0] ^= 1;
            }
            Fate::Deliver
        });
        let ends = testing::run(parties, |mut party| {
            let peers: Vec<usize> = (0..3).filter(|&peer| peer != party.id()).collect();
            let agreed = agree(&mut party, &peers);
            // Party 2 may have agreed before it hears.
            agreed.and_then(|_| COMMIT.recv(&mut party, 0, ()).map(drop))
        });
        for end in ends {
            let said = end.expect_err("no set-up").to_string();
            assert!(
                said.contains("party 1") && said.contains("commitment"),
                "{said}"
            );
        }
    }
}
