//! Truncation without masks (docs/spec/adder.md, section 7): each component is rounded by the two parties
//! that hold it; how often the sum of the three exceeds the ring is computed from their top bits, by ANDs of
//! shared bits and products that are all verified. Nothing is opened.
//!
//! Differs from `replicated/truncate.rs`, which trusts a dealer with the sum of two components.

use tacit_algebra::{BitRows, Bits, Buffer, Ring};

use super::super::Falcon;
use super::super::truncate::offset;
use crate::Error;
use crate::message::Message;
use crate::replicated::{Booleans, Rss, Words};

const CARRY: Message<Booleans> = Message::new("falcon truncate: carry of top bits");

/// The top bits that tell the wraps: what the other bits of three components add up to is below `3 2^{l-2}`,
/// and the values of the range leave `2^{l-1}` of the ring free.
const TOPS: u32 = 2;

/// Elements that a truncation leaves to be verified.
pub(in crate::falcon) const LEFT: usize = 2;

impl<R: Ring> Falcon<R> {
    /// `x >> trunc` for `-2^(l-2) <= x < 2^(l-2)` and `0 < trunc <= l - 2`: off the true quotient by at most
    /// `3/2`, by 0 on average where each component is uniform, as those of a product are, or a multiple of
    /// `2^trunc`, as what an input lacks is.
    /// 4 hops; every party sends 5 bits and 2 elements for each.
    pub(in crate::falcon) fn truncate_checked(
        &mut self,
        mut x: Rss<Buffer<R>>,
        trunc: u32,
    ) -> Result<Rss<Buffer<R>>, Error> {
        if let Some(checks) = &mut self.checks {
            checks.waiting += LEFT * x.own.len();
        }
        self.rss.add_public(&mut x, offset());
        let wraps = self.wraps(&x)?;
        let here = self.rss.constant_component();
        Ok(Rss {
            own: x.own.quotient_rounded(&wraps.own, trunc, here.own),
            next: x.next.quotient_rounded(&wraps.next, trunc, here.next),
        })
    }

    /// How often the sum of the components of `0 <= x < 2^(l-1)` exceeds the ring, over Z_L.
    ///
    /// The components' top bits `2 a + b` add up to a `T` with `T 2^(l-2) <= x + w 2^l < (T + 3) 2^(l-2)`, so
    /// that `w = floor((T + 2) / 4)`. With the parity `s` and the majority `m` of the three `a` or `b` that is
    /// `m_a + (s_a or m_b)`.
    fn wraps(&mut self, x: &Rss<Buffer<R>>) -> Result<Rss<Buffer<R>>, Error> {
        let n = x.own.len();
        let tops = x.map(|component| component.shr(R::BITS - TOPS).bit_rows(TOPS));
        let row = |rows: &Rss<BitRows>, i| rows.map(|rows| rows.row_bits(i));
        let s_a = row(&tops, 1);
        let majorities = self.save_carries(tops)?;
        let [m_b, m_a] = [0, 1].map(|i| row(&majorities, i));
        let both = self.multiply::<Booleans>(CARRY, s_a.clone(), m_b.clone())?;
        let either = s_a.zip(&m_b, Bits::xor).zip(&both, Bits::xor);
        let all = m_a.zip(&either, |a, b| Bits::concat(&[a, b]));
        let words = self.inject_checked::<Words<R>>(&all)?;
        Ok(words.map(|w| w.part(0..n).add(&w.part(n..2 * n))))
    }
}
