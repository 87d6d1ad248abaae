//! What the parties see does not depend on the inputs: every message of the online phase, pairs
//! of the shares that are opened together, what is opened and pairs of that, and where everyone
//! sends shares to everyone the other coefficients of these polynomials, against the exact laws and
//! between fixed inputs, by chi-square. The offline phase ends before any input comes; of what is
//! opened there the tests in `src/shamir/tests/` speak.

use super::views::{FIND, MASKED, N, P, Program, ROOT, Row, Seen, cell, observe, pairs};
use crate::subjects::{ShamirOver, shamir_over};
use tacit_algebra::mersenne::{F5, Field};
use tacit_conformance::Subject;
use tacit_conformance::histograms::{apart, count, couples, from_law};
use tacit_conformance::independence::LIMIT;
use tacit_protocols::Error;
use tacit_protocols::machine::{Audience, Call, KeyBits, Machine, Operand};
use tacit_protocols::machine::{Erased, Handle};
use tacit_protocols::shamir::{Comparison, Opening};

/// 0, 1 below it, and both sides of where the sign turns.
const INPUTS: [i64; 4] = [0, -1, (F5::P as i64 - 1) / 2, -(F5::P as i64 - 1) / 2];

/// The law of an opened element: the root of a tree is 0 half of the time, of the places of a
/// rotation one is, anything else is uniform.
fn law(row: &Row) -> Vec<f64> {
    let zero = match row.step {
        ROOT => 0.5,
        FIND => 1.0 / 8.0,
        _ => 1.0 / row.kinds as f64,
    };
    let other = (1.0 - zero) / (row.kinds as f64 - 1.0);
    let some = std::iter::once(zero).chain(std::iter::repeat_n(other, row.kinds - 1));
    some.chain(std::iter::repeat_n(0.0, P - row.kinds))
        .collect()
}

/// The greatest distance of what was seen from its exact law, which knows of no input.
fn worst_law(seen: &Seen) -> (f64, String) {
    let mut worst = (f64::NEG_INFINITY, String::new());
    let mut note = |off: f64, name: &str| {
        if off > worst.0 {
            worst = (off, name.to_string());
        }
    };
    for (name, counts) in &seen.shares {
        note(from_law(counts, &vec![1.0; counts.len()]), name);
    }
    for row in &seen.rows {
        let counts = count(row.values.iter().map(|v| cell(*v)), P);
        note(from_law(&counts, &law(row)), &row.name);
    }
    for (a, b) in couples(seen.rows.len()) {
        let (a, b) = (&seen.rows[a], &seen.rows[b]);
        if a.step == FIND && b.step == FIND {
            continue; // their zeros exclude each other, see below
        }
        let joint: Vec<f64> = law(a)
            .iter()
            .flat_map(|p| law(b).into_iter().map(move |q| p * q))
            .collect();
        let name = format!("{} with {}", a.name, b.name);
        note(from_law(&pairs(&a.values, &b.values), &joint), &name);
    }
    for (off, name) in &seen.uneven {
        note(*off, name);
    }
    for (name, places) in zero_places(seen) {
        note(from_law(&places, &vec![1.0; places.len()]), &name);
    }
    worst
}

/// Where every rotation has its one zero, jointly with its masked value.
fn zero_places(seen: &Seen) -> Vec<(String, Vec<u64>)> {
    let mut all = Vec::new();
    for (at, masked) in seen
        .rows
        .iter()
        .enumerate()
        .filter(|(_, r)| r.step == MASKED)
    {
        let later = seen.rows[at + 1..].iter().take_while(|r| r.step != MASKED);
        let rows: Vec<&Row> = later.filter(|r| r.step == FIND).collect();
        if rows.is_empty() {
            continue;
        }
        assert_eq!(rows.len(), 8);
        let place = |i: usize| {
            let mut zeros = (0..8).filter(|&row| rows[row].values[i] == F5::ZERO);
            let place = zeros.next().expect("a zero");
            assert_eq!(zeros.next(), None, "one zero only");
            place
        };
        let joint = (0..masked.values.len()).map(|i| cell(masked.values[i]) * 8 + place(i));
        all.push((format!("zero after {}", masked.name), count(joint, P * 8)));
    }
    all
}

/// Where two runs differ most.
fn worst(a: &Seen, b: &Seen) -> (f64, String) {
    assert!(
        a.shares.keys().eq(b.shares.keys()),
        "the same messages must flow"
    );
    assert_eq!(a.rows.len(), b.rows.len());
    let shares = a
        .shares
        .iter()
        .map(|(name, h)| (apart(h, &b.shares[name]), name.clone()));
    let single = a.rows.iter().zip(&b.rows).map(|(r, s)| {
        let [r_counts, s_counts] = [r, s].map(|x| count(x.values.iter().map(|v| cell(*v)), P));
        (apart(&r_counts, &s_counts), r.name.clone())
    });
    let joint = couples(a.rows.len()).map(|(i, k)| {
        let [p, q] = [a, b].map(|s| pairs(&s.rows[i].values, &s.rows[k].values));
        (
            apart(&p, &q),
            format!("{} with {}", a.rows[i].name, a.rows[k].name),
        )
    });
    shares
        .chain(single)
        .chain(joint)
        .max_by(|p, q| p.0.total_cmp(&q.0))
        .expect("messages were seen")
}

