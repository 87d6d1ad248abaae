//! A cheater as a verifier: it draws coins of its own, and it looks into what the other verifier says
//! before and after the proof.

use std::sync::{Arc, Mutex};

use tacit_algebra::{Buffer, MatMul};
use tacit_net::testing::adversary::{Strategy, Wires};

use super::super::defences::Defence;
use super::super::open::DIGEST;
use super::steps::{COIN_HASHES, COINS, OPENINGS, SHARES};
use super::{BUSY, Ended, LONG, Tally, against, tally};
use crate::Error;
use crate::falcon::Falcon;
use crate::machine::{Audience, Machine, Operand};
use crate::message::Encoding;
use crate::replicated::{Rss, Words};

/// Who cheats: the left verifier of party 1's proofs, and the right one of party 2's.
const CHEATER: usize = 0;

/// A bit of party 1 times one of party 2, in gates and in a matrix product, revealed to party 1.
fn program(machine: &mut Falcon<u64>, bit: i64) -> Result<Vec<i64>, Error> {
    let me = machine.party().id();
    let mut input = |owner: usize| machine.input(owner, 1, (me == owner).then_some(&[bit][..]));
    let (x, y) = (input(1)?, Operand::Secret(input(2)?));
    let shape = MatMul { m: 1, k: 1, n: 1 };
    let products = [
        machine.mul(&x, &y, 0)?,
        machine.matmul(&x, &y, None, shape, 0)?,
    ];
    let all = machine.concat(&[&products[0], &products[1]]);
    Ok(machine.reveal(&all, Audience::One(1))?.unwrap_or_default())
}

/// What the cheater has been sent.
type Heard = Arc<Mutex<Vec<(usize, &'static str, Vec<u8>)>>>;

/// Sends other coins, or other hashes of coins, from the `from`-th on, and keeps what it hears.
struct Verifier {
    instead: Option<&'static str>,
    from: usize,
    sent: usize,
    heard: Heard,
    /// Coefficients that came after its own coin.
    answers: Arc<Mutex<usize>>,
}

impl Verifier {
    /// One that follows the protocol and listens.
    fn silent(heard: Heard) -> Self {
        Verifier {
            instead: None,
            from: 0,
            sent: 0,
            heard,
            answers: Arc::default(),
        }
    }
}

impl Strategy for Verifier {
    fn sends(&mut self, wires: &mut Wires, to: usize, step: &'static str, payload: Vec<u8>) {
        let mut payload = payload;
        if self.instead == Some(step) {
            self.sent += 1;
            if self.sent > self.from {
                payload.iter_mut().for_each(|byte| *byte ^= 1);
            }
        }
        wires.send(to, step, payload);
    }

    fn hears(&mut self, _wires: &mut Wires, from: usize, step: &'static str, payload: &[u8]) {
        let lied = self.instead == Some(COINS) && self.sent > self.from;
        if lied && from == 1 && step == SHARES {
            *self.answers.lock().expect("nobody panicked") += 1;
        }
        let mut heard = self.heard.lock().expect("nobody panicked");
        heard.push((from, step, payload.to_vec()));
    }
}

/// Runs the program against a verifier that sends other bytes at a step from the `from`-th time on.
fn one(instead: &'static str, from: usize, without: Option<Defence>) -> Ended {
    let answers = Arc::new(Mutex::new(0));
    let verifier = Verifier {
        instead: Some(instead),
        from,
        answers: answers.clone(),
        ..Verifier::silent(Heard::default())
    };
    let bit = 1;
    let ends = against(CHEATER, without, LONG, verifier, |machine| {
        program(machine, bit)
    });
    let answered = *answers.lock().expect("nobody panicked") > 0;
    let wrong = ends[1].as_ref().is_ok_and(|answer| *answer != [bit; 2]);
    Ended {
        broken: answered || wrong,
        noticed: ends[1..].iter().any(Result::is_err),
    }
}

/// Coins of its own, from each one on, and hashes of others.
fn own_coins(runs: u64, without: Option<Defence>) -> Tally {
    tally(runs, BUSY, |seed| one(COINS, seed as usize % 2, without))
}

fn other_hashes(runs: u64) -> Tally {
    tally(runs, BUSY, |_| one(COIN_HASHES, 0, None))
}

/// The bit of party 1 whose component at party 2, hashed, is `acknowledgement`, as party 0 sees it.
fn guess(acknowledgement: &[u8], x: &Rss<Buffer<u64>>) -> Option<i64> {
    let known = x.own.add(&x.next);
    [0, 1].into_iter().find(|bit| {
        let missing = Buffer::from(vec![*bit as u64]).sub(&known);
        naive(&missing) == acknowledgement
    })
}

/// What an acknowledgement must not be: a hash of the operands that its sender holds.
fn naive(component: &Buffer<u64>) -> [u8; DIGEST] {
    blake3::derive_key("what was received", &Words::<u64>::write(component))
}

/// The acknowledgement of party 2 to party 0, who verify party 1's proofs, tells nothing of party 1's
/// bit: it is what party 0 knows already. A hash of what party 2 has received would tell it.
#[test]
fn an_acknowledgement_tells_nothing() {
    let mut all = Vec::new();
    for seed in 0..1000 {
        let bit = seed % 2;
        let (heard, shares) = (Heard::default(), Mutex::new(Vec::new()));
        let verifier = Verifier::silent(heard.clone());
        let ends = against(CHEATER, None, LONG, verifier, |machine| {
            let owner = machine.party().id() == 1;
            let x = machine.input(1, 1, owner.then_some(&[bit][..]))?;
            let seen = (machine.party().id(), x.clone());
            shares.lock().expect("nobody panicked").push(seen);
            let z = machine.mul(&x, &Operand::Secret(x.clone()), 0)?;
            machine.reveal(&z, Audience::All)
        });
        assert!(ends.iter().all(Result::is_ok), "all are honest");
        let shares = shares.into_inner().expect("nobody panicked");
        let of = |party| {
            &shares
                .iter()
                .find(|(id, _)| *id == party)
                .expect("it ran")
                .1
        };
        assert_eq!(
            guess(&naive(&of(2).own), of(0)),
            Some(bit),
            "the guess bites"
        );
        let heard = heard.lock().expect("nobody panicked");
        let sent = heard
            .iter()
            .find(|(from, step, _)| (*from, *step) == (2, OPENINGS));
        let (_, _, acknowledgement) = sent.expect("party 2 acknowledges");
        assert_eq!(guess(acknowledgement, of(0)), None);
        all.push(acknowledgement.clone());
    }
    assert!(
        all.iter().all(|a| *a == all[0]),
        "they depend on public numbers only"
    );
}

#[test]
fn a_prover_answers_to_the_coins_of_both_verifiers_only() {
    own_coins(20, None).assert_stopped("coins of one verifier's own");
    own_coins(6, Some(Defence::CoinHashes))
        .assert_broken("coins of one verifier's own, not held against hashes");
    other_hashes(20).assert_stopped("hashes of other coins");
}

#[test]
#[ignore = "a minute: make adaptive"]
fn a_prover_answers_to_the_coins_of_both_verifiers_only_in_a_thousand_runs() {
    own_coins(1000, None).assert_stopped("coins of one verifier's own");
    other_hashes(1000).assert_stopped("hashes of other coins");
}
