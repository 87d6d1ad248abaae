//! Numbers that are chosen by marks, rows of which just one is 1 and the others 0: places that are found on
//! shares, and leaves of one tree. A function of such a number is chosen by the same marks.

use super::builder::Builder;
use super::call::{Call, Fault, Value};
use super::compose::Composer;
use super::constant::{Constant, Data};
use super::fold;
use super::kind::DataType;
use super::table::is_table;
use super::whole::is_by_element;
use crate::graph::{Op, ValueId, Weights};

/// What a value holds that is chosen by marks.
#[derive(PartialEq)]
struct Chosen {
    marks: ValueId,
    /// The number of every mark of a row.
    numbers: Vec<f32>,
    /// The row of every element.
    rows: Vec<u32>,
}

impl Chosen {
    fn of(builder: &Builder, id: ValueId) -> Option<Chosen> {
        let (at, rows) = builder.moved_from(id);
        let node = &builder.nodes[at.checked_sub(1)?];
        let Op::Linear(linear) = &node.op else {
            return None;
        };
        let marks = node.inputs[0];
        let term = linear.bias.first().copied().unwrap_or(0.0);
        (linear.n == 1 && builder.marks.contains(&marks)).then(|| Chosen {
            marks,
            numbers: linear.weight.iter().map(|w| w + term).collect(),
            rows,
        })
    }

    /// `numbers` chosen by the same marks in place of this value's, as a value of this shape.
    fn with(self, c: &mut Composer, numbers: Weights, shape: Vec<usize>) -> Result<ValueId, Fault> {
        let sizes = [numbers.len(), 1];
        let chosen = c.linear("chosen", self.marks, sizes, numbers, Weights::default())?;
        c.moved("chosen in order", chosen, self.rows, shape)
    }
}

/// The marks that choose the numbers of value `id`, if any do: their value, the number of every mark of a row, and
/// the row of every element.
pub(super) fn marks_of(builder: &Builder, id: ValueId) -> Option<(ValueId, Vec<f32>, Vec<u32>)> {
    let chosen = Chosen::of(builder, id)?;
    Some((chosen.marks, chosen.numbers, chosen.rows))
}

/// What `of` makes of the numbers of value `id`, if these are chosen by marks and `of` knows them all.
pub(super) fn chosen_of(
    c: &mut Composer,
    id: ValueId,
    of: impl Fn(f32) -> Option<f32>,
) -> Result<Option<ValueId>, Fault> {
    let Some(chosen) = Chosen::of(c.builder, id) else {
        return Ok(None);
    };
    let Some(made) = chosen
        .numbers
        .iter()
        .map(|&v| of(v))
        .collect::<Option<Weights>>()
    else {
        return Ok(None);
    };
    let shape = c.builder.shape(id);
    chosen.with(c, made, shape).map(Some)
}

/// For every number of value `id`, if these are chosen by marks, the `n` numbers that `of` makes of it, where it knows
/// them all: one behind the other, in a last axis of their own.
pub(super) fn rows_of<'a>(
    c: &mut Composer,
    id: ValueId,
    n: usize,
    of: impl Fn(f32) -> Option<&'a [f32]>,
) -> Result<Option<ValueId>, Fault> {
    let Some(chosen) = Chosen::of(c.builder, id) else {
        return Ok(None);
    };
    let rows = chosen.numbers.iter().map(|&v| of(v));
    let Some(rows) = rows.collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    c.builder.reserve(c.builder.len(id).saturating_mul(n))?;
    let (sizes, weights) = ([rows.len(), n], rows.concat().into());
    let made = c.linear(
        "chosen rows",
        chosen.marks,
        sizes,
        weights,
        Weights::default(),
    )?;
    let shape = [&c.builder.shape(id)[..], &[n]].concat();
    let places = chosen.rows.iter();
    let index = places.flat_map(|&row| (0..n as u32).map(move |e| row * n as u32 + e));
    c.moved("chosen rows in order", made, index.collect(), shape)
        .map(Some)
}

