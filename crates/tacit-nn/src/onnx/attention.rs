//! Attention: shares of values by scaled products of queries and keys, all heads at once.
//!
//! Queries, keys and values may each be computed or constant. Axes have labels, as in products, so that
//! heads are multiplied side by side wherever they stand.

mod hidden;

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::{ANY, Composer};
use super::constant::{Constant, bounded_len};
use super::element::{Arithmetic, two};
use super::fold;
use super::function::{line, shares};
use super::mask::Mask;
use super::product::{Label, Labels, contract};
use super::rearrange;
use crate::graph::{Affine, FILL, Function, Op, ValueId, Weights, len};
use crate::index::transpose;
use hidden::{Hidden, Scores};

/// The axes: items of the batch, heads of keys, heads of queries for each of these, queries, keys, and the
/// numbers of a query and of a value.
const ITEM: Label = 0;
const GROUP: Label = 1;
const TIMES: Label = 2;
const QUERY: Label = 3;
const KEY: Label = 4;
const INNER: Label = 5;
const OUTER: Label = 6;

/// Queries, keys or values: items x heads x rows x width, or items x rows x heads x width where the file
/// has all heads of a row side by side.
struct Heads {
    value: Value,
    side_by_side: bool,
    items: usize,
    heads: usize,
    rows: usize,
    width: usize,
}

impl Heads {
    /// Input `i`, whose heads stand apart or are as many as the attribute `name` says.
    fn read(call: &Call, i: usize, name: &str) -> Result<Heads, Fault> {
        let value = call.required(i)?;
        let shape = match value {
            Value::Constant(constant) => constant.shape.clone(),
            _ if call.whole => call.secret(i)?.1.to_vec(),
            _ => [&[1], call.secret(i)?.1].concat(),
        };
        let (side_by_side, [items, heads, rows, width]) = match shape[..] {
            [items, heads, rows, width] => (false, [items, heads, rows, width]),
            [items, rows, all] => {
                let heads = usize::try_from(call.int(name, 0)).unwrap_or(0);
                if heads == 0 || !all.is_multiple_of(heads) {
                    return bad(format!(
                        "its '{name}' {heads} does not divide {all} columns"
                    ));
                }
                (true, [items, heads, rows, all / heads])
            }
            _ => return bad(format!("its input {i} has the shape {shape:?}")),
        };
        if bounded_len(&[items, heads, rows, width])? == 0 {
            return unsupported(format!("its input {i} has no elements"));
        }
        let mut heads = Heads {
            value: value.clone(),
            side_by_side,
            items,
            heads,
            rows,
            width,
        };
        let shape = heads.shape();
        heads.value = heads.shaped(call, shape);
        Ok(heads)
    }

    fn shape(&self) -> Vec<usize> {
        match self.side_by_side {
            true => vec![self.items, self.rows, self.heads, self.width],
            false => vec![self.items, self.heads, self.rows, self.width],
        }
    }

    /// The value with axes of these sizes, the first that of the items.
    fn shaped(&self, call: &Call, shape: Vec<usize>) -> Value {
        match self.value {
            Value::Secret { .. } if !call.whole => self.value.with_shape(shape[1..].to_vec()),
            _ => self.value.with_shape(shape),
        }
    }

    /// The labels of the axes, where heads and rows have these.
    fn axes(&self, heads: &[Label], row: Label, width: Label) -> Vec<Label> {
        match self.side_by_side {
            true => [&[ITEM, row], heads, &[width]].concat(),
            false => [&[ITEM], heads, &[row, width]].concat(),
        }
    }

