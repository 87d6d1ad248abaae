//! Tests of the mathematics.

mod errors;
mod reference;
