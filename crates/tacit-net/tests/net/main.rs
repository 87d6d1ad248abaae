//! Tests of this crate from outside, in one binary: linking is most of what tests cost.

mod agree;
mod certificates;
mod common;
mod harness;
mod hostile;
mod joining;
mod memory;
mod overlap;
mod reasons;
mod strangers;
mod tcp;
