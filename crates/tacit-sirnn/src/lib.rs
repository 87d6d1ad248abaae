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
//! | `machine/` | the seam to models |
//! | `ot/` | where the OTs come from |
//!
//! # How it is built
//!
//! SiRnn has a crate of its own above the seam, `tacit-sirnn`: it shares nothing with the other systems
//! but the seam, and is built by itself. Every building block is a method of one `Engine`, made of
//! three primitives: a public function of two small numbers (`gates`), products of bits and numbers
//! (`products`), and AND (`ands`). All three consume random 1-of-2^m OTs, with m = 1 correlated ones,
//! which `ot/` makes by linear codes over small-field VOLEs. A tensor carries its width, 1 to 64 bits;
//! each function of `functions/` has its integer program in the clear beside the secure one. An engine
//! can also run without data or peer and count: that is the declared cost and the demand of a plan,
//! from the code that it is the cost of.

mod compare;
mod convert;
mod digits;
mod engine;
mod extend;
mod factor;
pub mod functions;
mod machine;
mod matrix;
mod message;
mod multiply;
pub mod ot;
mod relu;
mod shared;
mod sum;
#[cfg(test)]
mod tests;
mod truncate;

use tacit_protocols::signs::Signs;

pub use convert::Msb;
pub use digits::index_bits;
pub use engine::{Correlation, Engine, Gate, Tally};
pub use factor::Factor;
pub use machine::{Options, Products, Sirnn, SirnnCost, Tensor};
pub use matrix::product_bits;
pub use shared::Shared;

/// The number of parties.
pub const PARTIES: usize = 2;

/// Signs of numbers of any width, each in its own bits.
pub const SIGNS: Signs = Signs {
    key_bits: None,
    narrow: Some(|bits| bits),
};
