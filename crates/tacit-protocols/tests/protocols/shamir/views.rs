//! What the parties of a run see: its messages, put together to what was opened.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::sliced;
use crate::subjects::ShamirOver;
use tacit_algebra::mersenne::{F5, Field};
use tacit_conformance::histograms::{count, couples};
use tacit_conformance::independence::uneven;
use tacit_conformance::polynomials::coefficients;
use tacit_conformance::{Subject, TIMEOUT, run_on};
use tacit_net::testing::{Fate, Recorder, mesh_with};
use tacit_protocols::Error;
use tacit_protocols::machine::{Call, Machine};
use tacit_protocols::machine::{Erased, Handle};
use tacit_protocols::shamir::Opening;

/// Elements in a run, all of the same value; every one is a sample.
pub const N: usize = 15_000;
/// The longest message of an opening, longer ones follow in pieces; no multiple of `N` is one.
const PIECE: usize = 1 << 15;
pub const P: usize = F5::P as usize;

const VALUE: &str = "shamir reveal: value";
const INPUT: &str = "shamir input";
pub const MASKED: &str = "shamir comparison: masked value";
pub const ROOT: &str = "shamir tree: root";
pub const FIND: &str = "shamir rotation: find";
/// What is no opened value, but a coefficient of its polynomial, which everyone sees where all shares are sent.
pub const HIGHER: &str = "higher coefficient";

pub type Program = fn(&mut Erased, &Handle) -> Result<(), Error>;

