//! What values are made by of others, one element of one element: constants and functions that keep the order.

use super::element::Arithmetic;
use crate::graph::{ValueId, Weights};

/// What makes a value of another, element by element.
#[derive(Clone)]
pub(super) struct Step {
    pub from: ValueId,
    pub how: How,
}

#[derive(Clone)]
pub(super) enum How {
    /// A sum, a difference, a product or a quotient with constants.
    With {
        what: Arithmetic,
        /// Whether the constant is the first of the two.
        turned: bool,
        /// How many neighbouring elements share a number, and the numbers.
        inner: usize,
        numbers: Weights,
    },
    /// A function that keeps the order.
    Of(Rising),
}

/// Functions that keep the order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rising {
    Exp,
    Log,
    Sigmoid,
    Sqrt,
    Tanh,
}

impl Rising {
    /// The function that an operation is.
    pub(super) fn named(op: &str) -> Option<Self> {
        Some(match op {
            "Exp" => Rising::Exp,
            "Log" => Rising::Log,
            "Sigmoid" => Rising::Sigmoid,
            "Sqrt" => Rising::Sqrt,
            "Tanh" => Rising::Tanh,
            _ => return None,
        })
    }

    fn of(self, x: f32) -> f32 {
        let x = f64::from(x);
        let y = match self {
            Rising::Exp => x.exp(),
            Rising::Log => x.ln(),
            Rising::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Rising::Sqrt => x.sqrt(),
            Rising::Tanh => x.tanh(),
        };
        y as f32
    }

    /// How steep it is at most.
    fn steepest(self) -> f32 {
        match self {
            Rising::Sigmoid => 0.25,
            Rising::Tanh => 1.0,
            Rising::Exp | Rising::Log | Rising::Sqrt => f32::INFINITY,
        }
    }
}

/// A step of one element.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum One {
    With(Arithmetic, bool, f32),
    Of(Rising),
}

impl Step {
    pub(super) fn at(&self, element: usize) -> One {
        match &self.how {
            How::Of(function) => One::Of(*function),
            How::With {
                what,
                turned,
                inner,
                numbers,
            } => One::With(*what, *turned, numbers[element / inner % numbers.len()]),
        }
    }
}

/// The result of a step for `x`, as float32 computes it.
pub(super) fn apply(x: f32, step: One) -> f32 {
    match step {
        One::With(Arithmetic::Add, _, number) => x + number,
        One::With(Arithmetic::Sub, false, number) => x - number,
        One::With(Arithmetic::Sub, true, number) => number - x,
        One::With(Arithmetic::Mul, _, number) => x * number,
        One::With(Arithmetic::Div, _, number) => x / number,
        One::Of(function) => function.of(x),
    }
}

/// 1 of a step that keeps the order, -1 of one that turns it around, `None` of one that loses it.
pub(super) fn direction(step: One) -> Option<f32> {
    match step {
        One::With(Arithmetic::Add, ..) | One::With(Arithmetic::Sub, false, _) | One::Of(_) => {
            Some(1.0)
        }
        One::With(Arithmetic::Sub, true, _) => Some(-1.0),
        One::With(Arithmetic::Mul, _, number) | One::With(Arithmetic::Div, false, number) => {
            (number != 0.0 && number.is_finite()).then(|| number.signum())
        }
        One::With(Arithmetic::Div, true, _) => None,
    }
}

/// The factor by which two results are farther apart than what they are of, at most.
pub(super) fn factor(step: One) -> f32 {
    match step {
        One::With(Arithmetic::Add | Arithmetic::Sub, ..) => 1.0,
        One::With(Arithmetic::Mul, _, number) => number.abs(),
        One::With(Arithmetic::Div, _, number) => 1.0 / number.abs(),
        One::Of(function) => function.steepest(),
    }
}
