//! Truncation of fixed-point values (Liu et al., Protocols 3.1 and 3.2; docs/spec/liu24.md,
//! section 3).
//!
//! For `-2^{l-2} <= a < 2^{l-2}`: `b = a + 2^{l-2}` is opened under a uniform `r` as `c`, and the parts
//! are put together: `(c >> d) - (r >> d) + r_msb (1 - c_msb) 2^{l-d} - 2^{l-d-2}`. As `b < 2^{l-1}`, `b + r`
//! reached the prime where `r` has its top bit and `c` does not.
//!
//! Differs from the paper, whose parts are shifted toward zero by their signs: its error against
//! `floor(a / 2^d)` is -1 to 1, with a bias of a quarter of a unit, where this one's is 0 or 1, by
//! chance. Its mean against the true quotient is `(a + 2^{l-2}) / p` of `2^{-d}`.

use tacit_algebra::Buffer;
use tacit_algebra::mersenne::{Field, buffer};

use super::Shamir;
use super::demand::Want;
use super::material::{Material, TruncTriple};
use crate::Error;
use crate::message::{Elements, Message};

const OPEN_MASKED: Message<Elements> = Message::new("shamir truncate: masked value");

impl<F: Field> Shamir<F> {
    /// Trunc (Liu et al., Protocol 3.1): `a / 2^d` of a shared `a`. 1 opening of degree `t`.
    pub(super) fn trunc(&mut self, a: Buffer<F>, d: u32) -> Result<Buffer<F>, Error> {
        let triple = self.take_triple(a.len(), d, false)?;
        self.open_and_shift(a, d, self.params.threshold, &triple)
    }

    /// Fixed-Mult's second half (Liu et al., Protocol 3.2): `z / 2^d` of a product `z` of degree
    /// `2t`, before any sharing of it is made. 1 opening.
    pub(super) fn trunc_product(&mut self, z: Buffer<F>, d: u32) -> Result<Buffer<F>, Error> {
        let triple = self.take_triple(z.len(), d, true)?;
        self.open_and_shift(z, d, 2 * self.params.threshold, &triple)
    }

    fn open_and_shift(
        &mut self,
        mut b: Buffer<F>,
        d: u32,
        degree: usize,
        triple: &TruncTriple<F>,
    ) -> Result<Buffer<F>, Error> {
        let top = 1u64 << (F::BITS - 2);
        buffer::add_assign(&mut b, &triple.mask);
        buffer::add_scalar_assign(&mut b, F::from_u64(top));
        let c = self.reveal_shares(OPEN_MASKED, b, degree)?;
        let back = F::from_u64(top >> d);
        let TruncTriple { shifted, msb, .. } = triple;
        Ok(buffer::finish_truncation(&c, shifted, msb, d, back))
    }

    fn take_triple(&mut self, n: usize, d: u32, product: bool) -> Result<TruncTriple<F>, Error> {
        match self.take(Want::Truncate { n, d, product })? {
            Material::Truncate(triple) => Ok(triple),
            _ => unreachable!("material lies with its want"),
        }
    }
}
