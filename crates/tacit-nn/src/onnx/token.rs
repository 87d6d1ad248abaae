//! Whole numbers that a model is given: tokens that choose rows of a table, and what is made of them alone.
//!
//! A token is shared as one number for each row of the table: 1 at its own, else 0. So its row is a product
//! with the table, and any function of the token alone is a product with the function's values.

mod alone;
mod coded;
mod marked;
mod shifted;

use std::iter::repeat_n;

use super::builder::Builder;
use super::call::{Call, Fault, Value, unsupported};
use super::compose::{Composer, value};
use super::fold::rearranged;
use super::kind::DataType;
use super::mask::hidden;
use super::places::{of_rows, rows_of};
use super::which;
use crate::graph::{Input, InputKind, Lookup, Op, ValueId, Weights, len};
pub(super) use alone::mapped;
use alone::rows_beside_known;
pub(super) use coded::numbers as coded_numbers;
pub(super) use marked::marks;
use shifted::{from_0, limited, shifted, shifted_rows};

/// The most rows of a table that a token may choose from.
const MAX_CLASSES: usize = 1 << 20;

/// Numbers of an input, as they were given or moved.
pub(super) struct Given {
    /// Place of the input among the model's inputs.
    input: usize,
    /// Places of the numbers among those of an item of the input, one each; of tokens among those of the lookup.
    pub places: Vec<u32>,
    /// The number that stands for each token, of an input of tokens.
    pub lookup: Option<Lookup>,
}

impl Given {
    /// What a value holds, if it is numbers of one input that are only moved.
    pub(super) fn of(builder: &Builder, id: ValueId) -> Option<Given> {
        Given::at(builder, builder.moved_from(id))
    }

    /// What elements of a value that no node before it moves hold, if they are numbers of one input.
    fn at(builder: &Builder, (at, mut places): (ValueId, Vec<u32>)) -> Option<Given> {
        let lookup = match at.checked_sub(1).map(|node| &builder.nodes[node].op) {
            None => None,
            Some(Op::Lookup(lookup)) if lookup.n == 1 => Some(lookup.clone()),
            Some(_) => return None,
        };
        if let Some(lookup) = lookup {
            let input = lookup.input;
            return Some(Given {
                input,
                places,
                lookup: Some(lookup),
            });
        }
        let mut start = 0;
        for (input, of) in builder.inputs.iter().enumerate() {
            let part = start..start + of.given_len() as u32;
            if places.iter().all(|place| part.contains(place)) {
                places.iter_mut().for_each(|place| *place -= part.start);
                return Some(Given {
                    input,
                    places,
                    lookup: None,
                });
            }
            start += of.row_len() as u32;
        }
        None
    }

    /// The place of every number among all of an item of the input.
    fn absolute(&self, builder: &Builder) -> Vec<usize> {
        let before = builder.inputs[..self.input].iter();
        let start: usize = before.map(Input::row_len).sum();
        let first = self
            .lookup
            .as_ref()
            .map_or(0, |lookup| lookup.start - start);
        let places = self.places.iter();
        places.map(|&place| first + place as usize).collect()
    }

    /// The rows from 0 on that the tokens may choose from.
    fn most(&self, builder: &Builder) -> usize {
        let classes = builder.inputs[self.input].kind.shared();
        let limits = &builder.inputs[self.input].limits;
        let limit = |place: usize| limits.get(place).copied().filter(|&limit| limit > 0);
        let all = self.absolute(builder).into_iter();
        let limits = all.map(|place| limit(place).unwrap_or(classes));
        let classes = self
            .lookup
            .as_ref()
            .map_or(classes, |lookup| lookup.classes);
        limits.max().map_or(classes, |most| most.min(classes))
    }

    /// The first and the last place.
    fn span(&self) -> (usize, usize) {
        let (first, last) = (self.places.iter().min(), self.places.iter().max());
        let place = |place: Option<&u32>| place.map_or(0, |&place| place as usize);
        (place(first), place(last))
    }