/// The output of a node that takes its elements one by one, if all that is computed among its inputs is chosen by
/// the same marks, beside constants of one number: chosen by them too, of what constants would give.
pub(super) fn by_the_same(call: &Call, builder: &mut Builder) -> Option<Result<Value, Fault>> {
    if builder.marks.is_empty() || call.last || !takes_numbers(call) {
        return None;
    }
    let mut all: Option<(Chosen, &Vec<usize>, usize)> = None;
    let mut numbers = Vec::new();
    for input in &call.inputs {
        numbers.push(match input {
            None => None,
            Some(Value::Secret { id, shape, batch }) => {
                let chosen = Chosen::of(builder, *id)?;
                let made = numbers_as(call, is_truth(call, builder, *id), &chosen.numbers)?;
                let here = (&chosen.marks, &chosen.rows, shape, *batch);
                match &all {
                    Some((first, of, at)) if (&first.marks, &first.rows, *of, *at) != here => {
                        return None;
                    }
                    _ => all = Some((chosen, shape, *batch)),
                }
                Some(made)
            }
            Some(Value::Constant(one)) => {
                let each = one.data.floats();
                let (first, rest) = each.split_first()?;
                if rest.iter().any(|v| v != first) {
                    return None;
                }
                Some(numbers_as(call, one.kind.is_bool(), &each[..1])?)
            }
            _ => return None,
        });
    }
    let (chosen, shape, batch) = all?;
    let axes = shape.len() + usize::from(!call.whole);
    // Numbers that stand in more places than these have, or along more axes, would make more of them.
    let stretches = |input: &&Value| match input {
        Value::Constant(one) if one.data.len() == 1 => one.shape.len() > axes,
        Value::Constant(one) => !call.whole || one.shape != *shape,
        _ => false,
    };
    if call.inputs.iter().flatten().any(stretches) {
        return None;
    }
    let constants: Vec<Option<Value>> = numbers
        .into_iter()
        .map(|number| number.map(Value::Constant))
        .collect();
    let of_constants = Call {
        name: call.name.clone(),
        whole: true,
        inputs: constants.iter().map(Option::as_ref).collect(),
        ..*call
    };
    let made = fold::of_constants(&of_constants)?;
    let truths = made.kind.is_bool();
    let numbers = made.data.floats();
    if numbers.len() != chosen.numbers.len() || numbers.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let (shape, mut c) = (shape.clone(), Composer::new(call, builder));
    Some(chosen.with(&mut c, numbers, shape.clone()).map(|id| {
        if truths {
            builder.truths.insert(id);
        }
        Value::Secret { id, shape, batch }
    }))
}

/// Whether an operation takes a value as a truth. One that was cast to a number may still be known as a truth.
fn is_truth(call: &Call, builder: &Builder, id: ValueId) -> bool {
    const TAKE: [&str; 7] = ["And", "Cast", "Equal", "Not", "Or", "Where", "Xor"];
    builder.truths.contains(&id) && TAKE.contains(&&call.node.op_type[..])
}

/// Whether an operation gives one number for each of its inputs' that stand in one place.
fn takes_numbers(call: &Call) -> bool {
    const NOT: [&str; 4] = ["Dropout", "Expand", "PRelu", "SwiGLU"];
    let op = call.node.op_type.as_str();
    call.node.output.len() == 1 && !is_table(call.node) && is_by_element(call) && !NOT.contains(&op)
}

/// Numbers as a constant: of truths as such, and whole ones of which a node makes integers as integers, unless a float
/// tells too few of their places.
fn numbers_as(call: &Call, truths: bool, numbers: &[f32]) -> Option<Constant> {
    const FAR: f32 = (1 << 24) as f32;
    let shape = vec![numbers.len()];
    if truths {
        return Some(Constant {
            shape,
            kind: DataType::Bool,
            data: Data::Int(numbers.iter().map(|&v| i64::from(v != 0.0)).collect()),
        });
    }
    if !call.makes_integers() || numbers.iter().any(|v| v.fract() != 0.0) {
        return Some(Constant::floats(shape, numbers.to_vec()));
    }
    let near = numbers.iter().all(|v| v.abs() < FAR);
    near.then(|| Constant {
        shape,
        kind: DataType::Signed(64),
        data: Data::Int(numbers.iter().map(|&v| v as i64).collect()),
    })
}

/// The rows of a table of `n` numbers each by their places in it.
pub(super) fn of_rows<'a>(table: &'a [f32], n: usize) -> impl Fn(f32) -> Option<&'a [f32]> {
    move |place| {
        let place = (place.fract() == 0.0 && place >= 0.0).then_some(place as usize)?;
        table.chunks_exact(n).nth(place)
    }
}

/// The numbers of a list by their places in it.
pub(super) fn of_list(list: &[f32]) -> impl Fn(f32) -> Option<f32> {
    |place| {
        let place = (place.fract() == 0.0 && place >= 0.0).then_some(place as usize)?;
        list.get(place).copied()
    }
}
