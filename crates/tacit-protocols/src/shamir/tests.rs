//! The offline phase's numbers, which parties in memory put together again: exactly uniform, and
//! made anew where a 0 was opened, which over 5 bits is often. And ten million truncations.

mod openings;

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use tacit_algebra::Prg;
use tacit_algebra::mersenne::{F5, F31, F61, Field, vec};
use tacit_conformance::histograms::{count, from_law};
use tacit_conformance::independence::{LIMIT, uneven};
use tacit_conformance::polynomials::coefficients;
use tacit_net::testing::{Fate, mesh_with};
use tacit_net::{LinkModel, Party, memory};

use super::deal::{Demand, Double};
use super::demand::Want;
use super::material::{Material, TruncTriple};
use super::{Comparison, Opening, Options, Shamir};
use crate::Error;
use crate::machine::{Call, Machine};

pub(super) const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);
pub(super) const P: usize = F5::P as usize;
pub(super) const L: usize = F5::BITS as usize;

pub(super) fn options(parties: usize, threshold: usize, comparison: Comparison) -> Options {
    Options {
        threshold,
        comparison,
        opening: Opening::Direct,
        ..Options::new(parties, LinkModel::LOCAL)
    }
}

pub(super) fn mesh(parties: usize) -> Vec<Party> {
    memory::mesh(parties, &LinkModel::LOCAL, TIMEOUT)
}

/// Runs a program at all parties; an error fails the test.
pub(super) fn run<F: Field, T: Send>(
    mesh: Vec<Party>,
    options: &Options,
    program: impl Fn(&mut Shamir<F>) -> Result<T, Error> + Sync,
) -> Vec<T> {
    tacit_net::testing::run(mesh, |party| {
        let mut machine = Shamir::<F>::new(party, options).expect("keys are agreed");
        program(&mut machine).expect("the program runs")
    })
}

/// What all parties share with polynomials of `degree`; that they are of no other is checked.
pub(super) fn open<F: Field>(shares: &[&[F]], degree: usize) -> Vec<F> {
    coefficients(shares, degree).remove(0)
}

/// [`open`] of material: to those who do not know it, all other coefficients are uniform, and so are the shares
/// of any `t` parties.
pub(super) fn open_hidden(what: &str, shares: &[&[F5]], degree: usize) -> Vec<u64> {
    let number = |row: Vec<F5>| row.into_iter().map(F5::to_u64).collect();
    let mut found: Vec<Vec<u64>> = coefficients(shares, degree)
        .into_iter()
        .map(number)
        .collect();
    let opened = found.remove(0);
    let off = uneven(&found, P as u64, &opened[..opened.len().min(1 << 15)]);
    assert!(
        off < LIMIT,
        "shares of {what}: {off} deviations from uniform"
    );
    opened
}

/// The parts of some material in the order of its declaration, doubles last.
fn parts<F: Field>(material: &Material<F>) -> Vec<&[F]> {
    let all = match material {
        Material::Product(double) => vec![&double.low, &double.high],
        Material::Truncate(m) => vec![&m.mask, &m.shifted, &m.msb],
        Material::SmallTree(m) => vec![&m.mask.numbers, &m.bit, &m.double.low, &m.double.high],
        Material::Tree(m) => vec![
            &m.mask,
            &m.bits,
            &m.b,
            &m.flip,
            &m.m,
            &m.zero,
            &m.double.low,
            &m.double.high,
        ],
        Material::Rot(m) => vec![
            &m.mask,
            &m.bits,
            &m.shift,
            &m.m,
            &m.zero,
            &m.double.low,
            &m.double.high,
        ],
    };
    all.into_iter().map(|part| &part[..]).collect()
}

/// The material of a call, opened part by part.
fn material(options: &Options, parties: usize, call: Call, degrees: &[usize]) -> Vec<Vec<u64>> {
    let all = run::<F5, _>(mesh(parties), options, |machine| {
        machine.prepare(&[call])?;
        Ok(machine.store.pop_front().expect("material was made").1)
    });
    let parts: Vec<Vec<&[F5]>> = all.iter().map(parts).collect();
    let opened = degrees.iter().enumerate().map(|(i, degree)| {
        let shares: Vec<&[F5]> = parts.iter().map(|party| party[i]).collect();
        open_hidden(&format!("part {i} of {call:?}"), &shares, *degree)
    });
    opened.collect()
}

