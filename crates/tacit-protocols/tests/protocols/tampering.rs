//! A harness that changes every message of a program, one in each run and in every way, and looks
//! at what the honest parties end with. The sender of the changed message is the corrupt party.
//!
//! A program runs against any machine; what it returns is what a party would give out.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Subject, TIMEOUT, run_on};
use tacit_net::testing::{Envelope, Fate, mesh_with};
use tacit_protocols::Error;

/// A message of a program: the `index`-th from one party to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Message {
    pub from: usize,
    pub to: usize,
    pub index: usize,
    pub step: &'static str,
}

/// What becomes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Its lowest bit is flipped.
    FlipFirst,
    /// A bit of its last byte is flipped.
    FlipLast,
    /// 1 is added to every byte.
    Offset,
    /// It is lost.
    Drop,
    /// The message before it on the same link comes in its place.
    Replay,
    /// It changes places with the next one on the same link.
    Swap,
}

pub const CHANGES: [Change; 6] = [
    Change::FlipFirst,
    Change::FlipLast,
    Change::Offset,
    Change::Drop,
    Change::Replay,
    Change::Swap,
];

/// How the runs ended, counted.
#[derive(Default, Debug)]
pub struct Totals {
    /// Runs in which a message was changed.
    pub runs: usize,
    /// Those in which some party ended with an error.
    pub aborts: usize,
    /// Honest parties that ended with an error, and with the right answer.
    pub stopped: usize,
    pub right: usize,
    /// Runs in which an honest party ended with a wrong answer, and those that nobody noticed.
    pub wrong: Vec<(Message, Change)>,
    pub unnoticed: Vec<(Message, Change)>,
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} changed messages: {} aborts, {} unnoticed, {} with a wrong answer; honest parties: {} stopped, {} had the right answer",
            self.runs,
            self.aborts,
            self.unnoticed.len(),
            self.wrong.len(),
            self.stopped,
            self.right
        )
    }
}

impl Totals {
    /// Asserts that no honest party was given a wrong answer and that no change went unnoticed.
    pub fn assert_caught(&self, name: &str) {
        println!("tampering, {name}: {self}");
        assert!(self.runs > 0, "{name}: nothing was changed");
        assert!(
            self.wrong.is_empty(),
            "{name}: wrong answers: {:?}",
            self.wrong
        );
        assert!(
            self.unnoticed.is_empty(),
            "{name}: unnoticed: {:?}",
            self.unnoticed
        );
    }
}

type Answer<T> = Result<T, Error>;

/// Runs a program with at most one message changed; also says which messages there were and
/// whether one was really changed.
fn run_changed<S: Subject, T: Send>(
    subject: &S,
    program: &(impl Fn(&mut S::Machine) -> Answer<T> + Sync),
    target: Option<(Message, Change)>,
) -> (Vec<Answer<T>>, Vec<Message>, bool) {
    // What is lost is waited for.
    let timeout = match target {
        Some((_, Change::Drop | Change::Swap)) => Duration::from_millis(700),
        _ => TIMEOUT,
    };
    let seen = Arc::new(Mutex::new((Vec::new(), false)));
    let log = seen.clone();
    let mut links: BTreeMap<(usize, usize), (usize, Vec<u8>)> = BTreeMap::new();
    let mesh = mesh_with(subject.parties(), timeout, move |envelope| {
        let link = links.entry((envelope.from, envelope.to)).or_default();
        let message = Message {
            from: envelope.from,
            to: envelope.to,
            index: link.0,
            step: envelope.step,
        };
        link.0 += 1;
        let before = std::mem::replace(&mut link.1, envelope.payload.clone());
        let mut log = log.lock().expect("no party panicked");
        log.0.push(message);
        if let Some((there, Change::Swap)) = target
            && message
                == (Message {
                    index: there.index + 1,
                    ..there
                })
        {
            // Two messages of one step that are equal may change places.
            log.1 = before != link.1;
        }
        match target {
            Some((there, change)) if there == message => {
                let (fate, changed) = apply(change, envelope, before);
                log.1 = changed;
                fate
            }
            _ => Fate::Deliver,
        }
    });
    let answers = run_on(mesh, |party| program(&mut subject.machine(party)?));
    let seen = seen.lock().expect("no party panicked");
    (answers, seen.0.clone(), seen.1)
}

/// Makes the change; false if it leaves the message as it is.
fn apply(change: Change, envelope: Envelope<'_>, before: Vec<u8>) -> (Fate, bool) {
    let payload = envelope.payload;
    let old = payload.clone();
    match change {
        Change::Drop => return (Fate::Drop, true),
        Change::Swap => return (Fate::Hold, true),
        Change::Replay => *payload = before,
        Change::FlipFirst => payload.iter_mut().take(1).for_each(|byte| *byte ^= 1),
        Change::FlipLast => payload.iter_mut().rev().take(1).for_each(|byte| *byte ^= 2),
        Change::Offset => payload
            .iter_mut()
            .for_each(|byte| *byte = byte.wrapping_add(1)),
    }
    (Fate::Deliver, *payload != old)
}

/// Changes every message of `program` but those of `chosen` steps, which say what the sender
/// chooses to input: there any change makes another program of it. `right` tells whether an
/// answer is one that an honest run may give.
pub fn tamper<S: Subject, T: Send>(
    subject: &S,
    chosen: &[&str],
    program: impl Fn(&mut S::Machine) -> Answer<T> + Sync,
    right: impl Fn(&T) -> bool + Sync,
) -> Totals {
    let (answers, messages, _) = run_changed(subject, &program, None);
    for answer in &answers {
        let answer = answer.as_ref().expect("an honest run ends well");
        assert!(right(answer), "an honest run is right");
    }
    let targets: Vec<(Message, Change)> = messages
        .into_iter()
        .filter(|message| !chosen.contains(&message.step))
        .flat_map(|message| CHANGES.map(|change| (message, change)))
        .collect();
    let (next, totals) = (AtomicUsize::new(0), Mutex::new(Totals::default()));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while let Some(&target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (answers, _, changed) = run_changed(subject, &program, Some(target));
                    if changed {
                        let mut totals = totals.lock().expect("no judge panicked");
                        judge(&mut totals, target, &answers, &right);
                    }
                }
            });
        }
    });
    totals.into_inner().expect("no judge panicked")
}

fn judge<T>(
    totals: &mut Totals,
    target: (Message, Change),
    answers: &[Answer<T>],
    right: &impl Fn(&T) -> bool,
) {
    totals.runs += 1;
    let noticed = answers.iter().any(Result::is_err);
    totals.aborts += usize::from(noticed);
    let honest = || {
        (0..)
            .zip(answers)
            .filter(|(party, _)| *party != target.0.from)
    };
    totals.stopped += honest().filter(|(_, answer)| answer.is_err()).count();
    let good = honest().filter(|(_, answer)| answer.as_ref().is_ok_and(right));
    totals.right += good.count();
    if honest().any(|(_, answer)| answer.as_ref().is_ok_and(|answer| !right(answer))) {
        totals.wrong.push(target);
    }
    if !noticed {
        totals.unnoticed.push(target);
    }
}
