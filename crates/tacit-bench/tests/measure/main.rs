//! Tests of measurements. One binary, so that the protocols are compiled for it once.

#[path = "../../../tacit-run/tests/run/common.rs"]
#[allow(dead_code, reason = "tests of runs share it")]
mod common;
mod operations;
mod truncation;