/// Asserts by chi-square that all `kinds` are as frequent as the others.
pub(super) fn assert_uniform(what: &str, values: impl Iterator<Item = u64>, kinds: usize) {
    let counts = count(values.map(|v| v as usize), kinds);
    let mean = counts.iter().sum::<u64>() as f64 / kinds as f64;
    assert!(mean > 5.0, "{what}: too few samples");
    let off = from_law(&counts, &vec![1.0; kinds]);
    assert!(
        off < LIMIT,
        "{what}: {off} deviations from uniform, {counts:?}"
    );
}

/// The numbers whose bits, `[bit][element]`, are given.
pub(super) fn numbers(bits: &[u64], n: usize) -> Vec<u64> {
    assert!(bits.iter().all(|b| *b < 2), "a bit is 0 or 1");
    let number = |i| (0..L).map(|bit| bits[bit * n + i] << bit).sum();
    (0..n).map(number).collect()
}

/// Numbers of parties with thresholds to test.
pub(super) const SIZES: [(usize, usize); 5] = [(3, 1), (4, 1), (5, 2), (7, 1), (7, 2)];
/// Numbers of parties with thresholds: as many dealers as truncations have, and so many that truncations have masks of
/// the large field.
const MORE_SIZES: [(usize, usize); 2] = [(7, 3), (9, 4)];

/// The tree's material is uniform between so many parties that the tree is one over the large field.
#[test]
fn material_of_the_tree_over_the_large_field_is_uniform() {
    let (n, parties, t) = (1 << 15, 9, 4);
    let options = options(parties, t, Comparison::Tree);
    let degrees = [t, t, t, t, t, 2 * t, t, 2 * t];
    let made = material(&options, parties, Call::relu(n), &degrees);
    let [mask, bits, b, flip, m, zero, low, high] = &made[..] else {
        unreachable!("as many as degrees")
    };
    // SolvedBits: below p, so that p, all ones, is none of the kinds.
    let r = numbers(bits, n);
    assert!(r.iter().all(|r| *r < F5::P), "all ones");
    assert!(r == *mask);
    assert_uniform("SolvedBits", r.iter().copied(), P);
    // RandBit, RandNZ; independent of each other.
    assert!(b.iter().all(|b| *b < 2) && !m.contains(&0));
    let joint = |i: usize| (r[i] * 2 + b[i]) * 30 + m[i] - 1;
    assert_uniform("all three", (0..n).map(joint), P * 2 * 30);
    assert!(
        (0..n).all(|i| flip[i] == bits[i] * b[i]),
        "lowest bit times b"
    );
    // Zero, DoubleRand.
    assert!(zero.iter().all(|z| *z == 0));
    assert!(low == high && low.len() == (L + 1) * n);
    assert_uniform("DoubleRand", low.iter().copied(), P);
}

#[test]
fn material_of_the_rotation_is_uniform() {
    let (n, places) = (1 << 13, 8);
    for (parties, t) in SIZES {
        let options = options(parties, t, Comparison::Rot);
        let degrees = [t, t, t, t, 2 * t, t, 2 * t];
        let made = material(&options, parties, Call::drelu(n), &degrees);
        let [mask, bits, shift, m, zero, low, high] = &made[..] else {
            unreachable!("as many as degrees")
        };
        let r = numbers(bits, n);
        assert!(r == *mask && shift.iter().all(|h| *h < 2));
        let place = |i: usize| {
            let mut hot = (0..places).filter(|place| shift[place * n + i] == 1);
            let place = hot.next().expect("one place is 1");
            assert_eq!(hot.next(), None, "and no other");
            place as u64
        };
        let joint = (0..n).map(|i| r[i] * places as u64 + place(i));
        assert_uniform("number and shift", joint, P * places);
        assert!(!m.contains(&0));
        assert_uniform("RandNZ", m.iter().map(|m| m - 1), P - 1);
        assert!(zero.iter().all(|z| *z == 0) && low == high);
    }
}

#[test]
fn triples_of_truncations_are_those_of_a_uniform_mask() {
    let n = 1 << 13;
    for (parties, t) in SIZES.into_iter().chain(MORE_SIZES) {
        for d in 1..=F5::BITS - 2 {
            for product in [false, true] {
                let options = options(parties, t, Comparison::Tree);
                let call = match product {
                    false => Call::truncate(n, d),
                    true => Call::elementwise(n, d),
                };
                let degrees = [if product { 2 * t } else { t }, t, t];
                let made = material(&options, parties, call, &degrees);
                let [r, shifted, msb] = &made[..] else {
                    unreachable!("as many as degrees")
                };
                assert_uniform("mask", r.iter().copied(), P);
                assert!(r.iter().map(|r| r >> d).eq(shifted.iter().copied()));
                assert!(r.iter().map(|r| r >> (L - 1)).eq(msb.iter().copied()));
            }
        }
    }
}

