//! Falcon against a party that changes what it sends: no honest party is given a wrong answer.

use std::sync::{Arc, Mutex};

use crate::common::{FalconOver, Subject, TIMEOUT, falcon_over, malicious_over, run_on};
use crate::tampering::{Totals, tamper};
use tacit_algebra::Ring;
use tacit_net::testing::{Fate, mesh_with};
use tacit_protocols::Error;
use tacit_protocols::falcon::{Falcon, PARTIES, Truncation};
use tacit_protocols::machine::{
    Audience, Bilinear, Call, Conv2d, KeyBits, Machine, MatMul, Operand,
};

/// The step in which an owner says what its input is: whatever it sends is one.
const CHOSEN: [&str; 1] = ["rss input"];

type Share<R> = <Falcon<R> as Machine>::Share;

/// Shares `x` by party 0 and opens what `op` makes of it to all.
fn tampered<R: Ring>(
    subject: &FalconOver<R>,
    calls: &[Call],
    x: &[i64],
    op: impl Fn(&mut Falcon<R>, &Share<R>) -> Result<Share<R>, Error> + Sync,
    right: impl Fn(&[i64]) -> bool + Sync,
) -> Totals {
    tamper(
        subject,
        &CHOSEN,
        |machine| {
            machine.prepare(calls)?;
            let own = (machine.party().id() == 0).then_some(x);
            let share = machine.input(0, x.len(), own)?;
            let y = op(machine, &share)?;
            machine.reveal(&y, Audience::All)
        },
        |answer: &Option<Vec<i64>>| right(answer.as_deref().unwrap_or_default()),
    )
}

const X: [i64; 3] = [5, -7, 0];

fn relu<R: Ring>(subject: &FalconOver<R>) -> Totals {
    let relu = |machine: &mut Falcon<R>, x: &Share<R>| machine.relu(x, KeyBits::ALL);
    tampered(subject, &[Call::relu(3)], &X, relu, |y| y == [5, 0, 0])
}

fn truncation<R: Ring>(subject: &FalconOver<R>) -> Totals {
    let calls = [Call::Truncate { n: 3, trunc: 2 }];
    let near = |y: &[i64]| {
        let errors = y.iter().zip(X).map(|(y, x)| y - (x >> 2));
        y.len() == 3 && errors.into_iter().all(|e| (0..=1).contains(&e))
    };
    tampered(
        subject,
        &calls,
        &X,
        |machine, x| machine.truncate(x, 2),
        near,
    )
}

fn select<R: Ring>(subject: &FalconOver<R>) -> Totals {
    let calls = [Call::drelu(3), Call::Select { n: 3 }];
    let select = |machine: &mut Falcon<R>, x: &Share<R>| {
        let bit = machine.drelu(x, KeyBits::ALL)?;
        let minus = machine.scale(x, -1);
        machine.select(&bit, &minus, x)
    };
    tampered(subject, &calls, &X, select, |y| y == [5, 7, 0])
}

fn maxpool<R: Ring>(subject: &FalconOver<R>) -> Totals {
    let maxpool = |machine: &mut Falcon<R>, x: &Share<R>| machine.maxpool(x, 1, 3, KeyBits::ALL);
    tampered(subject, &[Call::maxpool(1, 3)], &X, maxpool, |y| y == [5])
}

/// A matrix product, a convolution and an element-wise product, all verified at the end.
fn linear<R: Ring>(subject: &FalconOver<R>) -> Totals {
    let shape = MatMul { m: 2, k: 2, n: 1 };
    let conv = Conv2d {
        batch: 1,
        channels: 1,
        height: 2,
        width: 2,
        filters: 1,
        kernel: [2, 1],
        stride: [1, 1],
        pad: [0; 4],
        dilation: [1, 1],
        groups: 1,
    };
    let product = |map| Call::Product {
        map,
        fixed: None,
        known_to: None,
        trunc: 0,
    };
    let calls = [
        Bilinear::MatMul(shape),
        Bilinear::Conv2d(conv),
        Bilinear::Elementwise(4),
    ];
    tampered(
        subject,
        &calls.map(product),
        &[1, -2, 3, 4],
        |machine, x| {
            let w = machine.slice(x, 0..2);
            let y = machine.matmul(x, &Operand::Secret(w.clone()), None, shape, 0)?;
            let z = machine.conv2d(x, &Operand::Secret(w), None, &conv, 0)?;
            let squares = machine.mul(x, &Operand::Secret(x.clone()), 0)?;
            Ok(machine.concat(&[&y, &z, &squares]))
        },
        |y| y == [5, -5, -5, -10, 1, 4, 9, 16],
    )
}

