//! Inputs that are only compared, shared as their ranks among all floats.
//!
//! A tree asks on which side of a threshold an input lies, and nothing else. In fixed point both are rounded,
//! so that numbers nearer than the last place fall together, and a column of large numbers needs a range. The
//! rank of a float, its bits read as a whole number with the float's sign, is in the order of the floats and
//! exact: differences of ranks have the signs of the floats' differences, whatever their size.

mod marks;

use super::ranges::Bound;
use super::{KeyBitsChoice, Modulus, PlanOptions, first_holders};
use crate::graph::{FILL, Graph, InputKind, Node, Op};
use marks::{Places, are_marks, marks, with_marks};

/// Bits of the rank of a float but for its sign.
const RANK_BITS: u32 = 31;

/// The low bits of ranks that a ring or field of so many bits has no room for: it holds twice the difference
/// of two ranks.
pub(crate) fn ranks_dropped(element_bits: u32) -> u32 {
    (RANK_BITS + 4).saturating_sub(element_bits)
}

/// The rank of `value` without its low bits: odd, and in the order of the floats.
pub(crate) fn rank(value: f32, dropped: u32) -> i64 {
    let magnitude = i64::from((value.to_bits() & !(1 << RANK_BITS)) >> dropped);
    if value < 0.0 { -magnitude } else { magnitude }
}

/// The largest rank of a finite number.
pub(crate) fn most_rank(element_bits: u32) -> i64 {
    rank(f32::MAX, ranks_dropped(element_bits))
}

/// The largest rank of a number within a declared range, or of any.
pub(super) fn limit(range: Option<f64>, element_bits: u32) -> i64 {
    let within = range.map(|range| rank(range as f32, ranks_dropped(element_bits)));
    let most = most_rank(element_bits);
    within.map_or(most, |limit| limit.clamp(1, most))
}

/// The largest float of a rank.
pub(super) fn largest(rank: i64, element_bits: u32) -> f64 {
    let dropped = ranks_dropped(element_bits);
    let bits = ((rank as u32) << dropped) | ((1 << dropped) - 1);
    f64::from(f32::from_bits(bits))
}

/// The float of the rank that `value` has.
pub(crate) fn coarse(value: f32, dropped: u32) -> f32 {
    f32::from_bits(value.to_bits() >> dropped << dropped)
}

/// What a value is to the comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A value that is neither ranks nor differences of ranks.
    Plain,
    /// Made of no input: its numbers may be ranks or not.
    Constant,
    /// Numbers of an input.
    Item,
    /// Marks of numbers that are missing.
    Mark,
    /// Differences of numbers of an input, or of such numbers and differences.
    Difference,
}
use Form::{Constant, Difference, Item, Mark, Plain};

/// Which values of a graph are ranks or differences of ranks.
#[derive(Clone, PartialEq)]
pub(crate) struct Ranks {
    forms: Vec<Form>,
    dropped: u32,
}

impl Ranks {
    /// The ranks of a plan with these options. `None` where an input is more than compared, or where signs
    /// are taken of fewer bits than all.
    pub(super) fn planned(graph: &Graph, options: &PlanOptions) -> Option<Self> {
        let full = options.key_bits == KeyBitsChoice::Full && options.precision.is_none();
        full.then(|| Ranks::of(graph, options.modulus.bits()))
            .flatten()
    }

    /// The ranks of a graph whose inputs are only compared; `None` for others.
    pub(crate) fn of(graph: &Graph, element_bits: u32) -> Option<Self> {
        let is_number = |kind| !matches!(kind, InputKind::Tokens { .. });
        if !graph.inputs.iter().all(|input| is_number(input.kind)) {
            return None;
        }
        let mut forms = vec![Item];
        let (marks, mut places) = (marks(graph), Places::new(graph));
        for node in &graph.nodes {
            let read: Vec<Form> = node.inputs.iter().map(|&id| forms[id]).collect();
            let of_marks = node.inputs == [0] && are_marks(node, &marks);
            forms.push(match of_marks {
                true => Mark,
                false if read == [Item, Mark] => with_marks(&mut places, node)?,
                false => form(node, &read)?,
            });
        }
        let compares = |node: &Node| {
            let of_items = matches!(forms[node.inputs[0]], Item | Mark | Difference);
            of_items && matches!(node.op, Op::NonNegative)
        };
        if !graph.nodes.iter().any(compares) || forms[graph.output] != Plain {
            return None;
        }
        let ranks = Ranks {
            forms: with_thresholds(graph, forms)?,
            dropped: ranks_dropped(element_bits),
        };
        // Weights are shared once: all that use them take them for the same.
        let mut holders = first_holders(graph).into_iter().enumerate();
        let alike = holders.all(|(layer, first)| ranks.has(layer + 1) == ranks.has(first + 1));
        alike.then_some(ranks)
    }

