//! Products of numbers of different widths, signed or not (section IV-C, Algorithm 3).
//!
//! Every factor is written `x = x0 + x1 - 2^m w - a` over the integers: `a` is `2^(m-1)` for a
//! signed one, whose shares are shifted to be unsigned, else 0; `w` is the wrap of the shares. So
//! modulo `2^o` a product is local products, cross terms `x0 y1` and `x1 y0`, and the choices
//! `2^m w_x y` and `2^n w_y x` (`2^(m+n) w_x w_y` is 0 for `o <= m + n`; for more, one factor is
//! extended first). A factor of `o` bits or more needs neither `w` nor `a`, so a product in the
//! ring of its factors is cross terms only. A factor that one party knows has no `w` and its
//! summand at the other party is 0, which leaves half of everything.
//!
//! Differs from the paper: the cross terms run beside the choices, so wraps and 2 hops are all;
//! and signs need no terms of their own, since `a` is part of a summand.

use std::borrow::Cow;

use tacit_algebra::Bits;
use tacit_algebra::ot::words;
use tacit_algebra::vec;
use tacit_protocols::Error;

use crate::convert::Msb;
use crate::sum::{Shape, Sum};
use crate::{Engine, Shared};

/// A factor of a product: how it is read, and who has it.
#[derive(Clone)]
pub struct Factor<'a> {
    signed: bool,
    held: Held<'a>,
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
        let signed = false;
        Factor { signed, held }
    }

    /// A shared signed factor with what is known of its sign.
    pub fn signed(x: &'a Shared, msb: &'a Msb) -> Self {
        let held = Held::Shared(x, msb);
        let signed = true;
        Factor { signed, held }
    }

    /// A factor that party `owner` knows, modulo `2^bits`; `values` at that party.
    pub fn known(signed: bool, bits: u32, values: Option<&'a [u64]>, owner: usize) -> Self {
        let held = Held::Known {
            bits,
            values,
            owner,
        };
        Factor { signed, held }
    }

    fn bits(&self) -> u32 {
        match &self.held {
            Held::Shared(x, _) => x.bits,
            Held::Known { bits, .. } => *bits,
        }
    }

    /// Elements, where this party can tell.
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
    bits: u32,
    own: Vec<u64>,
    offset: u64,
    /// Who subtracts the offset from its summand.
    lead: usize,
    /// Whose summand is not 0.
    holders: [bool; 2],
    wrap: Option<Bits>,
}

