//! GatherND and Gather at places of which some are found on shares: the row of every item at a place of its own, as
//! `x[arange(len(x)), place]` is exported. The last valid step of a sequence is chosen so, or the one that ends a text.

use super::builder::Builder;
use super::call::{Call, Fault, Value, unsupported};
use super::compose::Composer;
use super::constant::bounded_len;
use super::places::marks_of;
use crate::graph::{FILL, Matrices, Op, ValueId, len};

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

/// One number of an index.
enum Place {
    Known(f32),
    /// An element of a value, and what is added to it.
    Found(ValueId, usize, f32),
}

/// Element `e` of value `id`, followed back to where it is made or known.
fn place_of(builder: &Builder, mut id: ValueId, mut e: usize) -> Place {
    let mut more = 0.0;
    while let Some(node) = id.checked_sub(1).map(|at| &builder.nodes[at]) {
        match &node.op {
            Op::Rearrange { index, fill } => match index[e] {
                FILL => return Place::Known(fill + more),
                from => e = from as usize,
            },
            Op::Affine(affine) if affine.scale.is_empty() && !affine.shift.is_empty() => {
                more += affine.shift[e / affine.inner % affine.shift.len()];
            }
            Op::Concat { outer } => {
                let each = node.inputs.iter().map(|&input| builder.len(input) / outer);
                let row: usize = each.clone().sum();
                let (line, mut at) = (e / row, e % row);
                let parts = node.inputs.iter().zip(each);
                let mut found = None;
                for (&input, size) in parts {
                    if at < size {
                        found = Some((input, line * size + at));
                        break;
                    }
                    at -= size;
                }
                match found {
                    Some((input, at)) => {
                        (id, e) = (input, at);
                        continue;
                    }
                    None => break,
                }
            }
            _ => break,
        }
        id = node.inputs[0];
    }
    Place::Found(id, e, more)
}

/// The rows that indices choose of which one number each is found by marks: the marks of all places times the rows
/// there.
pub(super) fn gather(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    const WHY: &str = "its indices are computed; of these one number each may be, the place of a largest number or of a mark";
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
    let (mut picked, mut marked) = (Vec::new(), Vec::new());
    let mut by: Option<(ValueId, usize)> = None;
    // Those of the value that the row before was found in, too.
    let mut last = None;
    for row in 0..rows {
        let places = (0..depth).map(|at| place_of(builder, indices, row * depth + at));
        let places: Vec<Place> = places.collect();
        let start = |axis: usize, place: f32| {
            let size = shape[axis] as f32;
            let place = if place < 0.0 { place + size } else { place };
            let inside = place.fract() == 0.0 && place >= 0.0 && place < size;
            inside.then(|| place as usize * len(&shape[axis + 1..]))
        };
        let (mut fixed, mut found) = (0, None);
        for (axis, place) in places.iter().enumerate() {
            match *place {
                Place::Known(number) => match start(axis, number) {
                    Some(start) => fixed += start,
                    None => {
                        return unsupported(format!("its index {number} is outside axis {axis}"));
                    }
                },
                Place::Found(id, e, more) if found.is_none() => found = Some((axis, id, e, more)),
                Place::Found(..) => return unsupported(WHY),
            }
        }
        let Some((axis, id, e, more)) = found else {
            return unsupported(WHY);
        };
        if last.as_ref().is_none_or(|(of, _)| *of != id) {
            last = marks_of(builder, id).map(|found| (id, found));
        }
        let Some((_, (marks, numbers, rows_of))) = &last else {
            return unsupported(WHY);
        };
        let marks = *marks;
        if *by.get_or_insert((marks, numbers.len())) != (marks, numbers.len()) {
            return unsupported(WHY);
        }
        let all = bounded_len(&[rows, numbers.len(), n])?;
        builder.reserve(if row == 0 { all } else { 0 })?;
        for (at, number) in numbers.iter().enumerate() {
            let Some(start) = start(axis, number + more) else {
                return unsupported(format!(
                    "a place that it chooses by may be {}, outside axis {axis} of {}",
                    number + more,
                    shape[axis]
                ));
            };
            picked.extend((fixed + start..fixed + start + n).map(|e| e as u32));
            marked.push(rows_of[e] * numbers.len() as u32 + at as u32);
        }
    }
    let Some((marks, k)) = by else {
        return unsupported(WHY);
    };
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
    Ok(Value::Secret {
        id,
        shape: out,
        batch: 0,
    })
}
