//! 2-out-of-2 sharing: input, opening, operands that are reusable (docs/spec/bicoptor2.md, sections 1,
//! 6 and 8).

use std::sync::Arc;

use tacit_algebra::{Buffer, Ring};

use super::Ubl;
use crate::Error;
use crate::bicoptor::ASSISTANT;
use crate::bicoptor::role::{PartyRole, open, other, recv, send};
use crate::machine::Audience;
use crate::message::{self, Message};
use crate::replicated::Words;

const INPUT: Message<Words> = Message::new("bicoptor input");
const REVEAL: Message<Words> = Message::new("bicoptor reveal");
const OPEN_MASKED: Message<Words> = Message::new("bicoptor fix: open masked operand");

/// A party's share: a summand at the holders, nothing at the assistant.
#[derive(Clone)]
pub struct Share<R> {
    n: usize,
    own: Option<Buffer<R>>,
    reusable: Option<Arc<Reusable<R>>>,
}

/// A reusable operand: a `w` that was opened to the holders under a mask that the assistant knows.
pub(super) struct Reusable<R> {
    /// The operand's number, from 0.
    pub id: usize,
    /// `w - b` at the holders, `b` at the assistant.
    pub known: Buffer<R>,
}

impl<R: Ring> Share<R> {
    pub(super) fn new(n: usize, own: Option<Buffer<R>>) -> Self {
        let reusable = None;
        Share { n, own, reusable }
    }

    /// The number of elements.
    pub(super) fn len(&self) -> usize {
        self.n
    }

    /// This party's summand; nothing at the assistant.
    pub(super) fn own(&self) -> Buffer<R> {
        self.own.clone().unwrap_or_default()
    }

    /// What a product with it needs, if it is reusable.
    pub(super) fn reusable(&self) -> Option<&Reusable<R>> {
        self.reusable.as_deref()
    }

    /// A local linear map to `n` elements.
    pub(super) fn map(&self, n: usize, f: impl FnOnce(&Buffer<R>) -> Buffer<R>) -> Self {
        Share::new(n, self.own.as_ref().map(f))
    }

    /// A step of the holders alone.
    pub(super) fn try_map(
        &self,
        n: usize,
        f: impl FnOnce(&Buffer<R>) -> Result<Buffer<R>, Error>,
    ) -> Result<Self, Error> {
        Ok(Share::new(n, self.own.as_ref().map(f).transpose()?))
    }

    /// A local linear map of two sharings of equal length.
    pub(super) fn zip(
        &self,
        other: &Self,
        f: impl FnOnce(&Buffer<R>, &Buffer<R>) -> Buffer<R>,
    ) -> Self {
        assert_eq!(self.n, other.n);
        self.map(self.n, |own| f(own, &other.own()))
    }

    pub(super) fn concat(parts: &[&Self]) -> Self {
        let n = parts.iter().map(|p| p.n).sum();
        let own = parts
            .iter()
            .map(|p| p.own.as_ref())
            .collect::<Option<Vec<_>>>();
        Share::new(n, own.map(|own| Buffer::concat(&own)))
    }
}

impl<R: Ring> Ubl<R> {
    /// Shares `n` values of `owner`: a holder keeps them less a vector of the common generator and
    /// sends nothing; the assistant deals them (1 hop, `n` elements to party 1).
    pub(super) fn share_input(
        &mut self,
        owner: usize,
        n: usize,
        values: Option<&[i64]>,
    ) -> Result<Share<R>, Error> {
        let owns = self.party.id() == owner;
        let values = match values {
            _ if self.party.counts() => Buffer::counted(n),
            Some(values) if owns && values.len() == n => Buffer::encode(values),
            None if !owns => Buffer::default(),
            _ => {
                let given = values.map_or(0, <[i64]>::len);
                return Err(Error::Invalid(format!(
                    "an input of {n} elements was planned for party {owner}, {given} were given at party {}",
                    self.party.id()
                )));
            }
        };
        if owner == ASSISTANT {
            let own = self.role.deal(&mut self.party, INPUT, n, values)?;
            return Ok(Share::new(n, (!owns).then_some(own)));
        }
        let own = match &mut self.role {
            PartyRole::Holder { common, .. } => {
                let mask = common.words(n);
                Some(if owns { values.sub(&mask) } else { mask })
            }
            PartyRole::Assistant { .. } => None,
        };
        Ok(Share::new(n, own))
    }

    /// Opens `x` to the audience (docs/spec/bicoptor2.md, section 8): each holder sends its summand
    /// to whoever lacks it.
    ///
    /// To a holder the other's summand is the value less its own, and tells no more. The assistant
    /// dealt what the summands are made of: each of them would tell it what `x` was computed from. It
    /// is sent new ones, of which it learns their sum.
    /// 1 hop; each holder sends `n` elements to each of the others who hear.
    pub(super) fn reveal_to(
        &mut self,
        x: &Share<R>,
        to: Audience,
    ) -> Result<Option<Vec<i64>>, Error> {
        let id = self.party.id();
        let hears = |party: usize| match to {
            Audience::All => true,
            Audience::One(one) => one == party,
        };
        if let Some(own) = &x.own {
            let peer = other(&self.party);
            if hears(peer) {
                send(&mut self.party, peer, REVEAL, own)?;
            }
            if hears(ASSISTANT) {
                let fresh = self.role.refresh(own);
                send(&mut self.party, ASSISTANT, REVEAL, &fresh)?;
            }
        }
        if !hears(id) {
            return Ok(None);
        }
        let mut sum = match &x.own {
            Some(own) => own.clone(),
            None => recv(&mut self.party, 0, REVEAL, x.n)?,
        };
        let last = if id == 1 { 0 } else { 1 };
        sum.add_assign(&recv(&mut self.party, last, REVEAL, x.n)?);
        Ok(Some(message::opened(&self.party, &sum)))
    }

    /// Opens `w - b` to the holders for a random `b` that the assistant knows, once for all
    /// products with `w`. 1 hop; each holder sends `n` elements.
    pub(super) fn make_reusable(&mut self, mut w: Share<R>) -> Result<Share<R>, Error> {
        let b = self.role.random(w.n);
        let known = match &w.own {
            Some(own) => open(&mut self.party, OPEN_MASKED, own.sub(&b))?,
            None => b,
        };
        let id = self.reusable.len();
        let reusable = Arc::new(Reusable { id, known });
        self.reusable.push(reusable.clone());
        w.reusable = Some(reusable);
        Ok(w)
    }
}
