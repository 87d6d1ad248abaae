//! Peers that die, stall or send what is no message of the protocol: an error that names party
//! and step, never a hang or a panic; and parties and thresholds that cannot be.

use crate::subjects::TestedField;
use std::time::Duration;

use crate::subjects::{ShamirOver, shamir_over};
use tacit_algebra::mersenne::{F5, F31, Field};
use tacit_conformance::{Subject, TIMEOUT, mesh, run_on};
use tacit_net::testing::{Envelope, Fate, mesh_with};
use tacit_net::{LinkModel, NetError};
use tacit_protocols::Error;
use tacit_protocols::machine::{Audience, Call, KeyBits, Machine};
use tacit_protocols::shamir::{Comparison, Opening, Options, Shamir, ShamirCost};

const N: usize = 600;

/// ReLU and a truncation of values that party 1 shares, opened; every message goes through `hook`.
fn relu_through(
    subject: &ShamirOver<F31>,
    timeout: Duration,
    hook: impl FnMut(Envelope<'_>) -> Fate + Send + 'static,
) -> Vec<Result<(), Error>> {
    run_on(mesh_with(subject.parties, timeout, hook), |party| {
        let mut machine = subject.machine(party)?;
        machine.prepare(&[Call::relu(N), Call::truncate(N, 3)])?;
        let own = (machine.party().id() == 1).then_some(&[7; N][..]);
        let x = machine.input(1, N, own)?;
        let x = machine.take_in(x)?;
        let x = machine.relu(&x, KeyBits::ALL)?;
        let x = machine.truncate(&x, 3)?;
        machine.reveal(&x, Audience::All).map(drop)
    })
}

/// Every step at which party 1 sends elements, by parties, comparison and opening.
fn steps(subject: &ShamirOver<F31>) -> Vec<&'static str> {
    let mut all = vec![
        "shamir deal: degree t",
        "shamir bits: squares and products",
        "shamir input",
        "shamir input: of a client",
        "shamir comparison: masked value",
        "shamir truncate: a dealer's upper bits",
        "shamir truncate: masked value",
        "shamir daBits: masked bits",
        "shamir reveal",
    ];
    match subject.options.comparison {
        Comparison::Rot => all.extend([
            "shamir bits: not all ones",
            "shamir rotation: unfold shift",
            "shamir rotation: rotate",
            "shamir rotation: find",
            "shamir 2L-DN: x y",
            "shamir 2L-DN: mask times z",
        ]),
        _ => all.push("shamir relu: sign times value"),
    }
    if subject.options.opening == Opening::King {
        all.push("shamir reveal: value");
    }
    all
}

/// Every step at which party 1 sends shared bits.
fn steps_of_bits(subject: &ShamirOver<F31>) -> Vec<&'static str> {
    let mut all = vec![
        "shamir deal bits: degree t",
        "shamir edaBits: a dealer's bits",
        "shamir sum: bit by bit",
        "shamir carries: join",
        "shamir carries: descend",
        "shamir truncate: masked carries",
    ];
    if subject.options.comparison == Comparison::Tree {
        all.extend(["shamir sum: three to two", "shamir tree: masked sign"]);
    }
    if subject.options.opening == Opening::King {
        all.push("shamir open bits: value");
    }
    all
}

fn subjects() -> Vec<ShamirOver<F31>> {
    vec![
        shamir_over(5, Comparison::Tree, Opening::King),
        shamir_over(5, Comparison::Rot, Opening::Direct),
        shamir_over(4, Comparison::Rot, Opening::King),
    ]
}

#[test]
fn nothing_is_wrong_without_a_fault() {
    for subject in subjects() {
        let results = relu_through(&subject, TIMEOUT, |_| Fate::Deliver);
        assert!(results.iter().all(Result::is_ok), "{results:?}");
    }
}

#[test]
fn a_key_that_was_not_committed_to_is_refused() {
    for subject in subjects() {
        let results = relu_through(&subject, TIMEOUT, |envelope| {
            if envelope.from == 2 && envelope.step.contains("key opening") {
                envelope.payload[0] ^= 1;
            }
            Fate::Deliver
        });
        let refusal = |r: &Result<(), Error>| matches!(r, Err(Error::Peer { party: 2, step, .. }) if step.contains("opening"));
        assert!(results.iter().any(refusal), "{results:?}");
        assert!(!results.iter().any(Result::is_ok), "{results:?}");
    }
}

/// `p` itself, a second 0, is none either.
#[test]
fn a_word_that_is_no_element_is_refused_at_every_step() {
    for subject in subjects() {
        for step in steps(&subject) {
            for bad in [F31::P as u32, u32::MAX] {
                let results = relu_through(&subject, TIMEOUT, move |envelope| {
                    if envelope.from == 1 && envelope.step == step {
                        let end = envelope.payload.len() - 4;
                        envelope.payload[end..].copy_from_slice(&bad.to_le_bytes());
                    }
                    Fate::Deliver
                });
                let refusal = |r: &Result<(), Error>| match r {
                    Err(Error::Peer {
                        party: 1,
                        step: at,
                        what,
                    }) => *at == step && what.contains("numbers below 2^31 - 1"),
                    _ => false,
                };
                let named = results.iter().any(refusal);
                assert!(named, "{bad} at '{step}', {}: {results:?}", subject.name());
            }
        }
    }
}

