//! The primitives over ideal OTs, and what they declare against the meters.

use std::collections::HashSet;
use std::time::Duration;

use tacit_algebra::ot::Transfers;
use tacit_algebra::{Bits, Prg, vec};
use tacit_net::LinkModel;
use tacit_net::memory::mesh;

use super::stock::recorder;
use super::*;
use crate::ot::ideal::{self, counted as run};
use crate::ot::{OtExtension, source};

fn numbers(seed: u8, bits: u32, n: usize) -> Vec<u64> {
    vec::low_bits(&Prg::new([seed; 16]).ring(n), bits)
}

fn bits(seed: u8, n: usize) -> Bits {
    Prg::new([seed; 16]).bits(n)
}

const SIZES: [usize; 7] = [0, 1, 2, 7, 64, 129, 20_001];

#[test]
fn gates_compute_functions_of_both_numbers() {
    let compare = Gate::xor(4, 2, |x, y| u64::from(x < y) | u64::from(x == y) << 1);
    let table: Vec<u64> = (0..256).map(|i| i * i * 13 % (1 << 14)).collect();
    let square = Gate::lookup(8, 14, &table);
    for n in SIZES {
        let [x, y] = [1, 2].map(|seed| numbers(seed, 4, n));
        let [u, v] = [3, 4].map(|seed| numbers(seed, 8, n / 3));
        let shares = run(|engine| {
            let own = [(&x, &u), (&y, &v)][engine.id()];
            engine.gates("test", &[(&compare, own.0), (&square, own.1)])
        });
        let [ours, theirs] = &shares;
        for i in 0..n {
            let expected = u64::from(x[i] < y[i]) | u64::from(x[i] == y[i]) << 1;
            assert_eq!(ours[0][i] ^ theirs[0][i], expected);
        }
        for i in 0..n / 3 {
            let expected = table[(u[i] + v[i]) as usize % 256];
            assert_eq!((ours[1][i] + theirs[1][i]) % (1 << 14), expected);
        }
    }
}

#[test]
fn products_run_in_both_directions() {
    for (n, width, lanes, fold) in [
        (0, 5, 1, 1),
        (1, 64, 1, 1),
        (70, 13, 3, 7),
        (9000, 21, 40, 90),
    ] {
        let count = 10;
        let rows = [1, 2].map(|seed| numbers(seed, width, count * lanes));
        let choices = [3, 4].map(|seed| bits(seed, n));
        let shares = run(|engine| {
            let (id, empty) = (engine.id(), (Vec::new(), Bits::default()));
            let job = |rows, choices| Correlation {
                bits: width,
                lanes,
                fold,
                n,
                rows,
                choices,
            };
            // Rows of party 0 with choices of party 1, and the reverse.
            let sent = job(&rows[id], &empty.1);
            let received = job(&empty.0, &choices[id]);
            engine.products("test", &[sent], &[received])
        });
        for sender in 0..2 {
            let [ours, theirs] = [&shares[sender][0], &shares[1 - sender][1]];
            let mut expected = vec![0u64; n / fold * lanes];
            for j in 0..n {
                for l in 0..lanes {
                    let number = rows[sender][j % count * lanes + l];
                    let product = number * u64::from(choices[1 - sender].get(j));
                    let sum = &mut expected[j / fold * lanes + l];
                    *sum = sum.wrapping_add(product);
                }
            }
            assert!(
                vec::low_bits(&vec::add(ours, theirs), width) == vec::low_bits(&expected, width)
            );
        }
    }
}

#[test]
fn ands_of_shared_bits() {
    for n in SIZES {
        let shares = run(|engine| {
            let of = |seed: u8| bits(seed + 10 * engine.id() as u8, n);
            let [x, y, z, u, v] = [1, 2, 3, 4, 5].map(of);
            engine.ands("test", &[(&z, &[&x, &y]), (&v, &[&u])])
        });
        let of = |seed: u8| bits(seed, n).xor(&bits(seed + 10, n));
        let [x, y, z, u, v] = [1, 2, 3, 4, 5].map(of);
        let got = |job: usize, i: usize| shares[0][job][i].xor(&shares[1][job][i]);
        assert!(got(0, 0) == x.and(&z) && got(0, 1) == y.and(&z) && got(1, 0) == u.and(&v));
    }
}

