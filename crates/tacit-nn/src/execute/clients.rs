//! Inputs of clients that are no party, and what they get.

use tacit_protocols::Error;
use tacit_protocols::machine::{Erased, Handle, Machine};

use super::check_batch;
use super::opening::to_open;
use crate::plan::{INPUT, OUTPUT, Plan};

/// The inputs of several clients, one behind the other, in the ring: of each so many items, and this
/// party's share of them, as the protocol takes in what it cannot trust.
pub fn take_input(
    plan: &Plan,
    machine: &mut Erased,
    requests: &[(usize, &[u8])],
) -> Result<Handle, Error> {
    check_batch(plan, requests.iter().map(|(items, _)| items).sum())?;
    let one = |&(items, share): &(usize, &[u8])| machine.load(items * plan.input_len(), share);
    let parts: Vec<Handle> = requests.iter().map(one).collect::<Result<_, _>>()?;
    let all = machine.concat(&parts.iter().collect::<Vec<_>>());
    machine.layer(INPUT)?;
    machine.take_in(all)
}

/// Begins a batch of these inputs: in the widths that the plan gives them.
pub fn begin_batch(plan: &Plan, machine: &mut Erased, input: Handle) -> Result<Handle, Error> {
    machine.layer(INPUT)?;
    match plan.input_widths {
        Some(widths) => machine.resize(&input, 0, widths.bits),
        None => Ok(input),
    }
}

/// What the plan opens of a batch, still shared. Where that is classes, they are found first.
pub fn to_hand_out(plan: &Plan, machine: &mut Erased, output: &Handle) -> Result<Handle, Error> {
    let opened = to_open(plan, machine, output)?;
    machine.layer(OUTPUT)?;
    Ok(opened)
}

/// What each client of a batch gets of this party: its part of what the plan opens of the client's items.
pub fn hand_out(
    machine: &mut Erased,
    opened: &Handle,
    items: &[usize],
) -> Result<Vec<Vec<u8>>, Error> {
    let each = machine.len(opened) / items.iter().sum::<usize>().max(1);
    let mut answers = Vec::with_capacity(items.len());
    let mut first = 0;
    for &n in items {
        let own = machine.slice(opened, first * each..(first + n) * each);
        answers.push(machine.hand_out(&own)?);
        first += n;
    }
    Ok(answers)
}
