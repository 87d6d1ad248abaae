//! Masks: constants added before a softmax so that some of its terms are 0.
//!
//! Exporters write what is to be left out as minus infinity, or as a number so far below all scores that
//! its exponential is 0 in float32. Such a number would take more bits than all scores. Here the places
//! are kept instead: the softmax takes neither the maximum nor the sum over them, and its results there are
//! 0, whatever the scores are. So a plan tells which places are masked, as it tells the indices of a Gather.
//!
//! A mask that is computed from an input is secret: there such a number becomes [`HIDDEN`].

use std::collections::HashSet;

use super::builder::Builder;
use super::call::{Call, Fault, Value};
use super::compose::Composer;
use super::constant::{Constant, Reader};
use super::element::Stretched;
use super::fold;
use super::proto::NodeProto;
use crate::graph::{Affine, FILL, Op, ValueId, Weights};

/// A number added to a score that leaves it out of a softmax, as do all below it.
pub(super) const LEAST: f32 = -1e4;

/// What is added to a score that a secret mask leaves out. Its exponential is 0 in the last place unless the
/// score exceeds those that are kept by over a thousand.
pub(super) const HIDDEN: f32 = -1024.0;

/// The nodes whose outputs only softmaxes see in the end: through sums with scores, moved, or times what leaves them as
/// low.
pub(super) fn hiding(
    order: &[&NodeProto],
    outputs: &[&str],
    reader: &Reader,
) -> HashSet<*const NodeProto> {
    const HANDED_ON: [&str; 15] = [
        "Add",
        "And",
        "Cast",
        "CastLike",
        "Concat",
        "Dropout",
        "Expand",
        "Flatten",
        "Identity",
        "Reshape",
        "Slice",
        "Squeeze",
        "Tile",
        "Transpose",
        "Unsqueeze",
    ];
    let mut seen_by_others: HashSet<&str> = outputs.iter().copied().collect();
    let mut hiding = HashSet::new();
    let factors = factors(order, reader);
    for &node in order.iter().rev() {
        let own = |name: &String| !seen_by_others.contains(&name[..]);
        let hides = node.output.iter().all(own);
        if hides {
            hiding.insert(std::ptr::from_ref(node));
        }
        let op = &node.op_type[..];
        // Of a choice the condition is no score.
        let (from, to) = match op {
            "ReduceLogSumExp" | "Softmax" => (0, 1),
            "Where" if hides => (1, 3),
            "Mul"
                if hides
                    && node
                        .input
                        .get(1)
                        .is_some_and(|by| factors.contains(&by[..])) =>
            {
                (0, 1)
            }
            _ if hides && HANDED_ON.contains(&op) => (0, node.input.len()),
            _ => (0, 0),
        };
        let inputs = node.input.iter().enumerate();
        let others = inputs.filter(|(at, _)| !(from..to).contains(at));
        seen_by_others.extend(others.map(|(_, name)| &name[..]));
    }
    hiding
}

/// The single numbers from 1 on that nodes hold.
fn factors<'a>(order: &[&'a NodeProto], reader: &Reader) -> HashSet<&'a str> {
    let is_factor = |held: &Constant| (1.0..f32::INFINITY).contains(&held.data.floats()[0]);
    let held = single_numbers(order, reader);
    let factors = held.filter(|(_, held)| is_factor(held));
    factors.map(|(name, _)| name).collect()
}

/// What nodes hold that is a single number, by its name.
pub(super) fn single_numbers<'a>(
    order: &[&'a NodeProto],
    reader: &Reader,
) -> impl Iterator<Item = (&'a str, Constant)> {
    let held = order.iter().filter(|node| node.op_type == "Constant");
    held.filter_map(|node| {
        let tensor = node.attribute.first()?.t.as_ref()?;
        // Others may be large, and need not be read.
        if tensor.dims.iter().any(|&size| size != 1) {
            return None;
        }
        let constant = reader.read(tensor).ok().filter(|c| c.data.len() == 1)?;
        Some((node.output.first()?.as_str(), constant))
    })
}

