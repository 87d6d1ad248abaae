//! The product tree of private compare with every product verified before its root is opened:
//! a wrong factor would make the root zero, or not, by what the secret is.

use std::ops::Range;

use tacit_algebra::{Bits, Buffer, Ring};

use super::super::Falcon;
use super::super::domain::Residues;
use super::super::material::CompareBatch;
use crate::Error;
use crate::message::Message;
use crate::replicated::Rss;

const TREE: Message<Residues> = Message::new("falcon compare: product");
const ROOT: Message<Residues> = Message::new("falcon compare: open product");

impl<R: Ring> Falcon<R> {
    /// What is opened of `[x > r]`, as in [`Falcon::private_compare`] (Falcon, Algorithm 1, section
    /// 3.3; docs/spec/falcon.md, section 3), with a verification before the root is opened.
    /// `ceil(log2(rows + 1))` hops for the tree, the verification and 1.
    pub(in crate::falcon) fn compare_checked<S: Ring>(
        &mut self,
        batch: &CompareBatch,
        range: Range<usize>,
        rows: usize,
        r: &Buffer<S>,
    ) -> Result<Bits, Error> {
        let n = r.len();
        let mut level = self.leaves(batch, range, rows, r);
        let mut left = rows + 1;
        while left > 1 {
            let half = left / 2 * n;
            let (x, y) = (level.part(0..half), level.part(half..2 * half));
            let odd = level.part(2 * half..left * n);
            let products = self.multiply::<Residues<S>>(TREE, x, y)?;
            level = Rss::concat(&[&products, &odd]);
            left -= left / 2;
        }
        if let Some(checks) = &mut self.checks {
            checks.before_root::<S>(&mut self.rss)?;
        }
        let d = self.open::<Residues<S>>(ROOT, &level)?;
        Ok(d.is_nonzero())
    }
}
