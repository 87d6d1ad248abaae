//! Tokens that choose rows of tables of several sizes, and of one table from several rows on.

use super::{Given, is_itself};
use crate::graph::{InputKind, Lookup, Op, ValueId, Weights};
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, unsupported};
use crate::onnx::compose::Composer;

/// Asks that tokens choose from no more rows than these, each.
pub(super) fn limited(builder: &mut Builder, given: &Given, limits: &[usize]) -> Result<(), Fault> {
    let places = given.absolute(builder);
    let input = &builder.inputs[given.input];
    let known = |place: usize| input.limits.get(place).copied().unwrap_or(0);
    let is_known = |(&place, &limit): (&usize, &usize)| (1..=limit).contains(&known(place));
    let shared = given.lookup.is_some() || input.kind == InputKind::Numbers;
    if shared && places.iter().zip(limits).all(is_known) {
        return Ok(());
    }
    let (name, most) = (&input.name, limits.iter().max().copied().unwrap_or(1));
    let kind = InputKind::Tokens { classes: most };
    let told = format!("it needs '{name}' as {}", kind.described());
    let wanted = places.into_iter().zip(limits.iter().copied()).collect();
    builder.wanted_limits.push((given.input, wanted));
    unsupported(told)
}

/// The integers of an input that are clipped to numbers from 0 on, since none below 0 is taken where they choose rows;
/// of any other value that value itself.
pub(super) fn from_0(builder: &Builder, id: ValueId) -> ValueId {
    let node = id.checked_sub(1).map(|at| &builder.nodes[at]);
    let clipped = node.filter(|node| {
        let from_0 = Op::Clip {
            low: Some(0.0),
            high: None,
        };
        node.op == Op::Relu || node.op == from_0
    });
    let integers = |id: &ValueId| {
        let given = Given::of(builder, *id);
        given.is_some_and(|given| {
            let kind = given.kind(builder);
            let counts = matches!(kind, InputKind::Integers | InputKind::Tokens { .. });
            // What is looked up by tokens may be below 0.
            counts && given.lookup.as_ref().is_none_or(is_itself)
        })
    };
    let inside = clipped.map(|node| node.inputs[0]);
    inside.filter(integers).unwrap_or(id)
}

/// The most sums in which something is added to tokens one after the other.
const STEPS: usize = 8;

/// Tokens, and what is added to each, also in several steps.
pub(super) fn shifted(builder: &Builder, id: ValueId) -> Option<(Given, Vec<usize>)> {
    in_steps(builder, id, STEPS)
}

fn in_steps(builder: &Builder, id: ValueId, most: usize) -> Option<(Given, Vec<usize>)> {
    let (at, places) = builder.moved_from(id);
    let node = &builder.nodes[at.checked_sub(1)?];
    let Op::Affine(affine) = &node.op else {
        return None;
    };
    if !affine.scale.is_empty() || affine.shift.is_empty() {
        return None;
    }
    let inside = node.inputs[0];
    let more = (most > 1).then(|| in_steps(builder, inside, most - 1));
    let (mut given, before) = more
        .flatten()
        .or_else(|| unshifted(builder, from_0(builder, inside)))?;
    let shift = |&place: &u32| {
        let shift = affine.shift[place as usize / affine.inner % affine.shift.len()];
        let whole = shift.fract() == 0.0 && shift >= 0.0;
        whole.then(|| before[place as usize].saturating_add(shift as usize))
    };
    let shifts = places.iter().map(shift).collect::<Option<Vec<_>>>()?;
    given.places = places.iter().map(|&at| given.places[at as usize]).collect();
    Some((given, shifts))
}

/// Tokens to which nothing is added.
fn unshifted(builder: &Builder, id: ValueId) -> Option<(Given, Vec<usize>)> {
    let given = Given::of(builder, id)?;
    let counts = !matches!(given.kind(builder), InputKind::Numbers | InputKind::Truths);
    let none = vec![0; given.places.len()];
    (counts && given.lookup.as_ref().is_none_or(is_itself)).then_some((given, none))
}

/// The rows of one table for tokens to each of which a number of its own is added: how columns of categories share
/// a table.
pub(super) fn shifted_rows(
    call: &Call,
    builder: &mut Builder,
    (given, shifts): (&Given, &[usize]),
    (classes, n, table): (usize, usize, &Weights),
    out: Vec<usize>,
) -> Result<ValueId, Fault> {
    if let Some(shift) = shifts.iter().find(|&&shift| shift >= classes) {
        return unsupported(format!(
            "its indices begin at {shift}, beyond a table of {classes} rows"
        ));
    }
    let limits: Vec<usize> = shifts.iter().map(|shift| classes - shift).collect();
    limited(builder, given, &limits)?;
    let Some(lookup) = &given.lookup else {
        return unsupported("its indices are no tokens");
    };
    let known = lookup.classes;
    let mut parts: Vec<ValueId> = Vec::new();
    for (&place, &shift) in given.places.iter().zip(shifts) {
        builder.reserve(known.saturating_mul(n))?;
        let how = format!("{known} rows {n} from {shift}");
        let table = builder.derive(table, how, || {
            let rows = (shift..shift + known).map(|row| row.min(classes - 1));
            let of = |row: usize| &table[row * n..][..n];
            rows.flat_map(of).copied().collect()
        });
        let one = Lookup {
            start: lookup.start + place as usize,
            tokens: 1,
            n,
            table,
            ..lookup.clone()
        };
        let c = &mut Composer::new(call, builder);
        parts.push(c.node("row", Op::Lookup(one), &[0], vec![n])?);
    }
    let c = &mut Composer::new(call, builder);
    match parts[..] {
        [one] => c.moved("row", one, (0..n as u32).collect(), out),
        _ => c.node("rows", Op::Concat { outer: 1 }, &parts, out),
    }
}
