//! OTs made ahead, one stock for each kind. Each is handed out once, under a number that no other OT
//! of its direction and kind has.

use tacit_algebra::Bits;
use tacit_algebra::ot::Transfers;
use tacit_protocols::Error;
use zeroize::Zeroize;

use crate::ot::{Block, Received, join, replace};

/// 1-of-2^m OTs that this party sends.
pub(super) struct Outgoing {
    /// The party that sends them.
    sender: usize,
    index_bits: u32,
    blocks: Vec<Block>,
    at: usize,
    /// How many OTs there were before the first of `blocks`.
    origin: u64,
}

/// 1-of-2^m OTs that this party receives.
pub(super) struct Incoming {
    sender: usize,
    index_bits: u32,
    choices: Bits,
    blocks: Vec<Block>,
    at: usize,
    origin: u64,
}

/// OTs that were taken from either stock: a range of it.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    start: usize,
    n: usize,
}

impl Taken {
    /// The number of OTs.
    pub fn len(self) -> usize {
        self.n
    }

    /// `n` of these OTs from the `start`th on.
    pub fn part(self, start: usize, n: usize) -> Taken {
        assert!(start + n <= self.n);
        Taken {
            start: self.start + start,
            n,
        }
    }
}

/// Leaves what was not consumed, in memory of its own; nothing stays of the rest.
fn rest(blocks: &mut Vec<Block>, at: &mut usize, origin: &mut u64) {
    let left = blocks.split_off(*at);
    *origin += *at as u64;
    *at = 0;
    replace(blocks, left);
}

/// Takes `n` of the `len` of a stock, of which `at` are taken.
fn take(step: &'static str, (len, at): (usize, &mut usize), n: usize) -> Result<Taken, Error> {
    if len - *at < n {
        return Err(Error::NotPrepared { call: step.into() });
    }
    let start = *at;
    *at += n;
    Ok(Taken { start, n })
}

/// The numbers of the OTs taken, which their pads are keyed by.
fn numbers((sender, index_bits, origin): (usize, u32, u64), taken: Taken) -> Transfers {
    let of = Transfers::new(sender, index_bits, origin + taken.start as u64);
    #[cfg(test)]
    recorder::record(of, taken.n);
    of
}

impl Outgoing {
    /// An empty stock.
    pub fn new(sender: usize, index_bits: u32) -> Self {
        Outgoing {
            sender,
            index_bits,
            blocks: Vec::new(),
            at: 0,
            origin: 0,
        }
    }

    /// Drops the OTs that were consumed.
    pub fn forget(&mut self) {
        rest(&mut self.blocks, &mut self.at, &mut self.origin);
    }

    /// Adds OTs that were made.
    pub fn add(&mut self, made: Vec<Block>) {
        join(&mut self.blocks, made);
    }

    /// Takes the next `n` for the step.
    pub fn take(&mut self, step: &'static str, n: usize) -> Result<Taken, Error> {
        take(step, (self.blocks.len(), &mut self.at), n)
    }

    /// The numbers of the OTs taken, and their blocks.
    pub fn get(&self, taken: Taken) -> (Transfers, &[Block]) {
        let blocks = &self.blocks[taken.start..taken.start + taken.n];
        (
            numbers((self.sender, self.index_bits, self.origin), taken),
            blocks,
        )
    }

    /// How many were taken so far.
    pub fn consumed(&self) -> usize {
        self.origin as usize + self.at
    }
}

impl Incoming {
    /// An empty stock.
    pub fn new(sender: usize, index_bits: u32) -> Self {
        Incoming {
            sender,
            index_bits,
            choices: Bits::default(),
            blocks: Vec::new(),
            at: 0,
            origin: 0,
        }
    }

    /// The choices of some of its OTs.
    fn choices(&self, start: usize, n: usize) -> Bits {
        let m = self.index_bits as usize;
        self.choices.slice(start * m, n * m)
    }

    /// Drops the OTs that were consumed.
    pub fn forget(&mut self) {
        let left = self.blocks.len() - self.at;
        let choices = self.choices(self.at, left);
        replace(&mut self.choices, choices);
        rest(&mut self.blocks, &mut self.at, &mut self.origin);
    }

    /// Adds OTs that were made.
    pub fn add(&mut self, mut made: Received) {
        join(&mut self.blocks, std::mem::take(&mut made.blocks));
        let choices = Bits::concat(&[&self.choices, &made.choices]);
        replace(&mut self.choices, choices);
    }

    /// Takes the next `n` for the step.
    pub fn take(&mut self, step: &'static str, n: usize) -> Result<Taken, Error> {
        take(step, (self.blocks.len(), &mut self.at), n)
    }

    /// The random choices, one after the other.
    pub fn chosen(&self, taken: Taken) -> Bits {
        self.choices(taken.start, taken.n)
    }

    /// The numbers of the OTs taken, and their blocks.
    pub fn get(&self, taken: Taken) -> (Transfers, &[Block]) {
        let blocks = &self.blocks[taken.start..taken.start + taken.n];
        (
            numbers((self.sender, self.index_bits, self.origin), taken),
            blocks,
        )
    }

    /// How many were taken so far.
    pub fn consumed(&self) -> usize {
        self.origin as usize + self.at
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.blocks.zeroize();
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        self.blocks.zeroize();
        self.choices.zeroize();
    }
}

/// What a thread's pads are made of, for tests.
#[cfg(test)]
pub(super) mod recorder {
    use std::cell::RefCell;

    use tacit_algebra::ot::Transfers;

    thread_local! {
        static SEEN: RefCell<Vec<(Transfers, usize)>> = const { RefCell::new(Vec::new()) };
    }

    /// Notes that this thread hashes `n` transfers from `of` on.
    pub fn record(of: Transfers, n: usize) {
        SEEN.with_borrow_mut(|seen| seen.push((of, n)));
    }

    /// What this thread hashed.
    pub fn taken() -> Vec<(Transfers, usize)> {
        SEEN.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_consumed_keeps_its_number_when_the_rest_is_forgotten() {
        let (mut sent, mut received) = (Outgoing::new(0, 1), Incoming::new(0, 1));
        let mut number = 0;
        for made in [10_usize, 7, 0, 9] {
            let blocks: Vec<Block> = (0..made).map(|i| (number + i) as Block).collect();
            let choices = Bits::from_fn(made, |i| blocks[i] % 2 == 1);
            number += made;
            sent.forget();
            received.forget();
            sent.add(blocks.clone());
            received.add(Received { choices, blocks });
            let taken = [sent.take("a", 4), received.take("a", 4)];
            let [out, of] = taken.map(|taken| taken.expect("there are as many"));
            let (numbers, blocks) = sent.get(out);
            let first = numbers.first();
            assert!(blocks.iter().zip(first..).all(|(b, i)| *b == i.into()));
            assert_eq!((numbers, blocks), received.get(of));
            let choices = received.chosen(of);
            assert!((0..4).all(|i| choices.get(i) == ((first as usize + i) % 2 == 1)));
        }
        assert_eq!((sent.consumed(), received.consumed()), (16, 16));
        sent.forget();
        assert_eq!(sent.blocks.len(), 10);
    }
}
