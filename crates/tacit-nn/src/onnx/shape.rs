//! Nodes that move elements without computing: shapes and selections, of constants and of items.

use super::call::{Call, Fault, axis, bad, unsupported};
use super::constant::{BATCH, bounded_len};
use crate::graph::len;

/// Which shape a node sees.
#[derive(Clone, Copy)]
pub(super) enum Axes {
    /// All axes of a constant.
    All,
    /// The axes of an item; the file counts the batch axis too, which stands before this one.
    Item(usize),
}

impl Axes {
    pub(super) fn resolve(self, call: &Call, given: i64, rank: usize) -> Result<usize, Fault> {
        match self {
            Axes::All => axis(given, rank),
            Axes::Item(batch) => call.item_axis(given, rank, batch),
        }
    }

    /// Whether the file's axis `given` is that of the batch.
    pub(super) fn is_batch(self, call: &Call, given: i64, rank: usize) -> bool {
        match self {
            Axes::Item(batch) if !call.whole => axis(given, rank + 1).is_ok_and(|a| a == batch),
            _ => false,
        }
    }
}

/// Integers as sizes.
pub(super) fn sizes_of(ints: &[i64]) -> Result<Vec<usize>, Fault> {
    let size = |&v: &i64| match v {
        // A constant is the same for every item: one stands for all.
        BATCH => Ok(1),
        v => usize::try_from(v).or_else(|_| bad(format!("{v} is not a size"))),
    };
    ints.iter().map(size).collect()
}

/// The new shape of a constant under Reshape, Flatten, Squeeze or Unsqueeze.
pub(super) fn constant_shape(call: &Call, shape: &[usize]) -> Result<Vec<usize>, Fault> {
    match call.node.op_type.as_str() {
        // A constant has no batch axis of its own; with a batch of some size it is reshaped all the same.
        "Reshape" if call.ints(1)?.contains(&BATCH) => unsupported(
            "it gives a constant as many places as the batch has items, whose number is free; export with a batch of 1",
        ),
        "Reshape" => resolve(call, call.ints(1)?, shape, shape.iter().product()),
        "Flatten" => {
            let at = flattened(call, shape.len())?;
            Ok(vec![
                shape[..at].iter().product(),
                shape[at..].iter().product(),
            ])
        }
        "Squeeze" => {
            let dropped = squeezed(call, shape, Axes::All)?;
            Ok(without(shape, &dropped))
        }
        _ => {
            let ones = unsqueezed(call, shape.len())?;
            Ok(with_ones(shape, &ones))
        }
    }
}

/// The item shape of a value after Reshape, Flatten, Squeeze or Unsqueeze, and the place of its batch
/// axis then. Before, the batch stands before axis `batch`; its size in the file is `size`, if that is
/// given.
pub(super) fn item_shape(
    call: &Call,
    shape: &[usize],
    batch: usize,
    size: Option<i64>,
) -> Result<(Vec<usize>, usize), Fault> {
    if call.whole {
        return Ok((constant_shape(call, shape)?, batch));
    }
    match call.node.op_type.as_str() {
        "Reshape" => {
            let target = reshaped(call, shape, batch, size)?;
            keep_batch(&target, shape, batch, size)
        }
        "Flatten" => {
            let at = flattened(call, shape.len() + 1)?;
            let full = with_batch(shape, batch, size);
            let target = [product(&full[..at]), product(&full[at..])];
            keep_batch(&target, shape, batch, size)
        }
        "Squeeze" if size == Some(1) && call.list(1, "axes", 13)?.is_none() => {
            unsupported("it drops the batch axis, which has the size 1: name the axes to drop")
        }
        "Squeeze" => {
            let dropped = squeezed(call, shape, Axes::Item(batch))?;
            let before = dropped.iter().filter(|&&axis| axis < batch).count();
            Ok((without(shape, &dropped), batch - before))
        }
        _ => {
            let ones = unsqueezed(call, shape.len() + 1)?;
            let full = [&shape[..batch], &[0], &shape[batch..]].concat();
            let mut new = with_ones(&full, &ones);
            // No other axis of an item has the size 0.
            let batch = new.iter().position(|&d| d == 0).unwrap_or_default();
            new.remove(batch);
            Ok((new, batch))
        }
    }
}

/// The size of an axis in the file: a number, or so many times the free batch.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Size {
    Fixed(usize),
    Batches(usize),
}

