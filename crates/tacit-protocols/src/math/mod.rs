//! Non-linear mathematics in fixed point, written once over [`Machine`]: every protocol has it. The
//! algorithms are in docs/spec/functions.md.
//!
//! Each function is a public value, checked once when it is made: for which numbers of bits it
//! works and within which error. Its calls are listed by running it (`record.rs`), so that their
//! material can be demanded and their cost declared: hops and bytes are the sum of the calls.
//! Nothing about a secret is opened, its magnitude included, and no secret decides which calls are
//! made. Falcon's paper opens magnitudes; its way is kept for measuring, under the name of
//! [`Leakage::Magnitude`].
//!
//! | file | what | hops beside a comparison and a selection |
//! |---|---|---|
//! | `compare.rs` | `x >= y`, `x < y` | no selection |
//! | `top_k.rs` | the places of the `k` largest values | 1 of both; 2 of both and a selection for every level of groups before |
//! | `argmax.rs` | the place of the largest value | `ceil(log2 n)` of both and nearly as many selections |
//! | `maxpool.rs` | the largest value and its derivative, the one-hot of its place | `ceil(log2 n)` of both and of a product |
//! | `power.rs` | the `e` of `2^e <= x < 2^(e+1)` | none |
//! | `reciprocal.rs` | `1 / x` and `x / y` of a positive divisor | 6 or 7 products, of a wide span one more; one more to divide |
//! | `rsqrt.rs` | `1 / sqrt(x)`, `sqrt(x)` | 5 or 7 products, of a wide span one more, and a truncation |
//! | `functions.rs`, `piecewise.rs` | exp, sigmoid, tanh, erf by clipping and a polynomial, of odd ones of magnitudes | 4 to 7 products and a truncation; if odd a comparison and two selections more |
//! | `logarithm.rs` | `ln x` | 5 or 6 products and a truncation |
//! | `batch_norm.rs` | `(x - mean) / sqrt(variance + eps) * gamma + beta` | as `rsqrt.rs`, and 2 products |
//! | `elementary.rs` | the functions of one tensor by name | |
//! | `steps.rs`, `normal.rs`, `back.rs` | secret choices among public values; scaling to `[1/4, 1)`, and back | |
//! | `polynomial.rs`, `fit.rs` | polynomials in few products, and near a function | |
//! | `public.rs` | elementary functions of public numbers | |
//!
//! A span may reach from one unit of the argument to `2^(bits - 3)` of them, and the argument may have
//! fraction bits of its own. Over 64 bits the relative error is then at most `2^-20` beyond 2 units of
//! the result, over 32 bits `28 / 2^14`, and `2^-10` where a truncation errs by a unit at most (`gap`
//! and `exact`). Of what lies below, 0 and negative numbers included, the result is that of the lowest
//! value. `tacit-conformance/src/wide/` sweeps them, spans of 5 powers of two to all of the ring's.
//!
//! The cost of a span: for every two powers of two a comparison and a selection of an element, as many
//! hops for any; 4, 12 and 18 of them for spans of 8, 24 and 36, and of a reciprocal of the last an
//! eighth product. Falcon declares of an element and party, over 64 bits with `f = 16` and arguments of
//! 24 fraction bits of which nothing is promised:
//!
//! | powers of two in the span | 8 | 12 | 24 | 36 |
//! |---|---|---|---|---|
//! | reciprocal: hops; bytes | 29; 271 | 29; 339 | 31; 543 | 34; 756 |
//! | root, inverse root: the same | 31; 249 | 31; 316 | 33; 521 | 33; 722 |
//!
//! Errors are in units of `2^-f`, the last place of the values. A truncation is taken to be wrong
//! by at most 2 units; every protocol's is by less than 1, but malicious Falcon's `gap`, by up to 3/2, and `aby3`,
//! whose large errors, rare for small values, are frequent here.
//!
//! Measured on 6000 arguments each (`tacit bench`; roots of 1/64 to 64, so results up to 8, others of
//! magnitudes up to 8), the largest error for Falcon (`gap`) and Shamir, and what is stated of Shamir, of
//! roots for results up to 1; what Falcon declares over 64 bits with `f = 16` of any arguments, hops and
//! bytes of an element and party:
//!
//! | | 64 bits, f = 16 | 61, 16 | stated | 32, 12 | 31, 12 | stated | hops | bytes |
//! |---|---|---|---|---|---|---|---|---|
//! | rsqrt | 1.0 | 1.0 | 2.0 | 3.4 | 4.2 | 7.5 | 31 | 316 |
//! | exp | 1.0 | 1.1 | 2.4 | 1.1 | 1.2 | 3.6 | 27 | 158 |
//! | sigmoid | 1.2 | 1.2 | 2.4 | 1.2 | 1.3 | 4.5 | 42 | 187 |
//! | tanh | 1.1 | 1.1 | 2.2 | 1.3 | 1.4 | 5.0 | 42 | 187 |

