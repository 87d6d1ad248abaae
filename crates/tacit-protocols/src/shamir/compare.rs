//! Comparison (docs/spec/liu24.md, sections 6 and 7): `[y < r]` for a public `y` and a shared `r`
//! with its bits, by a tree over the small field, by one over the large field or by a rotation, and
//! DReLU from it (Liu et al., Protocol 5.1).
//!
//! Differs from the paper: its Bitwise-LT opens a 0 wherever a bit of `y` differs from that of
//! `r`, and so the compared secret; a test of this project shows that. The three comparisons here
//! open nothing but uniform numbers and bits, a 0 that comes with probability 1/2, or one at a
//! uniform place.

use crate::message::{Elements, Message};
use tacit_algebra::mersenne::{Field, buffer, of_bits, to_bits};
use tacit_algebra::{BitRows, Buffer, planes};

use super::Shamir;
use super::deal::Double;
use super::demand::Want;
use super::material::{Material, Rot, SmallTree, Tree};
use crate::{Error, tree};

const OPEN_MASKED: Message<Elements> = Message::new("shamir comparison: masked value");
const LEVEL: Message<Elements> = Message::new("shamir tree: level");
const ROOT: Message<Elements> = Message::new("shamir tree: root");
const OPEN_SIGN: Message<BitRows> = Message::new("shamir tree: masked sign");
const ROTATE: Message<Elements> = Message::new("shamir rotation: rotate");
const FIND: Message<Elements> = Message::new("shamir rotation: find");
const SQUARE: Message<Elements> = Message::new("shamir rotation: sign");

/// A sign before its last step.
pub(super) enum Sign<F> {
    /// The sign itself, and the double that is left.
    Tree(Buffer<F>, Double<F>),
    /// A number in `{-1, 0, 1}` whose square is 1 less the sign, and the material that is left.
    Rot(Buffer<F>, Rot<F>),
}

impl<F: Field> Shamir<F> {
    /// DReLU (Liu et al., Protocol 5.1): 1 where `a` is in `[0, (p-1)/2]`, else 0.
    ///
    /// Openings one after the other: by the tree over the small field `2 + ceil(log2 l)`, by that over the
    /// large one `1 + ceil(log2 (l + 2))`, by the rotation 4.
    pub(super) fn drelu_shares(&mut self, a: &Buffer<F>) -> Result<Buffer<F>, Error> {
        if a.is_empty() {
            return Ok(a.clone());
        }
        match self.sign(a, false)? {
            Sign::Tree(sign, _) => Ok(sign),
            Sign::Rot(d, rot) => {
                let square = self.mult(SQUARE, &d, &d, &rot.double)?;
                Ok(buffer::not(&square))
            }
        }
    }

    /// The sign of `a` as the lowest bit of `2 a mod p`: `y = 2 a + r` is opened, and that bit is
    /// `y_0 ^ r_0 ^ [y < r]`.
    pub(super) fn sign(&mut self, a: &Buffer<F>, relu: bool) -> Result<Sign<F>, Error> {
        let n = a.len();
        let rot = self.params.rot(n);
        match self.take(Want::Sign { n, rot, relu })? {
            Material::SmallTree(tree) => {
                let y = self.open_twice(a, &tree.mask.numbers)?;
                self.sign_small_tree(&y, tree)
            }
            Material::Tree(mut tree) => {
                let y = self.open_twice(a, &tree.mask)?;
                let h = xor(&tree.bits.part(0..n), &tree.b, &tree.flip);
                let beta = self.lt_tree(&y, &mut tree)?;
                // 1 ^ y_0 ^ beta is public.
                let kappa = buffer::not(&buffer::flip(&buffer::low_bit(&y), &beta));
                Ok(Sign::Tree(buffer::flip(&h, &kappa), tree.double))
            }
            Material::Rot(mut rot) => {
                let y = self.open_twice(a, &rot.mask)?;
                let less = self.lt_rot(&y, &mut rot)?;
                let mut d = buffer::flip(&rot.bits.part(0..n), &buffer::low_bit(&y));
                buffer::sub_assign(&mut d, &less);
                Ok(Sign::Rot(d, rot))
            }
            _ => unreachable!("material lies with its want"),
        }
    }

