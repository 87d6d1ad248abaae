//! Replicated secret sharing among three parties (Falcon, section 3.2).
//!
//! A secret of Z_L, Z_p or Z_2 is the sum of three components; party `i` holds component `i`
//! ("own") and component `i + 1` ("next"), indices mod 3. So component `j` is common to parties
//! `j - 1` and `j`, who also share the key `K_j` from which it is drawn where it may be random.
//! Public constants live in component 0, held by party 0 (own) and party 2 (next).
//!
//! Numbering differs from the paper's: its P1, P2, P3 are our parties 0, 1, 2.

use std::ops::Range;

use bytemuck::Pod;
use tacit_algebra::{Bits, Buffer, Ring};
use zeroize::Zeroize;

use super::domain::{Booleans, Domain, Words};
use super::{PARTIES, Replicated};
use crate::Error;
use crate::machine::Audience;
use crate::message::{self, Message};

/// The two components of a replicated sharing that one party holds.
#[derive(Clone, Default, Zeroize)]
pub struct Rss<T> {
    /// Component `i` of party `i`.
    pub own: T,
    /// Component `i + 1` of party `i`.
    pub next: T,
}

impl<T> Rss<T> {
    /// Applies a local linear map to both components.
    pub fn map<U>(&self, mut f: impl FnMut(&T) -> U) -> Rss<U> {
        Rss {
            own: f(&self.own),
            next: f(&self.next),
        }
    }

    /// [`Rss::map`] that uses both components up.
    pub(crate) fn into_map<U>(self, mut f: impl FnMut(T) -> U) -> Rss<U> {
        Rss {
            own: f(self.own),
            next: f(self.next),
        }
    }

    /// Joins two sharings component by component.
    pub fn zip<U, V>(&self, other: &Rss<U>, mut f: impl FnMut(&T, &U) -> V) -> Rss<V> {
        Rss {
            own: f(&self.own, &other.own),
            next: f(&self.next, &other.next),
        }
    }
}

impl<T, const N: usize> Rss<[T; N]> {
    /// Each entry as a sharing.
    pub(crate) fn transposed(self) -> [Rss<T>; N] {
        let mut next = self.next.into_iter();
        self.own.map(|own| Rss {
            own,
            next: next.next().expect("as many"),
        })
    }
}

impl<T: Pod> Rss<Buffer<T>> {
    /// The parts one after the other.
    pub fn concat(parts: &[&Self]) -> Self {
        let joined = |component: fn(&Self) -> &Buffer<T>| {
            let components: Vec<_> = parts.iter().map(|part| component(part)).collect();
            Buffer::concat(&components)
        };
        Rss {
            own: joined(|part| &part.own),
            next: joined(|part| &part.next),
        }
    }

    /// A part of the elements, which shares their memory.
    pub fn part(&self, range: Range<usize>) -> Self {
        self.map(|component| component.part(range.clone()))
    }

    /// `n` elements without values.
    pub(crate) fn counted(n: usize) -> Self {
        [(); 2].map(|()| Buffer::counted(n)).into()
    }
}

impl<T> From<[T; 2]> for Rss<T> {
    fn from([own, next]: [T; 2]) -> Self {
        Rss { own, next }
    }
}

impl<R: Ring> Rss<Buffer<R>> {
    /// Both components as bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        [&self.own, &self.next]
            .map(|component| bytemuck::cast_slice(component))
            .concat()
    }

    /// A sharing of `n` elements from such bytes.
    pub(crate) fn from_bytes(n: usize, bytes: &[u8]) -> Option<Self> {
        let (own, next) = bytes.split_at_checked(n * size_of::<R>())?;
        (own.len() == next.len()).then(|| Rss {
            own: bytemuck::pod_collect_to_vec(own).into(),
            next: bytemuck::pod_collect_to_vec(next).into(),
        })
    }
}

const INPUT: Message<Words> = Message::new("rss input");
const REVEAL: Message<Words> = Message::new("rss reveal: open");

impl Replicated {
    /// The party before this one, who holds our own component as its next.
    pub(crate) fn prev_party(&self) -> usize {
        (self.party.id() + PARTIES - 1) % PARTIES
    }

    /// The party after this one, whose own component is our next.
    pub(crate) fn next_party(&self) -> usize {
        (self.party.id() + 1) % PARTIES
    }

