//! A bit times a value (docs/spec/adder.md, section 7), by products of a component of the bit and one of the
//! value, each of which one party knows both factors of; every product is verified.
//!
//! `b = b_0 xor b_1 xor b_2` is never made a number: if `q` is `a x`, then `(a xor b_1) x` is
//! `q + b_1 (x - 2 q)`, and so again with `b_2`.

use tacit_algebra::{Bits, Buffer, Ring};

use super::super::Falcon;
use super::Checks;
use super::gates::{Kept, Verified};
use super::open::add_to;
use crate::Error;
use crate::message::Message;
use crate::replicated::{PARTIES, Rss, Words};

const FIRST: Message<Words> = Message::new("falcon times: by the bit's first holder");
const SECOND: Message<Words> = Message::new("falcon times: by the bit's second holder");

/// A product, and what this party adds to the claims about the first and the second holder's messages.
type Times<R> = (Rss<Buffer<R>>, [Kept<Buffer<R>>; 2]);

impl<R: Ring> Falcon<R> {
    /// `x` where `bit` is 1, else 0.
    /// 3 hops; every party sends 2 elements and 2 bits.
    pub(in crate::falcon) fn times_checked(
        &mut self,
        bit: &Rss<Bits>,
        x: &Rss<Buffer<R>>,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let (mut first, mut second) = (Kept::new(), Kept::new());
        let (mut values, mut sum) = (vec![x.clone()], Rss::default());
        for j in 0..PARTIES {
            let (product, [by_first, by_second]) = self.times_component(j, bit, &values[j])?;
            (first, second) = (first.or(by_first), second.or(by_second));
            sum = match j {
                0 => product,
                _ => sum.zip(&product, Buffer::add),
            };
            if j + 1 < PARTIES {
                values.push(x.zip(&sum, Buffer::less_doubled));
            }
        }
        let id = self.rss.party.id();
        let at = |step: usize| &values[step % PARTIES];
        // Party j was the second holder in step j, and the first one in the step after.
        let by_second = Rss {
            own: at(id + 2).own.clone(),
            next: at(id).next.clone(),
        };
        let by_first = Rss {
            own: at(id + 1).own.clone(),
            next: at(id + 2).next.clone(),
        };
        let bits = || bit.map(<Words<R>>::operand_of_bits);
        let [by_first, by_second] = [by_first, by_second].map(|x| x.map(<Words<R>>::operand));
        self.record_alone::<Words<R>>([bits(), by_first], bit.own.len(), first);
        self.record_alone::<Words<R>>([by_second, bits()], bit.own.len(), second);
        Ok(sum)
    }

    /// Component `j` of a bit times a value: the parties `j - 1` and `j` know it, and one of the two each
    /// component of the value. 1 hop; both send an element and a bit.
    fn times_component(
        &mut self,
        j: usize,
        bits: &Rss<Bits>,
        x: &Rss<Buffer<R>>,
    ) -> Result<Times<R>, Error> {
        let id = self.rss.party.id();
        let before = (j + PARTIES - 1) % PARTIES;
        // In this order neither waits for the other.
        let (rss, n) = (&mut self.rss, bits.own.len());
        let first = || x.own.kept(&bits.next);
        let first = Checks::<R>::multiply_alone::<Words<R>>(rss, FIRST, n, first, &[before])?;
        let second = || x.next.kept(&bits.own);
        let second = Checks::<R>::multiply_alone::<Words<R>>(rss, SECOND, n, second, &[j])?;
        let mut sum = first;
        let [own, next] = [second.product.own, second.product.next];
        let add = add_to::<Words<R>>;
        own.into_iter().for_each(|z| add(&mut sum.product.own, z));
        next.into_iter().for_each(|z| add(&mut sum.product.next, z));
        if id == j {
            add(&mut sum.product.own, x.own.kept(&bits.own));
        }
        if id == before {
            add(&mut sum.product.next, x.next.kept(&bits.next));
        }
        let (product, kept) = sum.whole::<Words<R>>(rss, n);
        Ok((product, [kept, second.kept]))
    }
}
