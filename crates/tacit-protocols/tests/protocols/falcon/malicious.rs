//! Falcon against a party that cheats: it is told nothing, and named.

use std::sync::{Arc, Mutex};

use tacit_conformance::{TIMEOUT, run_on};
use tacit_net::NetError;
use tacit_net::testing::{Fate, mesh_with};
use tacit_protocols::Error;
use tacit_protocols::falcon::{Comparison, Falcon, Options, PARTIES, Security};
use tacit_protocols::machine::{Audience, Call, KeyBits, Machine};

/// Runs a ReLU and reveals it, with the first message of `step` from party 1 changed. Returns the
/// errors, and whether party 1 was sent a message of the step `opening`.
fn cheats(step: &'static str, opening: &'static str) -> (Vec<Option<Error>>, bool) {
    cheats_by(Comparison::Falcon, step, opening)
}

fn cheats_by(
    comparison: Comparison,
    step: &'static str,
    opening: &'static str,
) -> (Vec<Option<Error>>, bool) {
    cheats_in(Call::relu(100), comparison, step, opening)
}

/// Runs a call, a ReLU or a truncation, and reveals its result, with the first message of `step` from
/// party 1 changed. Returns the errors, and whether party 1 was sent a message of the step `opening`.
fn cheats_in(
    call: Call,
    comparison: Comparison,
    step: &'static str,
    opening: &'static str,
) -> (Vec<Option<Error>>, bool) {
    let options = Options {
        comparison,
        security: Security::Malicious,
        ..Options::default()
    };
    let (mut changed, told) = (false, Arc::new(Mutex::new(false)));
    let log = told.clone();
    let mesh = mesh_with(PARTIES, TIMEOUT, move |envelope| {
        if envelope.from == 1 && envelope.step == step && !changed {
            changed = true;
            envelope.payload[0] ^= 1;
        }
        let mut told = log.lock().expect("no party panicked");
        *told |= changed && envelope.to == 1 && envelope.step == opening;
        Fate::Deliver
    });
    let errors = run_on(mesh, |party| {
        let program = |party| {
            let mut machine = Falcon::<u32>::new(party, options)?;
            machine.prepare(&[call])?;
            let x = machine.constant(&[7; 100]);
            let y = match call {
                Call::Truncate { trunc, .. } => machine.truncate(&x, trunc)?,
                _ => machine.relu(&x, KeyBits::ALL)?,
            };
            machine.reveal(&y, Audience::All)
        };
        program(party).err()
    });
    let told = *told.lock().expect("no party panicked");
    (errors, told)
}

const ROOT: &str = "falcon compare: open product";
const REVEAL: &str = "falcon reveal: open";

/// What is not masked is opened to nobody before everything behind it is verified.
#[test]
fn a_cheater_is_told_nothing() {
    for step in [
        "falcon adder: carries of three",
        "falcon sign: generate carries",
        "falcon sign: carry",
        "falcon times: by the bit's first holder",
        "falcon times: by the bit's second holder",
        "falcon alone: masked carries",
    ] {
        told_nothing(step, REVEAL, cheats_by(Comparison::Adder, step, REVEAL));
    }
    for step in [
        "falcon adder: carries of three",
        "falcon truncate: carry of top bits",
        "falcon inject: second product",
        "falcon alone: masked carries",
    ] {
        let cheated = cheats_in(Call::truncate(100, 3), Comparison::Adder, step, REVEAL);
        told_nothing(step, REVEAL, cheated);
    }
    for (step, opening) in [
        ("falcon adder: carry", "falcon wrap3: open masked value"),
        (
            "falcon inject: second product",
            "falcon wrap3: open masked value",
        ),
        ("falcon wrap3: open masked value", ROOT),
        ("falcon compare: product", ROOT),
        (ROOT, REVEAL),
        ("falcon select: open masked bit", ROOT),
        ("falcon select: multiply", REVEAL),
        // An honest prover answers to no coin but that of both verifiers.
        ("falcon verify: coin", "falcon verify: coefficients"),
    ] {
        told_nothing(step, opening, cheats(step, opening));
    }
}

/// Party 1, which changed `step`, was not sent `opening`, and it is suspected.
fn told_nothing(step: &str, opening: &str, (errors, told): (Vec<Option<Error>>, bool)) {
    assert!(!told, "after '{step}' party 1 was sent '{opening}'");
    let honest = [&errors[0], &errors[2]];
    assert!(
        honest.iter().all(|error| error.is_some()),
        "{step}: {errors:?}"
    );
    assert!(
        honest.iter().any(|e| suspects(e).contains(&1)),
        "{step}: {errors:?}"
    );
}

/// Whom an error names as one who can have cheated.
fn suspects(error: &Option<Error>) -> Vec<usize> {
    match error {
        Some(Error::Cheating {
            checked, vouched, ..
        }) => vec![*checked, *vouched],
        // A changed residue may be none, which its receiver sees before any check.
        Some(Error::Peer { party, .. }) => vec![*party],
        Some(Error::Net(NetError::Accused {
            party, suspects, ..
        })) => [&suspects[..], &[*party]].concat(),
        _ => Vec::new(),
    }
}

/// Every honest party names everybody who can have cheated, whoever found it out: the party that
/// lied in an opening, too, and neither itself nor nobody.
#[test]
fn every_honest_party_names_the_cheater() {
    for step in [
        "falcon wrap3: open masked value",
        "falcon select: open masked bit",
        "falcon verify: hash of what was heard",
        "falcon verify: hashes of coins",
        "falcon verify: coin",
        "falcon verify: last elements",
        "falcon select: multiply",
        REVEAL,
        "falcon reveal: second copy",
    ] {
        let (errors, _) = cheats(step, REVEAL);
        let mut both = vec![0, 1, 2];
        for honest in [0, 2] {
            let Some(error) = &errors[honest] else {
                // A result that came to the other with its copy is right.
                assert!(step.contains("reveal"), "{step}: {errors:?}");
                continue;
            };
            let named = suspects(&errors[honest]);
            assert!(
                named.contains(&1),
                "{step} at {honest}: {named:?}, {errors:?}"
            );
            assert!(!named.contains(&honest), "{step} at {honest}: {named:?}");
            assert!(error.to_string().contains("party 1"), "{error}");
            both.retain(|party| named.contains(party));
        }
        assert!(both.contains(&1), "{step}: {errors:?}");
    }
}

/// Both verifiers of a proof see for themselves that it fails, and say whose it was.
#[test]
fn a_wrong_product_is_named_by_both_verifiers() {
    let (errors, _) = cheats("falcon select: multiply", REVEAL);
    for honest in [&errors[0], &errors[2]] {
        let named = matches!(
            honest,
            Some(Error::Cheating { checked: 1, step, .. }) if step.contains("verify")
        );
        assert!(named, "{errors:?}");
    }
}
