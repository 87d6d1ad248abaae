//! Factors of products: how they are read, who has them, and as what they enter a product.

use std::borrow::Cow;
use std::ops::Range;

use tacit_algebra::ot::words;
use tacit_algebra::{Bits, vec};
use tacit_protocols::Error;

use crate::convert::Msb;
use crate::{Engine, Shared};

/// A factor of a product: how it is read, and who has it.
#[derive(Clone)]
pub struct Factor<'a> {
    reading: Reading,
    held: Held<'a>,
}

/// What the bits of a factor mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Unsigned,
    Signed,
    /// Signed and below a quarter of the range.
    Small,
}

#[derive(Clone)]
enum Held<'a> {
    Shared(&'a Shared, &'a Msb),
    Known {
        bits: u32,
        values: Option<&'a [u64]>,
        owner: usize,
    },
}

impl<'a> Factor<'a> {
    /// A shared unsigned factor with what is known of its top bit.
    pub fn unsigned(x: &'a Shared, msb: &'a Msb) -> Self {
        let held = Held::Shared(x, msb);
        let reading = Reading::Unsigned;
        Factor { reading, held }
    }

    /// A shared signed factor with what is known of its sign.
    pub fn signed(x: &'a Shared, msb: &'a Msb) -> Self {
        let held = Held::Shared(x, msb);
        let reading = Reading::Signed;
        Factor { reading, held }
    }

    /// A shared signed factor of at least 2 bits, below a quarter of its range: with a quarter
    /// added its top bit is known to be 0.
    pub fn small(x: &'a Shared) -> Self {
        let held = Held::Shared(x, &Msb::Public(false));
        let reading = Reading::Small;
        Factor { reading, held }
    }

    /// A factor that party `owner` knows, modulo `2^bits`; `values` at that party.
    pub fn known(signed: bool, bits: u32, values: Option<&'a [u64]>, owner: usize) -> Self {
        let held = Held::Known {
            bits,
            values,
            owner,
        };
        let reading = match signed {
            true => Reading::Signed,
            false => Reading::Unsigned,
        };
        Factor { reading, held }
    }

    fn bits(&self) -> u32 {
        match &self.held {
            Held::Shared(x, _) => x.bits,
            Held::Known { bits, .. } => *bits,
        }
    }

    /// The number of elements, at a party that can tell.
    pub(crate) fn len(&self) -> Option<usize> {
        match &self.held {
            Held::Shared(x, _) => Some(x.len()),
            Held::Known { values, .. } => values.map(<[u64]>::len),
        }
    }
}

/// One party's part of a factor: it is the sum of `own` over the parties, minus `2^bits` times the
/// wrap, minus `offset`.
pub(crate) struct Part {
    pub bits: u32,
    pub own: Vec<u64>,
    offset: u64,
    /// The party that subtracts the offset from its summand.
    lead: usize,
    /// The parties whose summand is not 0.
    pub holders: [bool; 2],
    pub wrap: Option<Bits>,
    /// Whether only what is sent counts: then what is arranged has no elements.
    counts: bool,
}

impl Part {
    /// The part without its wrap, as far as a product modulo `2^out` needs it, and the top bit of
    /// the sum if that wrap is needed.
    pub fn new(
        engine: &Engine,
        factor: &Factor,
        n: usize,
        out: u32,
    ) -> Result<(Self, Option<Msb>), Error> {
        let whole = factor.bits() >= out;
        let bits = factor.bits().min(out);
        let offset = match factor.reading {
            _ if whole => 0,
            Reading::Unsigned => 0,
            Reading::Signed => 1 << (bits - 1),
            Reading::Small => 1 << (bits - 2),
        };
        let (values, lead, holders, msb) = match &factor.held {
            Held::Shared(x, msb) => {
                let msb = match factor.reading {
                    Reading::Signed => engine.not_msb(msb),
                    _ => (*msb).clone(),
                };
                let msb = (!whole).then_some(msb);
                (Cow::Borrowed(x.values.as_slice()), 0, [true; 2], msb)
            }
            Held::Known { values, owner, .. } => {
                let values = match values {
                    Some(values) if *owner == engine.id() => Cow::Borrowed(*values),
                    None if *owner == engine.id() && !engine.counts() => {
                        return Err(Error::Invalid("a factor's owner must know it".into()));
                    }
                    _ => Cow::Owned(vec![0; n]),
                };
                (values, *owner, [0, 1].map(|id| id == *owner), None)
            }
        };
        assert_eq!(values.len(), n, "a factor's elements");
        let part = Part {
            bits,
            own: Vec::new(),
            offset,
            lead,
            holders,
            wrap: None,
            counts: engine.counts(),
        };
        let own = part.shifted(engine.id(), values.into_owned());
        Ok((Part { own, ..part }, msb))
    }

    /// This party's summand of the number, from that without the offset.
    fn shifted(&self, id: usize, mut summand: Vec<u64>) -> Vec<u64> {
        if id == self.lead && self.offset != 0 {
            vec::add_scalar_assign(&mut summand, self.offset);
        }
        match self.holders[id] {
            true => words::field(&summand, 0, self.bits),
            false => summand,
        }
    }

    /// This party's summand as a number.
    pub fn summand(&self, id: usize) -> Cow<'_, [u64]> {
        match id == self.lead && self.offset != 0 {
            true => Cow::Owned(self.without_offset(0..self.own.len())),
            false => Cow::Borrowed(&self.own),
        }
    }

    /// A range of the summand minus the offset, at either party.
    pub fn without_offset(&self, range: Range<usize>) -> Vec<u64> {
        let mut own = self.own[range].to_vec();
        vec::add_scalar_assign(&mut own, self.offset.wrapping_neg());
        own
    }

    /// The part of a tensor made of this one's elements and zeros: `arrange` is applied to the
    /// numbers, `arrange_bits` to bits as bytes.
    pub fn arranged(
        &self,
        id: usize,
        arrange: impl Fn(&[u64]) -> Vec<u64>,
        arrange_bits: impl Fn(&[u8]) -> Vec<u8>,
    ) -> Part {
        if self.counts {
            return Part {
                own: Vec::new(),
                wrap: self.wrap.as_ref().map(|_| Bits::default()),
                ..*self
            };
        }
        let bits = |wrap: &Bits| Bits::msb_of(&vec::shl(&arrange_bits(&wrap.expand()), 7));
        Part {
            own: self.shifted(id, arrange(&self.summand(id))),
            wrap: self.wrap.as_ref().map(bits),
            ..*self
        }
    }

    /// This part of a `rows x cols` matrix, transposed.
    pub fn transposed(&self, id: usize, rows: usize, cols: usize) -> Part {
        let dims = [1, 1, rows, cols];
        self.arranged(
            id,
            |v| words::permute(v, dims, [0, 1, 3, 2]),
            |v| words::permute(v, dims, [0, 1, 3, 2]),
        )
    }
}
