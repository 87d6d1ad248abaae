//! A shared bit as a ring element, and times one (docs/spec/adder.md, section 2): products of what the
//! dealer of a block knows with what the two others know, without preprocessing. Semi-honest.
//!
//! With `t = b_d ^ b_{d+1}` at the dealer and `b_z` at the others, `b = b_z + (1 - 2 b_z) t`. The dealer
//! shares `t` between the two others, who multiply by themselves and hand the dealer its components.

use std::ops::Range;

use tacit_algebra::{Bits, Buffer, Ring};

use super::dealer::{Part, dealt, left, right};
use super::pipeline::pipelined;
use super::{Replicated, Rss, Words};
use crate::Error;
use crate::message::Message;

const SPLIT: Message<Words> = Message::new("rss bit: split");
const RETURN: Message<Words> = Message::new("rss bit: return product");

/// Blocks between two steps: half a million elements.
const AHEAD: usize = 33;

/// The product of one block of elements on its way.
#[derive(Default)]
struct Block<R> {
    /// What the left party draws with the dealer; empty at the others.
    summands: Vec<Buffer<R>>,
    /// The two other parties' components of the result.
    made: Rss<Buffer<R>>,
}

/// What the dealer shares, of a range of the elements: vectors of as many.
type Deals<'a, R> = &'a dyn Fn(Range<usize>) -> Vec<Buffer<R>>;
/// What makes a summand of the product from summands of what is dealt, at the left or the right.
type Multiplies<'a, R> = &'a dyn Fn(Part, Range<usize>, &[Buffer<R>]) -> Buffer<R>;

impl Replicated {
    /// The bits as 0 and 1 of the ring (docs/spec/adder.md, section 2).
    /// 2 hops; per element the dealer and the two others send 1 element each.
    pub(crate) fn inject<R: Ring>(&mut self, bit: &Rss<Bits>) -> Result<Rss<Buffer<R>>, Error> {
        let deals = |range: Range<usize>| vec![known(bit, range).words_of()];
        let multiplies = |part, range: Range<usize>, t: &[Buffer<R>]| {
            let b_z = third(bit, part, range);
            t[0].flip(&b_z, part == Part::Left)
        };
        self.dealt_product(bit.own.len(), 1, &deals, &multiplies)
    }

    /// `b y`, element by element (docs/spec/adder.md, section 2): with `u = y_d + y_{d+1}` at the
    /// dealer, who shares `t` and `t u`, `b y = b_z (u + y_z) + (1 - 2 b_z) (t u + t y_z)`.
    /// 2 hops; per element the dealer sends 2 elements and the two others 1 each.
    pub(crate) fn times<R: Ring>(
        &mut self,
        bit: &Rss<Bits>,
        y: &Rss<Buffer<R>>,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let deals = |range: Range<usize>| {
            let t = known(bit, range.clone()).words_of();
            let Rss { own, next } = y.part(range);
            let tu = own.add(&next).mul(&t);
            vec![t, tu]
        };
        let multiplies = |part, range: Range<usize>, summands: &[Buffer<R>]| {
            let Rss { own, next } = y.part(range.clone());
            let (y_z, rest) = match part {
                Part::Left => (&own, own.add(&next)),
                _ => (&next, own.clone()),
            };
            let mut product = summands[0].mul(y_z);
            product.add_assign(&summands[1]);
            product.unflip(&rest, &third(bit, part, range))
        };
        self.dealt_product(y.own.len(), 2, &deals, &multiplies)
    }

    /// The product of what the dealers share, `terms` vectors, with what the two others know.
    ///
    /// The dealer's first summands are drawn with the left, the second ones sent to the right. Left and
    /// right mask their summand of the product by what they have in common: these are the dealer's
    /// components, and the third is both masks. One hop more for every [`AHEAD`] blocks after the first ones.
    fn dealt_product<R: Ring>(
        &mut self,
        n: usize,
        terms: usize,
        deals: Deals<R>,
        multiplies: Multiplies<R>,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let all: Vec<_> = dealt(n).collect();
        let mut product = Rss::<Buffer<R>>::default();
        pipelined([all.len(), 3, AHEAD], |i, step, block: &mut Block<R>| {
            let (dealer, range) = (all[i].0, all[i].1.clone());
            let (part, len) = (self.part(dealer), range.len());
            match (step, part) {
                (0, Part::Dealer) => {
                    for mut rest in deals(range) {
                        rest.sub_assign(&self.keys.own.words(len));
                        self.send::<Words<R>>(right(dealer), SPLIT, &rest)?;
                    }
                }
                (0, Part::Left) => {
                    block.summands = (0..terms).map(|_| self.keys.next.words(len)).collect();
                }
                (0, Part::Right) | (1, Part::Dealer) => {}
                (1, part) => {
                    let mut summands = std::mem::take(&mut block.summands);
                    if part == Part::Right {
                        for _ in 0..terms {
                            summands.push(self.recv::<Words<R>>(dealer, SPLIT, len)?);
                        }
                    }
                    let made = multiplies(part, range, &summands);
                    block.made = self.return_product(dealer, part, made)?;
                }
                _ => {
                    let made = match part {
                        Part::Dealer => Rss {
                            own: self.recv::<Words<R>>(left(dealer), RETURN, len)?,
                            next: self.recv::<Words<R>>(right(dealer), RETURN, len)?,
                        },
                        _ => std::mem::take(&mut block.made),
                    };
                    product.own.grow(made.own, n);
                    product.next.grow(made.next, n);
                }
            }
            Ok(())
        })?;
        Ok(product)
    }

    /// Masks a summand of the product and sends it to the dealer, whose component it is.
    fn return_product<R: Ring>(
        &mut self,
        dealer: usize,
        part: Part,
        mut product: Buffer<R>,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let key = match part {
            Part::Left => &mut self.keys.own,
            _ => &mut self.keys.next,
        };
        let [rho, sigma] = [0; 2].map(|_| key.words(product.len()));
        product.sub_assign(if part == Part::Left { &rho } else { &sigma });
        self.send::<Words<R>>(dealer, RETURN, &product)?;
        let masks = rho.add(&sigma);
        Ok(match part {
            Part::Left => Rss {
                own: masks,
                next: product,
            },
            _ => Rss {
                own: product,
                next: masks,
            },
        })
    }
}

/// `t = b_d ^ b_{d+1}` at the dealer.
fn known(bit: &Rss<Bits>, range: Range<usize>) -> Bits {
    let [own, next] = [&bit.own, &bit.next].map(|bits| bits.slice(range.start, range.len()));
    own.xor(&next)
}

/// `b_z` at the two others.
fn third(bit: &Rss<Bits>, part: Part, range: Range<usize>) -> Bits {
    let component = match part {
        Part::Left => &bit.own,
        _ => &bit.next,
    };
    component.slice(range.start, range.len())
}
