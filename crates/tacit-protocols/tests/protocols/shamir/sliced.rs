//! What the parties of a run see of openings over the small field.

use super::views::{HIGHER, MASKED, P, Row, Sent};
use crate::subjects::ShamirOver;
use std::collections::BTreeMap;
use tacit_algebra::BitRows;
use tacit_algebra::mersenne::{F5, Field};
use tacit_algebra::sliced::{Gf, Sliced};
use tacit_conformance::histograms::{count, couples};
use tacit_conformance::polynomials::{elements, small_coefficients};
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

/// What was seen: bytes of messages, pairs of shares of one value, and what was opened, with the polynomials
/// where everyone sends shares to everyone.
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
    match subject.options.opening {
        Opening::Direct => directly(subject, sent, &mut bits),
        _ => by_kings(subject, sent, &mut bits),
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
        let found = small_coefficients(&shares.iter().collect::<Vec<_>>(), degree);
        let found: Vec<_> = found.iter().map(elements).collect();
        bits.opened(&format!("#{i} {step}"), step, gf, &found[0]);
        bits.polynomials(&format!("#{i} {step}"), step, gf, &found);
        // Two shares of a bit of degree 1 are on a line through 0 or 1.
        let hidden = *step != SIGN || subject.options.threshold > 1;
        for (a, b) in couples(parties).filter(|_| hidden) {
            let [x, y] = [a, b].map(|from| elements(&shares[from]).concat());
            let all = 1 << gf.bits();
            let cells = x.iter().zip(&y);
            let cells = cells.map(|(x, y)| usize::from(*x) * all + usize::from(*y));
            let name = format!("shares of {a} and {b}: #{i} {step}");
            bits.shares.insert(name, count(cells, all * all));
        }
    }
}

/// The openings of a run through kings, from what each tells the party after it, which hears all.
fn by_kings(subject: &ShamirOver<F5>, sent: &Sent, bits: &mut Bits) {
    let (parties, gf) = (subject.parties, Gf::with_points(subject.parties));
    let next = |king: usize| (king + 1) % parties;
    let steps = |king: usize| sent[&(next(king), king)].iter();
    // Every king has a part of each masked value, and of each opening that follows.
    let mut columns: Vec<usize> = Vec::new();
    for king in 0..parties {
        let masked = steps(king).filter(|(step, _)| *step == MASKED);
        for (i, (_, share)) in masked.enumerate() {
            columns.resize(columns.len().max(i + 1), 0);
            columns[i] += share.len();
        }
    }
    let told = |king: usize| {
        let told = sent[&(king, next(king))].iter();
        let told = told.filter(|(step, _)| *step == VALUE);
        told.map(|(_, message)| message).collect::<Vec<_>>()
    };
    let told: Vec<_> = (0..parties).map(told).collect();
    let (mut cols, mut left, mut i) = (0, columns.into_iter(), 0);
    for (step, _) in steps(0) {
        if *step == MASKED {
            cols = left.next().expect("its length was added up");
        }
        if ![PRODUCTS, SIGN].contains(step) {
            continue;
        }
        let planes = if *step == SIGN { 1 } else { gf.bits() };
        let parts: Vec<&[u8]> = told.iter().map(|told| &told[i][..]).collect();
        let opened = together(&parts, planes, cols);
        let opened = match *step {
            SIGN => Sliced::of_bits(gf, &opened),
            _ => Sliced::new(gf, opened),
        };
        let name = format!("#{i} of kings, {step}");
        bits.opened(&name, step, gf, &elements(&opened));
        i += 1;
    }
    assert!(told.iter().all(|told| told.len() == i), "nothing is left");
}

/// What kings told of values of so many planes and columns: a king has values of its own, or, where there are
/// fewer than kings, whole words of columns.
fn together(parts: &[&[u8]], planes: usize, cols: usize) -> BitRows {
    let (kings, words) = (parts.len(), cols.div_ceil(64));
    let bits: usize = parts.iter().map(|part| part.len() * 8).sum();
    let values = bits / (planes * cols);
    let part = |(king, bytes): (usize, &&[u8])| {
        let (rows, cols) = match values < kings {
            false => (bytes.len() * 8 / cols, cols),
            true => {
                let at = |king: usize| (king * words / kings * 64).min(cols);
                (values * planes, at(king + 1) - at(king))
            }
        };
        BitRows::from_bytes(rows, cols, bytes).expect("whole planes")
    };
    let parts: Vec<BitRows> = parts.iter().enumerate().map(part).collect();
    let parts: Vec<&BitRows> = parts.iter().collect();
    match values < kings {
        true => BitRows::beside(&parts),
        false => BitRows::stack(&parts),
    }
}

impl Bits {
    /// Notes opened values.
    fn opened(&mut self, name: &str, step: &'static str, gf: Gf, values: &[Vec<u8>]) {
        let kinds = if step == SIGN { 2 } else { 1 << gf.bits() };
        for (row, values) in values.iter().enumerate() {
            let name = format!("opened: {name}, row {row}");
            self.rows.push(Row::new(step, name, kinds, numbers(values)));
        }
    }

    /// Notes the last coefficient of every polynomial, and all of them where these are of few kinds.
    fn polynomials(&mut self, name: &str, step: &str, gf: Gf, coefficients: &[Vec<Vec<u8>>]) {
        let all = 1 << gf.bits();
        for (row, values) in coefficients[coefficients.len() - 1].iter().enumerate() {
            let name = format!("opened: {name}, row {row}, {HIGHER}");
            self.rows.push(Row::new(HIGHER, name, all, numbers(values)));
        }
        // The lowest one of a bit is a bit.
        let lowest = if step == SIGN { 2 } else { all };
        let kinds = lowest * all.pow(coefficients.len() as u32 - 1);
        if kinds > 128 {
            return;
        }
        for (row, values) in coefficients[0].iter().enumerate() {
            let higher = coefficients[1..].iter();
            let cell = |i: usize| {
                let higher = higher.clone().map(|power| usize::from(power[row][i]));
                higher.rfold(0, |cell, power| cell * all + power) * lowest + usize::from(values[i])
            };
            let name = format!("coefficients: {name}, row {row}");
            self.shares
                .insert(name, count((0..values.len()).map(cell), kinds));
        }
    }
}

/// Elements of a small field as those of a large one, for rows of either.
fn numbers(elements: &[u8]) -> Vec<F5> {
    assert!(elements.iter().all(|element| usize::from(*element) < P));
    let number = |element: &u8| F5::from_u64((*element).into());
    elements.iter().map(number).collect()
}