    fn kind(&self, builder: &Builder) -> InputKind {
        builder.inputs[self.input].kind
    }
}

/// Asks for another look at the file, with an input of another kind.
fn ask<T>(builder: &mut Builder, input: usize, kind: InputKind) -> Result<T, Fault> {
    let of = &builder.inputs[input];
    let told = format!("it needs '{}' as {}", of.name, kind.described());
    // What the input is already no other look makes of it.
    if of.kind != kind {
        builder.wanted.get_or_insert((input, kind));
    }
    unsupported(told)
}

/// Whether a value is whole numbers by the way it is made.
pub(super) fn is_whole(builder: &Builder, id: ValueId) -> bool {
    if builder.wholes.contains(&id) {
        return true;
    }
    match Given::of(builder, id) {
        Some(given) => match &given.lookup {
            Some(lookup) => lookup.table.iter().all(|v| v.fract() == 0.0),
            None => given.kind(builder) != InputKind::Numbers || given.is_coded(builder),
        },
        None => false,
    }
}

/// Whether a Gather has computed indices.
pub(super) fn is_index(call: &Call) -> bool {
    matches!(call.input(1), Some(Value::Secret { .. }))
}

/// Gather from constants by tokens: the row of each token.
pub(super) fn gather(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let Value::Constant(from) = call.required(0)? else {
        return unsupported("both its data and its indices are computed");
    };
    if call.node.op_type == "GatherND" {
        return gather_nd(call, builder, &from.shape);
    }
    let along = super::call::axis(call.int("axis", 0), from.shape.len())?;
    if along != 0 {
        return unsupported(format!(
            "its indices are computed and choose along axis {along}; along the first they could"
        ));
    }
    let table = table(call, builder)?;
    let each = from.shape[1..].to_vec();
    rows(call, builder, 1, (from.shape[0], len(&each)), &table, each)
}

/// The numbers of the table, input 0; where only softmaxes see its rows, those far below all scores hide scores.
fn table(call: &Call, builder: &Builder) -> Result<Weights, Fault> {
    match hidden(call, builder, &call.constant(0)?.data.floats()) {
        Some(hidden) => Ok(hidden.into()),
        None => Ok(call.weights(0)?.1),
    }
}

/// GatherND from constants by tokens, one number for each row.
fn gather_nd(call: &Call, builder: &mut Builder, of: &[usize]) -> Result<Value, Fault> {
    let (id, shape, batch) = call.secret_at(1)?;
    let outer = match shape.split_last() {
        Some((1, outer)) if call.int("batch_dims", 0) == 0 && batch <= outer.len() => outer,
        _ => return unsupported("its indices are computed, and not one number for each row"),
    };
    let table = table(call, builder)?;
    let each = of[1..].to_vec();
    let index = Value::Secret {
        id,
        shape: outer.to_vec(),
        batch,
    };
    let mut inputs = call.inputs.clone();
    inputs[1] = Some(&index);
    let name = call.name.clone();
    let by_row = Call {
        name,
        inputs,
        ..*call
    };
    rows(&by_row, builder, 1, (of[0], len(&each)), &table, each)
}

/// GatherElements from a constant that is one number everywhere, which no index changes.
pub(super) fn gather_elements(call: &Call) -> Result<Value, Fault> {
    let from = call.constant(0)?;
    let table = from.data.floats();
    let (_, shape, batch) = call.secret_at(1)?;
    let mut shape = shape.to_vec();
    if !call.whole {
        shape.insert(batch, 1);
    }
    let (Some(first), n) = (table.first(), len(&shape)) else {
        return unsupported("its data is empty");
    };
    match table.iter().all(|v| v == first) {
        true => Ok(Value::Constant(rearranged(from, (shape, vec![0; n])))),
        false => unsupported("its indices are computed; Gather along the first axis can have such"),
    }
}

