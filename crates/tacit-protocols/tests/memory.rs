//! What stays in a process's memory after use, in a test binary of its own: it reads all of it.

#![cfg(target_os = "linux")]

use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use tacit_algebra::mersenne::F61;
use tacit_algebra::wipe;
use tacit_net::testing::remains::Secrets;
use tacit_net::testing::{Fate, mesh_with, run};
use tacit_net::{LinkModel, Party};
use tacit_protocols::Truncation;
use tacit_protocols::bicoptor;
use tacit_protocols::falcon::{self, Falcon, Security};
use tacit_protocols::shamir::{Options, Shamir};
use zeroize::{Zeroize, Zeroizing};

/// One test at a time: each reads the memory of all.
static ALONE: Mutex<()> = Mutex::new(());

/// The key of the generator that a pair makes for a label, as documented.
fn generator_key(secret: &[u8], label: &str) -> Zeroizing<Vec<u8>> {
    let mut hasher = Zeroizing::new(blake3::Hasher::new_derive_key("tacit 2026 pairwise key"));
    hasher.update(secret);
    hasher.update(label.as_bytes());
    let mut key = Zeroizing::new(vec![0; 16]);
    let mut reader = hasher.finalize_xof();
    reader.fill(&mut key);
    reader.zeroize();
    key
}

/// How often secrets are in memory.
#[derive(Debug)]
struct Remains {
    /// What pairs send each other to make their secrets, and these.
    pairs: Vec<usize>,
    /// The keys of AES of the generators that are made of them.
    generators: Vec<usize>,
}

/// What is in memory while the parties have what they set up, and when it is gone. `labels` are those
/// of the generators that the pair `i < j` has.
fn remains<M>(
    parties: usize,
    labels: impl Fn(usize, usize) -> Vec<String> + Sync,
    set_up: impl Fn(Party) -> M + Sync,
) -> [Remains; 2] {
    let _alone = ALONE.lock().unwrap_or_else(|error| error.into_inner());
    let secrets = Arc::new(Mutex::new((Vec::new(), Secrets::default())));
    let seen = secrets.clone();
    let links = mesh_with(parties, Duration::from_secs(20), move |envelope| {
        if envelope.step == "key opening" {
            let (between, secrets) = &mut *seen.lock().unwrap();
            between.push((envelope.from, envelope.to));
            secrets.add(envelope.payload);
        }
        Fate::Deliver
    });
    let barrier = Barrier::new(parties);
    let found = run(links, |party| {
        let id = party.id();
        let control = [0x17_u8; 32];
        let machine = set_up(party);
        barrier.wait();
        let mut found = Vec::new();
        if id == 0 {
            let (between, secrets) = &mut *secrets.lock().unwrap();
            let pairs = wipe::after(|| derive(between, secrets, &labels));
            secrets.add(&control);
            found.push(split(secrets.remains(), pairs));
        }
        // The others' threads, and their stacks, are there until all of it was read.
        barrier.wait();
        drop(machine);
        barrier.wait();
        if id == 0 {
            let (between, secrets) = &*secrets.lock().unwrap();
            found.push(split(secrets.remains(), between.len() * 3 / 2));
        }
        barrier.wait();
        std::hint::black_box(&control);
        found
    });
    let found: Vec<_> = found.into_iter().flatten().collect();
    found.try_into().expect("before and after")
}

/// Adds the pairs' secrets and the keys that are made of them; how many are of the former and of
/// what makes them.
fn derive(
    between: &[(usize, usize)],
    secrets: &mut Secrets,
    labels: impl Fn(usize, usize) -> Vec<String>,
) -> usize {
    let mut pairs = Vec::new();
    for (i, (from, to)) in between.iter().enumerate() {
        let other = between.iter().position(|b| *b == (*to, *from));
        if let Some(other) = other.filter(|_| from < to) {
            secrets.add_sum(i, other);
            pairs.push((secrets.len() - 1, *from, *to));
        }
    }
    let all = secrets.len();
    for (at, from, to) in pairs {
        for label in labels(from, to) {
            secrets.add_made(at, |secret| generator_key(secret, &label));
        }
    }
    all
}

fn split(mut counts: Vec<usize>, pairs: usize) -> Remains {
    let control = counts.pop().expect("the control");
    assert!(control > 0, "what is there is found");
    let generators = counts.split_off(pairs);
    Remains {
        pairs: counts,
        generators,
    }
}

/// Nothing is there once the machines are gone: not in messages, hashers, generators, nor on the
/// parties' stacks. While they are there, the generators' keys are.
fn check(name: &str, [alive, gone]: [Remains; 2]) {
    println!("{name}: {alive:?}, then {gone:?}");
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("aes") {
        let found = alive.generators.iter().all(|count| *count > 0);
        assert!(found, "{name}: {alive:?}");
    }
    let none = |counts: &[usize]| !counts.is_empty() && counts.iter().all(|count| *count == 0);
    assert!(none(&alive.pairs) && none(&gone.pairs), "{name}: {gone:?}");
    assert!(none(&gone.generators), "{name}: {gone:?}");
}

fn same(labels: &[&str]) -> impl Fn(usize, usize) -> Vec<String> {
    move |_, _| labels.iter().map(|label| label.to_string()).collect()
}

#[test]
fn keys_of_falcon_are_wiped() {
    let make = |party| Falcon::<u64>::new(party, falcon::Options::default()).expect("set-up");
    check("Falcon", remains(3, same(&["falcon component"]), make));
}

#[test]
fn keys_of_malicious_falcon_are_wiped() {
    let labels = [
        "falcon component",
        "falcon proof coin",
        "falcon proof left",
        "falcon proof right",
    ];
    let options = falcon::Options {
        security: Security::Malicious,
        ..falcon::Options::default()
    };
    let make = |party| Falcon::<u64>::new(party, options).expect("set-up");
    check("malicious Falcon", remains(3, same(&labels), make));
}

#[test]
fn keys_of_bicoptor_are_wiped() {
    let options = bicoptor::Options::new(Truncation::Gap);
    let make = |party| bicoptor::ubl::Ubl::<u64>::new(party, options).expect("set-up");
    check("Bicoptor", remains(3, same(&["bicoptor pair"]), make));
}

#[test]
fn keys_of_shamir_are_wiped() {
    let labels = |i, j| {
        let of = |from, to| format!("shamir dealing of {from} to {to}");
        vec![of(i, j), of(j, i)]
    };
    let options = Options::new(5, LinkModel::LOCAL);
    let make = |party| Shamir::<F61>::new(party, &options).expect("set-up");
    check("Shamir", remains(5, labels, make));
}
