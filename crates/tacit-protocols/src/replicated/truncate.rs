//! Truncation without preprocessing (docs/spec/adder.md, section 6): the wrap of two summands, one known
//! to a dealer and one to both others, by their top bits. Semi-honest.
//!
//! Differs from CrypTFlow2 and Cheetah, which have the wrap with a known top bit between two parties: it is
//! moved to what one of three parties knows, without transfers and without masks from beforehand.

use tacit_algebra::{Buffer, Prg, Ring};

use super::dealer::{Part, dealt, left, right};
use super::pipeline::pipelined;
use super::{Replicated, Rss, Words};
use crate::Error;
use crate::message::{Message, Tops};

const SHIFT: Message<Words> = Message::new("rss truncate: seed of shifts");
const DEAL: Message<Words> = Message::new("rss truncate: deal quotient");
const DEAL_CARRY: Message<Tops> = Message::new("rss truncate: deal top bit");
const RETURN: Message<Tops> = Message::new("rss truncate: return wrap");

/// Bytes of a seed.
const SEED: usize = 16;
/// Blocks between two steps: a million elements.
const AHEAD: usize = 63;

/// The truncation of one block of elements on its way.
#[derive(Default)]
struct Block<R: Ring> {
    x: Rss<Buffer<R>>,
    /// A summand of the dealer's quotient, at the left and the right.
    quotient: Buffer<R>,
    /// A summand of the quotient's top bit, at the left and the right, in the places above the quotient.
    carry: Buffer<R>,
    /// The component of `x` that the dealer lacks, shifted by numbers of the seed it gave, at the left and the right.
    v: Buffer<R>,
    /// The components of the result, at the dealer without what it is returned.
    made: Rss<Buffer<R>>,
    /// The result.
    result: Option<Rss<Buffer<R>>>,
}

impl<R: Ring> Block<R> {
    /// Adds the block's result to that of all `n` elements, once it is there.
    fn ended(&mut self, n: usize, all: &mut Rss<Buffer<R>>) {
        if let Some(Rss { own, next }) = self.result.take() {
            all.own.grow(own, n);
            all.next.grow(next, n);
        }
    }
}

impl Replicated {
    /// `x >> trunc` for `-2^(l-2) <= x < 2^(l-2)` and `0 < trunc <= l - 2` (docs/spec/adder.md, section 6):
    /// the floor or one more, the true quotient on average.
    /// 2 hops, and one more for every [`AHEAD`] blocks after the first ones. Per element the dealer sends
    /// `l + trunc` bits and the two others `trunc` each; the dealer sends a seed for each block.
    ///
    /// How it rounds is where the low bits of `u` and `v` lie, and a component may be no random number (of
    /// an input one is 0). So a number that all three draw from a seed moves from `u` to `v`.
    pub(crate) fn truncate<R: Ring>(
        &mut self,
        x: &Rss<Buffer<R>>,
        trunc: u32,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let n = x.own.len();
        let all: Vec<_> = dealt(n).collect();
        let mut y = Rss::default();
        pipelined([all.len(), 3, AHEAD], |i, step, block: &mut Block<R>| {
            if step == 0 {
                block.x = x.part(all[i].1.clone());
            }
            self.truncate_block(all[i].0, step, block, trunc)?;
            block.ended(n, &mut y);
            Ok(())
        })?;
        Ok(y)
    }

    /// `x >> trunc` of which every party has a summand, masked: reshared in messages of the kind `reshare`,
    /// then as [`Replicated::truncate`]; so the whole of `x` is never in memory. 1 hop and 1 element more.
    pub(crate) fn truncate_sum<R: Ring>(
        &mut self,
        reshare: Message<Words>,
        own: &Buffer<R>,
        trunc: u32,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let n = own.len();
        let all: Vec<_> = dealt(n).collect();
        let (prev, next) = (self.prev_party(), self.next_party());
        let mut y = Rss::default();
        pipelined([all.len(), 4, AHEAD], |i, step, block: &mut Block<R>| {
            let (dealer, range) = &all[i];
            let part = || own.part(range.clone());
            match step {
                0 => return self.send::<Words<R>>(prev, reshare, &part()),
                1 => {
                    block.x = Rss {
                        own: part(),
                        next: self.recv::<Words<R>>(next, reshare, range.len())?,
                    }
                }
                _ => {}
            }
            self.truncate_block(*dealer, step - 1, block, trunc)?;
            block.ended(n, &mut y);
            Ok(())
        })?;
        Ok(y)
    }

