//! GatherElements of computed values at computed places: along an axis of an item, the element at a place of its own
//! for every element of the result. Its marks times the elements of its line.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::Composer;
use super::constant::bounded_len;
use super::places::marks_of;
use super::token::coded_numbers;
use super::which;
use crate::graph::{Matrices, Op, ValueId, len};

/// Whether a GatherElements has both computed.
pub(super) fn is_computed(call: &Call) -> bool {
    let computed = |i| matches!(call.input(i), Some(Value::Secret { .. }));
    computed(0) && computed(1)
}

/// For every index a row of marks, one for each number that it may be: their value, the numbers, and the row of every
/// index.
fn marks(
    call: &Call,
    builder: &mut Builder,
    index: &Value,
    size: usize,
) -> Result<(ValueId, Vec<f32>, Vec<u32>), Fault> {
    let Value::Secret { id, .. } = index else {
        return unsupported("its indices are no computed values");
    };
    if let Some(found) = marks_of(builder, *id) {
        return Ok(found);
    }
    let keys = coded_numbers(builder, index, size)?;
    let (at, places) = builder.moved_from(*id);
    // Those that stand in several places are told apart once.
    let (x, rows) = match builder.len(at) <= places.len() {
        true => (at, places),
        false => (*id, (0..places.len() as u32).collect()),
    };
    let c = &mut Composer::new(call, builder);
    let marks = which::marks(c, x, &keys, true)?;
    Ok((marks, keys, rows))
}

/// The elements at the places that are found.
pub(super) fn gather_elements(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape, batch) = call.secret_at(0)?;
    let (_, given, at) = call.secret_at(1)?;
    let along = call.item_axis(call.int("axis", 0), shape.len(), batch)?;
    let fits = given.len() == shape.len()
        && batch == at
        && (0..shape.len()).all(|a| a == along || given[a] <= shape[a]);
    if !fits {
        return bad(format!(
            "its indices of the item shape {given:?} do not fit {shape:?}"
        ));
    }
    let size = shape[along];
    let (marks, numbers, rows) = marks(call, builder, call.required(1)?, size)?;
    let (items, k) = (len(given), numbers.len());
    builder.reserve(bounded_len(&[2, items, k])?)?;
    let places = numbers.iter().map(|&number| {
        let place = if number < 0.0 {
            number + size as f32
        } else {
            number
        };
        let inside = place.fract() == 0.0 && (0.0..size as f32).contains(&place);
        inside.then_some(place as usize)
    });
    let Some(places) = places.collect::<Option<Vec<_>>>() else {
        return unsupported(format!(
            "a place that it chooses by is outside an axis of {size}"
        ));
    };
    let inner = len(&shape[along + 1..]);
    // The first element of the line of every index.
    let line = |e: usize| {
        let (mut rest, mut stride, mut found) = (e, 1, 0);
        for a in (0..shape.len()).rev() {
            found += if a == along {
                0
            } else {
                rest % given[a] * stride
            };
            rest /= given[a];
            stride *= shape[a];
        }
        found
    };
    let picked = (0..items).flat_map(|e| {
        let start = line(e);
        places
            .iter()
            .map(move |place| (start + place * inner) as u32)
    });
    let picked = picked.collect();
    let marked = rows
        .iter()
        .flat_map(|&row| (0..k as u32).map(move |at| row * k as u32 + at));
    let marked = marked.collect();
    let c = &mut Composer::new(call, builder);
    let left = c.moved("marks", marks, marked, vec![items, 1, k])?;
    let right = c.moved("lines", x, picked, vec![items, k, 1])?;
    let product = Op::MatMul(Matrices {
        batch: items,
        m: 1,
        k,
        n: 1,
    });
    let id = c.node("chosen", product, &[left, right], given.to_vec())?;
    builder.chosen_from.insert(id, x);
    Ok(Value::Secret {
        id,
        shape: given.to_vec(),
        batch,
    })
}
