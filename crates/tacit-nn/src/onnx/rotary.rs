//! RotaryEmbedding: pairs of numbers turned by angles that depend on their place.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::{Composer, value};
use super::constant::{Constant, Data};
use super::table::MADE;
use crate::graph::{Affine, FILL, Op, Weights, len};

/// The number of heads that a definition does not say.
pub(super) const ANY: i64 = -1;

/// The item as items x heads x rows x width, or with heads after the rows.
struct Form {
    items: usize,
    heads: usize,
    rows: usize,
    width: usize,
    side_by_side: bool,
}

impl Form {
    /// The form of an item; heads side by side have the width of their angles where it is not said how many there
    /// are.
    fn of(call: &Call, shape: &[usize]) -> Result<Form, Fault> {
        let full = match call.whole {
            true => shape.to_vec(),
            false => [&[1], shape].concat(),
        };
        match full[..] {
            [items, heads, rows, width] => Ok(Form {
                items,
                heads,
                rows,
                width,
                side_by_side: false,
            }),
            [items, rows, all] => {
                let heads = match call.int("num_heads", 0) {
                    ANY if call.node.domain == MADE => {
                        all / call
                            .weights(1)?
                            .0
                            .last()
                            .map_or(1, |half| half.saturating_mul(2))
                            .max(1)
                    }
                    given => usize::try_from(given).unwrap_or(0),
                };
                if heads == 0 || !all.is_multiple_of(heads) {
                    return bad(format!(
                        "its 'num_heads' {heads} does not divide {all} columns"
                    ));
                }
                Ok(Form {
                    items,
                    heads,
                    rows,
                    width: all / heads,
                    side_by_side: true,
                })
            }
            _ => bad(format!("its input has the item shape {shape:?}")),
        }
    }

    /// The item, the row and the place in its row of element `e`.
    fn place(&self, e: usize) -> [usize; 3] {
        let row = match self.side_by_side {
            true => e / (self.width * self.heads) % self.rows,
            false => e / self.width % self.rows,
        };
        let item = e / (self.heads * self.rows * self.width);
        [item, row, e % self.width]
    }
}

/// The sines or cosines of every pair of every row of each item.
fn cache(call: &Call, i: usize, form: &Form, half: usize) -> Result<Vec<f32>, Fault> {
    let (shape, numbers) = call.weights(i)?;
    let positions = call.optional_ints(3)?;
    let rows = match (positions, shape) {
        (Some(_), &[_, columns]) if columns == half => numbers.len() / half.max(1),
        (None, &[items, rows, columns]) if (rows, columns) == (form.rows, half) => items * rows,
        _ => {
            return bad(format!(
                "its input {i} has the shape {shape:?}; {half} numbers for each place are needed"
            ));
        }
    };
    let picks: Vec<usize> = match positions {
        None => (0..rows).collect(),
        Some(given) => {
            let place = |&p: &i64| usize::try_from(p).ok().filter(|&p| p < rows);
            let places = given.iter().map(place).collect::<Option<_>>();
            places.ok_or_else(|| Fault::Bad("its places are not all in its caches".into()))?
        }
    };
    let items = picks.chunks(form.rows.max(1));
    if items.len() == 0
        || !picks.len().is_multiple_of(form.rows)
        || call.whole && items.len() != form.items
    {
        return bad(format!("it has places for {} rows", picks.len()));
    }
    let taken = |rows: &[usize]| -> Vec<f32> {
        rows.iter()
            .flat_map(|&row| numbers[row * half..(row + 1) * half].to_vec())
            .collect()
    };
    let mut all = items.map(taken);
    match call.whole {
        true => Ok(all.flatten().collect()),
        false => {
            let first = all.next().unwrap_or_default();
            match all.all(|other| other == first) {
                true => Ok(first),
                false => unsupported("the items of its batch have places of their own"),
            }
        }
    }
}

/// Places: those of every row (input 0) after so many of a cache (input 1); after none the first and those behind it.
pub(super) fn places(call: &Call) -> Result<Constant, Fault> {
    let (given, ids, cached) = (call.constant(0)?, call.ints(0)?, call.ints(1)?);
    let row = given.shape.last().copied().unwrap_or(1).max(1);
    if cached != [0] {
        return Ok(given.clone());
    }
    let counted = |ids: &[i64]| {
        let first = ids.first().copied().unwrap_or(0);
        (0..ids.len() as i64).map(move |i| first.saturating_add(i))
    };
    Ok(Constant {
        data: Data::Int(ids.chunks(row).flat_map(counted).collect()),
        ..given.clone()
    })
}

/// RotaryEmbedding by constant angles: every number by its cosine, and its partner by its sine.
pub(super) fn rotary(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let form = Form::of(call, shape)?;
    let turned = match call.int("rotary_embedding_dim", 0) {
        0 => form.width,
        given => usize::try_from(given).unwrap_or(0),
    };
    let half = turned / 2;
    if half == 0 || turned % 2 != 0 || turned > form.width || form.rows == 0 {
        return bad(format!(
            "it turns {turned} numbers of rows of {}",
            form.width
        ));
    }
    let (cosines, sines) = (cache(call, 1, &form, half)?, cache(call, 2, &form, half)?);
    let interleaved = call.int("interleaved", 0) != 0;
    let n = len(shape);
    builder.reserve(2 * n)?;
    let (mut scale, mut partners) = (vec![1.0f32; n], vec![0.0f32; n]);
    let mut index = vec![FILL; n];
    for e in 0..n {
        let [item, row, at] = form.place(e);
        if at >= turned {
            continue;
        }
        let (pair, second) = match interleaved {
            true => (at / 2, at % 2 == 1),
            false => (at % half, at >= half),
        };
        let apart = if interleaved { 1 } else { half };
        let angle = (item * form.rows + row) * half + pair;
        scale[e] = cosines[angle];
        (partners[e], index[e]) = match second {
            true => (sines[angle], (e - apart) as u32),
            false => (-sines[angle], (e + apart) as u32),
        };
    }
    let by = |numbers: Vec<f32>| {
        Op::Affine(Affine {
            inner: 1,
            scale: numbers.into(),
            shift: Weights::default(),
        })
    };
    let mut c = Composer::new(call, builder);
    let own = c.each("own", by(scale), &[x])?;
    let partner = c.each("partner", Op::Rearrange { index, fill: 0.0 }, &[x])?;
    let partner = c.each("by sines", by(partners), &[partner])?;
    let id = c.each("turned", Op::Add, &[own, partner])?;
    Ok(value(id, shape.to_vec()))
}
