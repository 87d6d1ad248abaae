//! OTs made ahead, one stock for each kind. Each is handed out once, under a number that no other OT
//! of its direction has, of whatever kind.

use tacit_algebra::Bits;
use tacit_protocols::Error;
use zeroize::Zeroize;

use crate::ot::{Block, Received};

/// 1-of-2^m OTs that this party sends.
pub(super) struct Outgoing {
    index_bits: u32,
    blocks: Vec<Block>,
    at: usize,
    /// How many there were before the first of `blocks`.
    origin: u64,
}

/// 1-of-2^m OTs that this party receives.
pub(super) struct Incoming {
    index_bits: u32,
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

/// Takes `n` of the `len` of a stock, of which `at` are taken.
fn take(
    step: &'static str,
    (len, at): (usize, &mut usize),
    (index_bits, origin): (u32, u64),
    n: usize,
) -> Result<Taken, Error> {
    if len - *at < n {
        return Err(Error::NotPrepared { call: step.into() });
    }
    let start = *at;
    *at += n;
    // The top byte of a number is the kind.
    let first = u64::from(index_bits) << 56 | (origin + start as u64);
    Ok(Taken { start, n, first })
}

impl Outgoing {
    /// An empty stock.
    pub fn new(index_bits: u32) -> Self {
        Outgoing {
            index_bits,
            blocks: Vec::new(),
            at: 0,
            origin: 0,
        }
    }

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
        let stock = (self.blocks.len(), &mut self.at);
        take(step, stock, (self.index_bits, self.origin), n)
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
    /// An empty stock.
    pub fn new(index_bits: u32) -> Self {
        Incoming {
            index_bits,
            choices: Bits::default(),
            blocks: Vec::new(),
            at: 0,
            origin: 0,
        }
    }

    /// The range of the choices of some of its OTs.
    fn choices(&self, start: usize, n: usize) -> Bits {
        let m = self.index_bits as usize;
        self.choices.slice(start * m, n * m)
    }

    /// Adds what was made and forgets what was consumed.
    pub fn add(&mut self, made: Received) {
        self.origin += self.at as u64;
        let left = self.blocks.len() - self.at;
        let rest = self.blocks.split_off(self.at);
        self.blocks.zeroize();
        let choices = self.choices(self.at, left);
        self.at = 0;
        self.blocks = joined(rest, made.blocks);
        self.choices = Bits::concat(&[&choices, &made.choices]);
    }

    /// Takes the next `n` for the step.
    pub fn take(&mut self, step: &'static str, n: usize) -> Result<Taken, Error> {
        let stock = (self.blocks.len(), &mut self.at);
        take(step, stock, (self.index_bits, self.origin), n)
    }

    /// The number of the first, the random choices, one after the other, and the blocks.
    pub fn get(&self, taken: Taken) -> (u64, Bits, &[Block]) {
        (
            taken.first,
            self.choices(taken.start, taken.n),
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
