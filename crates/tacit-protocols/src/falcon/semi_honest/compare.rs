//! The product tree of private compare (Falcon, Algorithm 1, steps 6 and 7; docs/spec/falcon.md,
//! section 3, step 4), its root opened in the hop of the last product.

use std::ops::Range;

use tacit_algebra::{Bits, Buffer, Ring};

use super::super::Falcon;
use super::super::domain::Residues;
use super::super::material::CompareBatch;
use crate::message::Message;
use crate::replicated::{Domain, Rss, blocks};
use crate::{Error, tree};

const TREE: Message<Residues> = Message::new("falcon compare: product");
const ROOT: Message<Residues> = Message::new("falcon compare: open product");

impl<R: Ring> Falcon<R> {
    /// See [`Falcon::private_compare`] (Falcon, Algorithm 1, section 3.3). Every product is sent as
    /// it is made, the last ones to both others at once.
    /// `ceil(log2(rows + 1))` hops; see [`tree::levels`] for the bytes.
    pub(in crate::falcon) fn compare_unchecked<S: Ring>(
        &mut self,
        batch: &CompareBatch,
        range: Range<usize>,
        rows: usize,
        r: &Buffer<S>,
    ) -> Result<Bits, Error> {
        let blocks: Vec<Range<usize>> = blocks(r.len(), rows + 1).collect();
        let mut levels: Vec<Option<Rss<Buffer<u8>>>> = vec![None; blocks.len()];
        let leaves = |this: &Self, block: &Range<usize>| {
            let columns = range.start + block.start..range.start + block.end;
            this.leaves(batch, columns, rows, &r.part(block.clone()))
        };
        let mut left = rows + 1;
        for pairs in tree::levels(rows + 1) {
            for (level, block) in levels.iter_mut().zip(&blocks) {
                let factors = level.take().unwrap_or_else(|| leaves(self, block));
                let half = pairs * block.len();
                let mut own = self.product_of_halves::<S>(&factors, half);
                self.rss
                    .send::<Residues<S>>(self.rss.prev_party(), TREE, &own)?;
                // An odd row stays as it is; the products' next component is still to come.
                let odd = factors.part(2 * half..factors.own.len());
                own.append(&odd.own);
                let next = odd.next.detached();
                *level = Some(Rss { own, next });
            }
            for (level, block) in levels.iter_mut().flatten().zip(&blocks) {
                let half = pairs * block.len();
                let mut next = self
                    .rss
                    .recv::<Residues<S>>(self.rss.next_party(), TREE, half)?;
                next.append(&level.next);
                level.next = next;
            }
            left -= pairs;
        }
        debug_assert_eq!(left, 2, "the last product is opened");
        self.open_products::<S>(&blocks, levels, leaves)
    }

    /// This party's summand of the first `half` residues times the second.
    fn product_of_halves<S: Ring>(&mut self, factors: &Rss<Buffer<u8>>, half: usize) -> Buffer<u8> {
        let mut z = self.rss.zero::<Residues<S>>(half);
        let (x, y) = (factors.part(0..half), factors.part(half..2 * half));
        Residues::<S>::product_assign(&mut z, &x, &y);
        z
    }

    /// The last products, opened at once: whether each is non-zero.
    fn open_products<S: Ring>(
        &mut self,
        blocks: &[Range<usize>],
        levels: Vec<Option<Rss<Buffer<u8>>>>,
        leaves: impl Fn(&Self, &Range<usize>) -> Rss<Buffer<u8>>,
    ) -> Result<Bits, Error> {
        let mut sums = Vec::new();
        for (level, block) in levels.into_iter().zip(blocks) {
            let factors = level.unwrap_or_else(|| leaves(self, block));
            let z = self.product_of_halves::<S>(&factors, block.len());
            self.rss
                .send::<Residues<S>>(self.rss.prev_party(), ROOT, &z)?;
            self.rss
                .send::<Residues<S>>(self.rss.next_party(), ROOT, &z)?;
            sums.push(z);
        }
        let mut nonzero = Vec::new();
        for mut sum in sums {
            for peer in [self.rss.prev_party(), self.rss.next_party()] {
                let summand = self.rss.recv::<Residues<S>>(peer, ROOT, sum.len())?;
                sum.residues_add(S::PRIME, &summand);
            }
            nonzero.push(sum.is_nonzero());
        }
        Ok(Bits::concat(&nonzero.iter().collect::<Vec<_>>()))
    }
}