#[test]
fn opened_values_are_sums_for_those_who_learn_them() {
    for n in SIZES {
        for receiver in [None, Some(0), Some(1)] {
            let opened = run(|engine| {
                let own = numbers(1 + engine.id() as u8, 21, n);
                engine.open("test", 21, &own, receiver)
            });
            let sum = vec::add(&numbers(1, 21, n), &numbers(2, 21, n));
            let expected = vec::low_bits(&sum, 21);
            for (party, opened) in opened.into_iter().enumerate() {
                let learns = receiver.is_none_or(|receiver| receiver == party);
                assert!(opened == learns.then(|| expected.clone()));
            }
        }
    }
}

#[test]
fn ots_are_made_before_they_are_used_and_used_once() {
    let parties = mesh(2, &LinkModel::LOCAL, Duration::from_secs(20));
    let gate = Gate::xor(2, 1, |x, y| x & y & 1);
    let out = ideal::run(parties, [Demand::of(2, 2); 2], |engine| {
        let first = engine.gates("first", &[(&gate, &[1, 2, 3, 0])]);
        let second = engine.gates("second", &[(&gate, &[1, 2])]);
        Ok((first.is_ok(), second.map(|_| ())))
    });
    for (first, second) in out {
        assert!(first);
        let error = second.expect_err("no OTs are left").to_string();
        assert!(
            error.contains("'second' needs correlated randomness"),
            "{error}"
        );
    }
}

/// Hashed transfers one by one; those that occur twice.
fn each_once(hashed: &[(Transfers, usize)]) -> Result<HashSet<Transfers>, Transfers> {
    let mut seen = HashSet::new();
    for (of, n) in hashed {
        if let Some(twice) = (0..*n).map(|i| of.from(i)).find(|one| !seen.insert(*one)) {
            return Err(twice);
        }
    }
    Ok(seen)
}

/// Pads of both directions, of every kind of transfer, of several extensions and with some left over
/// in between, from every source: each transfer is hashed once at each end, so under the keys of its
/// number, which no other has.
#[test]
fn no_key_of_the_hash_makes_a_pad_twice_in_a_session() {
    let program = |engine: &mut Engine| {
        let (n, id) = (77, engine.id() as u8);
        let of = |seed: u8| bits(seed + 10 * id, n);
        engine.ands("and", &[(&of(1), &[&of(2), &of(3)]), (&of(4), &[&of(5)])])?;
        for m in 1..=8 {
            let table: Vec<u64> = (0..1 << m).collect();
            let gate = Gate::lookup(m, 8, &table);
            engine.gates("gate", &[(&gate, &numbers(id, m, n))])?;
        }
        let (rows, choices) = (numbers(id, 40, 7 * 5), bits(id, n));
        let job = |rows, choices| Correlation {
            bits: 40,
            lanes: 5,
            fold: 7,
            n,
            rows,
            choices,
        };
        let (none, empty) = (Vec::new(), Bits::default());
        engine.products("products", &[job(&rows, &empty)], &[job(&none, &choices)])
    };
    let mut counting = Engine::counting();
    program(&mut counting).expect("counts");
    let ots = counting.tally().ots;
    for (kind, more) in [
        (OtExtension::SoftSpoken { k: 1 }, 0),
        (OtExtension::SoftSpoken { k: 4 }, 1),
        (OtExtension::SoftSpoken { k: 8 }, 0),
        (OtExtension::Silent, 450_000),
    ] {
        let parties = mesh(2, &LinkModel::LOCAL, Duration::from_secs(60));
        let hashed = tacit_net::testing::run(parties, |mut party| {
            let source = source(&mut party, kind).expect("set-up");
            let mut engine = Engine::new(party, source).expect("set-up");
            for extra in [more, 3, 0] {
                let mut ots = ots;
                ots.iter_mut().for_each(|ots| *ots += Demand::cots(extra));
                engine.prepare(ots).expect("OTs");
                program(&mut engine).expect("runs");
            }
            recorder::taken()
        });
        let [ours, theirs] = [0, 1].map(|party| each_once(&hashed[party]));
        let ours = ours.unwrap_or_else(|twice| panic!("{kind:?}: {twice:?}"));
        let demand = ots[0].iter().chain(ots[1].iter());
        assert_eq!(ours.len(), 3 * demand.map(|(_, n)| n).sum::<usize>());
        assert!(theirs == Ok(ours), "{kind:?}");
        let again: Vec<_> = hashed[0].iter().chain(&hashed[1][..1]).copied().collect();
        assert!(
            each_once(&again).is_err(),
            "a transfer that is hashed twice"
        );
    }
}
