//! What the UBL setting declares of its own cost: its program, run by parties that count.
//!
//! All parties together, at l = 64 and 7 key bits: a ReLU is online 54.5 bytes and 2 hops, offline
//! 8 bytes; without a promise 77 bytes and 8 hops, offline 38.6 bytes. A product with a truncation online 16 bytes more than opening its operands, and 2
//! hops, offline 16 bytes.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use tacit_algebra::{Buffer, Ring};
use tacit_net::Party;

use super::adder::sign_stored;
use super::demand::{Store, Want, wants_of};
use super::share::Reusable;
use super::{Share, Ubl};
use crate::Cost;
use crate::bicoptor::role::PartyRole;
use crate::bicoptor::{ASSISTANT, Options, PARTIES};
use crate::count::{Counts, count, online};
use crate::machine::{Call, CostModel, Machine};
use crate::material_portions::Ahead;

/// The UBL setting's declared cost over the ring `R`.
#[derive(Clone, Copy, Debug)]
pub struct UblCost<R>(Options, PhantomData<fn() -> R>);

impl<R: Ring> UblCost<R> {
    /// The cost of a run with these options.
    pub fn new(options: Options) -> Self {
        UblCost(options, PhantomData)
    }

    /// A machine of a party that counts.
    pub(super) fn machine(&self, party: Party) -> Ubl<R> {
        Ubl {
            role: PartyRole::counting(party.id()),
            party,
            ahead: Ahead::default(),
            options: self.0,
            reusable: Vec::new(),
            store: Store::new(),
            cost: UblCost::new(self.0),
        }
    }
}

impl<R: Ring> Counts for Ubl<R> {
    fn blank(&mut self, n: usize, _: Option<u32>, _: Option<usize>) -> Share<R> {
        let holds = matches!(self.role, PartyRole::Holder { .. });
        Share::new(n, holds.then(|| Buffer::counted(n)))
    }

    fn blank_bits(&mut self, n: usize) -> Share<R> {
        self.blank(n, None, None)
    }
}

/// The calls with the reusable operands that they name, numbered anew in their order, and these operands.
fn operands<R>(calls: &[Call]) -> (Vec<Call>, Vec<Arc<Reusable<R>>>) {
    let (mut calls, mut names, mut all) = (calls.to_vec(), BTreeMap::new(), Vec::new());
    for call in &mut calls {
        if let Call::Product {
            map,
            reused: Some(id),
            ..
        } = call
        {
            *id = *names.entry(*id).or_insert_with(|| {
                let (id, known) = (all.len(), Buffer::counted(map.right()));
                all.push(Arc::new(Reusable { id, known }));
                id
            });
        }
    }
    (calls, all)
}

impl<R: Ring> CostModel for UblCost<R> {
    fn online(&self, call: &Call) -> Cost {
        online(PARTIES, |party| self.machine(party), call)
    }

    fn offline(&self, calls: &[Call]) -> Cost {
        count(PARTIES, |party| {
            let mut machine = self.machine(party);
            let (calls, reusable) = operands(calls);
            machine.reusable = reusable;
            machine.preprocess(&calls)?;
            Ok(machine.party().take_trace())
        })
    }

    /// The assistant holds none.
    fn share_bytes(&self, party: usize) -> u64 {
        match party {
            ASSISTANT => 0,
            _ => size_of::<R>() as u64,
        }
    }

    fn stored(&self, call: &Call) -> u64 {
        let words = |n: usize| (n * size_of::<R>()) as u64;
        // What the holders know of it.
        if let Call::Reusable { n } = *call {
            return words(n);
        }
        let of = |want: Want| match want {
            Want::Product { map, reused, trunc } => {
                let right = if reused.is_some() { 0 } else { map.right() };
                let masks = if trunc == 0 { 1 } else { 3 };
                words(map.left() + right + masks * map.outputs())
            }
            Want::Truncate { n, .. } | Want::Relu { n } => words(3 * n),
            Want::Sign { n, width } => sign_stored(n, width),
            Want::Bit { n } => words(n) + n as u64 / 8,
            Want::Times { n } => words(3 * n) + n as u64 / 8,
        };
        let wants = wants_of::<R>(call, &self.0);
        wants.into_iter().map(of).sum()
    }

    /// While an operand is made reusable, beside what is stored: the elements as they were shared, their mask,
    /// and the message to and from the other holder.
    fn workspace(&self, call: &Call) -> u64 {
        let stored = self.stored(call);
        match *call {
            Call::Reusable { n } => stored + (6 * n * size_of::<R>()) as u64,
            _ => stored,
        }
    }
}
