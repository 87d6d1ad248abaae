//! What only Shamir sharing promises.

mod faults;
mod privacy;
mod sharing;
mod sliced;
mod truncation;
mod views;

use crate::subjects::shamir_over;
use tacit_algebra::mersenne::{F5, F7, F13, F31, F61, Field};
use tacit_conformance::{Subject, noise, run};
use tacit_protocols::machine::{Audience, Call, KeyBits, Machine};
use tacit_protocols::shamir::{Comparison, Opening};

/// Signs of `x` between every number of parties, by both comparisons.
fn exact_signs<F: Field>(x: &[i64], parties: &[usize]) {
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
fn all<F: Field>(times: usize) -> Vec<i64> {
    let most = (F::P / 2) as i64;
    (-most..=most).flat_map(|x| vec![x; times]).collect()
}

/// Where carries and signs change: around 0, the ends, and every power of two.
fn edges<F: Field>(times: usize) -> Vec<i64> {
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

/// By trees over the small field and over the large one.
#[test]
fn signs_are_exact_between_as_many_parties_as_there_can_be() {
    let few: Vec<i64> = edges::<F31>(1).into_iter().step_by(5).collect();
    exact_signs::<F31>(&few, &[15, 31, 63]);
    exact_signs::<F61>(&few, &[15, 31, 63]);
}
