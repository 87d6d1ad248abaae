//! What only Shamir sharing promises.

mod faults;
mod privacy;
mod sharing;
mod sliced;
mod truncation;
mod views;

use crate::subjects::TestedField;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::subjects::shamir_over;
use tacit_algebra::mersenne::{F5, F7, F13, F31, F61};
use tacit_conformance::{Subject, TIMEOUT, noise, run, run_on};
use tacit_net::testing::{Fate, mesh_with};
use tacit_protocols::machine::{Audience, Call, KeyBits, Machine, Operand};
use tacit_protocols::shamir::{Comparison, Opening};

/// Signs of `x` between every number of parties, by both comparisons.
fn exact_signs<F: TestedField>(x: &[i64], parties: &[usize]) {
    let n = x.len();
    for &parties in parties {
        for comparison in [Comparison::Tree, Comparison::Rot] {
            let subject = shamir_over::<F>(parties, comparison, Opening::Auto);
            let opened = run(&subject, |machine| {
                machine.prepare(&[Call::drelu(n)])?;
                let own = (machine.party().id() == 0).then_some(x);
                let share = machine.input(0, n, own)?;
                let bit = machine.drelu(&share, KeyBits::ALL)?;
                machine.reveal(&bit, Audience::All)
            });
            let want: Vec<i64> = x.iter().map(|&v| i64::from(v >= 0)).collect();
            assert!(
                opened.iter().all(|o| o.as_ref() == Some(&want)),
                "{}",
                subject.name()
            );
        }
    }
}

/// Every element of a small field, from its least to its greatest, `times` over.
fn all<F: TestedField>(times: usize) -> Vec<i64> {
    let most = (F::P / 2) as i64;
    (-most..=most).flat_map(|x| vec![x; times]).collect()
}

/// Where carries and signs change: around 0, the ends, and every power of two.
fn edges<F: TestedField>(times: usize) -> Vec<i64> {
    let most = (F::P / 2) as i64;
    let mut x = vec![0, most, -most];
    for bit in 0..F::BITS - 1 {
        x.extend(
            [-1, 0, 1]
                .into_iter()
                .flat_map(|d| [(1 << bit) + d, -(1i64 << bit) + d]),
        );
        x.extend([most - (1 << bit), (1 << bit) - most]);
    }
    x.retain(|v| v.abs() <= most);
    x.iter().flat_map(|x| vec![*x; times]).collect()
}

#[test]
fn the_sign_of_every_element_of_a_small_field_is_exact() {
    exact_signs::<F5>(&all::<F5>(200), &[3, 4, 5, 7, 9]);
    exact_signs::<F7>(&all::<F7>(60), &[3, 4, 5, 7, 9]);
    exact_signs::<F13>(&all::<F13>(1), &[3, 4, 5, 7]);
}

#[test]
fn signs_are_exact_wherever_carries_and_signs_change() {
    exact_signs::<F31>(&edges::<F31>(8), &[3, 4, 5, 7]);
    exact_signs::<F61>(&edges::<F61>(2), &[3, 4, 5, 7]);
    let random: Vec<i64> = noise(31, 3000).into_iter().map(|v| v >> 3).collect();
    exact_signs::<F61>(&random, &[3]);
}

/// Signs are exact between as many parties as there can be, by trees over the small field and over the large one.
#[test]
fn signs_are_exact_between_as_many_parties_as_there_can_be() {
    let few: Vec<i64> = edges::<F31>(1).into_iter().step_by(5).collect();
    exact_signs::<F31>(&few, &[15, 31, 63]);
    exact_signs::<F61>(&few, &[15, 31, 63]);
}

/// Signs and truncations between so many parties that bits are shared over the field of 64 elements, by masks of
/// both fields; the steps that show this must have been taken.
fn over_64_elements<F: TestedField>(parties: usize, threshold: usize, steps: &[&str]) {
    const D: u32 = 3;
    let subject =
        shamir_over::<F>(parties, Comparison::Tree, Opening::Auto).with_threshold(threshold);
    let x: Vec<i64> = edges::<F>(1)
        .into_iter()
        .filter(|v| v.abs() < 1 << (F::BITS - 2))
        .collect();
    let n = x.len();
    let taken: Arc<Mutex<BTreeSet<&str>>> = Arc::default();
    let tap = taken.clone();
    let mesh = mesh_with(parties, TIMEOUT, move |envelope| {
        let mut taken = tap.lock().expect("no thread panics");
        taken.insert(envelope.step);
        Fate::Deliver
    });
    let opened = run_on(mesh, |party| {
        let mut machine = subject.machine(party)?;
        machine.prepare(&[Call::drelu(n), Call::truncate(n, D)])?;
        let own = (machine.party().id() == 0).then_some(&x[..]);
        let share = machine.input(0, n, own)?;
        let bit = machine.drelu(&share, KeyBits::ALL)?;
        let short = machine.truncate(&share, D)?;
        let both = machine.concat(&[&bit, &short]);
        machine.reveal(&both, Audience::All)
    });
    for opened in opened {
        let opened = opened.expect("the program runs").expect("all hear it");
        let (bits, short) = opened.split_at(n);
        let signs = x.iter().map(|v| i64::from(*v >= 0));
        assert!(signs.eq(bits.iter().copied()), "{}", subject.name());
        let errors = x.iter().zip(short).map(|(v, short)| short - (v >> D));
        let name = subject.name();
        errors.for_each(|error| assert!((0..=1).contains(&error), "{name}: {error}"));
    }
    let taken = taken.lock().expect("no thread panics");
    assert!(steps.iter().all(|step| taken.contains(step)), "{taken:?}");
}

#[test]
fn signs_and_truncations_over_the_largest_small_field_are_right() {
    over_64_elements::<F61>(34, 16, &["shamir tree: masked sign"]);
    let steps = [
        "shamir tree: masked sign",
        "shamir truncate: masked carries",
    ];
    over_64_elements::<F31>(63, 1, &steps);
}

/// Nothing is prepared for calls of no elements, and nothing is sent.
#[test]
fn calls_of_no_elements_have_no_results() {
    for comparison in [Comparison::Tree, Comparison::Rot] {
        let subject = shamir_over::<F31>(3, comparison, Opening::Auto);
        let results = run(&subject, |machine| {
            let calls = [
                Call::relu(0),
                Call::drelu(0),
                Call::select(0),
                Call::truncate(0, 3),
                Call::elementwise(0, 0),
                Call::elementwise(0, 3),
                Call::maxpool(0, 4),
            ];
            machine.prepare(&calls)?;
            let none = machine.constant(&[]);
            let secret = Operand::Secret(none.clone());
            let results = [
                machine.relu(&none, KeyBits::ALL)?,
                machine.drelu(&none, KeyBits::ALL)?,
                machine.select(&none, &none, &none)?,
                machine.truncate(&none, 3)?,
                machine.mul(&none, &secret, 0)?,
                machine.mul(&none, &secret, 3)?,
                machine.maxpool(&none, 0, 4, KeyBits::ALL)?,
            ];
            Ok(results.map(|result| machine.len(&result)))
        });
        assert_eq!(results, [[0; 7]; 3], "{}", subject.name());
    }
}