/// Counts within six deviations of the binomial law.
fn about(n: usize, probability: f64) -> RangeInclusive<f64> {
    let mean = n as f64 * probability;
    let off = 6.0 * (mean * (1.0 - probability)).sqrt() + 1.0;
    mean - off..=mean + off
}

/// Every opened 0 leads to a new draw of that element alone, and those of new draws too.
#[test]
fn what_is_opened_as_0_is_drawn_again() {
    // So few that every opening is one message.
    let n = 1 << 12;
    let sizes: Arc<Mutex<Vec<(&str, usize)>>> = Arc::default();
    let tap = sizes.clone();
    let watched = mesh_with(3, TIMEOUT, move |envelope| {
        if envelope.from == 1 && envelope.to == 0 {
            let mut all = tap.lock().expect("no thread panics");
            all.push((envelope.step, envelope.payload.len()));
        }
        Fate::Deliver
    });
    let options = options(3, 1, Comparison::Rot);
    run::<F5, _>(watched, &options, |machine| {
        let mut pool = machine.draw(Demand {
            random: (L + 1) * n,
            double: 0,
            zero: (L + 1) * n,
        })?;
        let (mut rows, _) = machine.random_bits(&mut pool, L * n, 0)?;
        machine.replace_all_ones(&mut pool, &mut rows, n)
    });
    let sizes = sizes.lock().expect("no thread panics");
    let openings: Vec<(bool, usize)> = sizes
        .iter()
        .filter(|(step, _)| step.starts_with("shamir bits"))
        .map(|(step, len)| (step.contains("all ones"), *len))
        .collect();
    // Squares of L n numbers, of those that were 0, and so on; then the check of n columns, the
    // squares of the new columns, their check, and so on.
    let p = P as f64;
    let refused = 1.0 - (1.0 - 1.0 / p) * (1.0 - 0.5f64.powi(L as i32));
    let (mut expected_check, mut draws, mut checks) = (n, 0, 0);
    let mut columns = n;
    for pair in openings.windows(2) {
        let ((check, len), (next_check, next)) = (pair[0], pair[1]);
        if check {
            assert_eq!(len, expected_check);
            checks += 1;
            // A check is followed by the squares of the columns that it refuses.
            assert!(!next_check && next % L == 0, "{openings:?}");
            columns = next / L;
            assert!(
                about(len, refused).contains(&(columns as f64)),
                "{openings:?}"
            );
            expected_check = columns;
        } else if !next_check {
            draws += 1;
            assert!(about(len, 1.0 / p).contains(&(next as f64)), "{openings:?}");
        } else {
            assert_eq!(next, columns, "{openings:?}");
        }
    }
    assert_eq!(openings[0], (false, L * n));
    assert!(draws >= 3 && checks >= 2, "{openings:?}");
}

/// Where all that is opened is 0, whatever is drawn, the draws end.
#[test]
fn zeros_that_are_opened_again_and_again_are_an_error() {
    let refused = run::<F31, _>(mesh(3), &options(3, 1, Comparison::Rot), |machine| {
        machine.points.at_zero_2t.fill(F31::ZERO);
        let mut pool = machine.draw(Demand {
            random: 4,
            double: 0,
            zero: 3,
        })?;
        let mut rows = machine.zeros(F31::BITS as usize);
        let errors = [
            machine.random_bits(&mut pool, 1, 1).err(),
            machine.replace_all_ones(&mut pool, &mut rows, 1).err(),
            machine.prepare_pre_mult(1, 2).err(),
            machine.prepare(&[Call::relu(2)]).err(),
        ];
        Ok(errors.map(|error| error.map(|error| error.to_string())))
    });
    for words in refused.into_iter().flatten() {
        let words = words.expect("0 cannot be drawn for ever");
        assert!(words.contains("did not follow the protocol"), "{words}");
    }
}

