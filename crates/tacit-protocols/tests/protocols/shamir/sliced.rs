//! What the parties of a run see of openings over the small field.

use super::views::{MASKED, P, Row, Sent, cell};
use crate::subjects::ShamirOver;
use std::collections::BTreeMap;
use tacit_algebra::BitRows;
use tacit_algebra::mersenne::{F5, Field};
use tacit_algebra::sliced::{Gf, Map, Sliced};
use tacit_conformance::histograms::{count, couples};
use tacit_protocols::shamir::Opening;

/// Openings of products, and of signs.
const PRODUCTS: &str = "shamir carries: join";
const SIGN: &str = "shamir tree: masked sign";
/// What kings tell.
const VALUE: &str = "shamir open bits: value";

/// Whether a step's messages are of the small field.
pub fn is(step: &str) -> bool {
    [PRODUCTS, SIGN, VALUE].contains(&step)
}

/// What was seen: bytes of messages, pairs of shares of one value, and what was opened directly. What kings
/// tell is uniform by itself, as every message is.
#[derive(Default)]
pub struct Bits {
    pub shares: BTreeMap<String, Vec<u64>>,
    pub rows: Vec<Row>,
}

pub fn seen(subject: &ShamirOver<F5>, sent: &Sent) -> Bits {
    let mut bits = Bits::default();
    for ((from, to), stream) in sent {
        let small = stream.iter().enumerate().filter(|(_, (step, _))| is(step));
        for (i, (step, message)) in small {
            // The last byte may have bits that are always 0.
            let whole = &message[..message.len() - 1];
            let name = format!("{from} -> {to}: #{i} {step}");
            bits.shares
                .insert(name, count(whole.iter().map(|byte| (*byte).into()), 256));
        }
    }
    if subject.options.opening == Opening::Direct {
        directly(subject, sent, &mut bits);
    }
    bits
}

/// The openings of a run in which everyone sends to everyone, from what each sent the party before it.
fn directly(subject: &ShamirOver<F5>, sent: &Sent, bits: &mut Bits) {
    let parties = subject.parties;
    let gf = Gf::with_points(parties);
    let streams: Vec<_> = (0..parties)
        .map(|from| &sent[&(from, (from + parties - 1) % parties)])
        .collect();
    let mut cols = 0;
    // The owner of the input sends another message before these.
    let skip = |from: usize| streams[from].len() - streams[1].len();
    for (i, (step, message)) in streams[1].iter().enumerate() {
        if *step == MASKED {
            cols = message.len();
        }
        if !is(step) {
            continue;
        }
        let planes = message.len() * 8 / cols;
        let share = |from: usize| {
            let (name, message) = &streams[from][i + skip(from)];
            assert_eq!(name, step, "the same messages flow");
            let planes = BitRows::from_bytes(planes, cols, message).expect("whole planes");
            Sliced::new(gf, planes)
        };
        let shares: Vec<Sliced> = (0..parties).map(share).collect();
        let degree = match *step {
            SIGN => subject.options.threshold,
            _ => 2 * subject.options.threshold,
        };
        let points: Vec<u64> = (1..=degree as u64 + 1).collect();
        let used: Vec<&Sliced> = shares.iter().take(points.len()).collect();
        let opened = Map::lagrange(gf, &points, &[0]).apply(&used).remove(0);
        let kinds = if *step == SIGN { 2 } else { 1 << gf.bits() };
        for (row, values) in elements(&opened).into_iter().enumerate() {
            let name = format!("opened: #{i} {step}, row {row}");
            bits.rows.push(Row {
                step,
                name,
                kinds,
                values,
            });
        }
        // Two shares of a bit of degree 1 are on a line through 0 or 1.
        let hidden = *step != SIGN || subject.options.threshold > 1;
        for (a, b) in couples(parties).filter(|_| hidden) {
            let [x, y] = [a, b].map(|from| elements(&shares[from]).concat());
            let all = 1 << gf.bits();
            let cells = x.iter().zip(&y).map(|(x, y)| cell(*x) * all + cell(*y));
            let name = format!("shares of {a} and {b}: #{i} {step}");
            bits.shares.insert(name, count(cells, all * all));
        }
    }
}

/// The elements of every value, as numbers.
fn elements(x: &Sliced) -> Vec<Vec<F5>> {
    let k = x.gf().bits();
    assert!(1 << k <= P);
    let value = |value: usize| {
        let planes: Vec<_> = (0..k)
            .map(|b| x.planes().row_bits(value * k + b).expand())
            .collect();
        let element = |i: usize| {
            planes
                .iter()
                .enumerate()
                .map(move |(b, p)| u64::from(p[i]) << b)
        };
        (0..x.cols())
            .map(|i| F5::from_u64(element(i).sum()))
            .collect()
    };
    (0..x.values()).map(value).collect()
}
