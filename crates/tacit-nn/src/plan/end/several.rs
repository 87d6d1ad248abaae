//! What is opened of a model of several outputs: numbers only, each part once.

use super::{Opened, is_softmax, logits};
use crate::graph::{Output, Tail};
use crate::plan::{Reveal, Scores};

/// The outputs, for messages.
pub(super) fn layer(outputs: &[Output]) -> String {
    let names: Vec<&str> = outputs.iter().map(|output| &output.name[..]).collect();
    format!("outputs '{}'", names.join("', '"))
}

/// What is opened, or what stands in the way of it.
pub(super) fn opened(
    outputs: &[Output],
    asked: Option<Reveal>,
) -> Result<Opened, (Reveal, String)> {
    let reveal = asked.unwrap_or_else(|| match outputs.iter().all(|o| o.tail.is_empty()) {
        true => Reveal::Logits,
        false => Reveal::Probabilities,
    });
    let (scores, outputs) = match reveal {
        Reveal::Logits => (vec![], outputs.iter().map(logits).collect()),
        Reveal::Probabilities => {
            check(outputs).map_err(|why| (reveal, why))?;
            (differences(outputs), outputs.to_vec())
        }
        Reveal::TopK(_) | Reveal::Class => {
            let why = "classes are found of one output: choose it (outputs)".to_string();
            return Err((reveal, why));
        }
    };
    Ok(Opened {
        reveal,
        scores,
        outputs,
    })
}

/// Refuses outputs without a function at their end, and places of what is opened for them alone: of
/// these the file tells no more than the places.
fn check(outputs: &[Output]) -> Result<(), String> {
    if outputs.iter().all(|output| output.tail.is_empty()) {
        return Err(
            "no Softmax, LogSoftmax or Sigmoid stands at the end of one in the file: ask for logits"
                .into(),
        );
    }
    let alone = |output: &&Output| {
        let mut siblings = outputs.iter().filter(|o| o.start == output.start);
        siblings.all(Output::is_places)
    };
    match outputs.iter().find(alone) {
        Some(output) => Err(format!(
            "'{}' is the place of the largest of numbers that no other output opens: choose it alone \
             (outputs), or ask for logits",
            output.name
        )),
        None => Ok(()),
    }
}

/// The logits of which differences do: those of parts of which every output takes a softmax, or the places
/// of the largest.
fn differences(outputs: &[Output]) -> Vec<Scores> {
    let mut found: Vec<Scores> = Vec::new();
    for output in outputs {
        let first = |tail: &&Tail| is_softmax(tail);
        let Some(softmax) = output.tail.first().filter(first) else {
            continue;
        };
        let scores = Scores::of(output.start, softmax);
        let along = |tail: &Tail| {
            let scores = [scores.outer, scores.size, scores.inner];
            let ordered = is_softmax(tail) || tail.function.is_arg_max();
            ordered && [tail.outer, tail.size, tail.inner] == scores
        };
        let mut siblings = outputs.iter().filter(|o| o.start == output.start);
        let known = found.iter().any(|known| known.start == output.start);
        if !known && siblings.all(|sibling| sibling.tail.first().is_some_and(along)) {
            found.push(scores);
        }
    }
    found.sort_by_key(|scores| scores.start);
    found
}
