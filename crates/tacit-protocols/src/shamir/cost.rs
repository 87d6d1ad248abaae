//! What the protocol declares of its own cost: its program, run by parties that count; of a call or a batch
//! that comes again, what was counted before.

use std::collections::HashMap;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use tacit_algebra::Buffer;
use tacit_algebra::mersenne::Field;
use tacit_net::Party;

use super::deal::Streams;
use super::demand::Want;
use super::params::Params;
use super::{Options, Shamir};
use crate::count::{Counts, count, online};
use crate::machine::{Call, CostModel, Machine};
use crate::{Cost, Error};

/// How many times more of what a batch is made of is in memory, and at most how many bytes, as measured: messages on
/// their way, and what the allocator keeps.
const COPIES: u64 = 3;
const MOST_COPIES: u64 = 16 << 20;

/// The declared cost between some parties over the field `F`.
#[derive(Clone, Debug)]
pub struct ShamirCost<F> {
    params: Params,
    calls: Counted<Call>,
    batches: Counted<Vec<Want>>,
    field: PhantomData<fn() -> F>,
}

/// What has been counted; copies have it in common.
#[derive(Clone, Debug)]
struct Counted<K>(Arc<Mutex<HashMap<K, Cost>>>);

impl<K: Hash + Eq> Counted<K> {
    fn new() -> Self {
        Counted(Arc::default())
    }

    /// What `of` costs, counted at most once.
    fn cost(&self, of: K, count: impl FnOnce(&K) -> Cost) -> Cost {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cost) = counted.get(&of) {
            return cost.clone();
        }
        let cost = count(&of);
        counted.insert(of, cost.clone());
        cost
    }
}

impl<F: Field> ShamirCost<F> {
    /// The cost between so many parties.
    pub fn new(parties: usize, options: &Options) -> Result<Self, Error> {
        Ok(Self::of(Params::new::<F>(parties, options)?))
    }

    pub(super) fn of(mut params: Params) -> Self {
        params.counted = true;
        ShamirCost {
            params,
            calls: Counted::new(),
            batches: Counted::new(),
            field: PhantomData,
        }
    }

    /// A machine of a party that counts.
    fn machine(&self, party: Party) -> Shamir<F> {
        Shamir::with(party, self.params, Streams::default(), self.clone())
    }
}

impl<F: Field> Counts for Shamir<F> {
    fn blank(&mut self, n: usize, _: Option<u32>, _: Option<usize>) -> Buffer<F> {
        Buffer::counted(n)
    }

    fn blank_bits(&mut self, n: usize) -> Buffer<F> {
        Buffer::counted(n)
    }
}

impl<F: Field> CostModel for ShamirCost<F> {
    fn online(&self, call: &Call) -> Cost {
        let mut call = *call;
        if let Call::Product { reused, .. } = &mut call {
            // It is nothing to the protocol, and every layer has another.
            *reused = None;
        }
        let parties = self.params.parties;
        self.calls.cost(call, |call| {
            online(parties, |party| self.machine(party), call)
        })
    }

    fn stored(&self, call: &Call) -> u64 {
        self.params.stored(call) as u64
    }

    /// The material, and what the largest batch of it is made of.
    fn memory(&self, calls: &[Call]) -> u64 {
        let stored = calls.iter().map(|call| self.stored(call));
        let batches = self.params.batches(calls).into_iter();
        let making = batches.map(|wants| self.params.making(&wants) as u64).max();
        let making = making.unwrap_or(0);
        let copies = making.saturating_mul(COPIES).min(MOST_COPIES);
        stored.fold(making.saturating_add(copies), u64::saturating_add)
    }

    fn share_bytes(&self, _party: usize) -> u64 {
        size_of::<F>() as u64
    }

    fn workspace(&self, call: &Call) -> u64 {
        self.params.workspace(call) as u64
    }

    /// The cost of the offline phase, if every draw is a good one.
    fn offline(&self, calls: &[Call]) -> Cost {
        let parties = self.params.parties;
        let mut sum = Cost::each(parties, 0, 0);
        for wants in self.params.batches(calls) {
            sum += &self.batches.cost(wants, |wants| {
                count(parties, |party| {
                    let mut machine = self.machine(party);
                    machine.make(wants)?;
                    Ok(machine.party().take_trace())
                })
            });
        }
        sum
    }
}
