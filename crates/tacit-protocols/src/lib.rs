//! The four systems of Tacit, one folder each, behind one seam: [`machine::Machine`].

mod batches;
pub mod bicoptor;
mod bilinear;
pub mod clear;
pub mod cost;
mod error;
pub mod falcon;
mod keys;
pub mod machine;
pub mod math;
pub mod mixed;
pub mod pool;
mod replicated;
pub mod shamir;
mod tree;
mod truncation;

pub use cost::Cost;
pub use error::Error;
pub use truncation::Truncation;
