//! What looks at a file learn of missing numbers.

use std::collections::{BTreeSet, HashMap};

use super::reached::exposed;
use crate::graph::{Missing, ValueId};
use crate::onnx::builder::Builder;

/// What is known of missing numbers of inputs, by their names.
#[derive(Clone, Default)]
pub(in crate::onnx) struct KnownMissing {
    /// The numbers that may be missing.
    pub inputs: HashMap<String, Missing>,
    /// The places of those that may not, because they reach an output.
    present: HashMap<String, BTreeSet<usize>>,
    /// How often this was learnt anew.
    looks: usize,
}

/// The most looks at a file for what may be missing.
const MOST_LOOKS: usize = 8;

impl KnownMissing {
    /// No number may be missing, whatever a file says.
    pub(in crate::onnx) fn none() -> Self {
        KnownMissing {
            looks: MOST_LOOKS,
            ..KnownMissing::default()
        }
    }
}

/// What the next look at the file should know of missing numbers, if it is to know something else than this one did. Before
/// the output is known, that is where nothing was known yet.
pub(in crate::onnx) fn learn_missing(
    builder: &Builder,
    known: &KnownMissing,
    output: Option<ValueId>,
) -> Option<KnownMissing> {
    let first = known.inputs.is_empty();
    if builder.items.is_some() || first && known.looks == MOST_LOOKS || first != output.is_none() {
        return None;
    }
    if known.looks == MOST_LOOKS {
        return Some(KnownMissing::none());
    }
    let mut next = KnownMissing {
        looks: known.looks + 1,
        inputs: HashMap::new(),
        ..known.clone()
    };
    let mut start = 0;
    let exposed = output.map(|output| exposed(builder, output));
    let exposed = exposed.unwrap_or_default();
    for input in &builder.inputs {
        let end = start + input.given_len() as u32;
        let own = exposed.range(start..end);
        let never = next.present.entry(input.name.clone()).or_default();
        never.extend(own.map(|place| (place - start) as usize));
        let own = builder.absent.wanted.range(start..end);
        let own = own.map(|(place, bits)| ((place - start) as usize, *bits));
        let own: Vec<_> = own.filter(|(place, _)| !never.contains(place)).collect();
        if !own.is_empty() {
            let places = own.iter().map(|&(place, _)| place).collect();
            let bits = own.iter().map(|&(_, bits)| bits).max().unwrap_or(0);
            let missing = Missing { places, bits };
            next.inputs.insert(input.name.clone(), missing);
        }
        start += input.row_len() as u32;
    }
    (next.inputs != known.inputs).then_some(next)
}
