//! How inputs and results are shared: any `t` shares are uniform, any `t + 1` have the value.

use super::privacy::subjects;
use super::views::{N, P, cell};
use crate::subjects::shamir_over;
use tacit_algebra::Buffer;
use tacit_algebra::mersenne::{F5, Field, Matrix, combine};
use tacit_conformance::histograms::{LIMIT, count, from_law};
use tacit_conformance::{Subject, run};
use tacit_protocols::machine::{Call, KeyBits, Machine, Operand};
use tacit_protocols::shamir::{Comparison, Opening};

/// Every choice of `k` of `n` parties.
fn choices(n: usize, k: usize) -> Vec<Vec<usize>> {
    let subsets = (0u32..1 << n).filter(|s| s.count_ones() as usize == k);
    subsets
        .map(|s| (0..n).filter(|i| s >> i & 1 == 1).collect())
        .collect()
}

/// Any `t` shares are uniform whatever was shared, and fit every value; any `t + 1` have it.
#[test]
fn t_shares_tell_nothing_and_one_more_tells_all() {
    const EACH: usize = 1 << 15;
    for (parties, opening) in [(3, Opening::King), (4, Opening::King), (5, Opening::Direct)] {
        let subject = shamir_over::<F5>(parties, Comparison::Tree, opening);
        let t = subject.options.threshold;
        let all: Vec<i64> = (0..F5::P as i64).flat_map(|x| vec![x; EACH]).collect();
        let shares = run(&subject, |machine| {
            let own = (machine.party().id() == 0).then_some(&all[..]);
            let x = machine.input(0, all.len(), own)?;
            Ok(x.get::<Buffer<F5>>().clone())
        });
        for choice in choices(parties, t + 1) {
            let points: Vec<u64> = choice.iter().map(|&i| i as u64 + 1).collect();
            let rows: Vec<&[F5]> = choice.iter().map(|&i| &shares[i][..]).collect();
            let opened = combine(&Matrix::lagrange(&points, &[0]).data, &rows);
            let right = opened
                .iter()
                .zip(&all)
                .all(|(o, x)| o.to_u64() as i64 == *x);
            assert!(right, "parties {choice:?} of {parties}");
        }
        for choice in choices(parties, t) {
            for x in 0..P {
                let view = |i: usize| choice.iter().fold(0, |v, &p| v * P + cell(shares[p][i]));
                let counts = count((x * EACH..(x + 1) * EACH).map(view), P.pow(t as u32));
                assert!(
                    !counts.contains(&0),
                    "some shares of {choice:?} never come with {x}"
                );
                let off = from_law(&counts, &vec![1.0; counts.len()]);
                assert!(off < LIMIT, "shares of {choice:?} of {x}: {off}");
            }
        }
    }
}

/// What comes out is shared with degree `t`: any `t + 1` parties have the same value.
#[test]
fn results_are_shared_like_inputs() {
    const D: u32 = 2;
    for comparison in [Comparison::Tree, Comparison::Rot] {
        for subject in subjects(comparison) {
            let calls = [
                Call::relu(N),
                Call::drelu(N),
                Call::elementwise(N, 0),
                Call::truncate(N, D),
                Call::elementwise(N, D),
            ];
            let shares = run(&subject, |machine| {
                machine.prepare(&calls)?;
                let own = (machine.party().id() == 0).then_some(&[-3; N][..]);
                let x = machine.input(0, N, own)?;
                let (relu, drelu) = (
                    machine.relu(&x, KeyBits::ALL)?,
                    machine.drelu(&x, KeyBits::ALL)?,
                );
                let square = machine.mul(&x, &Operand::Secret(x.clone()), 0)?;
                let short = machine.truncate(&x, D)?;
                let one = machine.constant(&[1; N]);
                let product = machine.mul(&x, &Operand::Secret(one), D)?;
                let all = machine.concat(&[&relu, &drelu, &square, &short, &product]);
                Ok(all.get::<Buffer<F5>>().clone())
            });
            let opened = |choice: &Vec<usize>| {
                let points: Vec<u64> = choice.iter().map(|&i| i as u64 + 1).collect();
                let rows: Vec<&[F5]> = choice.iter().map(|&i| &shares[i][..]).collect();
                combine(&Matrix::lagrange(&points, &[0]).data, &rows)
            };
            let choices = choices(subject.parties, subject.options.threshold + 1);
            let first = opened(&choices[0]);
            assert_eq!(first[2 * N], F5::from_u64(9));
            assert!(
                choices.iter().all(|c| opened(c) == first),
                "{}",
                subject.name()
            );
            // One party's share of any of them is uniform.
            for party in &shares {
                for part in party.chunks(N) {
                    let counts = count(part.iter().map(|v| cell(*v)), P);
                    assert!(from_law(&counts, &[1.0; P]) < LIMIT, "{}", subject.name());
                }
            }
        }
    }
}
