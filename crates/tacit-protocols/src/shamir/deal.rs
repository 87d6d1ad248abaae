//! Random sharings that nobody chose (docs/spec/liu24.md, section 2.1): Rand, DoubleRand and Zero
//! (Damgard and Nielsen, CRYPTO 2007).
//!
//! Every party deals; of `n` dealings, one by each, the Vandermonde matrix makes `n - t` sharings
//! that are uniform to any `t` parties. A dealer lets as many receivers as it may draw their
//! shares from the generator that it has in common with each, and sends the others theirs.
//!
//! Differs from the paper: the first sharing of a double is dealt like any random one, `t + 1`
//! shares drawn, and its secret is then prescribed to the second; so a double costs what a random
//! sharing does, and nothing at all between 3 parties.

use tacit_algebra::mersenne::{Field, Matrix};
use tacit_algebra::{BitRows, Buffer, Prg};
use zeroize::Zeroize;

use super::Shamir;
use super::params::Params;
use crate::Error;
use crate::keys;
use crate::message::{Elements, Message};

pub(super) const LOW: Message<Elements> = Message::new("shamir deal: degree t");
const HIGH: Message<Elements> = Message::new("shamir deal: degree 2t");
/// Elements of all dealings that are worked on at once.
const BLOCK: usize = 1 << 16;

/// The generators of a party: for what it deals to each of the others, and they to it. One that counts has
/// none.
#[derive(Default)]
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

    /// The shares of bits that this party deals to `to` without sending them, as planes.
    pub fn give_planes(&mut self, to: usize, rows: usize, cols: usize) -> BitRows {
        planes(&mut self.give, to, rows, cols)
    }

    /// The shares of bits that `from` deals to this party without sending them, as planes.
    pub fn take_planes(&mut self, from: usize, rows: usize, cols: usize) -> BitRows {
        planes(&mut self.take, from, rows, cols)
    }

    /// The shares that this party deals to `to` without sending them.
    fn give<F: Field>(&mut self, to: usize, n: usize) -> Buffer<F> {
        drawn(&mut self.give, to, n)
    }

    /// The shares that `from` deals to this party without sending them.
    fn take<F: Field>(&mut self, from: usize, n: usize) -> Buffer<F> {
        drawn(&mut self.take, from, n)
    }
}

fn planes(streams: &mut [Option<Prg>], peer: usize, rows: usize, cols: usize) -> BitRows {
    match streams.is_empty() {
        true => BitRows::counted(rows, cols),
        false => stream(streams, peer).bit_rows(rows, cols),
    }
}

fn stream(streams: &mut [Option<Prg>], peer: usize) -> &mut Prg {
    let stream = streams[peer].as_mut();
    stream.expect("nobody deals to itself by a generator")
}

fn drawn<F: Field>(streams: &mut [Option<Prg>], peer: usize, n: usize) -> Buffer<F> {
    if streams.is_empty() {
        return Buffer::counted(n);
    }
    stream(streams, peer).field(n).into()
}

/// How many random sharings are demanded, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Demand {
    /// Sharings of degree `t`.
    pub random: usize,
    /// Doubles: sharings of one number with degree `t` and `2t`.
    pub double: usize,
    /// Sharings of 0 with degree `2t`.
    pub zero: usize,
}

/// Random numbers, each shared twice: `low` with degree `t`, `high` with degree `2t`.
#[derive(Default, Zeroize)]
#[zeroize(bound = "F: bytemuck::Pod")]
pub(super) struct Double<F> {
    pub low: Buffer<F>,
    pub high: Buffer<F>,
}

impl<F: Field> Double<F> {
    /// Removes the first `n` numbers and returns them.
    pub fn take(&mut self, n: usize) -> Double<F> {
        let (low, high) = (self.low.split_off(n), self.high.split_off(n));
        Double {
            low: std::mem::replace(&mut self.low, low),
            high: std::mem::replace(&mut self.high, high),
        }
    }
}

/// Random sharings to take from; what is taken is gone.
#[derive(Default)]
pub(super) struct Pool<F> {
    random: Buffer<F>,
    double: Double<F>,
    zero: Buffer<F>,
}

