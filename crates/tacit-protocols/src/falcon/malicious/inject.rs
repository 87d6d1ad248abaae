//! Bits of Z_2 carried into Z_p and Z_L, and random non-zero residues, by products of what single
//! parties know (docs/spec/falcon.md, section 2): every step is a product, and every product is
//! verified.
//!
//! Differs from the paper (Figure 6): the factor `m` is a product of three non-zero residues, each
//! known to a pair of parties, and so non-zero without opening anything or drawing again.
//!
//! `c_0 c_1 c_2` of three components: party 0 knows `c_0` and `c_1`, and shares their product as
//! `a_0 + a_1` in the two components that it holds; party 2 knows `a_0` and `c_2`, party 1 `a_1` and
//! `c_2`. So each multiplies once.

use tacit_algebra::{Bits, Buffer, Ring};

use super::super::Falcon;
use super::super::domain::{Residues, Wide};
use super::Checks;
use super::gates::{Kept, Verified};
use crate::Error;
use crate::message::Message;
use crate::replicated::{Domain, PARTIES, Rss};

const fn first_product<D: Domain>() -> Message<D::Kind> {
    Message::new("falcon inject: first product")
}

const fn second_product<D: Domain>() -> Message<D::Kind> {
    Message::new("falcon inject: second product")
}

const MULTIPLIED_ALONE: &str = "multiplied alone";

/// The components of `x`, but that at place `j` of `a`.
pub(super) fn with<T: Clone>(id: usize, j: usize, a: &Rss<T>, x: &Rss<T>) -> Rss<T> {
    let pick = |a: &T, x: &T, at| if at == j { a } else { x }.clone();
    Rss {
        own: pick(&a.own, &x.own, id),
        next: pick(&a.next, &x.next, (id + 1) % PARTIES),
    }
}

impl<R: Ring> Falcon<R> {
    /// The bits `b = b_0 ^ b_1 ^ b_2` of a wider domain: `a = b_0 + b_1 - 2 b_0 b_1`, then
    /// `b = a + b_2 - 2 a b_2`. 2 hops; every party sends an element per bit, and of words a bit.
    pub(in crate::falcon) fn inject_checked<D: Wide + Verified<R>>(
        &mut self,
        bits: &Rss<Bits>,
    ) -> Result<Rss<D::Vec>, Error> {
        let wide = bits.map(D::expand);
        let exclusive_or = |sum: &mut Rss<D::Vec>, product: &Rss<D::Vec>| {
            for _ in 0..2 {
                D::sub_assign(&mut sum.own, &product.own);
                D::sub_assign(&mut sum.next, &product.next);
            }
        };
        let mut sum = wide.clone();
        // The first product has nothing of component 2, which stays b_2.
        let second = self.multiply_components::<D>(&wide, |first| {
            exclusive_or(&mut sum, first);
            sum.clone()
        })?;
        exclusive_or(&mut sum, &second);
        Ok(sum)
    }

    /// Random residues, none of them 0, uniform to every party: the product of three, each drawn
    /// from the key of a pair. 2 hops; every party sends `n` residues.
    pub(in crate::falcon) fn random_nonzero_checked<S: Ring>(
        &mut self,
        n: usize,
    ) -> Result<Rss<Buffer<u8>>, Error> {
        let u = Rss {
            own: self.rss.keys.own.residues_nonzero(S::PRIME, n),
            next: self.rss.keys.next.residues_nonzero(S::PRIME, n),
        };
        self.multiply_components::<Residues<S>>(&u, Rss::clone)
    }

    /// `(a_0 + a_1) c_2` for the components `c` and what `sum` makes of the sharing of `c_0 c_1`, of
    /// which components 0 and 1 are taken. 2 hops; every party sends `n` elements, and of words `n` bits.
    fn multiply_components<D: Verified<R>>(
        &mut self,
        c: &Rss<D::Vec>,
        sum: impl FnOnce(&Rss<D::Vec>) -> Rss<D::Vec>,
    ) -> Result<Rss<D::Vec>, Error> {
        let id = self.rss.party.id();
        let alone = Checks::<R>::multiply_alone::<D>;
        let first = alone(&mut self.rss, first_product::<D>(), [c, c], &[0])?;
        let a = sum(&first.product);
        // x_0 y_2 = a_0 c_2 and x_2 y_1 = c_2 a_1, beside x_1 y_0 = c_1 c_0.
        let (x, y) = (with(id, 0, &a, c), with(id, 1, &a, c));
        let second = alone(&mut self.rss, second_product::<D>(), [&x, &y], &[1, 2])?;
        // All components are bits but those of a.
        let (word, bit) = ([false; 2].into(), [true; 2].into());
        let bits = [0, 1].map(|j| with(id, j, &word, &bit));
        self.record_alone::<D>([x, y], bits, first.kept.or(second.kept));
        Ok(second.product)
    }

    /// Keeps what every party multiplied alone; `bits` as [`Verified::gates_alone`] has them.
    pub(super) fn record_alone<D: Verified<R>>(
        &mut self,
        operands: [Rss<D::Vec>; 2],
        bits: [Rss<bool>; 2],
        kept: Kept<D::Vec>,
    ) {
        let checks = self
            .checks
            .as_mut()
            .expect("only malicious security records");
        checks.called(MULTIPLIED_ALONE, &D::len(&operands[0].own).to_string());
        D::alone(&mut checks.pending).push(D::gates_alone(operands, bits, kept));
        checks.dirty = true;
    }
}
