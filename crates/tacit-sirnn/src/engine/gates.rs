//! Shares of a public function of two small numbers, one at each party: comparisons of digits,
//! look-up tables, and whatever else has few inputs.
//!
//! docs/spec/sirnn.md, section 3.1. Differs from the paper (section III-D, 1-of-k OT of Kolesnikov
//! and Kumaresan): the OTs are random and made ahead, over any of the sources of [`crate::ot`]; and
//! the first message is not sent.

use std::ops::Range;

use tacit_algebra::ot::{Table, choose, offer, taken};
use tacit_protocols::Error;
use tacit_protocols::message::{Length, Message, Packed};

use super::stock::Taken;
use super::{Engine, Live, Mode};
use crate::message::Numbers;

/// A public function of two small numbers, one at each party, whose result is shared.
pub struct Gate(Table);

impl Gate {
    /// A gate `f(u0, u1)` of two numbers of `index_bits` (1 to 4), whose result of `output_bits` (1
    /// to 64) is shared by xor.
    pub fn xor(index_bits: u32, output_bits: u32, f: impl Fn(u64, u64) -> u64) -> Gate {
        Gate(Table::new(index_bits, output_bits, true, f))
    }

    /// A gate `f(u0, u1)` of two numbers of `index_bits` (1 to 4), whose result is shared as a sum
    /// modulo `2^output_bits`, `output_bits` 1 to 64.
    pub fn sum(index_bits: u32, output_bits: u32, f: impl Fn(u64, u64) -> u64) -> Gate {
        Gate(Table::new(index_bits, output_bits, false, f))
    }

    /// A gate `table[(u0 + u1) mod 2^index_bits]`, `index_bits` 1 to 8, whose result is shared as a
    /// sum modulo `2^output_bits`.
    pub fn lookup(index_bits: u32, output_bits: u32, table: &[u64]) -> Gate {
        Gate(Table::lookup(index_bits, output_bits, false, table))
    }

    /// A gate `table[(u0 + u1) mod 2^index_bits]`, `index_bits` 1 to 8, whose result of
    /// `output_bits` is shared by xor.
    pub fn lookup_xor(index_bits: u32, output_bits: u32, table: &[u64]) -> Gate {
        Gate(Table::lookup(index_bits, output_bits, true, table))
    }

    /// A gate that looks up several tables at one index, each with its width, 64 bits together.
    /// Each result is shared as a sum of its own; the shares of the first table are the lowest
    /// bits.
    pub fn lookups(index_bits: u32, tables: &[(u32, &[u64])]) -> Gate {
        Gate(Table::lookups(index_bits, tables))
    }

    pub(super) fn index_bits(&self) -> u32 {
        self.0.index_bits()
    }

    /// The index of the stock of OTs that this gate consumes.
    pub(super) fn kind(&self) -> usize {
        self.index_bits() as usize - 1
    }

    /// Bytes of the sender's messages for `n` instances.
    pub(super) fn wire_len(&self, n: usize) -> usize {
        self.0.wire_len(n)
    }

    /// Bytes of the receiver's message for `n` instances.
    fn choice_len(&self, n: usize) -> usize {
        Numbers::bytes((n, self.index_bits()))
    }

    /// The ranges of `n` instances whose messages travel together: about a mebibyte.
    fn blocks(&self, n: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let step = ((1 << 20) / self.0.wire_len(64)).max(1) * 64;
        (0..n).step_by(step).map(move |s| s..(s + step).min(n))
    }
}

/// The instances that each party sends.
pub(super) fn halves(n: usize) -> [Range<usize>; 2] {
    let half = n.div_ceil(2);
    [0..half, half..n]
}

impl Engine {
    /// Shares of each gate's function of both parties' numbers; all gates in the same 2 hops.
    ///
    /// `own` are this party's numbers, one per instance and below `2^index_bits`. Of every gate
    /// the first half of the instances is sent by party 0, the rest by party 1. Per instance:
    /// a 1-of-2^index_bits OT, `index_bits` bits from the receiver,
    /// `(2^index_bits - 1) output_bits` bits from the sender.
    pub fn gates(
        &mut self,
        step: &'static str,
        gates: &[(&Gate, &[u64])],
    ) -> Result<Vec<Vec<u64>>, Error> {
        match &mut self.0 {
            Mode::Live(live) => live.gates(step, gates),
            Mode::Counting(counter) => {
                let lens = |len: fn(&Gate, usize) -> usize, shift: usize| {
                    [0, 1].map(|from: usize| {
                        let sizes = gates
                            .iter()
                            .map(|(gate, own)| (gate, halves(own.len())[from ^ shift].len()));
                        let some = sizes.clone().any(|(_, n)| n > 0);
                        some.then(|| sizes.map(|(gate, n)| len(gate, n)).sum())
                    })
                };
                counter.exchange(lens(Gate::choice_len, 1));
                counter.exchange(lens(|gate, n| gate.0.wire_len(n), 0));
                for (gate, own) in gates {
                    for (sender, half) in halves(own.len()).iter().enumerate() {
                        counter.ots(sender, gate.index_bits(), half.len());
                    }
                }
                Ok(gates.iter().map(|(_, own)| vec![0; own.len()]).collect())
            }
        }
    }
}

