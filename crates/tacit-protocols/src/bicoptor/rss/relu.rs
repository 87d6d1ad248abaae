//! DReLU and ReLU on replicated shares: by key bits (Bicoptor 2.0, Algorithm 9, appendix 5;
//! docs/spec/bicoptor2.md, section 7) two hops; without a promise the exact sign of
//! `replicated/adder.rs`, with which the assistant assists no more than the others.
//!
//! Differs from the paper: the holders' summands are re-randomised, since the assistant holds two
//! components; and ReLU multiplies `x` with the known mask `sigma` of the sign in the first hop, so
//! that it takes no third one.

use tacit_algebra::{Bits, Buffer, Ring};

use super::demand::{Material, Sign, Want};
use super::{BicoptorRss, RssCost};
use crate::Error;
use crate::bicoptor::drelu::{parts, recv_entries, send_entries};
use crate::bicoptor::role::PartyRole;
use crate::bicoptor::{ASSISTANT, window};
use crate::machine::KeyBits;
use crate::message::Message;
use crate::replicated::{Booleans, Rss, Words, flip_word};

const MULTIPLY: Message<Words> = Message::new("bicoptor relu: multiply");
const SIGN: Message<Booleans> = Message::new("bicoptor drelu: masked sign");

impl<R: Ring> BicoptorRss<R> {
    /// DReLU over the ring (Bicoptor 2.0, Algorithm 9, appendix 5):
    /// `DReLU'' + (1 - 2 DReLU'') sigma`. 2 hops; each holder sends the entries, the assistant 1
    /// bit to each. Without a promise those of the adder and 2 more; every party sends 1 element
    /// more on average.
    pub(super) fn drelu_share(
        &mut self,
        x: &Rss<Buffer<R>>,
        keys: KeyBits,
    ) -> Result<Rss<Buffer<R>>, Error> {
        if let Some(width) = self.exact(x.own.len(), keys) {
            let bit = self.not_negative(x, width)?;
            return self.rss.inject(&bit);
        }
        let material = self.take_sign(x.own.len())?;
        self.begin_sign(x, keys, &material.flips)?;
        let masked = self.finish_sign(x.own.len(), keys, &material.flips)?;
        let here = self.rss.constant_component();
        Ok(flip_word(&material.sigma, &masked, here))
    }

    /// `max(x, 0)` (Bicoptor 2.0, appendix 5): `DReLU'' x + (1 - 2 DReLU'') x sigma`.
    /// 2 hops; as DReLU, and every party sends 1 element. Without a promise those of the adder and
    /// 2 more; every party sends 4/3 elements more on average.
    pub(super) fn rectify(
        &mut self,
        x: &Rss<Buffer<R>>,
        keys: KeyBits,
    ) -> Result<Rss<Buffer<R>>, Error> {
        if let Some(width) = self.exact(x.own.len(), keys) {
            let bit = self.not_negative(x, width)?;
            return self.rss.times(&bit, x);
        }
        let Sign { flips, sigma } = self.take_sign(x.own.len())?;
        self.begin_sign(x, keys, &flips)?;
        let own = self.rss.begin_multiply::<Words<R>>(MULTIPLY, x, &sigma)?;
        // In the order in which the assistant sends: summands first, which wait for nothing.
        let n = x.own.len();
        let (z, masked) = match self.role {
            PartyRole::Holder { .. } => {
                let z = self.rss.finish_multiply::<Words<R>>(MULTIPLY, own)?;
                (z, self.finish_sign(n, keys, &flips)?)
            }
            PartyRole::Assistant { .. } => {
                let masked = self.finish_sign(n, keys, &flips)?;
                (self.rss.finish_multiply::<Words<R>>(MULTIPLY, own)?, masked)
            }
        };
        Ok(z.zip(x, |z, x| z.unflip(x, &masked)))
    }

    /// The bits in which `n` signs are taken by the adder, if they are.
    fn exact(&self, n: usize, keys: KeyBits) -> Option<u32> {
        self.options.exact::<R, _>(n, keys, RssCost::<R>::new)
    }

    /// The complement of the exact sign of numbers of `width` bits.
    fn not_negative(&mut self, x: &Rss<Buffer<R>>, width: u32) -> Result<Rss<Bits>, Error> {
        let mut bit = self.rss.negative(x, width)?;
        self.rss.flip_all(&mut bit);
        Ok(bit)
    }

    /// The first hop: the holders send the entries of `x`, re-randomised, flipped by `t`.
    fn begin_sign(&mut self, x: &Rss<Buffer<R>>, keys: KeyBits, flips: &Bits) -> Result<(), Error> {
        let window = window::<R>(keys, self.options.form)?;
        let share = self.summand(x);
        for part in parts(&window, share.len()) {
            let t = flips.slice(part.start, part.len());
            let (party, role) = (&mut self.rss.party, &mut self.role);
            send_entries(party, role, &window, &share.part(part), &t)?;
        }
        Ok(())
    }

    /// The second hop: the assistant opens `DReLU'' = s ^ DReLU'` to the holders; all know it.
    fn finish_sign(&mut self, n: usize, keys: KeyBits, choices: &Bits) -> Result<Bits, Error> {
        let window = window::<R>(keys, self.options.form)?;
        let mut signs = Vec::new();
        for part in parts(&window, n) {
            signs.push(match self.role {
                PartyRole::Holder { .. } => {
                    self.rss.recv::<Booleans>(ASSISTANT, SIGN, part.len())?
                }
                PartyRole::Assistant { .. } => {
                    let mut sign = recv_entries(&mut self.rss.party, &window, part.len())?;
                    sign.xor_assign(&choices.slice(part.start, part.len()));
                    self.rss.send::<Booleans>(0, SIGN, &sign)?;
                    self.rss.send::<Booleans>(1, SIGN, &sign)?;
                    sign
                }
            });
        }
        Ok(Bits::concat(&signs.iter().collect::<Vec<_>>()))
    }

    fn take_sign(&mut self, n: usize) -> Result<Sign<R>, Error> {
        match self.take(Want::Sign { n })? {
            Material::Sign(sign) => Ok(sign),
            Material::Truncate(_) => unreachable!("material lies with its want"),
        }
    }
}
