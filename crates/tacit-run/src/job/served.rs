//! A batch of requests of clients that are no party, once the parties agree on it.

use tacit_net::Phase;
use tacit_nn::Plan;
use tacit_nn::execute::{Operands, execute, hand_out_output, take_input};
use tacit_nn::plan::Roles;
use tacit_protocols::machine::Machine;

use super::host::Demand;
use crate::Error;

/// Requests that are predicted together.
pub(crate) struct Served<'a> {
    pub plan: &'a Plan,
    pub roles: &'a Roles,
    /// Of each request its items, and this party's share of them.
    pub requests: &'a [(usize, &'a [u8])],
    /// The bytes of material that a party holds at a time.
    pub portion: u64,
}

impl Served<'_> {
    /// This party's part of each answer.
    pub fn run<M: Machine>(
        self,
        machine: &mut M,
        weights: &[Operands<M::Share>],
        demand: &mut Demand,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let items: Vec<usize> = self.requests.iter().map(|(items, _)| *items).collect();
        let asked = (self.plan, self.roles, self.portion);
        let (batch, portions) = demand.of(items.iter().sum(), asked, machine)?;
        machine.party().set_phase(Phase::Online);
        machine.provide(&portions);
        let x = take_input(self.plan, machine, self.requests)?;
        let y = execute(self.plan, machine, weights, x, &batch, &mut |_| Ok(()))?;
        let answers = hand_out_output(self.plan, machine, &y, &items)?;
        // What follows is no part of the batch.
        machine.party().set_phase(Phase::Setup);
        Ok(answers)
    }
}
