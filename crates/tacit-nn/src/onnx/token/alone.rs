//! What tokens and known numbers alone make: every element is a function of one token, or known.

use super::rows;
use crate::graph::{Affine, FILL, Lookup, Op, ValueId, Weights, len};
use crate::index::broadcast;
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, Value, unsupported};
use crate::onnx::compose::Composer;
use crate::onnx::traced::Element;

/// One operand of an element: a number, or that which a lookup has for a token and what is added to it.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Known(f32),
    Of(ValueId, f32),
}

/// The operands of an element, and the place of their token among what is given, if they have one.
struct Made {
    parts: Vec<Part>,
    token: Option<usize>,
}

/// An operand of all elements: its value, or its numbers.
enum Operand {
    Value(ValueId),
    Numbers(Vec<f32>),
}

/// Where a row of a result is among others, or which numbers it is.
enum Place {
    Row(u32),
    Known(Vec<f32>),
}

/// The lookup of one number for each token that a value is, if it is one.
fn lookup(builder: &Builder, id: ValueId) -> Option<&Lookup> {
    match &builder.nodes[id.checked_sub(1)?].op {
        Op::Lookup(lookup) if lookup.n == 1 => Some(lookup),
        _ => None,
    }
}

impl Operand {
    /// An operand of a result of this shape, whose axis `batch` the items are along, if it is not in `all`; none of
    /// another shape.
    fn of(value: &Value, (shape, batch): (&[usize], usize), all: &[usize]) -> Option<Self> {
        match value {
            Value::Secret {
                id,
                shape: own,
                batch: at,
            } => (own == shape && *at == batch).then_some(Operand::Value(*id)),
            Value::Constant(constant) => {
                let before = all.len().checked_sub(constant.shape.len())?;
                let from = [&vec![1; before][..], &constant.shape[..]].concat();
                let numbers = constant.data.floats();
                let index = broadcast(&from, all)?;
                let each = index.iter().map(|&at| numbers[at as usize]);
                Some(Operand::Numbers(each.collect()))
            }
            _ => None,
        }
    }

    /// The operand of element `e`, and the place of its token.
    fn part(&self, builder: &Builder, e: usize) -> Option<(Part, Option<usize>)> {
        let id = match self {
            Operand::Value(id) => *id,
            Operand::Numbers(numbers) => return Some((Part::Known(numbers[e]), None)),
        };
        match builder.traced(id, e) {
            Element::Known(number) => Some((Part::Known(number), None)),
            Element::Found(id, at, more) => {
                let token = lookup(builder, id)?.start + at;
                Some((Part::Of(id, more), Some(token)))
            }
        }
    }
}

/// The operands of element `e`, if they are of one token.
fn made(builder: &Builder, operands: &[Operand], e: usize) -> Option<Made> {
    let mut made = Made {
        parts: vec![],
        token: None,
    };
    for operand in operands {
        let (part, token) = operand.part(builder, e)?;
        if token.is_some() && made.token.is_some_and(|other| Some(other) != token) {
            return None;
        }
        made.token = made.token.or(token);
        made.parts.push(part);
    }
    Some(made)
}

/// The operands of all elements, if those of all tokens are the same, and one of which these are.
fn alike(
    builder: &Builder,
    operands: &[Operand],
    elements: usize,
) -> Option<(Vec<Made>, Vec<Part>)> {
    let mut of_tokens: Option<Vec<Part>> = None;
    let mut all = Vec::with_capacity(elements);
    for e in 0..elements {
        let next = made(builder, operands, e)?;
        if next.token.is_some()
            && *of_tokens.get_or_insert_with(|| next.parts.clone()) != next.parts
        {
            return None;
        }
        all.push(next);
    }
    Some((all, of_tokens?))
}

