//! Prime fields of Mersenne order `p = 2^l - 1`, for Shamir sharing.
//!
//! Values are canonical, `0..p` and never `p`, wherever a function takes or returns them; inside
//! a kernel they are reduced as late as possible. No branch and no address depends on a value,
//! except where a function says that it is for public ones.
//!
//! Over `2^l - 1` a word is reduced by adding its upper part to its lower `l` bits. Products of
//! `F31` are 64-bit words, those of `F61` are put together from four of them; both vectorise.

mod bits;
pub mod buffer;
mod compare;
mod field;
mod kernel;
mod matrix;
mod power;
mod product;
mod random;
mod rotate;
mod truncate;
pub mod vec;
mod wire;

pub use bits::{of_bits, to_bits};
pub use compare::{flip, low_bit, tree_leaves};
pub use field::{F5, F7, F13, F31, F61};
pub use matrix::{Matrix, combine};
pub use power::sign_bits;
pub use product::{batch_matmul_acc, conv2d_acc, matmul_acc};
pub use rotate::{rot_correlate, rot_payload, rot_positions, rot_size, rot_zero};
pub use truncate::{finish_truncation, weighted_bits};
pub use wire::{from_wire, to_wire};

use crate::kernel::Kernels;
use field::Lazy;

/// The field of integers modulo `2^BITS - 1`, a prime.
///
/// [`F31`] and [`F61`] carry the protocols; the others are small enough for exhaustive tests.
pub trait Field:
    Lazy + Kernels + bytemuck::Pod + Default + Eq + std::fmt::Debug + Send + Sync + 'static
{
    /// Bits of an element: `l`.
    const BITS: u32;
    /// The order, `2^BITS - 1`.
    const P: u64;
    /// Bytes of an element on the wire.
    const BYTES: usize;
    /// The neutral element of addition.
    const ZERO: Self;
    /// The neutral element of multiplication.
    const ONE: Self;

    /// `v mod p`.
    fn from_u64(v: u64) -> Self;
    /// The representative in `0..p`.
    fn to_u64(self) -> u64;
    /// `v mod p`.
    fn from_i64(v: i64) -> Self;
    /// The representative of at most `(p - 1) / 2` in absolute value.
    fn to_i64(self) -> i64;
    /// `self + o`.
    fn add(self, o: Self) -> Self;
    /// `self - o`.
    fn sub(self, o: Self) -> Self;
    /// `-self`.
    fn neg(self) -> Self;
    /// `self * o`.
    fn mul(self, o: Self) -> Self;
    /// The multiplicative inverse; 0 for 0.
    fn inverse(self) -> Self;
}

/// Runs a generic test on every field.
#[cfg(test)]
macro_rules! on_every_field {
    ($test:ident) => {
        $test::<$crate::mersenne::F5>();
        $test::<$crate::mersenne::F7>();
        $test::<$crate::mersenne::F13>();
        $test::<$crate::mersenne::F31>();
        $test::<$crate::mersenne::F61>();
    };
}
#[cfg(test)]
pub(crate) use on_every_field;

/// The values where carries and signs change.
#[cfg(test)]
pub(crate) fn edges<F: Field>() -> Vec<F> {
    let p = F::P;
    [
        0,
        1,
        2,
        3,
        p - 1,
        p - 2,
        (p - 1) / 2,
        p.div_ceil(2),
        p.div_ceil(2) + 1,
    ]
    .map(F::from_u64)
    .to_vec()
}

/// `n` values of the field, the edges first and last where there is room.
#[cfg(test)]
pub(crate) fn sample<F: Field>(seed: u8, n: usize) -> Vec<F> {
    let edges = edges::<F>();
    let mut out = crate::Prg::new([seed; 16]).field::<F>(n);
    let turn = seed as usize % edges.len();
    let turned = edges.iter().cycle().skip(turn).take(edges.len());
    out.iter_mut()
        .zip(turned.clone())
        .for_each(|(o, e)| *o = *e);
    let from = n.saturating_sub(edges.len());
    out[from..]
        .iter_mut()
        .zip(turned)
        .for_each(|(o, e)| *o = *e);
    out
}