/// Messages: step and bytes, in the order in which one party sent them to another; pieces of openings over the
/// large field are put together.
pub type Sent = BTreeMap<(usize, usize), Vec<(&'static str, Vec<u8>)>>;
/// Messages as [`Sent`] has them, but those of the large field, by elements.
type SentElements = BTreeMap<(usize, usize), Vec<(&'static str, Vec<F5>)>>;

/// One opened row: what it is, its elements.
pub struct Row {
    pub step: &'static str,
    pub name: String,
    /// How many kinds of elements there are.
    pub kinds: usize,
    pub values: Vec<F5>,
}

impl Row {
    pub fn new(step: &'static str, name: String, kinds: usize, values: Vec<F5>) -> Self {
        Row {
            step,
            name,
            kinds,
            values,
        }
    }
}

/// What was seen of a run.
pub struct Seen {
    /// The streams of messages, and pairs of shares of one value.
    pub shares: BTreeMap<String, Vec<u64>>,
    pub rows: Vec<Row>,
    /// How far the higher coefficients of a row's polynomials are from uniform whatever the values are.
    pub uneven: Vec<(f64, String)>,
}

/// Runs `program` on `N` copies of `x`, shared by party 0.
pub fn observe(subject: &ShamirOver<F5>, x: i64, calls: &[Call], program: Program) -> Seen {
    let (recorder, parties) = (Recorder::new(), subject.parties);
    let online: Arc<Vec<_>> = Arc::new((0..parties).map(|_| AtomicBool::new(false)).collect());
    let (tap, started) = (recorder.clone(), online.clone());
    let mesh = mesh_with(parties, TIMEOUT, move |envelope| {
        if started[envelope.from].load(Ordering::SeqCst) {
            tap.record(&envelope);
        }
        Fate::Deliver
    });
    run_on(mesh, |party| {
        let mut machine = subject.machine(party).expect("keys are agreed");
        machine.prepare(calls).expect("material is made");
        let id = machine.party().id();
        online[id].store(true, Ordering::SeqCst);
        let own = (id == 0).then(|| vec![x; N]);
        let share = machine
            .input(0, N, own.as_deref())
            .expect("the input is shared");
        program(&mut machine, &share).expect("the program runs");
    });
    let sent = messages(&recorder, parties);
    let small = sliced::seen(subject, &sent);
    let sent = elements(sent);
    let mut shares = BTreeMap::new();
    for ((from, to), stream) in &sent {
        for (i, (step, values)) in stream.iter().enumerate() {
            // What is opened has laws of its own.
            if *step != VALUE {
                let name = format!("{from} -> {to}: #{i} {step}");
                shares.insert(name, count(values.iter().map(|v| cell(*v)), P));
            }
        }
    }
    let openings = match subject.options.opening {
        Opening::Direct => direct(subject, &sent, &mut shares),
        _ => by_kings(subject, &sent, &mut shares),
    };
    let (mut rows, uneven) = split(openings);
    rows.extend(small.rows);
    shares.extend(small.shares);
    Seen {
        shares,
        rows,
        uneven,
    }
}

/// The messages of the large field.
fn elements(sent: Sent) -> SentElements {
    let large = |(step, bytes): (&'static str, Vec<u8>)| {
        let elements = bytes.into_iter().map(|b| F5::from_u64(b.into()));
        (!sliced::is(step)).then(|| (step, elements.collect()))
    };
    let streams = sent.into_iter();
    streams
        .map(|(link, stream)| (link, stream.into_iter().filter_map(large).collect()))
        .collect()
}

/// What was sent, pieces put together.
fn messages(recorder: &Recorder, parties: usize) -> Sent {
    let mut sent = Sent::new();
    for to in 0..parties {
        let mut whole = vec![true; parties];
        for seen in recorder.view(to) {
            let values = seen.payload.iter().copied();
            let stream = sent.entry((seen.from, to)).or_default();
            match stream.last_mut().filter(|_| !whole[seen.from]) {
                Some((step, begun)) => {
                    assert_eq!(*step, seen.step);
                    begun.extend(values);
                }
                None => stream.push((seen.step, values.collect())),
            }
            whole[seen.from] =
                seen.step == INPUT || sliced::is(seen.step) || seen.payload.len() != PIECE;
        }
    }
    sent
}

pub fn cell(v: F5) -> usize {
    v.to_u64() as usize
}

/// How often which pair of elements stands at the same place.
pub fn pairs(a: &[F5], b: &[F5]) -> Vec<u64> {
    let cells = a.iter().zip(b).map(|(a, b)| cell(*a) * P + cell(*b));
    count(cells, P * P)
}

/// The shares that are added up in the openings that `to` hears of, by opening.
fn shares_to(sent: &SentElements, from: usize, to: usize) -> Vec<(&'static str, &Vec<F5>)> {
    let stream = sent.get(&(from, to)).into_iter().flatten();
    let shares = stream.filter(|(step, _)| ![VALUE, INPUT].contains(step));
    shares.map(|(step, values)| (*step, values)).collect()
}

/// An opening: its step, and the coefficients of its polynomials that are seen, the opened values first.
type Opened = (&'static str, Vec<Vec<F5>>);

/// The openings of a run in which everyone sends to everyone, from the shares of all.
fn direct(
    subject: &ShamirOver<F5>,
    sent: &SentElements,
    pair: &mut BTreeMap<String, Vec<u64>>,
) -> Vec<Opened> {
    let (parties, t) = (subject.parties, subject.options.threshold);
    let before = |from: usize, by: usize| (from + parties - by) % parties;
    let each: Vec<_> = (0..parties)
        .map(|from| shares_to(sent, from, before(from, 1)))
        .collect();
    // Shares of a polynomial are sent to as many others as its degree.
    let mut far = shares_to(sent, 0, before(0, t + 1)).into_iter().peekable();
    let mut openings = Vec::new();
    for (i, opening) in each[0].iter().enumerate() {
        let step = opening.0;
        let shares: Vec<&[F5]> = each.iter().map(|stream| &stream[i].1[..]).collect();
        for (a, b) in couples(parties) {
            let name = format!("shares of {a} and {b}: #{i} {step}");
            pair.insert(name, pairs(shares[a], shares[b]));
        }
        let degree = match far.next_if_eq(opening) {
            Some(_) => 2 * t,
            None => t,
        };
        openings.push((step, coefficients(&shares, degree)));
    }
    openings
}

/// The openings of a run, from what the kings tell the party after them, which hears all.
fn by_kings(
    subject: &ShamirOver<F5>,
    sent: &SentElements,
    pair: &mut BTreeMap<String, Vec<u64>>,
) -> Vec<Opened> {
    let parties = subject.parties;
    let mut openings: Vec<Opened> = Vec::new();
    for king in 0..parties {
        let next = (king + 1) % parties;
        let told = sent[&(king, next)]
            .iter()
            .filter(|(step, _)| *step == VALUE);
        for (i, ((step, _), (_, values))) in
            shares_to(sent, next, king).iter().zip(told).enumerate()
        {
            if king == 0 {
                openings.push((step, vec![Vec::new()]));
            }
            assert_eq!(openings[i].0, *step, "every king has a part");
            openings[i].1[0].extend_from_slice(values);
        }
        // All that the king adds up, but for its own.
        for (a, b) in couples(parties) {
            let (first, second) = (shares_to(sent, a, king), shares_to(sent, b, king));
            for (i, (step, share)) in first.iter().enumerate() {
                let other = second.iter().find(|(name, other)| {
                    name == step && other.len() == share.len() && first.len() == second.len()
                });
                if let Some((_, other)) = other {
                    let name = format!("king {king}, shares of {a} and {b}: #{i} {step}");
                    pair.insert(name, pairs(share, other));
                }
            }
        }
    }
    openings
}

/// Openings as rows of one element for each masked value before them: the opened values, and the last of the
/// other coefficients; and how far these others are from uniform, of many the first and the last.
fn split(openings: Vec<Opened>) -> (Vec<Row>, Vec<(f64, String)>) {
    let (mut rows, mut off, mut len) = (Vec::new(), Vec::new(), N);
    let number = |values: &[F5]| values.iter().map(|v| v.to_u64()).collect::<Vec<u64>>();
    for (i, (step, coefficients)) in openings.into_iter().enumerate() {
        let (values, higher) = coefficients
            .split_first()
            .expect("the values are the first");
        if step == MASKED {
            len = values.len();
        }
        assert!(values.len() % len == 0, "{step}");
        for (row, values) in values.chunks(len).enumerate() {
            let name = format!("opened: #{i} {step}, row {row}");
            let part = |powers: &Vec<F5>| powers[row * len..(row + 1) * len].to_vec();
            if let [first, .., last] | [first @ last] = higher {
                let ends = match higher.len() {
                    1 => vec![number(&part(first))],
                    _ => vec![number(&part(first)), number(&part(last))],
                };
                off.push((uneven(&ends, P as u64, &number(values)), name.clone()));
                rows.push(Row::new(HIGHER, format!("{name}, {HIGHER}"), P, part(last)));
            }
            rows.push(Row::new(step, name, P, values.to_vec()));
        }
    }
    (rows, off)
}
