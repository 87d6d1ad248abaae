//! The parts of a model's output that are opened, and so learnt by its receiver.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tacit_protocols::math::TopK;

use super::Plan;
use super::keys::Keys;
use crate::graph::{Output, Tail, TailFunction, len};

/// What the receiver learns of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Reveal {
    /// The numbers that the model computes, before any function that ends it.
    Logits,
    /// Logits from which the receiver computes the functions that end the model; before a softmax
    /// only their differences, which are what probabilities tell.
    Probabilities,
    /// The classes of the so many largest logits in their order, two or more, and nothing else.
    TopK(usize),
    /// The class of the largest logit, and nothing else.
    Class,
}

impl Reveal {
    /// The classes of an item that are opened, if it is classes.
    pub fn places(self) -> Option<usize> {
        match self {
            Reveal::Class => Some(1),
            Reveal::TopK(k) => Some(k),
            Reveal::Logits | Reveal::Probabilities => None,
        }
    }
}

impl Display for Reveal {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Reveal::Logits => f.write_str("logits"),
            Reveal::Probabilities => f.write_str("probabilities"),
            Reveal::TopK(k) => write!(f, "top-{k}"),
            Reveal::Class => f.write_str("class"),
        }
    }
}

impl From<Reveal> for String {
    fn from(reveal: Reveal) -> String {
        reveal.to_string()
    }
}

impl TryFrom<String> for Reveal {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Reveal {
    type Err = String;

    /// Reads the words that a choice is shown as; `top-1` is the class.
    fn from_str(text: &str) -> Result<Self, String> {
        let top = text.strip_prefix("top-").map(|k| k.parse::<usize>());
        match (text, top) {
            ("logits", _) => Ok(Reveal::Logits),
            ("probabilities", _) => Ok(Reveal::Probabilities),
            ("class", _) | (_, Some(Ok(1))) => Ok(Reveal::Class),
            (_, Some(Ok(k))) if (2..=TopK::MOST).contains(&k) => Ok(Reveal::TopK(k)),
            _ => Err(format!(
                "reveal '{}' is not known; choose one of logits, probabilities, top-K with K from 1 to \
                 {} (such as top-3), class",
                text.escape_debug(),
                TopK::MOST
            )),
        }
    }
}

/// The axis of an output along which there is one number for every class. The output's part of an item
/// is `outer` x `size` x `inner`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scores {
    /// Where the part begins.
    pub start: usize,
    /// The product of the axes before the classes.
    pub outer: usize,
    /// How many classes there are.
    pub size: usize,
    /// The product of the axes after the classes.
    pub inner: usize,
    /// Whether of equal numbers the last comes first.
    pub last: bool,
}

impl Scores {
    /// The scores that a function runs along, in a part that begins at `start`.
    pub(super) fn of(start: usize, tail: &Tail) -> Self {
        Scores {
            start,
            outer: tail.outer,
            size: tail.size,
            inner: tail.inner,
            last: tail.function == TailFunction::ArgMaxLast,
        }
    }

    /// The element of an item with the first score beside that of element `e`; `None` for one of
    /// another part.
    pub(crate) fn first(&self, e: usize) -> Option<usize> {
        let (line, inner) = (self.size * self.inner, self.inner);
        let e = e.checked_sub(self.start)?;
        (e < self.outer * line).then(|| self.start + e / line * line + e % inner)
    }

    /// Sets of scores in one item.
    pub fn windows(&self) -> usize {
        self.outer * self.inner
    }

    /// The shape with this axis made `k` long; removed for a single class.
    pub(super) fn of_shape(&self, shape: &[usize], k: usize) -> Option<Vec<usize>> {
        let is_axis = |&axis: &usize| {
            let ends = [len(&shape[..axis]), shape[axis], len(&shape[axis + 1..])];
            ends == [self.outer, self.size, self.inner]
        };
        let axis = (0..shape.len()).find(is_axis)?;
        let mut shape = shape.to_vec();
        match k {
            1 => drop(shape.remove(axis)),
            k => shape[axis] = k,
        }
        Some(shape)
    }
}

/// What is done with the output before, and at, its opening.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// What the receiver learns.
    pub reveal: Reveal,
    /// The axis of the classes that are found; or those of logits of which differences are opened, in
    /// parts that do not overlap.
    pub scores: Vec<Scores>,
    /// The bits that hold the signs of differences of two logits, where classes are found.
    pub keys: Keys,
}

impl Plan {
    /// The search for the classes of a batch; `None` where numbers are opened.
    pub(crate) fn top(&self, batch: usize) -> Option<TopK> {
        let (k, scores) = (self.opening.reveal.places()?, self.opening.scores.first()?);
        let bits = self.input_widths.map(|_| self.number(self.output).bits);
        Some(TopK {
            windows: batch * scores.windows(),
            size: scores.size,
            k,
            keys: self.opening.keys.into(),
            bits,
        })
    }

    /// How many classes there are; `None` where numbers are opened.
    pub fn classes(&self) -> Option<usize> {
        self.opening.reveal.places()?;
        self.opening.scores.first().map(|scores| scores.size)
    }

    /// The operation by which classes are found, for tables; `None` where numbers are opened.
    pub fn ranking(&self) -> Option<&'static str> {
        match self.opening.reveal.places()? {
            1 => Some("ArgMax"),
            _ => Some("TopK"),
        }
    }

    /// What the receiver learns of the model's outputs, in words.
    pub fn opened(&self) -> String {
        let reveal = self.opening.reveal;
        let what = match reveal {
            Reveal::Class => "the class of the largest output, nothing else".into(),
            Reveal::TopK(k) => {
                format!("the classes of the {k} largest outputs in their order, nothing else")
            }
            Reveal::Logits => "all outputs of the model as they are".into(),
            Reveal::Probabilities => match self.outputs.as_slice() {
                [one] => self.opened_of(one),
                many => {
                    let each = |output: &Output| {
                        format!("of '{}' {}", output.name, self.opened_of(output))
                    };
                    many.iter().map(each).collect::<Vec<_>>().join("; ")
                }
            },
        };
        format!("{reveal}: {what}")
    }

    /// What is opened of an output whose functions the receiver computes.
    fn opened_of(&self, output: &Output) -> String {
        let has_part = |scores: &Scores| scores.start == output.start;
        let logits = match self.opening.scores.iter().any(has_part) {
            true => "the logits up to a constant: so these are opened",
            false => "the logits: so these are opened",
        };
        match &output.tail[..] {
            [] => "all numbers as they are".into(),
            _ if output.is_places() => "the class, of what is opened for another output".into(),
            _ => format!("probabilities, which tell {logits}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_they_are_shown() {
        for reveal in [
            Reveal::Logits,
            Reveal::Probabilities,
            Reveal::Class,
            Reveal::TopK(2),
            Reveal::TopK(TopK::MOST),
        ] {
            assert_eq!(reveal.to_string().parse(), Ok(reveal));
        }
        assert_eq!("top-1".parse(), Ok(Reveal::Class));
        for text in [
            "",
            "top-0",
            "top-33",
            "top-",
            "top-k",
            "top--3",
            "Class",
            "top-99999999999999999999",
        ] {
            let error = text.parse::<Reveal>().expect_err(text);
            assert!(error.contains("such as top-3"), "{error}");
        }
    }
}
