//! The UBL setting: parties 0 and 1 hold 2-out-of-2 shares, party 2 holds nothing and assists.

mod adder;
mod cost;
mod demand;
mod linear;
mod relu;
mod share;

use std::ops::Range;
use std::sync::Arc;

use tacit_algebra::{Buffer, Ring};
use tacit_net::{Party, Phase};

use super::role::PartyRole;
use super::truncate::{check, truncate_locally, truncate_masked};
use super::{ASSISTANT, Options, PARTIES, take};
use crate::machine::{
    Audience, Bilinear, Call, CostModel, Erased, KeyBits, Machine, Operand, not_saved,
};
use crate::material_portions::Ahead;
use crate::{Error, Truncation, keys};

pub use cost::UblCost;
pub use share::Share;

use demand::{Material, Store, Want};
use share::Reusable;

/// One party's end of Bicoptor 2.0 over the ring `R`, UBL setting.
pub struct Ubl<R: Ring> {
    party: Party,
    ahead: Ahead,
    role: PartyRole,
    options: Options,
    /// The operands made reusable so far.
    reusable: Vec<Arc<Reusable<R>>>,
    store: Store<R>,
    cost: UblCost<R>,
}

impl<R: Ring> Ubl<R> {
    /// Joins the two other parties and agrees on keys with them (2 hops, 128 bytes each).
    pub fn new(mut party: Party, options: Options) -> Result<Self, Error> {
        options.check()?;
        if party.parties() != PARTIES {
            let why = format!("Bicoptor runs between 3 parties, not {}", party.parties());
            return Err(Error::Invalid(why));
        }
        party.set_phase(Phase::Setup);
        let id = party.id();
        let peers = [(id + PARTIES - 1) % PARTIES, (id + 1) % PARTIES];
        let pairs = keys::agree(&mut party, &peers)?;
        Ok(Ubl {
            role: PartyRole::new(id, &pairs[0], &pairs[1]),
            party,
            ahead: Ahead::default(),
            options,
            reusable: Vec::new(),
            store: Store::new(),
            cost: UblCost::new(options),
        })
    }

    /// The next material, which must be what is wanted.
    fn take(&mut self, want: Want) -> Result<Material<R>, Error> {
        take(&mut self.store, want, Want::describe)
    }
}

/// A party's machine over the ring of 32 or 64 bits.
pub fn machine(bits: u32, party: Party, options: Options) -> Result<Erased<'static>, Error> {
    match bits {
        32 => Ubl::<u32>::new(party, options).map(Erased::new),
        _ => Ubl::<u64>::new(party, options).map(Erased::new),
    }
}

/// The declared cost over the ring of 32 or 64 bits.
pub fn cost(bits: u32, options: Options) -> Box<dyn CostModel> {
    match bits {
        32 => Box::new(UblCost::<u32>::new(options)),
        _ => Box::new(UblCost::<u64>::new(options)),
    }
}

impl<R: Ring> Machine for Ubl<R> {
    type Share = Share<R>;
    type Bits = Share<R>;

    fn element_bits(&self) -> u32 {
        R::BITS
    }

    fn party(&mut self) -> &mut Party {
        &mut self.party
    }

    fn ahead(&mut self) -> &mut Ahead {
        &mut self.ahead
    }

    fn cost_model(&self) -> &dyn CostModel {
        &self.cost
    }

    fn prepare(&mut self, calls: &[Call]) -> Result<(), Error> {
        self.party.set_phase(Phase::Offline);
        self.preprocess(calls)?;
        self.party.set_phase(Phase::Online);
        Ok(())
    }

    fn input(&mut self, owner: usize, n: usize, values: Option<&[i64]>) -> Result<Share<R>, Error> {
        self.share_input(owner, n, values)
    }

    fn constant(&mut self, values: &[i64]) -> Share<R> {
        let own = match (&self.role, self.role.carries()) {
            (PartyRole::Assistant { .. }, _) => None,
            (_, true) => Some(Buffer::encode(values)),
            (_, false) => Some(Buffer::zeros(values.len())),
        };
        Share::new(values.len(), own)
    }

