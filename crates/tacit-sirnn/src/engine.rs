//! One party's engine: what every building block is made of.
//!
//! Three primitives consume OTs and send messages: [`Engine::gates`], [`Engine::products`] and
//! [`Engine::ands`]; [`Engine::open`] opens. An engine made by [`Engine::counting`] runs the same
//! program without data or peers, and only counts what it would take.

use tacit_algebra::Bits;
use tacit_net::Party;
use tacit_protocols::{Cost, Error};

use crate::ot::RandomCot;

/// What a program takes: bytes and hops online, and OTs to be made before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Hops and bytes sent by each party.
    pub online: Cost,
    /// Random correlated OTs that each party sends.
    pub cots: [usize; 2],
}

/// A public function of two small numbers, one at each party, whose result is shared.
pub struct Gate {}

impl Gate {
    /// `f(u0, u1)` of two numbers of `index_bits` (at most 8, and at most 4 for a function that is
    /// not a look-up), as `output_bits` (at most 64) that are shared by xor.
    pub fn xor(_index_bits: u32, _output_bits: u32, _f: impl Fn(u64, u64) -> u64) -> Gate {
        todo!()
    }

    /// The same shared as a sum modulo `2^output_bits`.
    pub fn sum(_index_bits: u32, _output_bits: u32, _f: impl Fn(u64, u64) -> u64) -> Gate {
        todo!()
    }

    /// `table[(u0 + u1) mod 2^index_bits]`, `index_bits <= 8`, shared as a sum modulo
    /// `2^output_bits`.
    pub fn lookup(_index_bits: u32, _output_bits: u32, _table: &[u64]) -> Gate {
        todo!()
    }

    /// The same shared by xor.
    pub fn lookup_xor(_index_bits: u32, _output_bits: u32, _table: &[u64]) -> Gate {
        todo!()
    }
}

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
    /// Neighbouring choices whose products are summed.
    pub fold: usize,
    /// The number of choices.
    pub n: usize,
    /// At the party that knows the numbers: them. Of any length at the counting engine.
    pub rows: &'a [u64],
    /// At the party that knows the choices: them.
    pub choices: &'a Bits,
}

/// One party's engine.
pub struct Engine {}

impl Engine {
    /// An engine over a link to the other party and a source of OTs.
    pub fn new(_party: Party, _source: Box<dyn RandomCot>) -> Result<Self, Error> {
        todo!()
    }

    /// An engine that counts for both parties at once and computes with zeros. It stands for
    /// party 0.
    pub fn counting() -> Self {
        todo!()
    }

    /// What a counting engine has counted; of a real one, nothing.
    pub fn tally(&self) -> Tally {
        todo!()
    }

    /// This party's number: 0, the server, or 1, the client.
    pub fn id(&self) -> usize {
        todo!()
    }

    /// The link.
    pub fn party(&mut self) -> Option<&mut Party> {
        todo!()
    }

    /// Makes the OTs for what was tallied, to be consumed by later calls.
    pub fn prepare(&mut self, _cots: [usize; 2]) -> Result<(), Error> {
        todo!()
    }

    /// Shares of each gate's function of both parties' numbers; all gates in the same 2 hops.
    ///
    /// `own` are this party's numbers, one per instance and below `2^index_bits`. Of every gate
    /// the first half of the instances is sent by party 0, the rest by party 1. Per instance:
    /// `index_bits` OTs and as many bits from the receiver, `(2^index_bits - 1) output_bits` bits
    /// from the sender.
    pub fn gates(
        &mut self,
        _step: &'static str,
        _gates: &[(&Gate, &[u64])],
    ) -> Result<Vec<Vec<u64>>, Error> {
        todo!()
    }

    /// Additive shares of the products of `send` (this party knows the numbers) and of `recv`
    /// (it knows the choices); the peer calls it with the two swapped. All in the same 2 hops.
    ///
    /// Per choice: 1 OT, 1 bit from the receiver, `lanes` x `bits` bits from the sender. The
    /// results are those of `send`, then of `recv`, in order.
    pub fn products(
        &mut self,
        _step: &'static str,
        _send: &[Correlation],
        _recv: &[Correlation],
    ) -> Result<Vec<Vec<u64>>, Error> {
        todo!()
    }

    /// Shares of `x_i & z` for each pair in `jobs`, given as `(z, [x_1, ..., x_k])`, `k` 1 or 2;
    /// all in the same hop. Every `x_i` has its own mask, `z` one.
    ///
    /// Per element: 1 OT in each direction, and `k + 1` bits from each party.
    pub fn ands(
        &mut self,
        _step: &'static str,
        _jobs: &[(&Bits, &[&Bits])],
    ) -> Result<Vec<Vec<Bits>>, Error> {
        todo!()
    }

    /// Opens a sum modulo `2^bits` to both parties. 1 hop; each sends `bits` per element.
    pub fn open(
        &mut self,
        _step: &'static str,
        _bits: u32,
        _values: &[u64],
    ) -> Result<Vec<u64>, Error> {
        todo!()
    }
}
