//! Bits of Z_2 carried into Z_p and Z_L, and random non-zero residues (spec sections 2 and 4).
//!
//! Differs from the spec's bit injection, which inputs `b_0 ^ b_1` and multiplies by `b_2` with a
//! full resharing (4/3 elements per party). Both are the product of a number `a` that party 0
//! knows with one that parties 1 and 2 know. So party 0 splits `a` additively between parties 1
//! and 2, the product is local to them, and only component 2 of the result must be sent:
//! 1 element per party.
//!
//! For `b = b_0 ^ b_1 ^ b_2` and `a = b_0 ^ b_1`: `b = a (1 - 2 b_2) + b_2`.
//! For `m = u_0 u_1 u_2` and `a = u_0 u_1`: `m = a u_2`, non-zero without any rejection, and
//! uniform to each party, which misses one factor.

use tacit_algebra::{Bits, Ring, prime};

use super::Falcon;
use super::domain::{Domain, Residues, Wide};
use super::sharing::Rss;
use crate::Error;

const SPLIT: &str = "falcon inject: split";
const JOIN: &str = "falcon inject: join";

/// A party's part in the product of `a`, known to party 0, with what parties 1 and 2 know.
enum Part<V, F> {
    /// Party 0 with its `a`.
    Splits(V),
    /// Party 1 or 2 with its map from its summand of `a` to its summand of the product.
    Multiplies(F),
}

impl<R: Ring> Falcon<R> {
    /// Carries shared bits into a wider domain.
    /// 2 hops; every party sends one element per bit.
    pub(super) fn inject<D: Wide>(&mut self, bits: &Rss<Bits>) -> Result<Rss<D::Vec>, Error> {
        let n = bits.own.len();
        let part = match self.party.id() {
            0 => Part::Splits(D::expand(&bits.own.xor(&bits.next))),
            1 => Part::Multiplies((&bits.next, true)),
            _ => Part::Multiplies((&bits.own, false)),
        };
        self.known_product::<D, _>(n, part, |(b_2, add), summand| D::flip(&summand, b_2, add))
    }

    /// Random residues, none of them 0, uniform to every party.
    /// 2 hops; every party sends `n` residues.
    pub(super) fn random_nonzero(&mut self, n: usize) -> Result<Rss<Vec<u8>>, Error> {
        let own = self.keys.own.prime_nonzero(R::PRIME, n);
        let next = self.keys.next.prime_nonzero(R::PRIME, n);
        let times = |u: &[u8], v: &[u8]| {
            let (mut product, zeros) = (vec![0; n], vec![0; n]);
            prime::product_assign(R::PRIME, &mut product, u, &zeros, v, &zeros);
            product
        };
        let part = match self.party.id() {
            0 => Part::Splits(times(&own, &next)),
            1 => Part::Multiplies(next),
            _ => Part::Multiplies(own),
        };
        self.known_product::<Residues<R>, _>(n, part, |u_2, summand| times(&u_2, &summand))
    }

    /// The product of `a` with what parties 1 and 2 know.
    ///
    /// Party 0: `x_0 = F(K_0)` (party 2 draws it too), sends `x_1 = a - x_0` to party 1.
    /// Party 1 maps `x_1`, party 2 maps `x_0`; with result components `d_0 = F(K_0)` and
    /// `d_1 = F(K_1)`, each sends its summand less the one of these that it knows, and the sum
    /// of the two messages is component 2.
    fn known_product<D: Domain, F>(
        &mut self,
        n: usize,
        part: Part<D::Vec, F>,
        map: impl FnOnce(F, D::Vec) -> D::Vec,
    ) -> Result<Rss<D::Vec>, Error> {
        match (self.party.id(), part) {
            (0, Part::Splits(mut a)) => {
                D::sub_assign(&mut a, &D::draw(&mut self.keys.own, n));
                self.send::<D>(1, SPLIT, &a)?;
                Ok(self.random::<D>(n))
            }
            (1, Part::Multiplies(factor)) => {
                let summand = self.recv::<D>(0, SPLIT, n)?;
                let d_1 = D::draw(&mut self.keys.own, n);
                let d_2 = self.join::<D>(2, map(factor, summand), &d_1)?;
                Ok(Rss {
                    own: d_1,
                    next: d_2,
                })
            }
            (_, Part::Multiplies(factor)) => {
                let summand = D::draw(&mut self.keys.next, n);
                let d_0 = D::draw(&mut self.keys.next, n);
                let d_2 = self.join::<D>(1, map(factor, summand), &d_0)?;
                Ok(Rss {
                    own: d_2,
                    next: d_0,
                })
            }
            (_, Part::Splits(_)) => unreachable!("only party 0 knows the first factor"),
        }
    }

    /// Component 2: both summands less the components that their parties know.
    fn join<D: Domain>(
        &mut self,
        peer: usize,
        mut summand: D::Vec,
        known: &D::Vec,
    ) -> Result<D::Vec, Error> {
        D::sub_assign(&mut summand, known);
        self.send::<D>(peer, JOIN, &summand)?;
        let theirs = self.recv::<D>(peer, JOIN, D::len(&summand))?;
        D::add_assign(&mut summand, &theirs);
        Ok(summand)
    }
}
