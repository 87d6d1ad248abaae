//! Products and openings that leave a record, and results that are given out.
//!
//! In an opening party `i` learns component `i - 1` from its owner, party `i - 1`; party `i + 1`
//! holds it too. Party `i` hashes what it hears, party `i + 1` what should have been said. At a
//! verification party `i` sends its hash to party `i + 1`, which compares. The hashes go to the one
//! who holds the component, never the other way: a party that was lied to computes on with wrong
//! public values, and the hash of a component that is then not what it should be, given to one
//! who can guess it, might tell what it depends on.
//!
//! A hash is also the acknowledgement by which one verifier tells the other that every call before the
//! verification has ended at it, so that its operands are fixed. The number of the verification and the
//! list of products, which are public, go into it.

use tacit_algebra::{Buffer, Ring};

use super::super::Falcon;
use super::Checks;
use super::defences::Defence;
use super::gates::{Kept, Verified};
use super::products::Product;
use super::verify::cheating;
use crate::Error;
use crate::bilinear::Bilinear;
use crate::machine::{Audience, Operand};
use crate::message::{self, Encoding, Message};
use crate::replicated::{Booleans, Domain, Replicated, Rss, Words, accumulate_shares};

pub(super) const REVEAL: Message<Words> = Message::new("falcon reveal: open");
pub(super) const REVEAL_COPY: Message<[u8; DIGEST]> = Message::new("falcon reveal: second copy");
pub(super) const CARRIES: Message<Booleans> = Message::new("falcon alone: masked carries");
const CONTEXT: &str = "tacit 2026 falcon openings";

/// Bytes of a hash.
pub(super) const DIGEST: usize = 32;

/// What was multiplied since the last verification, what was heard in openings and what should have been.
pub(super) struct Transcripts {
    /// The number of the next verification.
    number: u64,
    heard: blake3::Hasher,
    vouched: blake3::Hasher,
}

impl Transcripts {
    pub fn new() -> Self {
        Transcripts::of(0)
    }

    fn of(number: u64) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(&number.to_le_bytes());
        Transcripts {
            number,
            heard: hasher.clone(),
            vouched: hasher,
        }
    }

    /// A product, by its step and sizes: public, and in the same order at every party.
    fn called(&mut self, step: &str, sizes: &str) {
        for text in [step, sizes] {
            self.record(text.as_bytes(), text.as_bytes());
        }
    }

    /// An opening: this party heard `heard` and holds `held`, which the party before should have
    /// heard.
    fn record(&mut self, heard: &[u8], held: &[u8]) {
        for (hasher, bytes) in [(&mut self.heard, heard), (&mut self.vouched, held)] {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        }
    }

    /// The hashes of what was heard and of what the party before should have heard; begins anew.
    pub fn take(&mut self) -> [[u8; DIGEST]; 2] {
        let next = Transcripts::of(self.number + 1);
        let transcripts = std::mem::replace(self, next);
        [transcripts.heard, transcripts.vouched].map(|hasher| *hasher.finalize().as_bytes())
    }
}

/// A product of what its provers know alone, components of which it is known that they are 0 left out; and
/// what this party adds to the claims about those that it verifies.
pub(super) struct Alone<V> {
    pub product: Rss<Option<V>>,
    pub kept: Kept<V>,
}

impl<V> Alone<V> {
    /// The product with all its `n` elements, and what is added to the claims.
    pub fn whole<D: Domain<Vec = V>>(self, rss: &Replicated, n: usize) -> (Rss<V>, Kept<V>) {
        let component = |x: Option<V>| x.unwrap_or_else(|| rss.zeros::<D>(n));
        (self.product.into_map(component), self.kept)
    }
}

/// Adds to a component that may have been 0.
pub(super) fn add_to<D: Domain>(sum: &mut Option<D::Vec>, more: D::Vec) {
    match sum {
        Some(sum) => D::add_assign(sum, &more),
        None => *sum = Some(more),
    }
}

