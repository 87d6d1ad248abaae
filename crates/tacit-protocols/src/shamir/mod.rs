//! Many parties: Shamir sharing over Mersenne primes, semi-honest (Liu, Xie, Xie, Lin, Liang, Wang,
//! Yu: "Scalable Multi-Party Computation Protocols for Machine Learning in the Honest-Majority
//! Setting", USENIX Security 2024), in the corrected form of docs/spec/liu24.md.
//!
//! Of `n >= 2t + 1` parties any `t` may collude; they follow the protocol. A value of the field of
//! `p = 2^l - 1` elements is the value at 0 of a polynomial of degree `t`, of which party `i`
//! holds the value at `i + 1`. Each file holds one of the paper's subjects and names what differs
//! from the paper.
//!
//! | file | what |
//! |---|---|
//! | `open.rs` | Reveal, MultPub, Mult |
//! | `deal.rs` | Rand, DoubleRand, Zero |
//! | `multiply.rs` | products, matrix products, convolutions |
//! | `truncate.rs` | Trunc, Fixed-Mult |
//! | `compare.rs` | comparison by a tree and by a rotation, DReLU |
//! | `relu.rs` | selection, ReLU, 2L-DN |
//! | `small/` | shared bits over a small field: sums, comparisons, masks known in both fields |
//! | `prefix.rs` | PreMult |
//! | `preprocess.rs` | the offline phase: RandBit, SolvedBits, RandNZ, TruncTriple |
//! | `params.rs`, `demand.rs`, `cost.rs` | who sends what to whom, what a call consumes and costs |
//! | `message.rs` | elements as messages |
//!
//! # Who opens a value
//!
//! Between many parties the cost of a protocol is that of its openings, and who sends what to whom in
//! one is written once, in `shamir/params.rs`: the protocol does it, and the
//! automatic choices (kings or everyone to everyone, tree or rotation) weigh it with the network's
//! latency and rate. They depend on nothing that the parties do not agree on.

mod compare;
mod cost;
mod deal;
mod demand;
mod material;
mod message;
mod multiply;
mod open;
mod options;
mod params;
mod prefix;
mod preprocess;
#[cfg(test)]
mod published;
mod relu;
mod small;
#[cfg(test)]
mod tests;
mod truncate;

use std::ops::Range;
use std::sync::Arc;

use tacit_algebra::Buffer;
use tacit_algebra::mersenne::{F31, F61, Field, Matrix, buffer, from_wire, to_wire};
use tacit_net::{Party, Phase};

pub use cost::ShamirCost;
pub use options::{Comparison, Opening, Options};
pub use prefix::PreMult;
pub use relu::TwoLayer;

use crate::Error;
use crate::bilinear::Bilinear;
use crate::machine::{Audience, Call, CostModel, Erased, KeyBits, Machine, Operand, not_saved};
use crate::material_portions::Ahead;
use crate::message::{Elements, Message};
use deal::{Dealing, Streams};
use demand::Want;
use material::{Material, Store};
use params::Params;
use small::Small;

/// The most parties.
pub const MAX_PARTIES: usize = 63;

const INPUT: Message<Elements> = Message::new("shamir input");
const TAKE_IN: Message<Elements> = Message::new("shamir input: of a client");
const REVEAL: Message<Elements> = Message::new("shamir reveal");

/// One party's end of the protocol over the field `F`.
pub struct Shamir<F: Field> {
    party: Party,
    ahead: Ahead,
    params: Params,
    points: Points<F>,
    low: Arc<Dealing<F>>,
    high: Arc<Dealing<F>>,
    extraction: Matrix<F>,
    small: Arc<Small>,
    streams: Streams,
    store: Store<F>,
    cost: ShamirCost<F>,
}

/// Interpolation as this party needs it.
struct Points<F> {
    /// Factors that take the shares of this party and the `t` after it to the value, for degree `t`.
    at_zero_t: Vec<F>,
    /// Factors that take the shares of this party and the `2t` after it to the value, for degree
    /// `2t`.
    at_zero_2t: Vec<F>,
    /// By king: this party's value, for 1 at 0, of the polynomial that is 0 at the `t` parties
    /// before the king.
    dealt: Vec<F>,
}

