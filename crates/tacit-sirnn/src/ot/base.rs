//! Base OTs: Chou and Orlandi, "The simplest protocol for oblivious transfer", LATINCRYPT 2015.
//!
//! In the group ristretto255 with generator `G`. The sender sends `A = a G`; the receiver, with
//! choice `c`, sends `B = b G + c A` and has the key `H(b A)`; the sender has `H(a B)` and
//! `H(a B - a A)`. `B` is uniform whatever the choice; the key that was not chosen is as hard as
//! computational Diffie-Hellman.
//!
//! Differences: semi-honest, so there is no proof that anybody knows an exponent. Keys are BLAKE3
//! of the sender's number, `A`, all `B`s, the index and the common point, so that no two OTs of
//! any session have a key in common: `A` is the sender's nonce, the `B`s are the receiver's. A point
//! that is not the canonical encoding of one, or is the group's identity, under which a common point
//! would be known to everybody, is refused. Both directions run in the same hops.
//!
//! 2 hops; each party sends 32 bytes, and then 32 bytes for every OT that it receives.

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use subtle::{Choice, ConditionallySelectable};
use tacit_algebra::wipe;
use tacit_net::Party;
use tacit_protocols::message::Message;
use tacit_protocols::{Cost, Error};
use zeroize::Zeroizing;

use super::random::random;
use super::{Block, peer_of};
use crate::PARTIES;

const KEY: Message<[u8; POINT]> = Message::new("base OT: key");
const POINTS: Message<Vec<[u8; POINT]>> = Message::new("base OT: points");
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
/// sends as many. Wipes what the group's arithmetic leaves on the stack.
pub(super) fn exchange(party: &mut Party, choices: &[u8]) -> Result<BaseOts, Error> {
    wipe::after(|| run(party, choices))
}

fn run(party: &mut Party, choices: &[u8]) -> Result<BaseOts, Error> {
    let (id, peer, n) = (party.id(), peer_of(party), choices.len());
    let secret = scalar()?;
    let key = RistrettoPoint::mul_base(&secret);
    let key_bytes = key.compress().to_bytes();
    KEY.send(party, peer, &key_bytes)?;
    let their_key_bytes = KEY.recv(party, peer, ())?;
    let their_key = point(peer, KEY, None, &their_key_bytes)?;

    let (mut exponents, mut points) = (Vec::with_capacity(n), Vec::with_capacity(n));
    for &choice in choices {
        let exponent = scalar()?;
        let plain = RistrettoPoint::mul_base(&exponent);
        let shifted = plain + their_key;
        let chosen = RistrettoPoint::conditional_select(&plain, &shifted, Choice::from(choice));
        points.push(chosen.compress().to_bytes());
        exponents.push(exponent);
    }
    let hasher = transcript(peer, &their_key_bytes, &points);
    POINTS.send(party, peer, &points)?;
    let received = (0..).zip(exponents.iter());
    let received = received.map(|(i, exponent)| derive(&hasher, i, their_key * **exponent));
    // Of a known length: what grows leaves copies behind.
    let received = Zeroizing::new(received.collect());

    let theirs = POINTS.recv(party, peer, n)?;
    let hasher = transcript(id, &key_bytes, &theirs);
    let offset = key * *secret;
    let mut sent = Zeroizing::new(Vec::with_capacity(n));
    for (i, bytes) in (0..).zip(&theirs) {
        let common = point(peer, POINTS, Some(i), bytes)? * *secret;
        sent.push([common, common - offset].map(|common| derive(&hasher, i, common)));
    }
    Ok(BaseOts { sent, received })
}

fn scalar() -> Result<Zeroizing<Scalar>, Error> {
    let wide = random::<[u8; 64]>(1)?;
    let scalar = Zeroizing::new(Scalar::from_bytes_mod_order_wide(&wide[0]));
    #[cfg(test)]
    tests::drawn(&scalar);
    Ok(scalar)
}

/// The point that a peer sent for transfer `index`, or as its key.
fn point<E>(
    peer: usize,
    message: Message<E>,
    index: Option<u64>,
    bytes: &[u8; POINT],
) -> Result<RistrettoPoint, Error> {
    let refuse = |why: &str| {
        let which = index.map_or("its key".into(), |i| format!("its point of transfer {i}"));
        message.refused(peer, format!("{which} {why}"))
    };
    let point = CompressedRistretto(*bytes).decompress();
    let point = point.ok_or_else(|| refuse("does not encode a point of the group"))?;
    match point.is_identity() {
        true => Err(refuse("is the identity of the group")),
        false => Ok(point),
    }
}

