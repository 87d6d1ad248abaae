//! Numbers that are chosen by marks, rows of which just one is 1 and the others 0: places that are found on
//! shares, and leaves of one tree. A function of such a number is chosen by the same marks.

use super::call::Fault;
use super::compose::Composer;
use crate::graph::{FILL, Op, ValueId, Weights};

/// What `of` makes of the numbers of value `id`, if these are chosen by marks and `of` knows them all.
pub(super) fn chosen_of(
    c: &mut Composer,
    id: ValueId,
    of: impl Fn(f32) -> Option<f32>,
) -> Result<Option<ValueId>, Fault> {
    let mut moved: Vec<u32> = (0..c.builder.len(id) as u32).collect();
    let mut at = id;
    let (marks, numbers) = loop {
        let Some(node) = at.checked_sub(1).map(|node| &c.builder.nodes[node]) else {
            return Ok(None);
        };
        match &node.op {
            Op::Rearrange { index, .. } if !index.contains(&FILL) => {
                moved
                    .iter_mut()
                    .for_each(|place| *place = index[*place as usize]);
                at = node.inputs[0];
            }
            Op::Linear(linear) if linear.n == 1 && c.builder.marks.contains(&node.inputs[0]) => {
                let term = linear.bias.first().copied().unwrap_or(0.0);
                let numbers: Vec<f32> = linear.weight.iter().map(|w| w + term).collect();
                break (node.inputs[0], numbers);
            }
            _ => return Ok(None),
        }
    };
    let Some(made) = numbers.iter().map(|&v| of(v)).collect::<Option<Weights>>() else {
        return Ok(None);
    };
    let chosen = c.linear(
        "chosen",
        marks,
        [numbers.len(), 1],
        made,
        Weights::default(),
    )?;
    let shape = c.builder.shape(id);
    c.moved("chosen in order", chosen, moved, shape).map(Some)
}

/// The numbers of a list by their places in it.
pub(super) fn of_list(list: &[f32]) -> impl Fn(f32) -> Option<f32> {
    |place| {
        let place = (place.fract() == 0.0 && place >= 0.0).then_some(place as usize)?;
        list.get(place).copied()
    }
}
