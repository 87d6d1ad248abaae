//! The RSS setting: replicated shares among all three parties; parties 0 and 1 send the entries of
//! a comparison and party 2 assists.

mod cost;
mod demand;
mod linear;
mod relu;

use std::ops::Range;

use tacit_algebra::{Buffer, Ring};
use tacit_net::{Party, Phase};

use super::role::PartyRole;
use super::{Options, take};
use crate::Error;
use crate::machine::{
    Audience, Bilinear, Call, CostModel, Erased, KeyBits, Machine, Operand, not_saved,
};
use crate::material_portions::Ahead;
use crate::replicated::{Replicated, Rss, Words};

use crate::message::Message;
pub use cost::RssCost;
use demand::{Material, Store, Want};

const SELECT: Message<Words> = Message::new("bicoptor select: multiply");

/// One party's end of Bicoptor 2.0 over the ring `R`, RSS setting.
pub struct BicoptorRss<R: Ring> {
    rss: Replicated,
    role: PartyRole,
    options: Options,
    store: Store<R>,
    cost: RssCost<R>,
}

impl<R: Ring> BicoptorRss<R> {
    /// Joins the two other parties and agrees on keys with them (2 hops, 128 bytes each).
    pub fn new(mut party: Party, options: Options) -> Result<Self, Error> {
        options.check()?;
        party.set_phase(Phase::Setup);
        let (rss, pairs) = Replicated::new(party, "bicoptor")?;
        Ok(BicoptorRss {
            role: PartyRole::new(rss.party.id(), &pairs[0], &pairs[1]),
            rss,
            options,
            store: Store::new(),
            cost: RssCost::new(options),
        })
    }

    /// The next material, which must be what is wanted.
    fn take(&mut self, want: Want) -> Result<Material<R>, Error> {
        take(&mut self.store, want, Want::describe)
    }

    /// A holder's summand of `x`, re-randomised: the assistant knows component 2, and components
    /// may be public. Local.
    fn summand(&mut self, x: &Rss<Buffer<R>>) -> Buffer<R> {
        let PartyRole::Holder { first, common, .. } = &mut self.role else {
            return Buffer::default();
        };
        let rho = common.words(x.own.len());
        match first {
            true => x.own.add3(&x.next, &rho),
            false => x.next.sub(&rho),
        }
    }

    /// Replicated shares of what the holders share between them: components 0 and 2 are drawn
    /// with the assistant, component 1 is the rest, whose two summands the holders exchange.
    /// 1 hop; each holder sends `n` elements.
    fn replicate(
        &mut self,
        step: Message<Words>,
        n: usize,
        share: Buffer<R>,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let begun = self.begin_replicate(step, n, share)?;
        self.finish_replicate(step, begun)
    }

    /// Draws and sends; at a holder `share` is of `n` elements.
    fn begin_replicate(
        &mut self,
        step: Message<Words>,
        n: usize,
        mut share: Buffer<R>,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let keys = &mut self.rss.keys;
        let (drawn, peer) = match self.rss.party.id() {
            0 => (keys.own.words(n), 1),
            1 => (keys.next.words(n), 0),
            _ => {
                return Ok(Rss {
                    own: keys.own.words(n),
                    next: keys.next.words(n),
                });
            }
        };
        share.sub_assign(&drawn);
        self.rss.send::<Words<R>>(peer, step, &share)?;
        Ok(match peer {
            1 => Rss {
                own: drawn,
                next: share,
            },
            _ => Rss {
                own: share,
                next: drawn,
            },
        })
    }

    /// Adds the other holder's summand.
    fn finish_replicate(
        &mut self,
        step: Message<Words>,
        mut begun: Rss<Buffer<R>>,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let (peer, common) = match self.rss.party.id() {
            0 => (1, &mut begun.next),
            1 => (0, &mut begun.own),
            _ => return Ok(begun),
        };
        let theirs = self.rss.recv::<Words<R>>(peer, step, common.len())?;
        common.add_assign(&theirs);
        Ok(begun)
    }
}

/// A party's machine over the ring of 32 or 64 bits.
pub fn machine(bits: u32, party: Party, options: Options) -> Result<Erased<'static>, Error> {
    match bits {
        32 => BicoptorRss::<u32>::new(party, options).map(Erased::new),
        _ => BicoptorRss::<u64>::new(party, options).map(Erased::new),
    }
}

