//! What tacit-nn promises to others, in one binary: each binary compiles the machines anew. Only
//! `hostile_plans` is one of its own, because it counts what the whole process allocates.

#[path = "../common/mod.rs"]
mod common;
mod fields;
#[path = "../common/fixed.rs"]
mod fixed;
mod fixed_point;
mod functions;
mod hostile;
mod integers;
mod key_bits;
mod onnx_rules;
mod operations;
mod planning;
mod plans_that_lie;
mod real_models;
mod recurrent;
mod reveal;
mod tables;
mod tampering;
mod variance;
mod widths;
