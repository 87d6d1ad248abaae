//! The sign of any ring element, exactly and without preprocessing (docs/spec/adder.md, section 1;
//! after ABY3's share conversion, Mohassel, Rindal, CCS 2018, section 5.3).
//!
//! `x` is the sum of `u`, the two components that a dealer knows, and `v`, the third one, which both
//! others know. The dealer shares the bits of `u`, those of `v` are shared as they are, and a binary
//! adder finds the carry into the top bit.
//!
//! Differs from ABY3: no bits are shared but those of `u`; the products of the first level are of what
//! two parties know with what is shared, and cost two bits instead of three.
//!
//! Semi-honest: the dealer could share another number than `u`.

use tacit_algebra::{BitRows, Bits, Buffer, Ring, planes};

use super::dealer::{Part, dealt, left, right};
use super::pipeline::pipelined;
use super::{Replicated, Rss};
use crate::message::Message;
use crate::{Error, pool};

const DEAL: Message<BitRows> = Message::new("rss sign: deal bits of two components");
const GENERATE: Message<BitRows> = Message::new("rss sign: generate carries");
const CARRY: Message<BitRows> = Message::new("rss sign: carry");

/// Blocks between two steps: a quarter of a million elements.
const AHEAD: usize = 15;

/// The sign of one block of elements on its way.
#[derive(Default)]
struct Sign {
    /// Bits of `u ^ v`; when those below it are used, the top one.
    half: Rss<BitRows>,
    /// Groups of bits: whether they generate a carry.
    g: Rss<BitRows>,
    /// Groups of bits but for the lowest: whether they pass a carry on.
    p: Rss<BitRows>,
    /// This party's components of products under way.
    made: BitRows,
}

impl Replicated {
    /// Bit `width - 1` of every element (docs/spec/adder.md, section 1): whether it is negative, for
    /// every `-2^(width-1) <= x < 2^(width-1)`; so for every element of the ring where `width` is
    /// its bits.
    ///
    /// `2 + ceil(log2(width - 1))` hops, and one more for every [`AHEAD`] blocks after the first ones. Per
    /// element the dealer sends `width` bits, the two others `width - 1` each to the dealer, every party 1
    /// bit for each AND of the tree, `2 k - 1` in a level of `k` pairs.
    pub(crate) fn negative<R: Ring>(
        &mut self,
        x: &Rss<Buffer<R>>,
        width: u32,
    ) -> Result<Rss<Bits>, Error> {
        assert!((1..=R::BITS).contains(&width));
        let all: Vec<_> = dealt(x.own.len()).collect();
        let last = 2 + pool::levels(width as usize - 1).count();
        let mut signs = Vec::with_capacity(all.len());
        pipelined([all.len(), last + 1, AHEAD], |i, step, block: &mut Sign| {
            let (dealer, range) = &all[i];
            match step {
                0 => *block = self.begin_deal(*dealer, &x.part(range.clone()), width)?,
                1 => {
                    self.finish_deal(*dealer, block)?;
                    self.begin_generate(*dealer, block)?;
                }
                2 => {
                    self.finish_generate(*dealer, block)?;
                    self.begin_level(block)?;
                }
                _ => {
                    self.finish_level(block)?;
                    self.begin_level(block)?;
                }
            }
            if step == last {
                signs.push(std::mem::take(block).top());
            }
            Ok(())
        })?;
        Ok(Rss {
            own: Bits::concat(&signs.iter().map(|sign| &sign.own).collect::<Vec<_>>()),
            next: Bits::concat(&signs.iter().map(|sign| &sign.next).collect::<Vec<_>>()),
        })
    }

    /// The dealer's bits of `u`: component `d` is drawn from its key, component `d + 1` the rest,
    /// sent to the right. Those of `v` at the two others.
    fn begin_deal<R: Ring>(
        &mut self,
        dealer: usize,
        x: &Rss<Buffer<R>>,
        width: u32,
    ) -> Result<Sign, Error> {
        let (rows, n) = (width as usize, x.own.len());
        let half = match self.part(dealer) {
            Part::Dealer => {
                let mut rest = x.own.add(&x.next).bit_rows(width);
                let drawn = self.keys.own.bit_rows(rows, n);
                planes::xor_assign(&mut rest, &drawn);
                DEAL.send(&mut self.party, right(dealer), &rest)?;
                Rss {
                    own: drawn,
                    next: rest,
                }
            }
            Part::Left => Rss {
                own: x.own.bit_rows(width),
                next: self.keys.next.bit_rows(rows, n),
            },
            Part::Right => Rss {
                own: BitRows::default(),
                next: x.next.bit_rows(width),
            },
        };
        Ok(Sign {
            half,
            ..Sign::default()
        })
    }

