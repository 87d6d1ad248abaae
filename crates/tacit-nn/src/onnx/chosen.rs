//! GatherND and Gather at places of which some are found on shares: the row of every item at a place of its own, as
//! `x[arange(len(x)), place]` is exported. The last valid step of a sequence is chosen so, or the one that ends a text.

use std::rc::Rc;

use super::builder::Builder;
use super::call::{Call, Fault, Value, unsupported};
use super::compare::is_whole;
use super::compose::Composer;
use super::constant::bounded_len;
use super::places::marks_of;
use super::traced::Element;
use super::{token, which};
use crate::graph::{Matrices, Op, ValueId, len};

/// Whether a GatherND, or a Gather along the first axis, has indices that are computed.
pub(super) fn is_computed(call: &Call) -> bool {
    let computed = |i| matches!(call.input(i), Some(Value::Secret { .. }));
    let chooses = match call.node.op_type.as_str() {
        "GatherND" => true,
        "Gather" => call.whole && call.int("axis", 0) == 0,
        _ => false,
    };
    chooses && computed(0) && computed(1)
}

/// A row of indices: where its known numbers lead, and the number that is found, with what is added to it.
struct Row {
    start: usize,
    axis: usize,
    id: ValueId,
    element: usize,
    more: f32,
}

/// Why indices are refused of which not one number each is found.
const WHY: &str = "its indices are computed; of these one number each may be, the place of a largest number, a mark or a whole number of an input";

/// Where a place along an axis begins among the elements of an item of this shape; negative ones count from the end.
fn start(shape: &[usize], axis: usize, place: f32) -> Option<usize> {
    let size = shape[axis] as f32;
    let place = if place < 0.0 { place + size } else { place };
    let inside = place.fract() == 0.0 && place >= 0.0 && place < size;
    inside.then(|| place as usize * len(&shape[axis + 1..]))
}

/// A row of indices, `depth` of value `indices` from element `from` on.
fn row_of(
    builder: &Builder,
    shape: &[usize],
    (indices, from, depth): (ValueId, usize, usize),
) -> Result<Row, Fault> {
    let (mut fixed, mut found) = (0, None);
    for axis in 0..depth {
        match builder.traced(indices, from + axis) {
            Element::Known(number) => match start(shape, axis, number) {
                Some(start) => fixed += start,
                None => {
                    return unsupported(format!("its index {number} is outside axis {axis}"));
                }
            },
            Element::Found(id, e, more) if found.is_none() => found = Some((axis, id, e, more)),
            Element::Found(..) => return unsupported(WHY),
        }
    }
    let Some((axis, id, element, more)) = found else {
        return unsupported(WHY);
    };
    Ok(Row {
        start: fixed,
        axis,
        id,
        element,
        more,
    })
}

/// The numbers that a row's marks stand for, and which row of marks that is.
type Marked = (Rc<[f32]>, u32);

/// The marks that find the numbers of all rows, and of each which they are.
fn marks_for(
    call: &Call,
    builder: &mut Builder,
    shape: &[usize],
    rows: &[Row],
) -> Result<(ValueId, Vec<Marked>), Fault> {
    let Some(first) = rows.first() else {
        return unsupported(WHY);
    };
    if rows.iter().all(|row| row.id == first.id) && marks_of(builder, first.id).is_none() {
        let elements: Vec<usize> = rows.iter().map(|row| row.element).collect();
        // As many as lead from 0 to the last place, also those from the end.
        let limit = |row: &Row| (shape[row.axis] as f32 - row.more).max(1.0) as usize;
        let limits: Vec<usize> = rows.iter().map(limit).collect();
        return match token::marks(call, builder, first.id, &elements, &limits)? {
            Some((marks, numbers, rows)) => {
                let numbers: Rc<[f32]> = numbers.into();
                Ok((
                    marks,
                    rows.into_iter().map(|row| (numbers.clone(), row)).collect(),
                ))
            }
            None => counted(call, builder, first.id, (&elements, &limits)),
        };
    }
    let mut marked = Vec::with_capacity(rows.len());
    let mut by = None;
    for some in rows.chunk_by(|a, b| a.id == b.id) {
        let Some((marks, numbers, rows_of)) = marks_of(builder, some[0].id) else {
            return unsupported(WHY);
        };
        if *by.get_or_insert((marks, numbers.len())) != (marks, numbers.len()) {
            return unsupported(WHY);
        }
        let numbers: Rc<[f32]> = numbers.into();
        marked.extend(
            some.iter()
                .map(|row| (numbers.clone(), rows_of[row.element])),
        );
    }
    match by {
        Some((marks, _)) => Ok((marks, marked)),
        None => unsupported(WHY),
    }
}

