//! The four systems of Tacit, one folder each, behind one seam: [`machine::Machine`].
//!
//! # The seam between models and protocols
//!
//! `tacit_protocols::machine::Machine` is a secure tensor machine over integers of a ring: input,
//! reveal, linear maps, products with one truncation per output element, DReLU, ReLU, select, maxpool.
//! All products are one call, `linear`, whatever their kind. The seam was kept to what inference needs;
//! it grows with the operations that are really there. A protocol runs over a ring type (`u8`, `u16`,
//! `u32`, `u64`) or a field (`F5` to `F61`, of `2^l - 1` elements); the small ones exist for exhaustive
//! tests. What a protocol does not do natively it inherits from algorithms written once over the
//! machine's own calls (`pool.rs`, `math/`).
//!
//! Whoever calls knows no protocol: every machine is made in its protocol's folder and hidden behind one
//! type, [`machine::Erased`], the recorder of calls too. So models, training, sessions, measurements and
//! the functions of `math/` are compiled once, and a protocol once for every ring.
//!
//! # Correlated randomness is demanded, not faked
//!
//! The machine's calls (`machine::Call`) are listed before any data arrives. `prepare` makes exactly
//! their material between the parties, in the offline phase; an online call whose material is missing
//! is an error. The streams of a key have no seek and no copy, so a position cannot be used twice.
//!
//! # Material is made in portions
//!
//! A program begins its stages on the machine (`Machine::stage`, `layer`), which makes the portion that
//! begins there (`material_portions.rs`), in the offline phase by the meters. A layer of a prediction
//! takes as many items of a batch at a time as have little enough material (`execute/batch.rs`), so
//! memory does not grow with the batch. Portions follow from public sizes. The threads of one process
//! have small ones between them; a party apart has larger ones, since each portion more is rounds on a
//! network (`tacit-run/src/instance.rs`).
//!
//! # A program is written once
//!
//! What it demands and costs is found by running it on a machine that only lists calls (`record.rs` of
//! floor 3): the execution of a plan, a function of `math/`, a step of training. Shares are lengths
//! there, and an index or a constant of a whole batch is made only where a machine has data
//! (`gather_by`, `constant_by`), so that listing takes no longer for a larger batch.
//!
//! # Functions are asked for by name
//!
//! A plan asks for a sigmoid or a reciprocal as one call with its format and domain
//! (`math::Elementary`). A protocol that has a way of its own computes it; for all others `lowered`
//! replaces the call by those of the program in `math/`, wherever the calls of a plan are prepared,
//! counted or stored. The planner takes the domains from the ranges of the arguments, the worst case
//! wherever it fits, and lets sums of squares on the way to an inverse root keep up to twice the
//! fraction bits (`plan/variance.rs`).
//!
//! # Signs are asked about before there are parties
//!
//! A plan is made for whichever protocol will run it. What it promises of signs, so that they cost less,
//! it asks of the protocols' answers (`signs.rs`): each says of key bits how wide a ring must be, and of
//! numbers that are narrower than the ring in how many bits it takes exact signs of them.
//!
//! # Cost is counted by the code
//!
//! A protocol's `CostModel` gives hops and bytes of every call: the protocol itself runs at parties that
//! count (`count.rs`), on shares that have a size alone (`tacit_algebra::buffer`), sends nothing, and
//! notes what it would send and wait for (`tacit_net::longest_path`). So a count takes a step for each message,
//! however long, and a step of the protocol that is changed is counted as it is. What is done again by
//! chance is not counted. Tests hold every cost against the meters, for every call, ring and kind of
//! truncation, and for whole plans. The same numbers predict a run before it starts.

mod batches;
pub mod bicoptor;
mod bilinear;
mod call;
pub mod clear;
pub mod cost;
pub mod count;
mod error;
pub mod falcon;
mod keys;
pub mod machine;
pub mod material_portions;
mod material_queue;
pub mod math;
pub mod message;
pub mod pool;
pub mod record;
mod replicated;
pub mod shamir;
pub mod signs;
mod tree;
mod truncation;

pub use cost::Cost;
pub use error::Error;
pub use record::lowered;
pub use truncation::Truncation;