mod argmax;
mod back;
mod batch_norm;
mod compare;
mod elementary;
mod fit;
mod functions;
mod logarithm;
mod maxpool;
mod normal;
mod piecewise;
mod polynomial;
mod power;
mod public;
mod reciprocal;
mod rsqrt;
mod squared;
mod steps;
mod top_k;

pub use batch_norm::{BatchNorm, Channels, Statistics};
pub use compare::{compare, less_than};
pub use elementary::{Elementary, FunctionKind, Number};
pub use functions::{Smooth, erf, exp, sigmoid, tanh};
pub use logarithm::Logarithm;
pub use maxpool::maxpool_with_derivative;
pub use normal::Span;
pub use power::{Leakage, Power};
pub use public::error_function;
pub use reciprocal::{Division, Reciprocal};
pub use rsqrt::InverseSqrt;
pub use squared::Squared;
pub use top_k::TopK;

use crate::Error;
use crate::machine::{Erased, Handle, Machine};
use public::{exp2, fixed};

/// A function of one tensor, element by element.
pub trait Function {
    /// The function of every element of `x`.
    fn apply(&self, machine: &mut Erased, x: &Handle) -> Result<Handle, Error>;
    /// The largest error of a result whose exact value is `value`, in units of `2^-f`.
    fn tolerance(&self, value: f64) -> f64;
}

/// The largest error of one truncation against the exact quotient.
const ROUNDING: f64 = 2.0;

/// How numbers are written: bits of the machine's ring or field, and fraction bits among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    bits: u32,
    fraction: u32,
    /// Fraction bits to which functions are near.
    near: u32,
}

impl Format {
    /// Values of `fraction` bits after the point over a ring or field of `bits` bits.
    ///
    /// Intermediate values have `(bits - 3) / 2` fraction bits, and one more than the values:
    /// `fraction` is at most 13 of 31 and 32 bits, 28 of 61 and 29 of 64.
    pub fn new(bits: u32, fraction: u32) -> Result<Self, Error> {
        let most = (bits.saturating_sub(3) / 2).saturating_sub(1);
        if !(1..=most).contains(&fraction) || bits > 64 {
            return Err(Error::Invalid(format!(
                "mathematics over {bits} bits is possible with 1 to {most} fraction bits, not {fraction}: the product of two intermediate values would leave the ring"
            )));
        }
        Ok(Format {
            bits,
            fraction,
            near: fraction,
        })
    }

    /// This format for functions that need be right to `places` fraction bits only, relatively for reciprocals and
    /// roots. They then take fewer products and state a larger error.
    pub fn near(self, places: u32) -> Self {
        let near = places.clamp(1, self.fraction);
        Format { near, ..self }
    }

    /// Fraction bits to which functions are right.
    pub fn nearness(&self) -> u32 {
        self.near
    }

    /// The units of the last place that count as one.
    fn coarseness(&self) -> f64 {
        exp2((self.fraction - self.near) as i32)
    }

    /// The relative error that reciprocals and roots may have, if they need not be as near as they can.
    fn relaxed(&self) -> Option<f64> {
        (self.near < self.fraction).then(|| exp2(-(self.near as i32) - 1))
    }

    /// Bits of the ring or field.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Fraction bits.
    pub fn fraction(&self) -> u32 {
        self.fraction
    }

    /// `2^f`.
    pub fn one(&self) -> f64 {
        exp2(self.fraction as i32)
    }

    /// Products stay below `2^room`, half of what every truncation is right for.
    fn room(&self) -> u32 {
        self.bits - 3
    }

    /// Refuses a machine over another ring.
    fn check(&self, machine: &Erased) -> Result<(), Error> {
        if machine.element_bits() == self.bits {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "a function over {} bits was given a machine over {}",
            self.bits,
            machine.element_bits()
        )))
    }
}

/// `k - x` for a public `k`. Local.
fn constant_minus(machine: &mut Erased, k: i64, x: &Handle) -> Handle {
    let n = machine.len(x);
    let k = machine.constant_by(n, || vec![k; n]);
    machine.sub(&k, x)
}
