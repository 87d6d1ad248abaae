//! Inputs of clients that are no party, and what they get.

use tacit_protocols::Error;
use tacit_protocols::machine::Machine;

use super::check_batch;
use super::opening::to_open;
use crate::plan::{INPUT, OUTPUT, Plan};

/// The inputs of several clients, one behind the other, in the ring: of each so many items, and this
/// party's share of them. Local.
pub fn take_input<M: Machine>(
    plan: &Plan,
    machine: &mut M,
    requests: &[(usize, &[u8])],
) -> Result<M::Share, Error> {
    check_batch(plan, requests.iter().map(|(items, _)| items).sum())?;
    let one = |&(items, share): &(usize, &[u8])| machine.load(items * plan.input_len(), share);
    let parts: Vec<M::Share> = requests.iter().map(one).collect::<Result<_, _>>()?;
    Ok(machine.concat(&parts.iter().collect::<Vec<_>>()))
}

/// Begins a batch of these inputs: in the widths that the plan gives them.
pub fn begin_batch<M: Machine>(
    plan: &Plan,
    machine: &mut M,
    input: M::Share,
) -> Result<M::Share, Error> {
    machine.layer(INPUT)?;
    match plan.input_widths {
        Some(widths) => machine.resize(&input, 0, widths.bits),
        None => Ok(input),
    }
}

/// What the plan opens of a batch, still shared. Where that is classes, they are found first.
pub fn to_hand_out<M: Machine>(
    plan: &Plan,
    machine: &mut M,
    output: &M::Share,
) -> Result<M::Share, Error> {
    let opened = to_open(plan, machine, output)?;
    machine.layer(OUTPUT)?;
    Ok(opened)
}

/// What each client of a batch gets of this party: its part of what the plan opens of the client's items.
pub fn hand_out<M: Machine>(
    machine: &mut M,
    opened: &M::Share,
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