/// Shares of `x` at every party's point, with random coefficients that all have in common.
fn dealt<F: Field>(prg: &mut Prg, x: &[F], degree: usize, id: usize) -> Vec<F> {
    let (point, mut power) = (F::from_u64(id as u64 + 1), F::ONE);
    let mut share = x.to_vec();
    for _ in 0..degree {
        power = power.mul(point);
        vec::axpy(&mut share, power, &prg.field(x.len()));
    }
    share
}

/// Ten million values of the whole range, sharings and products by turns, under uniform masks
/// that the test deals: not one error out of bounds.
fn ten_million<F: Field>(d: u32) {
    let (n, chunks, top) = (1_000_000, 10, 1i64 << (F::BITS - 2));
    let worst = run::<F, _>(mesh(3), &options(3, 1, Comparison::Tree), |machine| {
        let id = machine.party().id();
        let mut prg = Prg::new([F::BITS as u8; 16]);
        let (mut least, mut most) = (i64::MAX, i64::MIN);
        for chunk in 0..chunks {
            let (a, r) = (prg.field::<F>(n), prg.field::<F>(n));
            let a = a.iter().map(|a| a.to_u64() as i64 % (2 * top) - top);
            let a: Vec<i64> = a.collect();
            let product = chunk % 2 == 1;
            let degree = if product { 2 } else { 1 };
            let [high, msb] = [d, F::BITS - 1].map(|by| shifted(&r, by));
            let triple = TruncTriple {
                mask: dealt(&mut prg, &r, degree, id).into(),
                shifted: dealt(&mut prg, &high, 1, id).into(),
                msb: dealt(&mut prg, &msb, 1, id).into(),
            };
            let share = dealt(&mut prg, &vec::encode(&a), degree, id).into();
            let want = Want::Truncate { n, d, product };
            machine.store.push_back((want, Material::Truncate(triple)));
            let short = match product {
                true => machine.trunc_product(share, d)?,
                false => machine.trunc(share, d)?,
            };
            let opened = vec::decode(&machine.reveal_shares(super::REVEAL, short, 1)?);
            for (got, a) in opened.iter().zip(&a) {
                let error = got - (a >> d);
                (least, most) = (least.min(error), most.max(error));
            }
        }
        Ok((least, most))
    });
    assert_eq!(worst, [(0, 1); 3]);
}

fn shifted<F: Field>(v: &[F], by: u32) -> Vec<F> {
    v.iter().map(|v| F::from_u64(v.to_u64() >> by)).collect()
}

#[test]
fn ten_million_truncations_over_31_bits_stay_within_bounds() {
    ten_million::<F31>(12);
}

#[test]
fn ten_million_truncations_over_61_bits_stay_within_bounds() {
    ten_million::<F61>(20);
}

/// A double may be taken apart.
#[test]
fn a_double_is_taken_from_its_front() {
    let all: Vec<F5> = (0..9).map(F5::from_u64).collect();
    let mut double = Double {
        low: all.clone().into(),
        high: vec::neg(&all).into(),
    };
    let first = double.take(4);
    assert_eq!(
        (&first.low[..], &first.high[..]),
        (&all[..4], &vec::neg(&all[..4])[..])
    );
    assert_eq!(
        (&double.low[..], &double.high[..]),
        (&all[4..], &vec::neg(&all[4..])[..])
    );
}

/// Whatever a client gives every party, what they take in lies on polynomials of their degree, at 0 where those through
/// the first parties' parts are: a sharing keeps its values.
#[test]
fn what_a_client_gives_lies_on_polynomials() {
    const N: usize = 4;
    for (parties, threshold) in [(3, 1), (4, 1), (5, 2), (7, 2)] {
        let options = options(parties, threshold, Comparison::Auto);
        let number = |id: usize, i: usize| F61::from_u64((7919 * id * id + 104_729 * i + 1) as u64);
        let given = |id: usize| -> Vec<F61> { (0..N).map(|i| number(id, i)).collect() };
        let shares = run::<F61, _>(mesh(parties), &options, |machine| {
            let id = machine.party().id();
            let taken = machine.take_in(given(id).into())?;
            Ok(taken.to_vec())
        });
        let shares: Vec<&[F61]> = shares.iter().map(Vec::as_slice).collect();
        let first: Vec<Vec<F61>> = (0..=threshold).map(given).collect();
        let first: Vec<&[F61]> = first.iter().map(Vec::as_slice).collect();
        assert_eq!(open(&shares, threshold), open(&first, threshold));
    }
}