/// Subjects of 3 and of 5 parties, by kings and directly.
pub fn subjects(comparison: Comparison) -> Vec<ShamirOver<F5>> {
    let both = |n| [Opening::King, Opening::Direct].map(|o| shamir_over::<F5>(n, comparison, o));
    [3, 5].into_iter().flat_map(both).collect()
}

/// Holds a program's messages against their laws, and against those of other inputs.
fn hides_its_input(comparison: Comparison, calls: &[Call], program: Program) {
    for subject in subjects(comparison) {
        let runs = INPUTS.map(|x| observe(&subject, x, calls, program));
        for (x, seen) in INPUTS.iter().zip(&runs) {
            let (off, name) = worst_law(seen);
            assert!(
                off < LIMIT,
                "of {x}: {off} from the law, '{name}', {}",
                subject.name()
            );
            let (off, name) = worst(&runs[0], seen);
            assert!(
                off < LIMIT,
                "{x} and 0 are {off} apart, '{name}', {}",
                subject.name()
            );
        }
    }
}

fn relu(machine: &mut Erased, x: &Handle) -> Result<(), Error> {
    machine.relu(x, KeyBits::ALL).map(drop)
}

fn drelu(machine: &mut Erased, x: &Handle) -> Result<(), Error> {
    machine.drelu(x, KeyBits::ALL).map(drop)
}

fn maxpool(machine: &mut Erased, x: &Handle) -> Result<(), Error> {
    machine.maxpool(x, N / 4, 4, KeyBits::ALL).map(drop)
}

fn truncate(machine: &mut Erased, x: &Handle) -> Result<(), Error> {
    machine.truncate(x, 2).map(drop)
}

fn product(machine: &mut Erased, x: &Handle) -> Result<(), Error> {
    machine.mul(x, &Operand::Secret(x.clone()), 2).map(drop)
}

fn square(machine: &mut Erased, x: &Handle) -> Result<(), Error> {
    machine.mul(x, &Operand::Secret(x.clone()), 0).map(drop)
}

fn select(machine: &mut Erased, x: &Handle) -> Result<(), Error> {
    let three = machine.constant(&[3; N]);
    machine.select(x, x, &three).map(drop)
}

const MAXPOOL: Call = Call::maxpool(N / 4, 4);

#[test]
fn no_message_of_a_sign_by_the_tree_depends_on_the_input() {
    hides_its_input(Comparison::Tree, &[Call::drelu(N)], drelu);
    hides_its_input(Comparison::Tree, &[Call::relu(N)], relu);
    hides_its_input(Comparison::Tree, &[MAXPOOL], maxpool);
}

/// No message of a sign depends on the input, between so many parties that the tree is one over the large field.
#[test]
fn no_message_of_a_sign_by_the_tree_of_many_parties_depends_on_the_input() {
    let subject = shamir_over::<F5>(9, Comparison::Tree, Opening::King);
    let calls = [Call::relu(N)];
    let runs = INPUTS.map(|x| observe(&subject, x, &calls, relu));
    for seen in &runs {
        let (off, name) = worst_law(seen);
        assert!(off < LIMIT, "{off} from the law, '{name}'");
        let (off, name) = worst(&runs[0], seen);
        assert!(off < LIMIT, "{off} apart, '{name}'");
        assert!(seen.rows.iter().any(|row| row.step == ROOT));
    }
}

#[test]
fn no_message_of_a_sign_by_the_rotation_depends_on_the_input() {
    hides_its_input(Comparison::Rot, &[Call::drelu(N)], drelu);
    hides_its_input(Comparison::Rot, &[Call::relu(N)], relu);
    hides_its_input(Comparison::Rot, &[MAXPOOL], maxpool);
}

#[test]
fn no_message_of_products_and_truncations_depends_on_the_input() {
    let tree = Comparison::Tree;
    hides_its_input(tree, &[Call::truncate(N, 2)], truncate);
    hides_its_input(tree, &[Call::elementwise(N, 2)], product);
    hides_its_input(tree, &[Call::elementwise(N, 0)], square);
    hides_its_input(tree, &[Call::select(N)], select);
}

/// The tests bite: a program that opens a value, or its sign only, is found out.
#[test]
fn a_leak_is_noticed() {
    fn value(machine: &mut Erased, x: &Handle) -> Result<(), Error> {
        machine.relu(x, KeyBits::ALL)?;
        machine.reveal(x, Audience::All).map(drop)
    }
    fn sign(machine: &mut Erased, x: &Handle) -> Result<(), Error> {
        let sign = machine.drelu(x, KeyBits::ALL)?;
        machine.reveal(&sign, Audience::All).map(drop)
    }
    for comparison in [Comparison::Tree, Comparison::Rot] {
        for subject in subjects(comparison) {
            for (calls, leaky) in [
                ([Call::relu(N)], value as Program),
                ([Call::drelu(N)], sign),
            ] {
                let runs = [0, -1].map(|x| observe(&subject, x, &calls, leaky));
                for (off, name) in [worst(&runs[0], &runs[1]), worst_law(&runs[0])] {
                    assert!(
                        off > LIMIT && name.contains("shamir reveal"),
                        "{off} in '{name}'"
                    );
                }
            }
        }
    }
}
