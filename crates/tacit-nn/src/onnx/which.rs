//! Which of some numbers an element is, found by comparisons, and what stands for each of them.
//!
//! Signs tell on which side of every threshold an element stands. Whole numbers are told apart half way between
//! them, so consecutive ones share thresholds; of others both sides are compared with the number itself, as Equal
//! does. The mark of a number is the difference of two signs: 1 of an element that is the number, else 0.

use std::collections::HashMap;

use super::builder::Builder;
use super::call::{Call, Fault, Value, unsupported};
use super::compare::is_whole;
use super::compose::Composer;
use super::constant::bounded_len;
use super::places::marks_of;
use super::tables::{above, below, not};
use crate::graph::{FILL, Graph, InputKind, Node, Op, ValueId, Weights};
use crate::plan::worst_case;

/// The most that is looked at for the ends of values, in weights, of which a node without any takes as long as so
/// many: a file may ask for those of every node. What is not looked at may be any number.
const MOST_LOOKED: usize = 1 << 33;
const NODE: usize = 64;

/// Further than any number of an input.
const FAR: f64 = 1e30;

/// For every element of `x` a row of marks, one for each of `keys`, which differ. `whole` says that elements are
/// whole numbers.
pub(super) fn marks(
    c: &mut Composer,
    x: ValueId,
    keys: &[f32],
    whole: bool,
) -> Result<ValueId, Fault> {
    let mut limits: Vec<f32> = match whole {
        true => {
            let whole = keys.iter().filter(|key| key.fract() == 0.0);
            whole.flat_map(|key| [key - 0.5, key + 0.5]).collect()
        }
        false => keys.to_vec(),
    };
    limits.retain(|limit| limit.is_finite());
    limits.sort_by(f32::total_cmp);
    limits.dedup();
    if limits.is_empty() {
        return unsupported("none of its keys is a number that an element may be");
    }
    let (items, each) = (c.builder.len(x), limits.len());
    c.builder
        .reserve(items.saturating_mul(each.max(keys.len())))?;
    let spread = c.spread("of all", x, vec![items, each], |e| e / each)?;
    let of_all: Weights = limits.repeat(items).into();
    let over = above(c, spread, of_all.clone())?;
    let from = c.each("from there on", Op::NonNegative, &[over])?;
    let beyond = match whole {
        true => from,
        false => {
            let under = below(c, spread, of_all)?;
            let up_to = c.each("up to there", Op::NonNegative, &[under])?;
            not(c, up_to)?
        }
    };
    let place = |limit: f32| limits.iter().position(|&known| known == limit);
    let step = if whole { 0.5 } else { 0.0 };
    let places: Vec<_> = keys
        .iter()
        .map(|key| Some((place(key - step)?, place(key + step)?)))
        .collect();
    let shape = vec![items, keys.len()];
    bounded_len(&shape)?;
    let mut side = |part: &str, signs, of: fn((usize, usize)) -> usize| {
        let index = |item: usize| {
            let there = move |at: usize| (item * each + at) as u32;
            places
                .iter()
                .map(move |place| place.map_or(FILL, |p| there(of(p))))
        };
        let index = (0..items).flat_map(index).collect();
        let op = Op::Rearrange { index, fill: 0.0 };
        c.node(part, op, &[signs], shape.clone())
    };
    let from = side("from it on", from, |(from, _)| from)?;
    let beyond = side("beyond it", beyond, |(_, beyond)| beyond)?;
    let marks = c.each("marks", Op::Sub, &[from, beyond])?;
    c.builder.truths.insert(marks);
    Ok(marks)
}

/// The whole numbers that a value may hold which is whole by the way it is made; refused where one of them chooses
/// none of `classes` rows.
pub(super) fn numbers(builder: &Builder, value: &Value, classes: usize) -> Result<Vec<f32>, Fault> {
    let id = match value {
        Value::Secret { id, .. } if is_whole(builder, value) => *id,
        _ => {
            return unsupported(
                "its indices are computed, and no whole numbers by how they are made",
            );
        }
    };
    let (low, high) = ends(builder, id);
    let (low, high) = (low.ceil(), high.floor());
    if low < -(classes as f64) || high >= classes as f64 {
        let told = match low.abs().max(high.abs()) < 1e15 {
            true => format!("from {low} to {high}"),
            false => "any numbers".into(),
        };
        return unsupported(format!(
            "its indices are computed and may be {told}, beyond a table of {classes} rows: clip them to 0 to {}",
            classes - 1
        ));
    }
    Ok((low as i64..=high as i64).map(|v| v as f32).collect())
}

/// The most sums that are followed to values whose ends are known.
const FOLLOWED: usize = 4;