    /// The heads apart, as the caches of keys and values have them.
    fn apart(self, compose: &mut Composer, part: &str) -> Result<Heads, Fault> {
        if !self.side_by_side {
            return Ok(self);
        }
        let mut new = Heads {
            side_by_side: false,
            ..self
        };
        let to = new.shape();
        new.value = match &new.value {
            Value::Constant(from) => {
                let index = transpose(&from.shape, &[0, 2, 1, 3]);
                Value::Constant(fold::rearranged(from, (to, index)))
            }
            Value::Secret { id, shape, batch } => {
                let all = shape.len();
                let mut order: Vec<usize> = (0..all).collect();
                order.swap(all - 3, all - 2);
                let index = transpose(shape, &order);
                let shape: Vec<usize> = order.iter().map(|&a| shape[a]).collect();
                Value::Secret {
                    id: compose.moved(part, *id, index, shape.clone())?,
                    shape,
                    batch: *batch,
                }
            }
            other => other.clone(),
        };
        Ok(new)
    }

    /// Keys or values after those of a cache, which is input `i`, if it is given.
    fn after(
        self,
        call: &Call,
        builder: &mut Builder,
        i: usize,
        part: &str,
    ) -> Result<Heads, Fault> {
        if cache(call, i).is_none() {
            return Ok(self);
        }
        let new = self.apart(&mut Composer::new(call, builder), part)?;
        let cache = Heads::read(call, i, "")?;
        if (cache.side_by_side, cache.heads, cache.width) != (false, new.heads, new.width) {
            return bad(format!("its cache, input {i}, does not fit its {part}"));
        }
        let along = new.shape().len() - 2;
        let value = match (&cache.value, &new.value) {
            (Value::Constant(a), Value::Constant(b)) => {
                Value::Constant(fold::joined(&[a, b], along)?)
            }
            both => {
                let name = format!("{}.all {part}", call.name);
                let inputs = vec![Some(both.0), Some(both.1)];
                let along = along - usize::from(!call.whole);
                rearrange::joined(
                    &Call {
                        name,
                        inputs,
                        ..*call
                    },
                    builder,
                    along,
                )?
            }
        };
        let rows = cache.rows + new.rows;
        Ok(Heads { value, rows, ..new })
    }
}

/// The outputs of Attention: the mixed values, all keys and values by heads, and scores.
pub(super) fn attention(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    let q = Heads::read(call, 0, "q_num_heads")?;
    let k = Heads::read(call, 1, "kv_num_heads")?;
    let v = Heads::read(call, 2, "kv_num_heads")?;
    let cached = cache(call, 4)
        .map(|_| Heads::read(call, 4, ""))
        .transpose()?;
    if cache(call, 4).is_some() != cache(call, 5).is_some() {
        return bad("it has a cache of keys or of values alone");
    }
    let k = k.after(call, builder, 4, "keys")?;
    let v = v.after(call, builder, 5, "values")?;
    let fits = k.heads == v.heads && k.rows == v.rows && q.width == k.width;
    if !fits || !q.heads.is_multiple_of(k.heads) {
        return bad("its queries, keys and values do not fit");
    }
    let sizes = Scores {
        items: if call.whole { q.items } else { 1 },
        heads: q.heads,
        queries: q.rows,
        keys: k.rows,
        cached: cached.map(|cache| cache.rows),
    };
    let (scores, shares) = shares_of(call, builder, &q, &k, &sizes)?;
    let output = mixed(call, builder, [&q, &v], &shares)?;
    let mut outputs = vec![output];
    for (i, (heads, part)) in [(1, (k, "keys")), (2, (v, "values"))] {
        outputs.push(match named(call, i) {
            true => heads.apart(&mut Composer::new(call, builder), part)?.value,
            false => Value::Unknown,
        });
    }
    let shape = [sizes.items, sizes.heads, sizes.queries, sizes.keys];
    let from = usize::from(!call.whole);
    outputs.push(scores.with_shape(shape[from..].to_vec()));
    Ok(outputs)
}

/// ByHeads: rows of `num_heads` heads, with a bias (input 1), as heads of rows; others are such already, and have no
/// bias.
pub(super) fn by_heads(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let rows = Heads::read(call, 0, "num_heads")?;
    if !rows.side_by_side && rows.heads as i64 != call.int("num_heads", 0) {
        return bad(format!("its input has {} heads", rows.heads));
    }
    let rows = match call.input(1).filter(|_| rows.side_by_side) {
        None => rows,
        Some(bias) => {
            let part = (Arithmetic::Add, "biased");
            let sum = two(call, builder, part, call.required(0)?, bias)?;
            let biased = Call {
                inputs: vec![Some(&sum)],
                name: call.name.clone(),
                ..*call
            };
            Heads::read(&biased, 0, "num_heads")?
        }
    };
    let apart = rows.apart(&mut Composer::new(call, builder), "heads")?;
    Ok(apart.value)
}

