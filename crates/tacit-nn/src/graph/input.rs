//! What a model is given.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Graph, len};

/// An input of a model. The inputs of an item are one row, value 0 of the graph: one behind the other, with
/// those of tokens last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The input's name in the model's file.
    pub name: String,
    /// The shape of one item of it.
    pub shape: Vec<usize>,
    /// The axis of an item before which the batch stands in the file.
    pub batch: usize,
    /// What the input's numbers are.
    pub kind: InputKind,
    /// How many rows each token may choose from, where not all may choose all rows; of numbers some of which are
    /// categories, how many each of these has, and 0 of every other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<usize>,
    /// The texts that the model knows, of an input of texts: what is given for each is its place among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<Texts>,
    /// Which numbers may be missing, of an input of numbers, if any may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
}

/// Which numbers of an input may be missing, which is given as NaN. Such a number is 0 in the row, and behind the
/// input's numbers a mark for each that may be missing says whether it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The numbers' places among those of an item of the input, in order.
    pub places: Vec<usize>,
    /// What a mark is of a number that is missing, the bits of a power of two; 0 is the mark of any other.
    pub bits: u32,
}

impl Missing {
    /// The mark of a number that is missing.
    pub fn mark(&self) -> f32 {
        (self.bits as f32).exp2()
    }
}

/// The texts that a model knows of an input. All parties know them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Texts {
    /// The texts that the model knows, in the order of their bytes, none twice; a text is given as its place here.
    pub known: Vec<String>,
    /// Whether any other text may be given, too, as the place behind the last.
    pub others: bool,
}

impl Texts {
    /// The numbers that may be given: from 0 on so many.
    pub fn classes(&self) -> usize {
        self.known.len() + usize::from(self.others)
    }

    /// The number that is given for a text; `None` of one that is not known, where no others are taken.
    pub fn number(&self, text: &str) -> Option<usize> {
        let known = self
            .known
            .binary_search_by(|known| known.as_str().cmp(text));
        known.ok().or(self.others.then_some(self.known.len()))
    }
}

/// What the numbers of an input are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputKind {
    /// Real numbers.
    Numbers,
    /// Whole numbers.
    Integers,
    /// The numbers 0 and 1.
    Truths,
    /// The numbers of rows of a table, from 0 on. Each is shared as one number a row: 1 at its own, else 0.
    Tokens {
        /// Rows of the table, so that tokens are from 0 to one less.
        classes: usize,
    },
    /// Marks of numbers that are missing, behind those of their input: 0 or a power of two. No input is of this
    /// kind as a whole.
    Marks {
        /// The bits of the power of two.
        bits: u32,
    },
}

impl InputKind {
    /// How many numbers of one item's row a party holds for each that is given.
    pub fn shared(self) -> usize {
        match self {
            InputKind::Tokens { classes } => classes,
            _ => 1,
        }
    }

    /// Whether `value` is such a number.
    pub fn holds(self, value: f32) -> bool {
        match self {
            InputKind::Numbers => true,
            InputKind::Integers => value.fract() == 0.0,
            InputKind::Truths => value == 0.0 || value == 1.0,
            InputKind::Tokens { classes } => {
                value.fract() == 0.0 && value >= 0.0 && value < classes as f32
            }
            InputKind::Marks { bits } => value == 0.0 || value == (bits as f32).exp2(),
        }
    }

    /// What numbers of this kind are, in words.
    pub fn described(self) -> String {
        match self {
            InputKind::Numbers => "numbers".into(),
            InputKind::Integers => "whole numbers".into(),
            InputKind::Truths => "0 or 1".into(),
            InputKind::Tokens { classes } => format!("whole numbers from 0 to {}", classes - 1),
            InputKind::Marks { bits } => format!("0 or 2^{bits}"),
        }
    }
}

impl Input {
    /// An input of numbers whose batch stands first.
    pub fn numbers(name: &str, shape: &[usize]) -> Self {
        Input {
            name: name.into(),
            shape: shape.to_vec(),
            batch: 0,
            kind: InputKind::Numbers,
            limits: vec![],
            texts: None,
            missing: None,
        }
    }

    /// What number `at` of an item's row is; a category is as a token, however it is shared.
    pub fn kind_at(&self, at: usize) -> InputKind {
        if let Some(missing) = &self.missing
            && at >= self.given_len()
        {
            return InputKind::Marks { bits: missing.bits };
        }
        let limit = self.limits.get(at).copied().filter(|&limit| limit > 0);
        match (self.kind, limit) {
            (InputKind::Tokens { .. } | InputKind::Numbers, Some(classes)) => {
                InputKind::Tokens { classes }
            }
            (kind, _) => kind,
        }
    }

    /// How far from 0 its categories reach, of numbers of which some are.
    pub fn categories(&self) -> f64 {
        match self.kind {
            InputKind::Numbers => {
                self.limits.iter().max().map_or(0, |&most| most.max(1) - 1) as f64
            }
            _ => 0.0,
        }
    }

