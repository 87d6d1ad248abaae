//! The bits of a random number given as three components (docs/spec/falcon.md, section 4.1, step
//! 2): a carry-save step makes two summands of the three, a ripple-carry addition one of the two.
//! Every step is an AND of shared bits, and every AND is verified.

use tacit_algebra::{BitRows, Bits, Buffer, Ring};

use super::super::Falcon;
use super::super::preprocess::Sum;
use super::Checks;
use crate::Error;
use crate::message::Message;
use crate::replicated::{Booleans, Rss};

const SAVE: Message<Booleans> = Message::new("falcon adder: carries of three");
const CARRY: Message<Booleans> = Message::new("falcon adder: carry");

impl<R: Ring> Falcon<R> {
    /// Adds the components of `x`, each below `2^m` with `m = l - 1`.
    /// `1 + m` hops; every party sends `2 m` bits per element.
    pub(in crate::falcon) fn add_components_checked<S: Ring>(
        &mut self,
        x: &Rss<Buffer<S>>,
    ) -> Result<Sum<S>, Error> {
        let (n, m) = (x.own.len(), S::BITS as usize - 1);
        let rows = x.map(|component| component.bit_rows(m as u32));
        let sums = rows_of(&rows);
        let saves = rows_of(&self.save_carries(rows)?);
        let zeros = Rss {
            own: self.rss.zeros::<Booleans>(n),
            next: self.rss.zeros::<Booleans>(n),
        };
        // The second summand is that of the saved carries, one place up.
        let shifted = std::iter::once(&zeros).chain(&saves);
        let mut carry = zeros.clone();
        let (mut bits, mut carries) = (Vec::with_capacity(m), vec![carry.clone()]);
        for (a, b) in sums.iter().zip(shifted) {
            let left = a.zip(&carry, Bits::xor);
            let right = b.zip(&carry, Bits::xor);
            bits.push(left.zip(b, Bits::xor));
            // carry' = ((a ^ carry)(b ^ carry)) ^ carry
            let both = self.multiply::<Booleans>(CARRY, left, right)?;
            carry = both.zip(&carry, Bits::xor);
            carries.push(carry.clone());
        }
        Ok(Sum {
            bits,
            carries,
            first_wrap: saves[m - 1].clone(),
            known: Buffer::default(),
            saves,
        })
    }

    /// The majority of the components' bits, of which their own xor is the rest of their sum:
    /// `maj = x_0 x_1 ^ x_1 x_2 ^ x_2 x_0`, of which every party multiplies the two that it has.
    /// 1 hop; every party sends every bit once.
    pub(in crate::falcon) fn save_carries(
        &mut self,
        x: Rss<BitRows>,
    ) -> Result<Rss<BitRows>, Error> {
        let sizes = [x.own.rows(), x.own.cols()];
        self.majorities(x.into_map(BitRows::into_bits), sizes)
    }

    /// [`Falcon::save_carries`] of the packed rows of a matrix.
    pub(super) fn majorities(
        &mut self,
        all: Rss<Bits>,
        [rows, cols]: [usize; 2],
    ) -> Result<Rss<BitRows>, Error> {
        let product = || all.next.and(&all.own);
        let (rss, n) = (&mut self.rss, rows * cols);
        let made = Checks::<R>::multiply_alone::<Booleans>(rss, SAVE, n, product, &[0, 1, 2])?;
        let (majority, kept) = made.whole::<Booleans>(rss, n);
        let majority = majority.into_map(|bits| BitRows::of_bits(rows, cols, bits));
        self.record_alone::<Booleans>([all.clone(), all], n, kept);
        Ok(majority)
    }
}

fn rows_of(all: &Rss<BitRows>) -> Vec<Rss<Bits>> {
    let row = |i| all.map(|rows: &BitRows| rows.row_bits(i));
    (0..all.own.rows()).map(row).collect()
}