    /// Which of this party's components, (own, next), carries public constants.
    pub(crate) fn constant_component(&self) -> Rss<bool> {
        Rss {
            own: self.party.id() == 0,
            next: self.party.id() == PARTIES - 1,
        }
    }

    /// A sharing of public values: component 0 is the value, the others are 0. Local.
    pub(crate) fn public<R: Ring>(&self, values: &Buffer<R>) -> Rss<Buffer<R>> {
        self.constant_component().map(|&here| match here {
            true => values.clone(),
            false => Buffer::zeros(values.len()),
        })
    }

    /// Adds one public number to every element. Local.
    pub(crate) fn add_public<R: Ring>(&self, x: &mut Rss<Buffer<R>>, k: R) {
        let here = self.constant_component();
        if here.own {
            x.own.add_scalar_assign(k);
        }
        if here.next {
            x.next.add_scalar_assign(k);
        }
    }

    /// Xors public bits into a sharing over Z_2. Local.
    pub(crate) fn xor_public(&self, x: &mut Rss<Bits>, k: &Bits) {
        let here = self.constant_component();
        if here.own {
            x.own.xor_assign(k);
        }
        if here.next {
            x.next.xor_assign(k);
        }
    }

    /// Flips every shared bit. Local.
    pub(crate) fn flip_all(&self, x: &mut Rss<Bits>) {
        let ones = self.zeros::<Booleans>(x.own.len()).not();
        self.xor_public(x, &ones);
    }

    /// `n` zeros; a size alone at a party that counts. Local.
    pub(crate) fn zeros<D: Domain>(&self, n: usize) -> D::Vec {
        match self.party.counts() {
            true => D::counted(n),
            false => D::zeros(n),
        }
    }

    /// A sharing of `n` uniformly random elements that nobody knows (Falcon, 2-out-of-3 randomness,
    /// section 3.2). Local.
    pub(crate) fn random<D: Domain>(&mut self, n: usize) -> Rss<D::Vec> {
        Rss {
            own: D::draw(&mut self.keys.own, n),
            next: D::draw(&mut self.keys.next, n),
        }
    }

    /// This party's summand of a fresh 3-out-of-3 sharing of 0: `F(K_{i+1}) - F(K_i)` (Falcon,
    /// section 3.2). Local.
    pub(crate) fn zero<D: Domain>(&mut self, n: usize) -> D::Vec {
        let mut alpha = D::draw(&mut self.keys.next, n);
        D::sub_assign(&mut alpha, &D::draw(&mut self.keys.own, n));
        alpha
    }

    /// Shares `n` values of party `owner` (docs/spec/falcon.md, section 2, Input).
    ///
    /// Component `owner` is drawn from its key, component `owner + 1` is the difference, sent to
    /// the one party that holds it besides the owner, component `owner + 2` is 0.
    /// 1 hop; the owner sends `n` elements.
    pub(crate) fn share_input<D: Domain>(
        &mut self,
        step: Message<D::Family>,
        owner: usize,
        n: usize,
        value: Option<D::Vec>,
    ) -> Result<Rss<D::Vec>, Error> {
        let id = self.party.id();
        if id == owner {
            let mut next = value.ok_or_else(|| {
                Error::Invalid("the owner of an input must give its values".into())
            })?;
            if D::len(&next) != n {
                let given = D::len(&next);
                return Err(Error::Invalid(format!(
                    "an input of {n} elements was planned, {given} were given"
                )));
            }
            let own = D::draw(&mut self.keys.own, n);
            D::sub_assign(&mut next, &own);
            self.send::<D>(self.next_party(), step, &next)?;
            Ok(Rss { own, next })
        } else if id == (owner + 1) % PARTIES {
            Ok(Rss {
                own: self.recv::<D>(owner, step, n)?,
                next: self.zeros::<D>(n),
            })
        } else {
            Ok(Rss {
                own: self.zeros::<D>(n),
                next: D::draw(&mut self.keys.next, n),
            })
        }
    }

    /// Shares a data owner's ring elements. See [`Replicated::share_input`].
    pub(crate) fn input_words<R: Ring>(
        &mut self,
        owner: usize,
        n: usize,
        values: Option<&[i64]>,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let value = match self.party.counts() {
            true => Some(Buffer::counted(n)),
            false => values.map(Buffer::encode),
        };
        self.share_input::<Words<R>>(INPUT, owner, n, value)
    }

