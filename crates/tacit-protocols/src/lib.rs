//! The four systems of Tacit, one folder each, behind one seam: [`machine::Machine`].

mod batches;
pub mod bicoptor;
mod bilinear;
mod call;
pub mod clear;
pub mod cost;
mod error;
pub mod falcon;
mod keys;
pub mod machine;
pub mod math;
pub mod pool;
pub mod portions;
pub mod record;
mod replicated;
pub mod shamir;
mod tree;
mod truncation;

pub use cost::Cost;
pub use error::Error;
pub use record::lowered;
pub use truncation::Truncation;
