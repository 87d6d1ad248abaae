//! Parties and the links between them: the second floor of Tacit.
//!
//! A [`Party`] is one party's end of a run. It sends and receives messages of bytes, each under
//! the name of its step, and meters them. What carries the messages is chosen when the parties
//! are made: [`memory::mesh`] for threads of one process, [`tcp::connect`] for parties apart.
//! Either can emulate a [`LinkModel`]. Nothing here knows what the bytes mean.
//!
//! # A party is a program with a context
//!
//! `tacit_net::Party` is an identity, links and meters. Protocol functions take the machine that owns
//! it and shares, and return shares. `send` queues and returns at once, `recv` blocks and has a time
//! limit; so straight-line code in the order of the paper cannot deadlock. Every message carries the
//! name of its step: two parties that run different programs find out at the first message, and an
//! error names the step.
//!
//! # Rounds
//!
//! A round is one hop: a one-way message delay on the longest causal path. The meters count hops by a
//! Lamport clock that every message carries and that starts anew with every layer and phase, so a
//! layer's rounds are the longest path within it. The sum over layers is what a run reports.

mod agree;
pub mod certs;
mod count;
mod emulate;
mod error;
mod frame;
pub mod interrupt;
mod link;
mod meeting;
pub mod memory;
mod meter;
mod party;
mod queue;
pub mod tcp;
pub mod testing;
mod time;

pub use agree::agree;
pub use count::{Trace, longest_path};
pub use emulate::LinkModel;
pub use error::{FrameFault, Loss, NetError};
pub use frame::VERSION as WIRE_VERSION;
pub use meeting::Meeting;
pub use meter::{Meter, NO_LAYER, Phase, Traffic};
pub use party::Party;
pub use time::date;
