//! AND of shared bits, and opening (docs/spec/sirnn.md, section 3.3).
//!
//! Differs from the paper (sections III-D and III-E): the index of a random OT is its receiver's
//! shares of what it hands out. A 1-of-16 OT makes two triples, and what its sender sends travels
//! with the opening. A pair of triples with a common operand is a correlated OT in each direction,
//! with no message of its own: the receiver's choice is its share of `e`, and the sender's share of
//! `d` is what its two pads differ by. Such a pair masks each of `x`, `x'` by its own `d` and the
//! common `z` by `e`; the authors' code has it the other way round, which tells `x ^ x'`.

use tacit_algebra::Bits;
use tacit_algebra::ot::{bit_pads, pack, words};
use tacit_protocols::Error;
use tacit_protocols::message::{Length, Message};

use super::gates::halves;
use super::stock::Taken;
use super::{COT, Engine, Gate, Live, Mode};
use crate::message::Numbers;
use crate::ot::random::random;

/// Shares of `e`, and for each `d` of it and of `f = d e`.
#[derive(Default)]
struct Triples {
    e: Bits,
    of: Vec<[Bits; 2]>,
}

/// Two triples of one 1-of-16 OT: of numbers `(d, e, d', e')` the products `d e` and `d' e'`.
fn pair() -> Gate {
    let product = |u: u64| (u & u >> 1 & 1) | (u >> 1 & u >> 2 & 2);
    Gate::xor(4, 2, |ours, theirs| product(ours ^ theirs))
}

impl Engine {
    /// Shares of `x_i & z` for each job `(z, [x_1, ..., x_k])`, `k` 1 or 2; all in the same hop.
    /// Every `x_i` has its own mask, `z` one.
    ///
    /// Per element: for `k` = 1 half a 1-of-16 OT and 15 bits from its sender, for `k` = 2 a
    /// correlated OT in each direction; and `k + 1` bits from each party.
    pub fn ands(
        &mut self,
        step: &'static str,
        jobs: &[(&Bits, &[&Bits])],
    ) -> Result<Vec<Vec<Bits>>, Error> {
        match &mut self.0 {
            Mode::Live(live) => live.ands(step, jobs),
            Mode::Counting(counter) => {
                let [singles, doubles] = [1, 2].map(|k| of_size(jobs, k));
                let bits = 2 * singles + 3 * doubles;
                let (gate, ots) = (pair(), halves(singles.div_ceil(2)));
                let bytes = ots.each_ref().map(|ots| {
                    let bytes = bits.div_ceil(8) + gate.wire_len(ots.len());
                    (bits > 0).then_some(bytes)
                });
                counter.exchange(bytes);
                for (sender, ots) in ots.iter().enumerate() {
                    counter.ots(sender, gate.index_bits(), ots.len());
                    counter.ots(sender, 1, doubles);
                }
                let zeros = |(z, xs): &(&Bits, &[&Bits])| vec![Bits::zeros(z.len()); xs.len()];
                Ok(jobs.iter().map(zeros).collect())
            }
        }
    }

    /// Opens a sum modulo `2^bits` to one party, or to both; `None` for who does not learn it.
    /// 1 hop; who does not learn it alone sends `bits` per element.
    pub fn open(
        &mut self,
        step: &'static str,
        bits: u32,
        values: &[u64],
        receiver: Option<usize>,
    ) -> Result<Option<Vec<u64>>, Error> {
        let (n, message) = (values.len(), Message::<Numbers>::new(step));
        let learns = |party: usize| receiver.is_none_or(|receiver| receiver == party);
        match &mut self.0 {
            Mode::Live(live) => {
                let (id, peer) = (live.party.id(), live.peer());
                if learns(peer) && n > 0 {
                    live.send(message, (n, bits), pack::pack(values, bits))?;
                }
                if !learns(id) {
                    return Ok(None);
                }
                let theirs = match n {
                    0 => Vec::new(),
                    _ => pack::unpack(&live.recv(message, (n, bits))?, bits, n),
                };
                let sum = tacit_algebra::vec::add(values, &theirs);
                Ok(Some(tacit_algebra::vec::low_bits(&sum, bits)))
            }
            Mode::Counting(counter) => {
                let bytes = Numbers::bytes((n, bits));
                counter.exchange([1, 0].map(|peer| (learns(peer) && n > 0).then_some(bytes)));
                Ok(learns(0).then(|| vec![0; n]))
            }
        }
    }
}

/// The elements of all jobs with `k` operands.
fn of_size(jobs: &[(&Bits, &[&Bits])], k: usize) -> usize {
    let jobs = jobs.iter().filter(|(_, xs)| xs.len() == k);
    jobs.map(|(z, _)| z.len()).sum()
}

