//! The places of the largest values: of many, their cost, and what a receiver sees.

use crate::subjects::*;
use tacit_algebra::mersenne::F5;
use tacit_conformance::places::*;
use tacit_conformance::run;
use tacit_protocols::falcon::Truncation;
use tacit_protocols::machine::{KeyBits, Machine};
use tacit_protocols::math::TopK;
use tacit_protocols::shamir::{Comparison, Opening};

#[test]
fn many_values() {
    many_values_are_ranked_in_groups(&falcon_over::<u32>());
}

#[test]
fn declared_equals_metered() {
    costs(&falcon_over::<u32>(), None);
    costs(&malicious_over::<u64>(), None);
    costs(&ubl_over::<u64>(Truncation::Gap), None);
    costs(&rss_over::<u64>(Truncation::Gap), None);
}

#[test]
fn what_cannot_be_ranked_is_refused() {
    let top = TopK {
        windows: 1,
        size: 3,
        k: 1,
        keys: KeyBits::ALL,
        bits: None,
    };
    let rough = KeyBits::of(2, 5);
    for top in [
        TopK { size: 4, ..top },
        TopK { k: 0, ..top },
        TopK { k: 4, ..top },
        TopK { keys: rough, ..top },
        TopK {
            windows: usize::MAX,
            ..top
        },
    ] {
        let refused = run(&falcon_over::<u32>(), |machine| {
            let x = machine.constant(&[1, 2, 3]);
            Ok(top.apply(machine, &x).err().map(|e| e.to_string()))
        });
        let why = refused[0].as_deref().unwrap_or_default();
        assert!(why.contains("without a dropped bit"), "{top:?}: {why}");
    }
}

#[test]
fn the_receiver_sees_the_same_whatever_the_values() {
    views(&falcon_over::<u8>());
    views(&malicious_over::<u8>());
    views(&ubl_over::<u8>(Truncation::Gap));
    views(&rss_over::<u8>(Truncation::Gap));
    views(&shamir_over::<F5>(3, Comparison::Tree, Opening::King));
}

#[test]
fn a_receiver_of_the_values_is_seen_to_learn_them() {
    values_beside_the_places_are_seen(&falcon_over::<u8>());
}
