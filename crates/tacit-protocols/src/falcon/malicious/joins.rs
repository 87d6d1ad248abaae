//! Matrix products and convolutions join a proof after its first fold (docs/spec/falcon.md, section 8.3): those of each
//! radix as one claim. Of radix 1 they join as they are; of others their inner dimension is cut into so many blocks,
//! which are the parts of a first fold of their own, beside that of the gates.

use tacit_algebra::Prg;
use tacit_algebra::extension::Extension;

use super::defences::{Defence, Defences};
use super::gates::ProofRole;
use super::products::{Compress, Long};
use crate::call::RADICES;

/// The radices of the products of a proof.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Joins(u8);

impl Joins {
    /// The joins of products that add so many entries of each radix to the vectors.
    pub fn of(entries: &[usize; RADICES]) -> Self {
        let there = entries.iter().enumerate().filter(|(_, n)| **n > 0);
        Joins(there.fold(0, |all, (i, _)| all | 1 << i))
    }

    /// The radices, the least one first.
    pub fn radices(self) -> impl Iterator<Item = usize> {
        (0..RADICES)
            .filter(move |i| self.0 >> i & 1 == 1)
            .map(|i| 1 << i)
    }

    /// Whether some inner dimension is cut.
    pub fn cut(self) -> bool {
        self.0 > 1
    }

    /// The claims of one proof, of which nothing is known yet.
    pub fn claims<K: Extension>(self) -> Vec<Join<K>> {
        let none = |radix| Join {
            radix,
            claim: K::ZERO,
            long: Vec::new(),
        };
        self.radices().map(none).collect()
    }
}

/// The coefficients of `<u(X), v(X)>` but that of the claim.
pub(super) const fn dealt(radix: usize) -> usize {
    2 * radix - 2
}

/// A claim at a point of one variable, from what was dealt beside it.
pub(super) fn line<K: Extension>(mut dealt: Vec<K>, claim: K, point: K) -> K {
    dealt.insert(dealt.len() / 2, claim);
    K::dot(&dealt, &point.powers(dealt.len()))
}

/// What is claimed about all products of one radix.
pub(super) struct Join<K> {
    pub radix: usize,
    /// A verifier's share.
    pub claim: K,
    /// The products whose inner dimension is cut.
    long: Vec<Box<dyn Long<K>>>,
}

impl<K: Extension> Join<K> {
    /// Adds a product; one that is not cut is added to the vectors at once.
    pub fn add(
        &mut self,
        product: &dyn Compress<K>,
        coins: &mut Prg,
        (role, defences): (ProofRole, Defences),
        vectors: [&mut Vec<K>; 2],
    ) {
        let claim = match self.radix {
            1 => product.compress(coins, role, defences, vectors),
            radix => {
                let long = product.cut(radix, coins, defences);
                let claim = long.claim(role);
                self.long.push(long);
                claim
            }
        };
        self.claim = self.claim.add(claim);
    }

    /// What the prover deals: the coefficients of all products, summed.
    pub fn coefficients(&self) -> Vec<K> {
        let mut sums = vec![K::ZERO; dealt(self.radix)];
        for long in &self.long {
            let more = long.coefficients();
            sums.iter_mut().zip(more).for_each(|(a, b)| *a = a.add(b));
        }
        sums
    }

    /// Adds what is left at a point to the vectors, times the claim's coin. Entries of products that are not cut are
    /// there already, alone.
    pub fn fold(self, role: ProofRole, point: K, lambda: K, [u, v]: [&mut Vec<K>; 2]) {
        let first = if self.radix == 1 { 0 } else { u.len() };
        for long in self.long {
            long.fold(role, point, [&mut *u, &mut *v]);
        }
        K::times_plus(&mut u[first..], lambda, &[]);
    }
}

/// The coins by which the claims of these radices join.
pub(super) fn lambdas<K: Extension>(coins: &mut Prg, joins: Joins, defences: Defences) -> Vec<K> {
    let draw = |_| match defences.stand(Defence::Join) {
        true => K::points(coins, 1)[0],
        false => K::ONE,
    };
    joins.radices().map(draw).collect()
}