    /// Whether value `id` is one of ranks or of their differences.
    pub(crate) fn has(&self, id: usize) -> bool {
        self.forms[id] != Plain
    }

    /// What a user must hear of where the low bits of numbers are not looked at: by whom, and what to do.
    pub(super) fn doubt(&self, graph: &Graph, modulus: Modulus) -> Option<String> {
        let compares = |(id, node): (usize, &Node)| {
            let compares = matches!(node.op, Op::NonNegative) && self.has(node.inputs[0]);
            compares.then(|| format!("'{}'", graph.nodes[id].name))
        };
        let mut layers = graph.nodes.iter().enumerate().filter_map(compares);
        let first = layers.next().filter(|_| self.dropped > 0)?;
        let others = match layers.count() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let wider = modulus.widest();
        let bits = RANK_BITS + 1 - self.dropped;
        Some(format!(
            "layer {first}{others}: numbers that agree in the first {bits} of the 32 bits of their floats count as \
             equal: compute over the {wider} if they are not"
        ))
    }

    /// The bounds of all values with `f` fraction bits: those given, but of ranks those of the bits that hold ranks.
    pub(super) fn bounds(&self, bounds: &[Bound], f: u32) -> Vec<Bound> {
        let of = |(&bound, &form): (&Bound, &Form)| {
            let bits = match form {
                Plain => return bound,
                Constant | Item | Mark => RANK_BITS,
                Difference => RANK_BITS + 1,
            };
            let most = (f64::from(bits) - f64::from(self.dropped + f)).exp2();
            Bound::worst((-most, most))
        };
        bounds.iter().zip(&self.forms).map(of).collect()
    }

    /// `values` of value `id` as what their ranks stand for; they stay where they are no ranks.
    pub(super) fn round(&self, id: usize, values: &mut [f32]) {
        if self.dropped > 0 && matches!(self.forms[id], Constant | Item | Mark) {
            let round = |v: &mut f32| *v = coarse(*v, self.dropped);
            values.iter_mut().for_each(round);
        }
    }

    /// A term of value `id` as what its rank stands for.
    pub(super) fn term(&self, value: f32) -> f32 {
        coarse(value, self.dropped)
    }
}

/// What a node makes of values of such forms; `None` where it does more with numbers of an input than to
/// compare them.
fn form(node: &Node, read: &[Form]) -> Option<Form> {
    let given = (read.iter()).any(|form| matches!(form, Item | Mark | Difference));
    match &node.op {
        Op::Rearrange { fill, .. } if node.is_fill() => {
            Some(if *fill == 0.0 { Constant } else { Plain })
        }
        Op::Rearrange { index, fill } if *fill != 0.0 && index.contains(&FILL) => {
            (!given).then_some(Plain)
        }
        Op::Rearrange { .. } => Some(read[0]),
        Op::Concat { .. } if given && read.contains(&Plain) => None,
        Op::Concat { .. } if read.contains(&Difference) => Some(Difference),
        Op::Concat { .. } if given => Some(Item),
        Op::Concat { .. } if read.contains(&Plain) => Some(Plain),
        Op::Concat { .. } => Some(Constant),
        Op::Affine(affine) if affine.scale.is_empty() => match read[0] {
            Item | Mark => Some(Difference),
            Difference => None,
            other => Some(other),
        },
        Op::Sub if given => {
            let whole = read
                .iter()
                .all(|form| matches!(form, Item | Mark | Constant));
            whole.then_some(Difference)
        }
        Op::NonNegative => Some(Plain),
        _ => (!given).then_some(Plain),
    }
}

/// The forms with constants told apart: those that are compared with inputs, and those that are plain; `None`
/// where one is both.
fn with_thresholds(graph: &Graph, mut forms: Vec<Form>) -> Option<Vec<Form>> {
    // How a constant is read: as plain numbers, as ranks.
    let mut read = vec![[false; 2]; forms.len()];
    for (layer, node) in graph.nodes.iter().enumerate().rev() {
        let id = layer + 1;
        let as_ranks = match forms[id] {
            Plain => false,
            Constant => read[id][1],
            Item | Mark | Difference => true,
        };
        for &from in node.inputs.iter().filter(|_| !node.is_fill()) {
            read[from][usize::from(as_ranks)] = true;
        }
    }
    for (id, form) in forms.iter_mut().enumerate() {
        if *form != Constant {
            continue;
        }
        // 0 is its own rank.
        let zeros = graph.nodes[id - 1].is_fill();
        match read[id] {
            [true, true] if !zeros => return None,
            [_, true] => {}
            _ => *form = Plain,
        }
    }
    Some(forms)
}
