//! The four systems of Tacit, one folder each, behind one seam: [`machine::Machine`].

pub mod clear;
pub mod cost;
mod error;
pub mod falcon;
pub mod machine;
pub mod shamir;

pub use cost::Cost;
pub use error::Error;
