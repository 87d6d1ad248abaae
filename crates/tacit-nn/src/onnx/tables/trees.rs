//! Ensembles of decision trees.
//!
//! Every branch of every tree is compared at once, whatever the rows take: thresholds and leaves are
//! weights, while the feature of a branch and where it leads are public. From the roots down each level
//! is one product: what reaches a branch times its bit reaches one child, and the rest the other, so that
//! of the leaves of a tree exactly one is 1. These select the leaves' weights in one matrix product.

mod features;
mod forest;
mod lists;
mod lower;
mod modes;
mod nodes;

use super::attributes::weights;
use super::linear::row;
use super::scores::{Labels, Post, Second, finished, label};
use crate::graph::ValueId;
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, Value, bad, unsupported};
use crate::onnx::compose::{Composer, value};
use forest::{Aggregate, Forest};
use lower::{aggregated, reached, selected};

/// A number for each target.
pub(super) fn regressor(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, features) = row(call)?;
    Post::none(call)?;
    let targets = match usize::try_from(call.int("n_targets", 1)) {
        Ok(targets @ 1..) => targets,
        _ => return bad("it has no targets"),
    };
    let forest = match call.node.op_type.as_str() {
        "TreeEnsemble" => lists::read(call, targets)?,
        _ => nodes::read(call, "target", targets)?,
    };
    let aggregate = Aggregate::of(call)?;
    let base = weights(call, "base_values")?;
    if ![0, targets].contains(&base.len()) {
        return bad(format!(
            "its 'base_values' has {} numbers for {targets} targets",
            base.len()
        ));
    }
    let forest = forest.checked(features)?;
    let c = &mut Composer::new(call, builder);
    let reached = reached(c, x, &forest)?;
    let id = aggregated(c, &reached, &forest, aggregate, &base)?;
    Ok(value(id, vec![targets]))
}

/// The label and the scores of an item.
pub(super) fn classifier(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    let (x, features) = row(call)?;
    let post = Post::of(call)?;
    let labels = Labels::of(call, "classlabels_int64s", "classlabels_strings")?;
    let classes = labels.count;
    let forest = nodes::read(call, "class", classes)?.checked(features)?;
    let base = weights(call, "base_values")?;
    if classes == 2
        && let Some(only) = forest.only_target()
    {
        return two_classes(call, builder, (x, &labels), &forest, &base, only, post);
    }
    if classes == 2 && !base.is_empty() {
        return unsupported(
            "it has base values beside weights of two classes, which onnxruntime adds to one of both",
        );
    }
    if ![0, classes].contains(&base.len()) {
        return bad(format!(
            "its 'base_values' has {} numbers for {classes} classes",
            base.len()
        ));
    }
    if base.is_empty() {
        forest.check_labels()?;
    }
    let c = &mut Composer::new(call, builder);
    let reached = reached(c, x, &forest)?;
    let scores = aggregated(c, &reached, &forest, Aggregate::Sum, &base)?;
    Ok(vec![
        label(call, builder, scores, &labels)?,
        finished(call, builder, scores, post)?,
    ])
}

/// The label and the scores of two classes of which leaves name `only` one, as onnxruntime has them: weights
/// of 0 and more are probabilities of the second class, others are scores around 0.
fn two_classes(
    call: &Call,
    builder: &mut Builder,
    (x, labels): (ValueId, &Labels),
    forest: &Forest,
    base: &[f32],
    only: usize,
    post: Post,
) -> Result<Vec<Value>, Fault> {
    let base = match (base, only) {
        ([], _) => 0.0,
        (&[base], 0) => base,
        _ => {
            return unsupported(format!(
                "it has {} base values beside weights of class {only} alone, which onnxruntime does not add",
                base.len()
            ));
        }
    };
    let base = base + forest.always();
    let told = match forest.is_positive() {
        true => Second::Rest,
        false => Second::Mirrored,
    };
    let (shown, post) = match (only, post) {
        (0, Post::Logistic) => (Second::Mirrored, post),
        (0, _) => (told, Post::None),
        _ => (Second::Zero, post),
    };
    let c = &mut Composer::new(call, builder);
    let reached = reached(c, x, forest)?;
    let mut columns = |part: &str, second: Second| {
        let (weights, terms) = forest.of_two(second, base);
        selected(c, part, &reached, [&weights, &terms])
    };
    let sides = columns("sides", told)?;
    let scores = match shown == told {
        true => sides,
        false => columns("scores", shown)?,
    };
    Ok(vec![
        label(call, builder, sides, labels)?,
        finished(call, builder, scores, post)?,
    ])
}
