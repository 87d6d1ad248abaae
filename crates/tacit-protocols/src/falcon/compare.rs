//! Private compare, wrap3 and the sign (spec sections 3 and 4; Falcon, Algorithms 1 and 2).
//!
//! Differs from the paper: the test at equality and at the largest `r` is mended (spec section 9,
//! items 1 to 3); the products `beta x_i` are made offline; the carry is taken of the low `l - 1`
//! bits instead of `2 a` mod `2^l`, which is the same bit with one leaf less and so, for `l` a
//! power of two, one hop less.

use tacit_algebra::{Bits, Ring, falcon as kernel, prime, vec};

use super::Falcon;
use super::cost::product_tree;
use super::domain::{Booleans, Domain, Residues, Words};
use super::material::{self, CompareBatch, SignBatch, View};
use super::sharing::Rss;
use crate::Error;

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
    /// `ceil(log2(rows + 1))` hops; see [`product_tree`] for the bytes.
    pub(super) fn private_compare(
        &mut self,
        batch: &CompareBatch,
        range: std::ops::Range<usize>,
        rows: usize,
        r: &[R],
    ) -> Result<Bits, Error> {
        let n = r.len();
        let here = self.constant_component();
        let leaves = |bits: &[u8], products: &[u8], beta: &[u8], m: &[u8], constant: bool| {
            let at = range.start;
            let mut leaves = kernel::compare_leaves(
                &bits[at..],
                &products[at..],
                batch.stride,
                rows,
                &beta[range.clone()],
                r,
                constant,
            );
            leaves.extend_from_slice(&m[range.clone()]);
            leaves
        };
        let mut level = Rss {
            own: leaves(
                &batch.bits.own,
                &batch.products.own,
                &batch.beta.own,
                &batch.m.own,
                here.own,
            ),
            next: leaves(
                &batch.bits.next,
                &batch.products.next,
                &batch.beta.next,
                &batch.m.next,
                here.next,
            ),
        };
        let mut left = rows + 1;
        for pairs in product_tree(rows + 1) {
            level = self.multiply_pairs(level, pairs, left, n)?;
            left -= pairs;
        }
        let product = self.open_product(&level, n)?;
        Ok(prime::is_nonzero(&product))
    }

    /// One level of the tree: rows `0 .. pairs` times rows `pairs .. 2 pairs`, an odd row stays.
    fn multiply_pairs(
        &mut self,
        level: Rss<Vec<u8>>,
        pairs: usize,
        rows: usize,
        n: usize,
    ) -> Result<Rss<Vec<u8>>, Error> {
        let half = pairs * n;
        let mut z = self.zero::<Residues<R>>(half);
        let (own, next) = (&level.own, &level.next);
        prime::product_assign(
            R::PRIME,
            &mut z,
            &own[..half],
            &next[..half],
            &own[half..2 * half],
            &next[half..2 * half],
        );
        let mut product = self.reshare::<Residues<R>>(TREE, z)?;
        if rows > 2 * pairs {
            product.own.extend_from_slice(&own[2 * half..]);
            product.next.extend_from_slice(&next[2 * half..]);
        }
        Ok(product)
    }

    /// The last product, opened at once.
    fn open_product(&mut self, level: &Rss<Vec<u8>>, n: usize) -> Result<Vec<u8>, Error> {
        let mut z = self.zero::<Residues<R>>(n);
        let (own, next) = (&level.own, &level.next);
        prime::product_assign(
            R::PRIME,
            &mut z,
            &own[..n],
            &next[..n],
            &own[n..],
            &next[n..],
        );
        self.open_sum::<Residues<R>>(ROOT, z)
    }

    /// The sign of `a`: DReLU, that is 1 where `a >= 0` (spec section 4).
    ///
    /// Holders of component `j` compute `r_j = a_j + x_j mod 2^{l-1}` and its carry; `r_j` is
    /// opened; `eta = [x > r]`; the carry of the three low parts is
    /// `b_0 ^ b_1 ^ b_2 ^ delta ^ eta ^ alpha`, and the sign follows with the three top bits.
    /// `also` is opened in the first hop: the shared part of the sign, masked by these bits.
    /// `1 + ceil(log2 l)` hops.
    pub(super) fn sign(
        &mut self,
        a: &Rss<Vec<R>>,
        also: Option<(&'static str, &Rss<Bits>)>,
    ) -> Result<(Sign, Option<Bits>), Error> {
        let view = self.take_sign(a.own.len())?;
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
        self.send::<Words<R>>(self.next_party(), OPEN_MASKED, &r_own)?;
        if let Some((step, masked)) = &also {
            self.begin_open::<Booleans>(step, masked)?;
        }
        let r_missing = self.recv::<Words<R>>(self.prev_party(), OPEN_MASKED, r_own.len())?;
        let opened = match &also {
            Some((step, masked)) => Some(self.finish_open::<Booleans>(step, masked)?),
            None => None,
        };
        let (r, delta) = kernel::sum3(&r_own, &r_next, &r_missing);

        let mut public =
            self.private_compare(&batch.compare, view.range.clone(), R::BITS as usize - 1, &r)?;
        public.xor_assign(&delta);
        Ok((
            Sign {
                shared,
                public: public.not(),
            },
            opened,
        ))
    }

    fn take_sign(&mut self, n: usize) -> Result<View<SignBatch<R>>, Error> {
        material::take(&mut self.store.signs, n).ok_or_else(|| Error::NotPrepared {
            call: format!("the sign of {n} elements"),
        })
    }

    /// DReLU as shared bits.
    pub(super) fn sign_bits(&mut self, a: &Rss<Vec<R>>) -> Result<Rss<Bits>, Error> {
        let (sign, _) = self.sign(a, None)?;
        let mut bits = sign.shared;
        self.xor_public(&mut bits, &sign.public);
        Ok(bits)
    }
}

/// `1 - word` where the public bit is 1, else `word`: a bit known up to a public flip.
pub(super) fn flip_word<R: Ring>(
    word: &Rss<Vec<R>>,
    public: &Bits,
    constant: Rss<bool>,
) -> Rss<Vec<R>> {
    Rss {
        own: kernel::flip_ring(&word.own, public, constant.own),
        next: kernel::flip_ring(&word.next, public, constant.next),
    }
}

/// `max(x, y)` needs `x - y`; kept here so that pooling reads like its definition.
pub(super) fn difference<R: Ring>(x: &Rss<Vec<R>>, y: &Rss<Vec<R>>) -> Rss<Vec<R>> {
    x.zip(y, |a, b| vec::sub(a, b))
}