impl<F: Field> Points<F> {
    fn new(params: &Params, id: usize) -> Self {
        if params.counted {
            // No number is made of another.
            return Points {
                at_zero_t: Vec::new(),
                at_zero_2t: Vec::new(),
                dealt: vec![F::ZERO; params.parties],
            };
        }
        let point = |party: usize| party as u64 + 1;
        let at_zero = |degree: usize| {
            let from: Vec<u64> = (0..=degree).map(|i| point(params.after(id, i))).collect();
            Matrix::lagrange(&from, &[0]).data
        };
        let dealt = |king: usize| {
            let mut from = vec![0];
            from.extend((1..=params.threshold).map(|i| point(params.before(king, i))));
            Matrix::<F>::lagrange(&from, &[point(id)]).data[0]
        };
        Points {
            at_zero_t: at_zero(params.threshold),
            at_zero_2t: at_zero(2 * params.threshold),
            dealt: (0..params.parties).map(dealt).collect(),
        }
    }
}

impl<F: Field> Shamir<F> {
    /// Joins the other parties and agrees on keys with them (2 hops, 64 bytes to each).
    pub fn new(mut party: Party, options: &Options) -> Result<Self, Error> {
        let params = Params::new::<F>(party.parties(), options)?;
        party.set_phase(Phase::Setup);
        let streams = Streams::agree(&mut party)?;
        Ok(Self::with(party, params, streams, ShamirCost::of(params)))
    }

    fn with(party: Party, params: Params, streams: Streams, cost: ShamirCost<F>) -> Self {
        let id = party.id();
        let [kept, dealt] = [params.kept(), params.parties];
        Shamir {
            points: Points::new(&params, id),
            low: Dealing::low(&params, id).into(),
            high: Dealing::high(&params, id).into(),
            extraction: match params.counted {
                true => Matrix::counted(kept, dealt),
                false => Matrix::vandermonde(kept, dealt),
            },
            small: Small::new(&params, id).into(),
            streams,
            store: Store::new(),
            cost,
            params,
            party,
            ahead: Ahead::default(),
        }
    }

    /// The material of the next call, which must be what was planned: material is never stretched
    /// or reused.
    fn take(&mut self, want: Want) -> Result<Material<F>, Error> {
        match self.store.front() {
            Some((prepared, _)) if *prepared == want => {}
            _ => {
                return Err(Error::NotPrepared {
                    call: want.to_string(),
                });
            }
        }
        let (_, material) = self.store.pop_front().expect("the front was seen");
        Ok(material)
    }

    /// Shares `values` of `owner`: the `t` parties after it draw their shares, the others are sent
    /// theirs. 1 hop; the owner sends `n - 1 - t` elements for each value.
    fn share_input(
        &mut self,
        owner: usize,
        n: usize,
        values: Option<&[i64]>,
    ) -> Result<Buffer<F>, Error> {
        let id = self.party.id();
        if id != owner {
            let place = self.params.before(id, owner);
            return self.receive(owner, place, INPUT, self.params.threshold, n);
        }
        let values = match self.party.counts() {
            true => Some(Buffer::counted(n)),
            false => values.map(buffer::encode),
        };
        let values = values
            .ok_or_else(|| Error::Invalid("the owner of an input must give its values".into()))?;
        if values.len() != n {
            return Err(Error::Invalid(format!(
                "an input of {n} elements was given {}",
                values.len()
            )));
        }
        let dealing = Dealing::input(&self.params, id, INPUT);
        self.deal(&dealing, values)
    }

    /// Opens to one party. 1 hop; the `t` parties after it send 1 element for each value.
    fn reveal_to(&mut self, x: &Buffer<F>, to: usize) -> Result<Option<Vec<i64>>, Error> {
        let id = self.party.id();
        if id != to {
            let place = self.params.before(id, to);
            if place <= self.params.threshold {
                self.send(to, REVEAL, x)?;
            }
            return Ok(None);
        }
        let mut rows = vec![x.clone()];
        for i in 1..=self.params.threshold {
            rows.push(self.recv(self.params.after(id, i), REVEAL, x.len())?);
        }
        let value = buffer::combine(&self.points.at_zero_t, &rows);
        Ok(Some(self.opened(&value)))
    }
}

/// A party's machine over the field of 31 or 61 bits.
pub fn machine(bits: u32, party: Party, options: &Options) -> Result<Erased<'static>, Error> {
    match bits {
        31 => Shamir::<F31>::new(party, options).map(Erased::new),
        _ => Shamir::<F61>::new(party, options).map(Erased::new),
    }
}

/// The declared cost between so many parties over the field of 31 or 61 bits.
pub fn cost(bits: u32, parties: usize, options: &Options) -> Result<Box<dyn CostModel>, Error> {
    Ok(match bits {
        31 => Box::new(ShamirCost::<F31>::new(parties, options)?),
        _ => Box::new(ShamirCost::<F61>::new(parties, options)?),
    })
}

impl<F: Field> Machine for Shamir<F> {
    type Share = Buffer<F>;
    type Bits = Buffer<F>;

