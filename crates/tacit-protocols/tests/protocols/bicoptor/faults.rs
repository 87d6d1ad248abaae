//! Peers that die, stall, send what is no message of the protocol or run another program: an error
//! that names party and step, never a hang or a panic; and what cannot be, refused.

use std::collections::BTreeSet;
use std::time::Duration;

use super::settings;
use crate::common::{Subject, TIMEOUT, bicoptor_options, mesh, run, run_on};
use tacit_net::testing::{Envelope, Fate, Recorder, mesh_with};
use tacit_net::{NetError, Party};
use tacit_protocols::Error;
use tacit_protocols::bicoptor::rss::BicoptorRss;
use tacit_protocols::bicoptor::ubl::Ubl;
use tacit_protocols::bicoptor::{Form, Options, PARTIES};
use tacit_protocols::falcon::Truncation;
use tacit_protocols::machine::{Audience, Bilinear, Call, KeyBits, Machine, Operand};

/// Its entries by [`KEYS`] and its bits do not fill their last byte.
const N: usize = 601;
const KEYS: KeyBits = KeyBits {
    dropped: 3,
    kept: 7,
};
const ENTRIES: &str = "bicoptor drelu: masked entries";

/// Runs a check in both settings over 32 bits.
macro_rules! in_both_settings {
    (|$subject:ident| $check:expr) => {{
        let (ubl, rss) = settings::<u32>(bicoptor_options(Truncation::Gap));
        {
            let $subject = &ubl;
            $check;
        }
        let $subject = &rss;
        $check;
    }};
}

/// Every step there is.
fn everything<M: Machine>(m: &mut M) -> Result<(), Error> {
    let n = N;
    let map = Bilinear::Elementwise(n);
    let fixed = Call::Product {
        map,
        fixed: Some(0),
        trunc: 0,
    };
    let id = m.party().id();
    let zero = m.constant(&[0; N]);
    let mut x = zero.clone();
    for owner in 0..PARTIES {
        let share = m.input(owner, n, (id == owner).then_some(&[7; N][..]))?;
        x = m.add(&x, &share);
    }
    let w = Operand::Secret(m.fix(x.clone())?);
    m.prepare(&[
        Call::Relu { n, keys: KEYS },
        Call::Drelu { n, keys: KEYS },
        Call::Select { n },
        Call::Truncate { n, trunc: 3 },
        Call::elementwise(n, 5),
        fixed,
    ])?;
    let relu = m.relu(&x, KEYS)?;
    let bit = m.drelu(&x, KEYS)?;
    let chosen = m.select(&bit, &zero, &x)?;
    let cut = m.truncate(&chosen, 3)?;
    let product = m.mul(&cut, &Operand::Secret(relu), 5)?;
    let product = m.mul(&product, &w, 0)?;
    m.reveal(&product, Audience::All).map(drop)
}

