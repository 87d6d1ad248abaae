//! Parties and the links between them: the second floor of Tacit.
//!
//! A [`Party`] is one party's end of a run. It sends and receives messages of bytes, each under
//! the name of its step, and meters them. What carries the messages is chosen when the parties
//! are made: [`memory::mesh`] for threads of one process, [`tcp::connect`] for parties apart.
//! Either can emulate a [`LinkModel`]. Nothing here knows what the bytes mean.

mod agree;
pub mod certs;
mod emulate;
mod error;
mod frame;
pub mod interrupt;
mod link;
pub mod memory;
mod meter;
mod party;
mod queue;
pub mod tcp;
pub mod testing;
mod time;

pub use agree::agree;
pub use emulate::LinkModel;
pub use error::{FrameFault, Loss, NetError};
pub use meter::{Meter, NO_LAYER, Phase, Traffic};
pub use party::Party;
pub use time::date;
