//! What the receiver of a result makes of the numbers that are opened.

use serde::{Deserialize, Serialize};

use super::{Tail, len};

/// An output of a model: a part of the numbers that are opened of an item, and what the receiver
/// computes of it. Outputs of one value have one part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The output's name in the model's file.
    pub name: String,
    /// Where its part begins in what is opened of an item.
    pub start: usize,
    /// The shape of its part.
    pub revealed_shape: Vec<usize>,
    /// What the receiver computes in the clear, in this order.
    pub tail: Vec<Tail>,
    /// The shape of one item of it, after the tail.
    pub shape: Vec<usize>,
    /// The axis of an item before which the batch stands in the file.
    pub batch: usize,
    /// What the classes are called whose numbers it gives; `None` where they are the numbers.
    pub classes: Option<Classes>,
}

impl Output {
    /// An output that is opened alone, as it is.
    pub fn whole(name: &str, shape: &[usize]) -> Self {
        Output {
            name: name.into(),
            start: 0,
            revealed_shape: shape.to_vec(),
            tail: vec![],
            shape: shape.to_vec(),
            batch: 0,
            classes: None,
        }
    }

    /// Elements of its part.
    pub fn part_len(&self) -> usize {
        len(&self.revealed_shape)
    }

    /// Whether the receiver computes the places of largest elements.
    pub fn is_places(&self) -> bool {
        self.tail.iter().any(|step| step.function.is_arg_max())
    }
}

/// The names of the classes from 0 on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Classes {
    /// Whole numbers as names of the classes.
    Integers(Vec<i64>),
    /// Texts as names of the classes.
    Strings(Vec<String>),
}

impl Classes {
    /// How many classes have names.
    pub fn count(&self) -> usize {
        match self {
            Classes::Integers(names) => names.len(),
            Classes::Strings(names) => names.len(),
        }
    }
}
