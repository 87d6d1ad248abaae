//! IsNaN and IsInf. No party holds a number that is not finite; float32 has one where a softmax leaves out all of a
//! line, where it divides by 0, and beyond its range.

pub(super) mod known;
pub(super) mod marks;
mod reached;

use std::collections::HashSet;

use super::builder::Builder;
use super::call::{Call, Fault, Value, unsupported};
use super::compose::Composer;
use super::constant::{Constant, Data};
use super::kind::DataType;
use super::mask::HIDDEN;
use crate::graph::{Affine, FILL, Function, Op, ValueId};
use crate::index::broadcast;
use marks::{in_place_of, mark, marks_of};

/// Where shares of a softmax are those of a line of which nothing is left; nowhere in an input.
pub(super) fn is_nan(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (id, shape, batch) = call.secret_at(0)?;
    if let Some(told) = is_missing(call, builder, id)? {
        return Ok(Value::Secret {
            id: told,
            shape: shape.to_vec(),
            batch,
        });
    }
    let shares = of_shares(builder, id, FOLLOWED);
    let never = shares.is_some() && !builder.hides.get()
        || shares.is_none() && is_finite(builder, id, false);
    if never {
        return Ok(nowhere(call, shape, batch));
    }
    let [infinite, finite] = builder.hides_by.each_ref().map(|by| by.get());
    let itself = builder.lines.contains_key(&builder.moved_from(id).0);
    if shares.is_some() && !itself && finite {
        // Weighed by a line that finite numbers hide whole is what stands there, all alike.
        return match infinite {
            false => Ok(nowhere(call, shape, batch)),
            true => unsupported(
                "it is asked where some masks hide by minus infinity and others by finite numbers",
            ),
        };
    }
    let Some((largest, index)) = shares else {
        return unsupported(
            "it is asked of what a function makes that is not finite everywhere; every number that a party has is finite",
        );
    };
    let c = &mut Composer::new(call, builder);
    // A score that is left out is so far below the others.
    let above = c.affine("above the hidden", largest, 1.0, -HIDDEN / 2.0)?;
    let is_left = c.each("something is left", Op::NonNegative, &[above])?;
    let is_empty = c.affine("nothing is left", is_left, -1.0, 1.0)?;
    let op = Op::Rearrange { index, fill: 0.0 };
    let id = c.node("of all", op, &[is_empty], shape.to_vec())?;
    builder.truths.insert(id);
    Ok(Value::Secret {
        id,
        shape: shape.to_vec(),
        batch,
    })
}

/// Which elements of a value are missing, where numbers of inputs may be: no others are taken to be.
fn is_missing(call: &Call, builder: &mut Builder, id: ValueId) -> Result<Option<ValueId>, Fault> {
    let origins = builder.origins(id);
    builder.want_marks(&origins.places, 0);
    builder.deny_missing(id, &origins);
    if !is_finite(builder, id, false) {
        return Ok(None);
    }
    let shape = builder.shape(id);
    let c = &mut Composer::new(call, builder);
    let Some((marks, marked)) = marks_of(c, &origins, shape)? else {
        return Ok(None);
    };
    let factors: Vec<f32> = (0..marked.len())
        .map(|e| 1.0 / mark(c.builder, &origins, e))
        .collect();
    let told = match factors.iter().all(|&factor| factor == 1.0) {
        true => marks,
        false => {
            let op = Op::Affine(Affine {
                inner: 1,
                scale: factors.into(),
                shift: [].into(),
            });
            c.each("truths", op, &[marks])?
        }
    };
    let places = origins.places.iter().zip(&marked);
    let places = places.map(|(&place, &marked)| if marked { place } else { FILL });
    let places = places.collect();
    builder.truths.insert(told);
    builder.note_missing(told, places);
    Ok(Some(told))
}

/// What is chosen by whether numbers are missing, in place of these and otherwise the numbers themselves; `None` of any
/// other choice.
pub(super) fn replaced(
    call: &Call,
    builder: &mut Builder,
    [condition, x, y]: [&Value; 3],
) -> Result<Option<Value>, Fault> {
    let Value::Secret { id, shape, batch } = condition else {
        return Ok(None);
    };
    let Some((places, told)) = builder.told_missing(*id) else {
        return Ok(None);
    };
    let (instead, numbers) = if told { (x, y) } else { (y, x) };
    let Value::Secret {
        id: of,
        shape: own,
        batch: at,
    } = numbers
    else {
        return Ok(None);
    };
    let origins = builder.origins(*of);
    let alike = origins.places.len() == places.len()
        && (origins.places.iter().zip(&places)).all(|(a, &b)| b == FILL || *a == b);
    if (own, at) != (shape, batch) || !alike {
        return Ok(None);
    }
    let Value::Constant(constant) = instead else {
        return Ok(None);
    };
    let mut whole = shape.clone();
    if !call.whole {
        whole.insert(*batch, 1);
    }
    let data = constant.data.floats();
    let index = broadcast(&constant.shape, &whole);
    let Some(index) = index.filter(|_| data.iter().all(|v| v.is_finite())) else {
        return Ok(None);
    };
    let c = &mut Composer::new(call, builder);
    let of_number = |e: usize| data[index[e] as usize];
    // Of other numbers the choice does not know whether they are missing.
    let origins = origins.only(|e| places[e] != FILL);
    let id = in_place_of(c, (*of, &origins), of_number)?;
    Ok(id.map(|id| Value::Secret {
        id,
        shape: shape.clone(),
        batch: *batch,
    }))
}