impl Part {
    /// The part without its wrap, as far as a product modulo `2^out` needs it, and the top bit of
    /// the sum if that wrap is needed.
    fn new(
        engine: &Engine,
        factor: &Factor,
        n: usize,
        out: u32,
    ) -> Result<(Self, Option<Msb>), Error> {
        let whole = factor.bits() >= out;
        let bits = factor.bits().min(out);
        let signed = factor.signed && !whole;
        let offset = if signed { 1 << (bits - 1) } else { 0 };
        let (values, lead, holders, msb) = match &factor.held {
            Held::Shared(x, msb) => {
                let msb = if signed {
                    engine.not_msb(msb)
                } else {
                    (*msb).clone()
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
    fn summand(&self, id: usize) -> Cow<'_, [u64]> {
        match id == self.lead && self.offset != 0 {
            true => Cow::Owned(self.without_offset(0..self.own.len())),
            false => Cow::Borrowed(&self.own),
        }
    }

    /// A range of the summand minus the offset, at either party.
    fn without_offset(&self, range: std::ops::Range<usize>) -> Vec<u64> {
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
        let bits = |wrap: &Bits| Bits::msb_of(&vec::shl(&arrange_bits(&wrap.expand()), 7));
        Part {
            own: self.shifted(id, arrange(&self.summand(id))),
            wrap: self.wrap.as_ref().map(bits),
            ..*self
        }
    }

    /// The same as a matrix with rows and columns swapped.
    fn transposed(&self, id: usize, rows: usize, cols: usize) -> Part {
        let dims = [1, 1, rows, cols];
        self.arranged(
            id,
            |v| words::permute(v, dims, [0, 1, 3, 2]),
            |v| words::permute(v, dims, [0, 1, 3, 2]),
        )
    }
}

/// What an OT costs in bits, as the choice of its receiver weighs it: that of the sources which
/// make them by sending.
const OT: usize = 32;

/// Products in memory at once.
pub(crate) const LIMIT: usize = 1 << 24;

/// Bits of the cross terms whose choices are the bits of a left factor.
fn cost(bits: u32, shape: Shape, out: u32) -> usize {
    let payload: u32 = (0..bits.min(out)).map(|i| out - i).sum();
    shape.left() * (bits as usize * OT + shape.cols * payload as usize)
}

/// Terms of a product with one of the factors on the left: its cross terms, unless those are with
/// the other on the left, and the choices by its wrap.
struct Side<'a> {
    left: &'a Part,
    right: &'a Part,
    numbers: &'a [u64],
    shape: Shape,
    crosses: bool,
    out: u32,
}

impl<'a> Side<'a> {
    fn is_needed(&self) -> bool {
        self.crosses || self.left.wrap.is_some()
    }

    /// Products of the whole side.
    fn work(&self) -> usize {
        let planes = if self.crosses {
            self.left.bits as usize
        } else {
            0
        };
        (planes + usize::from(self.left.wrap.is_some())) * self.shape.left() * self.shape.cols
    }

    /// Rows of part `k` of `count`.
    fn sum(&self, engine: &Engine, k: usize, count: usize) -> Sum<'a> {
        let [start, end] = [k, k + 1].map(|k| self.shape.rows * k / count);
        let shape = Shape {
            rows: end - start,
            ..self.shape
        };
        let range = start * self.shape.left() / self.shape.rows.max(1);
        let range = range..range + shape.left();
        let (left, right) = (self.left, self.right);
        let local = match self.crosses && right.holders[engine.id()] && !engine.counts() {
            true => {
                let own = left.without_offset(range.clone());
                words::group_products(&own, self.numbers, shape.dims())
            }
            false => vec![0; shape.out()],
        };
        let mut sum = Sum::new(engine, self.out, local);
        if self.crosses {
            let own = &left.own[range.clone()];
            let numbers = (self.numbers, right.holders);
            sum.cross((own, left.bits, left.holders), numbers, shape);
        }
        if let Some(wrap) = &left.wrap {
            let wrap = wrap.slice(range.start, range.len());
            let scale = (1u64 << left.bits).wrapping_neg();
            sum.select(&wrap, self.numbers, right.holders, shape, scale);
        }
        sum
    }
}

impl Engine {
    /// UMult: shares modulo `2^out` of the product of unsigned numbers, element by element, `out`
    /// at most 64.
    ///
    /// The wraps of both factors in one batch (none of a factor of `out` bits or more;
    /// [`Engine::wrap_of`]), then 2 hops. Of `m <= n` bits with `out = m + n`: `2 m` OTs and
    /// `m (2 n + m + 3)` bits for the cross terms, 4 OTs and `2 (m + n + 2)` bits for the choices.
    pub fn multiply_unsigned(
        &mut self,
        x: &Shared,
        y: &Shared,
        out: u32,
        msb_x: &Msb,
        msb_y: &Msb,
    ) -> Result<Shared, Error> {
        self.multiply(
            &Factor::unsigned(x, msb_x),
            &Factor::unsigned(y, msb_y),
            out,
        )
    }

    /// SMult: the same of signed numbers, at the same cost; `msb_x` and `msb_y` are their signs.
    pub fn multiply_signed(
        &mut self,
        x: &Shared,
        y: &Shared,
        out: u32,
        msb_x: &Msb,
        msb_y: &Msb,
    ) -> Result<Shared, Error> {
        self.multiply(&Factor::signed(x, msb_x), &Factor::signed(y, msb_y), out)
    }