    /// Numbers of one item that are given.
    pub fn given_len(&self) -> usize {
        len(&self.shape)
    }

    /// Marks of one item, one for each number that may be missing.
    pub fn marks(&self) -> usize {
        self.missing
            .as_ref()
            .map_or(0, |missing| missing.places.len())
    }

    /// Numbers of one item in a model's row.
    pub fn row_len(&self) -> usize {
        self.given_len().saturating_add(self.marks())
    }

    /// Numbers of one item that are shared.
    pub fn shared_len(&self) -> usize {
        let given = self.given_len().saturating_mul(self.kind.shared());
        given.saturating_add(self.marks())
    }

    /// The marks of an item's numbers, in the order of their places, and 0 in place of each that is missing.
    pub(crate) fn part_with_marks<'a>(&self, given: &'a [f32]) -> Cow<'a, [f32]> {
        let Some(missing) = &self.missing else {
            return Cow::Borrowed(given);
        };
        let mut part = given.to_vec();
        for &place in &missing.places {
            let is_missing = part[place].is_nan();
            part.push(if is_missing { missing.mark() } else { 0.0 });
            if is_missing {
                part[place] = 0.0;
            }
        }
        Cow::Owned(part)
    }
}

/// The places in a row of every number that may be missing, and of its mark.
pub(crate) fn marks(inputs: &[Input]) -> impl Iterator<Item = (u32, u32)> {
    let mut start = 0;
    inputs.iter().flat_map(move |input| {
        let (own, first) = (start, start + input.given_len());
        start += input.row_len();
        let places = input.missing.iter().flat_map(|missing| &missing.places);
        let of = move |(i, &place): (usize, &usize)| ((own + place) as u32, (first + i) as u32);
        places.enumerate().map(of)
    })
}

/// The most samples that are taken once more with missing numbers.
const MARKED_SAMPLES: usize = 16;

impl Graph {
    /// The rows of items that are given one behind the other: with marks of what is missing of them.
    pub fn rows<'a>(&self, given: &'a [f32]) -> Cow<'a, [f32]> {
        rows(&self.inputs, given)
    }

    /// The rows of samples. Where no sample misses a number, some of them do once more: as many as show what the marks
    /// do, each of every other number that may be missing.
    pub fn sample_rows<'a>(&self, given: &'a [f32]) -> Cow<'a, [f32]> {
        let rows = self.rows(given);
        if !self.has_marks() || given.iter().any(|v| v.is_nan()) {
            return rows;
        }
        let mut all = rows.into_owned();
        let some = given
            .chunks_exact(self.given_len().max(1))
            .take(MARKED_SAMPLES);
        for (turn, item) in some.enumerate() {
            let missing = without_every_other(&self.inputs, item, turn);
            all.extend_from_slice(&self.rows(&missing));
        }
        Cow::Owned(all)
    }

    /// Whether numbers of inputs may be missing.
    pub fn has_marks(&self) -> bool {
        self.inputs.iter().any(|input| input.missing.is_some())
    }
}

/// The shape of one item of what is given for all inputs together: flat where there are several.
pub fn given_shape(inputs: &[Input]) -> Vec<usize> {
    match inputs {
        [one] => one.shape.clone(),
        _ => vec![inputs.iter().map(Input::given_len).sum()],
    }
}

/// The shape of one item's row: flat where there are several inputs, or marks.
pub fn row_shape(inputs: &[Input]) -> Vec<usize> {
    match inputs {
        [one] if one.missing.is_none() => one.shape.clone(),
        _ => vec![inputs.iter().map(Input::row_len).sum()],
    }
}

/// An item without every other number of those that may be missing: the even ones or the odd ones by turns.
fn without_every_other(inputs: &[Input], item: &[f32], turn: usize) -> Vec<f32> {
    let mut item = item.to_vec();
    let mut start = 0;
    for input in inputs {
        let places = input.missing.iter().flat_map(|missing| &missing.places);
        let every_other = places.skip(turn % 2).step_by(2);
        every_other.for_each(|place| item[start + place] = f32::NAN);
        start += input.given_len();
    }
    item
}

/// The rows of items that are given one behind the other: with marks of what is missing of them.
fn rows<'a>(inputs: &[Input], given: &'a [f32]) -> Cow<'a, [f32]> {
    if inputs.iter().all(|input| input.missing.is_none()) {
        return Cow::Borrowed(given);
    }
    let item: usize = inputs.iter().map(Input::given_len).sum();
    let mut all = Vec::new();
    for mut rest in given.chunks_exact(item.max(1)) {
        for input in inputs {
            let part;
            (part, rest) = rest.split_at(input.given_len());
            all.extend_from_slice(&input.part_with_marks(part));
        }
    }
    Cow::Owned(all)
}
