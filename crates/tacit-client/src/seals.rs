//! Secrets of a client that two parties each hold one of: by their hashes these tell that what both have is of one
//! client and one request.
//!
//! Without them a client that knows another's number could put a share of its own in the place of that one's at one
//! party, and have the parties compute together what belongs to two inputs.

use crate::{Refusal, SALT, random};

/// What each party's body ends with: a secret for each other party, in their order.
pub fn split(parties: usize) -> Result<Vec<Vec<u8>>, Refusal> {
    let mut seals = vec![vec![0; (parties - 1) * SALT]; parties];
    for one in 0..parties {
        for other in one + 1..parties {
            let secret = random::bytes(SALT)?;
            // Of `other` this party is one before it; of `one` the other stands behind `one` itself.
            seals[one][(other - 1) * SALT..][..SALT].copy_from_slice(&secret);
            seals[other][one * SALT..][..SALT].copy_from_slice(&secret);
        }
    }
    Ok(seals)
}

/// The secrets of a party, each with the number of the pair.
pub fn of(parties: usize, party: usize, seals: &[u8]) -> Vec<(usize, &[u8])> {
    let others = (0..parties).filter(|&other| other != party);
    let numbered = |other: usize| number(parties, party.min(other), party.max(other));
    others.map(numbered).zip(seals.chunks_exact(SALT)).collect()
}

/// All pairs with their numbers.
pub fn pairs(parties: usize) -> Vec<(usize, [usize; 2])> {
    let after = |one: usize| (one + 1..parties).map(move |other| [one, other]);
    let pairs = (0..parties).flat_map(after);
    pairs
        .map(|[one, other]| (number(parties, one, other), [one, other]))
        .collect()
}

fn number(parties: usize, one: usize, other: usize) -> usize {
    one * parties + other
}
