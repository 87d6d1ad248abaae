//! What the offline phase opens, as whole polynomials: parties see all shares of it, and so every coefficient. Each
//! is uniform, together with the others of its opening and with those of other openings, whatever the masks and
//! bits are that are made, which parties in memory put together again from their stores.

use std::sync::{Arc, Mutex};

use tacit_algebra::mersenne::{F5, Field, from_wire};
use tacit_algebra::sliced::{Gf, Sliced};
use tacit_algebra::{BitRows, Buffer};
use tacit_conformance::independence::{Bits, LIMIT, PARITY_LIMIT, uneven};
use tacit_conformance::polynomials::{coefficients, elements, small_coefficients};
use tacit_net::testing::{Envelope, Fate, mesh_with};

use super::super::Comparison;
use super::super::material::{Material, Rot, Tree};
use super::super::params::Params;
use super::super::small::MaskCounts;
use super::{L, P, TIMEOUT, open, options, run};
use crate::machine::{Call, Machine};

const SQUARES: &str = "shamir bits: squares and products";
const CHECK: &str = "shamir bits: not all ones";
const FLIP: &str = "shamir comparison: bit times bit";
const UNFOLD: &str = "shamir rotation: unfold shift";
const LINK: &str = "shamir daBits: masked bits";
const COMPRESS: &str = "shamir sum: three to two";
const GENERATE: &str = "shamir sum: bit by bit";
const JOIN: &str = "shamir carries: join";
const DESCEND: &str = "shamir carries: descend";
const CARRIES: &str = "shamir truncate: masked carries";
const OPENED: [&str; 10] = [
    SQUARES, CHECK, FLIP, UNFOLD, LINK, COMPRESS, GENERATE, JOIN, DESCEND, CARRIES,
];

/// One message of an opening in which everyone sends to everyone: all shares, and how many others each was sent
/// to, which is the degree of the polynomials.
struct Opening {
    step: &'static str,
    degree: usize,
    shares: Vec<Vec<u8>>,
}

