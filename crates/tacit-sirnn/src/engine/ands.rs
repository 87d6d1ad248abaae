//! AND of shared bits, and opening.
//!
//! Differs from the paper (sections II-D and III): a triple is 1 correlated OT in each direction
//! with no message of its own, since the receiver's random choice is its share of `e` and the
//! sender's share of `d` is what its two pads differ by. The pair of triples with a common operand
//! masks each of `x`, `x'` by its own `d` and the common `z` by `e`; the authors' code has it the
//! other way round, which tells `x ^ x'`.

use tacit_algebra::Bits;
use tacit_algebra::ot::{bit_pads, pack};
use tacit_protocols::Error;

use super::{Engine, Live, Mode};

/// Shares of `e`, and for each `d` of it and of `f = d e`.
struct Triples {
    e: Bits,
    of: Vec<[Bits; 2]>,
}

impl Engine {
    /// Shares of `x_i & z` for each job `(z, [x_1, ..., x_k])`, `k` 1 or 2; all in the same hop.
    /// Every `x_i` has its own mask, `z` one.
    ///
    /// Per element: 1 OT in each direction, and `k + 1` bits from each party.
    pub fn ands(
        &mut self,
        step: &'static str,
        jobs: &[(&Bits, &[&Bits])],
    ) -> Result<Vec<Vec<Bits>>, Error> {
        match &mut self.0 {
            Mode::Live(live) => live.ands(step, jobs),
            Mode::Counting(counter) => {
                let n: usize = jobs.iter().map(|(z, _)| z.len()).sum();
                let bits: usize = jobs.iter().map(|(z, xs)| z.len() * (xs.len() + 1)).sum();
                let bytes = (bits > 0).then_some(bits.div_ceil(8));
                counter.exchange([bytes; 2]);
                counter.cots(0, n);
                counter.cots(1, n);
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
        let (n, len) = (values.len(), pack::packed_len(values.len(), bits));
        let learns = |party: usize| receiver.is_none_or(|receiver| receiver == party);
        match &mut self.0 {
            Mode::Live(live) => {
                let (id, peer) = (live.party.id(), live.peer());
                if learns(peer) && n > 0 {
                    live.send(step, pack::pack(values, bits))?;
                }
                if !learns(id) {
                    return Ok(None);
                }
                let theirs = match n {
                    0 => Vec::new(),
                    _ => pack::unpack(&live.recv(step, len)?, bits, n),
                };
                let sum = tacit_algebra::vec::add(values, &theirs);
                Ok(Some(tacit_algebra::vec::low_bits(&sum, bits)))
            }
            Mode::Counting(counter) => {
                counter.exchange([1, 0].map(|peer| (learns(peer) && n > 0).then_some(len)));
                Ok(learns(0).then(|| vec![0; n]))
            }
        }
    }
}

impl Live {
    fn ands(
        &mut self,
        step: &'static str,
        jobs: &[(&Bits, &[&Bits])],
    ) -> Result<Vec<Vec<Bits>>, Error> {
        let mut triples = Vec::with_capacity(jobs.len());
        let mut masked = Vec::new();
        for (z, xs) in jobs {
            let made = self.triples(step, z.len(), xs.len())?;
            masked.push(z.xor(&made.e));
            for (x, [d, _]) in xs.iter().zip(&made.of) {
                masked.push(x.xor(d));
            }
            triples.push(made);
        }
        let mut opened = Bits::concat(&masked.iter().collect::<Vec<_>>());
        if !opened.is_empty() {
            self.send(step, opened.to_bytes())?;
            opened.xor_assign(&self.recv_bits(step, opened.len())?);
        }
        let mut at = 0;
        let mut next = |n: usize| {
            at += n;
            opened.slice(at - n, n)
        };
        let first = self.party.id() == 0;
        let mut results = Vec::with_capacity(jobs.len());
        for ((z, xs), triples) in jobs.iter().zip(triples) {
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

    /// `n` triples with `k` operands `d` each. Local: consumes an OT in each direction.
    fn triples(&mut self, step: &'static str, n: usize, k: usize) -> Result<Triples, Error> {
        let outgoing = self.outgoing.take(step, n)?;
        let incoming = self.incoming.take(step, n)?;
        let (first, q) = self.outgoing.get(outgoing);
        let zero = bit_pads(&self.hash, (first, q), 0, k);
        let one = bit_pads(&self.hash, (first, q), self.source.delta(), k);
        let (first, e, t) = self.incoming.get(incoming);
        let received = bit_pads(&self.hash, (first, t), 0, k);
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
