//! Einsum: equations of axes by letters.
//!
//! Of every input first the axes that nothing else has are summed, and of axes with one letter the diagonal
//! is taken; then inputs are multiplied one after the other.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::Composer;
use super::constant::{Constant, bounded_len};
use super::product::{Label, Labels, contract, rank};
use super::reduce::sum;
use crate::graph::{ValueId, len};
use crate::index::diagonal;

/// A factor, and the labels of its axes in the file.
struct Factor {
    value: Value,
    labels: Vec<Label>,
}

/// Einsum of at least one computed input.
pub(super) fn einsum(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (mut factors, output) = read(call)?;
    let all = |factors: &[Factor]| -> Vec<Label> {
        let labels = factors.iter().flat_map(|factor| factor.labels.clone());
        labels.collect()
    };
    let known = all(&factors);
    let fits = |(i, label): (usize, &Label)| !output[..i].contains(label) && known.contains(label);
    if !output.iter().enumerate().all(fits) {
        return bad("its output repeats an axis, or has one of no input");
    }
    for i in 0..factors.len() {
        let others = [all(&factors[..i]), all(&factors[i + 1..]), output.clone()].concat();
        factors[i] = reduced(call, builder, &factors[i], &others, i)?;
    }
    // From a computed factor on every product is computed.
    factors.sort_by_key(|factor| matches!(factor.value, Value::Constant(_)));
    let mut rest = factors.into_iter();
    let Some(mut made) = rest.next() else {
        return bad("it has no inputs");
    };
    while let Some(next) = rest.next() {
        let later = [all(rest.as_slice()), output.clone()].concat();
        let labels = match rest.as_slice() {
            [] => output.clone(),
            _ => united(&made.labels, &next.labels)
                .into_iter()
                .filter(|label| later.contains(label))
                .collect(),
        };
        let part = match rest.as_slice() {
            [] => call.name.clone(),
            left => format!("{}.{} left", call.name, left.len()),
        };
        let both = Call {
            name: part,
            inputs: vec![Some(&made.value), Some(&next.value)],
            ..*call
        };
        let sides = Labels {
            inputs: [made.labels, next.labels],
            output: labels.clone(),
        };
        let value = contract(&both, builder, &sides)?;
        made = Factor { value, labels };
    }
    Ok(arranged(call, builder, &made, &output, "result")?.value)
}

/// The labels of both, each once.
fn united(a: &[Label], b: &[Label]) -> Vec<Label> {
    let mut all = Vec::new();
    for label in a.iter().chain(b) {
        if !all.contains(label) {
            all.push(*label);
        }
    }
    all
}

/// The inputs with their labels, and the output's labels.
fn read(call: &Call) -> Result<(Vec<Factor>, Vec<Label>), Fault> {
    let equation: String = call.text("equation", "");
    let equation: String = equation.split_whitespace().collect();
    let (inputs, output) = match equation.split_once("->") {
        Some((inputs, output)) => (inputs, Some(output)),
        None => (&equation[..], None),
    };
    let terms: Vec<&str> = inputs.split(',').collect();
    if terms.len() != call.inputs.len() {
        return bad(format!("its equation '{equation}' does not fit its inputs"));
    }
    let mut factors = Vec::new();
    for (i, term) in terms.iter().enumerate() {
        if matches!(call.required(i)?, Value::Constant(constant) if constant.data.len() == 0) {
            return unsupported(format!("its input {i} has no elements"));
        }
        factors.push(Factor {
            value: call.required(i)?.clone(),
            labels: labelled(term, Some(rank(call, i)?))?,
        });
    }
    let many = |factor: &Factor| factor.labels.iter().filter(|&&l| is_many(l)).count();
    let many = factors.iter().map(many).max().unwrap_or(0);
    let output = match output {
        Some(output) => labelled(output, None)?
            .into_iter()
            .flat_map(|label| match label {
                MANY => (0..many).rev().map(|i| MANY + 1 + i as Label).collect(),
                label => vec![label],
            })
            .collect(),
        None => implied(&factors, many),
    };
    Ok((factors, output))
}

/// A factor with each axis once, and only those of which `others` has the label.
fn reduced(
    call: &Call,
    builder: &mut Builder,
    factor: &Factor,
    others: &[Label],
    i: usize,
) -> Result<Factor, Fault> {
    let mut kept = united(&[], &factor.labels);
    kept.retain(|label| others.contains(label));
    arranged(call, builder, factor, &kept, &format!("input {i}"))
}

