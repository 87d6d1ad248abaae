//! Models: ONNX import, the float32 reference, fixed-point planning and execution.
//!
//! Nothing here knows which protocol runs or what joins the parties.
//!
//! # A model is planned before it is run
//!
//! ONNX -> graph -> plan -> execution. The plan holds shapes, scales and layers but no weights: it is
//! public, the model's owner sends it to the others, and its hash is among the items that the parties
//! compare before anything secret moves. Ranges that would leave the ring are refused with the layer's
//! name. What a plan provides for and how precise it is are chosen together (`plan/choice.rs`): ranges
//! of the worst case or of samples (`plan/bounds.rs`, `plan/construction.rs`) with several numbers of
//! fraction bits, each tried in the clear (`plan/trial.rs`); of those that round well enough the one is
//! taken about which there are the fewest doubts (`plan/doubts.rs`), and these become warnings. The
//! graph and the samples are kept, so a run whose protocol computes in another ring or field has the
//! model planned again for that, unless the user insists on one.
//!
//! # Weights have an identity
//!
//! A recurrent network is unrolled at import: the products with all inputs are one layer, each step
//! adds layers of its own. Steps hold the same allocation of weights, of which the plan says
//! `weights_of` an earlier layer; they are shared, fixed and stored once. Identity is that of the
//! tensor in the file, never equality of numbers, of which a public plan must not tell.
//!
//! # Signs are taken no wider than they must be
//!
//! Over 64 bits the planner knows from the weights how large a compared value can become in the worst
//! case. It asks the protocols in how many bits they take exact signs of such values
//! (`PlanOptions::signs`): where these are fewer than the ring's, the answer is the same at less cost. It
//! gives up at most two fraction bits for this, and never relies on samples for it. Beside that every
//! layer that takes signs has *key bits* (`plan/keys.rs`): the promise of where in its values the sign is,
//! for a protocol whose comparison costs less the fewer bits it looks at. Left alone they hold the worst
//! case, or all bits where the ring has no room to look at so many; asked for, they drop low bits too, as
//! many as are named (`5.2`) or as many as the samples' classes bear (`plan/key_search.rs`, with the signs
//! of `reference/signs.rs` at their worst).
//!
//! Who promises nothing (`KeyBits::ALL`: functions, training) gets the sign of every ring element, on
//! every protocol.
//!
//! # Widths
//!
//! Where a protocol gains by it (`CostModel::mixed`), every tensor has a width and a scale of its own
//! (`plan/mixed.rs`). The calls of the plan then say their widths; shares know theirs. A layer is a
//! product in as many bits as its result and its truncation need, and one truncation to the result's
//! width. Values that meet without a product share a scale, and have as many bits as the widest result
//! made of them, so nothing is extended in a sum; every value is below a quarter of its range, so that
//! a wrap takes one small OT instead of a comparison. Any other protocol computes the same program over
//! its ring and takes no notice of widths.

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