#[test]
fn a_message_of_another_length_is_refused_at_every_step() {
    for subject in subjects() {
        let bits = steps_of_bits(&subject);
        for step in steps(&subject).into_iter().chain(bits) {
            for longer in [false, true] {
                let results = relu_through(&subject, TIMEOUT, move |envelope| {
                    if envelope.from == 1 && envelope.step == step {
                        match longer {
                            true => envelope.payload.extend([0; 4]),
                            false => envelope.payload.truncate(envelope.payload.len() - 4),
                        }
                    }
                    Fate::Deliver
                });
                let refusal = |r: &Result<(), Error>| match r {
                    Err(Error::Net(NetError::Length {
                        party: 1, step: at, ..
                    })) => *at == step,
                    _ => false,
                };
                let named = results.iter().any(refusal);
                assert!(
                    named,
                    "'{step}', longer: {longer}, {}: {results:?}",
                    subject.name()
                );
            }
        }
    }
}

/// A share that is changed makes the opened bits elements that are none.
#[test]
fn opened_bits_that_are_none_are_an_error() {
    for step in [
        "shamir tree: masked sign",
        "shamir truncate: masked carries",
    ] {
        let subject = shamir_over::<F31>(3, Comparison::Tree, Opening::Direct);
        let results = relu_through(&subject, TIMEOUT, move |envelope| {
            if envelope.from == 1 && envelope.step == step {
                envelope.payload[0] ^= 0x55;
            }
            Fate::Deliver
        });
        let noticed = |r: &Result<(), Error>| matches!(r, Err(Error::Invalid(words)) if words.contains(step) && words.contains("did not follow"));
        assert!(results.iter().any(noticed), "{step}: {results:?}");
    }
}

#[test]
fn a_peer_that_stalls_or_is_cut_off_is_named_with_its_step() {
    for subject in subjects() {
        for fate in [Fate::Drop, Fate::Cut] {
            let mut gone = false;
            let results = relu_through(&subject, Duration::from_secs(1), move |envelope| {
                gone |= envelope.from == 2 && envelope.step == "shamir comparison: masked value";
                if gone && envelope.from == 2 {
                    fate
                } else {
                    Fate::Deliver
                }
            });
            let lost = |r: &Result<(), Error>| match r {
                Err(Error::Net(NetError::PeerLost { party: 2, step, .. })) => {
                    step.contains("masked value")
                }
                _ => false,
            };
            assert!(results.iter().any(lost), "{fate:?}: {results:?}");
            assert!(!results.iter().any(Result::is_ok), "{fate:?}: {results:?}");
        }
    }
}

#[test]
fn a_party_that_leaves_is_noticed_by_the_others() {
    for subject in subjects() {
        let results = run_on(mesh(subject.parties), |party| {
            let mut machine = subject.machine(party)?;
            machine.prepare(&[Call::relu(N)])?;
            if machine.party().id() == 1 {
                return Ok(()); // its links close
            }
            let x = machine.constant(&[7; N]);
            machine.relu(&x, KeyBits::ALL).map(drop)
        });
        for (id, result) in results.iter().enumerate() {
            match id {
                1 => assert!(result.is_ok()),
                _ => assert!(
                    matches!(result, Err(Error::Net(NetError::PeerLost { .. }))),
                    "{result:?}"
                ),
            }
        }
    }
}

/// Rotations that a party spoils have no 0, or two: an error, not a wrong sign.
#[test]
fn a_rotation_without_its_zero_is_an_error() {
    let subject = shamir_over::<F31>(3, Comparison::Rot, Opening::Direct);
    let results = relu_through(&subject, TIMEOUT, |envelope| {
        if envelope.from == 1 && envelope.step == "shamir rotation: find" {
            envelope.payload.fill(1);
        }
        Fate::Deliver
    });
    let noticed = |r: &Result<(), Error>| matches!(r, Err(Error::Invalid(words)) if words.contains("did not follow"));
    assert!(results.iter().any(noticed), "{results:?}");
}

#[test]
fn numbers_of_parties_and_thresholds_that_cannot_be_are_refused() {
    fn refused<F: TestedField>(parties: usize, threshold: usize, words: &str) {
        let options = Options {
            threshold,
            ..Options::new(parties, LinkModel::LOCAL)
        };
        let planned = ShamirCost::<F>::new(parties, &options).map(drop);
        let party = mesh(parties).swap_remove(0);
        let joined = Shamir::<F>::new(party, &options).map(drop);
        for result in [planned, joined] {
            let error = result.expect_err("it cannot be").to_string();
            assert!(error.contains(words), "{parties}, {threshold}: {error}");
        }
    }
    refused::<F31>(1, 1, "between 3 and 63");
    refused::<F31>(2, 1, "between 3 and 63");
    refused::<F31>(64, 31, "between 3 and 63");
    refused::<F31>(64, 1, "between 3 and 63");
    // As many points as the field has, but for 0, are the most.
    refused::<F5>(31, 1, "parties");
    for (parties, most) in [(3, 1), (4, 1), (5, 2), (6, 2), (7, 3), (63, 31)] {
        refused::<F31>(parties, 0, &format!("1 to {most} may collude"));
        refused::<F31>(parties, most + 1, &format!("1 to {most} may collude"));
        // Twice this and 1 is 1, in a word.
        refused::<F31>(
            parties,
            usize::MAX / 2 + 1,
            &format!("1 to {most} may collude"),
        );
        let options = Options::new(parties, LinkModel::LOCAL);
        assert!(ShamirCost::<F31>::new(parties, &options).is_ok());
    }
}
