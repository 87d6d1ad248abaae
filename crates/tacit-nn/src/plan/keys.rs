//! Chooses the bits that signs are taken from: no more than a protocol must look at.

use serde::{Deserialize, Serialize};
use tacit_protocols::machine::KeyBits;
use tacit_protocols::signs::{Signs, narrowest, room};

use super::ranges::Bound;
use super::told::Told;
use super::{Modulus, PlanError, PlanOptions, clip, functions, key_search, whole as numbers_of};
use crate::graph::{Graph, Node, Op, ValueId};

/// How the key bits of the layers that take signs are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum KeyBitsChoice {
    /// Signs are taken from all bits that the worst case needs; where the ring has no room to look at these alone, exact
    /// signs of all its elements.
    #[default]
    Full,
    /// Every layer's signs are taken from this many bits before and after the point.
    Fixed {
        /// Bits before the point: signs are right below two to their power.
        integer: u32,
        /// Bits after the point that are looked at.
        fraction: u32,
    },
    /// Each layer's signs are taken from the fewest bits that change few classes.
    Auto {
        /// The share of inputs like the samples whose class may change, with a confidence of 95 %.
        loss: f64,
    },
}

/// The share of inputs whose class may change unless another is given.
pub const DEFAULT_KEY_BITS_LOSS: f64 = 0.005;

/// The bits of a value that its sign is taken from: a [`KeyBits`] on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    /// Low bits that are not looked at.
    pub dropped: u32,
    /// The bits above them.
    pub kept: u32,
    /// Bits that hold the value in the worst case, its sign included; all of them if none is known.
    pub width: u32,
}

impl From<Keys> for KeyBits {
    fn from(keys: Keys) -> KeyBits {
        let Keys {
            dropped,
            kept,
            width,
        } = keys;
        KeyBits {
            dropped,
            kept,
            width,
        }
    }
}

impl Keys {
    /// Signs are taken from all bits.
    pub(crate) const ALL: Keys = Keys {
        dropped: KeyBits::ALL.dropped,
        kept: KeyBits::ALL.kept,
        width: KeyBits::ALL.width,
    };

    /// Signs are taken from the `kept` bits above the lowest `dropped`, with no promise for exact signs.
    pub(crate) const fn of(dropped: u32, kept: u32) -> Keys {
        Keys {
            dropped,
            kept,
            ..Keys::ALL
        }
    }

    /// Whether a sign is taken from all bits above those dropped.
    pub(crate) fn is_all(self) -> bool {
        KeyBits::from(self).is_all()
    }

    /// The key bits with as many bits before and after the point of values with `f` fraction bits. The
    /// ring must have room for them.
    pub fn fixed(
        integer: u32,
        fraction: u32,
        f: u32,
        signs: &[Signs],
        modulus: Modulus,
    ) -> Result<Keys, PlanError> {
        let refused = |why: String| {
            let what = format!("key bits {integer}.{fraction}");
            Err(PlanError::Option(format!("{what}: {why}")))
        };
        if fraction > f {
            return refused(format!(
                "values have {f} fraction bits; keep at most as many, or ask for more of them"
            ));
        }
        let keys = Keys::of(f - fraction, integer.saturating_add(fraction));
        if keys.kept == 0 {
            return refused("no bit is left to take a sign from; keep at least 1".into());
        }
        if !keys.fit(signs, modulus.bits()) {
            return refused(format!(
                "the {} has no room for them beside {f} fraction bits: a sign over them takes {} bits \
                 of it; ask for fewer",
                modulus,
                room(signs, keys.into())
            ));
        }
        Ok(keys)
    }

    /// Whether a plan over so many bits may have them.
    pub(super) fn hold(self, signs: &[Signs], element_bits: u32) -> bool {
        let width = (1..=element_bits).contains(&self.width) || self.width == Keys::ALL.width;
        width && (self.is_all() || self.fit(signs, element_bits))
    }

    /// Whether each of the protocols `signs` can take a sign from these key bits.
    pub(super) fn fit(self, signs: &[Signs], element_bits: u32) -> bool {
        self.kept > 0 && room(signs, self.into()) <= element_bits
    }

    /// The magnitude below which negative values are taken for 0, at `f` fraction bits.
    pub(super) fn unit(self, f: u32) -> f64 {
        (f64::from(self.dropped) - f64::from(f)).exp2()
    }

    /// The magnitude below which signs are right, at `f` fraction bits.
    pub(super) fn limit(self, f: u32) -> f64 {
        self.unit(f) * f64::from(self.kept).exp2()
    }

