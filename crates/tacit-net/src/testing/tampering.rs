//! Changes the messages of a program, one in each run, and looks at what the honest parties end
//! with. The sender of the changed message is the corrupt party. A program returns what a party
//! would give out to its user.

use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Envelope, Fate, mesh_with, run};
use crate::party::Party;

/// A message of a program: the `index`-th from one party to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Message {
    /// Step under which the message is sent.
    pub step: &'static str,
    /// The number of the party that sends the message.
    pub from: usize,
    /// The number of the party that the message is for.
    pub to: usize,
    /// Number of the message on the link from its sender to its receiver.
    pub index: usize,
}

/// What becomes of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The lowest bit of the message's first byte is flipped.
    FlipFirst,
    /// A bit of the message's last byte is flipped.
    FlipLast,
    /// 1 is added to every byte of the message.
    Offset,
    /// The message is lost.
    Drop,
    /// The message before it on the same link comes in its place.
    Replay,
    /// The message changes places with the next one on the same link.
    Swap,
}

impl Change {
    /// Every change.
    pub const ALL: [Change; 6] = [
        Change::FlipFirst,
        Change::FlipLast,
        Change::Offset,
        Change::Drop,
        Change::Replay,
        Change::Swap,
    ];

    /// Whether somebody may wait for the message in vain.
    fn loses(self) -> bool {
        matches!(self, Change::Drop | Change::Swap)
    }
}

/// Which messages are changed. The ends of a step are its first, its middle and its last message
/// from one party to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// One end of every step from one party to another, changed in one way; ends and ways take
    /// turns.
    Sample,
    /// All ends, each changed in every way.
    Ends,
    /// Every message in every way.
    All,
}

/// How the runs ended, counted.
#[derive(Default, Debug)]
pub struct Totals {
    /// Messages of the program that might be changed.
    pub messages: usize,
    /// Runs in which a message was changed.
    pub runs: usize,
    /// Runs in which some party ended with an error.
    pub aborts: usize,
    /// Honest parties that ended with an error.
    pub stopped: usize,
    /// Honest parties that ended with the right answer.
    pub right: usize,
    /// Runs in which an honest party ended with a wrong answer.
    pub wrong: Vec<(Message, Change)>,
    /// Runs in which nobody noticed.
    pub unnoticed: Vec<(Message, Change)>,
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "of {} messages {} changed: {} aborts, {} unnoticed, {} with a wrong answer; honest parties: {} stopped, {} had the right answer",
            self.messages,
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
    /// Prints the totals; `make tampering` reads them.
    pub fn print(&self, name: &str) {
        println!("tampering, {name}: {self}");
    }

    /// Asserts that every change was noticed and that no honest party was given a wrong answer.
    ///
    /// # Panics
    ///
    /// If a change was not noticed or an answer was wrong.
    pub fn assert_caught(&self, name: &str) {
        self.print(name);
        assert!(self.runs > 0, "{name}: nothing was changed");
        let Totals {
            wrong, unnoticed, ..
        } = self;
        assert!(wrong.is_empty(), "{name}: wrong answers: {wrong:?}");
        assert!(unnoticed.is_empty(), "{name}: unnoticed: {unnoticed:?}");
    }

    /// Asserts that a program without checks is given wrong answers, so that the harness is known
    /// to work.
    ///
    /// # Panics
    ///
    /// If no answer was wrong.
    pub fn assert_fooled(&self, name: &str) {
        self.print(name);
        assert!(!self.wrong.is_empty(), "{name}: no wrong answer");
    }
}

/// A program, the number of its parties, and the steps in which a sender chooses its input. These
/// are left alone: a change there is only another input.
pub struct Tampered<'a, P> {
    /// The number of parties.
    pub parties: usize,
    /// Steps that are left alone.
    pub chosen: &'a [&'a str],
    /// What each party runs.
    pub program: P,
}

/// The longest that an honest run may stall.
const PATIENCE: Duration = Duration::from_secs(60);
/// The shortest that a lost message is waited for.
const LOST: Duration = Duration::from_millis(700);
/// Runs with a lost message at a time: they wait more than they compute.
const WAITING: usize = 24;

