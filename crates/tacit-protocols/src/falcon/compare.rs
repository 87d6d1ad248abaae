//! The leaves of private compare, wrap3 and the sign (Falcon, Algorithms 1 and 2, sections 3.3 to
//! 3.5; docs/spec/falcon.md, sections 3 and 4.2).
//!
//! Differs from the paper: the test at equality and at the largest `r` is corrected
//! (docs/spec/falcon.md, section 9, items 1 to 3); the products `beta x_i` are made offline; the
//! carry is taken of the low `l - 1` bits instead of `2 a` mod `2^l`, which is the same bit with
//! one leaf less and so, for `l` a power of two, one hop less.

use std::ops::Range;

use tacit_algebra::buffer::kernels::compare_leaves;
use tacit_algebra::{Bits, Buffer, Ring};

use super::Falcon;
use super::material::{self, CompareBatch, SignBatch, View};
use crate::Error;
use crate::message::Message;
use crate::replicated::{Booleans, Domain, Rss, Words};

const OPEN_MASKED: Message<Words> = Message::new("falcon wrap3: open masked value");

/// A shared bit plus a public one that was learnt on the way: their xor is the sign.
pub(super) struct Sign {
    pub shared: Rss<Bits>,
    pub public: Bits,
}

impl<R: Ring> Falcon<R> {
    /// The leaves of the product tree: those of the comparison and the factor `m`.
    pub(super) fn leaves<S: Ring>(
        &self,
        batch: &CompareBatch,
        columns: Range<usize>,
        rows: usize,
        r: &Buffer<S>,
    ) -> Rss<Buffer<u8>> {
        let from = |v: &Rss<Buffer<u8>>| v.part(columns.start..v.own.len());
        let (bits, products) = (from(&batch.bits), from(&batch.products));
        let (beta, m) = (
            batch.beta.part(columns.clone()),
            batch.m.part(columns.clone()),
        );
        let component = |[bits, products, beta, m]: [&Buffer<u8>; 4], here| {
            let mut leaves = compare_leaves([bits, products], batch.stride, rows, beta, r, here);
            leaves.append(m);
            leaves
        };
        let here = self.rss.constant_component();
        Rss {
            own: component([&bits.own, &products.own, &beta.own, &m.own], here.own),
            next: component([&bits.next, &products.next, &beta.next, &m.next], here.next),
        }
    }

    /// The sign of `a`: DReLU, that is 1 where `a >= 0` (Falcon, Algorithm 2 and section 3.5;
    /// docs/spec/falcon.md, section 4.2).
    ///
    /// Holders of component `j` compute `r_j = a_j + x_j mod 2^{l-1}` and its carry; `r_j` is
    /// opened; `eta = [x > r]`; the carry of the three low parts is
    /// `b_0 ^ b_1 ^ b_2 ^ delta ^ eta ^ alpha`, and the sign follows with the three top bits.
    /// `also` is opened in the first hop: the shared part of the sign, masked by these bits.
    /// `1 + ceil(log2 l)` hops.
    fn sign_over<S: Ring>(
        &mut self,
        view: &View<SignBatch<S>>,
        a: &Rss<Buffer<S>>,
        also: Option<(Message<Booleans>, &Rss<Bits>)>,
    ) -> Result<(Sign, Option<Bits>), Error> {
        let batch = &view.batch;
        let x = view.slice(&batch.x);
        let (r_own, carry_own) = a.own.masked_add(&x.own);
        let (r_next, carry_next) = a.next.masked_add(&x.next);
        let mut shared = Rss {
            own: carry_own,
            next: carry_next,
        };
        let msb = a.map(Buffer::msb);
        for bits in [
            &msb,
            &view.bits(&batch.alpha),
            &view.bits(&batch.compare.beta_bit),
        ] {
            Booleans::add_assign(&mut shared.own, &bits.own);
            Booleans::add_assign(&mut shared.next, &bits.next);
        }

        let also = also.map(|(step, mask)| (step, shared.zip(mask, Bits::xor)));
        let r = Rss {
            own: r_own,
            next: r_next,
        };
        self.rss.begin_open::<Words<S>>(OPEN_MASKED, &r)?;
        if let Some((step, masked)) = &also {
            self.rss.begin_open::<Booleans>(*step, masked)?;
        }
        let r_missing = self.missing::<Words<S>>(OPEN_MASKED, &r)?;
        let opened = match &also {
            Some((step, masked)) => Some(self.finish_open::<Booleans>(*step, masked)?),
            None => None,
        };
        let (r, delta) = r.own.sum3(&r.next, &r_missing);

        let mut public =
            self.private_compare(&batch.compare, view.range.clone(), S::BITS as usize - 1, &r)?;
        public.xor_assign(&delta);
        Ok((
            Sign {
                shared,
                public: public.not(),
            },
            opened,
        ))
    }

    /// The sign over the ring of comparisons: where that is narrower than the shares' ring, the
    /// low words of the components are a sharing of the value over it. See [`Falcon::sign_over`].
    pub(super) fn sign(
        &mut self,
        a: &Rss<Buffer<R>>,
        also: Option<(Message<Booleans>, &Rss<Bits>)>,
    ) -> Result<(Sign, Option<Bits>), Error> {
        let n = a.own.len();
        let missing = || Error::NotPrepared {
            call: format!("the sign of {n} elements"),
        };
        if self.options.compare_bits::<R>() < R::BITS {
            let view = material::take(&mut self.store.narrow_signs, n).ok_or_else(missing)?;
            return self.sign_over::<u32>(&view, &a.map(Buffer::convert), also);
        }
        let view = material::take(&mut self.store.signs, n).ok_or_else(missing)?;
        self.sign_over::<R>(&view, a, also)
    }

    /// DReLU as shared bits.
    pub(super) fn sign_bits(&mut self, a: &Rss<Buffer<R>>) -> Result<Rss<Bits>, Error> {
        let (sign, _) = self.sign(a, None)?;
        let mut bits = sign.shared;
        self.rss.xor_public(&mut bits, &sign.public);
        Ok(bits)
    }
}

/// `max(x, y)` needs `x - y`; kept here so that pooling reads like its definition.
pub(super) fn difference<R: Ring>(x: &Rss<Buffer<R>>, y: &Rss<Buffer<R>>) -> Rss<Buffer<R>> {
    x.zip(y, Buffer::sub)
}
