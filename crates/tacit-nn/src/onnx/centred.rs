//! What elements of rows have beyond their mean, as normalisations are written out.
//!
//! The mean is taken of differences to the first element of a row, as that of [`Normal`](super::function::Normal) is:
//! where all are equal the result is exactly 0, and nothing of a rounded mean is divided by the small number that
//! stands for a deviation.

use super::builder::Builder;
use super::call::{Call, Fault};
use super::compose::Composer;
use super::pool::whole;
use crate::graph::{Op, ValueId};

/// `x - mean` of an item of the shape `out`, if `mean` repeats the means of rows whose elements `x` has.
pub(super) fn centred(
    call: &Call,
    builder: &mut Builder,
    [x, mean]: [ValueId; 2],
    out: &[usize],
) -> Result<Option<ValueId>, Fault> {
    if !repeats_a_mean(builder, mean) {
        return Ok(None);
    }
    let (mean, row) = builder.moved_from(mean);
    let Some(&(rows, many, size)) = builder.means.get(&mean) else {
        return Ok(None);
    };
    if size < 2 {
        return Ok(None);
    }
    let Some(place) = places(builder, x, rows, &row, size) else {
        return Ok(None);
    };
    let known = builder.centred.get(&mean).copied();
    let shape = builder.shape(rows);
    let mut c = Composer::new(call, builder);
    let centred = match known {
        Some(centred) => centred,
        None => {
            let first = c.spread("first of all", rows, shape.clone(), |e| e / size * size)?;
            let aside = c.each("aside", Op::Sub, &[rows, first])?;
            let pool = Op::AveragePool(whole(many, [1, size]));
            let mean = c.node("mean", pool, &[aside], vec![many])?;
            let of_all = c.spread("mean of all", mean, shape, |e| e / size)?;
            c.each("centred", Op::Sub, &[aside, of_all])?
        }
    };
    builder.centred.insert(mean, centred);
    let mut c = Composer::new(call, builder);
    Ok(Some(c.moved("in place", centred, place, out.to_vec())?))
}

/// Whether a value may be made of means by moves alone.
fn repeats_a_mean(builder: &Builder, mut id: ValueId) -> bool {
    while let Some(node) = id.checked_sub(1).map(|node| &builder.nodes[node]) {
        if builder.means.contains_key(&id) {
            return true;
        }
        match node.op {
            Op::Rearrange { .. } | Op::Concat { .. } => id = node.inputs[0],
            _ => return false,
        }
    }
    false
}

/// Where in rows of `size` each element of `x` is, if that is in the row whose mean or sum stands beside it.
pub(super) fn places(
    builder: &Builder,
    x: ValueId,
    rows: ValueId,
    row: &[u32],
    size: usize,
) -> Option<Vec<u32>> {
    let ((from, of_x), (source, of_rows)) = (builder.moved_from(x), builder.moved_from(rows));
    if from != source || of_x.len() != row.len() {
        return None;
    }
    let mut at = vec![None; builder.len(from)];
    for (place, &element) in of_rows.iter().enumerate() {
        at[element as usize] = Some(place as u32);
    }
    let places: Vec<u32> = (of_x.iter())
        .map(|&element| at[element as usize])
        .collect::<Option<_>>()?;
    let mut each = places.iter().zip(row);
    let inside = each.all(|(&place, &row)| place as usize / size == row as usize);
    inside.then_some(places)
}