/// The declared cost over the ring of 32 or 64 bits.
pub fn cost(bits: u32, options: Options) -> Box<dyn CostModel> {
    match bits {
        32 => Box::new(RssCost::<u32>::new(options)),
        _ => Box::new(RssCost::<u64>::new(options)),
    }
}

impl<R: Ring> Machine for BicoptorRss<R> {
    type Share = Rss<Buffer<R>>;
    /// Bits over the ring.
    type Bits = Rss<Buffer<R>>;

    fn element_bits(&self) -> u32 {
        R::BITS
    }

    fn party(&mut self) -> &mut Party {
        &mut self.rss.party
    }

    fn ahead(&mut self) -> &mut Ahead {
        &mut self.rss.ahead
    }

    fn cost_model(&self) -> &dyn CostModel {
        &self.cost
    }

    fn prepare(&mut self, calls: &[Call]) -> Result<(), Error> {
        self.rss.party.set_phase(Phase::Offline);
        self.preprocess(calls)?;
        self.rss.party.set_phase(Phase::Online);
        Ok(())
    }

    fn input(
        &mut self,
        owner: usize,
        n: usize,
        values: Option<&[i64]>,
    ) -> Result<Self::Share, Error> {
        self.rss.input_words(owner, n, values)
    }

    fn constant(&mut self, values: &[i64]) -> Self::Share {
        self.rss.public(&Buffer::encode(values))
    }

    fn reveal(&mut self, x: &Self::Share, to: Audience) -> Result<Option<Vec<i64>>, Error> {
        self.rss.reveal_to(x, to)
    }

    fn save(&self, x: &Self::Share) -> Vec<u8> {
        x.to_bytes()
    }

    fn load(&mut self, n: usize, bytes: &[u8]) -> Result<Self::Share, Error> {
        Rss::from_bytes(n, bytes).ok_or_else(|| not_saved(n))
    }

    fn len(&self, x: &Self::Share) -> usize {
        x.own.len()
    }

    fn add(&mut self, x: &Self::Share, y: &Self::Share) -> Self::Share {
        x.zip(y, Buffer::add)
    }

    fn sub(&mut self, x: &Self::Share, y: &Self::Share) -> Self::Share {
        x.zip(y, Buffer::sub)
    }

    fn scale(&mut self, x: &Self::Share, k: i64) -> Self::Share {
        x.map(|component| component.scale(R::from_i64(k)))
    }

    fn gather(&mut self, x: &Self::Share, index: &[u32]) -> Self::Share {
        x.map(|component| component.gather(index))
    }

    fn slice(&mut self, x: &Self::Share, range: Range<usize>) -> Self::Share {
        x.part(range)
    }

    fn concat(&mut self, parts: &[&Self::Share]) -> Self::Share {
        Rss::concat(parts)
    }

    fn linear(
        &mut self,
        x: &Self::Share,
        w: &Operand<Self::Share>,
        bias: Option<&Operand<Self::Share>>,
        map: &Bilinear,
        trunc: u32,
        _bits: Option<[u32; 2]>,
    ) -> Result<Self::Share, Error> {
        self.product(x, w, bias, map, trunc)
    }

    fn truncate(&mut self, x: &Self::Share, trunc: u32) -> Result<Self::Share, Error> {
        if trunc == 0 {
            Ok(x.clone())
        } else {
            self.truncate_shared(x, trunc)
        }
    }

    fn drelu(&mut self, x: &Self::Share, keys: KeyBits) -> Result<Self::Bits, Error> {
        self.drelu_share(x, keys)
    }

    /// `x + bit (y - x)`: 1 hop; every party sends 1 element.
    fn select(
        &mut self,
        bit: &Self::Bits,
        x: &Self::Share,
        y: &Self::Share,
    ) -> Result<Self::Share, Error> {
        let difference = self.sub(y, x);
        let chosen = self.rss.multiply::<Words<R>>(SELECT, &difference, bit)?;
        Ok(self.add(x, &chosen))
    }

    fn relu(&mut self, x: &Self::Share, keys: KeyBits) -> Result<Self::Share, Error> {
        self.rectify(x, keys)
    }
}