/// A shape as the file has it, with the batch axis.
fn with_batch(shape: &[usize], batch: usize, items: Option<i64>) -> Vec<Size> {
    let mut full: Vec<Size> = shape.iter().map(|&d| Size::Fixed(d)).collect();
    let fixed = items.and_then(|n| usize::try_from(n).ok());
    full.insert(batch, fixed.map_or(Size::Batches(1), Size::Fixed));
    full
}

/// The number of elements, of which at most one axis is the batch.
fn product(sizes: &[Size]) -> Size {
    let times = |product, &size: &Size| match (product, size) {
        (Size::Fixed(a), Size::Fixed(b)) => Size::Fixed(a.saturating_mul(b)),
        (Size::Fixed(a) | Size::Batches(a), Size::Fixed(b) | Size::Batches(b)) => {
            Size::Batches(a.saturating_mul(b))
        }
    };
    sizes.iter().fold(Size::Fixed(1), times)
}

/// The axis from which Flatten joins what follows, in a tensor of `rank` axes.
fn flattened(call: &Call, rank: usize) -> Result<usize, Fault> {
    let given = call.int("axis", 1);
    if given < 0 && call.opset < 11 {
        return bad(format!(
            "its axis is {given}; before operator set 11 it cannot be negative"
        ));
    }
    match given == rank as i64 {
        true => Ok(rank),
        false => axis(given, rank),
    }
}

/// Reshape's target for a value with a batch: 0 copies an axis, one -1 takes what is left.
fn reshaped(
    call: &Call,
    shape: &[usize],
    batch: usize,
    items: Option<i64>,
) -> Result<Vec<Size>, Fault> {
    let target = call.ints(1)?;
    let full = with_batch(shape, batch, items);
    let wrong = || {
        let each: usize = shape.iter().product();
        let target = shown(target);
        Fault::Bad(format!(
            "items of {each} elements do not fit its target shape [{target}]"
        ))
    };
    let copies_zero = call.int("allowzero", 0) == 0;
    let size = |(i, &t): (usize, &i64)| match t {
        BATCH => Ok(Size::Batches(1)),
        -1 => Ok(Size::Fixed(1)),
        0 if copies_zero => full.get(i).copied().ok_or_else(wrong),
        t => usize::try_from(t).map(Size::Fixed).map_err(|_| wrong()),
    };
    let mut sizes = target
        .iter()
        .enumerate()
        .map(size)
        .collect::<Result<Vec<_>, _>>()?;
    let numbers: Vec<usize> = sizes.iter().map(|&s| number(s)).collect();
    bounded_len(&numbers)?;
    if sizes
        .iter()
        .filter(|s| matches!(s, Size::Batches(_)))
        .count()
        > 1
    {
        return unsupported("its target shape has the batch size twice");
    }
    let open: Vec<usize> = (0..target.len()).filter(|&i| target[i] == -1).collect();
    let left = match (product(&full), product(&sizes)) {
        (Size::Fixed(all), Size::Fixed(known)) => divided(all, known).map(Size::Fixed),
        (Size::Batches(all), Size::Batches(known)) => divided(all, known).map(Size::Fixed),
        (Size::Batches(all), Size::Fixed(known)) if !open.is_empty() => match divided(all, known) {
            Some(all) => Some(Size::Batches(all)),
            None => return unsupported(MERGES),
        },
        // Of fixed sizes alone a model with a free batch takes one number of items.
        (Size::Batches(_), Size::Fixed(_)) => return unsupported(MERGES),
        (Size::Fixed(_), Size::Batches(_)) => None,
    };
    match (left, &open[..]) {
        (Some(left), &[at]) => sizes[at] = left,
        (Some(Size::Fixed(1)), []) => {}
        _ => return Err(wrong()),
    }
    Ok(sizes)
}

