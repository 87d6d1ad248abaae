//! Warns of layers that an input within the declared range can lead beyond what they hold, with what
//! to do.

use super::ranges::{self, Bound, Interval};
use super::scales::Scale;
use super::told::Told;
use super::trial::{Changed, Shown};
use super::{Modulus, PlanOptions, whole};
use crate::graph::{Graph, Node, Op};

/// A warning for every layer that an input within the range could lead beyond what it holds, or beyond
/// what its function is right for. `capacity` is the largest value that a layer holds, `fraction` the
/// fraction bits of a layer's argument.
pub(super) fn doubts(
    graph: &Graph,
    options: &PlanOptions,
    bounds: &[Bound],
    scales: &[Scale],
    capacity: impl Fn(usize) -> f64,
    fraction: impl Fn(usize) -> u32,
) -> Vec<String> {
    let cure = cure(options, bounds[0].planned);
    let doubt = |(i, node): (usize, &Node)| {
        let worst = bounds[i + 1].worst;
        let told = if worst > capacity(i) {
            Some(format!(
                "holds values up to {}, but {} could lead to {}",
                Told(capacity(i)),
                unlike(options),
                Told(worst)
            ))
        } else {
            let argument = bounds[node.inputs[0]];
            let (right, worst) = missed(node, scales[i], argument, fraction(i))?;
            Some(format!(
                "is right for arguments from {} to {}, but {} could lead to {} to {}",
                Told(right.0),
                Told(right.1),
                unlike(options),
                Told(worst.0),
                Told(worst.1)
            ))
        };
        told.map(|told| {
            format!(
                "layer '{}' {told}, and its results would be wrong: {cure}",
                node.name
            )
        })
    };
    graph.nodes.iter().enumerate().filter_map(doubt).collect()
}

/// The arguments that a function is right for, and those of the worst case that go beyond them.
fn missed(node: &Node, scale: Scale, argument: Bound, f: u32) -> Option<(Interval, Interval)> {
    let Op::Function { domain, .. } = node.op else {
        let worst = argument.worst_within;
        return Some((whole::missed(&node.op, scale.whole, worst)?, worst));
    };
    let worst = ranges::arguments(argument.worst_within, domain);
    let right = scale.function?.missed(worst, f)?;
    Some((right, worst))
}

fn unlike(options: &PlanOptions) -> &'static str {
    match options.samples {
        Some(_) => "inputs unlike the samples",
        None => "inputs within the range",
    }
}

/// What a user can do about values that may exceed the plan's range.
fn cure(options: &PlanOptions, range: f64) -> String {
    let wider = match options.modulus {
        Modulus::PowerOfTwo(32) => ", or compute over the 64-bit ring",
        Modulus::Mersenne(31) => ", or compute over the 61-bit field",
        _ => "",
    };
    let samples = match options.samples {
        Some(_) => "give samples that show all that inputs can be like",
        None => "give samples",
    };
    let range = Told(range);
    format!("declare a range of inputs below {range} if theirs is, {samples}{wider}")
}

/// The warning of values that weights as they are rounded make larger than the plan provides for, of inputs at the ends of
/// their range.
pub(super) fn rounded_beyond(layer: &str) -> String {
    format!(
        "{layer}: its weights as they are rounded lead beyond what it holds, for inputs at the ends of their range, and its \
         results would be wrong: declare a smaller range of inputs, or compute over a wider ring or field"
    )
}

/// The warning of values that rounding alone makes larger than the plan provides for.
pub(super) fn led_beyond(layer: &str) -> String {
    format!(
        "{layer}: rounding alone leads beyond what it holds, and its results would be wrong: its numbers are too small for \
         so few bits; scale the model so that they are not, or compute over a wider ring or field"
    )
}

/// The warning of errors that a trial shows, most of which come from rounding at `layer`.
pub(super) fn rounding(options: &PlanOptions, shown: &Shown, layer: &str) -> String {
    let wider = match wider(options) {
        Some(wider) => wider,
        _ if shown.is_of_a_column() => {
            "let the model give columns of such different sizes at one scale, or as outputs of their own"
        }
        _ if options.fraction_bits.is_some() => {
            "leave the fraction bits to the planner, or declare a smaller range of inputs"
        }
        _ => "declare a smaller range of inputs, or scale them before the model",
    };
    let error = Told(shown.error);
    let (what, those) = match shown.is_of_a_column() {
        true => ("a column of the outputs errs", "its values"),
        false => ("the outputs err", "those"),
    };
    let spread = match shown.spread.deviation {
        Some(deviation) => format!("{those} of samples deviate by {}", Told(deviation)),
        None => format!(
            "they differ by up to {} from their mean",
            Told(shown.spread.farthest)
        ),
    };
    format!(
        "{layer}: through rounding, here most of all, {what} by up to {error} where {spread}: {wider}"
    )
}

/// What gives a plan more bits, where there is something.
fn wider(options: &PlanOptions) -> Option<&'static str> {
    match (options.precision, options.modulus) {
        (Some(_), _) => Some("ask for a precision of more bits"),
        (None, Modulus::PowerOfTwo(32)) => Some("compute over the 64-bit ring"),
        (None, Modulus::Mersenne(31)) => Some("compute over the 61-bit field"),
        _ => None,
    }
}

/// The warning of labels that a trial shows to be others.
pub(super) fn labels(options: &PlanOptions, changed: Changed) -> String {
    let logarithms =
        "let the model choose by the logarithms of its scores, or by scores of one scale";
    let cure = match wider(options) {
        Some(wider) => format!("{wider}, or {logarithms}"),
        None => logarithms.into(),
    };
    let Changed { labels, of } = changed;
    format!(
        "through rounding {labels} of {of} labels of the samples are others, for their scores differ by no more than it: \
         {cure}"
    )
}
