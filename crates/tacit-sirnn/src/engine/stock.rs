//! OTs made ahead. Each is handed out once, under a number that no other OT of its direction has.

use tacit_algebra::Bits;
use tacit_protocols::Error;
use zeroize::Zeroize;

use crate::ot::{Block, Received};

/// OTs that this party sends.
#[derive(Default)]
pub(super) struct Outgoing {
    blocks: Vec<Block>,
    at: usize,
    /// The number of the first of `blocks`.
    origin: u64,
}

/// OTs that this party receives.
#[derive(Default)]
pub(super) struct Incoming {
    choices: Bits,
    blocks: Vec<Block>,
    at: usize,
    origin: u64,
}

/// Some of either: a range of the stock.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    start: usize,
    n: usize,
    /// The number of the first.
    pub first: u64,
}

impl Taken {
    /// How many they are.
    pub fn len(self) -> usize {
        self.n
    }

    /// `n` of them from the `start`th on.
    pub fn part(self, start: usize, n: usize) -> Taken {
        assert!(start + n <= self.n);
        Taken {
            start: self.start + start,
            n,
            first: self.first + start as u64,
        }
    }
}

/// What is left, and after it what was made.
fn joined(mut rest: Vec<Block>, made: Vec<Block>) -> Vec<Block> {
    if rest.is_empty() {
        return made;
    }
    rest.extend(made);
    rest
}

fn take(
    step: &'static str,
    len: usize,
    at: &mut usize,
    origin: u64,
    n: usize,
) -> Result<Taken, Error> {
    if len - *at < n {
        return Err(Error::NotPrepared { call: step.into() });
    }
    let start = *at;
    *at += n;
    let first = origin + start as u64;
    Ok(Taken { start, n, first })
}

impl Outgoing {
    /// Adds what was made and forgets what was consumed.
    pub fn add(&mut self, made: Vec<Block>) {
        self.origin += self.at as u64;
        let rest = self.blocks.split_off(self.at);
        self.blocks.zeroize();
        self.at = 0;
        self.blocks = joined(rest, made);
    }

    /// Takes the next `n` for the step.
    pub fn take(&mut self, step: &'static str, n: usize) -> Result<Taken, Error> {
        take(step, self.blocks.len(), &mut self.at, self.origin, n)
    }

    /// The number of the first, and the blocks.
    pub fn get(&self, taken: Taken) -> (u64, &[Block]) {
        (
            taken.first,
            &self.blocks[taken.start..taken.start + taken.n],
        )
    }

    /// How many were taken so far.
    pub fn consumed(&self) -> usize {
        self.origin as usize + self.at
    }
}

impl Incoming {
    /// Adds what was made and forgets what was consumed.
    pub fn add(&mut self, made: Received) {
        self.origin += self.at as u64;
        let left = self.blocks.len() - self.at;
        let rest = self.blocks.split_off(self.at);
        self.blocks.zeroize();
        let choices = self.choices.slice(self.at, left);
        self.at = 0;
        self.blocks = joined(rest, made.blocks);
        self.choices = Bits::concat(&[&choices, &made.choices]);
    }

    /// Takes the next `n` for the step.
    pub fn take(&mut self, step: &'static str, n: usize) -> Result<Taken, Error> {
        take(step, self.blocks.len(), &mut self.at, self.origin, n)
    }

    /// The number of the first, the random choices and the blocks.
    pub fn get(&self, taken: Taken) -> (u64, Bits, &[Block]) {
        (
            taken.first,
            self.choices.slice(taken.start, taken.n),
            &self.blocks[taken.start..taken.start + taken.n],
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
    }
}