/// OneHot of tokens: for each token a row of zeros with a 1 at its place.
pub(super) fn one_hot(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let depth = match call.ints(1)? {
        [depth] if (1..=MAX_CLASSES as i64).contains(depth) => *depth as usize,
        _ => return unsupported(format!("its depth is not from 1 to {MAX_CLASSES}")),
    };
    let (_, values) = call.weights(2)?;
    let [off, on] = values[..] else {
        return super::call::bad("its values are not two");
    };
    builder.reserve(depth.saturating_mul(depth))?;
    let (_, shape, batch) = call.secret_at(0)?;
    let rank = shape.len() + usize::from(!call.whole) + 1;
    let along = super::call::axis(call.int("axis", -1), rank)?;
    if along != rank - 1 || batch != 0 {
        return unsupported("its new axis is not the last");
    }
    let place = |e: usize| if e / depth == e % depth { on } else { off };
    let table: Weights = (0..depth * depth).map(place).collect();
    rows(call, builder, 0, (depth, depth), &table, vec![depth])
}

/// For each token, which are input `tokens` of the node, its row of `table`, whose shape is `each`.
pub(super) fn rows(
    call: &Call,
    builder: &mut Builder,
    tokens: usize,
    (classes, n): (usize, usize),
    table: &Weights,
    each: Vec<usize>,
) -> Result<Value, Fault> {
    let (id, shape, batch) = call.secret_at(tokens)?;
    if batch == 0 && n > 0 {
        let mut c = Composer::new(call, builder);
        if let Some(id) = rows_of(&mut c, id, n, of_rows(table, n))? {
            return Ok(value(id, [shape, &each[..]].concat()));
        }
    }
    if !(1..=MAX_CLASSES).contains(&classes) || n == 0 {
        return unsupported(format!("its table has {classes} rows of {n} numbers"));
    }
    let out = [shape, &each[..]].concat();
    let of = (classes, n, table);
    if let Some(id) = rows_beside_known(call, builder, (tokens, id), of, (&each, &out))? {
        return Ok(Value::Secret {
            id,
            shape: out,
            batch,
        });
    }
    let id = coded::untruncated(call, builder, id, classes)?;
    let id = from_0(builder, id);
    let given = match Given::of(builder, id) {
        Some(given) if given.is_coded(builder) => {
            limited(builder, &given, &vec![classes; given.places.len()])?;
            None
        }
        given => given,
    };
    let Some(given) = given else {
        if let Some((given, shifts)) = shifted(builder, id) {
            let id = shifted_rows(call, builder, (&given, &shifts), of, out.clone())?;
            return Ok(Value::Secret {
                id,
                shape: out,
                batch,
            });
        }
        let keys = coded_numbers(builder, &value(id, shape.to_vec()), classes)?;
        let id = which::rows(call, builder, id, &keys, of)?;
        let shape = out;
        return Ok(Value::Secret { id, shape, batch });
    };
    if given.kind(builder) == InputKind::Numbers {
        return unsupported("its indices are no whole numbers");
    }
    let itself = given.lookup.as_ref().is_none_or(is_itself);
    let limits: Vec<usize> = vec![classes; given.places.len()];
    if itself && given.kind(builder) != InputKind::Truths {
        limited(builder, &given, &limits)?;
    }
    let kind = InputKind::Tokens { classes };
    let Some(lookup) = &given.lookup else {
        return ask(builder, given.input, kind);
    };
    let known = lookup.classes;
    let most = given.most(builder);
    let row = |&token: &f32| {
        let from_start = if token < 0.0 {
            token + classes as f32
        } else {
            token
        };
        let row = (from_start.fract() == 0.0 && from_start >= 0.0).then_some(from_start as usize);
        row.filter(|&row| row < classes)
    };
    let chosen = lookup.table[..most].iter().map(row);
    let Some(chosen) = chosen.collect::<Option<Vec<usize>>>() else {
        return unsupported(format!(
            "its indices reach beyond a table of {classes} rows"
        ));
    };
    builder.reserve(known.saturating_mul(n))?;
    let how = format!("rows {n} of {:?} up to {most}", lookup.table.as_ptr());
    let same = chosen.iter().enumerate().all(|(at, &row)| at == row);
    let table = match same && known == classes && most == known {
        true => table.clone(),
        // Rows that no token here may choose are as the last.
        false => builder.derive(table, how, || {
            let last = chosen.last().copied().unwrap_or(0);
            let all = chosen.iter().copied().chain(repeat_n(last, known - most));
            let of = |row: usize| &table[row * n..][..n];
            all.flat_map(of).copied().collect()
        }),
    };
    // Of the tokens from the first to the last that are read.
    let (first, last) = given.span();
    let lookup = Lookup {
        start: lookup.start + first,
        tokens: last + 1 - first,
        n,
        table,
        ..lookup.clone()
    };
    let mut compose = Composer::new(call, builder);
    let made = vec![lookup.tokens, n];
    let all = compose.node("rows", Op::Lookup(lookup), &[0], made)?;
    let index = given.places.iter().map(|&place| place - first as u32);
    let index = index.flat_map(|place| (0..n as u32).map(move |e| place * n as u32 + e));
    let moved = compose.moved("moved", all, index.collect(), out.clone())?;
    Ok(Value::Secret {
        id: moved,
        shape: out,
        batch,
    })
}