impl<F: Field> Pool<F> {
    /// The next `n` random sharings.
    pub fn random(&mut self, n: usize) -> Buffer<F> {
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
    pub fn zero(&mut self, n: usize) -> Buffer<F> {
        last(&mut self.zero, n)
    }
}

/// The last `n`, in memory of their own: they may outlive the others.
pub(super) fn last<F: Field>(v: &mut Buffer<F>, n: usize) -> Buffer<F> {
    v.split_off(v.len() - n).detached()
}

/// What dealers' sharings are summed up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SharingKind {
    Random,
    Double,
    Zero,
}

impl SharingKind {
    /// How many sharings of this kind are demanded.
    fn of(self, demand: &Demand) -> usize {
        match self {
            SharingKind::Random => demand.random,
            SharingKind::Double => demand.double,
            SharingKind::Zero => demand.zero,
        }
    }
}

/// A dealer's own shares of degree `t` and `2t`, where it dealt such.
type OwnShares<F> = (Option<Buffer<F>>, Option<Buffer<F>>);

/// Adds rows to what will have `n` elements.
fn append<F: Field>(pool: &mut Buffer<F>, rows: Option<Vec<Buffer<F>>>, n: usize) {
    let rows = rows.into_iter().flatten();
    rows.for_each(|row| pool.grow(row, n));
}

/// How one kind of dealing goes: which points are given, and how the others follow.
pub(super) struct Dealing<F> {
    step: Message<Elements>,
    /// Receivers after the dealer whose shares are drawn.
    drawn: usize,
    /// The matrix from the given points, a prescribed secret first, to the dealer's own, those of the remaining
    /// receivers in order, and, where it is not prescribed, the secret.
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
    pub fn input(params: &Params, id: usize, step: Message<Elements>) -> Self {
        Self::new(params, id, step, params.threshold, true)
    }

    fn new(
        params: &Params,
        id: usize,
        step: Message<Elements>,
        drawn: usize,
        prescribed: bool,
    ) -> Self {
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
        let rest = match params.counted {
            true => Matrix::counted(to.len(), from.len()),
            false => Matrix::lagrange(&from, &to),
        };
        Dealing { step, drawn, rest }
    }

    /// Receivers after the dealer whose shares are drawn.
    pub fn drawn(&self) -> usize {
        self.drawn
    }
}

impl Params {
    /// How many sharings are made of a dealing by each party. More are not uniform: `t` dealers know theirs.
    pub fn kept(&self) -> usize {
        self.parties - self.threshold
    }

    /// The width of the dealings that make `n` sharings.
    pub fn width(&self, n: usize) -> usize {
        n.div_ceil(self.kept())
    }

    /// The dealings of a demand, so narrow that what is made on the way stays in cache.
    fn blocks(&self, demand: &Demand) -> Vec<(SharingKind, usize)> {
        let step = self.at_once(BLOCK).div_ceil(self.parties);
        let cut = |kind: SharingKind| {
            let width = self.width(kind.of(demand));
            (0..width)
                .step_by(step)
                .map(move |from| (kind, step.min(width - from)))
        };
        [SharingKind::Random, SharingKind::Double, SharingKind::Zero]
            .into_iter()
            .flat_map(cut)
            .collect()
    }
}