/// Every step with every message passed through `hook`.
fn through<S: Subject>(
    subject: &S,
    timeout: Duration,
    hook: impl FnMut(Envelope<'_>) -> Fate + Send + 'static,
) -> Vec<Result<(), Error>> {
    run_on(mesh_with(PARTIES, timeout, hook), |party| {
        everything(&mut subject.machine(party)?)
    })
}

/// Sender, receiver and step of every message.
fn edges<S: Subject>(subject: &S) -> BTreeSet<(usize, usize, &'static str)> {
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
    in_both_settings!(|s| for (from, to, step) in edges(s) {
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
    });
}

fn is_lost(result: &Result<(), Error>, from: usize, step: &str) -> bool {
    match result {
        Err(Error::Net(NetError::PeerLost {
            party, step: at, ..
        })) => (*party, *at) == (from, step),
        _ => false,
    }
}

#[test]
fn a_peer_that_is_cut_off_is_named_at_every_step() {
    in_both_settings!(|s| for (from, to, step) in edges(s) {
        let results = through(s, TIMEOUT, move |envelope| {
            match (envelope.from, envelope.to, envelope.step) == (from, to, step) {
                true => Fate::Cut,
                false => Fate::Deliver,
            }
        });
        // Who waits for the third party hears first that that one has lost somebody.
        let told = matches!(&results[to], Err(Error::Net(NetError::PeerLost { why, .. }))
            if why.contains("was lost at step"));
        assert!(
            told || is_lost(&results[to], from, step),
            "{from} to {to} at '{step}', {}: {results:?}",
            s.name()
        );
    });
}

/// Silence: nothing of one party arrives any more.
#[test]
fn a_peer_that_stalls_is_named_with_its_step() {
    in_both_settings!(|s| for silent in [0, 2] {
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
    });
}

/// The error that names party and step of a message whose bytes are spoiled.
fn spoiled<S: Subject>(
    subject: &S,
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
    in_both_settings!(|s| for guilty in [0, 1] {
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
    });
}

#[test]
fn a_reply_with_dirty_bits_is_refused() {
    let (_, rss) = settings::<u32>(bicoptor_options(Truncation::Gap));
    for to in [0, 1] {
        let dirty = |bytes: &mut Vec<u8>| *bytes.last_mut().expect("bits") |= 1 << 7;
        let edge = (2, to, "bicoptor drelu: masked sign");
        assert!(spoiled(&rss, edge, dirty), "to {to}");
    }
}

/// Parties that compare by different windows hear of it from the length of the entries.
#[test]
fn other_key_bits_are_noticed() {
    in_both_settings!(|s| for odd in 0..PARTIES {
        let results = run_on(mesh(PARTIES), |party| {
            let mut machine = s.machine(party)?;
            let keys = match machine.party().id() == odd {
                true => KeyBits { kept: 5, ..KEYS },
                false => KEYS,
            };
            machine.prepare(&[Call::Relu { n: N, keys }])?;
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
    });
}

#[test]
fn a_party_that_leaves_is_noticed_by_the_others() {
    in_both_settings!(|s| for left in 0..PARTIES {
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
            let lost = matches!(result, Err(Error::Net(NetError::PeerLost { .. })));
            assert!(lost != (id == left), "{left}, {}: {results:?}", s.name());
        }
    });
}

#[test]
fn material_of_another_size_or_for_another_call_is_none() {
    let product = |n, fixed, trunc| Call::Product {
        map: Bilinear::Elementwise(n),
        fixed,
        trunc,
    };
    let plans = [
        (vec![], "a product of 4 outputs"),
        (vec![product(3, None, 2)], "a product of 4 outputs"),
        (vec![product(4, None, 3)], "a product of 4 outputs"),
        (vec![product(4, Some(0), 2)], "a product of 4 outputs"),
        (vec![Call::relu(4)], "a product of 4 outputs"),
    ];
    for (i, (plan, words)) in plans.iter().enumerate() {
        in_both_settings!(|s| {
            let refused = run(s, |machine| {
                let x = machine.constant(&[1, 2, 3, 4]);
                machine.fix(x.clone())?;
                machine.prepare(plan)?;
                Ok(machine.mul(&x, &Operand::Secret(x.clone()), 2).err())
            });
            // Replicated shares need no triples and know no fixed operands.
            let replicated = s.name().contains("Rss");
            for error in refused {
                match error {
                    Some(Error::NotPrepared { call }) => {
                        let truncation = "the truncation of 4 elements by 2 bits";
                        let words = if replicated { truncation } else { words };
                        assert!(call.contains(words), "{call}");
                    }
                    None if replicated && i == 3 => {}
                    other => panic!("{plan:?}, {}: {other:?}", s.name()),
                }
            }
        });
    }
}

/// Every party refuses alike, before anything is sent.
#[test]
fn an_operand_that_was_not_fixed_or_has_another_size_is_refused() {
    let (ubl, _) = settings::<u32>(bicoptor_options(Truncation::Gap));
    for (id, n, words) in [(0, 4, ""), (1, 4, "operand 1"), (0, 5, "5")] {
        let plan = [Call::Product {
            map: Bilinear::Elementwise(n),
            fixed: Some(id),
            trunc: 0,
        }];
        let refused = run(&ubl, |machine| {
            let x = machine.constant(&[1, 2, 3, 4]);
            machine.fix(x)?;
            Ok(machine.prepare(&plan).err())
        });
        for error in refused {
            match error {
                None => assert!(words.is_empty(), "{plan:?} is refused"),
                Some(error) => {
                    let told = error.to_string();
                    assert!(!words.is_empty() && told.contains(words), "{told}");
                }
            }
        }
    }
}

/// A shift that no truncation can make, planned or called.
#[test]
fn a_shift_of_nearly_all_bits_is_refused() {
    for kind in [Truncation::Gap, Truncation::Aby3, Truncation::SecureMl] {
        for trunc in [31, 32, 33, u32::MAX] {
            let (ubl, rss) = settings::<u32>(bicoptor_options(kind));
            for call in [Call::Truncate { n: 4, trunc }, Call::elementwise(4, trunc)] {
                shift_is_refused(&ubl, call, trunc);
                shift_is_refused(&rss, call, trunc);
            }
        }
    }
}

fn shift_is_refused<S: Subject>(subject: &S, call: Call, trunc: u32) {
    let refused = run(subject, |machine| {
        let planned = machine.prepare(&[call]).err();
        let x = machine.constant(&[1, 2, 3, 4]);
        let called = match call {
            Call::Truncate { .. } => machine.truncate(&x, trunc),
            _ => machine.mul(&x, &Operand::Secret(x.clone()), trunc),
        };
        Ok([planned, called.err()])
    });
    for error in refused.into_iter().flatten() {
        let words = error.map_or(String::new(), |error| error.to_string());
        assert!(words.contains("1 to 30"), "'{words}', {}", subject.name());
    }
}

/// The error of joining, which must be one.
fn refused<M>(joined: Result<M, Error>) -> String {
    match joined {
        Ok(_) => panic!("it cannot be"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn other_numbers_of_parties_and_exact_truncations_are_refused() {
    let first = |parties| -> Party { mesh(parties).swap_remove(0) };
    let gap = bicoptor_options(Truncation::Gap);
    for parties in [1, 2, 4, 5] {
        for words in [
            refused(Ubl::<u32>::new(first(parties), gap)),
            refused(BicoptorRss::<u32>::new(first(parties), gap)),
        ] {
            let named = words.contains("between 3 parties") && words.contains(&parties.to_string());
            assert!(named, "{words}");
        }
    }
    for form in [Form::Mended, Form::Printed] {
        let truncation = Truncation::Exact;
        let exact = Options { truncation, form };
        for words in [
            refused(Ubl::<u32>::new(first(3), exact)),
            refused(BicoptorRss::<u32>::new(first(3), exact)),
        ] {
            assert!(words.contains("gap, aby3 and secureml"), "{words}");
        }
    }
}

/// A batch of nothing is none to fail on.
#[test]
fn no_elements_are_no_trouble() {
    in_both_settings!(|s| {
        let opened = run(s, |machine| {
            let calls = [
                Call::relu(0),
                Call::drelu(0),
                Call::Truncate { n: 0, trunc: 3 },
                Call::elementwise(0, 3),
            ];
            machine.prepare(&calls)?;
            let x = machine.constant(&[]);
            let x = machine.relu(&x, KeyBits::ALL)?;
            machine.drelu(&x, KeyBits::ALL)?;
            let x = machine.truncate(&x, 3)?;
            let x = machine.mul(&x, &Operand::Secret(x.clone()), 3)?;
            machine.reveal(&x, Audience::All)
        });
        assert_eq!(opened[0], Some(vec![]));
    });
}