impl<R: Ring> Checks<R> {
    /// Keeps that this was called: see [`Transcripts::called`].
    pub(super) fn called(&mut self, step: &str, sizes: &str) {
        self.transcripts.called(step, sizes);
    }

    /// Keeps an opening of `x` in which this party heard `heard`.
    pub fn opened<D: Domain>(&mut self, x: &Rss<D::Vec>, heard: &D::Vec) {
        self.dirty = true;
        if !self.generators.counts() {
            let (heard, held) = (D::write(heard), D::write(&x.next));
            self.transcripts.record(&heard, &held);
        }
    }

    fn compares_copies(&self) -> bool {
        self.defences.stand(Defence::SecondCopy)
    }

    /// Keeps a share out of a file: the holders of each component must have the same of it, as if
    /// the party before had been told the component that both hold.
    pub fn loaded(&mut self, x: &Rss<Buffer<R>>) {
        self.dirty = true;
        let (heard, held) = (Words::<R>::write(&x.next), Words::<R>::write(&x.own));
        self.transcripts.record(&heard, &held);
    }

    /// `x y` element by element, recorded. 1 hop; every party sends `n` elements.
    pub fn multiply<D: Verified<R>>(
        &mut self,
        rss: &mut Replicated,
        message: Message<D::Family>,
        x: Rss<D::Vec>,
        y: Rss<D::Vec>,
    ) -> Result<Rss<D::Vec>, Error> {
        let n = D::len(&x.own);
        self.called(message.step(), &n.to_string());
        let masks = rss.random::<D>(n);
        let mut own = masks.next.clone();
        D::sub_assign(&mut own, &masks.own);
        D::product_assign(&mut own, &x, &y);
        let z = rss.reshare::<D>(message, own)?;
        let gates = D::gates(x, y, &z.next, masks);
        D::ledger(&mut self.pending).push(gates);
        self.dirty = true;
        Ok(z)
    }

    /// What some parties multiply alone: of `provers` party `j` knows `x_{j+1}` and `y_j`, makes `product` of them
    /// and sends `z_j = x_{j+1} y_j - F(K_{j+1})`, `n` elements, to the party before; of words, one of each pair
    /// being a bit, it sends the carry of `z_j + F(K_{j+1})`, too, under a mask that it has in common with the
    /// party after. 1 hop. The caller records it.
    pub(super) fn multiply_alone<D: Verified<R>>(
        rss: &mut Replicated,
        message: Message<D::Family>,
        n: usize,
        product: impl FnOnce() -> D::Vec,
        provers: &[usize],
    ) -> Result<Alone<D::Vec>, Error> {
        let (prev, next) = (rss.prev_party(), rss.next_party());
        let mut made = Rss::<Option<D::Vec>>::default();
        let mut kept = Kept::new();
        if provers.contains(&prev) {
            made.own = Some(D::draw(&mut rss.keys.own, n));
            kept.right = made.own.clone();
            kept.masks.own = D::CARRIES.then(|| rss.keys.own.bits(n));
        }
        if provers.contains(&rss.party.id()) {
            let mut z = product();
            let drawn = D::draw(&mut rss.keys.next, n);
            D::sub_assign(&mut z, &drawn);
            rss.send::<D>(prev, message, &z)?;
            if let Some(carries) = D::carries(&z, &drawn) {
                let mask = rss.keys.next.bits(n);
                let carries = carries.xor(&mask);
                rss.send::<Booleans>(prev, CARRIES, &carries)?;
                (kept.masks.next, kept.carries.own) = (Some(mask), Some(carries));
            }
            made.next = Some(drawn);
            add_to::<D>(&mut made.own, z);
        }
        if provers.contains(&next) {
            let z = rss.recv::<D>(next, message, n)?;
            if D::CARRIES {
                kept.carries.next = Some(rss.recv::<Booleans>(next, CARRIES, n)?);
            }
            kept.left = Some(z.clone());
            add_to::<D>(&mut made.next, z);
        }
        Ok(Alone {
            product: made,
            kept,
        })
    }