    fn element_bits(&self) -> u32 {
        F::BITS
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

    fn input(
        &mut self,
        owner: usize,
        n: usize,
        values: Option<&[i64]>,
    ) -> Result<Buffer<F>, Error> {
        self.share_input(owner, n, values)
    }

    fn constant(&mut self, values: &[i64]) -> Buffer<F> {
        buffer::encode(values)
    }

    fn reveal(&mut self, x: &Buffer<F>, to: Audience) -> Result<Option<Vec<i64>>, Error> {
        match to {
            Audience::One(to) => self.reveal_to(x, to),
            Audience::All => {
                let opened = self.reveal_shares(REVEAL, x.clone(), self.params.threshold)?;
                Ok(Some(self.opened(&opened)))
            }
        }
    }

    fn save(&self, x: &Buffer<F>) -> Vec<u8> {
        to_wire(x)
    }

    fn load(&mut self, n: usize, bytes: &[u8]) -> Result<Buffer<F>, Error> {
        let elements = from_wire(bytes, n).ok_or_else(|| not_saved(n))?;
        Ok(elements.into())
    }

    /// The first `t + 1` parties deal what they were given, each times its factor at 0, and all add up what they are
    /// dealt: parts that lie on no polynomial would open to other numbers at other parties, and show what masks hide. 1
    /// hop; each of the `t + 1` sends `n - 1 - t` elements for each value.
    fn take_in(&mut self, given: Buffer<F>) -> Result<Buffer<F>, Error> {
        let n = given.len();
        let (id, threshold) = (self.party.id(), self.params.threshold);
        let points: Vec<u64> = (0..=threshold).map(|dealer| dealer as u64 + 1).collect();
        let factors = Matrix::<F>::lagrange(&points, &[0]).data;
        let mut parts = Vec::with_capacity(threshold + 1);
        if let Some(&factor) = factors.get(id) {
            let dealing = Dealing::input(&self.params, id, TAKE_IN);
            parts.push(self.deal(&dealing, buffer::scale(&given, factor))?);
        }
        for dealer in (0..=threshold).filter(|&dealer| dealer != id) {
            let place = self.params.before(id, dealer);
            parts.push(self.receive(dealer, place, TAKE_IN, threshold, n)?);
        }
        let sum = parts
            .into_iter()
            .reduce(|sum, part| buffer::add(&sum, &part));
        Ok(sum.expect("there is a first party"))
    }

    fn len(&self, x: &Buffer<F>) -> usize {
        x.len()
    }

    fn add(&mut self, x: &Buffer<F>, y: &Buffer<F>) -> Buffer<F> {
        buffer::add(x, y)
    }

    fn sub(&mut self, x: &Buffer<F>, y: &Buffer<F>) -> Buffer<F> {
        buffer::sub(x, y)
    }

    fn scale(&mut self, x: &Buffer<F>, k: i64) -> Buffer<F> {
        buffer::scale(x, F::from_i64(k))
    }

    fn gather(&mut self, x: &Buffer<F>, index: &[u32]) -> Buffer<F> {
        x.gather(index)
    }

    fn slice(&mut self, x: &Buffer<F>, range: Range<usize>) -> Buffer<F> {
        x.part(range)
    }

    fn concat(&mut self, parts: &[&Buffer<F>]) -> Buffer<F> {
        Buffer::concat(parts)
    }

    fn linear(
        &mut self,
        x: &Buffer<F>,
        w: &Operand<Buffer<F>>,
        bias: Option<&Operand<Buffer<F>>>,
        map: &Bilinear,
        trunc: u32,
        _bits: Option<[u32; 2]>,
    ) -> Result<Buffer<F>, Error> {
        self.product(x, w, bias, map, trunc)
    }

    fn truncate(&mut self, x: &Buffer<F>, trunc: u32) -> Result<Buffer<F>, Error> {
        match trunc {
            0 => Ok(x.clone()),
            _ if x.is_empty() => Ok(x.clone()),
            d => self.trunc(x.clone(), d),
        }
    }

    fn drelu(&mut self, x: &Buffer<F>, _keys: KeyBits) -> Result<Buffer<F>, Error> {
        self.drelu_shares(x)
    }

    fn select(
        &mut self,
        bit: &Buffer<F>,
        x: &Buffer<F>,
        y: &Buffer<F>,
    ) -> Result<Buffer<F>, Error> {
        self.select_shares(bit, x, y)
    }

    fn relu(&mut self, x: &Buffer<F>, _keys: KeyBits) -> Result<Buffer<F>, Error> {
        self.relu_shares(x)
    }
}
