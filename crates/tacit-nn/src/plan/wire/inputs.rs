//! Checks what a plan from another party says of its inputs.

use super::name;
use super::sizes::{Check, ensure, product, shape};
use crate::graph::{Input, InputKind, Texts};
use crate::plan::{Layer, LayerOp, Plan, PlannedInput, most_rank};

/// The most inputs that a plan may have.
const MAX_INPUTS: usize = 256;

/// Refuses inputs that no model can have. Returns the elements of one item of value 0.
pub(super) fn check(plan: &Plan) -> Result<usize, String> {
    ensure((1..=MAX_INPUTS).contains(&plan.inputs.len()), || {
        format!("it has {} inputs", plan.inputs.len())
    })?;
    let lens = plan.inputs.iter().map(|planned| check_one(plan, planned));
    let lens = lens.collect::<Result<Vec<usize>, String>>()?;
    let sum = lens.iter().try_fold(0usize, |sum, &n| sum.checked_add(n));
    let sum = sum.ok_or("its inputs are out of bounds")?;
    shape(&[sum])
}

fn check_one(plan: &Plan, planned: &PlannedInput) -> Result<usize, String> {
    let (input, room) = (&planned.input, plan.modulus.bits() - 2);
    name(&input.name)?;
    ensure(planned.limit > 0 && planned.limit >> room == 0, || {
        format!("its input limit is {}", planned.limit)
    })?;
    let tokens = matches!(input.kind, InputKind::Tokens { .. });
    ensure(
        !planned.ranked || !tokens && planned.limit <= most_rank(plan.modulus.bits()),
        || "an input of its ranks has no such numbers".into(),
    )?;
    ensure(input.batch <= input.shape.len(), || {
        format!("an input has the batch as axis {}", input.batch)
    })?;
    if let Some(texts) = &input.texts {
        check_texts(texts, input.kind)?;
    }
    let given = shape(&input.shape)?;
    check_limits(input, given)?;
    check_missing(plan, planned, given)?;
    match input.kind {
        InputKind::Tokens { classes } => product(&[given, classes]),
        InputKind::Marks { .. } => Err("an input is of marks alone".into()),
        _ => given
            .checked_add(input.marks())
            .ok_or_else(|| "its inputs are out of bounds".into()),
    }
}

/// The bits of a power of two that is no float.
const MOST_BITS: u32 = 128;

/// Refuses what may be missing where there is no such number, or where a mark does not fit the plan's numbers.
fn check_missing(plan: &Plan, planned: &PlannedInput, given: usize) -> Check {
    let Some(missing) = &planned.input.missing else {
        return Ok(());
    };
    let places = &missing.places;
    let in_order = places.windows(2).all(|pair| pair[0] < pair[1]);
    let inside = places.last().is_some_and(|&last| last < given);
    let numbers = planned.input.kind == InputKind::Numbers;
    let categories = places
        .iter()
        .any(|&place| planned.input.limits.get(place).is_some_and(|&n| n > 0));
    let number = plan.number(0);
    let fits = match planned.ranked {
        true => missing.bits < MOST_BITS,
        false => {
            missing
                .bits
                .saturating_add(number.fraction)
                .saturating_add(1)
                < number.bits
        }
    };
    ensure(numbers && in_order && inside && !categories && fits, || {
        "what may be missing of an input does not fit its numbers".into()
    })
}

/// The most categories that a number of a plan's input may have.
const MAX_CATEGORIES: usize = 1 << 20;

/// Refuses limits that are not one for each number, or of more rows than there are.
fn check_limits(input: &Input, given: usize) -> Check {
    let (limits, kind) = (&input.limits, input.kind);
    let fits = |&limit: &usize| match kind {
        InputKind::Tokens { classes } => (1..=classes).contains(&limit),
        InputKind::Numbers => limit <= MAX_CATEGORIES,
        _ => false,
    };
    let whole = limits.is_empty() || limits.len() == given;
    ensure(whole && limits.iter().all(fits), || {
        "the limits of an input do not fit its numbers".into()
    })
}

/// Refuses texts that are not in order, or not as many as their input's numbers.
fn check_texts(texts: &Texts, kind: InputKind) -> Check {
    texts.known.iter().try_for_each(|text| name(text))?;
    let in_order = texts.known.windows(2).all(|pair| pair[0] < pair[1]);
    let classes = texts.classes();
    ensure(in_order && kind == InputKind::Tokens { classes }, || {
        "the texts of an input do not fit its numbers".into()
    })
}

/// Whether a lookup reads tokens of one input, each of all its classes.
pub(super) fn check_lookup(plan: &Plan, layer: &Layer) -> Check {
    let LayerOp::Lookup {
        start, tokens, k, ..
    } = layer.op
    else {
        return Ok(());
    };
    let mut before = 0;
    let mut fits = false;
    for planned in &plan.inputs {
        let end = before + planned.input.shared_len();
        fits |= planned.input.kind == (InputKind::Tokens { classes: k })
            && start >= before
            && (start - before).is_multiple_of(k)
            && start + tokens * k <= end;
        before = end;
    }
    ensure(fits && layer.inputs == [0], || {
        "it reads no tokens of an input".into()
    })
}
