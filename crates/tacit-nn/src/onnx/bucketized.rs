//! `torch.bucketize` and `searchsorted` as torch's newer exporter writes them: a search by halves, whose places in the
//! table of limits are computed. How many limits are less than a number is the same, and needs no place.
//!
//! Whether a file's nodes are such a search is tried: a number that is only compared with the limits leads to the same place
//! between two of them, so that one number between every two, and the limits themselves, tell all.

use std::cell::Cell;
use std::collections::HashMap;

use super::constant::{Data, Reader};
use super::kind::DataType;
use super::made::{AXES_GIVEN, int, node, wholes};
use super::makers::{MANY, MOST_COPIES, Makers, attribute, changes};
use super::proto::data_type::INT64;
use super::proto::{GraphProto, NodeProto, TensorProto};
use super::typed::Types;

/// The most limits of a search.
const MOST_LIMITS: usize = 1024;
/// The most nodes from the last of a search to its first.
const DEPTH: usize = 400;
/// The most values that are tried of the searches of a file.
const MOST_TRIED: usize = 1 << 25;

/// A search among limits.
struct Search {
    x: String,
    limits: String,
    /// Whether limits that are the number itself count.
    counts_same: bool,
}

/// Writes them, in a file of such an operator set.
pub(super) fn write(graph: &mut GraphProto, opset: i64) {
    if opset < AXES_GIVEN {
        return;
    }
    let found = {
        let types = Types::of(graph);
        let left = Cell::new(MOST_TRIED);
        changes(graph, |makers, node| of(makers, &types, &left, node))
    };
    // From the last on, so that the places of the others stay.
    for (at, search) in found.into_iter().rev() {
        let Some(output) = graph.node[at].output.first().cloned() else {
            continue;
        };
        let [last, column, less, number] = ["last axis", "column", "less", "numbers"]
            .map(|what| format!("{output}/{what} of limits"));
        graph.initializer.push(wholes(&last, &[-1]));
        let compares = if search.counts_same {
            "LessOrEqual"
        } else {
            "Less"
        };
        let with = |made: NodeProto, name: &str, value: i64| NodeProto {
            attribute: vec![int(name, value)],
            ..made
        };
        let made = [
            node("Unsqueeze", &[&search.x, &last], &column),
            node(compares, &[&search.limits, &column], &less),
            with(node("Cast", &[&less], &number), "to", INT64.into()),
            with(node("ReduceSum", &[&number, &last], &output), "keepdims", 0),
        ];
        graph.node.splice(at..=at, made);
    }
}

/// The search that a node ends, which chooses the place behind the last that was looked at.
fn of(makers: &Makers, types: &Types, left: &Cell<usize>, node: &NodeProto) -> Option<Search> {
    let ("Where", [condition, _, _]) = (&node.op_type[..], &node.input[..]) else {
        return None;
    };
    let parts = makers.inputs(condition, "And")?;
    let (x, limits) = parts.into_iter().find_map(|part| compared(makers, part))?;
    let few = makers
        .tensor(limits)
        .filter(|of| matches!(of.dims[..], [size] if size <= MOST_LIMITS as i64))?;
    let Data::Float(table) = read(few)? else {
        return None;
    };
    let mut sorted: Vec<f64> = table.iter().copied().map(f64::from).collect();
    let is_finite = sorted.iter().all(|v| v.is_finite());
    if sorted.is_empty() || !is_finite {
        return None;
    }
    sorted.sort_by(f64::total_cmp);
    let (least, most) = (sorted[0] - 1.0, sorted[sorted.len() - 1] + 1.0);
    let between = sorted.windows(2).map(|two| (two[0] + two[1]) / 2.0);
    let all = between.chain(sorted.iter().copied()).chain([least, most]);
    let mut tried = Tried {
        makers,
        types,
        left,
        x,
        limits: (limits, &table),
        number: 0.0,
        constants: HashMap::new(),
        known: HashMap::new(),
    };
    let output = node.output.first()?;
    let (mut counts_less, mut counts_same) = (true, true);
    for number in all {
        (tried.number, tried.known) = (number, HashMap::new());
        let place = tried.value(output, DEPTH)?;
        let count = |counts: &dyn Fn(f64) -> bool| sorted.iter().filter(|v| counts(**v)).count();
        counts_less &= place == count(&|limit| limit < number) as f64;
        counts_same &= place == count(&|limit| limit <= number) as f64;
        if !counts_less && !counts_same {
            return None;
        }
    }
    Some(Search {
        x: x.into(),
        limits: limits.into(),
        counts_same,
    })
}

/// The number and the limits that a truth compares.
fn compared<'a>(makers: &Makers<'a>, truth: &'a str) -> Option<(&'a str, &'a str)> {
    let negated = makers.node(truth, "Not").and_then(|not| not.input.first());
    let node = makers.maker(negated.map_or(truth, String::as_str))?;
    let [a, b] = &node.input[..] else {
        return None;
    };
    let limits = |value: &str| {
        let gather = makers.maker(value)?;
        let table = gather.input.first().filter(|_| is_gather(gather))?;
        (makers.tensor(table)?.dims.len() == 1).then_some(&table[..])
    };
    match (is_comparison(node), limits(a), limits(b)) {
        (true, Some(of), None) => Some((b, of)),
        (true, None, Some(of)) => Some((a, of)),
        _ => None,
    }
}

fn is_comparison(node: &NodeProto) -> bool {
    let kind = &node.op_type[..];
    matches!(kind, "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual")
}