impl<T, E, P> Tampered<'_, P>
where
    T: Send,
    E: Send + Debug,
    P: Fn(Party) -> Result<T, E> + Sync,
{
    /// Changes messages. `right` tells whether an answer is one that an honest run may give.
    ///
    /// # Panics
    /// If the program fails or is wrong with no message changed.
    pub fn tamper(&self, extent: Extent, right: impl Fn(&T) -> bool + Sync) -> Totals {
        let start = Instant::now();
        let honest = self.run(None, PATIENCE);
        let lost = LOST.max(8 * start.elapsed());
        for answer in &honest.answers {
            let answer = answer.as_ref().expect("an honest run ends well");
            assert!(right(answer), "an honest run is right");
        }
        let open = |message: &Message| !self.chosen.contains(&message.step);
        let messages: Vec<Message> = honest.messages.into_iter().filter(open).collect();
        let totals = Mutex::new(Totals {
            messages: messages.len(),
            ..Totals::default()
        });
        let (waiting, quick): (Vec<_>, Vec<_>) =
            (targets(messages, extent).into_iter()).partition(|(_, change)| change.loses());
        let cores = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            for (targets, timeout, workers) in [(waiting, lost, WAITING), (quick, PATIENCE, cores)]
            {
                let shared = Arc::new((targets, AtomicUsize::new(0)));
                for _ in 0..workers {
                    let (shared, totals, right) = (shared.clone(), &totals, &right);
                    scope.spawn(move || {
                        let next = || shared.0.get(shared.1.fetch_add(1, Ordering::Relaxed));
                        while let Some(&target) = next() {
                            let ended = self.run(Some(target), timeout);
                            if ended.changed {
                                judge(&mut lock(totals), target, &ended.answers, right);
                            }
                        }
                    });
                }
            }
        });
        totals.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the program with at most one message changed.
    fn run(&self, target: Option<(Message, Change)>, timeout: Duration) -> Ended<Result<T, E>> {
        let seen = Arc::new(Mutex::new((Vec::new(), false)));
        let log = seen.clone();
        let mut links: BTreeMap<(usize, usize), (usize, Vec<u8>)> = BTreeMap::new();
        let mesh = mesh_with(self.parties, timeout, move |envelope| {
            let link = links.entry((envelope.from, envelope.to)).or_default();
            let message = Message {
                from: envelope.from,
                to: envelope.to,
                index: link.0,
                step: envelope.step,
            };
            link.0 += 1;
            let before = std::mem::replace(&mut link.1, envelope.payload.clone());
            let mut log = lock(&log);
            log.0.push(message);
            let Some((there, change)) = target else {
                return Fate::Deliver;
            };
            let next = Message {
                index: there.index + 1,
                ..there
            };
            if change == Change::Swap && message == next {
                // Two messages of one step that are equal may change places.
                log.1 = before != link.1;
            }
            if message != there {
                return Fate::Deliver;
            }
            let (fate, changed) = apply(change, envelope, before);
            log.1 = changed;
            fate
        });
        let answers = run(mesh, &self.program);
        let (messages, changed) = std::mem::take(&mut *lock(&seen));
        Ended {
            answers,
            messages,
            changed,
        }
    }
}

/// What a run ended with, which messages there were and whether one was really changed.
struct Ended<A> {
    answers: Vec<A>,
    messages: Vec<Message>,
    changed: bool,
}

/// What a party left behind that panicked is not used.
fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The changes to be made.
fn targets(messages: Vec<Message>, extent: Extent) -> Vec<(Message, Change)> {
    let every = |message| Change::ALL.map(|change| (message, change));
    if extent == Extent::All {
        return messages.into_iter().flat_map(every).collect();
    }
    let mut steps: BTreeMap<_, Vec<Message>> = BTreeMap::new();
    for message in messages {
        let step = (message.step, message.from, message.to);
        steps.entry(step).or_default().push(message);
    }
    let ends = steps.into_values().map(|of_step| {
        let mut ends = vec![0, of_step.len() / 2, of_step.len() - 1];
        ends.dedup();
        ends.into_iter().map(|i| of_step[i]).collect()
    });
    if extent == Extent::Ends {
        return ends.flatten().flat_map(every).collect();
    }
    // Every change meets each of the ends.
    let (ways, turns) = (Change::ALL, (0..).zip(ends));
    let turn = |(turn, ends): (usize, Vec<Message>)| {
        (
            ends[turn / ways.len() % ends.len()],
            ways[turn % ways.len()],
        )
    };
    turns.map(turn).collect()
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

fn judge<T, E>(
    totals: &mut Totals,
    target: (Message, Change),
    answers: &[Result<T, E>],
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
