//! Encryption under ring learning with errors, as products of secret numbers with public or known
//! ones need it (docs/spec/rlwe.md).
//!
//! A polynomial has `N` coefficients modulo `X^N + 1` and modulo `q`, a product of primes below
//! `2^50`, and is kept as its residues modulo each prime. A ciphertext of numbers modulo `2^l` is a
//! pair `(a, b)` with `b + a s = q / 2^l m + e` for the secret polynomial `s`: it can be multiplied
//! by polynomials of small whole numbers, added to others, and several can be packed into one.
//!
//! | file | what |
//! |---|---|
//! | `modulus.rs` | arithmetic modulo one prime; primes |
//! | `ntt.rs`, `ntt/` | number-theoretic transforms: portable, by AVX2 with FMA, and by AVX-512 IFMA |
//! | `basis.rs` | polynomials as residues modulo several primes |
//! | `parameters.rs` | degrees and moduli, and the security that they have |
//! | `sample.rs` | uniform, ternary and error polynomials |
//! | `keys.rs` | secret keys, keys that anybody encrypts with, keys of automorphisms |
//! | `cipher.rs` | encryption, products, re-randomisation |
//! | `pack.rs` | many ciphertexts' coefficients in one |
//! | `answer.rs` | small ciphertexts of single coefficients: made and opened |
//! | `wire.rs` | residues as bytes |
//!
//! This crate knows no parties: who holds what is `tacit-sirnn`'s business.

pub mod answer;
pub mod basis;
pub mod cipher;
pub mod keys;
pub mod modulus;
pub mod ntt;
pub mod pack;
pub mod parameters;
pub mod sample;
#[cfg(test)]
mod tests;
pub mod wire;

pub use answer::Answer;
pub use basis::{Basis, Poly};
pub use cipher::{Ciphertext, Sums};
pub use keys::{Evaluation, Secret};
pub use parameters::Parameters;
