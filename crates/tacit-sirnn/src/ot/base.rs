//! Base OTs: Chou and Orlandi, "The simplest protocol for oblivious transfer", LATINCRYPT 2015.
//!
//! In the group ristretto255 with generator `G`. The sender sends `A = a G`; the receiver, with
//! choice `c`, sends `B = b G + c A` and has the key `H(b A)`; the sender has `H(a B)` and
//! `H(a B - a A)`. `B` is uniform whatever the choice; the key that was not chosen is as hard as
//! computational Diffie-Hellman.
//!
//! Differences: semi-honest, so there is no proof that anybody knows an exponent. Keys are BLAKE3
//! of the sender's number, `A`, all `B`s, the index and the common point, so that no two OTs of
//! any session have a key in common. Both directions run in the same hops.
//!
//! 2 hops; each party sends 32 bytes, and then 32 bytes for every OT that it receives.

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use subtle::{Choice, ConditionallySelectable};
use tacit_net::Party;
use tacit_protocols::{Cost, Error};
use zeroize::Zeroizing;

use super::random::random;
use super::{Block, peer_of};
use crate::PARTIES;

const KEY: &str = "base OT: key";
const POINTS: &str = "base OT: points";
const CONTEXT: &str = "tacit 2026 base OT key";

/// The bytes of a point.
const POINT: usize = 32;

/// What the two ends of a party's base OTs know: both keys of every OT that it sends, and one of
/// every OT that it receives.
pub(super) struct BaseOts {
    pub sent: Zeroizing<Vec<[Block; 2]>>,
    pub received: Zeroizing<Vec<Block>>,
}

/// The cost of `n` OTs in each direction.
pub(super) fn cost(n: usize) -> Cost {
    Cost::each(PARTIES, 2, (POINT * (n + 1)) as u64)
}

/// OTs in both directions, of which this party receives one for each of `choices`, 0 or 1, and
/// sends as many.
pub(super) fn exchange(party: &mut Party, choices: &[u8]) -> Result<BaseOts, Error> {
    let (id, peer, n) = (party.id(), peer_of(party), choices.len());
    let secret = scalar()?;
    let key = RistrettoPoint::mul_base(&secret);
    let key_bytes = key.compress().to_bytes();
    party.send(peer, KEY, key_bytes.to_vec())?;
    let their_key_bytes = party.recv(peer, KEY, POINT)?;
    let their_key = point(peer, KEY, &their_key_bytes)?;

    let (mut exponents, mut points) = (Vec::with_capacity(n), Vec::with_capacity(n * POINT));
    for &choice in choices {
        let exponent = scalar()?;
        let plain = RistrettoPoint::mul_base(&exponent);
        let shifted = plain + their_key;
        let chosen = RistrettoPoint::conditional_select(&plain, &shifted, Choice::from(choice));
        points.extend_from_slice(chosen.compress().as_bytes());
        exponents.push(exponent);
    }
    let hasher = transcript(peer, &their_key_bytes, &points);
    party.send(peer, POINTS, points)?;
    let received = (0..).zip(exponents.iter());
    let received = received.map(|(i, exponent)| derive(&hasher, i, their_key * **exponent));
    let received = Zeroizing::new(received.collect());

    let theirs = party.recv(peer, POINTS, n * POINT)?;
    let hasher = transcript(id, &key_bytes, &theirs);
    let offset = key * *secret;
    let mut sent = Zeroizing::new(Vec::with_capacity(n));
    for (i, bytes) in (0..).zip(theirs.chunks_exact(POINT)) {
        let common = point(peer, POINTS, bytes)? * *secret;
        sent.push([common, common - offset].map(|common| derive(&hasher, i, common)));
    }
    Ok(BaseOts { sent, received })
}

fn scalar() -> Result<Zeroizing<Scalar>, Error> {
    let wide = random::<[u8; 64]>(1)?;
    Ok(Zeroizing::new(Scalar::from_bytes_mod_order_wide(&wide[0])))
}

/// The point that a peer sent.
fn point(peer: usize, step: &'static str, bytes: &[u8]) -> Result<RistrettoPoint, Error> {
    let point = CompressedRistretto::from_slice(bytes).ok();
    let point = point.and_then(|compressed| compressed.decompress());
    point.ok_or_else(|| Error::Peer {
        party: peer,
        step,
        what: "these bytes are no point of the group".into(),
    })
}

/// What the keys of the OTs that `sender` sends have in common.
fn transcript(sender: usize, key: &[u8], points: &[u8]) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    hasher.update(&(sender as u64).to_le_bytes());
    hasher.update(key);
    hasher.update(blake3::hash(points).as_bytes());
    hasher
}

fn derive(transcript: &blake3::Hasher, index: u64, common: RistrettoPoint) -> Block {
    let mut hasher = Zeroizing::new(transcript.clone());
    hasher.update(&index.to_le_bytes());
    hasher.update(&*Zeroizing::new(common.compress().to_bytes()));
    let mut key = Zeroizing::new([0; 16]);
    Zeroizing::new(hasher.finalize_xof()).fill(&mut *key);
    Block::from_le_bytes(*key)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tacit_net::testing::{self, Fate};
    use tacit_net::{LinkModel, Phase, memory};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    #[test]
    fn the_receiver_has_the_key_of_its_choice() {
        let choices = |id: usize| (0..20).map(|i| (i >> id & 1) as u8).collect::<Vec<_>>();
        let parties = memory::mesh(PARTIES, &LinkModel::LOCAL, TIMEOUT);
        let ends = testing::run(parties, |mut party| {
            let choices = choices(party.id());
            let ots = exchange(&mut party, &choices).unwrap();
            let sent = party.meter().total(Phase::Setup);
            assert_eq!(cost(20), Cost::each(PARTIES, sent.rounds, sent.bytes_sent));
            ots
        });
        for id in 0..PARTIES {
            let (receiver, sender) = (&ends[id], &ends[1 - id]);
            for (i, choice) in choices(id).into_iter().enumerate() {
                let keys = sender.sent[i];
                assert_eq!(receiver.received[i], keys[choice as usize]);
                assert_ne!(keys[0], keys[1]);
            }
        }
    }

    #[test]
    fn what_is_no_point_is_refused_by_its_step() {
        for broken in [KEY, POINTS] {
            let parties = testing::mesh_with(PARTIES, TIMEOUT, move |message| {
                if message.from == 1 && message.step == broken {
                    message.payload[..POINT].fill(0xff);
                }
                Fate::Deliver
            });
            let ends = testing::run(parties, |mut party| exchange(&mut party, &[0, 1]).err());
            match &ends[0] {
                Some(Error::Peer { party: 1, step, .. }) => assert_eq!(*step, broken),
                _ => panic!("party 0 took it"),
            }
        }
    }
}
