//! The n-party Shamir system: what can be chosen of it.

mod options;

pub use options::{Comparison, Opening};
