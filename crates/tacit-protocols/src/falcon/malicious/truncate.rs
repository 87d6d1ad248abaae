//! The material of truncations from the carries of the verified addition (docs/spec/falcon.md,
//! section 5.2).
//!
//! What the components shifted one by one lack is made of two carries of the addition that there
//! is, injected: no second addition, and nothing is opened.

use tacit_algebra::{Bits, Buffer, Ring};

use super::super::Falcon;
use super::super::preprocess::{LowPart, Sum, columns, each_group, groups_of, shift_groups};
use crate::Error;
use crate::replicated::{Rss, Words};

impl<R: Ring> Falcon<R> {
    /// `low >> d` and the bits `msb` over Z_L, for `low` the sum modulo `2^{l-1}` of three
    /// components `x_j`, whose addition saved carries `s` and rippled carries `t`:
    /// `low >> d = sum (x_j >> d) + s_{d-1} + t_d - 2^{l-1-d} (s_{l-2} + t_{l-1})`.
    /// 2 hops; every party sends 10 elements per truncation.
    pub(in crate::falcon) fn shift_low_checked(
        &mut self,
        groups: &[(usize, u32)],
        low: &Rss<Buffer<R>>,
        sum: &Sum<R>,
        start: usize,
        msb: &Rss<Bits>,
    ) -> Result<LowPart<R>, Error> {
        let n = low.own.len();
        let carry = groups_of(groups, start, |d, at, len| {
            columns(&sum.carries[d as usize], at, len)
        });
        let save = groups_of(groups, start, |d, at, len| {
            columns(&sum.saves[d as usize - 1], at, len)
        });
        let last = columns(sum.last_carry(), start, n);
        let first_wrap = columns(&sum.first_wrap, start, n);
        let parts = [&carry, &save, &last, &first_wrap, msb];
        let injected = self.inject::<Words<R>>(&Rss {
            own: Bits::concat(&parts.map(|p| &p.own)),
            next: Bits::concat(&parts.map(|p| &p.next)),
        })?;
        let part = |c: &Buffer<R>, k: usize| c.part(k * n..(k + 1) * n);
        let shifted = injected.zip(low, |words, low| {
            let wraps = part(words, 2).add(&part(words, 3));
            let excess = each_group(groups, &wraps, |wraps, d| wraps.shl(R::BITS - 1 - d));
            let carried = part(words, 0).add(&part(words, 1));
            let mut shifted = shift_groups(groups, low);
            shifted.add_assign(&carried);
            shifted.sub_assign(&excess);
            shifted
        });
        Ok(LowPart {
            shifted,
            msb: injected.map(|c| part(c, 4).detached()),
        })
    }
}
