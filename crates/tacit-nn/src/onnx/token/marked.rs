//! Marks of tokens: for each a row of zeros with a 1 at its place.

use super::shifted::limited;
use super::{Given, is_itself};
use crate::graph::{InputKind, Lookup, Op, ValueId};
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, unsupported};
use crate::onnx::compose::Composer;

/// Rows of marks: their value, the number that each mark of a row stands for, and the row of every element.
type Marks = (ValueId, Vec<f32>, Vec<u32>);

/// Marks of elements of value `id`, if these are whole numbers of one input: asks that they be tokens, each from no more
/// than so many numbers. `None` of other values.
pub(in crate::onnx) fn marks(
    call: &Call,
    builder: &mut Builder,
    id: ValueId,
    elements: &[usize],
    limits: &[usize],
) -> Result<Option<Marks>, Fault> {
    let (at, places) = builder.moved_from(id);
    let places = elements.iter().map(|&e| places[e]).collect();
    let Some(given) = Given::at(builder, (at, places)) else {
        return Ok(None);
    };
    let whole = !matches!(given.kind(builder), InputKind::Numbers | InputKind::Truths);
    if !whole || !given.lookup.as_ref().is_none_or(is_itself) {
        return Ok(None);
    }
    limited(builder, &given, limits)?;
    let Some(lookup) = &given.lookup else {
        return unsupported("its indices are no tokens");
    };
    let (n, most) = (lookup.classes, given.most(builder));
    builder.reserve(n.saturating_mul(n))?;
    let (first, last) = given.span();
    let marked = Lookup {
        start: lookup.start + first,
        tokens: last + 1 - first,
        n,
        table: (0..n * n)
            .map(|e| f32::from(u8::from(e / n == e % n)))
            .collect(),
        ..lookup.clone()
    };
    let shape = vec![marked.tokens, n];
    let c = &mut Composer::new(call, builder);
    let marks = c.node("marks of tokens", Op::Lookup(marked), &[0], shape)?;
    // No token here is one of those beyond, which are as the last.
    let numbers = (0..n).map(|token| token.min(most.saturating_sub(1)) as f32);
    let rows = given.places.iter().map(|&place| place - first as u32);
    Ok(Some((marks, numbers.collect(), rows.collect())))
}
