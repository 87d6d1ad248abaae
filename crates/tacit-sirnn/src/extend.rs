//! Extension to more bits (SiRnn, Algorithm 1, section IV-A; docs/spec/sirnn.md, section 6).
//!
//! Over the integers `x = x0 + x1 - 2^m w` with `w` the wrap of the shares, so the wrap is taken
//! and multiplied by `2^m` modulo `2^n`. Differs from the paper: B2A of `w` and the subtraction are
//! one step, with `n - m - 1` bits per element.

use tacit_protocols::Error;

use crate::convert::Msb;
use crate::sum::Sum;
use crate::{Engine, Shared};

const EXTEND: &str = "sirnn: extend";

impl Engine {
    /// ZExt (SiRnn, Algorithm 1, section IV-A): the same unsigned value modulo `2^to`.
    ///
    /// The wrap ([`Engine::wrap_of`]) and then 2 hops, of 1 OT and `to - x.bits` bits per element;
    /// none of the latter for one bit more.
    pub fn zero_extend(&mut self, x: &Shared, to: u32, msb: &Msb) -> Result<Shared, Error> {
        Ok(self.zero_extend_all(&[(x, to, msb)])?.remove(0))
    }

    /// SExt (SiRnn, section IV-A): the same signed value modulo `2^to`; `msb` is its sign. Costs
    /// [`Engine::zero_extend`], of the value shifted to be unsigned.
    pub fn sign_extend(&mut self, x: &Shared, to: u32, msb: &Msb) -> Result<Shared, Error> {
        let half = 1 << (x.bits - 1);
        let shifted = self.add_public(x, half);
        let extended = self.zero_extend(&shifted, to, &self.not_msb(msb))?;
        Ok(self.add_public(&extended, half.wrapping_neg()))
    }

    /// ZExt of several values, in the hops of one.
    pub(crate) fn zero_extend_all(
        &mut self,
        values: &[(&Shared, u32, &Msb)],
    ) -> Result<Vec<Shared>, Error> {
        assert!(values.iter().all(|(x, to, _)| *to >= x.bits && *to <= 64));
        let wider = values.iter().filter(|(x, to, _)| *to > x.bits);
        let wider: Vec<_> = wider.map(|(x, _, msb)| (*x, *msb)).collect();
        if wider.is_empty() {
            return Ok(values.iter().map(|(x, ..)| (*x).clone()).collect());
        }
        let mut wraps = self.wraps_of(&wider, Vec::new())?.0.into_iter();
        let mut sums = Vec::with_capacity(values.len());
        for (x, to, _) in values {
            let mut sum = Sum::new(self, *to, x.values.clone());
            if *to > x.bits {
                let wrap = wraps.next().unwrap_or_default();
                sum.bit(&wrap, (1u64 << x.bits).wrapping_neg());
            }
            sums.push(sum);
        }
        self.sums(EXTEND, sums)
    }
}
