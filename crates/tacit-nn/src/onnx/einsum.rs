//! Einsum: equations of axes by letters.

use super::call::{Call, Fault, Value, bad, unsupported};
use super::lower::Builder;
use super::product::{Label, Labels, contract, rank};

/// Einsum of two inputs.
pub(super) fn einsum(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
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
    let [first, second] = terms[..] else {
        return unsupported("sums of products of two inputs are supported");
    };
    let inputs = [
        labelled(first, Some(rank(call, 0)?))?,
        labelled(second, Some(rank(call, 1)?))?,
    ];
    let many = (inputs.iter()).map(|labels| labels.iter().filter(|&&l| is_many(l)).count());
    let many = many.max().unwrap_or(0);
    let output = match output {
        Some(output) => labelled(output, None)?
            .into_iter()
            .flat_map(|label| match label {
                MANY => (0..many).rev().map(|i| MANY + 1 + i as Label).collect(),
                label => vec![label],
            })
            .collect(),
        None => implied(&inputs, many),
    };
    contract(call, builder, &Labels { inputs, output })
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
fn implied(inputs: &[Vec<Label>; 2], many: usize) -> Vec<Label> {
    let mut letters: Vec<Label> = inputs.concat();
    letters.retain(|&label| !is_many(label));
    letters.sort_unstable();
    let once = |label: &&Label| letters.iter().filter(|other| other == label).count() == 1;
    let many = (0..many).rev().map(|i| MANY + 1 + i as Label);
    many.chain(letters.iter().filter(once).copied()).collect()
}
