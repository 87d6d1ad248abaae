//! Oblivious transfer: where random correlated OTs come from (docs/spec/sirnn.md, section 2).
//!
//! Everything above consumes random 1-of-2^m OTs, `m` 1 to 8. The sender of one has a block `q`, its
//! receiver a random index `b` of `m` bits and `t = q ^ offset[b]`, with the same offsets for all OTs
//! of a direction and an `m`. With `m` = 1 these are random correlated OTs, `t = q ^ b delta`.

use std::ops::AddAssign;

use tacit_algebra::Bits;
use tacit_algebra::ot::{Offsets, combined};
use tacit_net::Party;
use tacit_protocols::{Cost, Error};
use zeroize::Zeroize;

use crate::PARTIES;

mod base;
#[cfg(test)]
pub(crate) mod ideal;
mod puncture;
pub(crate) mod random;
mod silent;
mod softspoken;
#[cfg(test)]
mod tests;

pub use silent::Silent;
pub use softspoken::SoftSpoken;

/// 128 bits.
pub type Block = u128;

/// The kinds of OTs: 1-of-2^m for `m` from 1 to this.
pub const KINDS: usize = 8;

/// How many OTs of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand([usize; KINDS]);

impl Demand {
    /// A demand of `n` correlated OTs only.
    pub fn cots(n: usize) -> Self {
        Demand::of(1, n)
    }

    /// 1-of-2^m OTs only, `m = index_bits`.
    pub fn of(index_bits: u32, n: usize) -> Self {
        let mut demand = Demand::default();
        demand.0[index_bits as usize - 1] = n;
        demand
    }

    /// How many 1-of-2^m OTs.
    pub fn get(&self, index_bits: u32) -> usize {
        self.0[index_bits as usize - 1]
    }

    /// The kinds, as bits of an index, with how many of each.
    pub fn iter(&self) -> impl Iterator<Item = (u32, usize)> + use<> {
        (1..).zip(self.0)
    }

    /// The numbers of both, kind by kind.
    pub fn with(self, other: Demand, f: impl Fn(usize, usize) -> usize) -> Demand {
        Demand(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }

    /// Bits of the indices of all, and correlated OTs that they can be made of.
    fn index_bits(&self) -> usize {
        self.iter().map(|(m, n)| m as usize * n).sum()
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|n| *n == 0)
    }
}

impl AddAssign for Demand {
    fn add_assign(&mut self, other: Demand) {
        *self = self.with(other, |a, b| a + b);
    }
}

/// The receiver's end of random OTs of one kind.
#[derive(Clone, Default)]
pub struct Received {
    /// The random indices, one after the other.
    pub choices: Bits,
    /// `q ^ offset[b]`.
    pub blocks: Vec<Block>,
}

impl Drop for Received {
    fn drop(&mut self) {
        self.blocks.zeroize();
        self.choices.zeroize();
    }
}

impl Received {
    /// Takes the last `n` correlated OTs.
    fn split_off(&mut self, n: usize) -> Received {
        let rest = self.blocks.len() - n;
        let taken = Received {
            choices: self.choices.slice(rest, n),
            blocks: self.blocks.split_off(rest),
        };
        let left = self.choices.slice(0, rest);
        replace(&mut self.choices, left);
        taken
    }
}

/// Overwrites a value with another and wipes what was there.
pub(crate) fn replace<T: Zeroize>(old: &mut T, new: T) {
    old.zeroize();
    *old = new;
}

/// Adds new OTs to those that are left. If any are left, all move to new memory and the old is wiped.
pub(crate) fn join(left: &mut Vec<Block>, mut made: Vec<Block>) {
    match left.is_empty() {
        _ if made.is_empty() => {}
        true => replace(left, made),
        false => {
            let both = [&left[..], &made].concat();
            made.zeroize();
            replace(left, both);
        }
    }
}

/// What an extension made, by kind: blocks of OTs that this party sends, and OTs that it receives.
pub struct Made {
    /// The blocks `q` of the OTs that this party sends, by kind.
    pub sent: [Vec<Block>; KINDS],
    /// The OTs that this party receives, by kind.
    pub received: [Received; KINDS],
}

impl Drop for Made {
    fn drop(&mut self) {
        self.sent.zeroize();
    }
}

impl Made {
    fn new() -> Self {
        Made {
            sent: Default::default(),
            received: Default::default(),
        }
    }

