//! What the RSS setting declares of its own cost: its program, run by parties that count.
//!
//! All parties together, at l = 64 and 7 key bits: a ReLU is online 46.75 bytes and 2 hops,
//! offline 24 bytes; without a promise 100 bytes and 10 hops, offline nothing. A product with a truncation
//! by 13 bits 36.9 bytes and 3 hops, offline nothing.

use std::marker::PhantomData;

use tacit_algebra::{Buffer, Ring};
use tacit_net::Party;

use super::BicoptorRss;
use super::demand::{Store, Want, wants_of};
use crate::Cost;
use crate::bicoptor::role::PartyRole;
use crate::bicoptor::{Options, PARTIES};
use crate::count::{Counts, count, online};
use crate::machine::{Call, CostModel, Machine};
use crate::replicated::{Replicated, Rss, workspace};

/// The RSS setting's declared cost over the ring `R`.
#[derive(Clone, Copy, Debug)]
pub struct RssCost<R>(Options, PhantomData<fn() -> R>);

impl<R: Ring> RssCost<R> {
    /// The cost of a run with these options.
    pub fn new(options: Options) -> Self {
        RssCost(options, PhantomData)
    }

    /// A machine of a party that counts.
    fn machine(&self, party: Party) -> BicoptorRss<R> {
        BicoptorRss {
            role: PartyRole::counting(party.id()),
            rss: Replicated::counting(party),
            options: self.0,
            store: Store::new(),
            cost: RssCost::new(self.0),
        }
    }
}

impl<R: Ring> Counts for BicoptorRss<R> {
    fn blank(&mut self, n: usize, _: Option<u32>, _: Option<usize>) -> Rss<Buffer<R>> {
        Rss::counted(n)
    }

    fn blank_bits(&mut self, n: usize) -> Rss<Buffer<R>> {
        Rss::counted(n)
    }
}

impl<R: Ring> CostModel for RssCost<R> {
    fn online(&self, call: &Call) -> Cost {
        online(PARTIES, |party| self.machine(party), call)
    }

    fn offline(&self, calls: &[Call]) -> Cost {
        count(PARTIES, |party| {
            let mut machine = self.machine(party);
            machine.preprocess(calls)?;
            Ok(machine.party().take_trace())
        })
    }

    fn stored(&self, call: &Call) -> u64 {
        let words = |n: usize| (n * size_of::<R>()) as u64;
        let of = |want: Want| match want {
            Want::Sign { n } => words(2 * n) + n as u64 / 8,
            Want::Truncate { n, .. } => words(3 * n),
        };
        let wants = wants_of::<R>(call, &self.0);
        wants.into_iter().map(of).sum()
    }

    /// Bytes of a party's share of an element: two components.
    fn share_bytes(&self, _party: usize) -> u64 {
        u64::from(R::BITS / 4)
    }

    fn workspace(&self, call: &Call) -> u64 {
        self.stored(call).max(workspace::<R>(call))
    }
}