/// The constants of a node whose output is a secret mask, where any of them hides a score: with [`HIDDEN`] in
/// place of those that do.
pub(super) fn hidden(call: &Call, builder: &Builder, values: &Weights) -> Option<Vec<f32>> {
    let hides = builder.hiding.contains(&std::ptr::from_ref(call.node));
    let fits = values.iter().all(|&v| !v.is_nan() && v < f32::INFINITY);
    (hides && fits && values.iter().any(|&v| v <= LEAST)).then(|| {
        builder.hides.set(true);
        let [infinite, finite] = &builder.hides_by;
        let by = |of: fn(f32) -> bool| values.iter().any(|&v| v <= LEAST && of(v));
        infinite.set(infinite.get() || by(|v| v == f32::NEG_INFINITY));
        finite.set(finite.get() || by(|v| v > f32::NEG_INFINITY));
        let hidden = |&v: &f32| if v <= LEAST { HIDDEN } else { v };
        values.iter().map(hidden).collect()
    })
}

/// Whether a node hands on its first input as it is.
fn carries(node: &NodeProto) -> bool {
    ["Cast", "CastLike", "Dropout", "Identity"].contains(&node.op_type.as_str())
}

/// The nodes of which only softmaxes and logarithms of sums of exponentials read the output, or nodes that hand it on
/// to softmaxes only; those at the end of the model are not counted, for the receiver of the result computes them.
pub(super) fn feed_softmax(
    order: &[&NodeProto],
    last: &HashSet<*const NodeProto>,
    outputs: &[&str],
) -> HashSet<*const NodeProto> {
    let mut read_by_others: HashSet<&str> = outputs.iter().copied().collect();
    let mut feeding = HashSet::new();
    for &node in order.iter().rev() {
        let mut outputs = node.output.iter();
        let feeds = outputs.all(|name| !read_by_others.contains(name.as_str()));
        if feeds {
            feeding.insert(std::ptr::from_ref(node));
        }
        let ends = last.contains(&std::ptr::from_ref(node));
        let sums = matches!(&node.op_type[..], "ReduceLogSumExp" | "Softmax");
        let takes = !ends && (sums || carries(node) && feeds);
        let others = node.input.iter().skip(usize::from(takes));
        read_by_others.extend(others.map(String::as_str));
    }
    feeding
}

/// Notes that the output of a node has the mask of its first input, which it hands on.
pub(super) fn carried(call: &Call, builder: &mut Builder) {
    let known = call.node.input.first();
    let mask = known.and_then(|name| builder.masks.get(name).cloned());
    if let (Some(mask), Some(name)) = (mask, call.node.output.first()) {
        builder.masks.insert(name.clone(), mask);
    }
}

/// The sum of `x`, which is input `secret`, and a constant that masks some of it; `None` if it masks nothing.
pub(super) fn masked(
    call: &Call,
    builder: &mut Builder,
    secret: usize,
    constant: usize,
) -> Result<Option<Value>, Fault> {
    if !call.masks || call.node.op_type != "Add" {
        return Ok(None);
    }
    let given = call.constant(constant)?;
    let values = given.data.floats();
    let hidden = |v: f32| v <= LEAST;
    if !values.iter().any(|&v| hidden(v))
        || values.iter().any(|&v| v.is_nan() || v == f32::INFINITY)
    {
        return Ok(None);
    }
    let (x, shape, batch) = call.secret_at(secret)?;
    let flags: Vec<f32> = values
        .iter()
        .map(|&v| f32::from(u8::from(hidden(v))))
        .collect();
    let kept: Vec<f32> = values
        .iter()
        .map(|&v| if hidden(v) { 0.0 } else { v })
        .collect();
    let flags = Stretched::new(&given.shape, &flags, shape, batch)?;
    let mut compose = Composer::new(call, builder);
    let mut id = compose.stretched(x, shape, &flags.out)?;
    if kept.iter().any(|&v| v != 0.0) {
        let terms = Stretched::new(&given.shape, &kept, shape, batch)?;
        let how = format!("unmasked {:?} over {:?}", given.shape, terms.out);
        let shift = compose.builder.derive(&values, how, || terms.numbers);
        let (inner, scale) = (terms.inner, Weights::default());
        let op = Op::Affine(Affine {
            inner,
            scale,
            shift,
        });
        id = builder.add(call.name.clone(), op, vec![id], flags.out.clone())?;
    }
    Ok(Some(noted(call, builder, id, flags)))
}

