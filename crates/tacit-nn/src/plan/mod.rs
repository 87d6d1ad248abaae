//! The fixed-point plan of a model: what every party runs, known to all of them.
//!
//! A plan holds layers, shapes and scales but no weights. All values carry `fraction_bits` bits
//! after the point. The weights of a layer carry `weight_bits`; its product is truncated once.

mod calls;
mod end;
mod error;
mod functions;
mod key_search;
mod keys;
mod layers;
mod memory;
mod mixed;
mod mixed_calls;
mod options;
mod ranges;
mod reveal;
mod scales;
mod search;
mod truncations;
mod width;
mod wire;

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::graph::{Graph, Node, ValueId, Weights};
pub use calls::RANKING;
pub(crate) use calls::{INPUT, OUTPUT, WEIGHTS};
pub use calls::{LayerCalls, Roles};
use end::Opened;
pub use error::PlanError;
pub use functions::PlannedFunction;
use functions::argument_bits;
use keys::compare_bits;
pub use keys::{DEFAULT_KEY_BITS_LOSS, KeyBitsChoice, Keys};
pub(crate) use layers::encode;
use layers::layer_op;
pub use layers::{Layer, LayerOp, Plan};
pub(crate) use memory::FUNCTION_COPIES;
pub use memory::gigabytes;
use mixed::Assigned;
pub use mixed::{PRECISIONS, Precision, Widths};
use options::check_options;
pub use options::{DEFAULT_INPUT_RANGE, PlanOptions};
use ranges::Bound;
pub use reveal::{Opening, Reveal, Scores};
use scales::{Limits, Scale};
pub use truncations::Truncated;
pub(crate) use width::widest;
pub use width::{WIDTHS, is_field, numbers};
pub use wire::{MAX_ITEM_BYTES, WireError};

/// Whether a product is truncated after or its factors before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Multiply at full precision, then truncate the result.
    #[default]
    MultiplyThenTruncate,
    /// Drop half of the fraction bits of each factor, then multiply: a longer fraction fits the
    /// ring, but each factor keeps half of it.
    TruncateThenMultiply,
}

/// Plans `graph` in fixed point, or says which layer does not fit the ring or field.
///
/// With samples, every value may become `margin` times what the samples show. Without, the plan
/// provides for the worst case where the ring holds it at a good precision, and else for what
/// made-up inputs show, with a warning.
pub fn plan(graph: &Graph, options: &PlanOptions) -> Result<Plan, PlanError> {
    check_options(options)?;
    let opened = end::resolve(graph, options.reveal)?;
    let limits = limits(options);
    let (bounds, trials, warnings) = bounds(graph, options, &limits)?;
    if let Some(precision) = options.precision {
        let bits = precision.bits(graph, &bounds);
        return with_widths(graph, options, opened, &bounds, warnings, bits);
    }
    let f = match options.fraction_bits {
        Some(f) => f,
        None => {
            let best = search::fraction_bits(graph, &bounds, &trials, &limits)?;
            let places = opened.reveal.places().is_some();
            for_narrow_comparisons(graph, places, options.ring_bits, &bounds, best)
        }
    };
    at(graph, options, opened, &bounds, warnings, f)
}

/// The plans for several numbers of fraction bits, made from one look at the values' ranges; each
/// is refused on its own where its values would leave the ring or field.
pub fn plan_each(
    graph: &Graph,
    options: &PlanOptions,
    fraction_bits: &[u32],
) -> Result<Vec<Result<Plan, PlanError>>, PlanError> {
    for &f in fraction_bits {
        check_options(&PlanOptions {
            fraction_bits: Some(f),
            ..options.clone()
        })?;
    }
    let (bounds, _, warnings) = bounds(graph, options, &limits(options))?;
    let plan = |&f: &u32| {
        let opened = end::resolve(graph, options.reveal)?;
        at(graph, options, opened, &bounds, warnings.clone(), f)
    };
    Ok(fraction_bits.iter().map(plan).collect())
}

/// The plan at `f` fraction bits.
fn at(
    graph: &Graph,
    options: &PlanOptions,
    opened: Opened,
    bounds: &[Bound],
    mut warnings: Vec<String>,
    f: u32,
) -> Result<Plan, PlanError> {
    let limits = limits(options);
    let scales = limits.scales(graph, bounds, f)?;
    let capacity = |i: usize| limits.capacity(scales[i], f);
    warnings.extend(unsafe_layer(graph, bounds, &scales, capacity));
    let (keys, mut key_warnings) = keys::choose(graph, options, bounds, f)?;
    let layers = layers(graph, bounds, &scales, &keys, |_| f);
    let places = opened.reveal.places().is_some();
    let (opening, doubt) = opened.opening(graph, bounds, f, options.ring_bits);
    key_warnings.extend(doubt);
    Ok(Plan {
        compare_bits: compare_bits(graph, places, options.ring_bits, bounds, f),
        opening,
        warnings,
        key_warnings,
        ..frame(
            graph,
            options,
            opened,
            encode(bounds[0].planned, f),
            f,
            layers,
        )
    })
}