/// The marks of elements that are whole numbers by the way they are made, as counts of what is no padding, and lead to
/// less than these limits.
fn counted(
    call: &Call,
    builder: &mut Builder,
    id: ValueId,
    (elements, limits): (&[usize], &[usize]),
) -> Result<(ValueId, Vec<Marked>), Fault> {
    let value = Value::Secret {
        id,
        shape: vec![builder.len(id)],
        batch: 0,
    };
    if !is_whole(builder, &value) {
        return unsupported(WHY);
    }
    // The sum of a mask that an input gives counts its marks.
    if let Some(Op::SumPool(_)) = id.checked_sub(1).map(|at| &builder.nodes[at].op) {
        token::ask_for_truths(builder, builder.nodes[id - 1].inputs[0])?;
    }
    let most = limits.iter().copied().max().unwrap_or(0);
    let numbers = which::numbers(builder, &value, most)?;
    let c = &mut Composer::new(call, builder);
    let some = elements.iter().map(|&e| e as u32).collect();
    let some = c.moved("counts", id, some, vec![elements.len()])?;
    let marks = which::marks(c, some, &numbers, true)?;
    let numbers: Rc<[f32]> = numbers.into();
    let rows = 0..elements.len() as u32;
    Ok((marks, rows.map(|row| (numbers.clone(), row)).collect()))
}

/// The rows that indices choose of which one number each is found by marks: the marks of all places times the rows
/// there.
pub(super) fn gather(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    super::moves::needs_whole(call)?;
    let (x, shape) = call.secret(0)?;
    let (indices, given) = call.secret(1)?;
    if call.int("batch_dims", 0) != 0 {
        return unsupported("its indices are computed, and it has 'batch_dims'");
    }
    let (depth, outer) = match (call.node.op_type.as_str(), given.split_last()) {
        ("Gather", _) => (1, given),
        (_, Some((&depth, outer))) => (depth, outer),
        (_, None) => return unsupported(WHY),
    };
    if !(1..=shape.len()).contains(&depth) {
        return unsupported(WHY);
    }
    let (rows, n) = (len(outer), len(&shape[depth..]));
    let found = (0..rows).map(|row| row_of(builder, shape, (indices, row * depth, depth)));
    let found = found.collect::<Result<Vec<Row>, Fault>>()?;
    let (marks, marks_of_rows) = marks_for(call, builder, shape, &found)?;
    let k = marks_of_rows
        .first()
        .map_or(0, |(numbers, _)| numbers.len());
    builder.reserve(bounded_len(&[rows, k, n])?)?;
    let (mut picked, mut marked) = (Vec::new(), Vec::new());
    for (row, (numbers, marks_row)) in found.iter().zip(marks_of_rows) {
        for (at, number) in numbers.iter().enumerate() {
            let place = number + row.more;
            let Some(start) = start(shape, row.axis, place) else {
                return unsupported(format!(
                    "a place that it chooses by may be {place}, outside axis {} of {}",
                    row.axis, shape[row.axis]
                ));
            };
            let first = row.start + start;
            picked.extend((first..first + n).map(|e| e as u32));
            marked.push(marks_row * k as u32 + at as u32);
        }
    }
    let c = &mut Composer::new(call, builder);
    let left = c.moved("marks", marks, marked, vec![rows, 1, k])?;
    let right = c.moved("rows", x, picked, vec![rows, k, n])?;
    let product = Op::MatMul(Matrices {
        batch: rows,
        m: 1,
        k,
        n,
    });
    let out = [outer, &shape[depth..]].concat();
    let id = c.node("chosen", product, &[left, right], out.clone())?;
    builder.chosen_from.insert(id, x);
    Ok(Value::Secret {
        id,
        shape: out,
        batch: 0,
    })
}