impl<F: Field> Shamir<F> {
    /// Makes random sharings: Rand, DoubleRand and Zero (docs/spec/liu24.md, section 2.1).
    ///
    /// At most 1 hop, none for `n = 3`; a random sharing and a double each cost every party
    /// `(n - 2 - t) / (n - t)` elements, a zero nothing, for odd `n` with the greatest `t`.
    pub(super) fn draw(&mut self, demand: Demand) -> Result<Pool<F>, Error> {
        assert_eq!(self.extraction.rows, self.params.kept());
        let blocks = self.params.blocks(&demand);
        let mut own = Vec::with_capacity(blocks.len());
        for &(kind, width) in &blocks {
            own.push(self.deal_block(kind, width)?);
        }
        let mut pool = Pool::default();
        for ((kind, width), (low, high)) in blocks.into_iter().zip(own) {
            let low = low
                .map(|own| self.receive_block((LOW, self.low.drawn), width, own))
                .transpose()?;
            let high = high
                .map(|own| self.receive_block((HIGH, self.high.drawn), width, own))
                .transpose()?;
            let all = self.params.width(kind.of(&demand)) * self.extraction.rows;
            match kind {
                SharingKind::Random => append(&mut pool.random, low, all),
                SharingKind::Double => {
                    append(&mut pool.double.low, low, all);
                    append(&mut pool.double.high, high, all);
                }
                SharingKind::Zero => append(&mut pool.zero, high, all),
            }
        }
        pool.random.truncate(demand.random);
        pool.double.low.truncate(demand.double);
        pool.double.high.truncate(demand.double);
        pool.zero.truncate(demand.zero);
        Ok(pool)
    }

    /// Deals one block; this party's own shares of degree `t` and `2t`.
    fn deal_block(&mut self, kind: SharingKind, n: usize) -> Result<OwnShares<F>, Error> {
        let (low, high) = (self.low.clone(), self.high.clone());
        let secrets = match kind {
            SharingKind::Zero => return Ok((None, Some(self.deal(&high, self.zeros(n))?))),
            _ => self.deal_random(&low, n)?,
        };
        let (own, secrets) = secrets;
        let high = match kind {
            SharingKind::Double => Some(self.deal(&high, secrets)?),
            _ => None,
        };
        Ok((Some(own), high))
    }

    /// This party's shares of all dealings of a block, and the sharings that come of them.
    fn receive_block(
        &mut self,
        (step, drawn): (Message<Elements>, usize),
        n: usize,
        own: Buffer<F>,
    ) -> Result<Vec<Buffer<F>>, Error> {
        let id = self.party.id();
        let mut dealings = Vec::with_capacity(self.params.parties);
        for dealer in 0..self.params.parties {
            let place = self.params.before(id, dealer);
            dealings.push(match place {
                0 => own.clone(),
                _ => self.receive(dealer, place, step, drawn, n)?,
            });
        }
        Ok(self.extraction.map(&dealings))
    }

    /// Deals these numbers; this party's own shares.
    pub(super) fn deal(
        &mut self,
        dealing: &Dealing<F>,
        secrets: Buffer<F>,
    ) -> Result<Buffer<F>, Error> {
        let n = secrets.len();
        Ok(self.deal_rest(dealing, n, vec![secrets])?.swap_remove(0))
    }

    /// Deals `n` random numbers; this party's own shares, and the numbers.
    pub(super) fn deal_random(
        &mut self,
        dealing: &Dealing<F>,
        n: usize,
    ) -> Result<(Buffer<F>, Buffer<F>), Error> {
        let mut rest = self.deal_rest(dealing, n, Vec::new())?;
        let secrets = rest.pop().expect("the numbers follow the shares");
        Ok((rest.swap_remove(0), secrets))
    }

    /// Draws what can be drawn, sends the rest; this party's own shares first, then those of the
    /// parties that were sent theirs, then, unless it was prescribed, the secret.
    fn deal_rest(
        &mut self,
        dealing: &Dealing<F>,
        n: usize,
        mut given: Vec<Buffer<F>>,
    ) -> Result<Vec<Buffer<F>>, Error> {
        let id = self.party.id();
        for i in 1..=dealing.drawn {
            given.push(self.streams.give(self.params.after(id, i), n));
        }
        let rest = dealing.rest.map(&given);
        for i in dealing.drawn + 1..self.params.parties {
            let share = &rest[i - dealing.drawn];
            self.send(self.params.after(id, i), dealing.step, share)?;
        }
        Ok(rest)
    }

    /// This party's shares of a dealing, at its place after the dealer.
    pub(super) fn receive(
        &mut self,
        dealer: usize,
        place: usize,
        step: Message<Elements>,
        drawn: usize,
        n: usize,
    ) -> Result<Buffer<F>, Error> {
        match place <= drawn {
            true => Ok(self.streams.take(dealer, n)),
            false => self.recv(dealer, step, n),
        }
    }
}
