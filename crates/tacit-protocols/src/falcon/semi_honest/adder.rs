//! The bits of a random number given as three components (docs/spec/falcon.md, section 4.1, step
//! 2).
//!
//! Differs from the paper (Figure 6), which composes a number of random bits, and from a carry-save
//! adder of three summands: party 0 knows components 0 and 1, so it adds them by itself and shares
//! the bits of the sum; only one ripple-carry addition with component 2, whose bits parties 1 and 2
//! know, is left: one AND per bit instead of two.

use tacit_algebra::{Bits, Buffer, Ring};

use super::super::preprocess::Sum;
use super::super::{Falcon, PARTIES};
use crate::Error;
use crate::message::Message;
use crate::replicated::{Booleans, Rss};

const BITS: Message<Booleans> = Message::new("falcon adder: bits of two components");
const CARRY: Message<Booleans> = Message::new("falcon adder: carry");

impl<R: Ring> Falcon<R> {
    /// Adds the components of `x`, each below `2^m` with `m = l - 1`.
    ///
    /// `1 + m` hops; party 0 sends `m + 1` bits and every party `m` bits per element.
    pub(in crate::falcon) fn add_components_unchecked<S: Ring>(
        &mut self,
        x: &Rss<Buffer<S>>,
    ) -> Result<Sum<S>, Error> {
        let n = x.own.len();
        let m = S::BITS as usize - 1;
        let (known, wrap) = match self.rss.party.id() {
            0 => x.own.sum2(&x.next),
            _ => (Buffer::default(), Bits::zeros(0)),
        };
        let a = self.share_known_bits(&known, wrap, n, m)?;
        let b = self.last_component_rows(x, n, m);

        let mut carry = Rss {
            own: self.rss.zeros::<Booleans>(n),
            next: self.rss.zeros::<Booleans>(n),
        };
        let (mut bits, mut carries) = (Vec::with_capacity(m), vec![carry.clone()]);
        for (a_i, b_i) in a.iter().zip(&b) {
            let left = a_i.zip(&carry, Bits::xor);
            let right = b_i.zip(&carry, Bits::xor);
            bits.push(left.zip(b_i, Bits::xor));
            // carry' = ((a ^ carry)(b ^ carry)) ^ carry
            let both = self.rss.multiply::<Booleans>(CARRY, &left, &right)?;
            carry = both.zip(&carry, Bits::xor);
            carries.push(carry.clone());
        }
        let first_wrap = a[m].clone();
        Ok(Sum {
            bits,
            carries,
            first_wrap,
            known,
            saves: Vec::new(),
        })
    }

    /// Party 0 shares the `m` bits of each number and one more.
    fn share_known_bits<S: Ring>(
        &mut self,
        known: &Buffer<S>,
        wrap: Bits,
        n: usize,
        m: usize,
    ) -> Result<Vec<Rss<Bits>>, Error> {
        let value = (self.rss.party.id() == 0).then(|| {
            let rows = known.bit_rows(m as u32);
            let mut parts: Vec<Bits> = (0..m).map(|i| rows.row_bits(i)).collect();
            parts.push(wrap);
            Bits::concat(&parts.iter().collect::<Vec<_>>())
        });
        let shared = self
            .rss
            .share_input::<Booleans>(BITS, 0, (m + 1) * n, value)?;
        Ok((0..=m)
            .map(|i| shared.map(|component| component.slice(i * n, n)))
            .collect())
    }

    /// The bits of component 2, a trivial sharing: parties 1 and 2 know them.
    fn last_component_rows<S: Ring>(
        &self,
        x: &Rss<Buffer<S>>,
        n: usize,
        m: usize,
    ) -> Vec<Rss<Bits>> {
        let last = match self.rss.party.id() {
            0 => {
                return vec![
                    Rss {
                        own: self.rss.zeros::<Booleans>(n),
                        next: self.rss.zeros::<Booleans>(n)
                    };
                    m
                ];
            }
            1 => &x.next,
            _ => &x.own,
        };
        let rows = last.bit_rows(m as u32);
        let is_next = self.rss.party.id() + 1 == PARTIES - 1;
        (0..m)
            .map(|i| match is_next {
                true => Rss {
                    own: self.rss.zeros::<Booleans>(n),
                    next: rows.row_bits(i),
                },
                false => Rss {
                    own: rows.row_bits(i),
                    next: self.rss.zeros::<Booleans>(n),
                },
            })
            .collect()
    }
}
