//! The pairwise keys from which components and zero sharings are drawn (Falcon, section 3.2).
//!
//! Key `K_j` is common to parties `j - 1` and `j`, the holders of component `j`. Both contribute
//! 32 bytes of operating-system randomness by commit-and-open, so that neither chooses it alone
//! and a weak generator at one of them does not make it weak.

use tacit_algebra::Prg;
use tacit_net::Party;
use zeroize::Zeroizing;

use super::PARTIES;
use crate::Error;

const COMMIT: &str = "falcon key commitment";
const OPEN: &str = "falcon key opening";
const KEY_CONTEXT: &str = "tacit falcon 2026 pairwise component key";
const COMMIT_CONTEXT: &str = "tacit falcon 2026 pairwise key commitment";

/// The two generators of a party; both holders of a key draw from it in the same order.
pub(super) struct Keys {
    /// `K_i`, shared with party `i - 1`.
    pub own: Prg,
    /// `K_{i+1}`, shared with party `i + 1`.
    pub next: Prg,
}

type Contribution = Zeroizing<[u8; 32]>;

/// Agrees on both keys. 2 hops; every party sends 64 bytes to each of the two others.
pub(super) fn agree(party: &mut Party) -> Result<Keys, Error> {
    let id = party.id();
    let (prev, next) = ((id + PARTIES - 1) % PARTIES, (id + 1) % PARTIES);
    let peers = [(prev, id), (next, next)]; // (peer, component whose key is agreed with it)
    let ours = [contribution()?, contribution()?];

    for ((peer, component), secret) in peers.iter().zip(&ours) {
        party.send(*peer, COMMIT, commitment(id, *component, secret).to_vec())?;
    }
    let commitments = [party.recv(prev, COMMIT, 32)?, party.recv(next, COMMIT, 32)?];
    for ((peer, _), secret) in peers.iter().zip(&ours) {
        party.send(*peer, OPEN, secret.to_vec())?;
    }

    let mut prgs = Vec::with_capacity(2);
    for (((peer, component), secret), committed) in peers.into_iter().zip(&ours).zip(&commitments) {
        let mut theirs = Contribution::default();
        theirs.copy_from_slice(&Zeroizing::new(party.recv(peer, OPEN, 32)?));
        if commitment(peer, component, &theirs).as_slice() != committed.as_slice() {
            return Err(Error::Peer {
                party: peer,
                step: OPEN,
                what: "the opening does not fit the commitment".into(),
            });
        }
        prgs.push(Prg::new(*key(component, secret, &theirs)));
    }
    let next = prgs.pop().expect("two keys were made");
    let own = prgs.pop().expect("two keys were made");
    Ok(Keys { own, next })
}

fn contribution() -> Result<Contribution, Error> {
    let mut secret = Contribution::default();
    getrandom::fill(&mut *secret).map_err(|e| Error::Randomness(e.to_string()))?;
    Ok(secret)
}

fn commitment(party: usize, component: usize, secret: &Contribution) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(COMMIT_CONTEXT);
    hasher.update(&[party as u8, component as u8]);
    hasher.update(&**secret);
    *hasher.finalize().as_bytes()
}

/// The AES-128 key of `component`: a hash of the xor of both contributions.
fn key(component: usize, ours: &Contribution, theirs: &Contribution) -> Zeroizing<[u8; 16]> {
    let mut both = Contribution::default();
    for ((b, o), t) in both.iter_mut().zip(ours.iter()).zip(theirs.iter()) {
        *b = o ^ t;
    }
    let mut hasher = blake3::Hasher::new_derive_key(KEY_CONTEXT);
    hasher.update(&[component as u8]);
    hasher.update(&*both);
    let digest = Zeroizing::new(*hasher.finalize().as_bytes());
    let mut key = Zeroizing::new([0; 16]);
    key.copy_from_slice(&digest[..16]);
    key
}