    /// A step of a block that has its `x`.
    fn truncate_block<R: Ring>(
        &mut self,
        dealer: usize,
        step: usize,
        block: &mut Block<R>,
        trunc: u32,
    ) -> Result<(), Error> {
        match step {
            0 => self.begin_block(dealer, block, trunc),
            1 => self.turn_block(dealer, block, trunc),
            _ => self.end_block(dealer, block, trunc),
        }
    }

    /// What needs no message.
    fn begin_block<R: Ring>(
        &mut self,
        dealer: usize,
        block: &mut Block<R>,
        trunc: u32,
    ) -> Result<(), Error> {
        match self.part(dealer) {
            Part::Dealer => self.deal_quotient(dealer, block, trunc),
            Part::Left => {
                self.draw_quotient(block);
                Ok(())
            }
            Part::Right => Ok(()),
        }
    }

    /// What needs the dealer's message.
    fn turn_block<R: Ring>(
        &mut self,
        dealer: usize,
        block: &mut Block<R>,
        trunc: u32,
    ) -> Result<(), Error> {
        let part = self.part(dealer);
        if part == Part::Right {
            self.hear_quotient(dealer, block, trunc)?;
        }
        match part {
            Part::Dealer => Ok(()),
            _ => self.return_wrap(dealer, part, block, trunc),
        }
    }

    /// What needs the others' messages to the dealer.
    fn end_block<R: Ring>(
        &mut self,
        dealer: usize,
        block: &mut Block<R>,
        trunc: u32,
    ) -> Result<(), Error> {
        let made = match self.part(dealer) {
            Part::Dealer => self.finish_quotient(dealer, std::mem::take(block), trunc)?,
            _ => std::mem::take(&mut block.made),
        };
        block.result = Some(made);
        Ok(())
    }

    /// The dealer shares `(u >> trunc) - 2^(l-trunc) mu` and, modulo `2^trunc`, `mu`: the first summands
    /// are drawn with the left, the second ones sent to the right.
    fn deal_quotient<R: Ring>(
        &mut self,
        dealer: usize,
        block: &mut Block<R>,
        trunc: u32,
    ) -> Result<(), Error> {
        let x = std::mem::take(&mut block.x);
        let (n, to) = (x.own.len(), right(dealer));
        let seed = self.keys.own.words::<u8>(SEED);
        let [quotient, carry] = [0; 2].map(|_| self.keys.own.words(n));
        let own = x.own.sub(&Prg::of_seed(&seed).words(n));
        let second = own.quotient_known(&x.next, &quotient, trunc);
        let rest = own.quotient_carry(&x.next, &carry, trunc);
        self.send::<Words<u8>>(to, SHIFT, &seed)?;
        self.send::<Words<R>>(to, DEAL, &second)?;
        self.send_tops(to, DEAL_CARRY, &rest, trunc)?;
        block.made = Rss {
            own: quotient,
            next: second,
        };
        Ok(())
    }

    /// The left draws what the dealer draws.
    fn draw_quotient<R: Ring>(&mut self, block: &mut Block<R>) {
        let x = std::mem::take(&mut block.x);
        let n = x.own.len();
        let seed = self.keys.next.words::<u8>(SEED);
        [block.quotient, block.carry] = [0; 2].map(|_| self.keys.next.words(n));
        block.v = x.own.add(&Prg::of_seed(&seed).words(n));
    }

    /// The right hears the rest from the dealer.
    fn hear_quotient<R: Ring>(
        &mut self,
        dealer: usize,
        block: &mut Block<R>,
        trunc: u32,
    ) -> Result<(), Error> {
        let x = std::mem::take(&mut block.x);
        let n = x.own.len();
        let seed = self.recv::<Words<u8>>(dealer, SHIFT, SEED)?;
        block.quotient = self.recv::<Words<R>>(dealer, DEAL, n)?;
        block.carry = self.recv_tops(dealer, DEAL_CARRY, (n, trunc))?;
        block.v = x.next.add(&Prg::of_seed(&seed).words(n));
        Ok(())
    }

