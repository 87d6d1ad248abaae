//! The material of truncations from the carries of an addition of two summands, of which party 0
//! knows one and parties 1 and 2 the other.

use tacit_algebra::{Bits, Buffer, Ring};

use super::super::Falcon;
use super::super::preprocess::{LowPart, Sum, columns, each_group, groups_of, shift_groups};
use crate::Error;
use crate::message::Message;
use crate::replicated::{Rss, Words};

const SHIFTED: Message<Words> = Message::new("falcon preprocess: shifted mask");

impl<R: Ring> Falcon<R> {
    /// `low >> d` and the bits `msb` over Z_L.
    ///
    /// With `low = A + B - 2^{l-1} carry_{l-1}` for the `A` of party 0 and the `B` of parties 1
    /// and 2: `low >> d = (A >> d) + (B >> d) + carry_d - 2^{l-1-d} carry_{l-1}`.
    /// 2 hops, then 1; every party sends 3 elements per truncation, party 0 one more.
    pub(in crate::falcon) fn shift_low_unchecked(
        &mut self,
        groups: &[(usize, u32)],
        low: &Rss<Buffer<R>>,
        sum: &Sum<R>,
        start: usize,
        msb: &Rss<Bits>,
    ) -> Result<LowPart<R>, Error> {
        let n = low.own.len();
        let last = columns(sum.last_carry(), start, n);
        let carry_d = groups_of(groups, start, |d, at, len| {
            columns(&sum.carries[d as usize], at, len)
        });
        let injected = {
            let parts = [&carry_d, &last, msb];
            let own = Bits::concat(&parts.map(|p| &p.own));
            let next = Bits::concat(&parts.map(|p| &p.next));
            self.inject::<Words<R>>(&Rss { own, next })?
        };
        let third = |k: usize| injected.part(k * n..(k + 1) * n);
        let (carry_word, wrap_word) = (third(0), third(1));
        let msb = third(2).map(Buffer::detached);
        let shifted = self.shift_summands(groups, low, &sum.known)?;
        let shifted = Rss {
            own: combine(groups, &shifted.own, &carry_word.own, &wrap_word.own),
            next: combine(groups, &shifted.next, &carry_word.next, &wrap_word.next),
        };
        Ok(LowPart { shifted, msb })
    }

    /// A sharing of `(A >> d) + (B >> d)`, where party 0 knows `A` and parties 1 and 2 `B`.
    /// 1 hop; party 0 sends one element each.
    fn shift_summands(
        &mut self,
        groups: &[(usize, u32)],
        low: &Rss<Buffer<R>>,
        known: &Buffer<R>,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let shift = |v: &Buffer<R>| shift_groups(groups, v);
        let n = low.own.len();
        let value = (self.rss.party.id() == 0).then(|| shift(known));
        let mut shared = self.rss.share_input::<Words<R>>(SHIFTED, 0, n, value)?;
        match self.rss.party.id() {
            0 => {}
            1 => shared.next = shift(&low.next),
            _ => shared.own = shift(&low.own),
        }
        Ok(shared)
    }
}

/// One component of `shifted + carry_d - 2^{l-1-d} carry_{l-1}`.
fn combine<R: Ring>(
    groups: &[(usize, u32)],
    shifted: &Buffer<R>,
    carry: &Buffer<R>,
    wrap: &Buffer<R>,
) -> Buffer<R> {
    let excess = each_group(groups, wrap, |wrap, d| wrap.shl(R::BITS - 1 - d));
    let mut out = shifted.add(carry);
    out.sub_assign(&excess);
    out
}
