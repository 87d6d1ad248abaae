//! The material of comparisons over the small field, which parties in memory put together again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use tacit_algebra::Buffer;
use tacit_algebra::mersenne::{F5, Field, Matrix};
use tacit_algebra::sliced::{Map, Sliced};
use tacit_conformance::independence::{Bits, LIMIT, PARITY_LIMIT, uneven};
use tacit_conformance::polynomials::{coefficients, elements, small_coefficients};
use tacit_net::testing::{Fate, mesh_with};

use super::super::Comparison;
use super::super::material::{Material, SmallTree};
use super::super::tests::{
    P, SIZES, TIMEOUT, assert_uniform, mesh, numbers, open_hidden, options, run,
};
use super::numbers::Dealt;
use crate::machine::{Call, Machine};

/// The coefficients of what all parties share over the small field with polynomials of `degree`, element by
/// element, and the bits of one.
fn small(shares: &[&Sliced], degree: usize) -> (Vec<Vec<u8>>, u32) {
    let found = small_coefficients(shares, degree);
    let found = found.iter().map(|power| elements(power).concat());
    (found.collect(), shares[0].gf().bits() as u32)
}

/// Of polynomials, whose values are the first coefficients, the others are uniform together, and with them those
/// of others with the same values.
fn assert_hidden(what: &str, (found, k): &(Vec<Vec<u8>>, u32), others: &[Vec<u8>]) {
    let bits = |row: &Vec<u8>| Bits::new(*k, row.iter().map(|v| (*v).into()));
    let higher = found[1..].iter().chain(others).map(bits);
    let higher = higher.reduce(|all, power| all.with(&power));
    let off = higher.expect("it is shared").unfair(&bits(&found[0]));
    assert!(
        off < PARITY_LIMIT,
        "shares of {what}: a parity is {off} off"
    );
}

/// What all parties share over the small field with polynomials of `degree`, which hide it.
fn open_small(what: &str, shares: &[&Sliced], degree: usize) -> Vec<u64> {
    let found = small(shares, degree);
    assert_hidden(what, &found, &[]);
    found.0[0].iter().map(|v| (*v).into()).collect()
}

#[test]
fn material_of_the_tree_over_the_small_field_is_uniform() {
    let n = 1 << 15;
    for (parties, t) in SIZES {
        let options = options(parties, t, Comparison::Tree);
        let all = run::<F5, _>(mesh(parties), &options, |machine| {
            machine.prepare(&[Call::relu(n)])?;
            Ok(machine.store.pop_front().expect("material was made").1)
        });
        let trees: Vec<&SmallTree<F5>> = all
            .iter()
            .map(|material| match material {
                Material::SmallTree(tree) => tree,
                _ => unreachable!("a sign by the tree"),
            })
            .collect();
        let large = |what: &str, of: &dyn Fn(&SmallTree<F5>) -> &Buffer<F5>| {
            let shares: Vec<&[F5]> = trees.iter().map(|tree| &of(tree)[..]).collect();
            open_hidden(what, &shares, t)
        };
        let small = |what: &str, of: &dyn Fn(&SmallTree<F5>) -> &Sliced| {
            let shares: Vec<&Sliced> = trees.iter().map(|tree| of(tree)).collect();
            open_small(what, &shares, t)
        };
        // EdaBits: below p, so that p, all ones, is none of the kinds.
        let r = large("edaBits", &|tree| &tree.mask.numbers);
        assert_eq!(numbers(&small("edaBits", &|tree| &tree.mask.bits), n), r);
        assert_uniform("edaBits", r.iter().copied(), P);
        // DaBits; independent of each other and of the numbers.
        let b = large("daBits", &|tree| &tree.bit);
        assert_eq!(small("daBits", &|tree| &tree.small_bit), b);
        assert_uniform("both", (0..n).map(|i| r[i] * 2 + b[i]), 2 * P);
        assert_uniform("neighbours", (1..n).map(|i| b[i - 1] * 2 + b[i]), 4);
        doubles_are_uniform(&trees, t, n);
        small_doubles_are_uniform(&trees, t);
    }
}

/// DoubleRand: one number by polynomials of both degrees, which are independent but for it.
fn doubles_are_uniform(trees: &[&SmallTree<F5>], t: usize, n: usize) {
    let coefficients = |of: &dyn Fn(&SmallTree<F5>) -> &Buffer<F5>, degree: usize| {
        let shares: Vec<&[F5]> = trees.iter().map(|tree| &of(tree)[..]).collect();
        let found = coefficients(&shares, degree).into_iter();
        let number = |row: Vec<F5>| row.into_iter().map(F5::to_u64).collect();
        found.map(number).collect::<Vec<Vec<u64>>>()
    };
    let low = coefficients(&|tree| &tree.double.low, t);
    let high = coefficients(&|tree| &tree.double.high, 2 * t);
    assert!(low[0] == high[0] && low[0].len() == n);
    assert_uniform("DoubleRand", low[0].iter().copied(), P);
    let higher = [&low[1..], &high[1..]].concat();
    let off = uneven(&higher, P as u64, &low[0]);
    assert!(off < LIMIT, "shares of DoubleRand: {off} deviations off");
}

