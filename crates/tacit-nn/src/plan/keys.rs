//! Chooses the bits that signs are taken from: no more than a protocol must look at.

use serde::{Deserialize, Serialize};
use tacit_protocols::machine::KeyBits;

use super::ranges::Bound;
use super::{PlanError, PlanOptions, functions, is_field, key_search, numbers};
use crate::graph::{Graph, Node, Op};

/// How the key bits of the layers that take signs are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum KeyBitsChoice {
    /// All bits that the worst case needs; those of the planned range where the ring has no room
    /// for more.
    #[default]
    Full,
    /// So many bits before and after the point, for every layer.
    Fixed {
        /// Bits before the point: signs are right below two to their power.
        integer: u32,
        /// Bits after the point that are looked at.
        fraction: u32,
    },
    /// For each layer the fewest of which the samples' classes suffer little.
    Auto {
        /// The share of the samples whose class may change.
        loss: f64,
    },
}

/// The share of the samples whose class may change unless another is given.
pub const DEFAULT_KEY_BITS_LOSS: f64 = 0.005;

/// The bits of a value that its sign is taken from: a [`KeyBits`] on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    /// Low bits that are not looked at.
    pub dropped: u32,
    /// The bits above them.
    pub kept: u32,
}

impl From<Keys> for KeyBits {
    fn from(Keys { dropped, kept }: Keys) -> KeyBits {
        KeyBits { dropped, kept }
    }
}

impl Keys {
    /// All bits.
    pub(crate) const ALL: Keys = Keys {
        dropped: KeyBits::ALL.dropped,
        kept: KeyBits::ALL.kept,
    };

    /// So many bits before and after the point of values with `f` fraction bits.
    pub fn fixed(integer: u32, fraction: u32, f: u32, ring_bits: u32) -> Result<Keys, PlanError> {
        let refused = |why: String| {
            let what = format!("key bits {integer}.{fraction}");
            Err(PlanError::Option(format!("{what}: {why}")))
        };
        if fraction > f {
            return refused(format!(
                "values have {f} fraction bits; keep at most as many, or ask for more of them"
            ));
        }
        let keys = Keys {
            dropped: f - fraction,
            kept: integer.saturating_add(fraction),
        };
        if keys.kept == 0 {
            return refused("no bit is left to take a sign from; keep at least 1".into());
        }
        if !keys.fit(ring_bits) {
            return refused(format!(
                "the {} has no room for them beside {f} fraction bits; twice the bits before the \
                 point and once those after it may add up to {}",
                numbers(ring_bits),
                (ring_bits - 2).saturating_sub(f)
            ));
        }
        Ok(keys)
    }

    /// Whether a sign can be taken from them (Bicoptor 2.0, section 5).
    pub(super) fn fit(self, ring_bits: u32) -> bool {
        let needed = u64::from(self.dropped) + 2 * u64::from(self.kept) + 2;
        self.kept > 0 && needed <= u64::from(ring_bits)
    }

    /// At `f` fraction bits, the values that are taken for 0 when they are negative.
    pub(super) fn unit(self, f: u32) -> f64 {
        (f64::from(self.dropped) - f64::from(f)).exp2()
    }

    /// At `f` fraction bits, the magnitude below which signs are right.
    pub(super) fn limit(self, f: u32) -> f64 {
        self.unit(f) * f64::from(self.kept).exp2()
    }

    /// The bits before and after the point that are looked at, as `5.2`; `None` for all bits.
    pub fn text(self, f: u32) -> Option<String> {
        let before = i64::from(self.dropped) + i64::from(self.kept) - i64::from(f);
        let after = i64::from(f) - i64::from(self.dropped);
        (self != Keys::ALL).then(|| format!("{before}.{after}"))
    }
}

/// The largest magnitude of which a node takes the sign, given that of its input: differences
/// within a window are up to twice as large. `None` for a node that takes none.
pub(super) fn compared(node: &Node, input: f64) -> Option<f64> {
    match &node.op {
        Op::Relu => Some(input),
        Op::MaxPool(pool) if pool.window() > 1 => Some(2.0 * input),
        Op::Clip { low, high } => {
            let far = low.unwrap_or(0.0).abs().max(high.unwrap_or(0.0).abs());
            Some(input + f64::from(far))
        }
        _ => None,
    }
}

/// Bits of a magnitude with `f` fraction bits, with a little room for rounding on the way.
pub(super) fn bits(value: f64, f: u32) -> u32 {
    let encoded = 1.01 * value * f64::from(f).exp2();
    (encoded.max(1.0).log2().floor() as u32).saturating_add(1)
}

/// The narrowest width that holds every compared value in the worst case, so that a narrow
/// comparison is never a guess. In a field there are no narrow comparisons, since its low bits are
/// no smaller field. `places` says whether the largest elements of the output are found.
pub(super) fn compare_bits(
    graph: &Graph,
    places: bool,
    ring_bits: u32,
    bounds: &[Bound],
    f: u32,
) -> u32 {
    let worst = |node: &Node| {
        let input = bounds[node.inputs[0]].worst;
        match &node.op {
            Op::Function { .. } => Some(functions::compared(input)),
            _ => compared(node, input),
        }
    };
    let output = places.then_some(2.0 * bounds[graph.output].worst);
    let all = graph.nodes.iter().filter_map(worst).chain(output);
    let largest = all.fold(0.0, f64::max);
    match bits(largest, f) < 32 && !is_field(ring_bits) {
        true => 32,
        false => ring_bits,
    }
}

