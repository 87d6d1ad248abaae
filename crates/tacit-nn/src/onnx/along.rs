//! Linear maps along one axis: running sums, and resizing.

use super::call::{Call, Fault, Value, bad};
use super::compose::{Composer, value};
use super::lower::Builder;
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
