//! Linear models.

use super::attributes::{counted, exactly, floats};
use super::scores::{Labels, Post, Second, finished, label};
use crate::graph::{ValueId, Weights};
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, Value, bad, unsupported};
use crate::onnx::compose::{Composer, value};
use crate::onnx::linear::transposed;

/// The features of a row, which the first input is.
pub(super) fn row(call: &Call) -> Result<(ValueId, usize), Fault> {
    match call.secret(0)? {
        (x, &[k]) => Ok((x, k)),
        (_, shape) => unsupported(format!(
            "its input has the item shape {shape:?}, not that of a row"
        )),
    }
}

/// A number for each target.
pub(super) fn regressor(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, k) = row(call)?;
    Post::none(call)?;
    let targets = usize::try_from(call.int("targets", 1)).unwrap_or(0);
    if targets == 0 {
        return bad("it has no targets");
    }
    let (weights, terms) = (coefficients(call, k, targets)?, intercepts(call, targets)?);
    let weights: Weights = transposed(&weights, [targets, k]).into();
    let c = &mut Composer::new(call, builder);
    let id = c.linear("scores", x, [k, targets], weights, terms.into())?;
    Ok(value(id, vec![targets]))
}

/// The label and the scores of an item.
pub(super) fn classifier(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    let (x, k) = row(call)?;
    let post = Post::of(call)?;
    let labels = Labels::of(call, "classlabels_ints", "classlabels_strings")?;
    let classes = labels.count;
    let given = floats(call, "coefficients")?.len();
    if classes > 2 || given != k {
        let weights = transposed(&coefficients(call, k, classes)?, [classes, k]);
        let terms = intercepts(call, classes)?;
        let c = &mut Composer::new(call, builder);
        let id = c.linear("scores", x, [k, classes], weights.into(), terms.into())?;
        return Ok(vec![
            label(call, builder, id, &labels)?,
            finished(call, builder, id, post)?,
        ]);
    }
    // One score: above 0 it means the second class. It has no softmax.
    let (weights, terms) = (coefficients(call, k, 1)?, intercepts(call, 1)?);
    let base = terms.first().copied().unwrap_or(0.0);
    let c = &mut Composer::new(call, builder);
    let mut two = |part: &str, second: Second| {
        let (factors, terms) = (second.factors(&weights), second.terms(base));
        c.linear(part, x, [k, 2], factors.into(), terms.into())
    };
    let sides = two("sides", Second::Mirrored)?;
    let (scores, post) = match post {
        Post::Logistic => (sides, post),
        _ => (two("scores", Second::Rest)?, Post::None),
    };
    Ok(vec![
        label(call, builder, sides, &labels)?,
        finished(call, builder, scores, post)?,
    ])
}

/// The weights of every row, row by row.
fn coefficients(call: &Call, k: usize, rows: usize) -> Result<Vec<f32>, Fault> {
    match rows.checked_mul(k) {
        Some(count) => exactly(call, "coefficients", count),
        None => counted("coefficients", 0, rows),
    }
}

/// What every row begins at; 0 where nothing is given.
fn intercepts(call: &Call, rows: usize) -> Result<Vec<f32>, Fault> {
    match floats(call, "intercepts")?[..] {
        [] => Ok(vec![]),
        _ => exactly(call, "intercepts", rows),
    }
}
