//! Random sharings that nobody chose (spec section 2.1): Rand, DoubleRand and Zero.
//!
//! Every party deals; of `n` dealings, one by each, the Vandermonde matrix makes `n - t` sharings
//! that are uniform to any `t` parties. A dealer lets as many receivers as it may draw their
//! shares from the generator that it has in common with each, and sends the others theirs.
//!
//! Differs from the spec: the first sharing of a double is dealt like any random one, `t + 1`
//! shares drawn, and its secret is then prescribed to the second; so a double costs what a
//! random sharing does, and nothing at all between 3 parties.

use std::ops::Range;

use tacit_algebra::Prg;
use tacit_algebra::mersenne::{Field, Matrix, to_wire};

use super::Shamir;
use super::params::Params;
use crate::Error;
use crate::keys;

const LOW: &str = "shamir deal: degree t";
const HIGH: &str = "shamir deal: degree 2t";

/// The generators of a party: for what it deals to each of the others, and they to it.
pub(super) struct Streams {
    give: Vec<Option<Prg>>,
    take: Vec<Option<Prg>>,
}

impl Streams {
    /// Agrees on them. 2 hops; every party sends 64 bytes to each of the others.
    pub fn agree(party: &mut tacit_net::Party) -> Result<Self, Error> {
        let (id, parties) = (party.id(), party.parties());
        let peers: Vec<usize> = (0..parties).filter(|&peer| peer != id).collect();
        let pairs = keys::agree(party, &peers)?;
        let label = |from: usize, to: usize| format!("shamir dealing of {from} to {to}");
        let (mut give, mut take): (Vec<_>, Vec<_>) = (0..parties).map(|_| (None, None)).unzip();
        for (&peer, pair) in peers.iter().zip(&pairs) {
            give[peer] = Some(pair.prg(label(id, peer).as_bytes()));
            take[peer] = Some(pair.prg(label(peer, id).as_bytes()));
        }
        Ok(Streams { give, take })
    }

    /// The shares that this party deals to `to` without sending them.
    fn give<F: Field>(&mut self, to: usize, n: usize) -> Vec<F> {
        stream(&mut self.give[to]).field(n)
    }

    /// The shares that `from` deals to this party without sending them.
    fn take<F: Field>(&mut self, from: usize, n: usize) -> Vec<F> {
        stream(&mut self.take[from]).field(n)
    }
}

fn stream(prg: &mut Option<Prg>) -> &mut Prg {
    prg.as_mut().expect("nobody deals to itself by a generator")
}

/// Numbers of random sharings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Demand {
    /// Of degree `t`.
    pub random: usize,
    /// Of the same number with degree `t` and `2t`.
    pub double: usize,
    /// Of 0 with degree `2t`.
    pub zero: usize,
}

/// The same random numbers shared with degree `t` and `2t`.
#[derive(Default)]
pub(super) struct Double<F> {
    pub low: Vec<F>,
    pub high: Vec<F>,
}

/// Random sharings to take from; what is taken is gone.
pub(super) struct Pool<F> {
    random: Vec<F>,
    double: Double<F>,
    zero: Vec<F>,
}

impl<F> Pool<F> {
    /// The next `n` random sharings.
    pub fn random(&mut self, n: usize) -> Vec<F> {
        last(&mut self.random, n)
    }

    /// The next `n` doubles.
    pub fn double(&mut self, n: usize) -> Double<F> {
        Double {
            low: last(&mut self.double.low, n),
            high: last(&mut self.double.high, n),
        }
    }

    /// The next `n` sharings of 0.
    pub fn zero(&mut self, n: usize) -> Vec<F> {
        last(&mut self.zero, n)
    }
}

fn last<F>(v: &mut Vec<F>, n: usize) -> Vec<F> {
    v.split_off(v.len() - n)
}

/// The dealer's own shares.
fn own<F>(dealt: Vec<Vec<F>>) -> Vec<F> {
    dealt.into_iter().next().unwrap_or_default()
}

/// The first `n` elements of a range of every row, one row after the other.
fn gathered<F: Field>(rows: &[Vec<F>], range: Range<usize>, n: usize) -> Vec<F> {
    let mut all = Vec::with_capacity(n);
    for row in rows {
        let left = n - all.len();
        all.extend_from_slice(&row[range.clone()][..left.min(range.len())]);
    }
    all
}

/// How one kind of dealing goes: which points are given, and how the others follow.
#[derive(Clone)]
pub(super) struct Dealing<F> {
    step: &'static str,
    /// Receivers after the dealer whose shares are drawn.
    drawn: usize,
    /// From the given points, a prescribed secret first, to the dealer's own, those of the
    /// remaining receivers in order, and, where it is not prescribed, the secret.
    rest: Matrix<F>,
}

impl<F: Field> Dealing<F> {
    /// Random numbers, degree `t`.
    pub fn low(params: &Params, id: usize) -> Self {
        Self::new(params, id, LOW, params.threshold + 1, false)
    }

