//! Linear layers and truncation, which takes no mask (`gap`: `replicated/truncate.rs`), or ABY3's: the
//! summands of a product are opened to the holders under a mask that the assistant knows, and the
//! quotient, shared between the holders, is replicated.

use tacit_algebra::{Buffer, Ring};

use super::BicoptorRss;
use super::demand::{Material, Want};
use crate::bicoptor::ASSISTANT;
use crate::bicoptor::role::open;
use crate::bicoptor::truncate::{Mask, check, offset, quotient, truncate_locally};
use crate::machine::{Bilinear, Operand};
use crate::message::Message;
use crate::replicated::{Rss, Words};
use crate::{Error, Truncation};

const MULTIPLY: Message<Words> = Message::new("bicoptor multiply");
const SUMMAND: Message<Words> = Message::new("bicoptor truncate: the assistant's summand");
const OPEN_MASKED: Message<Words> = Message::new("bicoptor truncate: open masked value");
const REPLICATE: Message<Words> = Message::new("bicoptor truncate: replicate quotient");

impl<R: Ring> BicoptorRss<R> {
    /// `(x * w + bias) >> trunc` for any bilinear product.
    ///
    /// Secret `w`, no truncation: 1 hop, every party sends 1 element per output. With a truncation:
    /// 3 hops, 1 element and the bits of a truncation (ABY3's: 2 hops and 2 elements; SecureML's: 2 and 1).
    /// Public `w`: the truncation alone.
    pub(super) fn product(
        &mut self,
        x: &Rss<Buffer<R>>,
        w: &Operand<Rss<Buffer<R>>>,
        bias: Option<&Operand<Rss<Buffer<R>>>>,
        map: &Bilinear,
        trunc: u32,
    ) -> Result<Rss<Buffer<R>>, Error> {
        match w {
            Operand::Public(values) => {
                let z = self.rss.product_public(map, x, values, bias)?;
                match trunc {
                    0 => Ok(z),
                    trunc => self.truncate_shared(&z, trunc),
                }
            }
            Operand::Secret(w) => {
                let z = self.rss.product_sum(map, x, w, bias)?;
                match trunc {
                    0 => self.rss.reshare::<Words<R>>(MULTIPLY, z),
                    trunc => self.truncate_sum(z, trunc),
                }
            }
        }
    }

    /// `x >> trunc` of a shared `x` (docs/spec/bicoptor2.md, section 3). 2 hops, each party sends a third of
    /// `l + 3 trunc` bits; ABY3's: 2 hops and 2 elements from each holder; SecureML's: 1 and 1.
    pub(super) fn truncate_shared(
        &mut self,
        x: &Rss<Buffer<R>>,
        trunc: u32,
    ) -> Result<Rss<Buffer<R>>, Error> {
        check::<R>(trunc)?;
        if self.options.truncation == Truncation::Gap {
            return self.rss.truncate(x, trunc);
        }
        let n = x.own.len();
        // Both holders have component 1; party 0 lacks component 2, party 1 component 0.
        let (unshared, common) = match self.rss.party.id() {
            0 => (&x.own, &x.next),
            1 => (&x.next, &x.own),
            _ => return self.assist_truncation(n, trunc),
        };
        if self.options.truncation == Truncation::SecureMl {
            let share = match self.role.carries() {
                true => unshared.add(common),
                false => unshared.clone(),
            };
            let share = truncate_locally(&mut self.role, &share, trunc);
            return self.replicate(REPLICATE, n, share);
        }
        let mask = self.take_mask(n, trunc)?;
        let mut opened = self.open_masked(unshared.clone(), &mask)?;
        opened.add_assign(common);
        self.finish(&opened, &mask, trunc)
    }

    /// `z >> trunc` of a 3-out-of-3 sum, masked by a sharing of 0: reshared, then truncated; in ABY3's
    /// and SecureML's way truncated without being reshared. 3 hops, 1 element and the bits of a truncation;
    /// ABY3's: 2 hops, every party sends 2 elements; SecureML's: 1.
    fn truncate_sum(&mut self, z: Buffer<R>, trunc: u32) -> Result<Rss<Buffer<R>>, Error> {
        check::<R>(trunc)?;
        match self.options.truncation {
            Truncation::Gap => return self.rss.truncate_sum(MULTIPLY, &z, trunc),
            Truncation::SecureMl => return self.truncate_sum_locally(z, trunc),
            _ => {}
        }
        let n = z.len();
        let mask = self.take_mask(n, trunc)?;
        if self.rss.party.id() == ASSISTANT {
            self.rss.send::<Words<R>>(0, SUMMAND, &z)?;
            self.rss.send::<Words<R>>(1, SUMMAND, &z)?;
            return self.replicate(REPLICATE, n, Buffer::default());
        }
        let mut opened = self.open_masked(z, &mask)?;
        let theirs = self.rss.recv::<Words<R>>(ASSISTANT, SUMMAND, n)?;
        opened.add_assign(&theirs);
        self.finish(&opened, &mask, trunc)
    }

    /// SecureML's: the assistant's summand goes to party 0.
    fn truncate_sum_locally(
        &mut self,
        mut z: Buffer<R>,
        trunc: u32,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let n = z.len();
        match self.rss.party.id() {
            0 => {
                let theirs = self.rss.recv::<Words<R>>(ASSISTANT, SUMMAND, n)?;
                z.add_assign(&theirs);
            }
            ASSISTANT => self.rss.send::<Words<R>>(0, SUMMAND, &z)?,
            _ => {}
        }
        let share = truncate_locally(&mut self.role, &z, trunc);
        self.replicate(REPLICATE, n, share)
    }

    /// The assistant's part: it takes its material and its share of the result.
    fn assist_truncation(&mut self, n: usize, trunc: u32) -> Result<Rss<Buffer<R>>, Error> {
        if self.options.truncation != Truncation::SecureMl {
            self.take_mask(n, trunc)?;
        }
        self.replicate(REPLICATE, n, Buffer::default())
    }

    /// The sum of both holders' summands under the mask.
    fn open_masked(&mut self, mut summand: Buffer<R>, mask: &Mask<R>) -> Result<Buffer<R>, Error> {
        summand.add_assign(&mask.summand);
        offset(self.options.truncation, self.role.carries(), &mut summand);
        open(&mut self.rss.party, OPEN_MASKED, summand)
    }

    /// Makes the quotient from the opened masked value.
    fn finish(
        &mut self,
        opened: &Buffer<R>,
        mask: &Mask<R>,
        trunc: u32,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let (kind, carries) = (self.options.truncation, self.role.carries());
        let share = quotient(kind, carries, opened, mask, trunc);
        self.replicate(REPLICATE, opened.len(), share)
    }

    fn take_mask(&mut self, n: usize, trunc: u32) -> Result<Mask<R>, Error> {
        match self.take(Want::Truncate { n, trunc })? {
            Material::Truncate(mask) => Ok(mask),
            Material::Sign(_) => unreachable!("material lies with its want"),
        }
    }
}