    /// Makes OTs of the kinds of `send` and `recv` of correlated ones, as many as they take. Those that
    /// are correlated stay where they are.
    fn combine(&mut self, send: &Demand, recv: &Demand, mut q: Vec<Block>, mut cots: Received) {
        let mut at = send.get(1);
        for (m, n) in send.iter().skip(1).filter(|(_, n)| *n > 0) {
            let len = n * m as usize;
            self.sent[m as usize - 1] = combined(&q[at..at + len], m);
            at += len;
        }
        shorten(&mut q, send.get(1));
        join(&mut self.sent[0], q);
        let mut at = recv.get(1);
        for (m, n) in recv.iter().skip(1).filter(|(_, n)| *n > 0) {
            let len = n * m as usize;
            self.received[m as usize - 1] = Received {
                choices: cots.choices.slice(at, len),
                blocks: combined(&cots.blocks[at..at + len], m),
            };
            at += len;
        }
        let ones = recv.get(1);
        if ones > 0 {
            shorten(&mut cots.blocks, ones);
            let choices = cots.choices.slice(0, ones);
            replace(&mut cots.choices, choices);
            let own = &mut self.received[0];
            let choices = Bits::concat(&[&own.choices, &cots.choices]);
            replace(&mut own.choices, choices);
            join(&mut own.blocks, std::mem::take(&mut cots.blocks));
        }
    }
}

/// Leaves the first `n` blocks and wipes the others.
fn shorten(blocks: &mut Vec<Block>, n: usize) {
    blocks[n..].zeroize();
    blocks.truncate(n);
}

/// A source of random OTs between two parties, in both directions.
pub trait RandomOt: Send {
    /// What relates the blocks of every OT of a kind that this party sends; secret, from the
    /// operating system's randomness.
    fn offsets(&self, index_bits: u32) -> Offsets;

    /// Makes OTs that this party sends and OTs that it receives. The peer calls it with the two
    /// swapped.
    fn extend(&mut self, party: &mut Party, send: &Demand, recv: &Demand) -> Result<Made, Error>;

    /// The declared cost of an `extend` after which party `i` has sent `ots[i]`.
    fn cost(&self, ots: [Demand; 2]) -> Cost;
}

/// The protocol by which OTs are extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtExtension {
    /// SoftSpoken OT, whose receiver sends `ceil(128 / k) - 1` bits per correlated OT, and less
    /// than twice that for a 1-of-2^m OT.
    SoftSpoken {
        /// 1 to 8: the higher, the less is sent and the more is computed.
        k: u32,
    },
    /// Silent OT of Ferret's type, which sends next to nothing for many OTs and computes more.
    Silent,
}

impl Default for OtExtension {
    fn default() -> Self {
        OtExtension::SoftSpoken { k: 4 }
    }
}

impl OtExtension {
    /// What the set-up takes.
    pub fn setup_cost(self) -> Cost {
        match self {
            OtExtension::SoftSpoken { k } => SoftSpoken::setup_cost(k, KINDS as u32),
            OtExtension::Silent => Silent::setup_cost(),
        }
    }

    /// The cost of the first extension after which party `i` has sent `ots[i]`. Only of silent OT
    /// do later ones take less, by what the first ones left over.
    pub fn cost(self, ots: [Demand; 2]) -> Cost {
        match self {
            OtExtension::SoftSpoken { k } => SoftSpoken::cost_of(k, ots),
            OtExtension::Silent => Silent::first_cost(ots),
        }
    }
}

/// A source of OTs between this party and the other, both 0 or 1, which call it alike. Runs the
/// set-up; both directions have secrets of their own, new in every session.
pub fn source(party: &mut Party, kind: OtExtension) -> Result<Box<dyn RandomOt>, Error> {
    if party.parties() != PARTIES {
        let parties = party.parties();
        return Err(Error::Invalid(format!(
            "OTs need two parties, not {parties}"
        )));
    }
    let source: Result<Box<dyn RandomOt>, Error> = match kind {
        OtExtension::SoftSpoken { k } if !(1..=8).contains(&k) => {
            Err(Error::Invalid(format!("SoftSpoken's k is 1 to 8, not {k}")))
        }
        OtExtension::SoftSpoken { k } => {
            SoftSpoken::setup(party, k, KINDS as u32).map(|source| Box::new(source) as _)
        }
        OtExtension::Silent => Silent::setup(party).map(|source| Box::new(source) as _),
    };
    source.inspect_err(|error| error.end_set_up(party))
}

/// The number of the party that is not this one.
fn peer_of(party: &Party) -> usize {
    1 - party.id()
}