#[test]
fn every_change_is_caught_over_8_bits() {
    let subject = malicious_over::<u8>();
    relu(&subject).assert_caught("relu, 8 bits");
    truncation(&subject).assert_caught("truncation, 8 bits");
    select(&subject).assert_caught("select, 8 bits");
    maxpool(&subject).assert_caught("maxpool, 8 bits");
    linear(&subject).assert_caught("linear layers, 8 bits");
}

#[test]
fn every_change_is_caught_over_32_bits() {
    let subject = malicious_over::<u32>();
    relu(&subject).assert_caught("relu, 32 bits");
    select(&subject).assert_caught("select, 32 bits");
    let exact = FalconOver {
        truncation: Truncation::Exact,
        ..malicious_over::<u32>()
    };
    truncation(&exact).assert_caught("exact truncation, 32 bits");
}

#[test]
fn every_change_is_caught_with_narrow_signs() {
    let subject = FalconOver {
        configure: Falcon::with_narrow_signs,
        ..malicious_over::<u64>()
    };
    relu(&subject).assert_caught("relu, 64 bits with narrow signs");
    linear(&subject).assert_caught("linear layers, 64 bits");
}

/// The harness bites: without checks there are wrong answers.
#[test]
fn semi_honest_security_does_not_catch_them() {
    let subject = falcon_over::<u8>();
    for totals in [
        relu(&subject),
        truncation(&subject),
        select(&subject),
        linear(&subject),
    ] {
        println!("tampering, {}: {totals}", subject.name());
        assert!(!totals.wrong.is_empty(), "{totals}");
    }
}

/// Runs a ReLU and reveals it, with the first message of `step` from party 1 changed. Returns the
/// errors, and whether party 1 was sent a message of the step `opening`.
fn cheats(step: &'static str, opening: &'static str) -> (Vec<Option<Error>>, bool) {
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
        let relu = |party| {
            let mut machine = Falcon::<u32>::malicious(party, Truncation::Gap)?;
            machine.prepare(&[Call::relu(100)])?;
            let x = machine.constant(&[7; 100]);
            let y = machine.relu(&x, KeyBits::ALL)?;
            machine.reveal(&y, Audience::All)
        };
        relu(party).err()
    });
    let told = *told.lock().expect("no party panicked");
    (errors, told)
}

const ROOT: &str = "falcon compare: open product";
const REVEAL: &str = "falcon reveal: open";

/// What is not masked is opened to nobody before everything behind it is verified.
#[test]
fn a_cheater_is_told_nothing() {
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
        let (errors, told) = cheats(step, opening);
        assert!(!told, "after '{step}' party 1 was sent '{opening}'");
        let honest = [&errors[0], &errors[2]];
        assert!(
            honest.iter().all(|error| error.is_some()),
            "{step}: {errors:?}"
        );
        // A changed residue may be none, which its receiver sees before any check.
        let named = |error: &&Option<Error>| {
            matches!(
                error,
                Some(Error::Cheating { .. } | Error::Peer { party: 1, .. })
            )
        };
        assert!(honest.iter().any(named), "{step}: {errors:?}");
    }
}

/// Both verifiers of a proof see for themselves that it fails, and say whose it was.
#[test]
fn a_wrong_product_is_named_by_both_verifiers() {
    let (errors, _) = cheats("falcon select: multiply", REVEAL);
    for honest in [&errors[0], &errors[2]] {
        let named =
            matches!(honest, Some(Error::Cheating { party: 1, step }) if step.contains("verify"));
        assert!(named, "{errors:?}");
    }
    let words = errors[0].as_ref().map(Error::to_string).unwrap_or_default();
    assert!(
        words.contains("party 1") && words.contains("nothing was given out"),
        "{words}"
    );
}