    fn reveal(&mut self, x: &Share<R>, to: Audience) -> Result<Option<Vec<i64>>, Error> {
        self.reveal_to(x, to)
    }

    fn reusable(&mut self, x: Share<R>) -> Result<Share<R>, Error> {
        self.make_reusable(x)
    }

    fn save(&self, x: &Share<R>) -> Vec<u8> {
        bytemuck::cast_slice(&x.own()).to_vec()
    }

    fn load(&mut self, n: usize, bytes: &[u8]) -> Result<Share<R>, Error> {
        let holds = self.party.id() != ASSISTANT;
        match bytes.len() == if holds { n * size_of::<R>() } else { 0 } {
            true => Ok(Share::new(
                n,
                holds.then(|| bytemuck::pod_collect_to_vec(bytes).into()),
            )),
            false => Err(not_saved(n)),
        }
    }

    /// A holder's summand made anew: with the assistant, who dealt what summands are made of, a client
    /// would learn of the old ones what `x` was computed from. Local.
    fn hand_out(&mut self, x: &Share<R>) -> Result<Vec<u8>, Error> {
        let fresh = self.role.refresh(&x.own());
        Ok(bytemuck::cast_slice(&fresh).to_vec())
    }

    fn len(&self, x: &Share<R>) -> usize {
        x.len()
    }

    fn add(&mut self, x: &Share<R>, y: &Share<R>) -> Share<R> {
        x.zip(y, Buffer::add)
    }

    fn sub(&mut self, x: &Share<R>, y: &Share<R>) -> Share<R> {
        x.zip(y, Buffer::sub)
    }

    fn scale(&mut self, x: &Share<R>, k: i64) -> Share<R> {
        x.map(x.len(), |own| own.scale(R::from_i64(k)))
    }

    fn gather(&mut self, x: &Share<R>, index: &[u32]) -> Share<R> {
        x.map(index.len(), |own| own.gather(index))
    }

    fn slice(&mut self, x: &Share<R>, range: Range<usize>) -> Share<R> {
        x.map(range.len(), |own| own.part(range.clone()))
    }

    fn concat(&mut self, parts: &[&Share<R>]) -> Share<R> {
        Share::concat(parts)
    }

    fn linear(
        &mut self,
        x: &Share<R>,
        w: &Operand<Share<R>>,
        bias: Option<&Operand<Share<R>>>,
        map: &Bilinear,
        trunc: u32,
        _bits: Option<[u32; 2]>,
    ) -> Result<Share<R>, Error> {
        self.product(x, w, bias, map, trunc)
    }

    /// 1 hop and 1 element per holder; SecureML's is local.
    fn truncate(&mut self, x: &Share<R>, trunc: u32) -> Result<Share<R>, Error> {
        if trunc == 0 {
            return Ok(x.clone());
        }
        check::<R>(trunc)?;
        if self.options.truncation == Truncation::SecureMl {
            let role = &mut self.role;
            return Ok(x.map(x.len(), |own| truncate_locally(role, own, trunc)));
        }
        let n = x.len();
        let Material::Truncate(mask) = self.take(Want::Truncate { n, trunc })? else {
            unreachable!("material lies with its want")
        };
        let kind = self.options.truncation;
        let (role, party) = (&self.role, &mut self.party);
        x.try_map(n, |own| {
            truncate_masked(role, party, kind, own.clone(), &mask, trunc)
        })
    }

    fn drelu(&mut self, x: &Share<R>, keys: KeyBits) -> Result<Share<R>, Error> {
        self.drelu_share(x, keys)
    }

    /// `x + bit (y - x)`: 1 product.
    fn select(&mut self, bit: &Share<R>, x: &Share<R>, y: &Share<R>) -> Result<Share<R>, Error> {
        let difference = self.sub(y, x);
        let chosen = self.mul(&difference, &Operand::Secret(bit.clone()), 0)?;
        Ok(self.add(x, &chosen))
    }

    fn relu(&mut self, x: &Share<R>, keys: KeyBits) -> Result<Share<R>, Error> {
        self.rectify(x, keys)
    }
}