/// Sizes for a message.
fn shown(sizes: &[i64]) -> String {
    let one = |&size: &i64| match size {
        BATCH => "batch".into(),
        size => size.to_string(),
    };
    sizes.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn divided(all: usize, known: usize) -> Option<usize> {
    (known > 0 && all.is_multiple_of(known)).then(|| all / known)
}

fn number(size: Size) -> usize {
    match size {
        Size::Fixed(n) | Size::Batches(n) => n,
    }
}

const MERGES: &str = "it merges the batch with other axes, or divides it; items of a batch are predicted independently: keep the batch as an axis of its own";

/// The item shape of `target`, and where its batch axis stands: where the axes before hold as many
/// elements as those before axis `batch` of `shape`, so that no element changes its item.
fn keep_batch(
    target: &[Size],
    shape: &[usize],
    batch: usize,
    items: Option<i64>,
) -> Result<(Vec<usize>, usize), Fault> {
    let before = len(&shape[..batch]);
    let batch_size = with_batch(&[], 0, items)[0];
    let fits =
        |&at: &usize| target[at] == batch_size && product(&target[..at]) == Size::Fixed(before);
    let same = (batch < target.len()).then_some(batch).filter(fits);
    let Some(at) = same.or_else(|| (0..target.len()).find(fits)) else {
        return unsupported(MERGES);
    };
    let mut item: Vec<usize> = target.iter().map(|&size| number(size)).collect();
    item.remove(at);
    Ok((item, at))
}

/// Reshape's target: 0 copies the axis of `from`, one -1 takes what is left of `total`.
fn resolve(call: &Call, target: &[i64], from: &[usize], total: usize) -> Result<Vec<usize>, Fault> {
    let copies_zero = call.int("allowzero", 0) == 0;
    let wrong = || {
        Fault::Bad(format!(
            "{total} elements do not fit its target shape {target:?}"
        ))
    };
    let mut shape = Vec::with_capacity(target.len());
    for (i, &t) in target.iter().enumerate() {
        shape.push(match t {
            -1 => 1,
            0 if copies_zero => *from.get(i).ok_or_else(wrong)?,
            t => usize::try_from(t).map_err(|_| wrong())?,
        });
    }
    let known = bounded_len(&shape)?;
    match target.iter().filter(|&&t| t == -1).count() {
        0 if known == total => Ok(shape),
        1 if known > 0 && total.is_multiple_of(known) => {
            let open = target.iter().position(|&t| t == -1).unwrap_or_default();
            shape[open] = total / known;
            Ok(shape)
        }
        _ => Err(wrong()),
    }
}

/// The axes that Squeeze drops.
fn squeezed(call: &Call, shape: &[usize], axes: Axes) -> Result<Vec<usize>, Fault> {
    let dropped: Vec<usize> = match call.list(1, "axes", 13)? {
        None => (0..shape.len()).filter(|&i| shape[i] == 1).collect(),
        Some(given) => given
            .iter()
            .map(|&a| axes.resolve(call, a, shape.len()))
            .collect::<Result<Vec<_>, _>>()?,
    };
    match dropped.iter().find(|&&a| shape[a] != 1) {
        Some(&a) => bad(format!("it squeezes an axis of size {}", shape[a])),
        None => Ok(dropped),
    }
}

fn without(shape: &[usize], dropped: &[usize]) -> Vec<usize> {
    let kept = (0..shape.len()).filter(|i| !dropped.contains(i));
    kept.map(|i| shape[i]).collect()
}

/// The axes that Unsqueeze inserts into a tensor of `rank` axes, in order.
fn unsqueezed(call: &Call, rank: usize) -> Result<Vec<usize>, Fault> {
    let given = call.list(1, "axes", 13)?;
    let given = given.ok_or_else(|| Fault::Bad("it names no axes".into()))?;
    let mut ones = given
        .iter()
        .map(|&a| axis(a, rank + given.len()))
        .collect::<Result<Vec<_>, _>>()?;
    ones.sort_unstable();
    ones.dedup();
    match ones.len() == given.len() {
        true => Ok(ones),
        false => bad("it inserts one axis twice"),
    }
}

fn with_ones(shape: &[usize], ones: &[usize]) -> Vec<usize> {
    let mut old = shape.iter();
    let size = |i| match ones.contains(&i) {
        true => Some(1),
        false => old.next().copied(),
    };
    (0..shape.len() + ones.len()).filter_map(size).collect()
}

/// Transpose's order of axes for a constant.
pub(super) fn permutation(call: &Call, rank: usize) -> Result<Vec<usize>, Fault> {
    let order = match call.attribute("perm") {
        None => (0..rank).rev().collect(),
        Some(_) => call.sizes("perm", rank, 0)?,
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted.iter().copied().eq(0..rank) {
        Ok(order)
    } else {
        bad(format!("its 'perm' {order:?} is no order of {rank} axes"))
    }
}

/// Transpose's order of axes for an item whose batch stands before axis `batch`, and the place of the
/// batch axis in the result.
pub(super) fn item_permutation(
    call: &Call,
    rank: usize,
    batch: usize,
) -> Result<(Vec<usize>, usize), Fault> {
    if call.whole {
        return Ok((permutation(call, rank)?, batch));
    }
    let order = permutation(call, rank + 1)?;
    let moved = order.iter().position(|&a| a == batch).unwrap_or_default();
    let others = order.iter().filter(|&&a| a != batch);
    let of_item = others.map(|&a| a - usize::from(a > batch)).collect();
    Ok((of_item, moved))
}