impl Live {
    fn gates(
        &mut self,
        step: &'static str,
        gates: &[(&Gate, &[u64])],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let (id, peer) = (self.party.id(), self.peer());
        let mut chosen = Vec::with_capacity(gates.len());
        for (gate, own) in gates {
            let mine = &own[halves(own.len())[peer].clone()];
            chosen.push(self.choose_all(step, gate, mine)?);
        }
        let mut shares: Vec<[Vec<u64>; 2]> = gates.iter().map(|_| Default::default()).collect();
        for ((gate, own), shares) in gates.iter().zip(&mut shares) {
            shares[id] = self.offer_all(step, gate, &own[halves(own.len())[id].clone()])?;
        }
        for (((gate, _), chosen), shares) in gates.iter().zip(chosen).zip(&mut shares) {
            shares[peer] = self.take_all(step, gate, chosen)?;
        }
        Ok(shares.into_iter().map(|halves| halves.concat()).collect())
    }

    /// Takes the receiver's OTs for its numbers and sends its message, which chooses by them.
    fn choose_all(&mut self, step: &'static str, gate: &Gate, own: &[u64]) -> Result<Taken, Error> {
        let stock = &mut self.incoming[gate.kind()];
        let taken = stock.take(step, own.len())?;
        if !own.is_empty() {
            let random = stock.chosen(taken);
            let (bits, choices) = (gate.index_bits(), Message::<Numbers>::new(step));
            self.send(choices, (own.len(), bits), choose(own, bits, &random))?;
        }
        Ok(taken)
    }

    /// The sender's messages, and its shares.
    fn offer_all(
        &mut self,
        step: &'static str,
        gate: &Gate,
        own: &[u64],
    ) -> Result<Vec<u64>, Error> {
        if own.is_empty() {
            return Ok(Vec::new());
        }
        let choices = Message::<Numbers>::new(step);
        let corrections = self.recv(choices, (own.len(), gate.index_bits()))?;
        self.offer_corrected(step, gate, own, &corrections)
    }

    /// The sender's messages, and its shares, where the receiver's numbers are the random indices
    /// of its OTs: so the receiver has sent nothing.
    pub(super) fn offer_chosen(
        &mut self,
        step: &'static str,
        gate: &Gate,
        own: &[u64],
    ) -> Result<Vec<u64>, Error> {
        self.offer_corrected(step, gate, own, &vec![0; gate.choice_len(own.len())])
    }

    fn offer_corrected(
        &mut self,
        step: &'static str,
        gate: &Gate,
        own: &[u64],
        corrections: &[u8],
    ) -> Result<Vec<u64>, Error> {
        let kind = gate.kind();
        let ots = self.outgoing[kind].take(step, own.len())?;
        let mut shares = Vec::with_capacity(own.len());
        for block in gate.blocks(own.len()) {
            let (wire, part) = offer(
                &gate.0,
                self.party.id(),
                (&self.hash, &self.offsets[kind]),
                self.outgoing[kind].get(ots.part(block.start, block.len())),
                &own[block.clone()],
                &corrections[gate.choice_len(block.start)..gate.choice_len(block.end)],
            );
            self.send(
                Message::<Packed>::new(step),
                gate.wire_len(block.len()),
                wire,
            )?;
            shares.extend(part);
        }
        Ok(shares)
    }

    /// The receiver's shares, from the sender's message.
    pub(super) fn take_all(
        &mut self,
        step: &'static str,
        gate: &Gate,
        ots: Taken,
    ) -> Result<Vec<u64>, Error> {
        let mut shares = Vec::with_capacity(ots.len());
        for block in gate.blocks(ots.len()) {
            let wire = self.recv(Message::<Packed>::new(step), gate.wire_len(block.len()))?;
            let stock = &self.incoming[gate.kind()];
            let part = ots.part(block.start, block.len());
            let (of, blocks) = stock.get(part);
            let ots = (of, &stock.chosen(part), blocks);
            shares.extend(taken(&gate.0, &self.hash, ots, &wire));
        }
        Ok(shares)
    }
}