/// Nowhere in what is finite by the way it is made.
pub(super) fn is_infinite(call: &Call, builder: &Builder) -> Result<Value, Fault> {
    let (id, shape, batch) = call.secret_at(0)?;
    match is_finite(builder, id, true) {
        true => Ok(nowhere(call, shape, batch)),
        false => unsupported(
            "it is asked of what a function makes that is not finite everywhere; every number that a party has is finite",
        ),
    }
}

/// No, of every element.
fn nowhere(call: &Call, shape: &[usize], batch: usize) -> Value {
    let mut shape = shape.to_vec();
    if !call.whole {
        shape.insert(batch, 1);
    }
    let data = Data::Int(vec![0; shape.iter().product()]);
    let kind = DataType::Bool;
    Value::Constant(Constant { shape, kind, data })
}

/// Whether a value is made of inputs by what is finite wherever these are: of shares of a softmax, too, where these are
/// taken for `bounded`, which they are where they are numbers.
fn is_finite(builder: &Builder, id: ValueId, bounded: bool) -> bool {
    let (mut open, mut seen) = (vec![id], HashSet::new());
    while let Some(id) = open.pop() {
        if !seen.insert(id) || bounded && builder.lines.contains_key(&id) {
            continue;
        }
        let Some(node) = id.checked_sub(1).map(|at| &builder.nodes[at]) else {
            continue;
        };
        let everywhere = [Function::Sigmoid, Function::Tanh, Function::Erf];
        match &node.op {
            Op::Function { function, .. } if !everywhere.contains(function) => return false,
            _ => open.extend(&node.inputs),
        }
    }
    true
}

/// The most products and sums between shares of a softmax and what is asked of.
const FOLLOWED: usize = 4;

/// The largest scores of the lines of a value that is shares of a softmax, or these moved, times what is finite, or summed
/// by lines; and the line of every element.
fn of_shares(builder: &Builder, id: ValueId, most: usize) -> Option<(ValueId, Vec<u32>)> {
    let (at, places) = builder.moved_from(id);
    let moved = |index: Vec<u32>| places.iter().map(|&place| index[place as usize]).collect();
    if let Some(&(largest, lines)) = builder.lines.get(&at) {
        let line = super::function::line(lines);
        let index = places.iter().map(|&place| line(place as usize) as u32);
        return Some((largest, index.collect()));
    }
    let node = &builder.nodes[at.checked_sub(1)?];
    let of = |i: usize| of_shares(builder, node.inputs[i], most.checked_sub(1)?);
    let finite = |i: usize| is_finite(builder, node.inputs[i], false).then_some(());
    // Of one line are all elements of one that is summed.
    let one = |mut lines: Box<dyn Iterator<Item = u32> + '_>| {
        let first = lines.next()?;
        lines.all(|line| line == first).then_some(first)
    };
    let (largest, index) = match &node.op {
        Op::Mul => match of(0) {
            Some(shares) => finite(1).map(|()| shares)?,
            None => of(1).filter(|_| finite(0).is_some())?,
        },
        Op::SumPool(pool) => {
            let (largest, lines) = of(0)?;
            let taps = pool.kernel[0] * pool.kernel[1];
            let of_sum = |e: usize| {
                let read = (0..taps).filter_map(move |tap| pool.tap(e, tap));
                one(Box::new(read.map(|from| lines[from])))
            };
            let sums = (0..builder.len(at)).map(of_sum);
            (largest, sums.collect::<Option<Vec<u32>>>()?)
        }
        Op::MatMul(shape) => {
            let (largest, lines) = of(0)?;
            finite(1)?;
            let rows = lines.chunks_exact(shape.k.max(1));
            let rows = rows.map(|row| one(Box::new(row.iter().copied())));
            let rows = rows.collect::<Option<Vec<u32>>>()?;
            let each = rows
                .iter()
                .flat_map(|&line| std::iter::repeat_n(line, shape.n));
            (largest, each.collect())
        }
        _ => return None,
    };
    Some((largest, moved(index)))
}