/// The scores of a Where of a constant condition, whose other branch hides all that it stands for; `None` of any
/// other Where.
pub(super) fn hidden_by_choice(call: &Call, builder: &mut Builder) -> Result<Option<Value>, Fault> {
    let (Value::Constant(condition), true) = (call.required(0)?, call.masks) else {
        return Ok(None);
    };
    let (scores, hides, where_true) = match (call.required(1)?, call.required(2)?) {
        (Value::Secret { .. }, Value::Constant(hides)) => (1, hides, false),
        (Value::Constant(hides), Value::Secret { .. }) => (2, hides, true),
        _ => return Ok(None),
    };
    let chosen = fold::truths(condition, |holds| holds == where_true);
    let low = |v: &f32| f32::from(u8::from(*v <= LEAST));
    let low = hides.data.floats().iter().map(low).collect();
    let low = Constant::floats(hides.shape.clone(), low);
    let flags = fold::binary("Mul", &chosen, &low)?;
    let all = fold::binary("Max", &chosen, &flags)?;
    // A branch that shows something somewhere is a value like others.
    if all.data.floats() != flags.data.floats() {
        return Ok(None);
    }
    let (x, shape, batch) = call.secret_at(scores)?;
    let flags = Stretched::new(&flags.shape, &flags.data.floats(), shape, batch)?;
    let id = Composer::new(call, builder).stretched(x, shape, &flags.out)?;
    Ok(Some(noted(call, builder, id, flags)))
}

/// The output of a node, of which a softmax leaves out what is not 0 in `flags`.
fn noted(call: &Call, builder: &mut Builder, id: ValueId, flags: Stretched) -> Value {
    let places =
        (0..builder.len(id)).map(|e| flags.numbers[e / flags.inner % flags.numbers.len()] != 0.0);
    let places = places.collect();
    builder.masks.insert(call.node.output[0].clone(), places);
    Value::Secret {
        id,
        shape: flags.out,
        batch: flags.batch,
    }
}

/// What a softmax leaves out of its lines.
pub(super) struct Mask {
    hidden: Vec<bool>,
    /// For every element: itself, or the first of its line that is not masked.
    shown: Vec<u32>,
}

impl Mask {
    /// The mask of the input of a softmax or of a logarithm of a sum of exponentials, if it has one; `line` says
    /// the line of every element.
    pub(super) fn of(
        call: &Call,
        builder: &Builder,
        line: impl Fn(usize) -> usize,
    ) -> Result<Option<Mask>, Fault> {
        let hidden = builder.masks.get(&call.node.input[0]);
        hidden
            .map(|hidden| Mask::new(hidden.clone(), line))
            .transpose()
    }

    /// The mask of the input of a reduction, whose elements stand in rows of this size by this map.
    pub(super) fn turned(
        call: &Call,
        builder: &Builder,
        index: Vec<u32>,
        size: usize,
    ) -> Result<Option<Mask>, Fault> {
        let hidden = builder.masks.get(&call.node.input[0]);
        let turned = |hidden: &Vec<bool>| index.iter().map(|&e| hidden[e as usize]).collect();
        hidden
            .map(|hidden| Mask::new(turned(hidden), |e| e / size))
            .transpose()
    }

    /// The mask that hides these elements.
    pub(super) fn new(hidden: Vec<bool>, line: impl Fn(usize) -> usize) -> Result<Mask, Fault> {
        let mut first = vec![None; hidden.len()];
        for e in (0..hidden.len()).filter(|&e| !hidden[e]) {
            first[line(e)].get_or_insert(e as u32);
        }
        let shown = |e: usize| match hidden[e] {
            true => first[line(e)],
            false => Some(e as u32),
        };
        let shown = (0..hidden.len()).map(shown).collect::<Option<Vec<u32>>>();
        let shown = shown
            .ok_or_else(|| Fault::Unsupported("its input masks all terms of a line".into()))?;
        Ok(Mask { hidden, shown })
    }

    /// `x` with a term that is not masked in place of every one that is.
    pub(super) fn shown(&self, compose: &mut Composer, x: ValueId) -> Result<ValueId, Fault> {
        let (index, fill) = (self.shown.clone(), 0.0);
        compose.each("shown", Op::Rearrange { index, fill }, &[x])
    }

    /// `x` with 0 in place of every term that is masked.
    pub(super) fn kept(&self, compose: &mut Composer, x: ValueId) -> Result<ValueId, Fault> {
        let place = |(e, &hidden): (usize, &bool)| if hidden { FILL } else { e as u32 };
        let index = self.hidden.iter().enumerate().map(place).collect();
        compose.each("kept", Op::Rearrange { index, fill: 0.0 }, &[x])
    }
}
