//! SiRnn: two parties, semi-honest, oblivious transfer, no helper (Rathee, Rathee, Goli, Gupta,
//! Sharma, Chandran, Rastogi: "SiRnn: A Math Library for Secure RNN Inference", S&P 2021).
//!
//! Party 0 is the server, party 1 the client. A value is the sum of its two shares modulo `2^bits`
//! and every tensor has its own `bits`; a bit is the xor of its two shares.
//!
//! | file | what |
//! |---|---|
//! | `engine/` | a party's engine: OTs into gates, products, ANDs |
//! | `compare.rs` | Millionaires', wraps, equality, signs |
//! | `sum.rs` | sums of products whose factors lie at different parties |
//! | `convert.rs` | B2A, MUX, look-ups, MSB-to-Wrap |
//! | `extend.rs`, `truncate.rs` | other widths, shifts, divisions by powers of two |
//! | `factor.rs`, `multiply.rs`, `matrix.rs` | products of factors of different widths |
//! | `digits.rs` | digits, the most significant bit that is 1 |
//! | `relu.rs` | ReLU, ReLU6, maxpool, argmax |
//! | `functions/` | exponentials, reciprocals, roots and what is made of them |

mod compare;
mod convert;
mod digits;
mod engine;
mod extend;
mod factor;
pub mod functions;
mod matrix;
mod multiply;
pub mod ot;
mod relu;
mod shared;
mod sum;
#[cfg(test)]
mod tests;
mod truncate;

pub use convert::Msb;
pub use digits::index_bits;
pub use engine::{Correlation, Engine, Gate, Tally};
pub use factor::Factor;
pub use matrix::product_bits;
pub use shared::Shared;

/// The number of parties.
pub const PARTIES: usize = 2;
