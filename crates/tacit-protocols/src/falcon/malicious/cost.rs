//! What a checkpoint costs.

use tacit_algebra::extension::{Binary, Extension, F11, F19, F37, F67, Galois, Tower};

use super::LIMIT;
use super::coins::COIN;
use super::gates::{Terms, entries};
use super::open::DIGEST;
use super::proof::schedule;
use super::verify::chunk;
use crate::machine::{Bilinear, Call};
use crate::pool;
use crate::replicated::PARTIES;

/// Bytes of a hash that stands for the second copy of an opening.
pub(in crate::falcon) const COPY: u64 = DIGEST as u64;

/// Gates of a domain that wait to be verified, by their terms.
#[derive(Clone, Copy, Default)]
pub(in crate::falcon) struct Waits {
    pub both: usize,
    pub one: usize,
}

impl Waits {
    /// Products of what is shared.
    pub fn of_both(both: usize) -> Self {
        Waits { both, one: 0 }
    }
}

/// The proofs of one checkpoint: for each the bytes that the prover deals fold by fold, and those
/// of a verifier's last message.
#[derive(Default)]
pub(in crate::falcon) struct Checkpoint(Vec<(Vec<u64>, u64)>);

impl Checkpoint {
    fn prove<K: Extension>(&mut self, gates: Waits, entries: usize) {
        let chunks = |terms: Terms, gates: usize| {
            let starts = (0..gates).step_by(chunk(terms));
            starts.map(move |start| (terms, chunk(terms).min(gates - start)))
        };
        let one = chunks(Terms::One, gates.one);
        let mut all: Vec<_> = chunks(Terms::Both, gates.both).chain(one).collect();
        if all.is_empty() && entries > 0 {
            all.push((Terms::Both, 0));
        }
        for (i, (terms, gates)) in all.into_iter().enumerate() {
            let entries = if i == 0 { entries } else { 0 };
            let folds = schedule::<K>(terms, gates, entries).into_iter().rev();
            let dealt = folds.map(|fold| K::wire_len(fold.dealt()) as u64);
            self.0.push((dealt.collect(), K::wire_len(2) as u64));
        }
    }

    /// ANDs.
    pub fn bits(mut self, gates: Waits) -> Self {
        self.prove::<Binary>(gates, 0);
        self
    }

    /// Products modulo a comparison prime.
    pub fn residues(mut self, prime: u8, gates: Waits) -> Self {
        match prime {
            11 => self.prove::<Tower<F11>>(gates, 0),
            19 => self.prove::<Tower<F19>>(gates, 0),
            37 => self.prove::<Tower<F37>>(gates, 0),
            _ => self.prove::<Tower<F67>>(gates, 0),
        }
        self
    }

    /// Products over the ring of so many bits.
    pub fn words(mut self, bits: u32, gates: Waits, entries: usize) -> Self {
        match bits {
            8 => self.prove::<Galois<u8>>(gates, entries),
            16 => self.prove::<Galois<u16>>(gates, entries),
            32 => self.prove::<Galois<u32>>(gates, entries),
            _ => self.prove::<Galois<u64>>(gates, entries),
        }
        self
    }

    /// Hops, and bytes sent by each party, where all begin together: one hop for the hashes of
    /// openings, one for the hashes of coins and, beside them, the first coin; each fold takes one to
    /// the left verifier and, but for the last, one back; one for the end.
    pub fn cost(&self) -> (u32, u64) {
        let proofs = self
            .0
            .iter()
            .map(|(dealt, last)| dealt.iter().sum::<u64>() + 2 * last);
        let coins = 2 * self.folds() * COIN;
        let bytes = COPY + coins as u64 + proofs.sum::<u64>();
        let rounds = self.from([0; PARTIES]).into_iter().max();
        (rounds.unwrap_or(0), bytes)
    }

    fn folds(&self) -> usize {
        let folds = self.0.iter().map(|(dealt, _)| dealt.len());
        folds.max().unwrap_or(0)
    }

    /// The longest path to each party from those before the checkpoint, message by message.
    pub fn from(&self, depth: [u32; PARTIES]) -> [u32; PARTIES] {
        let heard = |from: [u32; PARTIES], step: usize| -> [u32; PARTIES] {
            std::array::from_fn(|i| from[i].max(from[(i + step) % PARTIES] + 1))
        };
        let (to_next, to_prev) = (PARTIES - 1, 1);
        let folds = self.folds();
        let acknowledged = heard(depth, to_next);
        let mut depth = heard(acknowledged, to_prev);
        if folds > 0 {
            let coins = heard(acknowledged, to_next);
            depth = std::array::from_fn(|i| depth[i].max(coins[i]));
        }
        for fold in 1..=folds {
            depth = heard(depth, to_prev);
            if fold < folds {
                depth = heard(depth, to_next);
            }
        }
        let [prev, next] = [to_next, to_prev].map(|step| heard(depth, step));
        match folds {
            0 => depth,
            _ => std::array::from_fn(|i| prev[i].max(next[i])),
        }
    }
}

/// What waits to be verified, as the machine counts it.
#[derive(Default)]
struct Waiting {
    dirty: bool,
    gates: usize,
    entries: usize,
    elements: usize,
}

impl Waiting {
    fn gates(&mut self, n: usize) {
        self.dirty = true;
        self.gates += n;
        self.elements += 3 * n;
    }

    fn add(&mut self, call: &Call) {
        match *call {
            Call::Product { map, .. } => {
                self.dirty = true;
                self.entries += entries(&map);
                if let Bilinear::Elementwise(n) = map {
                    self.gates += n;
                }
                self.elements += map.left() + map.right() + map.outputs();
            }
            Call::Truncate { trunc: 1.., .. } | Call::Drelu { .. } => self.dirty = true,
            Call::Relu { n, .. } | Call::Select { n, .. } => self.gates(n),
            Call::Maxpool { windows, size, .. } => {
                pool::levels(size).for_each(|(pairs, _)| self.gates(pairs * windows));
            }
            _ => {}
        }
    }

    fn verify(&mut self) -> Call {
        let Waiting { gates, entries, .. } = std::mem::take(self);
        Call::Verify { gates, entries }
    }
}

/// The calls with the checkpoints of the machine: before each result is given out, where more than
/// [`LIMIT`] elements wait, and where the calls have one.
pub(in crate::falcon) fn checked(calls: Vec<Call>) -> Vec<Call> {
    let mut all = Vec::with_capacity(calls.len());
    let mut waiting = Waiting::default();
    for call in calls {
        match call {
            Call::Verify { .. } | Call::Reveal { .. } if waiting.dirty => {
                all.push(waiting.verify())
            }
            _ => waiting.add(&call),
        }
        if !matches!(call, Call::Verify { .. }) {
            all.push(call);
        }
        if waiting.elements > LIMIT {
            all.push(waiting.verify());
        }
    }
    all
}
