//! What stays in a process's memory after use, in a test binary of its own: it reads all of it.

#![cfg(target_os = "linux")]

use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use tacit_net::testing::remains::Secrets;
use tacit_net::testing::{Fate, mesh_with, run};
use tacit_protocols::Truncation;
use tacit_protocols::falcon::Falcon;

const PARTIES: usize = 3;

/// The openings of pairs' keys while they travel, and the keys that they make, are nowhere once the
/// machines are gone: not in messages, hashers, generators, nor on the parties' stacks.
#[test]
fn keys_of_pairs_are_wiped() {
    let secrets = Arc::new(Mutex::new((Vec::new(), Secrets::default())));
    let seen = secrets.clone();
    let parties = mesh_with(PARTIES, Duration::from_secs(20), move |envelope| {
        if envelope.step == "key opening" {
            let (between, secrets) = &mut *seen.lock().unwrap();
            between.push((envelope.from, envelope.to));
            secrets.add(envelope.payload);
        }
        Fate::Deliver
    });
    let barrier = Barrier::new(PARTIES);
    let remains = run(parties, |party| {
        let id = party.id();
        drop(Falcon::<u64>::new(party, Truncation::Gap).expect("set-up"));
        // The others' threads, and their stacks, are there until all of it was read.
        barrier.wait();
        let control = [0x17u8; 32];
        let remains = (id == 0).then(|| {
            let (between, secrets) = &mut *secrets.lock().unwrap();
            for i in 0..between.len() {
                let (from, to) = between[i];
                let other = between.iter().position(|b| *b == (to, from));
                if let Some(other) = other.filter(|other| i < *other) {
                    secrets.add_sum(i, other);
                }
            }
            secrets.add(&control);
            secrets.remains()
        });
        barrier.wait();
        std::hint::black_box(&control);
        remains
    });
    let remains = remains.into_iter().flatten().next().expect("of party 0");
    let (control, keys) = remains.split_last().expect("the control");
    assert!(*control > 0, "what is there is found");
    assert_eq!(keys, [0; PARTIES * (PARTIES - 1) * 3 / 2]);
}
