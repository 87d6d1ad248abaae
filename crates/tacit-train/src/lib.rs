//! Training of networks on shared data: forward, backward and the optimiser's step as programs over
//! [`tacit_protocols::machine::Machine`], so that every protocol trains.
//!
//! | file | what |
//! |---|---|
//! | `network.rs`, `layer.rs` | a network: layers, what each reads, its parameters |
//! | `spec.rs`, `place.rs` | layers as a config has them, and on inputs of a shape |
//! | `layers/` | each layer's forward and backward pass |
//! | `loss.rs` | softmax with cross-entropy, mean squared error |
//! | `sgd.rs`, `adam.rs`, `optimiser.rs` | the optimisers, the learning rate's schedule |
//! | `step.rs` | one mini-batch, and the evaluation of one |
//! | `reference.rs` | the same training in float32, in the clear |
//! | `export.rs`, `import.rs` | networks as ONNX files, and out of them |
//! | `order.rs` | the order of the items in every epoch |
//!
//! What a step demands is found by running it on a machine that only lists calls
//! ([`calls_by_stage`]).
//!
//! Numbers have `f` fraction bits over the machine's ring. A product of two has `2 f`; it is
//! truncated once. Gradients of parameters are sums over the mini-batch, kept at `2 f` until the
//! optimiser truncates.
//!
//! # Where a training runs
//!
//! A training step is a program over `Machine` like any other: layers' forward and backward passes, the
//! loss, the optimiser (`tacit-train`). What it demands is found by running it, so there is no plan to
//! keep in step with the code. Convolutions' gradients are convolutions of gathered operands, so no
//! protocol needs more than prediction does. Floor 5 (`tacit-run/src/train/`) shares the data, goes
//! through the epochs and keeps checkpoints; the same list of calls tells what a training will cost
//! (`cost.rs`). The network's layers are not sent: every party has them in its config, and the parties
//! compare a hash (`tacit-run/src/train/agree.rs`).

mod adam;
mod error;
mod export;
mod fixed;
mod import;
mod layer;
mod layers;
mod loss;
mod network;
mod optimiser;
mod order;
mod place;
mod reference;
mod sgd;
mod spec;
mod step;

pub use adam::Adam;
pub use error::Error;
pub use export::to_onnx;
pub use fixed::{Beyond, FixedPoint};
pub use import::from_graph;
pub use layer::{Layer, Parameter, ParameterKind, Smooth};
pub use layers::Coin;
pub use loss::{Loss, Scores};
pub use network::Network;
pub use optimiser::Optimiser;
pub use order::{Order, uniform};
pub use reference::Reference;
pub use sgd::{Schedule, Sgd};
pub use spec::{LayerSpec, Placed, named, names};
pub use step::{State, Training, calls_by_stage};
