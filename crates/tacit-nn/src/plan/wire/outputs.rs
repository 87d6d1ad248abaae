//! Checks what a plan from another party says of its opening and of its outputs.

use std::collections::HashSet;

use tacit_protocols::signs::Signs;

use super::super::end::MOST_CLASSES;
use super::super::{Keys, Opening, Plan, Reveal, Scores};
use super::name;
use super::sizes::{Check, MAX_AXES, MAX_ELEMENTS, ensure, product, shape};
use crate::graph::{Classes, Output, Tail};

/// The most outputs that a plan may have.
const MAX_OUTPUTS: usize = 1000;

/// Checks the opening of a value of so many elements, and the outputs made of it.
pub(super) fn check(plan: &Plan, value: usize, signs: &[Signs]) -> Check {
    let outputs = &plan.outputs;
    ensure((1..=MAX_OUTPUTS).contains(&outputs.len()), || {
        format!("it has {} outputs", outputs.len())
    })?;
    let revealed = check_opening(plan, value, signs)?;
    check_parts(outputs, revealed)?;
    let mut names = HashSet::new();
    let mut all = 0;
    for output in outputs {
        name(&output.name)?;
        ensure(names.insert(&output.name), || {
            "two outputs have one name".into()
        })?;
        let n = shape(&output.shape)?;
        all += n;
        ensure(output.batch <= output.shape.len(), || {
            format!("an output has the batch as axis {}", output.batch)
        })?;
        check_tail(&output.tail, output.part_len(), n)?;
        check_classes(plan, output)?;
    }
    ensure(all <= MAX_ELEMENTS, || {
        format!("its outputs have {all} elements")
    })
}

/// Refuses parts that are not one behind the other, or of earlier outputs, up to the end of what is opened.
fn check_parts(outputs: &[Output], revealed: usize) -> Check {
    let why = || "its revealed shape does not fit".to_string();
    let (mut end, mut lens) = (0, std::collections::HashMap::new());
    for output in outputs {
        let n = shape(&output.revealed_shape)?;
        match lens.get(&output.start) {
            Some(&known) => ensure(known == n, why)?,
            None => {
                ensure(output.start == end && n <= revealed - end, why)?;
                lens.insert(end, n);
                end += n;
            }
        }
    }
    ensure(end == revealed, why)
}

/// The elements that are opened of a value of so many.
fn check_opening(plan: &Plan, value: usize, signs: &[Signs]) -> Result<usize, String> {
    let Opening {
        reveal,
        scores,
        keys,
    } = &plan.opening;
    let mut end = 0;
    for scores in scores {
        let &Scores {
            start,
            outer,
            size,
            inner,
            ..
        } = scores;
        let n = product(&[outer, size, inner])?;
        ensure(start >= end && start <= value && n <= value - start, || {
            "the axis of its classes does not fit".into()
        })?;
        end = start + n;
    }
    let Some(k) = reveal.places() else {
        ensure(*keys == Keys::ALL, || {
            format!("its opening has the key bits {keys:?}")
        })?;
        let differs = *reveal == Reveal::Probabilities || scores.is_empty();
        return ensure(differs, || "it opens differences of logits".into()).map(|()| value);
    };
    let ([scores], [output]) = (&scores[..], &plan.outputs[..]) else {
        return Err("it does not say which are classes".into());
    };
    ensure(end == value && scores.start == 0, || {
        "the axis of its classes does not fit".into()
    })?;
    let few = (2..=MOST_CLASSES).contains(&scores.size) && k <= scores.size;
    ensure(few && output.tail.is_empty(), || {
        format!("it opens {k} of {} classes", scores.size)
    })?;
    let chosen = !plan.modulus.is_prime() && plan.input_widths.is_none();
    let fit = chosen && keys.dropped == 0 && keys.hold(signs, plan.modulus.bits());
    ensure(*keys == Keys::ALL || fit, || {
        format!("its classes have the key bits {keys:?}")
    })?;
    let copies = plan.top(1).map_or(1, |top| top.copies());
    product(&[value, copies])?;
    product(&[scores.windows(), k])
}

fn check_tail(tail: &[Tail], part: usize, output: usize) -> Check {
    ensure(tail.len() <= MAX_AXES, || "its tail is too long".into())?;
    let mut n = part;
    for step in tail {
        ensure(product(&[step.outer, step.size, step.inner])? == n, || {
            "its tail does not fit".into()
        })?;
        if step.function.is_arg_max() {
            n /= step.size;
        }
    }
    ensure(n == output, || "its output shape does not fit".into())
}

/// Refuses names that are not those of the classes whose numbers the output gives.
fn check_classes(plan: &Plan, output: &Output) -> Check {
    let Some(classes) = &output.classes else {
        return Ok(());
    };
    let last = output.tail.last().filter(|step| step.function.is_arg_max());
    let count = plan.classes().or(last.map(|step| step.size));
    ensure(count == Some(classes.count()), || {
        format!("it names {} classes of {count:?}", classes.count())
    })?;
    match classes {
        Classes::Integers(_) => Ok(()),
        Classes::Strings(names) => names.iter().try_for_each(|each| name(each)),
    }
}
