//! Mathematics: exponentials, reciprocals and what is made of them, by look-up tables and few
//! iterations (SiRnn, section V; docs/spec/sirnn.md, sections 10 to 13), all on fixed-point numbers
//! of any width.
//!
//! Every function is a struct made by a checked constructor, which computes its tables. `clear` is
//! the function on a number in the clear, `apply` the same on shares: no step rounds differently,
//! so that the two are equal bit by bit. The result's `bits` have room for its largest value.
//!
//! Errors are in units of the last place of the result: "real" is `|y - f 2^scale|`, "int" is
//! `|y - trunc(f 2^scale)|`, the paper's. They are the largest of all 16-bit inputs and the paper's
//! pairs of scales, 6, 8, 11, 12, 13 to these and 14.
//!
//! | file | what |
//! |---|---|
//! | `exp.rs` | `exp(x)` of `x <= 0`, or up to a bound |
//! | `reciprocal.rs` | `1 / (1 + e)` of `0 <= e <= 1` |
//! | `logistic.rs` | `1 / (1 + exp(-|x|))`, what sigmoids and tanhs share |
//! | `sigmoid.rs`, `tanh.rs` | these |
//! | `erf.rs` | the error function, beyond the paper |
//! | `normal.rs` | numbers brought between 1 and 2 |
//! | `rsqrt.rs` | square roots and their inverses |
//! | `inverse.rs` | `1 / x`, beyond the paper |
//! | `normalise.rs` | vectors divided by their length |
//! | `softmax.rs` | softmax, beyond the paper |
//! | `gelu.rs`, `layer_norm.rs` | these, beyond the paper |
//! | `exact.rs` | entries of tables, rounded down from exact values |
//! | `clear.rs` | the building blocks on numbers in the clear |

mod clear;
mod erf;
mod exact;
mod exp;
mod gelu;
mod inverse;
mod layer_norm;
mod logistic;
mod normal;
mod normalise;
mod reciprocal;
mod rsqrt;
mod sigmoid;
mod softmax;
mod tanh;
#[cfg(test)]
mod tests;

use tacit_algebra::ot::words;
use tacit_algebra::{Bits, vec};
use tacit_protocols::Error;

use crate::sum::{Shape, Sum};
use crate::{Engine, Msb, Shared};

pub use erf::Erf;
pub use exp::Exp;
pub use gelu::Gelu;
pub use inverse::Inverse;
pub use layer_norm::LayerNorm;
pub use normalise::Normalise;
pub use reciprocal::Reciprocal;
pub use rsqrt::SquareRoot;
pub use sigmoid::Sigmoid;
pub use softmax::Softmax;
pub use tanh::Tanh;

/// What is known of most numbers in between.
const POSITIVE: Msb = Msb::Public(false);

/// Bits of the digits that index tables, at most. With the paper's 8, numbers of 16 bits take a
/// product less, which is worth its larger tables only where an OT costs 128 bits.
pub const DIGIT: u32 = 7;

/// A fixed-point number: a real `r` is `floor(r 2^scale)` modulo `2^bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Bits of the number.
    pub bits: u32,
    /// The number of fraction bits.
    pub scale: u32,
}

impl Format {
    /// A format of `bits` bits of which `scale` are fraction bits.
    pub fn new(bits: u32, scale: u32) -> Self {
        Format { bits, scale }
    }
}

/// An error of `what`, unless `fits`.
fn require(fits: bool, what: impl FnOnce() -> String) -> Result<(), Error> {
    match fits {
        true => Ok(()),
        false => Err(Error::Invalid(what())),
    }
}

/// `floor(x y / 2^shift)` in `bits` bits, where the top bits of both are known to be 0.
fn multiply_shift(
    engine: &mut Engine,
    x: &Shared,
    y: &Shared,
    shift: u32,
    bits: u32,
) -> Result<Shared, Error> {
    let product = engine.multiply_unsigned(x, y, bits + shift, &POSITIVE, &POSITIVE)?;
    engine.truncate_reduce(&product, shift)
}

/// `2 centre - x` where `bits` has a 1, else `x`: a MUX of one bit less than `x`, 2 hops.
fn reflect(engine: &mut Engine, bits: &Bits, x: &Shared, centre: u64) -> Result<Shared, Error> {
    let way = engine.add_public(&x.scale(u64::MAX), centre);
    let mut sum = Sum::new(engine, x.bits, x.values.clone());
    sum.select(bits, &way.values, [true; 2], Shape::elements(x.len()), 2);
    engine.sum("sirnn: reflection", sum)
}

/// `x` modulo `2^bits`; where these are more, its top bit is known to be 0.
fn resize_positive(engine: &mut Engine, x: &Shared, bits: u32) -> Result<Shared, Error> {
    match bits <= x.bits {
        true => Ok(x.reduce(bits)),
        false => engine.zero_extend(x, bits, &POSITIVE),
    }
}

/// `x 2^k` in `k` bits more. Local.
fn shift_up(x: &Shared, k: u32) -> Shared {
    Shared::new(x.bits + k, &vec::shl(&x.values, k))
}

/// Tensors of one width as one. Local.
fn concat(parts: &[&Shared]) -> Shared {
    let values: Vec<_> = parts.iter().map(|part| part.values.as_slice()).collect();
    Shared::new(parts[0].bits, &values.concat())
}

/// A tensor as `parts` of equal size. Local.
fn split(x: &Shared, parts: usize) -> Vec<Shared> {
    let n = x.len() / parts;
    let part = |i| Shared::new(x.bits, &x.values[i * n..(i + 1) * n]);
    (0..parts).map(part).collect()
}

/// Shared bits of a tensor of one bit. Local.
fn bits_of(x: &Shared) -> Bits {
    words::bit(&x.values, 0)
}