    /// Prescribed numbers, degree `2t`.
    pub fn high(params: &Params, id: usize) -> Self {
        Self::new(params, id, HIGH, 2 * params.threshold, true)
    }

    /// This party's own numbers, degree `t`.
    pub fn input(params: &Params, id: usize, step: &'static str) -> Self {
        Self::new(params, id, step, params.threshold, true)
    }

    fn new(params: &Params, id: usize, step: &'static str, drawn: usize, prescribed: bool) -> Self {
        let point = |by: usize| params.after(id, by) as u64 + 1;
        let mut from: Vec<u64> = (1..=drawn).map(point).collect();
        let mut to: Vec<u64> = std::iter::once(0)
            .chain(drawn + 1..params.parties)
            .map(point)
            .collect();
        match prescribed {
            true => from.insert(0, 0),
            false => to.push(0),
        }
        Dealing {
            step,
            drawn,
            rest: Matrix::lagrange(&from, &to),
        }
    }
}

impl Params {
    /// The width of the dealings that make `n` sharings.
    pub fn width(&self, n: usize) -> usize {
        n.div_ceil(self.parties - self.threshold)
    }

    /// Elements that every party sends for a demand; also whether that takes a hop.
    pub fn dealt(&self, demand: &Demand) -> usize {
        let low = self.width(demand.random) + self.width(demand.double);
        let high = self.width(demand.double) + self.width(demand.zero);
        (self.parties - 2 - self.threshold) * low + (self.parties - 1 - 2 * self.threshold) * high
    }
}

impl<F: Field> Shamir<F> {
    /// Makes random sharings.
    ///
    /// At most 1 hop, none for `n = 3`; a random sharing and a double each cost every party
    /// `(n - 2 - t) / (n - t)` elements, a zero nothing, for odd `n` with the greatest `t`.
    pub(super) fn draw(&mut self, demand: Demand) -> Result<Pool<F>, Error> {
        let id = self.party.id();
        let [random, double, zero] =
            [demand.random, demand.double, demand.zero].map(|n| self.params.width(n));
        // As a dealer.
        let (dealt_low, dealt_high) = (self.low.clone(), self.high.clone());
        let mut low = self.deal(&dealt_low, random + double, None)?;
        let mut secrets = low.pop().map_or_else(Vec::new, |mut s| s.split_off(random));
        secrets.resize(double + zero, F::ZERO);
        let high = self.deal(&dealt_high, double + zero, Some(secrets))?;
        // As a receiver, of every dealer in turn.
        let (mut lows, mut highs) = (Vec::new(), Vec::new());
        for dealer in 0..self.params.parties {
            if dealer == id {
                lows.push(Vec::new());
                highs.push(Vec::new());
                continue;
            }
            let place = self.params.before(id, dealer);
            lows.push(self.receive(dealer, place, LOW, self.low.drawn, random + double)?);
            highs.push(self.receive(dealer, place, HIGH, self.high.drawn, double + zero)?);
        }
        (lows[id], highs[id]) = (own(low), own(high));
        let [low, high] = [lows, highs].map(|dealings| self.extract(&dealings));
        Ok(Pool {
            random: gathered(&low, 0..random, demand.random),
            double: Double {
                low: gathered(&low, random..random + double, demand.double),
                high: gathered(&high, 0..double, demand.double),
            },
            zero: gathered(&high, double..double + zero, demand.zero),
        })
    }

    /// Draws what can be drawn, sends the rest; this party's own shares first, then those of the
    /// parties that were sent theirs, then, unless it was prescribed, the secret.
    pub(super) fn deal(
        &mut self,
        dealing: &Dealing<F>,
        n: usize,
        secrets: Option<Vec<F>>,
    ) -> Result<Vec<Vec<F>>, Error> {
        let id = self.party.id();
        let mut given: Vec<Vec<F>> = secrets.into_iter().collect();
        for i in 1..=dealing.drawn {
            given.push(self.streams.give(self.params.after(id, i), n));
        }
        let given: Vec<&[F]> = given.iter().map(Vec::as_slice).collect();
        let rest = dealing.rest.apply(&given);
        if n > 0 {
            for i in dealing.drawn + 1..self.params.parties {
                let share = to_wire(&rest[i - dealing.drawn]);
                self.party
                    .send(self.params.after(id, i), dealing.step, share)?;
            }
        }
        Ok(rest)
    }

    /// This party's shares of a dealing, at its place after the dealer.
    pub(super) fn receive(
        &mut self,
        dealer: usize,
        place: usize,
        step: &'static str,
        drawn: usize,
        n: usize,
    ) -> Result<Vec<F>, Error> {
        if place <= drawn {
            return Ok(self.streams.take(dealer, n));
        }
        match n {
            0 => Ok(Vec::new()),
            _ => self.recv(dealer, step, n),
        }
    }

    /// `n - t` sharings that no `t` parties know, from the dealings of all.
    fn extract(&self, dealings: &[Vec<F>]) -> Vec<Vec<F>> {
        let dealings: Vec<&[F]> = dealings.iter().map(Vec::as_slice).collect();
        self.extraction.apply(&dealings)
    }
}
