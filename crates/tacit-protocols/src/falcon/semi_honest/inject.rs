//! Bits of Z_2 carried into Z_p and Z_L, and random non-zero residues (Falcon, Figure 6;
//! docs/spec/falcon.md, section 2).
//!
//! Differs from the usual bit injection, which inputs `b_0 ^ b_1` and multiplies by `b_2` with a
//! full resharing (4/3 elements per party). Both are the product of a number `a` that party 0 knows
//! with one that parties 1 and 2 know. So party 0 splits `a` additively between parties 1 and 2,
//! the product is local to them, and only component 2 of the result must be sent: 1 element per
//! party.
//!
//! For `b = b_0 ^ b_1 ^ b_2` and `a = b_0 ^ b_1`: `b = a (1 - 2 b_2) + b_2`.
//! For `m = u_0 u_1 u_2` and `a = u_0 u_1`: `m = a u_2`, non-zero without any rejection, and
//! uniform to each party, which misses one factor.

use std::ops::Range;

use tacit_algebra::{Bits, Buffer, Ring};

use super::super::Falcon;
use super::super::domain::{Residues, Wide};
use crate::Error;
use crate::message::Message;
use crate::replicated::{Domain, Rss, blocks};

const fn split<D: Domain>() -> Message<D::Family> {
    Message::new("falcon inject: split")
}

const fn join<D: Domain>() -> Message<D::Family> {
    Message::new("falcon inject: join")
}

/// A party's part in the product of `a`, known to party 0, with what parties 1 and 2 know; both
/// from a range of the elements, so that long ones are made block by block.
enum Part<A, F> {
    /// Party 0 with its `a`.
    Splits(A),
    /// Party 1 or 2 with its map from its summand of `a` to its summand of the product.
    Multiplies(F),
}

impl<R: Ring> Falcon<R> {
    /// Carries shared bits into a wider domain.
    /// 2 hops; every party sends one element per bit.
    pub(in crate::falcon) fn inject_unchecked<D: Wide>(
        &mut self,
        bits: &Rss<Bits>,
    ) -> Result<Rss<D::Vec>, Error> {
        let n = bits.own.len();
        let id = self.rss.party.id();
        let part = if id == 0 {
            Part::Splits(|range: Range<usize>| {
                let own = bits.own.slice(range.start, range.len());
                D::expand(&own.xor(&bits.next.slice(range.start, range.len())))
            })
        } else {
            let b_2 = if id == 1 { &bits.next } else { &bits.own };
            Part::Multiplies(move |range: Range<usize>, summand| {
                D::flip(&summand, &b_2.slice(range.start, range.len()), id == 1)
            })
        };
        self.known_product::<D>(n, part)
    }

    /// Random residues, none of them 0, uniform to every party.
    /// 2 hops; every party sends `n` residues.
    pub(in crate::falcon) fn random_nonzero_unchecked<S: Ring>(
        &mut self,
        n: usize,
    ) -> Result<Rss<Buffer<u8>>, Error> {
        let own = self.rss.keys.own.residues_nonzero(S::PRIME, n);
        let next = self.rss.keys.next.residues_nonzero(S::PRIME, n);
        let times = |u: Buffer<u8>, v: &Buffer<u8>| u.residues_mul(S::PRIME, v);
        let u_2 = if self.rss.party.id() == 1 {
            &next
        } else {
            &own
        };
        let part = match self.rss.party.id() {
            0 => Part::Splits(|range: Range<usize>| {
                times(own.part(range.clone()), &next.part(range))
            }),
            _ => Part::Multiplies(|range, summand: Buffer<u8>| times(u_2.part(range), &summand)),
        };
        self.known_product::<Residues<S>>(n, part)
    }

    /// The product of `a` with what parties 1 and 2 know.
    ///
    /// Party 0: `x_0 = F(K_0)` (party 2 draws it too), sends `x_1 = a - x_0` to party 1.
    /// Party 1 maps `x_1`, party 2 maps `x_0`; with result components `d_0 = F(K_0)` and
    /// `d_1 = F(K_1)`, each sends its summand less the one of these that it knows, and the sum
    /// of the two messages is component 2.
    fn known_product<D: Domain>(
        &mut self,
        n: usize,
        part: Part<impl Fn(Range<usize>) -> D::Vec, impl Fn(Range<usize>, D::Vec) -> D::Vec>,
    ) -> Result<Rss<D::Vec>, Error> {
        let id = self.rss.party.id();
        let mut known = [(); 2].map(|()| D::zeros(0));
        let mut summands = Vec::new();
        for block in blocks(n, 1) {
            let len = block.len();
            match &part {
                Part::Splits(a) => {
                    let mut x_1 = a(block);
                    D::sub_assign(&mut x_1, &D::draw(&mut self.rss.keys.own, len));
                    self.rss.send::<D>(1, split::<D>(), &x_1)?;
                    D::grow(&mut known[0], D::draw(&mut self.rss.keys.own, len), n);
                    D::grow(&mut known[1], D::draw(&mut self.rss.keys.next, len), n);
                }
                Part::Multiplies(map) if id == 1 => {
                    let x_1 = self.rss.recv::<D>(0, split::<D>(), len)?;
                    let d_1 = D::draw(&mut self.rss.keys.own, len);
                    summands.push(self.begin_join::<D>(2, map(block, x_1), &d_1)?);
                    D::grow(&mut known[0], d_1, n);
                }
                Part::Multiplies(map) => {
                    let x_0 = D::draw(&mut self.rss.keys.next, len);
                    let d_0 = D::draw(&mut self.rss.keys.next, len);
                    summands.push(self.begin_join::<D>(1, map(block, x_0), &d_0)?);
                    D::grow(&mut known[1], d_0, n);
                }
            }
        }
        let (peer, missing) = match id {
            1 => (2, &mut known[1]),
            _ => (1, &mut known[0]),
        };
        for ours in summands {
            let mut d_2 = self.rss.recv::<D>(peer, join::<D>(), D::len(&ours))?;
            D::add_assign(&mut d_2, &ours);
            D::grow(missing, d_2, n);
        }
        Ok(known.into())
    }

    /// Sends this party's summand less the component that it knows, and keeps it.
    fn begin_join<D: Domain>(
        &mut self,
        peer: usize,
        mut summand: D::Vec,
        known: &D::Vec,
    ) -> Result<D::Vec, Error> {
        D::sub_assign(&mut summand, known);
        self.rss.send::<D>(peer, join::<D>(), &summand)?;
        Ok(summand)
    }
}
