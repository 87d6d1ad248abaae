//! A batch of requests of clients that are no party, once the parties agree on it.

use tacit_net::Phase;
use tacit_nn::Plan;
use tacit_nn::execute::{Operands, begin_batch, execute, hand_out, take_input, to_hand_out};
use tacit_nn::plan::Roles;
use tacit_protocols::machine::{Erased, Handle, Machine};

use super::host::Demand;
use crate::Error;

/// What is predicted, and how.
#[derive(Clone, Copy)]
pub(crate) struct Serving<'a> {
    pub plan: &'a Plan,
    pub roles: &'a Roles,
    /// The bytes of a portion of material: what a party makes at a time.
    pub portion_bytes: u64,
    /// The items of what is predicted with material from beforehand.
    pub ahead: usize,
}

/// Requests that are predicted together.
pub(crate) struct Served<'a> {
    pub serving: Serving<'a>,
    /// Each request: how many items it has, and this party's share of them.
    pub requests: &'a [(usize, &'a [u8])],
    /// How many times material for `ahead` items lies ready.
    pub ready: usize,
}

impl Serving<'_> {
    /// Makes the material of `ahead` items, behind all that lies ready.
    pub fn fill(&self, machine: &mut Erased, demand: &mut Demand) -> Result<(), Error> {
        let demanded = demand.of(self.ahead, self.asked(), machine)?;
        for calls in demanded.portions.calls() {
            machine.verify()?;
            machine.prepare(calls)?;
        }
        machine.party().set_phase(Phase::Setup);
        Ok(())
    }

    fn asked(&self) -> (&Plan, &Roles, u64) {
        (self.plan, self.roles, self.portion_bytes)
    }
}

impl Served<'_> {
    /// This party's part of each answer. Material that lies ready is used first and in order: items go by as
    /// many as it was made for, the last ones filled up with zeros; those that are left go together.
    pub fn run(
        self,
        machine: &mut Erased,
        weights: &[Operands],
        demand: &mut Demand,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let items: Vec<usize> = self.requests.iter().map(|(items, _)| *items).collect();
        let total: usize = items.iter().sum();
        machine.party().set_phase(Phase::Online);
        let x = take_input(self.serving.plan, machine, self.requests)?;
        let mut opened = Vec::new();
        let (mut first, mut ready) = (0, self.ready);
        while first < total {
            let n = match ready {
                0 => total - first,
                _ => self.serving.ahead.min(total - first),
            };
            opened.push(self.part(machine, weights, demand, (&x, first, n), ready > 0)?);
            first += n;
            ready = ready.saturating_sub(1);
        }
        let opened = machine.concat(&opened.iter().collect::<Vec<_>>());
        let answers = hand_out(machine, &opened, &items)?;
        // What follows is no part of the batch.
        machine.party().set_phase(Phase::Setup);
        Ok(answers)
    }

    /// What is opened of `n` items from the `first` on.
    fn part(
        &self,
        machine: &mut Erased,
        weights: &[Operands],
        demand: &mut Demand,
        (x, first, n): (&Handle, usize, usize),
        ready: bool,
    ) -> Result<Handle, Error> {
        let Serving { plan, ahead, .. } = self.serving;
        let each = plan.input_len();
        let mut part = machine.slice(x, first * each..(first + n) * each);
        let size = if ready { ahead } else { n };
        if n < size {
            let zeros = machine.constant(&vec![0; (size - n) * each]);
            part = machine.concat(&[&part, &zeros]);
        }
        let demanded = demand.of(size, self.serving.asked(), machine)?;
        if !ready {
            machine.provide(&demanded.portions);
        }
        let part = begin_batch(plan, machine, part)?;
        let y = execute(plan, machine, weights, part, &demanded.items, &mut |_| {
            Ok(())
        })?;
        let opened = to_hand_out(plan, machine, &y)?;
        let each = machine.len(&opened) / size;
        Ok(machine.slice(&opened, 0..n * each))
    }
}
