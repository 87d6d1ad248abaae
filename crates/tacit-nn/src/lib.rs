//! Models: ONNX import, the float32 reference, fixed-point planning and execution.
//!
//! Nothing here knows which protocol runs or what joins the parties.

pub mod encode;
pub mod execute;
pub mod graph;
mod index;
pub mod onnx;
mod optimise;
pub mod plan;
pub mod reference;
mod tail;

pub use graph::Graph;
pub use plan::{Plan, PlanOptions};
