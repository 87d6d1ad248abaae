//! Which messages about products a cheater changes.

use tacit_algebra::{Bits, Prg, Ring};

use super::workloads::{BITS, FIRST, NARROW, PRODUCT, RESIDUES, SECOND, WORDS, Workload};
use crate::falcon::Falcon;
use crate::falcon::domain::Residues;
use crate::message::Encoding;
use crate::replicated::{Booleans, Domain, Rss, Words};

/// Which messages about products a cheater changes, and at which element.
#[derive(Clone)]
pub(super) struct Spoil {
    pub cheater: usize,
    pub steps: &'static [&'static str],
    pub seed: u64,
    /// Whether the next element, after the last the first, is off by the opposite.
    pub cancels: bool,
}

impl Spoil {
    /// Steps whose messages are about element-wise products.
    pub const GATES: &[&str] = &[BITS, RESIDUES, NARROW, WORDS, FIRST, SECOND];
    /// The cheater changes no message.
    pub const NONE: Spoil = Spoil {
        cheater: 0,
        steps: &[],
        seed: 0,
        cancels: false,
    };
    /// Steps whose messages are about products of linear layers.
    pub const PRODUCTS: &[&str] = &[PRODUCT];

    /// What is added to a message of `n` elements: a random element at one place, not 0, and its opposite at another
    /// if errors cancel.
    pub fn error<D: Domain>(&self, step: &str, n: usize) -> D::Vec {
        if n == 0 || !self.steps.contains(&step) {
            return D::zeros(n);
        }
        let mut seed = [7; 16];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        let mut prg = Prg::new(seed);
        let at = self.seed as usize % n;
        loop {
            let one = D::draw(&mut prg, 1);
            if D::write(&one) != D::write(&D::zeros(1)) {
                let alone = |at| D::concat(&[&D::zeros(at), &one, &D::zeros(n - at - 1)]);
                let mut error = alone(at);
                if self.cancels {
                    D::sub_assign(&mut error, &alone((at + 1) % n));
                }
                return error;
            }
        }
    }

    /// A message with its error, if it is to be spoiled.
    pub fn apply<R: Ring>(&self, step: &str, payload: Vec<u8>, kind: &Workload) -> Vec<u8> {
        match step {
            BITS => self.add::<Booleans>(step, payload, kind.bits),
            RESIDUES => self.add::<Residues<R>>(step, payload, kind.residues),
            NARROW => self.add::<Residues<u32>>(step, payload, kind.narrow),
            WORDS | FIRST | SECOND | PRODUCT => {
                let n = payload.len() / size_of::<R>();
                self.add::<Words<R>>(step, payload, n)
            }
            _ => payload,
        }
    }

    /// Where a message of words by bits exceeds the ring with its error; `None` of every other message.
    pub fn wraps<R: Ring>(&self, step: &str, payload: &[u8]) -> Option<Bits> {
        if ![FIRST, SECOND].contains(&step) {
            return None;
        }
        let n = payload.len() / size_of::<R>();
        let z = Words::<R>::read(payload, n).expect("the cheater's program sends words");
        Some(z.exceeds(&self.error::<Words<R>>(step, n)))
    }

    /// Lets the cheater hold the product that it has claimed.
    pub fn keep<R: Ring, D: Domain>(&self, machine: &Falcon<R>, step: &str, z: &mut Rss<D::Vec>) {
        if machine.rss.party.id() == self.cheater {
            let error = self.error::<D>(step, D::len(&z.own));
            D::add_assign(&mut z.own, &error);
        }
    }

    fn add<D: Domain>(&self, step: &str, payload: Vec<u8>, n: usize) -> Vec<u8> {
        let mut z = D::read(&payload, n).expect("the cheater's program sends elements");
        D::add_assign(&mut z, &self.error::<D>(step, n));
        D::write(&z)
    }
}
