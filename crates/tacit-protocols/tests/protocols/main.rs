//! Tests of the protocols. One binary, so that their rings are compiled once.

mod common;
mod conformance;
mod cost;
mod falcon;
mod math;
mod shamir;
