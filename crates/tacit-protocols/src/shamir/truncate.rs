//! Truncation of fixed-point values (Liu et al., Protocols 3.1 and 3.2; docs/spec/liu24.md,
//! section 3).
//!
//! For `abs(a) < 2^{l-2}`: `b = a + 2^{l-2}` is opened under a uniform `r`, and the shifted parts
//! are put together: `Trunc_d(c) - Trunc_d(r) + e (2^{l-d} - 1) - 2^{l-d-2}` with
//! `e = (1 - r_msb) c_msb`. For `d >= 2` the offset is larger by `2^{d-2}`, which takes away the
//! paper's bias of a quarter of a unit (and as much from the upper end of the range). The error
//! against `floor(a / 2^d)` is -1 to 2; against the true quotient its mean is `2^{-d-2}`, for `d = 1`
//! -1/8, less `a (1 - 2^-d) / p`, which counts where `a` is not small for the field.

use tacit_algebra::mersenne::{Field, finish_truncation, vec};

use super::Shamir;
use super::demand::Want;
use super::material::{Material, TruncTriple};
use crate::Error;

const OPEN_MASKED: &str = "shamir truncate: masked value";

impl<F: Field> Shamir<F> {
    /// Trunc (Liu et al., Protocol 3.1): `a / 2^d` of a shared `a`. 1 opening of degree `t`.
    pub(super) fn trunc(&mut self, a: Vec<F>, d: u32) -> Result<Vec<F>, Error> {
        let triple = self.take_triple(a.len(), d, false)?;
        self.open_and_shift(a, d, self.params.threshold, &triple)
    }

    /// Fixed-Mult's second half (Liu et al., Protocol 3.2): `z / 2^d` of a product `z` of degree
    /// `2t`, before any sharing of it is made. 1 opening.
    pub(super) fn trunc_product(&mut self, z: Vec<F>, d: u32) -> Result<Vec<F>, Error> {
        let triple = self.take_triple(z.len(), d, true)?;
        self.open_and_shift(z, d, 2 * self.params.threshold, &triple)
    }

    fn open_and_shift(
        &mut self,
        mut b: Vec<F>,
        d: u32,
        degree: usize,
        triple: &TruncTriple<F>,
    ) -> Result<Vec<F>, Error> {
        let top = 1u64 << (F::BITS - 2);
        let unbiased = if d >= 2 { 1u64 << (d - 2) } else { 0 };
        vec::add_assign(&mut b, &triple.mask);
        vec::add_scalar_assign(&mut b, F::from_u64(top + unbiased));
        let c = self.reveal_shares(OPEN_MASKED, b, degree)?;
        let back = F::from_u64(top >> d);
        Ok(finish_truncation(&c, &triple.shifted, &triple.msb, d, back))
    }

    fn take_triple(&mut self, n: usize, d: u32, product: bool) -> Result<TruncTriple<F>, Error> {
        match self.take(Want::Truncate { n, d, product })? {
            Material::Truncate(triple) => Ok(triple),
            _ => unreachable!("material lies with its want"),
        }
    }
}