/// [`doubles_are_uniform`] over the small field.
fn small_doubles_are_uniform(trees: &[&SmallTree<F5>], t: usize) {
    let drawn = trees.iter().map(|tree| tree.products.drawn());
    let low: Vec<&Sliced> = drawn.clone().map(|double| &double.low).collect();
    let high: Vec<&Sliced> = drawn.map(|double| &double.high).collect();
    let (low, high) = (small(&low, t), small(&high, 2 * t));
    assert!(low.0[0] == high.0[0]);
    let values = low.0[0].iter().map(|v| (*v).into());
    assert_uniform("DoubleRand of bits", values, 1 << low.1);
    assert_hidden("DoubleRand of bits", &high, &low.0[1..]);
}

/// A dealer's bits are those of its number, and shared so that `t` shares tell nothing of them.
#[test]
fn dealers_numbers_and_their_bits_are_shared_by_uniform_polynomials() {
    let (n, d) = (1 << 15, 2);
    for (parties, t) in SIZES {
        let options = options(parties, t, Comparison::Tree);
        let all = run::<F5, _>(mesh(parties), &options, |machine| {
            machine.deal_numbers(n, &[(n, d)])
        });
        let large = |what: &str, of: &dyn Fn(&Dealt<F5>) -> &Buffer<F5>| {
            let shares: Vec<&[F5]> = all.iter().map(|dealt| &of(dealt)[..]).collect();
            open_hidden(what, &shares, t)
        };
        let sums = large("numbers", &|dealt| &dealt.numbers);
        let uppers = large("upper bits", &|dealt| &dealt.upper);
        let dealers = (0..=t).map(|dealer| {
            let shares: Vec<&Sliced> = all.iter().map(|dealt| &dealt.bits[dealer]).collect();
            numbers(&open_small("a dealer's bits", &shares, t), n)
        });
        let dealers: Vec<Vec<u64>> = dealers.collect();
        assert_eq!(all[0].bits.len(), t + 1);
        let sum = |of: &dyn Fn(u64) -> u64, i: usize| {
            dealers.iter().map(|dealt| of(dealt[i])).sum::<u64>() % F5::P
        };
        assert!((0..n).all(|i| sum(&|r| r, i) == sums[i]));
        assert!((0..n).all(|i| sum(&|r| r >> d, i) == uppers[i]));
        for numbers in dealers {
            assert_uniform("a dealer's numbers", numbers.into_iter(), P);
        }
    }
}

/// Messages with bits of dealers, by sender and receiver, where `n` numbers are dealt.
fn messages_of_dealers(parties: usize, t: usize, n: usize) -> BTreeMap<(usize, usize), usize> {
    let sent: Arc<Mutex<BTreeMap<_, usize>>> = Arc::default();
    let tap = sent.clone();
    let watched = mesh_with(parties, TIMEOUT, move |envelope| {
        if envelope.step == "shamir edaBits: a dealer's bits" {
            let mut sent = tap.lock().expect("no thread panics");
            *sent.entry((envelope.from, envelope.to)).or_default() += 1;
        }
        Fate::Deliver
    });
    let options = options(parties, t, Comparison::Tree);
    run::<F5, _>(watched, &options, |machine| {
        machine.deal_numbers(n, &[]).map(drop)
    });
    let sent = sent.lock().expect("no thread panics");
    sent.clone()
}

/// One of `t + 1` is not corrupt: with fewer the corrupt parties may know all summands of a number.
#[test]
fn every_number_is_the_sum_of_one_more_dealers_than_may_be_corrupt() {
    let more = [(5, 1), (7, 3), (9, 1), (9, 2), (9, 3), (9, 4)];
    for (parties, t) in SIZES.into_iter().chain(more) {
        // One part, whose dealers send what their receivers do not draw.
        let sent = messages_of_dealers(parties, t, 64);
        let senders: BTreeSet<usize> = sent.keys().map(|(from, _)| *from).collect();
        assert_eq!(senders.len(), t + 1, "{t} of {parties}");
        assert!(sent.values().all(|messages| *messages == 1));
        assert_eq!(sent.len(), (t + 1) * (parties - 1 - t));
        // A part for each party as the first of its dealers.
        let sent = messages_of_dealers(parties, t, 256 * parties);
        assert!(sent.values().all(|messages| *messages == t + 1));
        assert_eq!(sent.len(), parties * (parties - 1 - t));
    }
}

/// Of dealings by all no more sharings are made than `t` dealers leave uniform; that any `n - t` columns of these
/// matrices are independent is tested where they are written.
#[test]
fn dealings_are_made_into_as_many_sharings_as_are_uniform() {
    for (n, t) in (3..=9).flat_map(|n| (1..=(n - 1) / 2).map(move |t| (n, t))) {
        let options = options(n, t, Comparison::Tree);
        let right = run::<F5, _>(mesh(n), &options, |machine| {
            let small = Map::vandermonde(machine.small.gf, n - t, n);
            Ok(machine.extraction == Matrix::vandermonde(n - t, n)
                && machine.small.extraction == small
                && machine.params.width(n - t) == 1
                && machine.params.width(n - t + 1) == 2)
        });
        assert!(right.iter().all(|right| *right), "{t} of {n}");
    }
}