/// `f` of every element of the operands, if each is a number or one function of a token: that function is looked up
/// as the tokens' numbers are.
pub(in crate::onnx) fn mapped(
    call: &Call,
    builder: &mut Builder,
    values: &[&Value],
    f: impl Fn(&[f32]) -> f32,
) -> Result<Option<Value>, Fault> {
    let secret = values.iter().find_map(|value| match value {
        Value::Secret { shape, batch, .. } => Some((shape.clone(), *batch)),
        _ => None,
    });
    let Some((shape, batch)) = secret else {
        return Ok(None);
    };
    let mut with_batch = shape.clone();
    if !call.whole {
        with_batch.insert(batch, 1);
    }
    let operands = values
        .iter()
        .map(|value| Operand::of(value, (&shape, batch), &with_batch));
    let operands: Option<Vec<Operand>> = operands.collect();
    let found = operands.and_then(|operands| alike(builder, &operands, len(&shape)));
    let Some((all, of_tokens)) = found else {
        return Ok(None);
    };
    let like = of_tokens.iter().find_map(|part| match part {
        Part::Of(id, _) => lookup(builder, *id).cloned(),
        Part::Known(_) => None,
    });
    let Some(like) = like else {
        return Ok(None);
    };
    let of = |parts: &[Part], class: usize| {
        let number = |part: &Part| match part {
            Part::Known(number) => *number,
            Part::Of(id, more) => lookup(builder, *id).map_or(0.0, |of| of.table[class] + more),
        };
        f(&parts.iter().map(number).collect::<Vec<f32>>())
    };
    let tokens = || all.iter().filter_map(|made| made.token);
    let (first, last) = (tokens().min().unwrap_or(0), tokens().max().unwrap_or(0));
    let table = (0..like.classes).map(|class| of(&of_tokens, class));
    let table: Weights = table.collect();
    let place = |made: &Made| match made.token {
        Some(token) => Place::Row((token - first) as u32),
        None => Place::Known(vec![of(&made.parts, 0)]),
    };
    let places: Vec<Place> = all.iter().map(place).collect();
    let c = &mut Composer::new(call, builder);
    let looked_up = Op::Lookup(Lookup {
        start: first,
        tokens: last + 1 - first,
        table,
        ..like
    });
    let numbers = c.node("mapped", looked_up, &[0], vec![last + 1 - first])?;
    let id = placed(c, (numbers, 1), &places, shape.clone())?;
    Ok(Some(Value::Secret { id, shape, batch }))
}

/// The rows of a table for indices of which some are known and the others numbers of one value; `None` of others.
pub(super) fn rows_beside_known(
    call: &Call,
    builder: &mut Builder,
    (tokens, id): (usize, ValueId),
    (classes, n, table): (usize, usize, &Weights),
    (each, out): (&[usize], &[usize]),
) -> Result<Option<ValueId>, Fault> {
    let (mut of, mut found, mut places) = (None, vec![], vec![]);
    for e in 0..builder.len(id) {
        match builder.traced(id, e) {
            Element::Known(index) => {
                let row = index + if index < 0.0 { classes as f32 } else { 0.0 };
                if row.fract() != 0.0 || !(0.0..classes as f32).contains(&row) {
                    return unsupported(format!(
                        "its index {index} is beyond a table of {classes} rows"
                    ));
                }
                places.push(Place::Known(table[row as usize * n..][..n].to_vec()));
            }
            Element::Found(from, at, 0.0)
                if *of.get_or_insert(from) == from
                    && (from == 0 || lookup(builder, from).is_some()) =>
            {
                places.push(Place::Row(found.len() as u32));
                found.push(at as u32);
            }
            Element::Found(..) => return Ok(None),
        }
    }
    let Some(of) = of.filter(|_| found.len() < places.len()) else {
        return Ok(None);
    };
    let count = found.len();
    let id = Composer::new(call, builder).moved("tokens", of, found, vec![count])?;
    let index = Value::Secret {
        id,
        shape: vec![count],
        batch: 0,
    };
    let mut inputs = call.inputs.clone();
    inputs[tokens] = Some(&index);
    let name = format!("{}.tokens", call.name);
    let of_tokens = Call {
        name,
        inputs,
        ..*call
    };
    let rows = rows(
        &of_tokens,
        builder,
        tokens,
        (classes, n),
        table,
        each.to_vec(),
    )?;
    let Value::Secret { id, .. } = rows else {
        return Ok(None);
    };
    let c = &mut Composer::new(call, builder);
    placed(c, (id, n), &places, out.to_vec()).map(Some)
}

/// Rows of `n` numbers each in these places: of a value, and known ones.
fn placed(
    c: &mut Composer,
    (rows, n): (ValueId, usize),
    places: &[Place],
    shape: Vec<usize>,
) -> Result<ValueId, Fault> {
    let (mut index, mut known) = (vec![], vec![]);
    for place in places {
        match place {
            Place::Row(row) => {
                index.extend((0..n as u32).map(|at| row * n as u32 + at));
                known.extend(std::iter::repeat_n(0.0, n));
            }
            Place::Known(numbers) => {
                index.extend(std::iter::repeat_n(FILL, n));
                known.extend_from_slice(numbers);
            }
        }
    }
    let placed = c.moved("placed", rows, index, shape)?;
    if known.iter().all(|v| *v == 0.0) {
        return Ok(placed);
    }
    let op = Op::Affine(Affine {
        inner: 1,
        scale: Weights::default(),
        shift: known.into(),
    });
    c.each("known", op, &[placed])
}
