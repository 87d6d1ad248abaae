//! TopK: the largest or smallest elements along an axis, and their places.
//!
//! Every two elements are compared once. How many others go before an element is its rank, equal ones in their
//! order, and a row of signs of the ranks tells which element has which of the first ranks. Of a long row the first of
//! every block are found so, then the first of these.

mod blocks;

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad};
use super::compose::{Composer, value};
use super::reduce::rows;
use crate::graph::{Affine, FILL, Matrices, Op, Pool, ValueId, Weights};
use crate::index::transpose;
use crate::onnx::pool::whole;

/// The values and the places of the `k` first elements.
pub(super) fn top(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    let (x, shape) = call.secret(0)?;
    let along = call.item_axis(call.int("axis", -1), shape.len(), 0)?;
    let size = shape[along];
    let given = match call.opset {
        ..10 => Some(call.int("k", 0)),
        _ => call.ints(1)?.first().copied(),
    };
    let k = match given.and_then(|k| usize::try_from(k).ok()) {
        Some(k) if (1..=size).contains(&k) => k,
        _ => return bad(format!("it takes {given:?} of {size} elements")),
    };
    let of = rows(call, builder, x, shape, &[along])?;
    // The order of roots, and of such powers, is that of what they are made of.
    let base = builder.roots.get(&x).or(builder.raised.get(&x)).copied();
    let compared = match base {
        Some(base) => rows(call, builder, base, shape, &[along])?.x,
        None => of.x,
    };
    let mut c = Composer::new(call, builder);
    let compared = match call.int("largest", 1) {
        0 => c.affine("mirrored", compared, -1.0, 0.0)?,
        _ => compared,
    };
    let chosen = blocks::first(&mut c, compared, [of.rows, size], k)?;
    c.builder.marks.insert(chosen);
    let matrices = Matrices {
        batch: of.rows,
        m: k,
        k: size,
        n: 1,
    };
    let found = vec![of.rows, k];
    let values = c.node("values", Op::MatMul(matrices), &[chosen, of.x], found)?;
    c.builder.chosen_from.insert(values, of.x);
    let places: Vec<f32> = (0..size).map(|i| i as f32).collect();
    let places = c.linear(
        "places",
        chosen,
        [size, 1],
        places.into(),
        Weights::default(),
    )?;
    let mut out = shape.to_vec();
    out[along] = k;
    let sizes: Vec<usize> = of.order.iter().map(|&a| out[a]).collect();
    let back: Vec<usize> = (0..out.len())
        .filter_map(|a| of.order.iter().position(|&from| from == a))
        .collect();
    let mut turned = |part: &str, id| {
        let index = transpose(&sizes, &back);
        Ok::<_, Fault>(value(c.moved(part, id, index, out.clone())?, out.clone()))
    };
    Ok(vec![
        turned("values turned back", values)?,
        turned("places turned back", places)?,
    ])
}

/// How many elements of its row go before each.
fn ranks(c: &mut Composer, x: ValueId, [rows, size]: [usize; 2]) -> Result<ValueId, Fault> {
    if size == 1 {
        return c.affine("rank", x, 0.0, 0.0);
    }
    let pairs: Vec<[usize; 2]> = (0..size)
        .flat_map(|i| (i + 1..size).map(move |j| [i, j]))
        .collect();
    let many = pairs.len();
    c.builder.reserve(rows.saturating_mul(3 * size * size))?;
    let side = |c: &mut Composer, part: &str, of: usize| {
        let at = |e: usize| e / many * size + pairs[e % many][of];
        c.spread(part, x, vec![rows, many], at)
    };
    let [first, second] = [side(c, "first", 0)?, side(c, "second", 1)?];
    let difference = c.each("difference", Op::Sub, &[first, second])?;
    let before = c.each("goes before", Op::NonNegative, &[difference])?;
    // Of element `i` the pairs with those before it, and with those after it.
    let pair = |i: usize, j: usize| i * (2 * size - i - 1) / 2 + j - i - 1;
    let mut sum = |part: &str, of: &dyn Fn(usize, usize) -> Option<usize>| {
        let index = (0..rows * size * size)
            .map(|e| (e / (size * size), e / size % size, e % size))
            .map(|(row, i, j)| of(i, j).map_or(FILL, |pair| (row * many + pair) as u32))
            .collect();
        let op = Op::Rearrange { index, fill: 0.0 };
        let all = c.node(part, op, &[before], vec![rows, size, size])?;
        let pool: Pool = whole(rows * size, [1, size]);
        c.node(
            &format!("{part} together"),
            Op::SumPool(pool),
            &[all],
            vec![rows, size],
        )
    };
    let others = sum("others before", &|i, j| (j < i).then(|| pair(j, i)))?;
    let own = sum("before others", &|i, j| (i < j).then(|| pair(i, j)))?;
    let less = c.each("less", Op::Sub, &[others, own])?;
    let after = (0..size).map(|i| (size - 1 - i) as f32).collect();
    let op = Op::Affine(Affine {
        inner: 1,
        scale: Weights::default(),
        shift: after,
    });
    c.each("rank", op, &[less])
}

/// For each of the first `k` ranks 1 at the element that has it, else 0.
fn chosen(
    c: &mut Composer,
    ranks: ValueId,
    [rows, size]: [usize; 2],
    k: usize,
) -> Result<ValueId, Fault> {
    let shape = vec![rows, k, size];
    let at = |e: usize| e / (k * size) * size + e % size;
    let all = c.spread("rank of all", ranks, shape.clone(), at)?;
    let op = Op::Affine(Affine {
        inner: size,
        scale: Weights::default(),
        shift: (0..k).map(|r| -0.5 - r as f32).collect(),
    });
    let over = c.each("over", op, &[all])?;
    let behind = c.each("is behind", Op::NonNegative, &[over])?;
    // Behind the rank before, and not behind its own.
    let index = (0..rows * k * size)
        .map(|e| match e / size % k {
            0 => FILL,
            _ => (e - size) as u32,
        })
        .collect();
    let before = Op::Rearrange { index, fill: 1.0 };
    let before = c.node("is behind the one before", before, &[behind], shape)?;
    c.each("chosen", Op::Sub, &[before, behind])
}
