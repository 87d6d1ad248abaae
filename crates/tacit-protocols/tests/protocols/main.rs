//! Tests of the protocols. One binary, so that their rings are compiled once.

mod bicoptor;
mod conformance;
mod cost;
mod falcon;
mod math;
mod mixed;
mod places;
mod shamir;
mod subjects;
mod views;
mod wide;
mod wire;