/// What one party sends, by message, and to how many others.
type Sent = Vec<(&'static str, Vec<u8>, usize)>;

/// Keeps the shares that are opened.
fn note(sent: &mut [Sent], envelope: &Envelope<'_>) {
    let (from, to, parties) = (envelope.from, envelope.to, sent.len());
    if !OPENED.contains(&envelope.step) {
        return;
    }
    match (from + parties - to) % parties {
        1 => sent[from].push((envelope.step, envelope.payload.clone(), 1)),
        place => {
            let (step, share, receivers) = sent[from].last_mut().expect("the one before is first");
            assert!(*step == envelope.step && share == envelope.payload);
            assert_eq!(place, *receivers + 1);
            *receivers = place;
        }
    }
}

/// Makes the material of `calls`; what was opened on the way, and every party's store.
fn offline(
    (parties, t): (usize, usize),
    comparison: Comparison,
    calls: &[Call],
) -> (Vec<Opening>, Vec<Vec<Material<F5>>>) {
    let sent: Arc<Mutex<Vec<Sent>>> = Arc::new(Mutex::new(vec![Vec::new(); parties]));
    let tap = sent.clone();
    let watched = mesh_with(parties, TIMEOUT, move |envelope| {
        note(&mut tap.lock().expect("no thread panics"), &envelope);
        Fate::Deliver
    });
    let stores = run::<F5, _>(watched, &options(parties, t, comparison), |machine| {
        machine.prepare(calls)?;
        Ok(machine.store.drain(..).map(|(_, made)| made).collect())
    });
    let sent = sent.lock().expect("no thread panics");
    let opening = |i: usize| {
        let (step, _, degree) = sent[0][i];
        let same = |sent: &Sent| (sent[i].0, sent[i].2) == (step, degree);
        assert!(sent.iter().all(same), "the same messages flow");
        let shares = sent.iter().map(|sent| sent[i].1.clone()).collect();
        Opening {
            step,
            degree,
            shares,
        }
    };
    ((0..sent[0].len()).map(opening).collect(), stores)
}

/// What the parties share with degree `t` in a part of the `i`-th material.
fn stored(
    stores: &[Vec<Material<F5>>],
    i: usize,
    t: usize,
    part: impl Fn(&Material<F5>) -> &[F5],
) -> Vec<u64> {
    let shares: Vec<&[F5]> = stores.iter().map(|store| part(&store[i])).collect();
    open(&shares, t).into_iter().map(F5::to_u64).collect()
}

impl Opening {
    /// The coefficients of every polynomial over the large field, the opened values first.
    fn large(&self) -> Vec<Vec<u64>> {
        let share = |bytes: &Vec<u8>| from_wire::<F5>(bytes, bytes.len()).expect("elements");
        let shares: Vec<Vec<F5>> = self.shares.iter().map(share).collect();
        let shares: Vec<&[F5]> = shares.iter().map(|share| &share[..]).collect();
        let rows = coefficients(&shares, self.degree).into_iter();
        rows.map(|row| row.into_iter().map(F5::to_u64).collect())
            .collect()
    }

    /// The coefficients as bits of polynomials over the small field, of values of `cols` elements, the opened values
    /// first.
    fn small(&self, name: &str, cols: usize) -> Vec<Row> {
        let gf = Gf::with_points(self.shares.len());
        let share = |bytes: &Vec<u8>| {
            let planes = BitRows::from_bytes(bytes.len() * 8 / cols, cols, bytes);
            Sliced::new(gf, planes.expect("whole planes"))
        };
        let shares: Vec<Sliced> = self.shares.iter().map(share).collect();
        let found = small_coefficients(&shares.iter().collect::<Vec<_>>(), self.degree);
        let found: Vec<Vec<Vec<u8>>> = found.iter().map(elements).collect();
        let width = gf.bits() as u32;
        let row = |value: usize| {
            let bits = |power: usize| {
                // Of an opened bit the other planes are 0.
                let width = match (self.step, power) {
                    (CARRIES, 0) => 1,
                    _ => width,
                };
                Bits::new(width, found[power][value].iter().map(|v| (*v).into()))
            };
            let ends = bits(0).with(&bits(self.degree));
            let whole = (1..=self.degree).fold(bits(0), |all, power| all.with(&bits(power)));
            Row {
                name: format!("{name}, row {value}"),
                opened: bits(0),
                few: match (self.degree + 1) * gf.bits() {
                    ..=6 => whole.clone(),
                    _ => ends,
                },
                whole,
            }
        };
        (0..shares[0].values()).map(row).collect()
    }
}

/// A row of polynomials over the small field.
struct Row {
    name: String,
    opened: Bits,
    /// All coefficients, and where these are many the first and the last.
    whole: Bits,
    few: Bits,
}

/// What was opened over the small field while masks were made, of as many columns as each step works on.
fn small_rows(openings: &[Opening], params: &Params, counts: &MaskCounts) -> Vec<Row> {
    let words = counts.random_bits(params) / (L - 1);
    let all = counts.truncations + counts.signs + words;
    let (mut sums, mut linked, mut before) = (0, false, "");
    let mut rows = Vec::new();
    for (i, opening) in openings.iter().enumerate() {
        linked |= opening.step == LINK;
        sums += usize::from(opening.step == GENERATE && before != GENERATE);
        before = opening.step;
        let cols = match opening.step {
            COMPRESS => all - counts.truncations,
            CARRIES => counts.truncations,
            GENERATE | JOIN | DESCEND if linked => words,
            // The last numbers of truncations are added together with those of all else.
            GENERATE | JOIN | DESCEND if sums == params.threshold => all,
            GENERATE | JOIN | DESCEND => counts.truncations,
            _ => continue,
        };
        rows.extend(opening.small(&format!("#{i} {}", opening.step), cols));
    }
    rows
}

fn assert_fair(what: &str, seen: &Bits, others: &Bits) {
    let off = seen.unfair(others);
    assert!(off < PARITY_LIMIT, "{what}: a parity is {off} off");
}

/// Rows of the large field are uniform, and so they are whatever the others are.
fn assert_even(what: &str, rows: &[Vec<u64>], others: &[u64]) {
    for others in [&vec![0; rows[0].len()], others] {
        let off = uneven(rows, P as u64, others);
        assert!(off < LIMIT, "{what}: {off} deviations from uniform");
    }
}

/// The masks of a batch with truncations and, after them, signs: the truncations' masks, the signs' bits, and
/// their masks and bits together.
fn secrets(stores: &[Vec<Material<F5>>], t: usize) -> [Vec<u64>; 3] {
    let of = |i: usize, part: usize| {
        stored(stores, i, t, |made| match (made, part) {
            (Material::Truncate(made), _) => &made.mask,
            (Material::SmallTree(made), 0) => &made.mask.numbers,
            (Material::SmallTree(made), _) => &made.bit,
            _ => unreachable!("a truncation and a sign"),
        })
    };
    let (r, b) = (of(1, 0), of(1, 1));
    let sign = r.iter().zip(&b).map(|(r, b)| r * 2 + b).collect();
    [of(0, 0), b, sign]
}

/// Signs by the tree over the small field and truncations, of which a batch has both: truncations' masks are
/// the first columns, signs' those after them.
#[test]
fn what_is_opened_while_masks_of_both_fields_are_made_tells_nothing_of_them() {
    let n = 1 << 14;
    for (parties, t) in [(3, 1), (4, 1), (5, 2)] {
        let calls = [Call::truncate(n, 2), Call::drelu(n)];
        let (openings, stores) = offline((parties, t), Comparison::Tree, &calls);
        let [mask, b, sign] = secrets(&stores, t);
        let what = |step: &str| format!("{step}, {parties} parties");
        for step in [SQUARES, LINK, GENERATE, JOIN, DESCEND, CARRIES] {
            assert!(openings.iter().any(|o| o.step == step), "{}", what(step));
        }
        // The first draws are those of the signs' bits; later messages are of others.
        let squares = openings.iter().filter(|o| o.step == SQUARES);
        for squares in squares.filter(|o| o.shares[0].len() >= n) {
            let rows = squares.large();
            assert_even(&what(SQUARES), &rows[1..], &rows[0]);
            let both = rows[0].iter().zip(&b).map(|(square, b)| square * 2 + b);
            assert_even(&what(SQUARES), &rows[1..], &both.collect::<Vec<_>>());
        }
        for linked in openings.iter().filter(|o| o.step == LINK) {
            let rows = linked.large();
            assert_even(&what(LINK), &rows, &mask);
            assert_even(&what(LINK), &rows, &sign);
        }
        let params = Params::new::<F5>(parties, &options(parties, t, Comparison::Tree));
        let counts = MaskCounts {
            signs: n,
            truncations: n,
        };
        let rows = small_rows(&openings, &params.expect("parties can be"), &counts);
        let bits = |width: u32, all: &[u64]| Bits::new(width, all.iter().map(|v| *v as u32));
        small_rows_are_independent(&what(""), &rows, &bits(5, &mask), &bits(6, &sign));
    }
}

/// Every coefficient of what is opened over the small field, any two rows, and each row with the masks.
fn small_rows_are_independent(what: &str, rows: &[Row], mask: &Bits, sign: &Bits) {
    for (i, row) in rows.iter().enumerate() {
        let name = format!("{}{what}", row.name);
        assert_fair(&name, &row.whole, &row.whole.nothing());
        assert_fair(&format!("{name} with masks"), &row.few, mask);
        assert_fair(&format!("{name} with signs'"), &row.few, sign);
        let later = row.few.from(mask.len());
        if later.len() >= sign.len() {
            assert_fair(&format!("{name} with signs'"), &later, sign);
        }
        for other in &rows[..i] {
            let name = format!("{name} with {}", other.name);
            assert_fair(&name, &row.few, &other.few);
        }
    }
    // Top bit and carries of one mask.
    let carries = rows.iter().filter(|row| row.name.contains(CARRIES));
    let carries = carries.map(|row| row.opened.clone());
    let carries = carries.reduce(|all, opened| all.with(&opened));
    assert_fair(
        &format!("all carries{what}"),
        &carries.expect("carries"),
        mask,
    );
}

/// Rotations' numbers, shifts and factors other than 0.
#[test]
fn what_is_opened_while_rotations_are_made_tells_nothing_of_them() {
    let n = 1 << 13;
    for (parties, t) in [(3, 1), (5, 2)] {
        let (openings, stores) = offline((parties, t), Comparison::Rot, &[Call::drelu(n)]);
        let of = |part: &dyn Fn(&Rot<F5>) -> &Buffer<F5>| {
            stored(&stores, 0, t, |made| match made {
                Material::Rot(made) => part(made),
                _ => unreachable!("a sign by the rotation"),
            })
        };
        let (r, m) = (of(&|made| &made.mask), of(&|made| &made.m));
        let shift = of(&|made| &made.shift);
        let place = |i: usize| {
            (1..8)
                .map(|place| place as u64 * shift[place * n + i])
                .sum()
        };
        let places: Vec<u64> = (0..n).map(place).collect();
        // What squares and products are of, in their order: the bits of r, those of shifts, factors.
        let bits = (0..L * n).map(|i| r[i % n] >> (i / n) & 1);
        let shifts = (0..3 * n).map(|i| places[i % n] >> (i / n) & 1);
        let mut drawn: Vec<u64> = bits.chain(shifts).chain(m).collect();
        let what = |step: &str| format!("{step}, {parties} parties");
        for opening in openings.iter().filter(|o| o.shares[0].len() >= n) {
            let rows = opening.large();
            let (opened, higher) = rows.split_first().expect("what is opened is the first");
            assert_even(&what(opening.step), higher, opened);
            match opening.step {
                SQUARES => {
                    let rest = drawn.split_off(opened.len());
                    assert_even(&what(SQUARES), higher, &drawn);
                    drawn = rest;
                }
                CHECK => assert_even(&what(CHECK), higher, &r),
                _ => unfolded_are_even(&what(UNFOLD), &rows, &[&r, &places]),
            }
        }
        assert!(drawn.is_empty());
    }
}

/// Rows of as many elements as secrets, which they are independent of.
fn unfolded_are_even(what: &str, rows: &[Vec<u64>], secrets: &[&[u64]]) {
    let n = secrets[0].len();
    for at in (0..rows[0].len()).step_by(n) {
        let part = |power: &Vec<u64>| power[at..at + n].to_vec();
        let part: Vec<Vec<u64>> = rows.iter().map(part).collect();
        for secret in secrets {
            assert_even(what, &part, secret);
        }
    }
    assert_even(what, rows, secrets[0]);
}

/// What is opened while the tree's material is made tells nothing of it, between so many parties that the tree is one
/// over the large field.
#[test]
fn what_is_opened_while_the_tree_over_the_large_field_is_made_tells_nothing_of_it() {
    let (n, t) = (1 << 13, 4);
    let (openings, stores) = offline((9, t), Comparison::Tree, &[Call::drelu(n)]);
    let of = |part: &dyn Fn(&Tree<F5>) -> &Buffer<F5>| {
        stored(&stores, 0, t, |made| match made {
            Material::Tree(made) => part(made),
            _ => unreachable!("a sign by the tree over the large field"),
        })
    };
    let (r, b) = (of(&|made| &made.mask), of(&|made| &made.b));
    let sign: Vec<u64> = r.iter().zip(&b).map(|(r, b)| r * 2 + b).collect();
    let mut flips = 0;
    for opening in openings.iter().filter(|o| o.shares[0].len() >= n) {
        let rows = opening.large();
        assert_even(opening.step, &rows[1..], &rows[0][..n]);
        if opening.step == FLIP {
            assert_even(FLIP, &rows, &sign);
            flips += 1;
        }
    }
    assert_eq!(flips, 1);
}
