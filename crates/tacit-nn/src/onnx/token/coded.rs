//! Categories among the numbers of an input: columns of a matrix of floats that are cast to whole numbers, which choose
//! rows of a table. They are shared as the numbers that they are, and their owner checks that they are categories.

use std::collections::HashSet;

use super::{Given, ask, is_itself, limited};
use crate::graph::{InputKind, Op, ValueId};
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, Value};
use crate::onnx::compose::Composer;
use crate::onnx::which;

impl Given {
    /// Whether the numbers are categories of an input of numbers.
    pub(super) fn is_coded(&self, builder: &Builder) -> bool {
        let input = &builder.inputs[self.input];
        let mut places = self.absolute(builder).into_iter();
        let is_category = |place: usize| input.limits.get(place).is_some_and(|&limit| limit > 0);
        self.lookup.is_none() && input.kind == InputKind::Numbers && places.all(is_category)
    }
}

/// Indices of a table of so many rows that are numbers of an input, cast to whole ones, as the numbers themselves: asks
/// that they be categories. Other values stay.
pub(super) fn untruncated(
    call: &Call,
    builder: &mut Builder,
    id: ValueId,
    classes: usize,
) -> Result<ValueId, Fault> {
    let (at, places) = builder.moved_from(id);
    let Some(&of) = builder.truncated.get(&at) else {
        return Ok(id);
    };
    let Some(mut given) = Given::of(builder, of) else {
        return Ok(id);
    };
    if given.kind(builder) != InputKind::Numbers {
        return Ok(id);
    }
    given.places = places.iter().map(|&at| given.places[at as usize]).collect();
    limited(builder, &given, &vec![classes; given.places.len()])?;
    let shape = builder.shape(id);
    Composer::new(call, builder).moved("categories", of, places, shape)
}

/// The whole numbers that indices of a table of so many rows may be. Of whole numbers of an input to which constants are
/// added it asks that they choose from no more rows; of others that integers of one input alone make, that these be tokens.
pub(in crate::onnx) fn numbers(
    builder: &mut Builder,
    index: &Value,
    classes: usize,
) -> Result<Vec<f32>, Fault> {
    let found = which::numbers(builder, index, classes);
    if let (Err(_), Value::Secret { id, .. }) = (&found, index)
        && let Some((given, shifts)) = moved_on(builder, *id)
    {
        let limit = |shift: i64| usize::try_from(classes as i64 - shift).unwrap_or(0).max(1);
        let limits: Vec<usize> = shifts.into_iter().map(limit).collect();
        limited(builder, &given, &limits)?;
    }
    if let (Err(_), Value::Secret { id, .. }) = (&found, index)
        && let Some(input) = only_integers(builder, *id)
    {
        // One beyond the table, where a choice takes another row for it.
        let classes = classes + 1;
        return ask(builder, input, InputKind::Tokens { classes });
    }
    found
}

/// The input of integers that a value is made of alone, without a division: what is left of one may be any number.
fn only_integers(builder: &Builder, id: ValueId) -> Option<usize> {
    let (mut open, mut seen, mut only) = (vec![id], HashSet::new(), None);
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        if let Some(given) = Given::of(builder, id) {
            let integers = given.lookup.is_none() && given.kind(builder) == InputKind::Integers;
            let same = *only.get_or_insert(given.input) == given.input;
            (integers && same).then_some(())?;
        } else {
            let node = &builder.nodes[id.checked_sub(1)?];
            (!matches!(node.op, Op::Whole(_))).then_some(())?;
            open.extend(&node.inputs);
        }
    }
    only
}

/// Whole numbers of an input, and the whole number that is added to each.
fn moved_on(builder: &Builder, id: ValueId) -> Option<(Given, Vec<i64>)> {
    let (at, places) = builder.moved_from(id);
    let node = &builder.nodes[at.checked_sub(1)?];
    let Op::Affine(affine) = &node.op else {
        return None;
    };
    let whole = affine
        .shift
        .iter()
        .all(|v| v.fract() == 0.0 && v.abs() < 1e6);
    if !affine.scale.is_empty() || affine.shift.is_empty() || !whole {
        return None;
    }
    let mut given = Given::of(builder, node.inputs[0])?;
    let kind = given.kind(builder);
    if matches!(kind, InputKind::Numbers | InputKind::Truths)
        || !given.lookup.as_ref().is_none_or(is_itself)
    {
        return None;
    }
    let shift = |&place: &u32| affine.shift[place as usize / affine.inner % affine.shift.len()];
    let shifts = places.iter().map(|place| shift(place) as i64).collect();
    given.places = places.iter().map(|&at| given.places[at as usize]).collect();
    Some((given, shifts))
}
