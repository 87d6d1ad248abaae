//! Mathematics: exponentials, reciprocals and what is made of them, by look-up tables and few
//! iterations (section V of the paper), all on fixed-point numbers of any width.
//!
//! Every function is a struct made by a checked constructor, which computes its tables. `clear` is
//! the function on a number in the clear, `apply` the same on shares: no step rounds differently,
//! so that the two are equal bit by bit.
//!
//! | file | what |
//! |---|---|
//! | `exp.rs` | `exp(x)` of `x <= 0` |
//! | `reciprocal.rs` | `1 / (1 + e)` of `0 <= e <= 1` |
//! | `logistic.rs` | `1 / (1 + exp(-|x|))`, what sigmoids and tanhs share |
//! | `sigmoid.rs`, `tanh.rs` | these |
//! | `normal.rs` | numbers brought between 1 and 2 |
//! | `rsqrt.rs` | square roots and their inverses |
//! | `exact.rs` | entries of tables, rounded down from exact values |
//! | `clear.rs` | the building blocks on numbers in the clear |

mod clear;
mod exact;
mod exp;
mod logistic;
mod normal;
mod reciprocal;
mod rsqrt;
mod sigmoid;
mod tanh;
#[cfg(test)]
mod tests;

use tacit_protocols::Error;

pub use exp::Exp;
pub use reciprocal::Reciprocal;
pub use rsqrt::SquareRoot;
pub use sigmoid::Sigmoid;
pub use tanh::Tanh;

/// The paper's width of the digits that index tables.
pub const DIGIT: u32 = 8;

/// A fixed-point number: a real `r` is `floor(r 2^scale)` modulo `2^bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The width.
    pub bits: u32,
    /// The number of fraction bits.
    pub scale: u32,
}

impl Format {
    /// A format of `bits` bits of which `scale` are fraction bits.
    pub fn new(bits: u32, scale: u32) -> Self {
        Format { bits, scale }
    }
}

/// An error of `what`, unless `fits`.
fn require(fits: bool, what: impl FnOnce() -> String) -> Result<(), Error> {
    match fits {
        true => Ok(()),
        false => Err(Error::Invalid(what())),
    }
}
