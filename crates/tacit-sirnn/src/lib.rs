//! SiRnn: two parties, semi-honest, oblivious transfer, no helper (Rathee, Rathee, Goli, Gupta,
//! Sharma, Chandran, Rastogi: "SiRnn: A Math Library for Secure RNN Inference", S&P 2021).
//!
//! Party 0 is the server, party 1 the client. A value is the sum of its two shares modulo `2^bits`
//! and every tensor has its own `bits`; a bit is the xor of its two shares.

mod engine;
pub mod functions;
pub mod ot;
mod shared;

pub use engine::{Correlation, Engine, Gate, Tally};
pub use shared::Shared;

/// The number of parties.
pub const PARTIES: usize = 2;