/// A cache of keys or values, input `i`, if it holds any.
fn cache<'a>(call: &Call<'a>, i: usize) -> Option<&'a Value> {
    let empty = |value: &&Value| matches!(value, Value::Constant(c) if c.data.len() == 0);
    call.input(i).filter(|value| !empty(value))
}

/// Unpadded: the queries (input 0), refused where keys of some item are padding that a query could see.
///
/// Input 1 has the place of the last key of every item. Without a cache (input 2) it is not read: queries see no later
/// keys, so that only queries of padding see keys of padding, and nothing defines their answers. After a cache new keys
/// belong behind the last one of each item, which is where they stand only if the cache is full.
pub(super) fn unpadded(call: &Call) -> Result<Value, Fault> {
    let queries = call.required(0)?;
    let Some(cache) = cache(call, 2) else {
        return Ok(queries.clone());
    };
    let rows = |value: &Value| match value {
        Value::Constant(Constant { shape, .. }) | Value::Secret { shape, .. } => {
            let before = shape.len().checked_sub(2)?;
            i64::try_from(shape[before]).ok()
        }
        _ => None,
    };
    let (Some(new), Some(old)) = (rows(queries), rows(cache)) else {
        return bad("its queries or its cache have no rows");
    };
    if !matches!(call.required(1)?, Value::Constant(_)) {
        return unsupported(
            "how many keys an item has is computed, which tells where its cache ends: fix the mask, as with --fix attention_mask=1",
        );
    }
    match call.ints(1)?.iter().find(|&&last| last != new + old - 1) {
        Some(last) => unsupported(format!(
            "the last key of an item has the place {last}, where its cache of {old} and {new} new ones are given"
        )),
        None => Ok(queries.clone()),
    }
}

/// WindowCache: keys and values that are kept for later, of which the sizes of buffers decide where they stand.
pub(super) fn of_window() -> Vec<Value> {
    let why = "it is a cache of a window, whose layout depends on that of its buffer: choose the other outputs, as with --outputs logits";
    vec![Value::Refused(why.into()); 2]
}

/// Whether something in the file may read output `i`.
fn named(call: &Call, i: usize) -> bool {
    call.node.output.get(i).is_some_and(|name| !name.is_empty())
}

/// The node on two values, as a part of it.
fn of_two<'a>(call: &Call<'a>, part: &str, a: &'a Value, b: &'a Value) -> Call<'a> {
    Call {
        name: format!("{}.{part}", call.name),
        inputs: vec![Some(a), Some(b)],
        ..*call
    }
}

