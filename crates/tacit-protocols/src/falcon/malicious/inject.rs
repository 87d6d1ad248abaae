//! Bits of Z_2 carried into Z_p and Z_L, and random non-zero residues, by products of what each
//! pair of parties knows (spec section 2): every step is a product, and every product is verified.
//!
//! Differs from the spec: the factor `m` is a product of three non-zero residues, each known to a
//! pair of parties, and so non-zero without opening anything or drawing again.

use tacit_algebra::{Bits, Ring};

use super::super::Falcon;
use super::super::domain::{Residues, Wide};
use super::gates::Verified;
use crate::Error;
use crate::replicated::{Domain, PARTIES, Rss};

const FIRST: &str = "falcon inject: first product";
const SECOND: &str = "falcon inject: second product";

/// Component `j` of `x` as a sharing by itself: its two holders know it, the others are 0.
pub(super) fn alone<T: Clone>(id: usize, j: usize, x: &Rss<T>, zeros: &T) -> Rss<T> {
    let pick = |component: &T, holds: bool| if holds { component } else { zeros }.clone();
    Rss {
        own: pick(&x.own, id == j),
        next: pick(&x.next, (id + 1) % PARTIES == j),
    }
}

impl<R: Ring> Falcon<R> {
    /// The bits `b = b_0 ^ b_1 ^ b_2` of a wider domain: `a = b_0 + b_1 - 2 b_0 b_1`, then
    /// `b = a + b_2 - 2 a b_2`. 2 hops; every party sends two elements per bit.
    pub(in crate::falcon) fn inject_checked<D: Wide + Verified<R>>(
        &mut self,
        bits: &Rss<Bits>,
    ) -> Result<Rss<D::Vec>, Error> {
        let (id, zeros) = (self.rss.party.id(), D::zeros(bits.own.len()));
        let wide = bits.map(D::expand);
        let [b_0, b_1, b_2] = [0, 1, 2].map(|j| alone(id, j, &wide, &zeros));
        let a = self.exclusive_or::<D>(FIRST, b_0, b_1)?;
        self.exclusive_or::<D>(SECOND, a, b_2)
    }

    /// `x + y - 2 x y`.
    fn exclusive_or<D: Verified<R>>(
        &mut self,
        step: &'static str,
        x: Rss<D::Vec>,
        y: Rss<D::Vec>,
    ) -> Result<Rss<D::Vec>, Error> {
        let mut sum = x.clone();
        add::<D>(&mut sum, &y);
        let both = self.multiply::<D>(step, x, y)?;
        for _ in 0..2 {
            D::sub_assign(&mut sum.own, &both.own);
            D::sub_assign(&mut sum.next, &both.next);
        }
        Ok(sum)
    }

    /// Random residues, none of them 0, uniform to every party: the product of three, each drawn
    /// from the key of a pair. 2 hops; every party sends `2 n` residues.
    pub(in crate::falcon) fn random_nonzero_checked<S: Ring>(
        &mut self,
        n: usize,
    ) -> Result<Rss<Vec<u8>>, Error> {
        let u = Rss {
            own: self.rss.keys.own.prime_nonzero(S::PRIME, n),
            next: self.rss.keys.next.prime_nonzero(S::PRIME, n),
        };
        let (id, zeros) = (self.rss.party.id(), vec![0; n]);
        let [u_0, u_1, u_2] = [0, 1, 2].map(|j| alone(id, j, &u, &zeros));
        let product = self.multiply::<Residues<S>>(FIRST, u_0, u_1)?;
        self.multiply::<Residues<S>>(SECOND, product, u_2)
    }
}

/// `x += y`.
fn add<D: Domain>(x: &mut Rss<D::Vec>, y: &Rss<D::Vec>) {
    D::add_assign(&mut x.own, &y.own);
    D::add_assign(&mut x.next, &y.next);
}
