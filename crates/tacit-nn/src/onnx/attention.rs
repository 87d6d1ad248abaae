//! Attention: shares of values by scaled products of queries and keys, all heads at once.

use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::{Composer, value};
use super::constant::{Data, bounded_len};
use super::element::Stretched;
use super::function::{line, shares};
use super::lower::Builder;
use super::mask::{LEAST, Mask};
use crate::graph::{Affine, Matrices, Op, ValueId, Weights};
use crate::index::arranged;

/// Rows of heads: queries, keys or values of an item.
struct Heads {
    id: ValueId,
    heads: usize,
    rows: usize,
    width: usize,
    /// Whether a row has all heads side by side, not a head all its rows.
    side_by_side: bool,
}

impl Heads {
    /// Input `i`, whose heads stand apart or are as many as the attribute `name` says.
    fn read(call: &Call, i: usize, name: &str) -> Result<Heads, Fault> {
        let (id, shape) = call.secret(i)?;
        match *shape {
            [heads, rows, width] => Ok(Heads {
                id,
                heads,
                rows,
                width,
                side_by_side: false,
            }),
            [rows, all] => {
                let heads = usize::try_from(call.int(name, 0)).unwrap_or(0);
                if heads == 0 || !all.is_multiple_of(heads) {
                    return bad(format!(
                        "its '{name}' {heads} does not divide {all} columns"
                    ));
                }
                Ok(Heads {
                    id,
                    heads,
                    rows,
                    width: all / heads,
                    side_by_side: true,
                })
            }
            _ => bad(format!("its input {i} has the item shape {shape:?}")),
        }
    }

    /// Each head `times` one after the other, of rows, or of columns.
    fn matrices(
        &self,
        compose: &mut Composer,
        part: &str,
        times: usize,
        turned: bool,
    ) -> Result<ValueId, Fault> {
        let Heads {
            heads, rows, width, ..
        } = *self;
        let (shape, [head, row]) = match self.side_by_side {
            true => ([rows, heads, width], [1, 0]),
            false => ([heads, rows, width], [0, 1]),
        };
        let (order, out) = match turned {
            true => (
                [Some(head), None, Some(2), Some(row)],
                [heads, times, width, rows],
            ),
            false => (
                [Some(head), None, Some(row), Some(2)],
                [heads, times, rows, width],
            ),
        };
        bounded_len(&out)?;
        let index = arranged(&shape, &order, &out);
        compose.moved(part, self.id, index, out.to_vec())
    }
}

/// Attention without a cache of keys and values.
pub(super) fn attention(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    if (4..call.inputs.len()).any(|i| call.input(i).is_some()) {
        return unsupported("it has a cache of keys and values");
    }
    if call.float("softcap", 0.0) != 0.0 {
        return unsupported("it caps its scores by 'softcap'");
    }
    let q = Heads::read(call, 0, "q_num_heads")?;
    let [k, v] = [
        Heads::read(call, 1, "kv_num_heads")?,
        Heads::read(call, 2, "kv_num_heads")?,
    ];
    let fits = k.heads == v.heads && k.rows == v.rows && q.width == k.width;
    if !fits || k.heads == 0 || !q.heads.is_multiple_of(k.heads) {
        return bad("its queries, keys and values do not fit");
    }
    let (times, lines) = (q.heads / k.heads, [q.heads * q.rows, k.rows, 1]);
    let hidden = masks(call, [q.heads, q.rows, k.rows])?;
    let mut compose = Composer::new(call, builder);
    let scale = call.float("scale", (q.width as f32).sqrt().recip());
    let left = q.matrices(&mut compose, "queries", 1, false)?;
    let left = compose.affine("scaled", left, scale, 0.0)?;
    let right = k.matrices(&mut compose, "keys", times, true)?;
    let batch = q.heads;
    let (m, inner, n) = (q.rows, q.width, k.rows);
    let product = Op::MatMul(Matrices {
        batch,
        m,
        k: inner,
        n,
    });
    let mut scores = compose.node("scores", product, &[left, right], vec![batch, m, n])?;
    if let Some(terms) = hidden.terms {
        let shift: Weights = terms.into();
        let (inner, scale) = (1, Weights::default());
        scores = compose.each(
            "masked",
            Op::Affine(Affine {
                inner,
                scale,
                shift,
            }),
            &[scores],
        )?;
    }
    let mask = hidden
        .places
        .map(|places| Mask::new(places, line(lines)))
        .transpose()?;
    let shares = shares(&mut compose, scores, lines, mask.as_ref())?;
    let values = v.matrices(&mut compose, "values", times, false)?;
    let product = Op::MatMul(Matrices {
        batch,
        m,
        k: n,
        n: v.width,
    });
    let mixed = compose.node("mixed", product, &[shares, values], vec![batch, m, v.width])?;
    if !q.side_by_side {
        return Ok(value(mixed, vec![batch, m, v.width]));
    }
    let (order, out) = ([Some(1), Some(0), Some(2)], [m, batch, v.width]);
    let index = arranged(&[batch, m, v.width], &order, &out);
    let id = compose.moved("joined", mixed, index, out.to_vec())?;
    Ok(value(id, vec![m, batch * v.width]))
}

/// What is added to the scores, and which are left out.
struct Hidden {
    terms: Option<Vec<f32>>,
    places: Option<Vec<bool>>,
}

/// Of a constant mask and the attribute that hides what follows.
fn masks(call: &Call, shape: [usize; 3]) -> Result<Hidden, Fault> {
    let n = bounded_len(&shape)?;
    let [_, rows, columns] = shape;
    let mut terms = vec![0.0f32; n];
    let mut places = vec![false; n];
    if let Some(given) = call.optional_constant(3)? {
        // From operator set 24 on a mask may end before the keys do, and one number is not for all.
        if call.opset > 23 && given.shape.last() != Some(&columns) {
            return unsupported(format!(
                "its mask of the shape {:?} has no number for each of its {columns} keys",
                given.shape
            ));
        }
        let numbers: Vec<f32> = match &given.data {
            Data::Int(keep) => keep
                .iter()
                .map(|&v| if v == 0 { f32::NEG_INFINITY } else { 0.0 })
                .collect(),
            data => data.floats().to_vec(),
        };
        if numbers.iter().any(|v| v.is_nan() || *v == f32::INFINITY) {
            return unsupported("its mask holds what is no number");
        }
        let fits = Stretched::new(&given.shape, &numbers, &shape, 0)?;
        if fits.out != shape {
            return bad(format!(
                "its mask of the shape {:?} does not fit",
                given.shape
            ));
        }
        for (e, (term, place)) in terms.iter_mut().zip(&mut places).enumerate() {
            let number = fits.numbers[e / fits.inner % fits.numbers.len()];
            match number <= LEAST {
                true => *place = true,
                false => *term = number,
            }
        }
    }
    if call.int("is_causal", 0) != 0 {
        for (e, place) in places.iter_mut().enumerate() {
            *place |= e % columns > e / columns % rows;
        }
    }
    Ok(Hidden {
        terms: terms.iter().any(|&term| term != 0.0).then_some(terms),
        places: places.contains(&true).then_some(places),
    })
}