/// The scores that the node's attribute asks for as an output, and the shares of the keys.
fn shares_of(
    call: &Call,
    builder: &mut Builder,
    q: &Heads,
    k: &Heads,
    sizes: &Scores,
) -> Result<(Value, Value), Fault> {
    let scale = call.float("scale", (q.width as f32).sqrt().recip());
    if !scale.is_finite() {
        return bad(format!("its 'scale' is {scale}"));
    }
    let [left, right] = scaled(
        call,
        builder,
        [grouped(call, q, k.heads), k.value.clone()],
        scale,
    )?;
    let labels = Labels {
        inputs: [
            q.axes(&[GROUP, TIMES], QUERY, INNER),
            k.axes(&[GROUP], KEY, INNER),
        ],
        output: vec![ITEM, GROUP, TIMES, QUERY, KEY],
    };
    let product = contract(&of_two(call, "scores", &left, &right), builder, &labels)?;
    let Value::Secret { id, shape, batch } = product else {
        return bad("it has no scores");
    };
    let mut compose = Composer::new(call, builder);
    let capped = capped(&mut compose, id, call.float("softcap", 0.0))?;
    let hidden = Hidden::of(call, sizes)?;
    let biased = match hidden.terms {
        None => capped,
        Some(terms) => {
            let op = Op::Affine(Affine {
                inner: 1,
                scale: Weights::default(),
                shift: terms.into(),
            });
            compose.each("masked", op, &[capped])?
        }
    };
    let lines = [len(&shape) / sizes.keys, sizes.keys, 1];
    let places = hidden.places.clone();
    let mask = places.map(|places| Mask::new(places, line(lines)));
    let mut shares = shares(&mut compose, biased, lines, mask.transpose()?.as_ref())?;
    if let Some(empty) = &hidden.empty {
        let index = (0..empty.len()).map(|e| if empty[e] { FILL } else { e as u32 });
        let (index, fill) = (index.collect(), 0.0);
        shares = compose.each("of some", Op::Rearrange { index, fill }, &[shares])?;
    }
    let shown = match call.int("qk_matmul_output_mode", 0) {
        0 => id,
        1 => capped,
        2 if named(call, 3) && (hidden.places.is_some() || hidden.empty.is_some()) => {
            return unsupported(
                "its scores after the mask, of which some are minus infinity, are an output",
            );
        }
        2 => biased,
        3 => shares,
        other => return bad(format!("its 'qk_matmul_output_mode' is {other}")),
    };
    let value = |id: ValueId| Value::Secret {
        id,
        shape: shape.clone(),
        batch,
    };
    Ok((value(shown), value(shares)))
}

/// Queries, their heads as so many groups.
fn grouped(call: &Call, q: &Heads, groups: usize) -> Value {
    let heads = [groups, q.heads / groups];
    let shape = match q.side_by_side {
        true => [&[q.items, q.rows], &heads[..], &[q.width]].concat(),
        false => [&[q.items], &heads[..], &[q.rows, q.width]].concat(),
    };
    q.shaped(call, shape)
}

/// Both factors of the scores, of which the first that is computed is scaled.
fn scaled(
    call: &Call,
    builder: &mut Builder,
    mut factors: [Value; 2],
    scale: f32,
) -> Result<[Value; 2], Fault> {
    let computed = (factors.iter_mut()).find_map(|factor| match factor {
        Value::Secret { id, .. } => Some(id),
        _ => None,
    });
    if let Some(id) = computed {
        *id = Composer::new(call, builder).affine("scaled", *id, scale, 0.0)?;
    }
    Ok(factors)
}

/// `cap tanh(x / cap)`; of a cap of 0 `x` itself.
fn capped(compose: &mut Composer, x: ValueId, cap: f32) -> Result<ValueId, Fault> {
    if cap == 0.0 {
        return Ok(x);
    }
    if !cap.is_finite() || cap < 0.0 {
        return bad(format!("its 'softcap' is {cap}"));
    }
    let inner = compose.affine("under cap", x, 1.0 / cap, 0.0)?;
    let bent = compose.function(Function::Tanh, inner, ANY)?;
    compose.affine("capped", bent, cap, 0.0)
}

/// The values by the shares of their keys, in the form of the queries.
fn mixed(
    call: &Call,
    builder: &mut Builder,
    [q, v]: [&Heads; 2],
    shares: &Value,
) -> Result<Value, Fault> {
    let output = match q.side_by_side {
        true => vec![ITEM, QUERY, GROUP, TIMES, OUTER],
        false => vec![ITEM, GROUP, TIMES, QUERY, OUTER],
    };
    let labels = Labels {
        inputs: [
            vec![ITEM, GROUP, TIMES, QUERY, KEY],
            v.axes(&[GROUP], KEY, OUTER),
        ],
        output,
    };
    let value = contract(&of_two(call, "mixed", shares, &v.value), builder, &labels)?;
    let shape = match q.side_by_side {
        true => vec![q.items, q.rows, q.heads * v.width],
        false => vec![q.items, q.heads, q.rows, v.width],
    };
    Ok(match call.whole {
        true => value.with_shape(shape),
        false => value.with_shape(shape[1..].to_vec()),
    })
}
