//! The fixed-point plan of a model: what every party runs, known to all of them.
//!
//! A plan holds layers, shapes and scales but no weights. All values carry `fraction_bits` bits
//! after the point. The weights of a layer carry `weight_bits`; its product is truncated once.

mod answers;
mod bounds;
mod calls;
mod choice;
mod chosen;
mod clip;
mod construction;
mod doubts;
mod encoded;
mod end;
mod error;
mod functions;
#[cfg(test)]
pub(crate) mod graphs;
mod inputs;
mod inverses;
mod key_search;
mod keys;
mod layers;
mod memory;
mod mixed;
mod modulus;
mod node;
mod options;
mod places;
mod ranges;
mod ranks;
mod reveal;
mod rounded;
mod rounding;
mod row;
mod scales;
mod spread;
mod told;
mod trial;
mod truncations;
mod units;
mod variance;
mod whole;
mod wire;
mod worst;

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::graph::{Graph, Node, ValueId, Weights};
pub use calls::RANKING;
pub use calls::Roles;
pub(crate) use calls::{INPUT, OUTPUT, WEIGHTS};
use choice::{AtFraction, Choice};
use end::Opened;
pub use error::PlanError;
use functions::argument_bits;
pub use functions::{Functions, PlannedFunction};
pub use inputs::PlannedInput;
use keys::compare_bits;
pub use keys::{DEFAULT_KEY_BITS_LOSS, KeyBitsChoice, Keys};
pub use layers::{Layer, LayerOp, Plan};
pub(crate) use layers::{encode, scaled};
pub(crate) use memory::FUNCTION_COPIES;
pub use memory::gigabytes;
pub use mixed::{PRECISIONS, Precision, Widths};
pub use modulus::{MODULI, Modulus};
use node::layer_op;
use options::check_options;
pub use options::{DEFAULT_INPUT_RANGE, PlanOptions};
pub use places::Places;
use ranges::Bound;
pub(crate) use ranges::Random;
pub(crate) use ranks::{Ranks, most_rank, rank, ranks_dropped};
pub use reveal::{Opening, Reveal, Scores};
use scales::{Limits, Scale, Scaled};
pub(crate) use trial::{TRIAL_WORK, affordable};
pub use truncations::Truncated;
pub(crate) use wire::MAX_LAYERS;
pub use wire::{MAX_ITEM_BYTES, WireError};
pub(crate) use worst::worst_case;

/// Whether a product is truncated after or its factors before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Multiply at full precision, then truncate the result.
    #[default]
    MultiplyThenTruncate,
    /// Drop half of the fraction bits of each factor, then multiply: a longer fraction fits the
    /// ring, but each factor keeps half of it.
    TruncateThenMultiply,
}

impl Order {
    /// The name of the order, as options and messages say it.
    pub fn name(self) -> &'static str {
        match self {
            Order::MultiplyThenTruncate => "multiply-then-truncate",
            Order::TruncateThenMultiply => "truncate-then-multiply",
        }
    }
}

/// Plans `graph` in fixed point, or says which layer does not fit the ring or field.
///
/// A plan provides for every input within the declared range where the ring holds the worst case at a
/// good precision; else for `margin` times what the samples show, or for what made-up inputs do, with a
/// warning for every layer that another input could lead beyond it.
pub fn plan(graph: &Graph, options: &PlanOptions) -> Result<Plan, PlanError> {
    check_options(options)?;
    let opened = end::resolve(graph, options.reveal)?;
    let choice = Choice::new(graph, options)?;
    match options.precision {
        Some(Precision::Auto) => with_widths_or_one(&choice, &opened),
        Some(precision) => Ok(with_widths(&choice, &opened, precision)?.0),
        None => Ok(at(&choice, &opened, options.fraction_bits)?.0),
    }
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
    let choice = Choice::new(graph, options)?;
    let plan = |&f: &u32| {
        let opened = end::resolve(graph, options.reveal)?;
        Ok(at(&choice, &opened, Some(f))?.0)
    };
    Ok(fraction_bits.iter().map(plan).collect())
}

/// A plan, and the share of the outputs' deviation that rounding costs, where a user must hear of it.
type Made = (Plan, Option<f64>);

/// How many times less than widths of their own one width for all must err to be worth its bytes.
const NEARER: f64 = 4.0;

/// The plan in which every tensor has a width of its own; where none of these fits or is near enough, that of
/// one width for all, if it is far nearer. A column of times in seconds beside one of shares needs all of 64 bits.
///
/// Inputs that are only compared have one width, too: as ranks they are compared exactly, where few bits would take
/// what lies next to a threshold for the threshold.
fn with_widths_or_one(choice: &Choice, opened: &Opened) -> Result<Plan, PlanError> {
    // Its trial rounds as numbers of one width are rounded.
    let one = PlanOptions {
        precision: None,
        ..choice.options.clone()
    };
    let of_one = || Choice::new(choice.graph, &one).and_then(|choice| at(&choice, opened, None));
    if Ranks::planned(choice.graph, &one).is_some()
        && let Ok((plan, _)) = of_one()
    {
        return Ok(plan);
    }
    let own = with_widths(choice, opened, Precision::Auto);
    let rough = match own {
        Ok((plan, None)) => return Ok(plan),
        Ok((_, Some(share))) => share,
        Err(_) => f64::INFINITY,
    };
    match of_one() {
        Ok((plan, share)) if NEARER * share.unwrap_or(0.0) < rough => Ok(plan),
        _ => Ok(own?.0),
    }
}

