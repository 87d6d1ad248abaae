//! Shares of products of bits that the one party knows with numbers that the other knows: COT over
//! `Z_2^l` and batched COT (SiRnn, section III-D; docs/spec/sirnn.md, section 3.2), from random
//! correlated OTs.

use std::ops::Range;

use tacit_algebra::Bits;
use tacit_algebra::ot::{Products, correlate, correlated};
use tacit_protocols::Error;
use tacit_protocols::message::{Booleans, Message, Packed};

use super::stock::Taken;
use super::{COT, Engine, Live, Mode};

/// Products of bits that the one party knows with numbers that the other knows.
///
/// For choice `j` (a bit `c_j`) and lane `l` the product is `c_j rows[(j % R) lanes + l]` modulo
/// `2^bits`, with `R = rows.len() / lanes`; the products of `fold` neighbouring choices are summed,
/// so that there are `n / fold` x `lanes` results.
pub struct Correlation<'a> {
    /// The width of the products, 1 to 64.
    pub bits: u32,
    /// Numbers that one choice bit multiplies.
    pub lanes: usize,
    /// Neighbouring choices whose products are summed; divides `n`.
    pub fold: usize,
    /// The number of choices.
    pub n: usize,
    /// The numbers, at the party that knows them. The other party may pass a slice of any length.
    pub rows: &'a [u64],
    /// The choices, at the party that knows them. The other party may pass any number of bits.
    pub choices: &'a Bits,
}

impl Correlation<'_> {
    fn sizes(&self) -> Products {
        Products {
            bits: self.bits,
            lanes: self.lanes,
            fold: self.fold,
        }
    }

    fn outputs(&self) -> usize {
        self.n / self.fold * self.lanes
    }

    /// The ranges of choices whose messages travel together: about a mebibyte.
    fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (n, step) = (self.n, ((1 << 20) / self.sizes().wire_len(64)).max(1) * 64);
        (0..n).step_by(step).map(move |s| s..(s + step).min(n))
    }

    /// Adds a block's shares to those of all outputs.
    fn add(&self, sums: &mut [u64], block: &Range<usize>, part: &[u64]) {
        let at = block.start / self.fold * self.lanes;
        tacit_algebra::vec::add_assign(&mut sums[at..at + part.len()], part);
    }

    fn finished(&self, sums: &[u64]) -> Vec<u64> {
        tacit_algebra::vec::low_bits(sums, self.bits)
    }
}

impl Engine {
    /// Additive shares of the products of `send` (this party knows the numbers) and of `recv`
    /// (it knows the choices); the peer calls it with the two swapped. All in the same 2 hops.
    ///
    /// Per choice: 1 OT, 1 bit from the receiver, `lanes` x `bits` bits from the sender. The
    /// results are those of `send`, then of `recv`, in order.
    pub fn products(
        &mut self,
        step: &'static str,
        send: &[Correlation],
        recv: &[Correlation],
    ) -> Result<Vec<Vec<u64>>, Error> {
        if let Mode::Live(live) = &mut self.0 {
            return live.products(step, send, recv);
        }
        self.count_products(send, recv);
        let all = send.iter().chain(recv);
        Ok(all.map(|job| vec![0; job.outputs()]).collect())
    }

    /// What [`Engine::products`] takes, without its results; only an engine that counts can tell.
    pub(crate) fn count_products(&mut self, send: &[Correlation], recv: &[Correlation]) {
        let Mode::Counting(counter) = &mut self.0 else {
            return;
        };
        let sides = [send, recv];
        let lens = |len: fn(&Correlation) -> usize, shift: usize| {
            [0, 1].map(|from: usize| {
                let jobs = sides[from ^ shift];
                let some = jobs.iter().any(|job| job.n > 0);
                some.then(|| jobs.iter().map(len).sum())
            })
        };
        counter.exchange(lens(|job| job.n.div_ceil(8), 1));
        counter.exchange(lens(|job| job.sizes().wire_len(job.n), 0));
        for (sender, jobs) in sides.iter().enumerate() {
            counter.ots(sender, 1, jobs.iter().map(|job| job.n).sum());
        }
    }
}

impl Live {
    fn products(
        &mut self,
        step: &'static str,
        send: &[Correlation],
        recv: &[Correlation],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let mut taken = Vec::with_capacity(recv.len());
        for job in recv {
            taken.push(self.choose_bits(step, job)?);
        }
        let mut shares = Vec::with_capacity(send.len() + recv.len());
        for job in send {
            shares.push(self.correlate_all(step, job)?);
        }
        for (job, ots) in recv.iter().zip(taken) {
            shares.push(self.correlated_all(step, job, ots)?);
        }
        Ok(shares)
    }

    /// Takes the receiver's OTs for its choices and sends its message, the choices corrected.
    fn choose_bits(&mut self, step: &'static str, job: &Correlation) -> Result<Taken, Error> {
        assert!(job.choices.len() == job.n && job.n.is_multiple_of(job.fold));
        let ots = self.incoming[COT].take(step, job.n)?;
        if job.n > 0 {
            let random = self.incoming[COT].chosen(ots);
            self.send_bits(step, &random.xor(job.choices))?;
        }
        Ok(ots)
    }

    /// The sender's messages, and its shares.
    fn correlate_all(&mut self, step: &'static str, job: &Correlation) -> Result<Vec<u64>, Error> {
        assert!(job.n.is_multiple_of(job.fold) && job.rows.len().is_multiple_of(job.lanes));
        let ots = self.outgoing[COT].take(step, job.n)?;
        let mut sums = vec![0; job.outputs()];
        if job.n == 0 {
            return Ok(sums);
        }
        let corrections = self.recv_bits(step, job.n)?;
        for block in job.blocks() {
            let (wire, part) = correlate(
                &job.sizes(),
                (&self.hash, self.delta()),
                self.outgoing[COT].get(ots.part(block.start, block.len())),
                (block.start, job.rows),
                &corrections.slice(block.start, block.len()),
            );
            let len = job.sizes().wire_len(block.len());
            self.send(Message::<Packed>::new(step), len, wire)?;
            job.add(&mut sums, &block, &part);
        }
        Ok(job.finished(&sums))
    }

    /// The receiver's shares, from the sender's message.
    fn correlated_all(
        &mut self,
        step: &'static str,
        job: &Correlation,
        ots: Taken,
    ) -> Result<Vec<u64>, Error> {
        let mut sums = vec![0; job.outputs()];
        for block in job.blocks() {
            let len = job.sizes().wire_len(block.len());
            let wire = self.recv(Message::<Packed>::new(step), len)?;
            let ots = self.incoming[COT].get(ots.part(block.start, block.len()));
            let choices = (block.start, job.choices);
            let part = correlated(&job.sizes(), &self.hash, ots, choices, &wire);
            job.add(&mut sums, &block, &part);
        }
        Ok(job.finished(&sums))
    }

    /// Exactly `n` bits of the peer.
    pub(super) fn recv_bits(&mut self, step: &'static str, n: usize) -> Result<Bits, Error> {
        let peer = self.peer();
        Message::<Booleans>::new(step).recv(&mut self.party, peer, n)
    }

    pub(super) fn send_bits(&mut self, step: &'static str, bits: &Bits) -> Result<(), Error> {
        let peer = self.peer();
        Message::<Booleans>::new(step).send(&mut self.party, peer, bits)
    }
}
