//! Logarithms and powers of which a mask keeps one half: Yeo-Johnson's transformation, as converters write it. Of
//! `x + 1` only those of `x >= 0` count, of `1 - x` those of `x < 0`; the file computes both for all, and multiplies
//! what is NaN or meaningless by 0.
//!
//! Here the other half is computed of 1, so that no argument is negative and the mask has finite numbers to hide.

use std::collections::{HashMap, HashSet};

use super::builder::Builder;
use super::call::{Call, Fault, Value};
use super::compose::Composer;
use super::proto::NodeProto;
use crate::graph::Op;

/// The most different halves of a file.
const MOST: usize = 64;

/// What is done between a logarithm or a power and its mask; of a quotient to the dividend.
const BETWEEN: [&str; 6] = ["Add", "Div", "Imputer", "Mul", "Neg", "Sub"];

type Producers<'a> = HashMap<&'a str, &'a NodeProto>;

/// The logarithms and powers of a half, all whose uses a mask of this half ends.
pub(super) fn halves(order: &[&NodeProto], outputs: &[&str]) -> HashSet<*const NodeProto> {
    let mut made = Producers::new();
    let mut found: Vec<(&NodeProto, Half)> = Vec::new();
    for &node in order {
        if let ("Log" | "Pow", Some(base)) = (&node.op_type[..], node.input.first()) {
            found.extend(Half::of(&made, base).map(|half| (node, half)));
        }
        made.extend(node.output.iter().map(|name| (&name[..], node)));
    }
    let all: HashSet<Half> = found.iter().map(|&(_, half)| half).collect();
    if all.len() > MOST {
        return HashSet::new();
    }
    let mut kept = HashSet::new();
    for half in all {
        let seen = half.seen_beyond(order, outputs, &made);
        let hidden = |node: &NodeProto| node.output.iter().all(|name| !seen.contains(&name[..]));
        let own = found
            .iter()
            .filter(|(node, of)| *of == half && hidden(node));
        kept.extend(own.map(|&(node, _)| std::ptr::from_ref(node)));
    }
    kept
}

/// `x + 1` of the numbers from 0 on, or `1 - x` of those below.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Half<'a> {
    x: &'a str,
    negative: bool,
}

impl<'a> Half<'a> {
    /// The half that a value is, whose 1 is written as `x / x`.
    fn of(made: &Producers<'a>, value: &str) -> Option<Self> {
        let node = made.get(value)?;
        let [a, b] = &node.input[..] else { return None };
        let is_one = |name: &str, x: &str| is_of_itself(made, name, "Div", x);
        match &node.op_type[..] {
            "Add" if is_one(b, a) => Some(Half {
                x: a,
                negative: false,
            }),
            "Add" if is_one(a, b) => Some(Half {
                x: b,
                negative: false,
            }),
            "Sub" if is_one(a, b) => Some(Half {
                x: b,
                negative: true,
            }),
            _ => None,
        }
    }

    /// Whether a value is 1 where the half counts, and 0 elsewhere: a comparison of `x` with `x - x`.
    fn is_mask(self, made: &Producers, value: &str) -> bool {
        let under = |name: &str, op: &str| {
            let node = made.get(name).filter(|node| node.op_type == op);
            node.and_then(|node| node.input.first().map(|input| &input[..]))
        };
        let truth = under(value, "Cast");
        let less = match self.negative {
            true => truth,
            false => truth.and_then(|truth| under(truth, "Not")),
        };
        let node = less.and_then(|name| made.get(name));
        node.is_some_and(|node| match (&node.op_type[..], &node.input[..]) {
            ("Less", [a, b]) => a == self.x && is_of_itself(made, b, "Sub", self.x),
            _ => false,
        })
    }

    /// The values that something sees without this half's mask.
    fn seen_beyond<'b>(
        self,
        order: &[&'b NodeProto],
        outputs: &[&'b str],
        made: &Producers,
    ) -> HashSet<&'b str> {
        let mut seen: HashSet<&str> = outputs.iter().copied().collect();
        for &node in order.iter().rev() {
            let op = &node.op_type[..];
            let hidden = node.output.iter().all(|name| !seen.contains(&name[..]));
            let masked = |at: usize| {
                let other = node.input.get(1 - at.min(1));
                op == "Mul" && other.is_some_and(|other| self.is_mask(made, other))
            };
            let handed_on = |at: usize| hidden && BETWEEN.contains(&op) && (op != "Div" || at == 0);
            let inputs = node.input.iter().enumerate();
            let others = inputs.filter(|&(at, _)| !masked(at) && !handed_on(at));
            seen.extend(others.map(|(_, name)| &name[..]));
        }
        seen
    }
}

/// Whether a value is `op` of `x` and `x`.
fn is_of_itself(made: &Producers, value: &str, op: &str, x: &str) -> bool {
    made.get(value)
        .is_some_and(|node| node.op_type == op && node.input.iter().eq([x, x]))
}

/// The argument of a node of [`halves`], with 1 in place of what lies below.
pub(super) fn from_one(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape, batch) = call.secret_at(0)?;
    let mut c = Composer::new(call, builder);
    let less = c.affine("less 1", x, 1.0, -1.0)?;
    let positive = c.each("positive", Op::Relu, &[less])?;
    let id = c.affine("from 1 on", positive, 1.0, 1.0)?;
    let shape = shape.to_vec();
    Ok(Value::Secret { id, shape, batch })
}