/// What the keys of the OTs that `sender` sends have in common.
fn transcript(sender: usize, key: &[u8], points: &[[u8; POINT]]) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    hasher.update(&(sender as u64).to_le_bytes());
    hasher.update(key);
    hasher.update(blake3::hash(points.as_flattened()).as_bytes());
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
    use std::cell::RefCell;
    use std::collections::HashSet;
    use std::sync::Barrier;
    use std::time::Duration;

    use tacit_net::testing::remains::Secrets;
    use tacit_net::testing::{self, Fate};
    use tacit_net::{LinkModel, Phase, memory};

    use super::super::{OtExtension, source};
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);

    thread_local! {
        static DRAWN: RefCell<Secrets> = RefCell::default();
    }

    /// Remembers the secrets that this thread draws.
    pub(super) fn drawn(scalar: &Scalar) {
        DRAWN.with_borrow_mut(|drawn| drawn.add(scalar.as_bytes()));
    }

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

    /// What party 0 says when the message of party 1 at a step was changed, which party 1 hears.
    fn told(broken: &'static str, change: impl Fn(&mut Vec<u8>) + Send + 'static) -> String {
        let parties = testing::mesh_with(PARTIES, TIMEOUT, move |message| {
            if message.from == 1 && message.step == broken {
                change(message.payload);
            }
            Fate::Deliver
        });
        let ends = testing::run(parties, |mut party| {
            source(&mut party, OtExtension::default())
                .err()
                .map(|e| e.to_string())
        });
        let [Some(said), Some(heard)] = &ends[..] else {
            panic!("{ends:?}");
        };
        assert!(said.contains("party 1") && said.contains(broken), "{said}");
        assert!(heard.contains(said), "{heard}");
        said.clone()
    }

    /// Points that a peer must not choose: no encoding of any; the same one, encoded otherwise
    /// (a negative or too large representative); the identity.
    #[test]
    fn what_is_no_point_or_the_identity_is_refused_by_party_and_step() {
        let mut modulus = [0xff; POINT];
        (modulus[0], modulus[POINT - 1]) = (0xed, 0x7f);
        let mut odd = [0; POINT];
        odd[0] = 1;
        let cases: [([u8; POINT], &str); 4] = [
            ([0xff; POINT], "does not encode a point"),
            (modulus, "does not encode a point"),
            (odd, "does not encode a point"),
            ([0; POINT], "is the identity"),
        ];
        for (bytes, why) in cases {
            let [key, points] = [KEY.step(), POINTS.step()];
            for (step, which, at) in [(key, "its key", 0), (points, "transfer 1", POINT)] {
                let put = move |payload: &mut Vec<u8>| {
                    payload[at..at + POINT].copy_from_slice(&bytes);
                };
                let said = told(step, put);
                assert!(said.contains(why) && said.contains(which), "{said}");
            }
        }
    }

    #[test]
    fn a_message_of_another_length_is_refused_by_party_and_step() {
        for step in [KEY.step(), POINTS.step()] {
            for len in [
                0,
                1,
                POINT - 1,
                POINT + 1,
                2 * POINT + 1,
                3 * POINT,
                1 << 20,
            ] {
                told(step, move |payload| payload.resize(len, 7));
            }
        }
    }

    /// Keys of sessions in which the common points are the same one: the keys are as many as the
    /// transfers, so what stands before the point is each time another.
    #[test]
    fn tweaks_are_unique_over_sessions_directions_and_transfers() {
        const SESSIONS: usize = 50;
        const N: u64 = 3;
        let common = RistrettoPoint::mul_base(&Scalar::from(7u64));
        let mut keys = HashSet::new();
        let mut tweaks = |sender: usize, key: &[u8], points: &[u8]| {
            let transcript = transcript(sender, key, points.as_chunks().0);
            (0..N).for_each(|i| assert!(keys.insert(derive(&transcript, i, common))));
        };
        let mut made = HashSet::new();
        let mut nonces = Vec::new();
        for _ in 0..SESSIONS {
            let recorder = testing::Recorder::new();
            let hook = recorder.clone();
            let parties = testing::mesh_with(PARTIES, TIMEOUT, move |message| {
                hook.record(&message);
                Fate::Deliver
            });
            let ends = testing::run(parties, |mut party| {
                exchange(&mut party, &[0, 1, 1]).unwrap()
            });
            let sent = ends.iter().flat_map(|end| end.sent.iter().flatten());
            assert!(sent.into_iter().all(|key| made.insert(*key)));
            for receiver in 0..PARTIES {
                let of = |step, party| {
                    let view = recorder.view(party);
                    let seen = view.into_iter().find(|seen| seen.step == step);
                    seen.expect("it was sent").payload
                };
                nonces.push((of(KEY.step(), receiver), of(POINTS.step(), 1 - receiver)));
            }
        }
        for (i, (key, points)) in nonces.iter().enumerate() {
            tweaks((i + 1) % 2, key, points);
        }
        // The other direction, and one party alone that draws as it did: still others.
        for (i, pair) in nonces.windows(2).enumerate() {
            let [(key, points), (_, others)] = pair else {
                unreachable!("windows of two");
            };
            tweaks(i % 2, key, points);
            tweaks((i + 1) % 2, key, others);
        }
    }

    /// Exponents and keys are nowhere once the transfers are gone.
    #[test]
    #[cfg(target_os = "linux")]
    fn exponents_and_keys_are_wiped() {
        let barrier = Barrier::new(PARTIES);
        let parties = memory::mesh(PARTIES, &LinkModel::LOCAL, TIMEOUT);
        let found = testing::run(parties, |mut party| {
            let ots = exchange(&mut party, &[0, 1, 1]).unwrap();
            let mut secrets = DRAWN.take();
            let exponents = secrets.len();
            wipe::after(|| {
                let keys = ots.sent.iter().flatten().chain(ots.received.iter());
                keys.for_each(|key| secrets.add(&key.to_le_bytes()));
            });
            barrier.wait();
            let alive = secrets.remains();
            barrier.wait();
            drop(ots);
            barrier.wait();
            let gone = secrets.remains();
            barrier.wait();
            (exponents, alive, gone)
        });
        for (exponents, alive, gone) in found {
            println!("{alive:?}, then {gone:?}");
            assert_eq!((exponents, alive.len()), (4, 4 + 3 * 2 + 3));
            assert!(alive[exponents..].iter().all(|count| *count > 0));
            assert!(gone.iter().all(|count| *count == 0), "{gone:?}");
        }
    }
}
