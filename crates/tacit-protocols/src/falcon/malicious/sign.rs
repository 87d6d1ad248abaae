//! The sign of any element by its bits (docs/spec/adder.md, section 7): every step is an AND of shared bits,
//! and each is verified.
//!
//! No party may be trusted with the sum of two components, so a carry-save step makes two summands of
//! the three, and the tree of the semi-honest form (`replicated/adder.rs`) finds the carry of these.

use tacit_algebra::{BitRows, Bits, Buffer, Ring, planes};

use super::super::Falcon;
use crate::Error;
use crate::message::Message;
use crate::pool;
use crate::replicated::{Booleans, Rss};

const GENERATE: Message<Booleans> = Message::new("falcon sign: generate carries");
pub(in crate::falcon) const CARRY: Message<Booleans> = Message::new("falcon sign: carry");

/// The products that a sign of so many bits takes: the saved carries, and what is generated of them with
/// what the tree takes.
pub(super) fn products_of(width: u32) -> [usize; 2] {
    let leaves = (width as usize).saturating_sub(2);
    let tree = pool::levels(leaves).map(|(pairs, _)| 2 * pairs - 1);
    [width as usize - 1, leaves + tree.sum::<usize>()]
}

impl<R: Ring> Falcon<R> {
    /// Bit `width - 1` of every element (docs/spec/adder.md, section 7): whether it is negative, for
    /// every `-2^(width-1) <= x < 2^(width-1)`.
    ///
    /// `2 + ceil(log2(width - 2))` hops. Per element every party sends `width - 1` bits for the saved
    /// carries, `width - 2` for the generated ones, and one for each AND of the tree.
    pub(in crate::falcon) fn negative_checked(
        &mut self,
        x: &Rss<Buffer<R>>,
        width: u32,
    ) -> Result<Rss<Bits>, Error> {
        let last = width as usize - 1;
        let (n, bits) = (x.own.len(), x.map(|component| component.bit_rows(width)));
        let mut top = bits.map(|bits| bits.row_bits(last));
        if last == 0 {
            return Ok(top);
        }
        let below = bits.map(|bits| bits.packed(0..last));
        let saves = self.majorities(below, [last, n])?;
        top = top.zip(&saves, |top, saves| top.xor(&saves.row_bits(last - 1)));
        if last == 1 {
            return Ok(top);
        }
        let carry = self.carry(bits, saves)?;
        Ok(top.zip(&carry, Bits::xor))
    }

    /// The carry into the top row of the sum of numbers given by rows of bits and their saved carries, each of which
    /// is worth as much as the row after it. The lowest row has no saved carry, so it generates none.
    fn carry(&mut self, bits: Rss<BitRows>, saves: Rss<BitRows>) -> Result<Rss<Bits>, Error> {
        let (last, n) = (bits.own.rows() - 1, bits.own.cols());
        let leaves = last - 1;
        let mut p = bits.zip(&saves, |bits, saves| {
            planes::xor_rows(bits, 2..last, saves, 1..leaves)
        });
        let x = bits.into_map(|bits| bits.packed(1..last));
        let y = saves.into_map(|saves| saves.packed(0..leaves));
        let mut g = self.and_rows(GENERATE, [x, y], [leaves, n])?;
        for _ in pool::levels(leaves) {
            let operands = g.zip(&p, planes::packed_operands).transposed();
            let made = self.and_rows(CARRY, operands, [g.own.rows() / 2 * 2 - 1, n])?;
            let own = planes::join(&g.own, &p.own, &made.own);
            let next = planes::join(&g.next, &p.next, &made.next);
            [g, p] = Rss { own, next }.transposed();
        }
        Ok(g.map(|g| g.row_bits(0)))
    }

    /// `x & y` of packed rows, recorded. 1 hop; every party sends a bit for each.
    fn and_rows(
        &mut self,
        step: Message<Booleans>,
        [x, y]: [Rss<Bits>; 2],
        [rows, cols]: [usize; 2],
    ) -> Result<Rss<BitRows>, Error> {
        let product = self.multiply::<Booleans>(step, x, y)?;
        Ok(product.into_map(|bits| BitRows::of_bits(rows, cols, bits)))
    }
}
