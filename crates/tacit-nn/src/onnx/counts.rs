//! Counts by which something is divided: 1 at least where a choice or their own makers say so.

use std::collections::{HashMap, HashSet};

use super::builder::Builder;
use super::call::{Call, Fault, Value};
use super::centred::places;
use super::compare::{is_truth, is_whole};
use super::compose::value;
use super::nary::on;
use crate::graph::{Op, Pool, ValueId, Weights};
use crate::index::broadcast;

/// A truth of a value: that it is above a number, or is one.
#[derive(Clone, Copy)]
pub(super) enum Limit {
    Above(ValueId, f32),
    Is(ValueId, f32),
}

/// Notes what a comparison says of the value that it compares with one number.
pub(super) fn note(call: &Call, builder: &mut Builder, truth: &Value) {
    let (Some(a), Some(b), Value::Secret { id: truth, .. }) = (call.input(0), call.input(1), truth)
    else {
        return;
    };
    let one = |value: &Value| match value {
        Value::Constant(number) if number.data.len() == 1 => Some(number.data.floats()[0]),
        _ => None,
    };
    let limit = match (&call.node.op_type[..], a, b) {
        ("Greater", Value::Secret { id, .. }, b) => one(b).map(|v| Limit::Above(*id, v)),
        ("Less", a, Value::Secret { id, .. }) => one(a).map(|v| Limit::Above(*id, v)),
        ("Equal", Value::Secret { id, .. }, b) => one(b).map(|v| Limit::Is(*id, v)),
        ("Equal", a, Value::Secret { id, .. }) => one(a).map(|v| Limit::Is(*id, v)),
        _ => None,
    };
    builder.limits.extend(limit.map(|limit| (*truth, limit)));
}

/// Where of whole numbers and 1, if it takes 1 in place of those below: the larger of the two, which is 1 or more by the
/// way it is made.
pub(super) fn from_one(
    call: &Call,
    builder: &mut Builder,
    [condition, x, y]: [&Value; 3],
) -> Result<Option<Value>, Fault> {
    let Value::Secret { id: truth, .. } = condition else {
        return Ok(None);
    };
    let is_one = |value: &Value| matches!(value, Value::Constant(c) if c.is_one());
    let count = match (builder.limits.get(truth), x, y) {
        (Some(&Limit::Above(of, v)), Value::Secret { id, .. }, y)
            if of == *id && is_one(y) && (0.0..1.0).contains(&v) =>
        {
            x
        }
        (Some(&Limit::Is(of, 0.0)), x, Value::Secret { id, .. })
            if of == *id && is_one(x) && is_count(builder, of) =>
        {
            y
        }
        _ => return Ok(None),
    };
    if !is_whole(builder, count) || condition.place() != count.place() {
        return Ok(None);
    }
    Ok(Some(at_least_one(call, builder, count)?))
}

/// The larger of whole numbers and 1.
fn at_least_one(call: &Call, builder: &mut Builder, count: &Value) -> Result<Value, Fault> {
    on(call, builder, count, |c, x| {
        let less = c.affine("less 1", x, 1.0, -1.0)?;
        let more = c.each("more than 1", Op::Relu, &[less])?;
        c.affine("from 1 on", more, 1.0, 1.0)
    })
}

/// The sum of counts by which these are divided, as votes are, from 1 on: if it were 0, so were they, and 0 / 0 is no
/// number.
pub(super) fn of_counts(
    call: &Call,
    builder: &mut Builder,
    counts: &Value,
    sum: &Value,
) -> Result<Option<Value>, Fault> {
    let votes = holds_each(builder, counts, sum).is_some_and(|of| is_count(builder, of));
    match votes || is_of_counted(builder, counts, sum).is_some() {
        true => Ok(Some(at_least_one(call, builder, sum)?)),
        false => Ok(None),
    }
}

/// The most terms of sums that are held against what is counted.
const MOST_TERMS: usize = 1 << 26;