    fn finish_deal(&mut self, dealer: usize, block: &mut Sign) -> Result<(), Error> {
        if self.part(dealer) == Part::Right {
            let (rows, n) = (block.half.next.rows(), block.half.next.cols());
            block.half.own = DEAL.recv(&mut self.party, dealer, [rows, n])?;
        }
        Ok(())
    }

    /// `g_j = u_j v_j` below the top: the two who know `v_j` multiply their component of `u_j` and
    /// mask it by what they have in common, each for its component; the third is both masks.
    fn begin_generate(&mut self, dealer: usize, block: &mut Sign) -> Result<(), Error> {
        let below = 0..block.half.own.rows() - 1;
        if below.is_empty() {
            return Ok(());
        }
        block.p = block.half.map(|bits| bits.pick(1..below.end));
        let part = self.part(dealer);
        let key = match part {
            Part::Dealer => return Ok(()),
            Part::Left => &mut self.keys.own,
            Part::Right => &mut self.keys.next,
        };
        let n = block.half.own.cols();
        let [rho, sigma] = [0; 2].map(|_| key.bit_rows(below.len(), n));
        let [own, next] = [&block.half.own, &block.half.next].map(|bits| bits.pick(below.clone()));
        let mut made = planes::and(&own, &next);
        planes::xor_assign(&mut made, if part == Part::Left { &rho } else { &sigma });
        let mut masks = rho;
        planes::xor_assign(&mut masks, &sigma);
        GENERATE.send(&mut self.party, dealer, &made)?;
        block.g = match part {
            Part::Left => Rss {
                own: masks,
                next: made,
            },
            _ => Rss {
                own: made,
                next: masks,
            },
        };
        Ok(())
    }

    fn finish_generate(&mut self, dealer: usize, block: &mut Sign) -> Result<(), Error> {
        let (below, n) = (block.half.own.rows() - 1, block.half.own.cols());
        block.half = block.half.map(|bits| bits.pick(below..below + 1));
        if below > 0 && self.part(dealer) == Part::Dealer {
            block.g = Rss {
                own: GENERATE.recv(&mut self.party, left(dealer), [below, n])?,
                next: GENERATE.recv(&mut self.party, right(dealer), [below, n])?,
            };
        }
        Ok(())
    }

    /// Sends this party's components of a level's products, if a level is left.
    fn begin_level(&mut self, block: &mut Sign) -> Result<(), Error> {
        if block.g.own.rows() < 2 {
            return Ok(());
        }
        let (g, p) = (&block.g, &block.p);
        let (rows, n) = (2 * (g.own.rows() / 2) - 1, g.own.cols());
        let mut made = self.keys.next.bit_rows(rows, n);
        planes::xor_assign(&mut made, &self.keys.own.bit_rows(rows, n));
        planes::level_product_assign(&mut made, [&g.own, &g.next], [&p.own, &p.next]);
        let to = self.prev_party();
        CARRY.send(&mut self.party, to, &made)?;
        block.made = made;
        Ok(())
    }

    fn finish_level(&mut self, block: &mut Sign) -> Result<(), Error> {
        let (rows, n) = (block.made.rows(), block.made.cols());
        let from = self.next_party();
        let theirs = CARRY.recv(&mut self.party, from, [rows, n])?;
        let [g_own, p_own] = planes::join(&block.g.own, &block.p.own, &block.made);
        let [g_next, p_next] = planes::join(&block.g.next, &block.p.next, &theirs);
        block.g = Rss {
            own: g_own,
            next: g_next,
        };
        block.p = Rss {
            own: p_own,
            next: p_next,
        };
        Ok(())
    }
}