/// The plan in which every tensor has a width of its own.
fn with_widths(
    graph: &Graph,
    options: &PlanOptions,
    opened: Opened,
    bounds: &[Bound],
    mut warnings: Vec<String>,
    precision: u32,
) -> Result<Plan, PlanError> {
    let Assigned {
        scales,
        widths,
        input,
    } = mixed::assign(graph, bounds, precision)?;
    let capacity = |i: usize| {
        let number = widths[i].number();
        f64::from(number.bits as i32 - 2 - number.fraction as i32).exp2()
    };
    warnings.extend(unsafe_layer(graph, bounds, &scales, capacity));
    let keys = vec![Keys::ALL; graph.nodes.len()];
    let fraction = |id: ValueId| match id.checked_sub(1) {
        None => input.fraction,
        Some(layer) => widths[layer].fraction_bits,
    };
    let mut layers = layers(graph, bounds, &scales, &keys, fraction);
    for (layer, &widths) in layers.iter_mut().zip(&widths) {
        layer.widths = Some(widths);
    }
    let limit = encode(bounds[0].planned, input.fraction);
    let input_widths = Widths {
        bits: input.bits,
        fraction_bits: input.fraction,
        weights: 0,
        product: input.bits,
    };
    Ok(Plan {
        input_widths: Some(input_widths),
        warnings,
        ..frame(
            graph,
            options,
            opened,
            limit,
            fraction(graph.output),
            layers,
        )
    })
}

/// A plan without warnings, over the whole ring.
fn frame(
    graph: &Graph,
    options: &PlanOptions,
    opened: Opened,
    input_limit: i64,
    fraction_bits: u32,
    layers: Vec<Layer>,
) -> Plan {
    Plan {
        ring_bits: options.ring_bits,
        fraction_bits,
        compare_bits: options.ring_bits,
        public_model: options.public_model,
        order: options.order,
        input_widths: None,
        input_name: wire::short(&graph.input_name),
        input_shape: graph.input_shape.clone(),
        input_limit,
        layers,
        output: graph.output,
        output_name: wire::short(&graph.output_name),
        revealed_shape: opened.revealed_shape,
        opening: Opening {
            reveal: opened.reveal,
            scores: opened.scores,
            keys: Keys::ALL,
        },
        tail: opened.tail,
        output_shape: opened.output_shape,
        warnings: vec![],
        key_warnings: vec![],
    }
}

fn limits(options: &PlanOptions) -> Limits {
    Limits {
        ring_bits: options.ring_bits,
        order: options.order,
        same_scale: options.same_scale,
    }
}

/// The fraction bits that a worst-case plan must reach to be preferred.
fn good_fraction(limits: &Limits) -> u32 {
    if width::is_wide(limits.ring_bits) {
        18
    } else {
        12
    }
}

type Bounds<'a> = (Vec<Bound>, std::borrow::Cow<'a, [f32]>, Vec<String>);

/// The size of every value, the inputs that showed it, and warnings.
fn bounds<'a>(
    graph: &Graph,
    options: &PlanOptions<'a>,
    limits: &Limits,
) -> Result<Bounds<'a>, PlanError> {
    let seen = options
        .samples
        .map(|x| x.iter().fold(0.0, |m, v| f64::max(m, f64::from(v.abs()))));
    let input = options
        .input_range
        .or(seen.map(|s| s * options.margin))
        .unwrap_or(DEFAULT_INPUT_RANGE);
    let input = input.max(f64::from(f32::MIN_POSITIVE));
    if let Some(seen) = seen.filter(|&s| s > input) {
        return Err(PlanError::Option(format!(
            "the samples reach {seen}, beyond the input range {input}"
        )));
    }
    let worst = ranges::worst_case(graph, input);
    let trials = ranges::trial_inputs(graph, options.samples, input);
    let all_worst: Vec<Bound> = worst.iter().map(|&w| Bound::worst(w)).collect();
    let fraction = options.fraction_bits.unwrap_or(good_fraction(limits));
    let worst_fits = || match options.precision {
        Some(precision) => precision.is_good(graph, &all_worst),
        None => limits.scales(graph, &all_worst, fraction).is_ok(),
    };
    if options.samples.is_none() && worst_fits() {
        return Ok((all_worst, trials, vec![]));
    }
    // Made-up inputs are no substitute for real ones: leave more room.
    let margin = if options.samples.is_some() {
        options.margin
    } else {
        4.0 * options.margin
    };
    let observed = ranges::observed(graph, &trials)?;
    let mut bounds: Vec<Bound> = observed
        .iter()
        .zip(&worst)
        .map(|(&seen, &worst)| Bound::observed(seen, worst, margin))
        .collect();
    bounds[0].planned = input;
    let guess = "planned from made-up inputs, since the worst case does not fit the ring at a good precision; give samples for a plan to rely on";
    let warnings = if options.samples.is_none() {
        vec![guess.into()]
    } else {
        vec![]
    };
    Ok((bounds, trials, warnings))
}

