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

use tacit_algebra::extension::Extension;
use tacit_algebra::{Bits, Buffer, Ring};

use super::super::Falcon;
use super::super::domain::{Residues, Wide};
use super::Checks;
use super::gates::{Kept, Verified};
use crate::Error;
use crate::message::Message;
use crate::replicated::{Domain, PARTIES, Rss};

const fn first_product<D: Domain>() -> Message<D::Family> {
    Message::new("falcon inject: first product")
}

const fn second_product<D: Domain>() -> Message<D::Family> {
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

/// What products of components have made: see [`Falcon::multiply_components`].
struct Components<V> {
    a: Rss<V>,
    product: Rss<V>,
    kept: Kept<V>,
}

impl<R: Ring> Falcon<R> {
    /// The bits `b = b_0 ^ b_1 ^ b_2` of a wider domain: `a = b_0 + b_1 - 2 b_0 b_1`, then
    /// `b = a + b_2 - 2 a b_2`. 2 hops; every party sends an element per bit, and of words a bit.
    pub(in crate::falcon) fn inject_checked<D: Wide + Verified<R>>(
        &mut self,
        bits: &Rss<Bits>,
    ) -> Result<Rss<D::Vec>, Error> {
        let (id, n) = (self.rss.party.id(), bits.own.len());
        let made = self.multiply_components::<D>(
            n,
            || D::expand(&bits.next.and(&bits.own)),
            // The first product has nothing of component 2, which stays b_2.
            |first| {
                bits.zip(&first, |bits, first| match first {
                    Some(first) => D::bits_less_doubled(bits, first),
                    None => D::expand(bits),
                })
            },
            |a| match id {
                1 => D::kept(&a.own, &bits.next),
                _ => D::kept(&a.next, &bits.own),
            },
        )?;
        let c = bits.map(D::operand_of_bits);
        self.record_components::<D>(&made.a, &c, n, made.kept);
        Ok(made.a.zip(&made.product, D::less_doubled))
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
        let times = |a: &Buffer<u8>, b: &Buffer<u8>| a.residues_mul(S::PRIME, b);
        let id = self.rss.party.id();
        let made = self.multiply_components::<Residues<S>>(
            n,
            || times(&u.next, &u.own),
            // Of component 2 nothing is read.
            |first| first.into_map(Option::unwrap_or_default),
            |a| match id {
                1 => times(&a.own, &u.next),
                _ => times(&a.next, &u.own),
            },
        )?;
        self.record_components::<Residues<S>>(&made.a, &u, n, made.kept);
        Ok(made.product)
    }

    /// `(a_0 + a_1) c_2` for components `c` and what `sum` makes of the sharing of `c_0 c_1`, of which components
    /// 0 and 1 are taken: `first` is `c_1 c_0`, which party 0 knows, and `second` `a_1 c_2` at party 1, `a_0 c_2`
    /// at party 2. 2 hops; every party sends `n` elements, and of words `n` bits.
    fn multiply_components<D: Verified<R>>(
        &mut self,
        n: usize,
        first: impl FnOnce() -> D::Vec,
        sum: impl FnOnce(Rss<Option<D::Vec>>) -> Rss<D::Vec>,
        second: impl FnOnce(&Rss<D::Vec>) -> D::Vec,
    ) -> Result<Components<D::Vec>, Error> {
        let rss = &mut self.rss;
        let first = Checks::<R>::multiply_alone::<D>(rss, first_product::<D>(), n, first, &[0])?;
        let a = sum(first.product);
        let made = || second(&a);
        let second =
            Checks::<R>::multiply_alone::<D>(rss, second_product::<D>(), n, made, &[1, 2])?;
        let (product, kept) = second.whole::<D>(rss, n);
        let kept = first.kept.or(kept);
        Ok(Components { a, product, kept })
    }

    /// Keeps what [`Falcon::multiply_components`] has multiplied of `a` and the components `c`:
    /// `x_0 y_2 = a_0 c_2` and `x_2 y_1 = c_2 a_1`, beside `x_1 y_0 = c_1 c_0`.
    fn record_components<D: Verified<R>>(
        &mut self,
        a: &Rss<D::Vec>,
        c: &Rss<<D::Alone as Extension>::Base>,
        n: usize,
        kept: Kept<D::Vec>,
    ) {
        let (id, a) = (self.rss.party.id(), a.map(D::operand));
        self.record_alone::<D>([0, 1].map(|j| with(id, j, &a, c)), n, kept);
    }

    /// Keeps `n` products that every party multiplied alone.
    pub(super) fn record_alone<D: Verified<R>>(
        &mut self,
        operands: [Rss<<D::Alone as Extension>::Base>; 2],
        n: usize,
        kept: Kept<D::Vec>,
    ) {
        let checks = self
            .checks
            .as_mut()
            .expect("only malicious security records");
        checks.called(MULTIPLIED_ALONE, &n.to_string());
        D::alone(&mut checks.pending).push(D::gates_alone(operands, kept));
        checks.dirty = true;
    }
}