fn is_gather(node: &NodeProto) -> bool {
    let plain = |name| attribute(node, name).is_none_or(|a| a.i == Some(0));
    matches!(&node.op_type[..], "Gather" | "GatherND") && plain("axis") && plain("batch_dims")
}

fn read(tensor: &TensorProto) -> Option<Data> {
    let mut sizes = tensor.dims.iter();
    let all = sizes.try_fold(1i64, |n, &size| n.checked_mul(size))?;
    let read = (all <= MANY).then(|| Reader { folder: None }.read(tensor))?;
    read.ok().map(|constant| constant.data)
}

/// What nodes make of one number.
struct Tried<'a, 'b> {
    makers: &'b Makers<'a>,
    types: &'b Types<'b>,
    /// How many values may still be tried of all of the file.
    left: &'b Cell<usize>,
    x: &'a str,
    limits: (&'a str, &'b [f32]),
    number: f64,
    /// The numbers that constants are everywhere.
    constants: HashMap<&'a str, f64>,
    known: HashMap<&'a str, f64>,
}

impl<'a> Tried<'a, '_> {
    /// What a value is; none if the number is not only compared with limits, or by what else is made of it.
    fn value(&mut self, name: &'a str, depth: usize) -> Option<f64> {
        if let Some(&known) = self.known.get(name).or_else(|| self.constants.get(name)) {
            return Some(known);
        }
        self.left.set(self.left.get().checked_sub(1)?);
        if let Some(constant) = self.everywhere(name) {
            self.constants.insert(name, constant);
            return Some(constant);
        }
        let node = self.makers.exact(name)?;
        let value = match is_comparison(node) {
            true => self.comparison(node, depth.checked_sub(1)?)?,
            false => self.other(name, node, depth.checked_sub(1)?)?,
        };
        self.known.insert(name, value);
        Some(value)
    }

    /// The number that a constant is everywhere.
    fn everywhere(&self, name: &'a str) -> Option<f64> {
        let mut name = name;
        // A file's nodes may go round in a circle.
        for _ in 0..MOST_COPIES {
            match self.makers.exact(name) {
                Some(node) if node.op_type == "Expand" => name = node.input.first()?,
                _ => break,
            }
        }
        if let Some(tensor) = self.makers.tensor(name) {
            let same = |all: &[f64]| {
                all.iter()
                    .all(|v| v == &all[0])
                    .then(|| all.first().copied())
            };
            return match read(tensor)? {
                Data::Float(all) => same(&all.iter().copied().map(f64::from).collect::<Vec<_>>()),
                Data::Int(all) => same(&all.iter().map(|&v| v as f64).collect::<Vec<_>>()),
                Data::Double { exact, .. } => same(&exact),
            }?;
        }
        self.makers.everywhere(name).map(f64::from)
    }

    /// A comparison of two numbers, of which one may be that which is tried, and the other a limit.
    fn comparison(&mut self, node: &'a NodeProto, depth: usize) -> Option<f64> {
        let [a, b] = &node.input[..] else {
            return None;
        };
        let mut side = |name: &'a str, other: &'a str| match name == self.x {
            false => self.value(name, depth),
            true => {
                let limit = self.value(other, depth)?;
                let is_limit = self.limits.1.iter().any(|&v| f64::from(v) == limit);
                is_limit.then_some(self.number)
            }
        };
        let (a, b) = (side(a, b)?, side(b, a)?);
        let holds = match &node.op_type[..] {
            "Greater" => a > b,
            "GreaterOrEqual" => a >= b,
            "Less" => a < b,
            _ => a <= b,
        };
        Some(holds.into())
    }

    fn other(&mut self, name: &str, node: &'a NodeProto, depth: usize) -> Option<f64> {
        let kind = self.types.get(name);
        let truth = |holds: bool| f64::from(u8::from(holds));
        let inputs = &node.input;
        let mut of = |i: usize| self.value(inputs.get(i)?, depth);
        Some(match &node.op_type[..] {
            "Where" => match of(0)? == 0.0 {
                true => of(2)?,
                false => of(1)?,
            },
            "And" => truth(of(0)? != 0.0 && of(1)? != 0.0),
            "Or" => truth(of(0)? != 0.0 || of(1)? != 0.0),
            "Not" => truth(of(0)? == 0.0),
            "Equal" => truth(of(0)? == of(1)?),
            "Add" => of(0)? + of(1)?,
            "Sub" => of(0)? - of(1)?,
            "Mul" => of(0)? * of(1)?,
            "Div" if !kind?.is_float() => (of(0)? / of(1)?).trunc(),
            "Mod" if attribute(node, "fmod").is_none_or(|a| a.i == Some(0)) => {
                of(0)?.rem_euclid(of(1)?)
            }
            "Cast" => match kind? {
                DataType::Bool => truth(of(0)? != 0.0),
                kind if kind.is_float() => of(0)?,
                _ => of(0)?.trunc(),
            },
            "Identity" => of(0)?,
            _ if is_gather(node) && inputs.first()? == self.limits.0 => {
                let mut index = &inputs.get(1)?[..];
                // GatherND takes a place as an axis of one; whatever else changes axes is none of a search.
                if node.op_type == "GatherND" {
                    let [place, axes] = self.makers.inputs(index, "Unsqueeze")?;
                    index = (self.makers.wholes(axes)? == [-1]).then_some(place)?;
                }
                let place = self.value(index, depth)?;
                let size = self.limits.1.len() as f64;
                let place = if place < 0.0 { place + size } else { place };
                f64::from(*self.limits.1.get(place as usize).filter(|_| place >= 0.0)?)
            }
            _ => return None,
        })
    }
}