    /// `x * w + bias`, recorded. 1 hop; every party sends one element per output.
    pub fn product(
        &mut self,
        rss: &mut Replicated,
        message: Message<Words>,
        map: &Bilinear,
        [x, w]: [&Rss<Buffer<R>>; 2],
        bias: Option<&Operand<Rss<Buffer<R>>>>,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let bias = bias.map(|b| rss.operand(b));
        map.check(x.own.len(), w.own.len(), bias.as_ref().map(|b| b.own.len()))?;
        self.waiting += map.left() + map.right() + map.outputs();
        let mut z = match map {
            Bilinear::Elementwise(_) => {
                self.multiply::<Words<R>>(rss, message, x.clone(), w.clone())?
            }
            _ => self.matrix_product(rss, message, map, [x, w])?,
        };
        if let Some(bias) = &bias {
            z = z.zip(bias, |z, bias| z.add(&map.spread_out(bias)));
        }
        Ok(z)
    }

    /// `x * w` of matrices or a convolution, recorded as a whole.
    fn matrix_product(
        &mut self,
        rss: &mut Replicated,
        message: Message<Words>,
        map: &Bilinear,
        [x, w]: [&Rss<Buffer<R>>; 2],
    ) -> Result<Rss<Buffer<R>>, Error> {
        self.called(message.step(), &format!("{map:?}"));
        if map.left() == 0 || map.right() == 0 {
            // Sums of nothing, about which a proof would have no entries.
            return Ok([(); 2].map(|()| Buffer::zeros(map.outputs())).into());
        }
        let masks = rss.random::<Words<R>>(map.outputs());
        let mut own = masks.next.sub(&masks.own);
        accumulate_shares(map, &mut own, x, w);
        let z = rss.reshare::<Words<R>>(message, own)?;
        let product = Product::new(*map, x.clone(), w.clone(), &z.next, &masks);
        self.pending.products.push(product);
        self.dirty = true;
        Ok(z)
    }
}

impl<R: Ring> Falcon<R> {
    /// Opens a result (Falcon, Reconstruction, section 3.2; docs/spec/falcon.md, section 2): after
    /// a verification, so that every product and opening behind it is right and all parties hold the
    /// same. The owner of the missing component sends it, its other holder a hash of it, and
    /// nothing is given out unless they agree.
    /// 1 hop after the verification; 32 bytes more than without.
    pub(in crate::falcon) fn reveal_checked(
        &mut self,
        x: &Rss<Buffer<R>>,
        to: Audience,
    ) -> Result<Option<Vec<i64>>, Error> {
        self.verify_waiting()?;
        let compares = self.checks.as_ref().is_none_or(Checks::compares_copies);
        let hears = |party| to == Audience::All || to == Audience::One(party);
        let rss = &mut self.rss;
        let (me, prev, next) = (rss.party.id(), rss.prev_party(), rss.next_party());
        let counts = rss.party.counts();
        let digest = |v: &Buffer<R>| match counts {
            true => [0; DIGEST],
            false => blake3::derive_key(CONTEXT, &Words::<R>::write(v)),
        };
        if hears(next) {
            rss.send::<Words<R>>(next, REVEAL, &x.own)?;
        }
        if hears(prev) {
            REVEAL_COPY.send(&mut rss.party, prev, &digest(&x.next))?;
        }
        if !hears(me) {
            return Ok(None);
        }
        let missing = rss.recv::<Words<R>>(prev, REVEAL, x.own.len())?;
        let copy = REVEAL_COPY.recv(&mut rss.party, next, ())?;
        if compares && copy != digest(&missing) {
            return Err(cheating(rss, [prev, next], REVEAL));
        }
        let values = missing.add3(&x.own, &x.next);
        Ok(Some(message::opened(&rss.party, &values)))
    }
}