/// Whether the number that stands for a token is the token.
fn is_itself(lookup: &Lookup) -> bool {
    let mut numbers = lookup.table.iter().enumerate();
    numbers.all(|(at, &v)| v == at as f32)
}

/// Cast of whole numbers: to integers of 32 and 64 bits they stay, to truths they are compared with 0. `None` of
/// others.
pub(super) fn cast(
    call: &Call,
    builder: &mut Builder,
    given: &Value,
    to: DataType,
) -> Result<Option<Value>, Fault> {
    let Value::Secret { id, .. } = given else {
        return Ok(None);
    };
    if to.is_float() || !is_whole(builder, *id) {
        return Ok(None);
    }
    if !to.is_bool() {
        // Narrower ones may not hold them.
        let holds = matches!(to, DataType::Signed(32 | 64));
        return Ok(holds.then(|| given.clone()));
    }
    if let Some(mapped) = mapped(call, builder, &[given], |v| {
        f32::from(u8::from(v[0] != 0.0))
    })? {
        if let Value::Secret { id, .. } = mapped {
            builder.truths.insert(id);
        }
        return Ok(Some(mapped));
    }
    match Given::of(builder, *id) {
        Some(given) => ask(builder, given.input, InputKind::Truths),
        None => Ok(None),
    }
}

/// Asks that the numbers of an input be 0 and 1, if a value is made of one minus them, or of them; whether
/// it may be so.
pub(super) fn ask_for_truths(builder: &mut Builder, mut id: ValueId) -> Result<bool, Fault> {
    loop {
        if super::compare::is_truth(builder, &value(id, vec![])) {
            return Ok(true);
        }
        if let Some(given) = Given::of(builder, id) {
            return match given.kind(builder) {
                InputKind::Numbers | InputKind::Tokens { .. } | InputKind::Marks { .. } => {
                    Ok(false)
                }
                InputKind::Truths => Ok(true),
                InputKind::Integers => ask(builder, given.input, InputKind::Truths),
            };
        }
        let Some(node) = id.checked_sub(1).map(|node| &builder.nodes[node]) else {
            return Ok(false);
        };
        match &node.op {
            Op::Rearrange { .. } => id = node.inputs[0],
            Op::Affine(affine)
                if affine.scale.iter().all(|&v| v == -1.0)
                    && !affine.scale.is_empty()
                    && !affine.shift.is_empty()
                    && affine.shift.iter().all(|&v| v == 1.0) =>
            {
                id = node.inputs[0];
            }
            _ => return Ok(false),
        }
    }
}
