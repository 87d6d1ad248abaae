//! How good a result is.

use tacit_nn::Plan;
use tacit_nn::graph::{TailFunction, len};
use tacit_nn::reference::largest;

use crate::{Compiled, Error, Outcome};

/// The class of each item of what a run gives out: where classes were revealed the first of them, else
/// the index of the largest number; where there is one number only, whether it is on the positive side.
pub fn classes(plan: &Plan, output: &[f32]) -> Vec<i64> {
    let last = plan.tail.last().map(|tail| tail.function);
    let revealed = plan.opening.reveal.places().is_some();
    let class = |item: &[f32]| match (item, last) {
        ([class, ..], _) if revealed => *class as i64,
        ([probability], Some(TailFunction::Sigmoid)) => i64::from(*probability > 0.5),
        ([logit], _) => i64::from(*logit > 0.0),
        (item, _) => largest(item) as i64,
    };
    output
        .chunks(len(&plan.output_shape).max(1))
        .map(class)
        .collect()
}

/// The share of equal pairs.
pub fn share<T: PartialEq>(a: &[T], b: &[T]) -> f64 {
    let equal = a.iter().zip(b).filter(|(a, b)| a == b).count();
    equal as f64 / a.len().max(1) as f64
}

/// How many classes the outputs of a plan tell apart.
fn class_count(plan: &Plan) -> usize {
    match (plan.classes(), len(&plan.output_shape)) {
        (Some(classes), _) => classes,
        (None, 1) => 2,
        (None, outputs) => outputs,
    }
}

/// Refuses labels that are not one for each item, or no class of the plan.
pub(crate) fn check_labels(plan: &Plan, labels: &[i64], items: usize) -> Result<(), Error> {
    let refused = |why: String| Err(Error::setting("labels", why));
    if labels.len() != items {
        return refused(format!("there are {} for {items} items", labels.len()));
    }
    let count = class_count(plan);
    match labels
        .iter()
        .position(|label| !(0..count as i64).contains(label))
    {
        None => Ok(()),
        Some(item) => refused(format!(
            "item {item} has the class {}, and the model has {count}: 0 to {}",
            labels[item],
            count.saturating_sub(1)
        )),
    }
}

/// The share of items whose class is the label.
pub fn accuracy(plan: &Plan, output: &[f32], labels: &[i64]) -> Result<f64, Error> {
    let found = classes(plan, output);
    check_labels(plan, labels, found.len())?;
    Ok(share(&found, labels))
}

impl Compiled {
    /// Refuses labels that a prediction of so many items could not be held against.
    pub fn check_labels(&self, labels: &[i64], items: usize) -> Result<(), Error> {
        check_labels(&self.plan, labels, items)
    }

    /// The share of outputs whose class is the label.
    pub fn accuracy(&self, output: &[f32], labels: &[i64]) -> Result<f64, Error> {
        accuracy(&self.plan, output, labels)
    }

    /// Completes the report of a prediction of `x`: the accuracy, where labels are given, and how
    /// close the output is to the float32 model's, where `check` is set. Of revealed classes only the
    /// share of items is told that have the same.
    pub fn score(
        &self,
        outcome: &mut Outcome,
        x: &[f32],
        labels: Option<&[i64]>,
        check: bool,
    ) -> Result<(), Error> {
        let Some(output) = &outcome.output else {
            return Ok(());
        };
        if let Some(labels) = labels {
            outcome.report.accuracy = Some(accuracy(&self.plan, output, labels)?);
        }
        if check {
            let expected = self.reference(x)?;
            if self.plan.opening.reveal.places().is_some() {
                let item = len(&self.plan.output_shape).max(1);
                let [found, right] =
                    [output, &expected].map(|all| -> Vec<_> { all.chunks(item).collect() });
                outcome.report.agreement = Some(share(&found, &right));
                return Ok(());
            }
            let error = output
                .iter()
                .zip(&expected)
                .map(|(a, b)| f64::from((a - b).abs()));
            outcome.report.max_abs_error = Some(error.fold(0.0, f64::max));
            let same = share(
                &classes(&self.plan, output),
                &classes(&self.plan, &expected),
            );
            outcome.report.agreement = Some(same);
        }
        Ok(())
    }
}
