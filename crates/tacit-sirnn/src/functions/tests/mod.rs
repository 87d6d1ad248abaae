//! Tests of the mathematics.

mod errors;
mod reference;
mod secure;
mod traffic;
mod vectors;
mod wide;
