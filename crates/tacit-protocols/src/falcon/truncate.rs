//! Truncation of fixed-point products (Falcon, Figure 6; docs/spec/falcon.md, section 5.1).
//!
//! | kind | range of `x` | error against `floor(x / 2^d)` | online |
//! |---|---|---|---|
//! | `gap` | `abs(x) < 2^{l-2}` | 0 or 1, mean of the true quotient; malicious -1 to 2 | 2 hops; malicious 4 |
//! | `exact` | `abs(x) < 2^{l-2}` | none | 1 hop + a compare of `d` bits |
//! | `aby3` | any | 0 or 1, but `2^{l-d}` with probability `abs(x) / 2^l` | 1 hop |
//!
//! `gap` takes no mask: semi-honest the wrap is found from what single parties know
//! (`replicated/truncate.rs`), malicious from the components' top bits (`malicious/wraps.rs`).
//!
//! For the others the value is opened under a uniform mask `r` whose shifted form is shared as well. After a
//! product the mask is added to the summands before they are reshared, so that one hop serves both (2 elements
//! per party instead of 1 + 1 in two hops).
//!
//! What the opened value shows: it is uniform. The rounding of `aby3` depends on it, and that of `gap` on
//! the components, so these realise a rounding of which the parties see something being drawn, not one
//! that a trusted party draws in secret; `exact` has no such dependence.

use tacit_algebra::{Buffer, Ring};

use super::linear::MULTIPLY;
use super::material::{self, TruncateBatch, View};
use super::{Falcon, Truncation};
use crate::Error;
use crate::message::Message;
use crate::replicated::{Rss, Words, flip_word};

const OPEN_MASKED: Message<Words> = Message::new("falcon truncate: open masked value");

impl<R: Ring> Falcon<R> {
    /// `x >> trunc` of a shared `x` (docs/spec/falcon.md, section 5.1). By masks 1 hop and 1 element per
    /// party, and what `exact` adds.
    pub(super) fn truncate_shared(
        &mut self,
        mut x: Rss<Buffer<R>>,
        trunc: u32,
    ) -> Result<Rss<Buffer<R>>, Error> {
        if !self.options.masks() {
            self.check_truncation(trunc)?;
            return self.quotient(x, trunc);
        }
        let view = self.take_truncation(x.own.len(), trunc)?;
        x = x.zip(&view.slice(&view.batch.r), Buffer::add);
        if self.options.truncation != Truncation::Aby3 {
            self.rss.add_public(&mut x, offset());
        }
        let c = self.open::<Words<R>>(OPEN_MASKED, &x)?;
        self.finish_truncation(&view, c, trunc)
    }

    /// `x >> trunc` of an `x` of which every party has a summand, not yet reshared: the summands are masked by
    /// [`Replicated::zero`](crate::replicated::Replicated::zero), so no resharing is needed. 1 hop and 2 elements per
    /// party, and what `exact` adds. Truncations without masks reshare it, block by block.
    pub(super) fn truncate_sum(
        &mut self,
        mut z: Buffer<R>,
        trunc: u32,
    ) -> Result<Rss<Buffer<R>>, Error> {
        if !self.options.masks() {
            self.check_truncation(trunc)?;
            return self.rss.truncate_sum(MULTIPLY, &z, trunc);
        }
        let view = self.take_truncation(z.len(), trunc)?;
        z.add_assign(&view.batch.r.own.part(view.range.clone()));
        if self.options.truncation != Truncation::Aby3 && self.rss.constant_component().own {
            z.add_scalar_assign(offset());
        }
        let c = self.rss.open_sum::<Words<R>>(OPEN_MASKED, z)?;
        self.finish_truncation(&view, c, trunc)
    }

    /// Makes the quotient from the opened masked value.
    fn finish_truncation(
        &mut self,
        view: &View<TruncateBatch<R>>,
        c: Buffer<R>,
        trunc: u32,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let low_shifted = view.slice(&view.batch.low_shifted);
        let msb = view.slice(&view.batch.msb);
        let here = self.rss.constant_component();
        if self.options.truncation == Truncation::Aby3 {
            return Ok(Rss {
                own: c.signed(&low_shifted.own, &msb.own, trunc, here.own),
                next: c.signed(&low_shifted.next, &msb.next, trunc, here.next),
            });
        }
        let quotient = Rss {
            own: c.gap(&low_shifted.own, &msb.own, trunc, here.own),
            next: c.gap(&low_shifted.next, &msb.next, trunc, here.next),
        };
        match &view.batch.exact {
            None => Ok(quotient),
            // The borrow of the low bits: [r_low > c_low].
            Some(exact) => {
                let low = c.low_bits(trunc);
                let flip = self.private_compare::<R>(
                    &exact.compare,
                    view.range.clone(),
                    trunc as usize,
                    &low,
                )?;
                let borrow = flip_word(&view.slice(&exact.beta_word), &flip, here);
                Ok(quotient.zip(&borrow, Buffer::sub))
            }
        }
    }

    fn check_truncation(&self, trunc: u32) -> Result<(), Error> {
        match (1..=R::BITS - 2).contains(&trunc) {
            true => Ok(()),
            false => Err(Error::Invalid(format!(
                "a truncation by {trunc} bits does not fit the {}-bit ring: 1 to {} are possible",
                R::BITS,
                R::BITS - 2
            ))),
        }
    }

    fn take_truncation(&mut self, n: usize, trunc: u32) -> Result<View<TruncateBatch<R>>, Error> {
        self.check_truncation(trunc)?;
        material::take_truncation(&mut self.store.truncations, n, trunc).ok_or_else(|| {
            Error::NotPrepared {
                call: format!("the truncation of {n} elements by {trunc} bits"),
            }
        })
    }
}

/// `2^{l-2}`: moves values of the one-bit-gap range to non-negative ones.
pub(super) fn offset<R: Ring>() -> R {
    R::ONE.shl(R::BITS - 2)
}
