//! Products of numbers of different widths, signed or not (SiRnn, Algorithms 3 and 4, section IV-C;
//! docs/spec/sirnn.md, section 8).
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

use tacit_algebra::MatMul;
use tacit_algebra::ot::words;
use tacit_algebra::vec;
use tacit_protocols::Error;
use tacit_protocols::machine::Bilinear;

use crate::convert::Msb;
use crate::factor::{Factor, Part};
use crate::sum::{Shape, Sum};
use crate::{Engine, Shared};

/// What an OT costs in bits, as the choice of its receiver weighs it: that of the sources which
/// make them by sending.
const OT: usize = 32;

/// Products in memory at once.
pub(crate) const LIMIT: usize = 1 << 23;

/// Bits of the cross terms whose choices are the bits of a left factor.
fn cost(bits: u32, shape: Shape, out: u32) -> usize {
    let payload: u32 = (0..bits.min(out)).map(|i| out - i).sum();
    shape.left() * (bits as usize * OT + shape.cols * payload as usize)
}

/// About how many bits transfers take for a product of factors of so many bits with one of the factors
/// at each party.
pub(crate) fn transfer_bits(map: &Bilinear, [left, right]: [u32; 2], out: u32) -> usize {
    let matrix = |groups, MatMul { m, k, n }| Shape {
        rows: m,
        groups,
        inner: k,
        cols: n,
    };
    let shape = match map {
        Bilinear::Elementwise(n) => Shape::elements(*n),
        Bilinear::MatMul(shape) => matrix(1, *shape),
        Bilinear::BatchMatMul(shape) => matrix(shape.batch, shape.each),
        Bilinear::Conv2d(shape) => {
            let plane = shape.out_height() * shape.out_width();
            matrix(
                shape.groups,
                MatMul {
                    m: shape.batch * plane,
                    k: shape.weight_len() / shape.filters,
                    n: shape.filters / shape.groups,
                },
            )
        }
    };
    cost(left, shape, out).min(cost(right, shape.swapped(), out))
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
        let local = match self.crosses && right.holders[engine.id()] {
            _ if engine.counts() => Vec::new(),
            true => {
                let own = left.without_offset(range.clone());
                words::group_products(&own, self.numbers, shape.dims())
            }
            false => vec![0; shape.out()],
        };
        let mut sum = Sum::new(engine, self.out, local);
        // An engine that only counts looks at no element.
        let range = if engine.counts() { 0..0 } else { range };
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
    /// UMult (SiRnn, Algorithm 3, section IV-C): shares modulo `2^out` of the product of unsigned
    /// numbers, element by element, `out` at most 64.
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

    /// SMult (SiRnn, section IV-C): shares modulo `2^out` of the product of signed numbers, element
    /// by element, at the cost of [`Engine::multiply_unsigned`]; `msb_x` and `msb_y` are the signs.
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
        Ok(both.map(|(mut part, msb)| {
            part.wrap = msb.and_then(|_| wraps.next());
            part
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
