//! DReLU and ReLU by key bits (Bicoptor 2.0, Algorithms 7 and 8, section 5.4 and appendix 4;
//! docs/spec/bicoptor2.md, sections 5 and 6): one round trip to the assistant. Without a promise:
//! `adder.rs`.
//!
//! Differs from the paper: the holders exchange `x - a` in the hop in which they send the entries,
//! so that ReLU takes one round trip, too.

use tacit_algebra::{Bits, Buffer, Ring};

use super::demand::{Material, Triple, Want};
use super::{Share, Ubl, UblCost};
use crate::Error;
use crate::bicoptor::drelu::{parts, recv_entries, send_entries};
use crate::bicoptor::role::{PartyRole, other, recv, send};
use crate::bicoptor::{ASSISTANT, window};
use crate::machine::KeyBits;
use crate::message::Message;
use crate::replicated::Words;

const SIGN: Message<Words> = Message::new("bicoptor drelu: deal sign");
const OPEN: Message<Words> = Message::new("bicoptor relu: open masked value");
const CHOICE: Message<Words> = Message::new("bicoptor relu: masked sign");

impl<R: Ring> Ubl<R> {
    /// DReLU as shares of 0 or 1 (Bicoptor 2.0, Algorithm 7, section 5.4): `t + (1 - 2 t) DReLU'`,
    /// where the assistant deals `DReLU'`.
    /// 2 hops; each holder sends the entries, the assistant 1 element to party 1.
    pub(super) fn drelu_share(&mut self, x: &Share<R>, keys: KeyBits) -> Result<Share<R>, Error> {
        if let Some(width) = self.exact(x.len(), keys) {
            return self.drelu_exact(x, width);
        }
        let window = window::<R>(keys, self.options.form)?;
        let flips = self.flips(x.len());
        if let PartyRole::Holder { .. } = self.role {
            for part in parts(&window, x.len()) {
                let t = flips.slice(part.start, part.len());
                let own = x.own().part(part);
                send_entries(&mut self.party, &mut self.role, &window, &own, &t)?;
            }
        }
        let mut sign = Buffer::default();
        for part in parts(&window, x.len()) {
            let values = match self.role {
                PartyRole::Assistant { .. } => recv_entries(&mut self.party, &window, part.len())?,
                PartyRole::Holder { .. } => Bits::zeros(0),
            };
            let values = values.words_of();
            let dealt = self.role.deal(&mut self.party, SIGN, part.len(), values)?;
            sign.grow(dealt, x.len());
        }
        let carries = self.role.carries();
        Ok(x.map(x.len(), |_| sign.flip(&flips, carries)))
    }

    /// `max(x, 0)` (Bicoptor 2.0, Algorithm 8, appendix 4): `t x + (1 - 2 t) x DReLU'`, where the
    /// assistant opens `e = DReLU' - b` to the holders, who have `d = x - a` from the first hop.
    /// 2 hops; each holder sends the entries and 1 element, the assistant 1 element to each.
    pub(super) fn rectify(&mut self, x: &Share<R>, keys: KeyBits) -> Result<Share<R>, Error> {
        if let Some(width) = self.exact(x.len(), keys) {
            return self.rectify_exact(x, width);
        }
        let window = window::<R>(keys, self.options.form)?;
        let Material::Triple(triple) = self.take(Want::Relu { n: x.len() })? else {
            unreachable!("material lies with its want")
        };
        if let PartyRole::Assistant { .. } = self.role {
            for part in parts(&window, x.len()) {
                let sign = recv_entries(&mut self.party, &window, part.len())?;
                let e = sign.words_of().sub(&triple.b.part(part));
                send(&mut self.party, 0, CHOICE, &e)?;
                send(&mut self.party, 1, CHOICE, &e)?;
            }
            return Ok(Share::new(x.len(), None));
        }
        let flips = self.flips(x.len());
        let peer = other(&self.party);
        let own = x.own();
        let masked = own.sub(&triple.a);
        for part in parts(&window, x.len()) {
            let t = flips.slice(part.start, part.len());
            let entries_of = own.part(part.clone());
            send_entries(&mut self.party, &mut self.role, &window, &entries_of, &t)?;
            send(&mut self.party, peer, OPEN, &masked.part(part))?;
        }
        let mut relu = Buffer::default();
        for part in parts(&window, x.len()) {
            let theirs = recv(&mut self.party, peer, OPEN, part.len())?;
            let d = masked.part(part.clone()).add(&theirs);
            let e = recv(&mut self.party, ASSISTANT, CHOICE, part.len())?;
            let Triple { a, b, c, .. } = &triple;
            let [a, b, c] = [a, b, c].map(|v| v.part(part.clone()));
            let z = c.triple_product([&d, &e], [&a, &b], self.role.carries());
            let t = flips.slice(part.start, part.len());
            relu.grow(z.unflip(&own.part(part), &t), x.len());
        }
        Ok(Share::new(x.len(), Some(relu)))
    }

    /// The bits in which `n` signs are taken by the adder, if they are.
    fn exact(&self, n: usize, keys: KeyBits) -> Option<u32> {
        self.options.exact::<R, _>(n, keys, UblCost::<R>::new)
    }

    /// The holders' random flips of the sign; none at the assistant.
    fn flips(&mut self, n: usize) -> Bits {
        match &mut self.role {
            PartyRole::Holder { common, .. } => common.bits(n),
            PartyRole::Assistant { .. } => Bits::zeros(0),
        }
    }
}
