//! Private compare, wrap3 and the sign (spec sections 3 and 4; Falcon, Algorithms 1 and 2).
//!
//! Differs from the paper: the test at equality and at the largest `r` is mended (spec section 9,
//! items 1 to 3); the products `beta x_i` are made offline; the carry is taken of the low `l - 1`
//! bits instead of `2 a` mod `2^l`, which is the same bit with one leaf less and so, for `l` a
//! power of two, one hop less.

use std::ops::Range;

use tacit_algebra::{Bits, Ring, falcon as kernel, prime, vec};

use super::Falcon;
use super::domain::Residues;
use super::material::{self, CompareBatch, SignBatch, View};
use crate::replicated::{Booleans, Domain, Rss, Words, blocks};
use crate::{Error, tree};

const OPEN_MASKED: &str = "falcon wrap3: open masked value";
const TREE: &str = "falcon compare: product";
const ROOT: &str = "falcon compare: open product";

/// A shared bit plus a public one that was learnt on the way: their xor is the sign.
pub(super) struct Sign {
    pub shared: Rss<Bits>,
    pub public: Bits,
}

impl<R: Ring> Falcon<R> {
    /// Private compare: what is opened of `[x > r]` for the secret `x` of the material and a
    /// public `r`, both of `rows` bits.
    ///
    /// Returns `beta' = [d != 0]`; `[x > r] = beta ^ beta'`. Of `d` the parties learn that it is 0
    /// (probability 1/2 whatever `x`) or a uniform non-zero residue.
    /// `ceil(log2(rows + 1))` hops; see [`tree::levels`] for the bytes.
    pub(super) fn private_compare<S: Ring>(
        &mut self,
        batch: &CompareBatch,
        range: Range<usize>,
        rows: usize,
        r: &[S],
    ) -> Result<Bits, Error> {
        let blocks: Vec<Range<usize>> = blocks(r.len(), rows + 1).collect();
        let mut levels: Vec<Option<Rss<Vec<u8>>>> = vec![None; blocks.len()];
        let leaves = |this: &Self, block: &Range<usize>| {
            let columns = range.start + block.start..range.start + block.end;
            this.leaves(batch, columns, rows, &r[block.clone()])
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
                own.extend_from_slice(&factors.own[2 * half..]);
                let next = factors.next[2 * half..].to_vec();
                *level = Some(Rss { own, next });
            }
            for (level, block) in levels.iter_mut().flatten().zip(&blocks) {
                let half = pairs * block.len();
                let mut next = self
                    .rss
                    .recv::<Residues<S>>(self.rss.next_party(), TREE, half)?;
                next.append(&mut level.next);
                level.next = next;
            }
            left -= pairs;
        }
        debug_assert_eq!(left, 2, "the last product is opened");
        self.open_products::<S>(&blocks, levels, leaves)
    }

    /// The leaves of the product tree: those of the comparison and the factor `m`.
    fn leaves<S: Ring>(
        &self,
        batch: &CompareBatch,
        columns: Range<usize>,
        rows: usize,
        r: &[S],
    ) -> Rss<Vec<u8>> {
        let component = |bits: &[u8], products: &[u8], beta: &[u8], m: &[u8], constant: bool| {
            let (bits, products) = (&bits[columns.start..], &products[columns.start..]);
            let beta = &beta[columns.clone()];
            let stride = batch.stride;
            let mut leaves =
                kernel::compare_leaves(bits, products, stride, rows, beta, r, constant);
            leaves.extend_from_slice(&m[columns.clone()]);
            leaves
        };
        let (bits, products, beta, m) = (&batch.bits, &batch.products, &batch.beta, &batch.m);
        let here = self.rss.constant_component();
        Rss {
            own: component(&bits.own, &products.own, &beta.own, &m.own, here.own),
            next: component(&bits.next, &products.next, &beta.next, &m.next, here.next),
        }
    }

    /// This party's summand of the first `half` residues times the second.
    fn product_of_halves<S: Ring>(&mut self, factors: &Rss<Vec<u8>>, half: usize) -> Vec<u8> {
        let mut z = self.rss.zero::<Residues<S>>(half);
        let (own, next) = (&factors.own, &factors.next);
        let (x, y) = (0..half, half..2 * half);
        prime::product_assign(
            S::PRIME,
            &mut z,
            &own[x.clone()],
            &next[x],
            &own[y.clone()],
            &next[y],
        );
        z
    }

    /// The last products, opened at once: whether each is non-zero.
    fn open_products<S: Ring>(
        &mut self,
        blocks: &[Range<usize>],
        levels: Vec<Option<Rss<Vec<u8>>>>,
        leaves: impl Fn(&Self, &Range<usize>) -> Rss<Vec<u8>>,
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
                prime::add_assign(S::PRIME, &mut sum, &summand);
            }
            nonzero.push(prime::is_nonzero(&sum));
        }
        Ok(Bits::concat(&nonzero.iter().collect::<Vec<_>>()))
    }

    /// The sign of `a`: DReLU, that is 1 where `a >= 0` (spec section 4).
    ///
    /// Holders of component `j` compute `r_j = a_j + x_j mod 2^{l-1}` and its carry; `r_j` is
    /// opened; `eta = [x > r]`; the carry of the three low parts is
    /// `b_0 ^ b_1 ^ b_2 ^ delta ^ eta ^ alpha`, and the sign follows with the three top bits.
    /// `also` is opened in the first hop: the shared part of the sign, masked by these bits.
    /// `1 + ceil(log2 l)` hops.
    fn sign_over<S: Ring>(
        &mut self,
        view: &View<SignBatch<S>>,
        a: &Rss<Vec<S>>,
        also: Option<(&'static str, &Rss<Bits>)>,
    ) -> Result<(Sign, Option<Bits>), Error> {
        let batch = &view.batch;
        let x = view.slice(&batch.x);
        let (r_own, carry_own) = kernel::masked_add(&a.own, &x.own);
        let (r_next, carry_next) = kernel::masked_add(&a.next, &x.next);
        let mut shared = Rss {
            own: carry_own,
            next: carry_next,
        };
        let msb = a.map(|component| Bits::msb_of(component));
        for bits in [
            &msb,
            &view.bits(&batch.alpha),
            &view.bits(&batch.compare.beta_bit),
        ] {
            Booleans::add_assign(&mut shared.own, &bits.own);
            Booleans::add_assign(&mut shared.next, &bits.next);
        }

        let also = also.map(|(step, mask)| (step, shared.zip(mask, Bits::xor)));
        self.rss
            .send::<Words<S>>(self.rss.next_party(), OPEN_MASKED, &r_own)?;
        if let Some((step, masked)) = &also {
            self.rss.begin_open::<Booleans>(step, masked)?;
        }
        let r_missing =
            self.rss
                .recv::<Words<S>>(self.rss.prev_party(), OPEN_MASKED, r_own.len())?;
        let opened = match &also {
            Some((step, masked)) => Some(self.rss.finish_open::<Booleans>(step, masked)?),
            None => None,
        };
        let (r, delta) = kernel::sum3(&r_own, &r_next, &r_missing);

        let mut public =
            self.private_compare(&batch.compare, view.range.clone(), S::BITS as usize - 1, &r)?;
        public.xor_assign(&delta);
        Ok((
            Sign {
                shared,
                public: public.not(),
            },
            opened,
        ))
    }

    /// The sign over the ring of comparisons: where that is narrower than the shares' ring, the
    /// low words of the components are a sharing of the value over it. See [`Falcon::sign_over`].
    pub(super) fn sign(
        &mut self,
        a: &Rss<Vec<R>>,
        also: Option<(&'static str, &Rss<Bits>)>,
    ) -> Result<(Sign, Option<Bits>), Error> {
        let n = a.own.len();
        let missing = || Error::NotPrepared {
            call: format!("the sign of {n} elements"),
        };
        if self.compare_bits < R::BITS {
            let view = material::take(&mut self.store.narrow_signs, n).ok_or_else(missing)?;
            return self.sign_over::<u32>(&view, &a.map(|c| vec::convert(c)), also);
        }
        let view = material::take(&mut self.store.signs, n).ok_or_else(missing)?;
        self.sign_over::<R>(&view, a, also)
    }

    /// DReLU as shared bits.
    pub(super) fn sign_bits(&mut self, a: &Rss<Vec<R>>) -> Result<Rss<Bits>, Error> {
        let (sign, _) = self.sign(a, None)?;
        let mut bits = sign.shared;
        self.rss.xor_public(&mut bits, &sign.public);
        Ok(bits)
    }
}

/// `max(x, y)` needs `x - y`; kept here so that pooling reads like its definition.
pub(super) fn difference<R: Ring>(x: &Rss<Vec<R>>, y: &Rss<Vec<R>>) -> Rss<Vec<R>> {
    x.zip(y, |a, b| vec::sub(a, b))
}