impl Live {
    fn ands(
        &mut self,
        step: &'static str,
        jobs: &[(&Bits, &[&Bits])],
    ) -> Result<Vec<Vec<Bits>>, Error> {
        let mut pairs = self.begin_pairs(step, of_size(jobs, 1))?;
        let (mut triples, mut at) = (Vec::with_capacity(jobs.len()), 0);
        let mut masked = Vec::new();
        for (z, xs) in jobs {
            let made = match xs.len() {
                1 => {
                    at += z.len();
                    pairs.masks(at - z.len(), z.len())
                }
                _ => self.doubles(step, z.len(), xs.len())?,
            };
            masked.push(z.xor(&made.e));
            for (x, [d, _]) in xs.iter().zip(&made.of) {
                masked.push(x.xor(d));
            }
            triples.push(made);
        }
        let mut opened = Bits::concat(&masked.iter().collect::<Vec<_>>());
        if !opened.is_empty() {
            self.send_bits(step, &opened)?;
            self.finish_pairs(step, &mut pairs)?;
            opened.xor_assign(&self.recv_bits(step, opened.len())?);
        }
        let (mut at, mut singles) = (0, 0);
        let mut next = |n: usize| {
            at += n;
            opened.slice(at - n, n)
        };
        let first = self.party.id() == 0;
        let mut results = Vec::with_capacity(jobs.len());
        for ((z, xs), mut triples) in jobs.iter().zip(triples) {
            if let ([_], [[_, f]]) = (xs, triples.of.as_mut_slice()) {
                *f = pairs.products.slice(singles, z.len());
                singles += z.len();
            }
            let z_open = next(z.len());
            let of = triples.of.iter().map(|[d, f]| {
                let x_open = next(z.len());
                finish(first, (&x_open, &z_open), (d, &triples.e, f))
            });
            debug_assert_eq!(xs.len(), triples.of.len());
            results.push(of.collect());
        }
        Ok(results)
    }

    /// The masks of `n` triples out of 1-of-16 OTs, half of them sent by either party, and the
    /// sender's messages.
    fn begin_pairs(&mut self, step: &'static str, n: usize) -> Result<Pairs, Error> {
        let (id, peer, gate) = (self.party.id(), self.peer(), pair());
        let ots = halves(n.div_ceil(2));
        let mut numbers: [Vec<u64>; 2] = Default::default();
        let mut shares: [Vec<u64>; 2] = Default::default();
        let taken = self.incoming[gate.kind()].take(step, ots[peer].len())?;
        let indices = self.incoming[gate.kind()].chosen(taken);
        numbers[peer] = pack::unpack(&indices.to_bytes(), gate.index_bits(), taken.len());
        let own = random::<u8>(ots[id].len())?;
        numbers[id] = own.iter().map(|byte| u64::from(byte & 15)).collect();
        shares[id] = self.offer_chosen(step, &gate, &numbers[id])?;
        Ok(Pairs {
            n,
            numbers: numbers.concat(),
            taken,
            shares,
            products: Bits::default(),
        })
    }

    /// The shares of the products, once the peer's messages are there.
    fn finish_pairs(&mut self, step: &'static str, pairs: &mut Pairs) -> Result<(), Error> {
        if pairs.n > 0 {
            let shares = self.take_all(step, &pair(), pairs.taken)?;
            pairs.shares[self.peer()] = shares;
            let all = pairs.shares.concat();
            pairs.products = join(pairs.n, [words::bit(&all, 0), words::bit(&all, 1)]);
        }
        Ok(())
    }

    /// `n` triples with `k` operands `d` each. Local: consumes a correlated OT in each direction.
    fn doubles(&mut self, step: &'static str, n: usize, k: usize) -> Result<Triples, Error> {
        let outgoing = self.outgoing[COT].take(step, n)?;
        let incoming = self.incoming[COT].take(step, n)?;
        let q = self.outgoing[COT].get(outgoing);
        let [zero, one] = bit_pads(&self.hash, q, [0, self.delta()], k);
        let (e, t) = (
            self.incoming[COT].chosen(incoming),
            self.incoming[COT].get(incoming),
        );
        let [received] = bit_pads(&self.hash, t, [0], k);
        let of = zero
            .into_iter()
            .zip(one)
            .zip(received)
            .map(|((zero, one), received)| {
                let d = zero.xor(&one);
                let f = d.and(&e).xor(&zero).xor(&received);
                [d, f]
            });
        let of = of.collect();
        Ok(Triples { e, of })
    }
}

/// Triples out of 1-of-16 OTs: those of the first half of `numbers` are sent by party 0.
struct Pairs {
    n: usize,
    /// This party's `d, e, d', e'` of each OT.
    numbers: Vec<u64>,
    taken: Taken,
    shares: [Vec<u64>; 2],
    products: Bits,
}

impl Pairs {
    /// The masks of `n` triples from number `start` on; their products are still to come.
    fn masks(&self, start: usize, n: usize) -> Triples {
        let of = |at: u32| {
            let pair = [at, at + 2].map(|at| words::bit(&self.numbers, at));
            join(self.n, pair).slice(start, n)
        };
        Triples {
            e: of(1),
            of: vec![[of(0), Bits::default()]],
        }
    }
}

/// The `n` bits of the first and the second triples of all OTs.
fn join(n: usize, [first, second]: [Bits; 2]) -> Bits {
    Bits::concat(&[&first, &second.slice(0, n - first.len())])
}

/// `f ^ d (z ^ e) ^ e (x ^ d)`, and at party 0 `(x ^ d)(z ^ e)`, for opened `x ^ d` and `z ^ e`.
fn finish(first: bool, (x, z): (&Bits, &Bits), (d, e, f): (&Bits, &Bits, &Bits)) -> Bits {
    let mut sum = d.and(z);
    sum.xor_assign(&e.and(x));
    sum.xor_assign(f);
    if first {
        sum.xor_assign(&x.and(z));
    }
    sum
}