/// Whether numbers are sums of products with the truths that `count` counts, as means of what a mask leaves are made.
fn is_of_counted(builder: &Builder, x: &Value, count: &Value) -> Option<()> {
    let ((shape, _), (of, _)) = (x.place()?, count.place()?);
    let [(sums, place), (total, row)] = [x, count].map(|value| match value {
        Value::Secret { id, .. } => builder.moved_from(*id),
        _ => (0, vec![]),
    });
    let ((pool, products), (counting, marks)) = (summed(builder, sums)?, summed(builder, total)?);
    let (truths, of_marks) = builder.moved_from(marks);
    let of_truths = value(truths, builder.shape(truths));
    is_truth(builder, &of_truths).then_some(())?;
    let (products, of_products) = builder.moved_from(products);
    let factors = factors(builder, products)?;
    let weights = factors.iter().find_map(|&factor| {
        let (from, places) = builder.moved_from(factor);
        (from == truths).then_some(places)
    })?;
    let under = |pool: &Pool, e: u32| -> Vec<usize> {
        let taps = (0..pool.window()).map(|tap| pool.tap(e as usize, tap));
        taps.flatten().collect()
    };
    if pool.out_len().saturating_mul(pool.window()) > MOST_TERMS {
        return None;
    }
    let mut counted: HashMap<u32, HashSet<u32>> = HashMap::new();
    let totals = broadcast(of, shape)?;
    let totals = totals.iter().map(|&at| row[at as usize]);
    // What is stretched has the same sum and count many times.
    let each: HashSet<(u32, u32)> = place.into_iter().zip(totals).collect();
    let all = each.into_iter().all(|(element, total)| {
        let counted = counted.entry(total).or_insert_with(|| {
            let marks = under(counting, total).into_iter();
            marks.map(|mark| of_marks[mark]).collect()
        });
        let terms = under(pool, element).into_iter();
        let mut weights = terms.map(|term| weights[of_products[term] as usize]);
        weights.all(|weight| counted.contains(&weight))
    });
    all.then_some(())
}

/// The factors of a product, to which a choice may add 0.
fn factors(builder: &Builder, mut id: ValueId) -> Option<&[ValueId]> {
    let is_zero = |id: ValueId| {
        let (made, _) = builder.moved_from(id);
        match made.checked_sub(1).map(|node| &builder.nodes[node].op) {
            Some(Op::Affine(affine)) => {
                let zeros = |of: &Weights| of.iter().all(|&v| v == 0.0);
                !affine.scale.is_empty() && zeros(&affine.scale) && zeros(&affine.shift)
            }
            _ => false,
        }
    };
    loop {
        let node = &builder.nodes[id.checked_sub(1)?];
        match (&node.op, &node.inputs[..]) {
            (Op::Mul, factors) => return Some(factors),
            (Op::Add, &[product, zero]) if is_zero(zero) => id = product,
            _ => return None,
        }
    }
}

/// The windows of a sum, and what is summed.
fn summed(builder: &Builder, id: ValueId) -> Option<(&Pool, ValueId)> {
    let node = &builder.nodes[id.checked_sub(1)?];
    match &node.op {
        Op::SumPool(pool) => Some((pool, node.inputs[0])),
        _ => None,
    }
}

/// What counts are moved from, if each is divided by the sum of a row that it is in.
fn holds_each(builder: &Builder, counts: &Value, sum: &Value) -> Option<ValueId> {
    let (
        Value::Secret { id, shape, .. },
        Value::Secret {
            id: sum, shape: of, ..
        },
    ) = (counts, sum)
    else {
        return None;
    };
    let (total, row) = builder.moved_from(*sum);
    let node = &builder.nodes[total.checked_sub(1)?];
    let Op::SumPool(pool) = &node.op else {
        return None;
    };
    let size = pool.height * pool.width;
    if pool.kernel != [pool.height, pool.width] {
        return None;
    }
    let row: Vec<u32> = (broadcast(of, shape)?.iter())
        .map(|&at| row[at as usize])
        .collect();
    places(builder, *id, node.inputs[0], &row, size)?;
    Some(builder.moved_from(*id).0)
}

/// Whether a value counts truths, by the way it is made.
fn is_count(builder: &Builder, id: ValueId) -> bool {
    let (mut open, mut seen) = (vec![id], HashSet::new());
    while let Some(id) = open.pop() {
        if !seen.insert(id) || builder.truths.contains(&id) {
            continue;
        }
        let Some(node) = id.checked_sub(1).map(|node| &builder.nodes[node]) else {
            return false;
        };
        match node.op {
            Op::NonNegative => continue,
            Op::Rearrange { fill: 0.0, .. } | Op::Concat { .. } | Op::SumPool(_) => {}
            Op::Add | Op::Mul | Op::MatMul(_) | Op::MaxPool(_) => {}
            _ => return false,
        }
        open.extend(&node.inputs);
    }
    true
}
