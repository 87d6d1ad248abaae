//! Between shared bits and shared numbers: B2A, MUX, look-ups, and wraps of values whose sign is
//! known (SiRnn, sections III-E and IV-E, MUX appendix A; docs/spec/sirnn.md, sections 4 and 5).

use tacit_algebra::BitRows;
use tacit_algebra::Bits;
use tacit_algebra::ot::words;
use tacit_protocols::Error;

use crate::compare::Question;
use crate::sum::{Shape, Sum};
use crate::{Engine, Gate, Shared};

/// What is known of the top bit of a value.
#[derive(Clone, Debug)]
pub enum Msb {
    /// Nothing is known of the top bit.
    Unknown,
    /// The top bit is public.
    Public(bool),
    /// The top bit is shared.
    Shared(Bits),
}

impl Engine {
    /// B2A (SiRnn, section III-E): shares modulo `2^bits` of shared bits. 2 hops; per element 1 OT,
    /// `bits - 1` bits from party 0 and 1 from party 1. Free for `bits` = 1.
    ///
    /// Differs from the paper: `b0 b1` counts twice, so it is needed in a bit less.
    pub fn b2a(&mut self, b: &Bits, bits: u32) -> Result<Shared, Error> {
        let mut sum = Sum::new(self, bits, vec![0; b.len()]);
        sum.bit(b, 1);
        self.sum("sirnn: bits to numbers", sum)
    }

    /// MUX (SiRnn, appendix A): shares of `c x`. 2 hops; per element 1 OT and `bits + 1` bits in
    /// each direction.
    pub fn mux(&mut self, c: &Bits, x: &Shared) -> Result<Shared, Error> {
        let mut sum = Sum::new(self, x.bits, vec![0; x.len()]);
        sum.select(c, &x.values, [true; 2], Shape::elements(x.len()), 1);
        self.sum("sirnn: choice", sum)
    }

    /// LUT (SiRnn, section III-E): shares modulo `2^bits` of `table[x]`, `x` of at most 8 bits. 2
    /// hops; per element `x.bits` OTs, as many bits of the index, and `(2^x.bits - 1) bits`.
    pub fn lookup(&mut self, table: &[u64], x: &Shared, bits: u32) -> Result<Shared, Error> {
        Ok(self.lookups(&[(bits, table)], x)?.remove(0))
    }

    /// LUT of several tables of 1 to 64 bits at one index, each with its width, in the same 2 hops. Tables of
    /// 64 bits together pay the OTs and the index once; every output has its own mask.
    pub fn lookups(&mut self, tables: &[(u32, &[u64])], x: &Shared) -> Result<Vec<Shared>, Error> {
        let (mut parts, mut rest) = (Vec::new(), tables);
        while !rest.is_empty() {
            let mut bits = 0;
            let fits = |table: &&(u32, &[u64])| {
                bits += table.0;
                bits <= 64
            };
            let (part, more) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            parts.push(part);
            rest = more;
        }
        let gates: Vec<_> = (parts.iter())
            .map(|part| Gate::lookups(x.bits, part))
            .collect();
        let asked: Vec<_> = gates.iter().map(|gate| (gate, &x.values[..])).collect();
        let found = self.gates("sirnn: look-up", &asked)?;
        let mut all = Vec::with_capacity(tables.len());
        for (found, part) in found.iter().zip(parts) {
            let mut at = 0;
            for &(bits, _) in part {
                let values = words::field(found, at, bits);
                all.push(Shared { bits, values });
                at += bits;
            }
        }
        Ok(all)
    }

    /// Wrap of a shared value: shares of `1{x0 + x1 >= 2^bits}`.
    ///
    /// Of an unknown sign it costs [`Engine::wrap`]; else MSB-to-Wrap, 2 hops.
    pub fn wrap_of(&mut self, x: &Shared, msb: &Msb) -> Result<Bits, Error> {
        Ok(self.wraps_of(&[(x, msb)], Vec::new())?.0.remove(0))
    }

    /// MSB-to-Wrap (section IV-E): the wrap of a value whose top bit is public or shared, from it
    /// and the top bits of the shares. 2 hops; per element 1 OT and 2 bits of a public top bit,
    /// 2 OTs and 5 bits of a shared one.
    pub fn msb_to_wrap(&mut self, x: &Shared, msb: &Msb) -> Result<Bits, Error> {
        assert!(!matches!(msb, Msb::Unknown), "the top bit must be known");
        self.wrap_of(x, msb)
    }

    /// The wraps of several values, and beside them the answers to `questions`; all in the hops of
    /// the longest.
    pub(crate) fn wraps_of(
        &mut self,
        values: &[(&Shared, &Msb)],
        mut questions: Vec<Question>,
    ) -> Result<(Vec<Bits>, Vec<crate::compare::Answer>), Error> {
        let asked = questions.len();
        let mut gates = Vec::new();
        for (x, msb) in values {
            match known_wrap(x, msb) {
                Some(gate) => gates.push(gate),
                None => questions.push(Question::wrap(self, &x.values, x.bits)),
            }
        }
        let gates: Vec<_> = gates
            .iter()
            .map(|(gate, own)| (gate, own.as_slice()))
            .collect();
        let (mut answers, known) = self.ask(&questions, &gates)?;
        let mut unknown = answers.split_off(asked).into_iter();
        let mut known = known.into_iter();
        let wraps = values.iter().map(|(_, msb)| match msb {
            Msb::Unknown => unknown.next().unwrap_or_default().less,
            _ => words::bit(&known.next().unwrap_or_default(), 0),
        });
        Ok((wraps.collect(), answers))
    }

    /// The opposite of a top bit, as far as it is known. Local.
    pub(crate) fn not_msb(&self, msb: &Msb) -> Msb {
        match msb {
            Msb::Unknown => Msb::Unknown,
            Msb::Public(bit) => Msb::Public(!bit),
            Msb::Shared(bits) => Msb::Shared(self.not(bits)),
        }
    }
}

/// The gate of MSB-to-Wrap and this party's numbers for it: of top bits `m0`, `m1` that add up to
/// `m` there is a wrap if both are 1, or if one is and `m` is 0.
fn known_wrap(x: &Shared, msb: &Msb) -> Option<(Gate, Vec<u64>)> {
    let top = words::bit(&x.values, x.bits - 1);
    Some(match msb {
        Msb::Unknown => return None,
        Msb::Public(false) => (Gate::xor(1, 1, |m0, m1| m0 | m1), top.expand_ring()),
        Msb::Public(true) => (Gate::xor(1, 1, |m0, m1| m0 & m1), top.expand_ring()),
        Msb::Shared(msb) => {
            let wrap = |u0: u64, u1: u64| {
                let (one, both, m) = ((u0 ^ u1) & 1, u0 & u1 & 1, (u0 ^ u1) >> 1);
                one & (m ^ 1) ^ both
            };
            let own = BitRows::from_rows(&[top, msb.clone()]).to_ring();
            (Gate::xor(2, 1, wrap), own)
        }
    })
}