    /// The bits before and after the point that are looked at, as `5.2`; `None` for all bits.
    pub fn text(self, f: u32) -> Option<String> {
        let before = i64::from(self.dropped) + i64::from(self.kept) - i64::from(f);
        let after = i64::from(f) - i64::from(self.dropped);
        (!self.is_all()).then(|| format!("{before}.{after}"))
    }
}

/// Whether a node takes signs, unless it is a Clip whose bounds nothing reaches.
pub(super) fn takes_signs(node: &Node) -> bool {
    match &node.op {
        Op::Relu | Op::NonNegative | Op::Clip { .. } | Op::Whole(_) => true,
        Op::MaxPool(pool) => pool.window() > 1,
        _ => false,
    }
}

/// The largest magnitude of which a node takes the sign in the worst case, given that of its input:
/// differences within a window are up to twice as large. `None` for a node that takes none.
fn compared(node: &Node, input: Bound) -> Option<f64> {
    takes_signs(node).then(|| match &node.op {
        Op::MaxPool(_) => 2.0 * input.worst,
        Op::Clip { .. } => {
            input.worst + clip::bounds(&node.op, input.worst_within, f64::INFINITY).far()
        }
        Op::Whole(_) => {
            input.worst + numbers_of::search(&node.op, input).map_or(0.0, |found| found.far())
        }
        _ => input.worst,
    })
}

/// Bits of a magnitude with `f` fraction bits, with a little room for rounding on the way.
pub(super) fn bits(value: f64, f: u32) -> u32 {
    let encoded = 1.01 * value * f64::from(f).exp2();
    (encoded.max(1.0).log2().floor() as u32).saturating_add(1)
}

/// The bits in which signs of numbers of so many are taken by each of these protocols. In a field all
/// of them, since its low bits are no smaller field.
pub(super) fn sign_bits(signs: &[Signs], bits: u32, modulus: Modulus) -> u32 {
    match modulus {
        Modulus::Mersenne(all) => all,
        Modulus::PowerOfTwo(all) => narrowest(signs, bits, all),
    }
}

/// The bits in which signs are taken: they hold every compared value in the worst case, so that a narrow
/// comparison is never a guess. `places` says whether the largest elements of the output are found,
/// `fraction` the fraction bits of every value.
pub(super) fn compare_bits(
    graph: &Graph,
    places: bool,
    options: &PlanOptions,
    bounds: &[Bound],
    fraction: impl Fn(ValueId) -> u32,
) -> u32 {
    let worst = |node: &Node| {
        let (id, input) = (node.inputs[0], bounds[node.inputs[0]]);
        let compared = match &node.op {
            Op::Function { .. } => Some(functions::compared(input.worst)),
            _ => compared(node, input),
        };
        compared.map(|worst| bits(worst, fraction(id)))
    };
    let output = places.then(|| bits(2.0 * bounds[graph.output].worst, fraction(graph.output)));
    let all = graph.nodes.iter().filter_map(worst).chain(output);
    let with_sign = all.max().unwrap_or(0).saturating_add(1);
    sign_bits(options.signs, with_sign, options.modulus)
}

/// Tells every layer the bits that hold what it compares in the worst case, whatever was chosen for its
/// key bits. A field's low bits are no smaller field: there all are compared.
pub(super) fn tell_widths(
    keys: &mut [Keys],
    graph: &Graph,
    options: &PlanOptions,
    bounds: &[Bound],
    fraction: impl Fn(ValueId) -> u32,
) {
    for (node, keys) in graph.nodes.iter().zip(keys) {
        let id = node.inputs[0];
        if let Some(worst) = compared(node, bounds[id]) {
            keys.width = width(worst, fraction(id), options);
        }
    }
}

/// The bits that hold magnitudes up to `worst`, a sign included; none told over a field.
fn width(worst: f64, f: u32, options: &PlanOptions) -> u32 {
    match options.modulus.is_prime() {
        true => Keys::ALL.width,
        false => bits(worst, f).saturating_add(1).min(options.modulus.bits()),
    }
}

/// The key bits of every layer, and warnings.
pub(super) type Chosen = (Vec<Keys>, Vec<String>);

