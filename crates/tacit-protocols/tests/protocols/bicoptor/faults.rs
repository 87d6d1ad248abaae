//! Peers that die, stall, send what is no message of the protocol or run another program: an error
//! that names party and step, never a hang or a panic; and what cannot be, refused.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{in_both_settings, settings};
use crate::subjects::bicoptor_options;
use tacit_conformance::{Subject, TIMEOUT, mesh, run_on};
use tacit_net::NetError;
use tacit_net::testing::{Envelope, Fate, Recorder, mesh_with};
use tacit_protocols::Error;
use tacit_protocols::bicoptor::PARTIES;
use tacit_protocols::falcon::Truncation;
use tacit_protocols::machine::Erased;
use tacit_protocols::machine::{Audience, Bilinear, Call, KeyBits, Machine, Operand};

/// Elements of every call: entries by [`KEYS`] of so many, and their bits, do not fill their last byte.
const N: usize = 601;
const KEYS: KeyBits = KeyBits::of(3, 7);
const ENTRIES: &str = "bicoptor drelu: masked entries";

/// Every step there is.
fn everything(m: &mut Erased) -> Result<(), Error> {
    let n = N;
    let map = Bilinear::Elementwise(n);
    let product = Call::Product {
        map,
        reused: Some(0),
        known_to: None,
        trunc: 0,
        bits: None,
    };
    let id = m.party().id();
    let zero = m.constant(&[0; N]);
    let mut x = zero.clone();
    for owner in 0..PARTIES {
        let share = m.input(owner, n, (id == owner).then_some(&[7; N][..]))?;
        x = m.add(&x, &share);
    }
    let w = Operand::Secret(m.reusable(x.clone())?);
    m.prepare(&[
        Call::relu(n),
        Call::drelu(n),
        Call::select(n),
        Call::relu(n).by(KEYS),
        Call::drelu(n).by(KEYS),
        Call::select(n),
        Call::truncate(n, 3),
        Call::elementwise(n, 5),
        product,
    ])?;
    let exact = m.relu(&x, KeyBits::ALL)?;
    let bit = m.drelu(&exact, KeyBits::ALL)?;
    let x = m.select(&bit, &zero, &x)?;
    let relu = m.relu(&x, KEYS)?;
    let bit = m.drelu(&x, KEYS)?;
    let chosen = m.select(&bit, &zero, &x)?;
    let cut = m.truncate(&chosen, 3)?;
    let product = m.mul(&cut, &Operand::Secret(relu), 5)?;
    let product = m.mul(&product, &w, 0)?;
    m.reveal(&product, Audience::All).map(drop)
}