/// Where the elements of a value lie by the way it is made, whatever the inputs are.
pub(super) fn ends(builder: &Builder, id: ValueId) -> (f64, f64) {
    followed(builder, id, FOLLOWED)
}

fn followed(builder: &Builder, mut id: ValueId, most: usize) -> (f64, f64) {
    while let (at, _) = builder.moved_from(id)
        && let Some(&from) = builder.chosen_from.get(&at)
    {
        id = from;
    }
    let known = builder.within.get(&builder.moved_from(id).0);
    let chosen = marks_of(builder, id).map(|(_, numbers, _)| hull(&numbers));
    if let Some(known) = chosen.or(known.copied()) {
        return known;
    }
    let (low, high) = of_inputs(builder, id, &HashMap::new());
    match of_sum(builder, id, most) {
        Some((least, largest)) => (low.max(least), high.min(largest)),
        None => (low, high),
    }
}

/// The ends of a sum, or of a value by constant factors and terms, by those of what it is made of.
fn of_sum(builder: &Builder, id: ValueId, most: usize) -> Option<(f64, f64)> {
    let (at, _) = builder.moved_from(id);
    let node = &builder.nodes[at.checked_sub(1)?];
    let of = |i: usize| {
        most.checked_sub(1)
            .map(|most| followed(builder, node.inputs[i], most))
    };
    match &node.op {
        Op::Add => {
            let (a, b) = (of(0)?, of(1)?);
            Some((a.0 + b.0, a.1 + b.1))
        }
        Op::Sub => {
            let (a, b) = (of(0)?, of(1)?);
            Some((a.0 - b.1, a.1 - b.0))
        }
        Op::Affine(affine) => {
            let (low, high) = of(0)?;
            let number =
                |of: &Weights, at: usize, plain| of.get(at).map_or(plain, |&v| f64::from(v));
            let each = (0..affine.channels()).flat_map(|at| {
                let (scale, shift) = (
                    number(&affine.scale, at, 1.0),
                    number(&affine.shift, at, 0.0),
                );
                [low * scale + shift, high * scale + shift]
            });
            let none = (f64::INFINITY, f64::NEG_INFINITY);
            Some(each.fold(none, |(low, high), v| (low.min(v), high.max(v))))
        }
        _ => None,
    }
}

/// The least and the largest of numbers.
pub(super) fn hull(numbers: &[f32]) -> (f64, f64) {
    let each = numbers.iter().map(|&v| f64::from(v));
    each.fold((FAR, -FAR), |(low, high), v| (low.min(v), high.max(v)))
}

/// Where the elements of a value lie by the operations that make it of the inputs, some of which reach as far from 0 as
/// their types do: that whoever gives them keeps to these is not looked at.
pub(super) fn of_inputs(builder: &Builder, id: ValueId, reach: &HashMap<usize, f64>) -> (f64, f64) {
    let weights = |node: &Node| node.op.weights().iter().map(|of| of.len()).sum::<usize>();
    let work: usize = builder.nodes[..id]
        .iter()
        .map(|node| NODE + weights(node))
        .sum();
    let looked = builder.looked.get().saturating_add(work);
    builder.looked.set(looked);
    if looked > MOST_LOOKED {
        return (-FAR, FAR);
    }
    let graph = Graph {
        inputs: builder.inputs.clone(),
        nodes: builder.nodes[..id].to_vec(),
        output: id,
        outputs: vec![],
        remarks: vec![],
    };
    let ends = graph.inputs.iter().enumerate().flat_map(|(at, input)| {
        let end = match input.kind {
            InputKind::Tokens { classes } => classes as f64,
            InputKind::Truths => 1.0,
            _ => reach.get(&at).copied().unwrap_or(FAR),
        };
        let mark = input
            .missing
            .as_ref()
            .map_or(0.0, |missing| missing.mark().into());
        std::iter::repeat_n(end, input.given_len()).chain(std::iter::repeat_n(mark, input.marks()))
    });
    worst_case(&graph, &ends.collect::<Vec<_>>())[id]
}

/// The rows of a table of `n` numbers each, of which the elements of `x` choose one each by their number, among
/// `keys`; negative ones count from the end.
pub(super) fn rows(
    call: &Call,
    builder: &mut Builder,
    x: ValueId,
    keys: &[f32],
    (classes, n, table): (usize, usize, &Weights),
) -> Result<ValueId, Fault> {
    let mut c = Composer::new(call, builder);
    let marks = marks(&mut c, x, keys, true)?;
    let row = |key: &f32| match *key < 0.0 {
        true => (key + classes as f32) as usize,
        false => *key as usize,
    };
    let of = |key: &f32| table[row(key) * n..][..n].to_vec();
    let weights: Weights = keys.iter().flat_map(of).collect();
    c.linear("rows", marks, [keys.len(), n], weights, Weights::default())
}
