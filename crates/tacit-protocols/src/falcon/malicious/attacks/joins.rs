//! The table of joins in docs/spec/falcon.md, section 11.1, held against the coins that a prover
//! really draws and the messages that it has really sent by then.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Mutex;

use tacit_net::testing::adversary::{Strategy, Wires};

use super::super::coins::Draw;
use super::spoil::Spoil;
use super::steps::{OPENINGS, SHARES};
use super::workloads::{ALL, Workload};
use super::{LONG, against};

const SPEC: &str = include_str!("../../../../../../docs/spec/falcon.md");

thread_local! {
    /// The messages about folds that this thread's party has sent since its last acknowledgement, and
    /// what it has drawn after how many of them.
    static TRACE: RefCell<(usize, Vec<(Draw, usize)>)> = const { RefCell::new((0, Vec::new())) };
}

/// Keeps that this thread's party has drawn a coin as a prover.
pub(super) fn drawn(draw: Draw) {
    TRACE.with_borrow_mut(|(sent, all)| all.push((draw, *sent)));
}

/// A prover that follows the protocol; its messages are counted where its draws are.
struct Honest;

impl Strategy for Honest {
    fn sends(&mut self, wires: &mut Wires, to: usize, step: &'static str, payload: Vec<u8>) {
        TRACE.with_borrow_mut(|(sent, _)| match step {
            OPENINGS => *sent = 0,
            SHARES => *sent += 1,
            _ => {}
        });
        wires.send(to, step, payload);
    }
}

/// What a prover draws in a program, each with the folds that it has sent before.
fn draws(kind: &Workload) -> Vec<(Draw, usize)> {
    let all = Mutex::new(Vec::new());
    let ends = against::<u64, _>(0, None, LONG, Honest, |machine| {
        TRACE.take();
        let results = kind.run(machine, &Spoil::NONE);
        if machine.rss.party.id() == 0 {
            *all.lock().expect("nobody panicked") = TRACE.take().1;
        }
        results
    });
    assert!(ends.iter().all(Result::is_ok), "{} is honest", kind.name);
    all.into_inner().expect("nobody panicked")
}

/// The rows of the specification's table: what joins, its coin and the last message before it.
fn rows() -> Vec<[String; 3]> {
    let table = SPEC
        .split("| what joins | its coin |")
        .nth(1)
        .expect("the table is there");
    let lines = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let cells = |line: &str| -> [String; 3] {
        let cells: Vec<_> = line
            .split('|')
            .map(|cell| cell.trim().to_string())
            .collect();
        [1, 2, 3].map(|at| cells[at].clone())
    };
    lines.map(cells).collect()
}

/// The table's words for a coin drawn after so many folds have been sent, if it is there.
fn words(draw: Draw, sent: usize) -> Option<[String; 3]> {
    let (name, coin, message) = match (draw, sent) {
        (Draw::Theta, 0) => ("gates, by theta", "coin 0", "its products"),
        (Draw::Compression, 0) => ("products, compressed", "coin 0", "its products"),
        (Draw::Lambda, 1) => ("the products' claim, by lambda", "coin 1", "fold 1"),
        (Draw::Point, 1..) => ("fold h, at its point", "coin h", "fold h"),
        _ => return None,
    };
    Some([name, coin, message].map(String::from))
}

/// Every coin comes after the message that the table names, and every row of the table is there.
#[test]
fn every_join_is_in_the_table() {
    let drawn = ALL.iter().flat_map(draws);
    let words = |(draw, sent)| {
        words(draw, sent).unwrap_or_else(|| panic!("{draw:?} after {sent} folds is no join"))
    };
    let drawn: BTreeSet<_> = drawn.map(words).collect();
    let rows: BTreeSet<_> = rows().into_iter().collect();
    assert_eq!(drawn, rows);
}

/// A join by a coin that the prover has had before its message would be found.
#[test]
fn a_join_by_an_old_coin_is_found() {
    for (draw, sent) in [(Draw::Lambda, 0), (Draw::Point, 0), (Draw::Theta, 1)] {
        assert_eq!(words(draw, sent), None, "{draw:?} after {sent} folds");
    }
}

/// A party that has called something else than the others is found at the verification.
#[test]
fn all_have_called_the_same() {
    for other in 0..3 {
        let ends = against::<u32, _>(other, None, LONG, Honest, |machine| {
            if machine.rss.party.id() == other {
                let checks = machine.checks.as_mut().expect("security is malicious");
                checks.called("something else", "1");
            }
            ALL[0].run(machine, &Spoil::NONE)
        });
        let honest = (0..3).filter(|party| *party != other);
        assert!(
            honest.into_iter().all(|party| ends[party].is_err()),
            "party {other}"
        );
    }
}