    /// The product modulo `2^out` of any two factors, element by element. With one that a party
    /// knows: one wrap, and half of the OTs and bits of [`Engine::multiply_unsigned`].
    pub fn multiply(&mut self, x: &Factor, y: &Factor, out: u32) -> Result<Shared, Error> {
        let n = x.len().or(y.len()).ok_or_else(|| {
            Error::Invalid("a product needs a factor whose length this party knows".into())
        })?;
        let [x, y] = self.parts([(x, n), (y, n)], out)?;
        self.product(&x, &y, Shape::elements(n), out, LIMIT)
    }

    /// Both factors' parts with the wraps that a product modulo `2^out` needs, in one batch; where
    /// `out` exceeds the sum of their widths, the wider one is extended first.
    pub(crate) fn parts(
        &mut self,
        factors: [(&Factor, usize); 2],
        out: u32,
    ) -> Result<[Part; 2], Error> {
        let [x, y] = factors.map(|(factor, n)| Part::new(self, factor, n, out));
        let mut both = [x?, y?];
        let [m, n] = [both[0].0.bits, both[1].0.bits];
        if both.iter().all(|(_, msb)| msb.is_some()) && m + n < out {
            let (wider, to) = if m > n { (0, out - n) } else { (1, out - m) };
            let (part, msb) = &mut both[wider];
            let own = Shared::new(part.bits, &part.own);
            if let Some(known) = msb {
                part.own = self.zero_extend(&own, to, known)?.values;
            }
            part.bits = to;
            *msb = Some(Msb::Public(false));
        }
        let shared = |(part, msb): &(Part, Option<Msb>)| {
            let own = Shared::new(part.bits, &part.own);
            msb.clone().map(|msb| (own, msb))
        };
        let wrapped = [shared(&both[0]), shared(&both[1])];
        let asked: Vec<_> = wrapped.iter().flatten().map(|(x, msb)| (x, msb)).collect();
        let mut wraps = self.wraps_of(&asked, Vec::new())?.0.into_iter();
        Ok(both.map(|(part, msb)| Part {
            wrap: msb.and_then(|_| wraps.next()),
            ..part
        }))
    }

    /// The product of a left and a right factor modulo `2^out`: 2 hops, and 2 more for every part
    /// of its rows beyond `limit` products.
    pub(crate) fn product(
        &mut self,
        x: &Part,
        y: &Part,
        shape: Shape,
        out: u32,
        limit: usize,
    ) -> Result<Shared, Error> {
        if shape.left() == 0 || shape.right() == 0 {
            return Ok(Shared::new(out, &vec![0; shape.out()]));
        }
        let (id, swapped) = (self.id(), shape.swapped());
        let x_first = cost(x.bits, shape, out) <= cost(y.bits, swapped, out);
        let x_right = x.transposed(id, shape.rows, shape.groups * shape.inner);
        let y_left = y.transposed(id, shape.groups * shape.inner, shape.cols);
        let [x_numbers, y_numbers] = [x_right.summand(id), y.summand(id)];
        let side = |left, right, numbers, shape, crosses| Side {
            left,
            right,
            numbers,
            shape,
            crosses,
            out,
        };
        let sides = [
            side(x, y, &y_numbers, shape, x_first),
            side(&y_left, x, &x_numbers, swapped, !x_first),
        ];
        let work: usize = sides.iter().map(Side::work).sum();
        let most = shape.rows.max(shape.cols).max(1);
        let count = work.div_ceil(limit).clamp(1, most);
        let mut out_values = [Vec::with_capacity(shape.out()), Vec::new()];
        for k in 0..count {
            let (mut sums, mut to) = (Vec::new(), Vec::new());
            for (i, side) in sides.iter().enumerate().filter(|(_, s)| s.is_needed()) {
                sums.push(side.sum(self, k, count));
                to.push(i);
            }
            for (i, part) in to.into_iter().zip(self.sums("sirnn: product", sums)?) {
                out_values[i].extend(part.values);
            }
        }
        let [mut straight, turned] = out_values;
        straight.resize(shape.out(), 0);
        if !turned.is_empty() {
            let dims = [1, shape.cols, shape.groups, shape.rows];
            let turned = words::permute(&turned, dims, [0, 3, 2, 1]);
            vec::add_assign(&mut straight, &turned);
        }
        Ok(Shared::new(out, &straight))
    }
}
