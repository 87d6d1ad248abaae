//! Dealers' numbers for edaBits (docs/spec/liu24.md, section 2.4): dealt over both fields, and added up.

use std::ops::Range;

use tacit_algebra::mersenne::{Field, buffer, of_bits, to_bits};
use tacit_algebra::sliced::Sliced;
use tacit_algebra::{BitRows, Buffer};

use super::super::Shamir;
use super::super::deal::{self, Dealing};
use super::masks::Begun;
use crate::Error;
use crate::message::{Elements, Message};

const BITS: Message<BitRows> = Message::new("shamir edaBits: a dealer's bits");
const UPPER: Message<Elements> = Message::new("shamir truncate: a dealer's upper bits");

/// Dealers' numbers: the sharing of their sums, and each dealer's bits.
pub(super) struct Dealt<F> {
    pub numbers: Buffer<F>,
    /// The sums of what a truncation leaves of each.
    pub upper: Buffer<F>,
    pub bits: Vec<Sliced>,
}

impl<F: Field> Shamir<F> {
    /// `t + 1` dealers' random numbers below `p`, and, of as many of the first as `shifts` tells, what is left
    /// of them by its shifts. Every party is one of the dealers of as many columns as any other.
    pub(super) fn deal_numbers(
        &mut self,
        n: usize,
        shifts: &[(usize, u32)],
    ) -> Result<Dealt<F>, Error> {
        let (id, dealers) = (self.party.id(), self.params.threshold + 1);
        assert!(dealers > self.params.threshold, "one is not corrupt");
        let parts = self.params.parts(n);
        let mut own = Vec::new();
        for (first, part) in parts.iter().enumerate() {
            if self.params.before(id, first) < dealers {
                own.push(self.deal_number(part.len(), &cut(shifts, part))?);
            }
        }
        let mut own = own.into_iter();
        let (mut numbers, mut uppers) = (Vec::new(), Vec::new());
        let mut bits: Vec<Vec<Sliced>> = vec![Vec::new(); dealers];
        for (first, part) in parts.iter().enumerate() {
            let upper = cut(shifts, part).iter().map(|(n, _)| n).sum();
            let mut sums = [part.len(), upper].map(|n| self.zeros(n));
            for (i, bits) in bits.iter_mut().enumerate() {
                let dealer = self.params.after(first, i);
                let (shares, dealt) = match dealer == id {
                    true => own.next().expect("one for each part"),
                    false => self.receive_number(dealer, part.len(), upper)?,
                };
                for (sum, share) in sums.iter_mut().zip(&shares) {
                    buffer::add_assign(sum, share);
                }
                bits.push(dealt);
            }
            let [number, upper] = sums;
            numbers.push(number);
            uppers.push(upper);
        }
        let beside = |parts: Vec<Sliced>| Sliced::beside(&parts.iter().collect::<Vec<_>>());
        Ok(Dealt {
            numbers: Buffer::concat(&numbers),
            upper: Buffer::concat(&uppers),
            bits: bits.into_iter().map(beside).collect(),
        })
    }

    /// Deals `n` random numbers, what shifts leave of the first of them, and their bits.
    fn deal_number(
        &mut self,
        n: usize,
        shifts: &[(usize, u32)],
    ) -> Result<([Buffer<F>; 2], Sliced), Error> {
        let (id, l, small) = (self.party.id(), self.params.bits, self.small.clone());
        let low = self.low.clone();
        let (share, numbers) = self.deal_random(&low, n)?;
        let bits = to_bits(&numbers);
        let (mut at, mut upper) = (0, Vec::new());
        for (n, d) in shifts {
            let rows = bits.columns(at..at + n);
            upper.push(of_bits::<F>(&rows.pick(*d as usize..l)));
            at += n;
        }
        let upper = match at {
            0 => self.zeros(0),
            _ => {
                let dealing = Dealing::input(&self.params, id, UPPER);
                self.deal(&dealing, Buffer::concat(&upper))?
            }
        };
        let given = vec![Sliced::of_bits(small.gf, &bits)];
        let mut dealt = self.deal_bits(&small.own, BITS, (l, n), given)?;
        Ok(([share, upper], dealt.swap_remove(0)))
    }

    /// This party's shares of `n` numbers of a dealer, of what is left of the first ones, and of their bits.
    fn receive_number(
        &mut self,
        dealer: usize,
        n: usize,
        upper: usize,
    ) -> Result<([Buffer<F>; 2], Sliced), Error> {
        let (small, low) = (self.small.clone(), self.low.clone());
        let place = self.params.before(self.party.id(), dealer);
        let share = self.receive(dealer, place, deal::LOW, low.drawn(), n)?;
        let upper = match upper {
            0 => self.zeros(0),
            n => self.receive(dealer, place, UPPER, self.params.threshold, n)?,
        };
        let shape = (self.params.bits, n);
        let bits = self.receive_bits(dealer, BITS, small.own.drawn, shape)?;
        Ok(([share, upper], bits))
    }

    /// The sums of all dealers' numbers, and the carries of every sum of two numbers of truncations: there the
    /// numbers are added one by one, elsewhere three become two before.
    pub(super) fn add_numbers(
        &mut self,
        begun: &mut Begun<F>,
    ) -> Result<(Sliced, Vec<Sliced>), Error> {
        let (cut, all) = (begun.counts.truncations, begun.dealt.numbers.len());
        let numbers = std::mem::take(&mut begun.dealt.bits);
        let columns = |range: Range<usize>| -> Vec<Sliced> {
            numbers
                .iter()
                .map(|bits| bits.columns(range.clone()))
                .collect()
        };
        let rest = self.two_of(columns(cut..all), &mut begun.compress)?;
        if cut == 0 {
            let [x, y] = &rest;
            return Ok((self.add_two(x, y, &mut begun.sums)?.0, Vec::new()));
        }
        let mut single = columns(0..cut);
        let last = single.pop().expect("there are two dealers or more");
        let mut single = single.into_iter();
        let mut sum = single.next().expect("there are two dealers or more");
        let mut carries = Vec::new();
        for number in single {
            let (next, carried) = self.add_two(&sum, &number, &mut begun.partial)?;
            carries.push(carried);
            sum = next;
        }
        let [x, y] = rest;
        let (x, y) = (Sliced::beside(&[&sum, &x]), Sliced::beside(&[&last, &y]));
        let (sum, carried) = self.add_two(&x, &y, &mut begun.sums)?;
        carries.push(carried.columns(0..cut));
        Ok((sum, carries))
    }
}

/// The shifts of a range of elements.
fn cut(shifts: &[(usize, u32)], range: &Range<usize>) -> Vec<(usize, u32)> {
    let (mut at, mut within) = (0, Vec::new());
    for (n, d) in shifts {
        let (from, to) = (at.max(range.start), (at + n).min(range.end));
        if from < to {
            within.push((to - from, *d));
        }
        at += n;
    }
    within
}