impl Sign {
    /// The top bit: that of `u ^ v` and the carry into it.
    fn top(self) -> Rss<Bits> {
        self.half.zip(&self.g, |half, g| {
            let mut top = half.row_bits(0);
            if g.rows() > 0 {
                top.xor_assign(&g.row_bits(0));
            }
            top
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::dealer::MOST;
    use super::super::{Booleans, PARTIES};
    use super::*;
    use crate::Cost;
    use crate::count::count;
    use std::time::Duration;
    use tacit_net::{LinkModel, memory};

    /// Runs a program at three parties that share `x`, each a summand, and returns its results.
    fn shared<T: Send>(
        x: &[i64],
        program: impl Fn(&mut Replicated, Rss<Buffer<u8>>) -> Result<T, Error> + Sync,
    ) -> Vec<T> {
        let mesh = memory::mesh(PARTIES, &LinkModel::LOCAL, Duration::from_secs(60));
        let run = |party| {
            let (mut rss, _) = Replicated::new(party, "test").expect("keys are agreed");
            let mut sum = rss.public(&Buffer::zeros(x.len()));
            for owner in 0..PARTIES {
                let zeros = vec![0; x.len()];
                let own = if owner == 0 { x } else { &zeros[..] };
                let own = (rss.party.id() == owner).then_some(own);
                let summand = rss.input_words(owner, x.len(), own).expect("an input");
                sum = sum.zip(&summand, |a, b| a.add(b));
            }
            program(&mut rss, sum).expect("the program runs")
        };
        tacit_net::testing::run(mesh, run)
    }

    /// Every width of a ring, every value that it holds, and sharings of each.
    #[test]
    fn signs_of_every_width_are_exact_within_it() {
        for width in 1..=8 {
            let half = 1i64 << (width - 1);
            for repeat in [1, 300] {
                let x: Vec<i64> = (-half..half).flat_map(|x| vec![x; repeat]).collect();
                let opened = shared(&x, |rss, share| {
                    let negative = rss.negative(&share, width)?;
                    rss.open::<Booleans>(Message::new("test: open"), &negative)
                });
                let right = |i: usize| opened[0].get(i) == (x[i] < 0);
                assert!((0..x.len()).all(right), "{width} bits, {repeat} times");
            }
        }
    }

    /// Beyond its width a value has the sign of its low bits.
    #[test]
    fn beyond_the_width_only_the_low_bits_count() {
        let x: Vec<i64> = (-128..128).collect();
        let opened = shared(&x, |rss, share| {
            let negative = rss.negative(&share, 4)?;
            rss.open::<Booleans>(Message::new("test: open"), &negative)
        });
        assert!((0..x.len()).all(|i| opened[0].get(i) == (x[i] & 8 != 0)));
    }

    /// Figures of the specification's table, by party on average.
    #[test]
    fn costs_are_the_stated_ones() {
        let n = 3 * MOST;
        let mean = |cost: &Cost| cost.bytes.iter().sum::<u64>() as f64 / (3 * n) as f64;
        let taken = |step: &dyn Fn(&mut Replicated) -> Result<(), Error>| {
            count(PARTIES, |party| {
                let mut rss = Replicated::counting(party);
                step(&mut rss)?;
                Ok(rss.party.take_trace())
            })
        };
        let (wide, narrow) = (
            Rss::<Buffer<u64>>::counted(n),
            Rss::<Buffer<u32>>::counted(n),
        );
        let bit = Rss::from([(); 2].map(|()| Bits::counted(n)));
        let sign = |width| taken(&|rss| rss.negative(&wide, width).map(drop));
        let times = |word| match word {
            4 => taken(&|rss| rss.times(&bit, &narrow).map(drop)),
            _ => taken(&|rss| rss.times(&bit, &wide).map(drop)),
        };
        for (width, word, bytes, relu, hops) in [
            (64, 8, 22.7, 33.3, 10),
            (32, 8, 10.8, 21.5, 9),
            (25, 8, 8.2, 18.8, 9),
            (17, 8, 5.3, 16.0, 8),
            (32, 4, 10.8, 16.1, 9),
        ] {
            let cost = sign(width);
            assert!(
                (mean(&cost) - bytes).abs() < 0.05,
                "{width}: {}",
                mean(&cost)
            );
            let whole = cost + &times(word);
            assert!(
                (mean(&whole) - relu).abs() < 0.05,
                "{width}: {}",
                mean(&whole)
            );
            assert_eq!(whole.rounds, hops);
            assert!(whole.bytes.iter().all(|bytes| *bytes == whole.bytes[0]));
        }
    }
}
