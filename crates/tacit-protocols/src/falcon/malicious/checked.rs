//! Where a machine makes verifications by itself, as a plan lists them.

use std::marker::PhantomData;

use tacit_algebra::Ring;

use super::super::{Comparison, Options};
use super::LIMIT;
use super::products::{count, entries};
use super::sign::products_of;
use super::wraps::LEFT;
use crate::call::Unverified;
use crate::machine::{Bilinear, Call, KeyBits};
use crate::pool;

/// What waits to be verified over the ring `R`, as the machine counts it.
struct Waiting<'a, R> {
    options: &'a Options,
    dirty: bool,
    what: Unverified,
    elements: usize,
    ring: PhantomData<R>,
}

impl<'a, R: Ring> Waiting<'a, R> {
    fn new(options: &'a Options) -> Self {
        Waiting {
            options,
            dirty: false,
            what: Unverified::default(),
            elements: 0,
            ring: PhantomData,
        }
    }

    /// Notes `n` signs as unverified; those of the paper's comparison are verified before its root is opened.
    fn signs(&mut self, n: usize, keys: KeyBits) {
        if self.options.comparison == Comparison::Falcon {
            self.dirty = true;
        } else {
            let [carries, ands] = products_of(self.options.sign_width::<R>(keys));
            // A single bit is its own sign.
            self.dirty |= carries > 0;
            self.what.carries += n * carries;
            self.what.ands += n * ands;
            self.elements += 3 * n;
        }
    }

    fn choices(&mut self, n: usize) {
        self.dirty = true;
        self.what.choices += n;
        self.elements += 3 * n;
    }

    /// Notes `n` truncations as unverified; those by masks open what nobody need verify first.
    fn quotients(&mut self, n: usize, trunc: u32) {
        if trunc == 0 {
            return;
        }
        self.dirty = true;
        if !self.options.masks() {
            self.what.quotients += n;
            self.elements += LEFT * n;
        }
    }

    fn add(&mut self, call: &Call) {
        match *call {
            Call::Product { map, trunc, .. } => {
                self.dirty = true;
                count(&mut self.what.entries, entries(&map));
                if let Bilinear::Elementwise(n) = map {
                    self.what.products += n;
                }
                self.elements += map.left() + map.right() + map.outputs();
                self.quotients(map.outputs(), trunc);
            }
            Call::Truncate { n, trunc, .. } => self.quotients(n, trunc),
            Call::Drelu { n, keys, .. } => self.signs(n, keys),
            Call::Select { n, .. } => self.choices(n),
            Call::Relu { n, keys, .. } => {
                self.signs(n, keys);
                self.choices(n);
            }
            Call::Maxpool {
                windows,
                size,
                keys,
                ..
            } => pool::levels(size).for_each(|(pairs, _)| {
                self.signs(pairs * windows, keys);
                self.choices(pairs * windows);
            }),
            _ => {}
        }
    }

    fn verify(&mut self) -> Call {
        Call::Verify(std::mem::replace(self, Waiting::new(self.options)).what)
    }
}

/// The calls with the verifications of the machine: before each result is given out, where more than
/// [`LIMIT`] elements wait, and where the calls have one.
pub(in crate::falcon) fn checked<R: Ring>(calls: Vec<Call>, options: &Options) -> Vec<Call> {
    let mut all = Vec::with_capacity(calls.len());
    let mut waiting = Waiting::<R>::new(options);
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