    /// Opens `x` to all: party `i` sends its own component to party `i + 1` (Falcon,
    /// Reconstruction, section 3.2).
    /// 1 hop; every party sends `n` elements.
    pub(crate) fn open<D: Domain>(
        &mut self,
        step: Message<D::Family>,
        x: &Rss<D::Vec>,
    ) -> Result<D::Vec, Error> {
        self.begin_open::<D>(step, x)?;
        self.finish_open::<D>(step, x)
    }

    /// The sending half of [`Replicated::open`], for openings that share a hop.
    pub(crate) fn begin_open<D: Domain>(
        &mut self,
        step: Message<D::Family>,
        x: &Rss<D::Vec>,
    ) -> Result<(), Error> {
        self.send::<D>(self.next_party(), step, &x.own)
    }

    /// The receiving half of [`Replicated::open`].
    pub(crate) fn finish_open<D: Domain>(
        &mut self,
        step: Message<D::Family>,
        x: &Rss<D::Vec>,
    ) -> Result<D::Vec, Error> {
        let mut opened = self.recv::<D>(self.prev_party(), step, D::len(&x.own))?;
        D::add_assign(&mut opened, &x.own);
        D::add_assign(&mut opened, &x.next);
        Ok(opened)
    }

    /// Opens `x` to the audience. 1 hop; to one party only its predecessor sends.
    pub(crate) fn reveal_to<R: Ring>(
        &mut self,
        x: &Rss<Buffer<R>>,
        to: Audience,
    ) -> Result<Option<Vec<i64>>, Error> {
        let opened = match to {
            Audience::All => Some(self.open::<Words<R>>(REVEAL, x)?),
            Audience::One(receiver) if receiver == self.party.id() => {
                Some(self.finish_open::<Words<R>>(REVEAL, x)?)
            }
            Audience::One(receiver) => {
                if receiver == self.next_party() {
                    self.begin_open::<Words<R>>(REVEAL, x)?;
                }
                None
            }
        };
        Ok(opened.map(|values| message::opened(&self.party, &values)))
    }

    /// Turns a 3-out-of-3 additive sharing, already masked by [`Replicated::zero`], into a replicated
    /// one: party `i` sends its summand to party `i - 1`. 1 hop, `n` elements per party.
    pub(crate) fn reshare<D: Domain>(
        &mut self,
        step: Message<D::Family>,
        own: D::Vec,
    ) -> Result<Rss<D::Vec>, Error> {
        self.send::<D>(self.prev_party(), step, &own)?;
        let next = self.recv::<D>(self.next_party(), step, D::len(&own))?;
        Ok(Rss { own, next })
    }

    /// Opens a 3-out-of-3 additive sharing, already masked by [`Replicated::zero`], at once: every
    /// party sends its summand to both others. 1 hop, `2 n` elements per party.
    pub(crate) fn open_sum<D: Domain>(
        &mut self,
        step: Message<D::Family>,
        mut own: D::Vec,
    ) -> Result<D::Vec, Error> {
        let (prev, next) = (self.prev_party(), self.next_party());
        let n = D::len(&own);
        self.send::<D>(prev, step, &own)?;
        self.send::<D>(next, step, &own)?;
        for peer in [prev, next] {
            let summand = self.recv::<D>(peer, step, n)?;
            D::add_assign(&mut own, &summand);
        }
        Ok(own)
    }

    /// Queues a vector of elements to a peer.
    pub(crate) fn send<D: Domain>(
        &mut self,
        to: usize,
        step: Message<D::Family>,
        v: &D::Vec,
    ) -> Result<(), Error> {
        step.of::<D>().send(&mut self.party, to, v)
    }

    /// Waits for exactly `n` elements from a peer.
    pub(crate) fn recv<D: Domain>(
        &mut self,
        from: usize,
        step: Message<D::Family>,
        n: usize,
    ) -> Result<D::Vec, Error> {
        step.of::<D>().recv(&mut self.party, from, n)
    }
}

/// `1 - word` where the public bit is 1, else `word`: a bit known up to a public flip.
pub(crate) fn flip_word<R: Ring>(
    word: &Rss<Buffer<R>>,
    public: &Bits,
    constant: Rss<bool>,
) -> Rss<Buffer<R>> {
    word.zip(&constant, |word, here| word.flip(public, *here))
}