    fn open_twice(&mut self, a: &Buffer<F>, mask: &Buffer<F>) -> Result<Buffer<F>, Error> {
        let mut masked = buffer::add(a, a);
        buffer::add_assign(&mut masked, mask);
        self.reveal_shares(OPEN_MASKED, masked, self.params.threshold)
    }

    /// The sign by a tree of carries (docs/spec/liu24.md, section 6.1): over the small field, `y < r` where a
    /// higher bit of `r` is above that of `y` and those between are equal. The sign is opened under a
    /// random bit that is known in both fields.
    ///
    /// `1 + ceil(log2 l)` openings one after the other, of about `2 l` elements of the small field.
    fn sign_small_tree(&mut self, y: &Buffer<F>, tree: SmallTree<F>) -> Result<Sign<F>, Error> {
        let (y, r) = (to_bits(y), tree.mask.bits);
        let mut equal = r.clone().not();
        equal.xor_bits(&y);
        let above = r.clone().keep(&planes::not(&y));
        let passing = equal.pick(1..equal.values());
        let mut products = tree.products;
        let less = self.generated(above, passing, &mut products)?;
        // 1 ^ y_0 ^ r_0 ^ [y < r]; the lowest bits differ where they are not equal.
        let sign = equal.pick([0]).xor(&less);
        let opened = self.reveal_bits(OPEN_SIGN, &sign.xor(&tree.small_bit))?;
        let sign = buffer::flip(&tree.bit, &of_bits(&opened));
        Ok(Sign::Tree(sign, tree.double))
    }

    /// LT-tree (docs/spec/liu24.md, section 6.2): the public bit `[y < r] ^ b`.
    ///
    /// The product of `m` and of the leaves `c_i` is 0 exactly where one `c_i` is, and else
    /// uniform. `ceil(log2 (l+2))` openings one after the other, `l + 1` elements in all.
    fn lt_tree(&mut self, y: &Buffer<F>, tree: &mut Tree<F>) -> Result<Buffer<F>, Error> {
        let n = y.len();
        let mut factors = buffer::tree_leaves(y, &tree.bits, &tree.b);
        factors.append(&tree.m);
        for pairs in tree::levels(self.params.factors()) {
            let half = pairs * n;
            let double = tree.double.take(half);
            let [x, y, rest] =
                [0..half, half..2 * half, 2 * half..factors.len()].map(|range| factors.part(range));
            factors = self.mult(LEVEL, &x, &y, &double)?;
            factors.append(&rest);
        }
        let (x, y) = (factors.part(0..n), factors.part(n..2 * n));
        let root = self.mult_pub(ROOT, &x, &y, &tree.zero)?;
        Ok(buffer::not(&buffer::is_zero(&root)))
    }

    /// LT-rot (docs/spec/liu24.md, section 6.3): a sharing of `[y < r]`.
    ///
    /// Of the places, exactly one of which holds a 0, a secret rotation is opened under random
    /// factors. 2 openings one after the other, `2 N` elements for `N` places.
    fn lt_rot(&mut self, y: &Buffer<F>, rot: &mut Rot<F>) -> Result<Buffer<F>, Error> {
        let places = buffer::rot_positions(y, &rot.bits);
        let double = rot.double.take(rot.m.len());
        let share = buffer::add(&buffer::rot_correlate(&rot.shift, &places), &double.high);
        let mut rotated = self.deal_back(ROTATE, share)?;
        buffer::sub_assign(&mut rotated, &double.low);
        let opened = self.mult_pub(FIND, &rotated, &rot.m, &rot.zero)?;
        let found = buffer::rot_zero(&opened).ok_or_else(|| {
            Error::Invalid(
                "a rotation has not exactly one 0: a party did not follow the protocol".into(),
            )
        })?;
        Ok(buffer::rot_payload(y, &rot.shift, &found))
    }
}

/// `x ^ y` of shared bits whose product is given.
fn xor<F: Field>(x: &Buffer<F>, y: &Buffer<F>, product: &Buffer<F>) -> Buffer<F> {
    let mut sum = buffer::add(x, y);
    buffer::axpy(&mut sum, F::from_i64(-2), product);
    sum
}