/// The key bits of every layer, and warnings.
pub(super) type Chosen = (Vec<Keys>, Vec<String>);

/// The key bits of every layer; all bits for those that take no sign, and over fields.
pub(super) fn choose(
    graph: &Graph,
    options: &PlanOptions,
    bounds: &[Bound],
    f: u32,
) -> Result<Chosen, PlanError> {
    let ring_bits = options.ring_bits;
    if is_field(ring_bits) {
        return Ok((vec![Keys::ALL; graph.nodes.len()], vec![]));
    }
    match (options.key_bits, options.samples) {
        (KeyBitsChoice::Full, _) => Ok(full(graph, bounds, f, ring_bits)),
        (KeyBitsChoice::Fixed { integer, fraction }, _) => {
            let keys = Keys::fixed(integer, fraction, f, ring_bits)?;
            Ok(fixed(graph, bounds, f, keys))
        }
        (KeyBitsChoice::Auto { loss }, Some(samples)) => {
            key_search::search(graph, samples, loss, f, ring_bits)
        }
        (KeyBitsChoice::Auto { .. }, None) => Err(PlanError::Option(
            "key bits 'auto' are found by trying them on samples; give samples, or the bits".into(),
        )),
    }
}

fn full(graph: &Graph, bounds: &[Bound], f: u32, ring_bits: u32) -> Chosen {
    let keys: Vec<Keys> = by_compared(graph, bounds, |compared| widest(compared, f, ring_bits));
    let unsure = |(node, keys): (&Node, &Keys)| {
        let worst = compared_bound(node, bounds)?.worst;
        let mut doubts = Vec::new();
        if exact(worst, f).kept > keys.dropped + keys.kept {
            doubts.push(format!(
                "its signs are right only below {:.1}, but in the worst case it compares values up \
                 to {worst:.1}, which would give a wrong result without notice",
                keys.limit(f)
            ));
        }
        if keys.dropped > 0 {
            let unit = keys.unit(f);
            doubts.push(format!(
                "negative values above -{unit:.2e} may be taken for positive"
            ));
        }
        let doubts = doubts.join("; ");
        (!doubts.is_empty()).then(|| format!("layer '{}': {doubts}", node.name))
    };
    let warning = graph.nodes.iter().zip(&keys).find_map(unsure);
    (keys, warning.into_iter().collect())
}

/// The key bits of differences of two elements of the output, and a doubt about them: those that the
/// worst case needs, or the planned range, but never without a low bit, since a place must be that of
/// the largest element whatever the others are. All bits where there is no room for them, which a
/// protocol that takes signs of so many may use. Planned values are below a quarter of the ring, so
/// that their differences have a sign in it.
pub(super) fn of_places(
    layer: &str,
    output: Bound,
    f: u32,
    ring_bits: u32,
) -> (Keys, Option<String>) {
    let [worst, planned] = [output.worst, output.planned].map(|value| exact(2.0 * value, f));
    if is_field(ring_bits) {
        return (Keys::ALL, None);
    }
    if worst.fit(ring_bits) {
        return (worst, None);
    }
    if !planned.fit(ring_bits) {
        return (Keys::ALL, None);
    }
    let doubt = format!(
        "{layer}: the largest of its outputs is right only where they differ by less than {:.1}, but in \
         the worst case they differ by {:.1}, which would give a wrong class without notice",
        planned.limit(f),
        2.0 * output.worst
    );
    (planned, Some(doubt))
}

fn fixed(graph: &Graph, bounds: &[Bound], f: u32, keys: Keys) -> Chosen {
    let limit = keys.limit(f);
    let beyond = |node: &Node| {
        let planned = compared_bound(node, bounds)?.planned;
        (planned > limit).then(|| {
            format!(
                "layer '{}' is planned to take signs of values up to {planned:.1}, which are right \
                 only below {limit}: keep more bits before the point",
                node.name
            )
        })
    };
    let warning = graph.nodes.iter().find_map(beyond);
    let all = by_compared(graph, bounds, |_| keys);
    (all, warning.into_iter().collect())
}

/// What `choice` says for the nodes that take signs; all bits for the others.
fn by_compared(graph: &Graph, bounds: &[Bound], choice: impl Fn(Compared) -> Keys) -> Vec<Keys> {
    let keys = |node: &Node| {
        let compared = compared_bound(node, bounds);
        compared.map_or(Keys::ALL, &choice)
    };
    graph.nodes.iter().map(keys).collect()
}

/// The size of the values of which a node takes the signs.
struct Compared {
    planned: f64,
    worst: f64,
}

fn compared_bound(node: &Node, bounds: &[Bound]) -> Option<Compared> {
    let input = bounds[node.inputs[0]];
    Some(Compared {
        planned: compared(node, input.planned)?,
        worst: compared(node, input.worst)?,
    })
}

/// Bits that tell the sign of every such value.
fn exact(value: f64, f: u32) -> Keys {
    Keys {
        dropped: 0,
        kept: bits(value, f),
    }
}

/// The bits that the worst case needs; where they do not fit those of the planned range, without
/// as many low ones as must be.
fn widest(compared: Compared, f: u32, ring_bits: u32) -> Keys {
    let planned = exact(compared.planned, f);
    let fitting = [exact(compared.worst, f), planned];
    let dropping = || {
        let kept = (ring_bits - 2).saturating_sub(planned.kept).max(1);
        Keys {
            dropped: ring_bits - 2 - 2 * kept,
            kept,
        }
    };
    let fitting = fitting.into_iter().find(|keys| keys.fit(ring_bits));
    fitting.unwrap_or_else(dropping)
}
