//! Truncation without preprocessing (docs/spec/adder.md, section 6): the wrap of two summands, one known
//! to a dealer and one to both others, by their top bits. Semi-honest.
//!
//! Differs from CrypTFlow2 and Cheetah, which have the wrap with a known top bit between two parties: it is
//! moved to what one of three parties knows, without transfers and without masks from beforehand.

use std::collections::VecDeque;

use tacit_algebra::{Buffer, Prg, Ring};

use super::dealer::{Part, dealt, left, right};
use super::{Replicated, Rss, Words};
use crate::Error;
use crate::message::{Message, Tops};

const SHIFT: Message<Words> = Message::new("rss truncate: seed of shifts");
const DEAL: Message<Words> = Message::new("rss truncate: deal quotient");
const DEAL_CARRY: Message<Tops> = Message::new("rss truncate: deal top bit");
const RETURN: Message<Tops> = Message::new("rss truncate: return wrap");

/// Bytes of a seed.
const SEED: usize = 16;
/// Blocks that are on their way at once: of more the first are ended before the last are begun, which
/// bounds the memory, and no party waits for what was not sent long before.
const AHEAD: usize = 16;

/// The truncation of one block of elements on its way.
#[derive(Default)]
struct Block<R: Ring> {
    /// A summand of the dealer's quotient.
    quotient: Buffer<R>,
    /// A summand of its top bit, in the places above the quotient.
    carry: Buffer<R>,
    /// At the dealer its second component.
    second: Buffer<R>,
    /// At the two others `v`, shifted.
    v: Buffer<R>,
    /// At the two others their components of the result.
    made: Rss<Buffer<R>>,
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
        let (mut blocks, mut ended) = (VecDeque::new(), 0);
        let mut y = Rss::<Buffer<R>>::default();
        for i in 0..all.len() + 2 * AHEAD {
            if let Some((dealer, range)) = all.get(i) {
                blocks.push_back(self.begin_block(*dealer, &x.part(range.clone()), trunc)?);
            }
            let turned = i.checked_sub(AHEAD).filter(|j| *j < all.len());
            if let Some(j) = turned {
                let (dealer, range) = &all[j];
                let x = x.part(range.clone());
                self.turn_block(*dealer, &x, &mut blocks[j - ended], trunc)?;
            }
            if let Some((dealer, _)) = i.checked_sub(2 * AHEAD).and_then(|j| all.get(j)) {
                let block = blocks.pop_front().unwrap_or_default();
                ended += 1;
                let part = self.end_block(*dealer, block, trunc)?;
                y.own.grow(part.own, n);
                y.next.grow(part.next, n);
            }
        }
        Ok(y)
    }

    /// What needs no message.
    fn begin_block<R: Ring>(
        &mut self,
        dealer: usize,
        x: &Rss<Buffer<R>>,
        trunc: u32,
    ) -> Result<Block<R>, Error> {
        match self.part(dealer) {
            Part::Dealer => self.deal_quotient(dealer, x, trunc),
            Part::Left => Ok(self.draw_quotient(x)),
            Part::Right => Ok(Block::default()),
        }
    }

    /// What needs the dealer's message.
    fn turn_block<R: Ring>(
        &mut self,
        dealer: usize,
        x: &Rss<Buffer<R>>,
        block: &mut Block<R>,
        trunc: u32,
    ) -> Result<(), Error> {
        let part = self.part(dealer);
        if part == Part::Right {
            *block = self.hear_quotient(dealer, x, trunc)?;
        }
        if part != Part::Dealer {
            block.made = self.return_wrap(dealer, part, block, trunc)?;
            block.v = Buffer::default();
        }
        Ok(())
    }

    /// What needs the others' messages to the dealer.
    fn end_block<R: Ring>(
        &mut self,
        dealer: usize,
        block: Block<R>,
        trunc: u32,
    ) -> Result<Rss<Buffer<R>>, Error> {
        match self.part(dealer) {
            Part::Dealer => self.finish_quotient(dealer, block, trunc),
            _ => Ok(block.made),
        }
    }

    /// The dealer shares `(u >> trunc) - 2^(l-trunc) mu` and, modulo `2^trunc`, `mu`: the first summands
    /// are drawn with the left, the second ones sent to the right.
    fn deal_quotient<R: Ring>(
        &mut self,
        dealer: usize,
        x: &Rss<Buffer<R>>,
        trunc: u32,
    ) -> Result<Block<R>, Error> {
        let (n, to) = (x.own.len(), right(dealer));
        let seed = self.keys.own.words::<u8>(SEED);
        let [quotient, carry] = [0; 2].map(|_| self.keys.own.words(n));
        let own = x.own.sub(&Prg::of_seed(&seed).words(n));
        let second = own.quotient_known(&x.next, &quotient, trunc);
        let rest = own.quotient_carry(&x.next, &carry, trunc);
        self.send::<Words<u8>>(to, SHIFT, &seed)?;
        self.send::<Words<R>>(to, DEAL, &second)?;
        self.send_tops(to, DEAL_CARRY, &rest, trunc)?;
        Ok(Block {
            quotient,
            carry,
            second,
            ..Block::default()
        })
    }

    /// The left draws what the dealer draws.
    fn draw_quotient<R: Ring>(&mut self, x: &Rss<Buffer<R>>) -> Block<R> {
        let n = x.own.len();
        let seed = self.keys.next.words::<u8>(SEED);
        let [quotient, carry] = [0; 2].map(|_| self.keys.next.words(n));
        Block {
            quotient,
            carry,
            v: x.own.add(&Prg::of_seed(&seed).words(n)),
            ..Block::default()
        }
    }

    /// The right hears the rest from the dealer.
    fn hear_quotient<R: Ring>(
        &mut self,
        dealer: usize,
        x: &Rss<Buffer<R>>,
        trunc: u32,
    ) -> Result<Block<R>, Error> {
        let n = x.own.len();
        let seed = self.recv::<Words<u8>>(dealer, SHIFT, SEED)?;
        Ok(Block {
            quotient: self.recv::<Words<R>>(dealer, DEAL, n)?,
            carry: self.recv_tops(dealer, DEAL_CARRY, (n, trunc))?,
            v: x.next.add(&Prg::of_seed(&seed).words(n)),
            ..Block::default()
        })
    }

    /// The left and the right multiply their summand of `mu` by `mv`, mask it by what they have in common
    /// and return it to the dealer; the third component is the rest and both masks.
    fn return_wrap<R: Ring>(
        &mut self,
        dealer: usize,
        part: Part,
        block: &mut Block<R>,
        trunc: u32,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let key = match part {
            Part::Left => &mut self.keys.own,
            _ => &mut self.keys.next,
        };
        let v = &block.v;
        let [rho, sigma] = [0; 2].map(|_| key.words(v.len()));
        let mask = if part == Part::Left { &rho } else { &sigma };
        let wrap = v.quotient_choose(&block.carry, mask, trunc);
        self.send_tops(dealer, RETURN, &wrap, trunc)?;
        let rest = v.quotient_rest([&rho, &sigma], trunc);
        let mut dealt = std::mem::take(&mut block.quotient);
        dealt.add_assign(&wrap);
        Ok(match part {
            Part::Left => Rss {
                own: rest,
                next: dealt,
            },
            _ => Rss {
                own: dealt,
                next: rest,
            },
        })
    }

    /// The dealer adds what it is returned to its summands.
    fn finish_quotient<R: Ring>(
        &mut self,
        dealer: usize,
        block: Block<R>,
        trunc: u32,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let (mut own, mut next) = (block.quotient, block.second);
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
    use super::*;
    use crate::count::count;

    /// One block more than are on their way at once, and one less.
    #[test]
    fn long_ones_take_more_hops() {
        for (blocks, hops) in [(17, 2), (18, 3)] {
            let cost = count(PARTIES, |party| {
                let mut rss = Replicated::counting(party);
                rss.truncate(&Rss::<Buffer<u64>>::counted(blocks << 16), 13)?;
                Ok(rss.party.take_trace())
            });
            assert_eq!(cost.rounds, hops, "{blocks} blocks");
        }
    }

    /// Figures of the specification, by party on average.
    #[test]
    fn costs_are_the_stated_ones() {
        let n = 3 << 16;
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
                cost.bytes.iter().all(|sent| *sent == (bits << 13) + seeds),
                "{cost:?}"
            );
        }
    }
}
