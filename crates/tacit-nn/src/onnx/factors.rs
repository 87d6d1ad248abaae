//! Products of elements of one value: running products and determinants.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::{Composer, value};
use crate::graph::{FILL, Op, ValueId, Weights, len};

/// The largest matrices whose determinants are taken: those of n are sums of n! products.
const LARGEST: usize = 4;

/// CumProd: every element times those before it. Each round multiplies by what stands twice as far.
pub(super) fn running_product(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let &[given] = call.ints(1)? else {
        return bad("its axis is no number");
    };
    let along = call.item_axis(given, shape.len(), 0)?;
    let (size, inner) = (shape[along], len(&shape[along + 1..]));
    let backward = call.int("reverse", 0) != 0;
    let mut c = Composer::new(call, builder);
    let moved = |by: usize| {
        let index = (0..len(shape)).map(|e| {
            let place = e / inner % size;
            match backward {
                true if place + by < size => (e + by * inner) as u32,
                false if place >= by => (e - by * inner) as u32,
                _ => FILL,
            }
        });
        let (index, fill) = (index.collect(), 1.0);
        Op::Rearrange { index, fill }
    };
    let mut made = match call.int("exclusive", 0) {
        0 => x,
        _ => c.each("before", moved(1), &[x])?,
    };
    let mut by = 1;
    while by < size {
        let other = c.each(&format!("{by} before"), moved(by), &[made])?;
        let part = format!("{} together", 2 * by);
        made = c.node(&part, Op::Mul, &[made, other], shape.to_vec())?;
        by *= 2;
    }
    Ok(value(made, shape.to_vec()))
}

/// Det of small matrices: the products of all permutations, with their signs.
pub(super) fn determinant(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let (rows, n) = match *shape {
        [ref before @ .., rows, columns] if rows == columns => (len(before), rows),
        _ => return bad(format!("its items of the shape {shape:?} are no matrices")),
    };
    if n > LARGEST {
        return unsupported(format!(
            "it is of matrices of {n}; of up to {LARGEST} are supported"
        ));
    }
    let all = permutations(n);
    let many = all.len();
    let mut c = Composer::new(call, builder);
    let mut product: Option<ValueId> = None;
    for row in 0..n {
        let factor = |e: usize| e / many * n * n + row * n + all[e % many].0[row];
        let part = c.spread(&format!("row {row}"), x, vec![rows, many], factor)?;
        product = Some(match product {
            None => part,
            Some(before) => c.each(&format!("product {row}"), Op::Mul, &[before, part])?,
        });
    }
    let Some(product) = product else {
        return bad("it is of matrices of no elements");
    };
    let signs: Vec<f32> = all.iter().map(|(_, sign)| *sign).collect();
    let none = Weights::default();
    let id = c.linear("sum", product, [many, 1], signs.into(), none)?;
    Ok(value(id, shape[..shape.len() - 2].to_vec()))
}

/// All orders of `n` places with their signs.
fn permutations(n: usize) -> Vec<(Vec<usize>, f32)> {
    let mut all = vec![(vec![], 1.0)];
    for next in 0..n {
        let insert = |(order, sign): &(Vec<usize>, f32)| {
            let (order, sign) = (order.clone(), *sign);
            (0..=next).map(move |at| {
                let mut order = order.clone();
                order.insert(at, next);
                // It steps over so many others.
                let odd = (next - at) % 2 == 1;
                (order, if odd { -sign } else { sign })
            })
        };
        all = all.iter().flat_map(insert).collect();
    }
    all
}
