//! Prepares the output of a plan for its opening.

use tacit_protocols::Error;
use tacit_protocols::machine::{Erased, Handle, Machine, PAD};

use crate::plan::{Plan, RANKING, Scores};

/// What is opened of a batch of outputs.
pub(super) fn to_open(plan: &Plan, machine: &mut Erased, output: &Handle) -> Result<Handle, Error> {
    let scores = &plan.opening.scores[..];
    let item = plan.value_len(plan.output).max(1);
    let batch = machine.len(output) / item;
    match (plan.opening.reveal.places(), scores) {
        (Some(k), [scores, ..]) => places(plan, machine, output, scores, [batch, k]),
        (_, []) => Ok(output.clone()),
        (None, scores) => Ok(differences(machine, output, scores, [batch, item])),
    }
}

/// The places of the `k` largest scores of every window, in the order of the item's axes.
fn places(
    plan: &Plan,
    machine: &mut Erased,
    output: &Handle,
    scores: &Scores,
    [batch, k]: [usize; 2],
) -> Result<Handle, Error> {
    machine.layer(RANKING)?;
    let missing = || Error::Invalid("the plan opens no classes".into());
    let top = plan.top(batch).ok_or_else(missing)?;
    let &Scores {
        size, inner, last, ..
    } = scores;
    // From the last to the first, where the last of equal scores is the one to find.
    let place = move |j: usize| if last { size - 1 - j } else { j };
    let lane = |window: usize| {
        let (block, offset) = (window / inner, window % inner);
        (0..size).map(move |j| ((block * size + place(j)) * inner + offset) as u32)
    };
    let lanes = || (0..top.windows).flat_map(lane).collect();
    let lanes = machine.gather_by(output, top.windows * size, lanes);
    let mut places = top.apply(machine, &lanes)?;
    if last {
        let n = top.windows * k;
        let all = machine.constant_by(n, || vec![size as i64 - 1; n]);
        places = machine.sub(&all, &places);
    }
    if inner == 1 || k == 1 {
        return Ok(places);
    }
    let element = |i: usize| {
        let (block, r, offset) = (i / (k * inner), i / inner % k, i % inner);
        ((block * inner + offset) * k + r) as u32
    };
    let n = top.windows * k;
    Ok(machine.gather_by(&places, n, || (0..n).map(element).collect()))
}

/// Every score less the first of its window: all that a softmax tells of them; the other elements of an item
/// as they are. Local. Planned values are below a quarter of their range, so a difference does not leave it.
fn differences(
    machine: &mut Erased,
    output: &Handle,
    scores: &[Scores],
    [batch, item]: [usize; 2],
) -> Handle {
    let first = |i: usize| {
        let (before, e) = (i / item * item, i % item);
        let found = scores.iter().find_map(|scores| scores.first(e));
        found.map_or(PAD, |first| (before + first) as u32)
    };
    let n = batch * item;
    let first = machine.gather_by(output, n, || (0..n).map(first).collect());
    machine.sub(output, &first)
}