    /// The left and the right multiply their summand of `mu` by `mv`, mask it by what they have in common
    /// and return it to the dealer; the third component is the rest and both masks.
    fn return_wrap<R: Ring>(
        &mut self,
        dealer: usize,
        part: Part,
        block: &mut Block<R>,
        trunc: u32,
    ) -> Result<(), Error> {
        let key = match part {
            Part::Left => &mut self.keys.own,
            _ => &mut self.keys.next,
        };
        let (v, carry) = (
            std::mem::take(&mut block.v),
            std::mem::take(&mut block.carry),
        );
        let [rho, sigma] = [0; 2].map(|_| key.words(v.len()));
        let mask = if part == Part::Left { &rho } else { &sigma };
        let wrap = v.quotient_choose(&carry, mask, trunc);
        self.send_tops(dealer, RETURN, &wrap, trunc)?;
        let rest = v.quotient_rest([&rho, &sigma], trunc);
        let mut dealt = std::mem::take(&mut block.quotient);
        dealt.add_assign(&wrap);
        let [own, next] = match part {
            Part::Left => [rest, dealt],
            _ => [dealt, rest],
        };
        block.made = Rss { own, next };
        Ok(())
    }

    /// The dealer adds what it is returned to its summands.
    fn finish_quotient<R: Ring>(
        &mut self,
        dealer: usize,
        block: Block<R>,
        trunc: u32,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let Rss { mut own, mut next } = block.made;
        let size = (own.len(), trunc);
        own.add_assign(&self.recv_tops(left(dealer), RETURN, size)?);
        next.add_assign(&self.recv_tops(right(dealer), RETURN, size)?);
        Ok(Rss { own, next })
    }

    /// Queues the top bits of words to a peer.
    fn send_tops<R: Ring>(
        &mut self,
        to: usize,
        message: Message<Tops>,
        words: &Buffer<R>,
        bits: u32,
    ) -> Result<(), Error> {
        let words = words.clone();
        let tops = Tops { words, bits };
        message.of::<Tops<R>>().send(&mut self.party, to, &tops)
    }

    /// Waits for the top bits, so many of each, of so many words.
    fn recv_tops<R: Ring>(
        &mut self,
        from: usize,
        message: Message<Tops>,
        len: (usize, u32),
    ) -> Result<Buffer<R>, Error> {
        let tops = message.of::<Tops<R>>();
        Ok(tops.recv(&mut self.party, from, len)?.words)
    }
}

#[cfg(test)]
mod tests {
    use super::super::PARTIES;
    use super::super::dealer::MOST;
    use super::*;
    use crate::count::count;

    /// Long vectors take more hops: as many blocks as are in step, and one more of each dealer.
    #[test]
    fn long_ones_take_more_hops() {
        for (blocks, hops) in [(AHEAD, 2), (AHEAD + 3, 3)] {
            let cost = count(PARTIES, |party| {
                let mut rss = Replicated::counting(party);
                rss.truncate(&Rss::<Buffer<u64>>::counted(blocks * MOST), 13)?;
                Ok(rss.party.take_trace())
            });
            assert_eq!(cost.rounds, hops, "{blocks} blocks");
        }
    }

    /// Figures of the specification, by party on average.
    #[test]
    fn costs_are_the_stated_ones() {
        let n = 3 * MOST;
        for trunc in [1, 13, 30] {
            let cost = count(PARTIES, |party| {
                let mut rss = Replicated::counting(party);
                rss.truncate(&Rss::<Buffer<u64>>::counted(n), trunc)?;
                Ok(rss.party.take_trace())
            });
            let bits = 64 + 3 * u64::from(trunc);
            assert_eq!(cost.rounds, 2);
            let seeds = SEED as u64;
            assert!(
                cost.bytes
                    .iter()
                    .all(|sent| *sent == bits * MOST as u64 / 8 + seeds),
                "{cost:?}"
            );
        }
    }
}
