//! Tests of Falcon. One binary, so that its rings are compiled once.

mod common;
mod cost;
mod exact;
mod faults;
mod privacy;
mod truncation;
