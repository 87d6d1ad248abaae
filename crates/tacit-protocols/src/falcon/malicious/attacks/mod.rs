//! Cheaters that adapt to all that they see, coins included, against malicious Falcon. Each is also
//! let loose on a mutant that lacks one defence, where it must succeed: so no attack is blind.
//!
//! | file | the cheater |
//! |---|---|
//! | `workloads.rs` | the programs whose verifications are attacked |
//! | `spoil.rs` | which messages a cheater changes |
//! | `shadow.rs` | what a prover knows its claims to be off by |
//! | `correct.rs` | sends wrong products and corrects its proof by what it has learnt |
//! | `withhold.rs` | keeps its input back from one verifier until it has a coin from the other |
//! | `equivocate.rs` | opens other values to one party than to the other, as receiver or as sender |
//! | `verifier.rs` | cheats as a verifier: other coins, early coins, other last elements |
//! | `root.rs` | makes the root of a comparison tell a secret |
//! | `network.rs` | changes the answers of a network, and reads its weights |
//! | `joins.rs` | holds the table of joins in docs/spec/falcon.md, section 11.1 against the code |

mod correct;
mod equivocate;
mod joins;
mod network;
mod root;
mod shadow;
mod spoil;
mod workloads;
/// The steps that attackers look for, by their names.
mod steps {
    use super::super::{open, verify};

    pub const OPENINGS: &str = verify::OPENINGS.step();
    pub const COIN_HASHES: &str = verify::COIN_HASHES.step();
    pub const COINS: &str = verify::COINS.step();
    pub const SHARES: &str = verify::SHARES.step();
    pub const LAST: &str = verify::LAST.step();
    pub const REVEAL: &str = open::REVEAL.step();
    pub const REVEAL_COPY: &str = open::REVEAL_COPY.step();
}
mod verifier;
mod withhold;

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tacit_algebra::Ring;
use tacit_net::Party;
use tacit_net::testing::adversary::{Strategy, mesh_against};
use tacit_net::testing::run;

use super::coins::Draw;
use super::defences::Defence;
use crate::Error;
use crate::falcon::{Comparison, Falcon, Options, PARTIES, Security, Truncation};

/// Keeps that this thread's party has drawn a coin as a prover.
pub(super) fn drawn(draw: Draw) {
    joins::drawn(draw);
}

/// How long an honest party waits for a message that a cheater may keep back.
const PATIENCE: Duration = Duration::from_millis(400);
/// How long an honest party waits where nothing is kept back: longer than a busy machine may stall a
/// run.
const LONG: Duration = Duration::from_secs(60);

/// Options of the attacked runs, with the paper's comparison, whose root is attacked.
const OPTIONS: Options = Options {
    truncation: Truncation::Gap,
    security: Security::Malicious,
    comparison: Comparison::Falcon,
    sign_bits: u32::MAX,
};

/// A party's machine, without the defence that a mutant lacks.
fn machine<R: Ring>(party: Party, without: Option<Defence>) -> Result<Falcon<R>, Error> {
    let mut machine = Falcon::new(party, OPTIONS)?;
    if let Some(checks) = &mut machine.checks {
        checks.defences.without = without;
    }
    Ok(machine)
}

/// How a run with a cheater ended at the honest parties.
struct Ended {
    /// Whether an honest party was given a wrong answer, or the cheater an undeserved one.
    broken: bool,
    /// Whether an honest party ended with an error.
    noticed: bool,
}

/// Runs `program` at every party, `cheater` with `strategy` on its wires; what each ended with.
fn against<R: Ring, T: Send>(
    cheater: usize,
    without: Option<Defence>,
    patience: Duration,
    strategy: impl Strategy + 'static,
    program: impl Fn(&mut Falcon<R>) -> Result<T, Error> + Sync,
) -> Vec<Result<T, Error>> {
    let mesh = mesh_against(PARTIES, patience, cheater, strategy);
    run(mesh, |party| program(&mut machine(party, without)?))
}

/// What the honest parties ended with, given which answers are right.
fn ended<T>(cheater: usize, answers: &[Result<T, Error>], right: impl Fn(&T) -> bool) -> Ended {
    let honest = || (0..).zip(answers).filter(|(party, _)| *party != cheater);
    Ended {
        broken: honest().any(|(_, answer)| answer.as_ref().is_ok_and(|answer| !right(answer))),
        noticed: honest().any(|(_, answer)| answer.is_err()),
    }
}

/// How many runs ended how.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    runs: u64,
    broken: u64,
    unnoticed: u64,
}

impl Tally {
    fn add(&mut self, ended: &Ended) {
        self.runs += 1;
        self.broken += u64::from(ended.broken);
        self.unnoticed += u64::from(!ended.noticed);
    }

    /// # Panics
    /// If one run was broken or went unnoticed.
    fn assert_stopped(self, name: &str) -> Tally {
        println!("adaptive, {name}: {self}");
        assert_eq!((self.broken, self.unnoticed), (0, 0), "{name}: {self}");
        self
    }

    /// # Panics
    /// If one run was not broken.
    fn assert_broken(self, name: &str) -> Tally {
        println!("adaptive, {name}: {self}");
        assert_eq!(self.broken, self.runs, "{name}: {self}");
        self
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally {
            runs,
            broken,
            unnoticed,
        } = self;
        write!(f, "{runs} runs, {broken} broken, {unnoticed} unnoticed")
    }
}

/// `runs` runs with seeds from 0 on, `workers` at a time.
fn tally(runs: u64, workers: usize, one: impl Fn(u64) -> Ended + Sync) -> Tally {
    let (next, total) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= runs {
                        return;
                    }
                    let ended = one(seed);
                    total.lock().expect("no run panicked").add(&ended);
                }
            });
        }
    });
    total.into_inner().expect("no run panicked")
}

/// Runs at a time that compute, and that mostly wait for what a cheater keeps back.
const BUSY: usize = 2;
const WAITING: usize = 24;
