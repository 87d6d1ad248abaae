//! Judges how good a result is.

use tacit_nn::Plan;
use tacit_nn::graph::{TailFunction, len};
use tacit_nn::reference::largest;

use crate::{Compiled, Error, Outcome};

/// The class of each item of what a run gives out: where classes were revealed the first of them, else
/// the index of the largest number; where there is one number only, whether it is on the positive side.
/// Of several outputs they are those of the only one that ends in classes.
pub fn classes(plan: &Plan, outputs: &[f32]) -> Result<Vec<i64>, Error> {
    Ok(classes_of(plan, classifier(plan)?, outputs))
}

/// The output whose classes are the model's.
fn classifier(plan: &Plan) -> Result<usize, Error> {
    let places: Vec<usize> = (0..plan.outputs.len())
        .filter(|&i| plan.outputs[i].is_places())
        .collect();
    match (plan.outputs.len(), places.as_slice()) {
        (1, _) => Ok(0),
        (_, &[one]) => Ok(one),
        (n, _) => {
            let why =
                format!("which of the {n} outputs they are of is not known; compute that one");
            Err(Error::setting("labels", why))
        }
    }
}

/// The class of each item of an output.
fn classes_of(plan: &Plan, output: usize, outputs: &[f32]) -> Vec<i64> {
    let of = &plan.outputs[output];
    let last = of.tail.last().map(|tail| tail.function);
    let places = plan.opening.reveal.places().is_some() || of.is_places();
    let class = |item: &[f32]| match (item, last) {
        ([class, ..], _) if places => *class as i64,
        ([probability], Some(TailFunction::Sigmoid)) => i64::from(*probability > 0.5),
        ([logit], _) => i64::from(*logit > 0.0),
        (item, _) => largest(item) as i64,
    };
    let before: usize = plan.outputs[..output].iter().map(|o| len(&o.shape)).sum();
    let rows = outputs.chunks_exact(plan.outputs_len().max(1));
    rows.map(|row| class(&row[before..before + len(&of.shape)]))
        .collect()
}

/// The share of equal pairs.
pub fn share<T: PartialEq>(a: &[T], b: &[T]) -> f64 {
    let equal = a.iter().zip(b).filter(|(a, b)| a == b).count();
    equal as f64 / a.len().max(1) as f64
}

/// How many classes an output of a plan tells apart.
fn class_count(plan: &Plan, output: usize) -> usize {
    let output = &plan.outputs[output];
    let last = output.tail.last().filter(|_| output.is_places());
    match (
        plan.classes().or(last.map(|step| step.size)),
        len(&output.shape),
    ) {
        (Some(classes), _) => classes,
        (None, 1) => 2,
        (None, outputs) => outputs,
    }
}

/// Refuses labels that are not one for each item, or no class of the plan.
pub(crate) fn check_labels(plan: &Plan, labels: &[i64], items: usize) -> Result<(), Error> {
    if labels.len() != items {
        let why = format!("there are {} for {items} items", labels.len());
        return Err(Error::Labels { item: None, why });
    }
    let count = class_count(plan, classifier(plan)?);
    match labels
        .iter()
        .position(|label| !(0..count as i64).contains(label))
    {
        None => Ok(()),
        Some(item) => Err(Error::Labels {
            item: Some(item),
            why: format!(
                "item {item} has the class {}, and the model has {count}: 0 to {}",
                labels[item],
                count.saturating_sub(1)
            ),
        }),
    }
}

/// The share of items whose class is the label.
pub fn accuracy(plan: &Plan, output: &[f32], labels: &[i64]) -> Result<f64, Error> {
    let found = classes(plan, output)?;
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
                let item = self.plan.outputs_len().max(1);
                let [found, right] =
                    [output, &expected].map(|all| -> Vec<_> { all.chunks(item).collect() });
                outcome.report.agreement = Some(share(&found, &right));
                return Ok(());
            }
            outcome.report.max_abs_error = Some(error(&self.plan, output, &expected));
            outcome.report.agreement = Some(agreement(&self.plan, output, &expected));
        }
        Ok(())
    }
}

/// The largest difference of two results, but for places of the largest.
fn error(plan: &Plan, found: &[f32], right: &[f32]) -> f64 {
    let counts = plan.outputs.iter();
    let counts = counts.flat_map(|o| vec![!o.is_places(); len(&o.shape)]);
    let pairs = found
        .iter()
        .zip(right)
        .zip(counts.collect::<Vec<_>>().into_iter().cycle());
    let errors = pairs.map(|((a, b), counts)| f64::from((a - b).abs()) * f64::from(counts));
    errors.fold(0.0, f64::max)
}

/// The share of items that have the same class in both results, in every output.
fn agreement(plan: &Plan, found: &[f32], right: &[f32]) -> f64 {
    let classes = |values: &[f32]| -> Vec<Vec<i64>> {
        let each = (0..plan.outputs.len()).map(|output| classes_of(plan, output, values));
        let each: Vec<Vec<i64>> = each.collect();
        let items = each.first().map_or(0, Vec::len);
        (0..items)
            .map(|item| each.iter().map(|of| of[item]).collect())
            .collect()
    };
    share(&classes(found), &classes(right))
}