/// A factor with these axes in this order; others are summed over.
fn arranged(
    call: &Call,
    builder: &mut Builder,
    factor: &Factor,
    kept: &[Label],
    part: &str,
) -> Result<Factor, Fault> {
    if factor.labels == kept {
        let (value, labels) = (factor.value.clone(), kept.to_vec());
        return Ok(Factor { value, labels });
    }
    let (shape, axes, items) = match &factor.value {
        Value::Constant(constant) => (&constant.shape, factor.labels.clone(), None),
        Value::Secret { shape, .. } if call.whole => (shape, factor.labels.clone(), None),
        Value::Secret { shape, batch, .. } => {
            let mut axes = factor.labels.clone();
            let items = axes.remove(*batch);
            (shape, axes, Some(items))
        }
        _ => return unsupported("one of its inputs exists only in the clear"),
    };
    let batch = match items {
        None => 0,
        Some(items) if axes.contains(&items) => {
            return unsupported("it takes a diagonal along the batch axis");
        }
        Some(items) => match kept.iter().position(|&label| label == items) {
            Some(at) => at,
            None => return unsupported("it sums over the batch axis"),
        },
    };
    let left: Vec<Label> = (kept.iter().copied())
        .filter(|&l| Some(l) != items)
        .collect();
    let mut dropped = united(&[], &axes);
    dropped.retain(|label| !left.contains(label));
    let (index, sizes) = lines(shape, &axes, &[&left[..], &dropped].concat())?;
    let (out, summed) = sizes.split_at(left.len());
    let (rows, size) = (len(out), len(summed));
    let labels = kept.to_vec();
    let value = match &factor.value {
        Value::Constant(from) => {
            let numbers = from.data.gather(&index, 0.0).floats();
            let sums = numbers.chunks(size.max(1)).map(|row| row.iter().sum());
            Value::Constant(Constant::floats(out.to_vec(), sums.collect()))
        }
        value => {
            let mut compose = Composer::new(call, builder);
            let id = compose.moved(part, computed(value)?, index, sizes.clone())?;
            let id = match dropped[..] {
                [] => id,
                _ => sum(&mut compose, id, rows, size)?,
            };
            let shape = out.to_vec();
            Value::Secret { id, shape, batch }
        }
    };
    Ok(Factor { value, labels })
}

fn computed(value: &Value) -> Result<ValueId, Fault> {
    match value {
        Value::Secret { id, .. } => Ok(*id),
        _ => unsupported("one of its inputs exists only in the clear"),
    }
}

/// The map to axes of these labels, each along all axes that have it, and their sizes.
fn lines(shape: &[usize], axes: &[Label], to: &[Label]) -> Result<(Vec<u32>, Vec<usize>), Fault> {
    let of = |label: &Label| -> Vec<usize> {
        let places = 0..axes.len();
        places.filter(|&a| axes[a] == *label).collect()
    };
    let along: Vec<Vec<usize>> = to.iter().map(of).collect();
    let even = |axes: &Vec<usize>| axes.iter().all(|&a| shape[a] == shape[axes[0]]);
    if !along.iter().all(even) {
        return bad("it takes the diagonal of axes that differ in size");
    }
    let sizes: Vec<usize> = along.iter().map(|axes| shape[axes[0]]).collect();
    bounded_len(&sizes)?;
    Ok((diagonal(shape, &along), sizes))
}

/// The label of `...`; those after it are of the axes that it stands for, from the last one on.
const MANY: Label = 1 << 8;

fn is_many(label: Label) -> bool {
    label > MANY
}

/// The labels of a term; `...` takes as many axes as are left of `rank`, or stays.
fn labelled(term: &str, rank: Option<usize>) -> Result<Vec<Label>, Fault> {
    let wrong = || Fault::Bad(format!("its equation has the term '{term}'"));
    let (before, after) = match term.split_once("...") {
        Some((before, after)) => (before, Some(after)),
        None => (term, None),
    };
    let letters = |text: &str| -> Result<Vec<Label>, Fault> {
        let letter = |c: char| match c.is_ascii_alphabetic() {
            true => Ok(c as Label),
            false => Err(wrong()),
        };
        text.chars().map(letter).collect()
    };
    let (mut labels, tail) = (letters(before)?, letters(after.unwrap_or(""))?);
    let named = labels.len() + tail.len();
    match (after, rank) {
        (None, Some(rank)) if rank != named => return Err(wrong()),
        (Some(_), Some(rank)) => {
            let many = rank.checked_sub(named).ok_or_else(wrong)?;
            labels.extend((0..many).rev().map(|i| MANY + 1 + i as Label));
        }
        (Some(_), None) => labels.push(MANY),
        (None, _) => {}
    }
    labels.extend(tail);
    Ok(labels)
}

/// The output of an equation that names none: all axes of `...`, then the letters that stand once.
fn implied(factors: &[Factor], many: usize) -> Vec<Label> {
    let labels = factors.iter().flat_map(|factor| factor.labels.clone());
    let mut letters: Vec<Label> = labels.collect();
    letters.retain(|&label| !is_many(label));
    letters.sort_unstable();
    let once = |label: &&Label| letters.iter().filter(|other| other == label).count() == 1;
    let many = (0..many).rev().map(|i| MANY + 1 + i as Label);
    many.chain(letters.iter().filter(once).copied()).collect()
}