/// A warning that names the layer whose worst case exceeds what it can hold by most.
fn unsafe_layer(
    graph: &Graph,
    bounds: &[Bound],
    scales: &[Scale],
    capacity: impl Fn(usize) -> f64,
) -> Option<String> {
    let excess = |i: usize| bounds[i + 1].worst / capacity(i);
    let misses = |i: usize| {
        let x = bounds[graph.nodes[i].inputs[0]];
        let function = scales[i].function;
        function.is_some_and(|function| function.misses(x.within, x.worst_within))
    };
    let first = (0..scales.len()).find(|&i| excess(i) > 1.0 || misses(i))?;
    if misses(first) {
        let (low, high) = bounds[graph.nodes[first].inputs[0]].within;
        return Some(format!(
            "layer '{}' takes arguments from {low:.4} to {high:.4}; inputs unlike the samples could in the worst case exceed them, which would give a wrong result without notice",
            graph.nodes[first].name,
        ));
    }
    Some(format!(
        "layer '{}' holds values up to {:.1}; inputs unlike the samples could in the worst case reach {:.1}, which would give a wrong result without notice",
        graph.nodes[first].name,
        capacity(first),
        bounds[first + 1].worst
    ))
}

/// `best`, or up to two fraction bits fewer where that lets all comparisons be narrow, which
/// halves their cost.
fn for_narrow_comparisons(
    graph: &Graph,
    places: bool,
    ring_bits: u32,
    bounds: &[Bound],
    best: u32,
) -> u32 {
    let narrow = |f: &u32| compare_bits(graph, places, ring_bits, bounds, *f) < ring_bits;
    (best.saturating_sub(2).max(2)..=best)
        .rev()
        .find(narrow)
        .unwrap_or(best)
}

/// `fraction` says the fraction bits of every value.
fn layers(
    graph: &Graph,
    bounds: &[Bound],
    scales: &[Scale],
    keys: &[Keys],
    fraction: impl Fn(ValueId) -> u32,
) -> Vec<Layer> {
    let mut names = HashSet::from([WEIGHTS, INPUT, RANKING, OUTPUT].map(String::from));
    let reused = first_holders(graph);
    let chosen = scales.iter().zip(keys).zip(&bounds[1..]);
    graph
        .nodes
        .iter()
        .zip(chosen)
        .enumerate()
        .map(|(i, (node, ((scale, keys), bound)))| Layer {
            name: unique(&mut names, &node.name),
            op: layer_op(node, scale.function, fraction(node.inputs[0])),
            weights_of: Some(reused[i]).filter(|&first| first != i),
            inputs: node.inputs.clone(),
            shape: node.shape.clone(),
            input_trunc: scale.input_trunc,
            weight_bits: scale.weight_bits,
            trunc: scale.trunc,
            keys: *keys,
            argument_bits: scale.function.map_or(0, |_| {
                argument_bits(bounds[node.inputs[0]].worst, fraction(node.inputs[0]))
            }),
            widths: None,
            range: bound.planned,
        })
        .collect()
}

/// Of every node the first that holds the same weights.
fn first_holders(graph: &Graph) -> Vec<usize> {
    let mut holders: HashMap<_, usize> = HashMap::new();
    let first = |(i, node): (usize, &Node)| {
        let [factors, terms] = node.op.weights();
        if factors.is_empty() && terms.is_empty() {
            return i;
        }
        let identity = (node.op.kind(), identity(factors), identity(terms));
        *holders.entry(identity).or_insert(i)
    };
    graph.nodes.iter().enumerate().map(first).collect()
}

/// Tells weights that are held apart from others, equal ones included.
fn identity(weights: &Weights) -> (*const f32, usize) {
    let start = if weights.is_empty() {
        std::ptr::null()
    } else {
        weights.as_ptr()
    };
    (start, weights.len())
}

/// `name`, with a number where another step of a run has the same.
fn unique(names: &mut HashSet<String>, name: &str) -> String {
    let name = wire::short(name);
    let numbered = (2..).map(|count| format!("{name} #{count}"));
    let mut free = std::iter::once(name.clone())
        .chain(numbered)
        .skip_while(|name| names.contains(name));
    let name = free.next().unwrap_or_default();
    names.insert(name.clone());
    name
}
