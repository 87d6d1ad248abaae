//! Products, matrix products and convolutions from triples by seeds (Bicoptor 2.0, Algorithm 8,
//! preprocessing; docs/spec/bicoptor2.md, section 6).
//!
//! Differs from the usual triple: where the right operand is reusable, `w - b` was opened once and
//! only the left operand is opened, whatever the number of batches.

use tacit_algebra::{Buffer, Ring};

use super::demand::{Material, Triple, Want};
use super::{Share, Ubl};
use crate::bicoptor::role::{other, recv, send};
use crate::bicoptor::truncate::{check, truncate_locally, truncate_masked};
use crate::machine::{Bilinear, Machine, Operand};
use crate::message::Message;
use crate::replicated::Words;
use crate::{Error, Truncation};

const OPEN_LEFT: Message<Words> = Message::new("bicoptor multiply: open left operand");
const OPEN_RIGHT: Message<Words> = Message::new("bicoptor multiply: open right operand");

impl<R: Ring> Ubl<R> {
    /// `(x * w + bias) >> trunc` for any bilinear product.
    ///
    /// Secret `w`: 1 hop, each holder sends the left operand's and, unless it is reusable, the right
    /// operand's elements; then the truncation. Public `w`: the truncation alone.
    pub(super) fn product(
        &mut self,
        x: &Share<R>,
        w: &Operand<Share<R>>,
        bias: Option<&Operand<Share<R>>>,
        map: &Bilinear,
        trunc: u32,
    ) -> Result<Share<R>, Error> {
        let biases = bias.map(|bias| bias.elements(Share::len));
        map.check(x.len(), w.elements(Share::len), biases)?;
        if trunc > 0 {
            check::<R>(trunc)?;
        }
        let bias = bias.map(|b| self.operand(b));
        let bias = |acc: &mut Buffer<R>| {
            if let Some(own) = bias.as_ref().map(Share::own).filter(|own| !own.is_empty()) {
                acc.add_assign(&map.spread_out(&own));
            }
        };
        let w = match w {
            Operand::Public(values) => {
                let w = Buffer::encode(values);
                let z = x.map(map.outputs(), |x| {
                    let mut acc = Buffer::zeros(map.outputs());
                    map.add_product(&mut acc, x, &w);
                    bias(&mut acc);
                    acc
                });
                return self.truncate(&z, trunc);
            }
            Operand::Secret(w) => w,
        };
        let kind = self.options.truncation;
        let want = Want::Product {
            map: *map,
            reused: w.reusable().map(|f| f.id),
            trunc: if kind == Truncation::SecureMl {
                0
            } else {
                trunc
            },
        };
        let Material::Triple(triple) = self.take(want)? else {
            unreachable!("material lies with its want")
        };
        x.try_map(map.outputs(), |x| {
            let mut z = self.multiply(map, x, w, &triple)?;
            bias(&mut z);
            match &triple.mask {
                Some(mask) => truncate_masked(&self.role, &mut self.party, kind, z, mask, trunc),
                None if trunc > 0 => Ok(truncate_locally(&mut self.role, &z, trunc)),
                None => Ok(z),
            }
        })
    }

    /// A holder's share of `x * w`, less the triple's `c` where a mask stands for it:
    /// `d [w] + [a] e + [c]` with `d = x - a` and `e = w - b` opened.
    fn multiply(
        &mut self,
        map: &Bilinear,
        x: &Buffer<R>,
        w: &Share<R>,
        triple: &Triple<R>,
    ) -> Result<Buffer<R>, Error> {
        let peer = other(&self.party);
        let mut d = x.sub(&triple.a);
        send(&mut self.party, peer, OPEN_LEFT, &d)?;
        let own = w.own();
        let mut opened = Buffer::default();
        if w.reusable().is_none() {
            opened = own.sub(&triple.b);
            send(&mut self.party, peer, OPEN_RIGHT, &opened)?;
        }
        let theirs = recv(&mut self.party, peer, OPEN_LEFT, d.len())?;
        d.add_assign(&theirs);
        let e = match w.reusable() {
            Some(reusable) => &reusable.known,
            None => {
                let theirs = recv(&mut self.party, peer, OPEN_RIGHT, opened.len())?;
                opened.add_assign(&theirs);
                &opened
            }
        };
        let mut z = match triple.c.is_empty() {
            true => Buffer::zeros(map.outputs()),
            false => triple.c.clone(),
        };
        if let Bilinear::Elementwise(_) = map {
            // d [w] + [a] e: no product of the two public factors is left over.
            return Ok(z.triple_product([&d, e], [&triple.a, &own], false));
        }
        map.add_product(&mut z, &d, &own);
        map.add_product(&mut z, &triple.a, e);
        Ok(z)
    }

    /// An operand as a sharing.
    fn operand(&mut self, x: &Operand<Share<R>>) -> Share<R> {
        match x {
            Operand::Secret(share) => share.clone(),
            Operand::Public(values) => self.constant(values),
        }
    }
}
