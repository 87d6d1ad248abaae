//! Counts what each call consumes, before any data arrives, and groups it into batches.

use super::{Comparison, Options, Security};
use crate::cost::not_native;
use crate::machine::Call;
use crate::{batches, pool};

/// Material for one step of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// Signs of `n` elements.
    Sign(usize),
    /// Selections of `n` elements.
    Select(usize),
    /// Truncations of `n` elements by so many bits.
    Truncate(usize, u32),
}

impl Want {
    pub fn len(self) -> usize {
        match self {
            Want::Sign(n) | Want::Select(n) | Want::Truncate(n, _) => n,
        }
    }
}

/// The wants of one call, in the order in which it draws them.
pub(super) fn wants_of(call: &Call, options: &Options) -> Vec<Want> {
    match *call {
        Call::Drelu { .. } | Call::Relu { .. } | Call::Select { .. } | Call::Maxpool { .. }
            if options.comparison == Comparison::Adder =>
        {
            vec![]
        }
        Call::Input { .. } | Call::Reveal { .. } | Call::Reusable { .. } => vec![],
        Call::Verify { .. } => vec![],
        Call::Product { .. } | Call::Truncate { .. } if !options.masks() => vec![],
        Call::Product { trunc: 0, .. } | Call::Truncate { trunc: 0, .. } => vec![],
        Call::Product { map, trunc, .. } => vec![Want::Truncate(map.outputs(), trunc)],
        Call::Truncate { n, trunc, .. } => vec![Want::Truncate(n, trunc)],
        Call::Drelu { n, .. } => vec![Want::Sign(n)],
        Call::Relu { n, .. } => vec![Want::Sign(n), Want::Select(n)],
        Call::Select { n, .. } => vec![Want::Select(n)],
        Call::Maxpool { windows, size, .. } => pool::levels(size)
            .flat_map(|(pairs, _)| [Want::Sign(pairs * windows), Want::Select(pairs * windows)])
            .collect(),
        Call::Function { .. } => not_native(call),
    }
}

/// The most elements in a batch, unless one step alone has more. What malicious security has yet
/// to verify takes more memory than the material.
const fn batch(security: Security) -> usize {
    match security {
        Security::SemiHonest => 1 << 19,
        Security::Malicious => 1 << 15,
    }
}

/// The wants of `calls` in batches.
pub(super) fn batches(calls: &[Call], options: &Options) -> Vec<Vec<Want>> {
    let wants = calls.iter().flat_map(|call| wants_of(call, options));
    batches::group(wants, |want| want.len(), batch(options.security))
}