/// Every step with every message passed through `hook`.
fn through(
    subject: &dyn Subject,
    timeout: Duration,
    hook: impl FnMut(Envelope<'_>) -> Fate + Send + 'static,
) -> Vec<Result<(), Error>> {
    run_on(mesh_with(PARTIES, timeout, hook), |party| {
        everything(&mut subject.machine(party)?)
    })
}

/// Sender, receiver and step of every message.
fn edges(subject: &dyn Subject) -> BTreeSet<(usize, usize, &'static str)> {
    let recorder = Recorder::new();
    let tap = recorder.clone();
    let results = through(subject, TIMEOUT, move |envelope| {
        tap.record(&envelope);
        Fate::Deliver
    });
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let seen = |to| {
        recorder
            .view(to)
            .into_iter()
            .map(move |s| (s.from, to, s.step))
    };
    (0..PARTIES).flat_map(seen).collect()
}

#[test]
fn a_message_of_another_length_is_refused_at_every_step() {
    in_both_settings::<u32>(Truncation::Gap, |s| {
        for (from, to, step) in edges(s) {
            for longer in [false, true] {
                let results = through(s, TIMEOUT, move |envelope| {
                    if (envelope.from, envelope.to, envelope.step) == (from, to, step) {
                        match longer {
                            true => envelope.payload.push(0),
                            false => drop(envelope.payload.pop()),
                        }
                    }
                    Fate::Deliver
                });
                let named = match &results[to] {
                    Err(Error::Net(NetError::Length {
                        party, step: at, ..
                    })) => (*party, *at) == (from, step),
                    _ => false,
                };
                assert!(
                    named,
                    "{from} to {to} at '{step}', longer: {longer}, {}: {results:?}",
                    s.name()
                );
            }
        }
    });
}

#[test]
fn a_peer_that_is_cut_off_is_named_whenever_it_happens() {
    in_both_settings::<u32>(Truncation::Gap, |s| {
        for (from, to, step) in edges(s) {
            let results = through(s, TIMEOUT, move |envelope| {
                match (envelope.from, envelope.to, envelope.step) == (from, to, step) {
                    true => Fate::Cut,
                    false => Fate::Deliver,
                }
            });
            // The cut may overtake what was sent before, and who waits for the third party hears from
            // that one that it has lost somebody, or that the other has stopped.
            let named = match &results[to] {
                Err(Error::Net(NetError::PeerLost { party, why, .. })) => {
                    let stopped = format!("party {from} stopped");
                    *party == from || why.contains("was lost") || why.contains(&stopped)
                }
                _ => false,
            };
            assert!(
                named,
                "{from} to {to} at '{step}', {}: {results:?}",
                s.name()
            );
        }
    });
}

/// Silence: nothing of one party arrives any more. Where one holder waits for the assistant, the other waits
/// for that one as long; whoever's time ends first, the one that waits for the silent party names it.
#[test]
fn a_peer_that_stalls_is_named_with_its_step() {
    in_both_settings::<u32>(Truncation::Gap, |s| {
        for silent in [0, 2] {
            let mut gone = false;
            let results = through(s, Duration::from_secs(1), move |envelope| {
                gone |= envelope.from == silent && envelope.step.starts_with("bicoptor drelu");
                match gone && envelope.from == silent {
                    true => Fate::Drop,
                    false => Fate::Deliver,
                }
            });
            let named = results.iter().any(|r| match r {
                Err(Error::Net(NetError::PeerLost { party, step, .. })) => {
                    *party == silent && step.starts_with("bicoptor")
                }
                _ => false,
            });
            assert!(named, "{silent}, {}: {results:?}", s.name());
            assert!(!results.iter().any(Result::is_ok), "{results:?}");
        }
    });
}

/// The error that names party and step of a message whose bytes are spoiled.
fn spoiled(
    subject: &dyn Subject,
    (from, to, step): (usize, usize, &'static str),
    spoil: fn(&mut Vec<u8>),
) -> bool {
    let results = through(subject, TIMEOUT, move |envelope| {
        if (envelope.from, envelope.to, envelope.step) == (from, to, step) {
            spoil(envelope.payload);
        }
        Fate::Deliver
    });
    match &results[to] {
        Err(Error::Peer {
            party, step: at, ..
        }) => (*party, *at) == (from, step),
        _ => false,
    }
}

#[test]
fn a_residue_that_is_none_is_refused_and_its_sender_named() {
    in_both_settings::<u32>(Truncation::Gap, |s| {
        for guilty in [0, 1] {
            let edge = (guilty, 2, ENTRIES);
            // The first entry has 10 bits and p is 521: 521 itself, and all ones.
            let p = |bytes: &mut Vec<u8>| {
                let low = u16::from_le_bytes([bytes[0], bytes[1]]) & !0x3ff | 521;
                bytes[..2].copy_from_slice(&low.to_le_bytes());
            };
            assert!(spoiled(s, edge, p), "{guilty}, {}", s.name());
            let ones = |bytes: &mut Vec<u8>| bytes[40..60].fill(0xff);
            assert!(spoiled(s, edge, ones), "{guilty}, {}", s.name());
            // 54 090 bits: 6 of the last byte are not used.
            let dirty = |bytes: &mut Vec<u8>| *bytes.last_mut().expect("entries") |= 1 << 2;
            assert!(spoiled(s, edge, dirty), "{guilty}, {}", s.name());
        }
    });
}

#[test]
fn a_reply_with_dirty_bits_is_refused() {
    let [_, rss] = settings::<u32>(bicoptor_options(Truncation::Gap));
    for to in [0, 1] {
        let dirty = |bytes: &mut Vec<u8>| *bytes.last_mut().expect("bits") |= 1 << 7;
        let edge = (2, to, "bicoptor drelu: masked sign");
        assert!(spoiled(&rss, edge, dirty), "to {to}");
    }
}

/// Parties that compare by different windows hear of it from the length of the entries.
#[test]
fn other_key_bits_are_noticed() {
    in_both_settings::<u32>(Truncation::Gap, |s| {
        for odd in 0..PARTIES {
            let results = run_on(mesh(PARTIES), |party| {
                let mut machine = s.machine(party)?;
                let keys = match machine.party().id() == odd {
                    true => KeyBits { kept: 5, ..KEYS },
                    false => KEYS,
                };
                machine.prepare(&[Call::relu(N).by(keys)])?;
                let x = machine.constant(&[7; N]);
                machine.relu(&x, keys).map(drop)
            });
            let named = match &results[2] {
                Err(Error::Net(NetError::Length { party, step, .. })) => {
                    *step == ENTRIES && (odd == 2 || *party == odd)
                }
                _ => false,
            };
            assert!(named, "{odd}, {}: {results:?}", s.name());
            assert!(!results.iter().any(Result::is_ok), "{results:?}");
        }
    });
}

#[test]
fn a_party_that_leaves_is_noticed_by_the_others() {
    in_both_settings::<u32>(Truncation::Gap, |s| {
        for left in 0..PARTIES {
            let results = run_on(mesh(PARTIES), |party| {
                let mut machine = s.machine(party)?;
                machine.prepare(&[Call::relu(N).by(KEYS), Call::relu(N)])?;
                if machine.party().id() == left {
                    return Ok(()); // its links close
                }
                let x = machine.constant(&[7; N]);
                machine.relu(&x, KEYS)?;
                machine.relu(&x, KeyBits::ALL).map(drop)
            });
            for (id, result) in results.iter().enumerate() {
                let lost = matches!(result, Err(Error::Net(NetError::PeerLost { .. })));
                assert!(lost != (id == left), "{left}, {}: {results:?}", s.name());
            }
        }
    });
}

/// Between the holders exact signs are theirs alone: without the assistant they end, with the assistant
/// and without the other holder they do not.
#[test]
fn an_exact_sign_needs_the_holders_and_with_replicated_shares_all() {
    in_both_settings::<u32>(Truncation::Gap, |s| {
        for left in 0..PARTIES {
            let results = run_on(mesh(PARTIES), |party| {
                let mut machine = s.machine(party)?;
                machine.prepare(&[Call::relu(N)])?;
                if machine.party().id() == left {
                    return Ok(()); // its links close
                }
                let x = machine.constant(&[7; N]);
                machine.relu(&x, KeyBits::ALL).map(drop)
            });
            for (id, result) in results.iter().enumerate() {
                let alone = s.name().contains("Ubl") && (id == 2 || left == 2);
                let lost = matches!(result, Err(Error::Net(NetError::PeerLost { .. })));
                assert!(
                    lost != (id == left || alone),
                    "{left}, {}: {results:?}",
                    s.name()
                );
            }
        }
    });
}
