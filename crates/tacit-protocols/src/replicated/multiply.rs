//! Products of replicated sharings (Falcon, section 3.2 and Algorithm `Mult`).
//!
//! Party `i` computes `z_i = x_i y_i + x_{i+1} y_i + x_i y_{i+1} + alpha_i`, where the `alpha_i`
//! sum to 0. A sum of products is masked and sent once per output element.

use tacit_algebra::{Buffer, Ring};

use super::domain::{Domain, Words, blocks};
use super::{Replicated, Rss};
use crate::Error;
use crate::bilinear::Bilinear;
use crate::machine::Operand;
use crate::message::Message;

/// `acc += x0 y0 + x1 y0 + x0 y1`, with two products instead of three; the shorter operand's
/// components are the ones that are added.
pub(crate) fn accumulate_shares<R: Ring>(
    map: &Bilinear,
    acc: &mut Buffer<R>,
    x: &Rss<Buffer<R>>,
    y: &Rss<Buffer<R>>,
) {
    match map {
        Bilinear::Elementwise(_) => acc.product_assign([&x.own, &x.next], [&y.own, &y.next]),
        _ if x.own.len() < y.own.len() => {
            map.add_product(acc, &x.own.add(&x.next), &y.own);
            map.add_product(acc, &x.own, &y.next);
        }
        _ => {
            map.add_product(acc, &x.own, &y.own.add(&y.next));
            map.add_product(acc, &x.next, &y.own);
        }
    }
}

impl Replicated {
    /// `x y` element by element in any domain: local products, reshared (Falcon, Mult, section
    /// 3.2). 1 hop; every party sends `n` elements.
    pub(crate) fn multiply<D: Domain>(
        &mut self,
        step: Message<D::Family>,
        x: &Rss<D::Vec>,
        y: &Rss<D::Vec>,
    ) -> Result<Rss<D::Vec>, Error> {
        let own = self.begin_multiply::<D>(step, x, y)?;
        self.finish_multiply::<D>(step, own)
    }

    /// The sending half of [`Replicated::multiply`]: this party's component of the product.
    pub(crate) fn begin_multiply<D: Domain>(
        &mut self,
        step: Message<D::Family>,
        x: &Rss<D::Vec>,
        y: &Rss<D::Vec>,
    ) -> Result<D::Vec, Error> {
        let n = D::len(&x.own);
        let mut own = D::zeros(0);
        for block in blocks(n, 1) {
            let mut summand = self.zero::<D>(block.len());
            let [x, y] = [x, y].map(|v| v.map(|component| D::part(component, block.clone())));
            D::product_assign(&mut summand, &x, &y);
            self.send::<D>(self.prev_party(), step, &summand)?;
            D::grow(&mut own, summand, n);
        }
        Ok(own)
    }

    /// The receiving half of [`Replicated::multiply`].
    pub(crate) fn finish_multiply<D: Domain>(
        &mut self,
        step: Message<D::Family>,
        own: D::Vec,
    ) -> Result<Rss<D::Vec>, Error> {
        let (n, mut next) = (D::len(&own), D::zeros(0));
        for block in blocks(n, 1) {
            let summand = self.recv::<D>(self.next_party(), step, block.len())?;
            D::grow(&mut next, summand, n);
        }
        Ok(Rss { own, next })
    }

    /// This party's summand `z_i` of `x * w + bias`, masked; local.
    pub(crate) fn product_sum<R: Ring>(
        &mut self,
        map: &Bilinear,
        x: &Rss<Buffer<R>>,
        w: &Rss<Buffer<R>>,
        bias: Option<&Operand<Rss<Buffer<R>>>>,
    ) -> Result<Buffer<R>, Error> {
        let bias = bias.map(|b| self.operand(b));
        map.check(x.own.len(), w.own.len(), bias.as_ref().map(|b| b.own.len()))?;
        let mut z = self.zero::<Words<R>>(map.outputs());
        accumulate_shares(map, &mut z, x, w);
        if let Some(bias) = &bias {
            z.add_assign(&map.spread_out(&bias.own));
        }
        Ok(z)
    }

    /// `x * w + bias` for weights that every party knows; local.
    pub(crate) fn product_public<R: Ring>(
        &self,
        map: &Bilinear,
        x: &Rss<Buffer<R>>,
        w: &[i64],
        bias: Option<&Operand<Rss<Buffer<R>>>>,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let bias = bias.map(|b| self.operand(b));
        map.check(x.own.len(), w.len(), bias.as_ref().map(|b| b.own.len()))?;
        let w = Buffer::encode(w);
        let mut z = x.map(|component| {
            let mut acc = Buffer::zeros(map.outputs());
            map.add_product(&mut acc, component, &w);
            acc
        });
        if let Some(bias) = &bias {
            z.own.add_assign(&map.spread_out(&bias.own));
            z.next.add_assign(&map.spread_out(&bias.next));
        }
        Ok(z)
    }

    /// An operand as a sharing.
    pub(crate) fn operand<R: Ring>(&self, x: &Operand<Rss<Buffer<R>>>) -> Rss<Buffer<R>> {
        match x {
            Operand::Secret(share) => share.clone(),
            Operand::Public(values) => self.public(&Buffer::encode(values)),
        }
    }
}

/// The parts one after the other.
pub(crate) fn joined<D: Domain>(parts: &[D::Vec]) -> D::Vec {
    D::concat(&parts.iter().collect::<Vec<_>>())
}