/// The key bits of every layer; all bits for those that take no sign, and over fields. What has other fraction bits than
/// most values, which are `f`, has those of its worst case.
pub(super) fn choose(
    graph: &Graph,
    options: &PlanOptions,
    bounds: &[Bound],
    f: u32,
    fraction: impl Fn(ValueId) -> u32,
) -> Result<Chosen, PlanError> {
    if options.modulus.is_prime() {
        return Ok((vec![Keys::ALL; graph.nodes.len()], vec![]));
    }
    let own = |node: &Node| Some(fraction(node.inputs[0])).filter(|&own| own != f);
    let (mut keys, warnings) = of_most(graph, options, bounds, f, &|node| own(node).is_none())?;
    for (node, keys) in graph.nodes.iter().zip(&mut keys) {
        if let (Some(own), Some(worst)) = (own(node), compared(node, bounds[node.inputs[0]])) {
            *keys = whole(worst, own, options);
        }
    }
    Ok((keys, warnings))
}

/// The key bits of layers of values with `f` fraction bits, and of others any.
fn of_most(
    graph: &Graph,
    options: &PlanOptions,
    bounds: &[Bound],
    f: u32,
    has_most: &dyn Fn(&Node) -> bool,
) -> Result<Chosen, PlanError> {
    match (options.key_bits, options.samples) {
        (KeyBitsChoice::Full, _) => Ok(full(graph, bounds, f, options)),
        (KeyBitsChoice::Fixed { integer, fraction }, _) => {
            let keys = Keys::fixed(integer, fraction, f, options.signs, options.modulus)?;
            Ok(fixed(graph, bounds, f, keys, has_most))
        }
        (KeyBitsChoice::Auto { loss }, Some(samples)) => {
            let search = key_search::Search {
                graph,
                bounds,
                f,
                options,
                loss,
            };
            search.run(samples)
        }
        (KeyBitsChoice::Auto { .. }, None) => Err(PlanError::Option(
            "key bits 'auto' are found by trying them on samples; give samples, or the bits".into(),
        )),
    }
}

/// What the worst case needs.
pub(super) fn full(graph: &Graph, bounds: &[Bound], f: u32, options: &PlanOptions) -> Chosen {
    let keys = |node: &Node| {
        let compared = compared(node, bounds[node.inputs[0]]);
        compared.map_or(Keys::ALL, |worst| whole(worst, f, options))
    };
    (graph.nodes.iter().map(keys).collect(), vec![])
}

/// The bits that tell the sign of every value up to `worst`, or all where a promise of so many does
/// not fit the ring.
fn whole(worst: f64, f: u32, options: &PlanOptions) -> Keys {
    let exact = exact(worst, f);
    match exact.fit(options.signs, options.modulus.bits()) {
        true => exact,
        false => Keys::ALL,
    }
}

/// The key bits of differences of two elements of the output: never without a low bit, since a place
/// must be that of the largest element whatever the others are. Planned values are below a quarter of
/// the ring, so that their differences have a sign in it.
pub(super) fn of_places(output: Bound, f: u32, options: &PlanOptions) -> Keys {
    let worst = 2.0 * output.worst;
    match options.modulus.is_prime() {
        true => Keys::ALL,
        false => Keys {
            width: width(worst, f, options),
            ..whole(worst, f, options)
        },
    }
}

fn fixed(
    graph: &Graph,
    bounds: &[Bound],
    f: u32,
    keys: Keys,
    has_most: &dyn Fn(&Node) -> bool,
) -> Chosen {
    let of = |node: &Node| match takes_signs(node) && has_most(node) {
        true => keys,
        false => Keys::ALL,
    };
    let keys: Vec<Keys> = graph.nodes.iter().map(of).collect();
    let warnings = promises(graph, bounds, &keys, f, "the key bits asked for");
    (keys, warnings)
}

/// A warning for every layer whose key bits an input within the declared range can break.
pub(super) fn promises(
    graph: &Graph,
    bounds: &[Bound],
    keys: &[Keys],
    f: u32,
    who: &str,
) -> Vec<String> {
    let broken = |(node, keys): (&Node, &Keys)| {
        let worst = compared(node, bounds[node.inputs[0]]).filter(|_| !keys.is_all())?;
        let limit = keys.limit(f);
        (worst > limit).then(|| {
            format!(
                "layer '{}': {who} promise that it compares values below {limit}, but inputs within the \
                 range could lead to {}; such a value's sign may be wrong, and the assistant may \
                 learn something of its size: use key bits 'full' or {} before the point",
                node.name,
                Told(worst),
                before_point(worst)
            )
        })
    };
    graph.nodes.iter().zip(keys).filter_map(broken).collect()
}

/// The bits before the point that hold a magnitude.
fn before_point(value: f64) -> u32 {
    bits(value, 0)
}

/// Bits that tell the sign of every such value.
fn exact(value: f64, f: u32) -> Keys {
    Keys::of(0, bits(value, f))
}
