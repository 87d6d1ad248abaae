//! Linear maps along one axis: running sums, resizing, and grids of places.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::{Composer, value};
use crate::graph::{Op, ValueId, Weights};
use crate::index::transpose;

/// The sums of every line of `x` along an axis with the columns of `weight`, as many as `n`.
pub(super) fn mapped(
    c: &mut Composer,
    part: &str,
    (x, shape): (ValueId, &[usize]),
    along: usize,
    (weight, bias, n): (Vec<f32>, Vec<f32>, usize),
) -> Result<(ValueId, Vec<usize>), Fault> {
    let rank = shape.len();
    let mut order: Vec<usize> = (0..rank).filter(|&a| a != along).collect();
    order.push(along);
    let mut out = shape.to_vec();
    out[along] = n;
    let turned = match along == rank - 1 {
        true => x,
        false => {
            let index = transpose(shape, &order);
            let sizes = order.iter().map(|&a| shape[a]).collect();
            let op = Op::Rearrange { index, fill: 0.0 };
            c.node(&format!("{part}.turned"), op, &[x], sizes)?
        }
    };
    let bias: Weights = bias.into();
    let made = c.linear(part, turned, [shape[along], n], weight.into(), bias)?;
    let id = match along == rank - 1 {
        true => made,
        false => {
            let sizes: Vec<usize> = order.iter().map(|&a| out[a]).collect();
            let back: Vec<usize> = (0..rank)
                .filter_map(|a| order.iter().position(|&from| from == a))
                .collect();
            let index = transpose(&sizes, &back);
            let op = Op::Rearrange { index, fill: 0.0 };
            c.node(&format!("{part}.turned back"), op, &[made], out.clone())?
        }
    };
    Ok((id, out))
}

/// CumSum: every element with those before it.
pub(super) fn running_sum(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let &[given] = call.ints(1)? else {
        return bad("its axis is no number");
    };
    let along = call.item_axis(given, shape.len(), 0)?;
    let size = shape[along];
    if size > 1 << 12 {
        return bad(format!("its axis has {size} places, more than 4096"));
    }
    let (exclusive, reverse) = (call.int("exclusive", 0) != 0, call.int("reverse", 0) != 0);
    let taken = |from: usize, to: usize| {
        let (first, second) = if reverse { (to, from) } else { (from, to) };
        first < second || first == second && !exclusive
    };
    builder.reserve(size * size)?;
    let weight = (0..size * size)
        .map(|i| f32::from(taken(i / size, i % size)))
        .collect();
    let mut c = Composer::new(call, builder);
    let (id, out) = mapped(&mut c, "sums", (x, shape), along, (weight, vec![], size))?;
    Ok(value(id, out))
}

/// AffineGrid: where an affine map takes every place of a space between -1 and 1.
pub(super) fn affine_grid(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let size = super::shape::sizes_of(call.ints(1)?)?;
    let &[rows @ (2 | 3), columns] = shape else {
        return bad(format!(
            "its maps have the shape {shape:?}, not [2, 3] or [3, 4]"
        ));
    };
    if columns != rows + 1 || size.len() != rows + 2 {
        return bad(format!(
            "its size {size:?} does not fit maps of the shape {shape:?}"
        ));
    }
    let space = &size[2..];
    let places = super::constant::bounded_len(space)?;
    if places == 0 {
        return unsupported("its grid has no places");
    }
    builder.reserve(places.saturating_mul(columns))?;
    let corners = call.int("align_corners", 0) != 0;
    let place = |i: usize, n: usize| match (corners, n) {
        (true, 1) => 0.0,
        (true, _) => 2.0 * i as f32 / (n - 1) as f32 - 1.0,
        (false, _) => (2 * i + 1) as f32 / n as f32 - 1.0,
    };
    // The last axis is x, so a map's first column is that of the last axis.
    let number = |row: usize, e: usize| {
        let Some(axis) = rows.checked_sub(row + 1) else {
            return 1.0;
        };
        let inner: usize = space[axis + 1..].iter().product();
        place(e / inner % space[axis], space[axis])
    };
    let weight: Vec<f32> = (0..columns * places)
        .map(|i| number(i / places, i % places))
        .collect();
    let mut c = Composer::new(call, builder);
    let bias = Weights::default();
    let made = c.linear("places", x, [columns, places], weight.into(), bias)?;
    let index = transpose(&[rows, places], &[1, 0]);
    let out = [space, &[rows]].concat();
    let id = c.node(
        "grid",
        Op::Rearrange { index, fill: 0.0 },
        &[made],
        out.clone(),
    )?;
    Ok(value(id, out))
}
