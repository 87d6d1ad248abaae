//! Tests of the protocols. One binary, so that their rings are compiled once.

mod bicoptor;
mod common;
mod conformance;
mod cost;
mod falcon;
mod histograms;
mod knowledge;
mod math;
mod mixed;
mod places;
mod shamir;
mod views;
