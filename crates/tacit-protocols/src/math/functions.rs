//! The exponential function and the sigmoids as functions by pieces.
//!
//! Comparisons cost most, so pieces are as wide as a polynomial of moderate degree allows: at 64
//! bits and `f = 16` there are 4 thresholds for exp, 7 for sigmoid and 8 for tanh.

use std::f64::consts::LN_2;

use super::piecewise::{Piecewise, Shape};
use super::{Format, public};
use crate::Error;

/// `e^x` for every `x` up to `high`, and `e^high` above; below `-(f+1) ln 2`, where it is less than
/// half of `2^-f`, 0.
///
/// Pieces of width 4. `e^high` must leave the coefficients `f` fraction bits: `high` up to 0 suits
/// every format; more is refused where it does not fit.
pub fn exp(format: Format, high: i32) -> Result<Piecewise, Error> {
    let cut = vanishing(format) + f64::from(high);
    let pieces = (cut / 4.0).ceil().max(1.0) as i32;
    Piecewise::fit(
        format,
        &Shape {
            name: "exp",
            function: public::exp,
            low: high - 4 * pieces,
            pieces,
            width: 2,
            below: 0.0,
            above: Some(public::exp(f64::from(high))),
        },
    )
}

/// `1 / (1 + e^-x)` for every `x`; 0 or 1 where the difference is less than half of `2^-f`.
///
/// Pieces of width 4, symmetric about 0.
pub fn sigmoid(format: Format) -> Result<Piecewise, Error> {
    let pieces = (2.0 * vanishing(format) / 4.0).ceil() as i32;
    Piecewise::fit(
        format,
        &Shape {
            name: "sigmoid",
            function: |x: f64| 1.0 / (1.0 + public::exp(-x)),
            low: -2 * pieces,
            pieces,
            width: 2,
            below: 0.0,
            above: Some(1.0),
        },
    )
}

/// `tanh x` for every `x`; -1 or 1 where the difference is less than half of `2^-f`.
///
/// Pieces of width 2, symmetric about 0: `tanh x` is `2 sigmoid(2 x) - 1`.
pub fn tanh(format: Format) -> Result<Piecewise, Error> {
    let pieces = (0.5 * (vanishing(format) + LN_2)).ceil() as i32;
    Piecewise::fit(
        format,
        &Shape {
            name: "tanh",
            function: |x: f64| 2.0 / (1.0 + public::exp(-2.0 * x)) - 1.0,
            low: -pieces,
            pieces,
            width: 1,
            below: -1.0,
            above: Some(1.0),
        },
    )
}

/// The error function for every `x`; -1 or 1 where the difference is less than half of `2^-f`.
///
/// Pieces of width 2, symmetric about 0: `1 - erf x` is less than `e^(-x^2)`.
pub fn erf(format: Format) -> Result<Piecewise, Error> {
    let pieces = vanishing(format).sqrt().ceil() as i32;
    Piecewise::fit(
        format,
        &Shape {
            name: "erf",
            function: public::error_function,
            low: -pieces,
            pieces,
            width: 1,
            below: -1.0,
            above: Some(1.0),
        },
    )
}

/// Where `e^-x` is half of the last place.
fn vanishing(format: Format) -> f64 {
    f64::from(format.fraction + 1) * LN_2
}
