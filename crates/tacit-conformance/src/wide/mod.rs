//! The common mathematics over the widest domains: spans of many powers of two, arguments with
//! fraction bits of their own, and what lies outside, within the stated errors.

mod domain;
mod functions;
mod near;
mod promises;

use crate::*;
use domain::*;

pub use domain::{DENSE, SPARSE};
pub use functions::*;
pub use near::*;
pub use promises::*;

/// A test for each function in a format, by so many arguments.
#[macro_export]
macro_rules! wide {
    (|$check:ident| $on:expr) => {
        $crate::tests! { |$check| $on, wide:
            reciprocals
            inverse_square_roots
            square_roots
            bounding_powers
            logarithms
            exponentials
            quotients
            batch_norms
            fewer_places
            promised_bits
            costs
        }
    };
}