/// The plan at `f` fraction bits, or at the best.
fn at(choice: &Choice, opened: &Opened, f: Option<u32>) -> Result<Made, PlanError> {
    let (graph, options) = (choice.graph, choice.options);
    let limits = Limits {
        modulus: options.modulus,
        order: options.order,
        functions: options.functions,
        same_scale: options.same_scale,
    };
    let places = opened.reveal.places().is_some();
    let comparing = |bounds: &[Bound], made: &AtFraction| {
        compare_bits(graph, places, options, bounds, |id| made.fraction(id))
    };
    let narrow =
        |bounds: &[Bound], made: &AtFraction| comparing(bounds, made) < options.modulus.bits();
    let chosen = choice.fraction_bits(&limits, f, narrow)?;
    let (made, bounds) = (&chosen.made, &chosen.bounds[..]);
    let (f, scales) = (made.f, &made.scales);
    let (mut keys, key_warnings) = keys::choose(graph, options, bounds, f, |id| made.fraction(id))?;
    keys::tell_widths(&mut keys, graph, options, bounds, |id| made.fraction(id));
    let layers = layers(graph, bounds, scales, &keys, |id| made.fraction(id));
    let opening = opened.opening(graph, bounds, f, options);
    let plan = Plan {
        compare_bits: comparing(bounds, made),
        opening,
        warnings: chosen.warnings,
        key_warnings,
        error: chosen.error,
        answers_errors: answers::errors(opened, &chosen.shown),
        ..frame(
            graph,
            options,
            opened,
            inputs::planned(choice, f),
            f,
            layers,
        )
    };
    Ok((plan, chosen.rough))
}

/// The plan in which every tensor has a width of its own.
fn with_widths(choice: &Choice, opened: &Opened, precision: Precision) -> Result<Made, PlanError> {
    let (graph, options) = (choice.graph, choice.options);
    let chosen = choice.widths(precision)?;
    let (assigned, bounds) = (&chosen.made, &chosen.bounds[..]);
    let keys = vec![Keys::ALL; graph.nodes.len()];
    let fraction = |id: ValueId| assigned.fraction(id);
    let mut layers = layers(graph, bounds, &assigned.scales, &keys, fraction);
    for (layer, &widths) in layers.iter_mut().zip(&assigned.widths) {
        layer.widths = Some(widths);
    }
    let input = assigned.input;
    let input_widths = Widths {
        bits: input.bits,
        fraction_bits: input.fraction,
        weights: 0,
        product: input.bits,
    };
    let plan = Plan {
        input_widths: Some(input_widths),
        warnings: chosen.warnings,
        error: chosen.error,
        answers_errors: answers::errors(opened, &chosen.shown),
        ..frame(
            graph,
            options,
            opened,
            inputs::planned(choice, input.fraction),
            fraction(graph.output),
            layers,
        )
    };
    Ok((plan, chosen.rough))
}

/// A plan without warnings, over the whole ring.
fn frame(
    graph: &Graph,
    options: &PlanOptions,
    opened: &Opened,
    inputs: Vec<PlannedInput>,
    fraction_bits: u32,
    layers: Vec<Layer>,
) -> Plan {
    Plan {
        modulus: options.modulus,
        fraction_bits,
        compare_bits: options.modulus.bits(),
        public_model: options.public_model,
        order: options.order,
        functions: options.functions,
        input_widths: None,
        inputs,
        layers,
        output: graph.output,
        opening: Opening {
            reveal: opened.reveal,
            scores: opened.scores.clone(),
            keys: Keys::ALL,
        },
        outputs: opened.outputs.clone(),
        warnings: vec![],
        key_warnings: vec![],
        error: 0.0,
        answers_errors: vec![],
    }
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
        .map(|(i, (node, ((scale, keys), bound)))| {
            let op = layer_op(graph, node, scale, fraction(node.inputs[0]));
            Layer {
                name: unique(&mut names, &node.name),
                weights_of: Some(reused[i]).filter(|&first| first != i),
                inputs: node.inputs.clone(),
                shape: node.shape.clone(),
                input_trunc: scale.input_trunc,
                weight_bits: scale.weight_bits,
                trunc: scale.trunc,
                keys: if op.takes_signs() { *keys } else { Keys::ALL },
                own_fraction: scale.fraction,
                argument_bits: scale.function.map_or(0, |_| {
                    argument_bits(bounds[node.inputs[0]].worst, fraction(node.inputs[0]))
                }),
                widths: None,
                range: bound.planned,
                op,
            }
        })
        .collect()
}

/// The first node that holds the same weights, for every node.
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
