//! The folds of a proof (docs/spec/falcon.md, section 8.3): what the prover deals of each, and what that makes of the
//! claim at a point.

use tacit_algebra::Prg;
use tacit_algebra::extension::{Extension, cube};

use super::defences::{Defence, Defences};
use super::gates::Terms;
use super::joins::{Joins, dealt, line};
use super::proof_segments::Shape;
use crate::call::RADICES;

/// What the parts of the vectors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parts {
    /// Coefficients of polynomials in one variable.
    Line,
    /// The corners of a cube, about whose products there are so many claims.
    Cube { claims: usize },
}

/// A fold into `radix` parts of `len` elements; in the second one the last segment's, those of the
/// others being as many as they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fold {
    pub radix: usize,
    pub len: usize,
    parts: Parts,
    /// The products that are folded beside and join after it: at the first fold.
    pub joins: Joins,
}

impl Fold {
    /// A fold of `n` elements into about `radix` parts.
    fn of(n: usize, radix: usize) -> Self {
        let len = n.div_ceil(radix);
        let radix = n.div_ceil(len);
        Fold {
            radix,
            len,
            parts: Parts::Line,
            joins: Joins::default(),
        }
    }

    /// The first fold where there are no gates, but products whose inner dimension is cut.
    fn of_products(joins: Joins) -> Self {
        Fold {
            joins,
            ..Fold::of(1, 1)
        }
    }

    /// The first fold of gates that are laid out so.
    fn first<K: Extension>(terms: Terms, shape: Shape, joins: Joins) -> Self {
        Fold {
            radix: terms.entries() * shape.blocks,
            len: shape.len,
            parts: match K::CUBE {
                true => Parts::Cube {
                    claims: shape.blocks,
                },
                false => Parts::Line,
            },
            joins,
        }
    }

    /// Variables of a cube.
    fn variables(self) -> u32 {
        self.radix.ilog2()
    }

    /// Elements that the prover deals: all that the product of the vectors is given by but the claims, and then of
    /// the products that join.
    pub fn dealt(self) -> usize {
        self.dealt_alone() + self.joins.radices().map(dealt).sum::<usize>()
    }

    fn dealt_alone(self) -> usize {
        match self.parts {
            Parts::Line => dealt(self.radix),
            Parts::Cube { claims } => 3usize.pow(self.variables()) - claims,
        }
    }

    /// The degree of what a wrong claim would have to be a root of, and one for the coin of a claim that joins.
    #[cfg(test)]
    pub fn degree(self) -> usize {
        let alone = match self.parts {
            Parts::Line => 2 * self.radix - 2,
            Parts::Cube { .. } => 2 * self.variables() as usize,
        };
        let joined = self.joins.radices().map(|radix| 2 * radix - 1);
        joined.max().unwrap_or(0).max(alone)
    }

    /// The place of a cube at which no element is dealt, since a claim says it, by the number of its claim.
    fn claimed(self, claims: usize, corner: Option<usize>) -> Option<usize> {
        corner?.checked_sub(self.radix - claims)
    }

    /// What the prover deals: of a line the coefficients of `<u(X), v(X)>` but that of the claim; of a cube, the places
    /// but the last corners.
    pub fn coefficients<K: Extension>(self, mut products: Vec<K>) -> Vec<K> {
        match self.parts {
            Parts::Line => {
                products.remove(self.radix - 1);
                products
            }
            Parts::Cube { claims } => {
                let corners = cube::corner_of_places(self.radix);
                let places = products.into_iter().zip(corners);
                let dealt = places.filter(|(_, corner)| self.claimed(claims, *corner).is_none());
                dealt.map(|(product, _)| product).collect()
            }
        }
    }

    /// A point: of a cube a coin in every variable.
    pub fn point<K: Extension>(self, coins: &mut Prg, defences: Defences) -> Vec<K> {
        let variables = match self.parts {
            Parts::Line => 1,
            Parts::Cube { .. } => self.variables() as usize,
        };
        match defences.stand(Defence::CubeCoins) {
            true => (0..variables).map(|_| K::point(coins)).collect(),
            false => vec![K::point(coins); variables],
        }
    }

    /// A share of the claim at a point, from shares of what was dealt and of the claims; of those that join times
    /// their coins.
    pub fn claim<K: Extension>(
        self,
        mut all: Vec<K>,
        claims: &[K],
        joined: &[K],
        (point, lambdas): (&[K], &[K]),
    ) -> K {
        let mut rest = all.split_off(self.dealt_alone());
        let mut claim = match self.parts {
            Parts::Line => line(all, claims[0], point[0]),
            Parts::Cube { .. } => K::dot(&self.places(all, claims), &cube::places(point)),
        };
        for ((radix, joined), lambda) in self.joins.radices().zip(joined).zip(lambdas) {
            let others = rest.split_off(dealt(radix));
            let of = std::mem::replace(&mut rest, others);
            claim = claim.add(lambda.mul(line(of, *joined, point[0])));
        }
        claim
    }

    /// The values at all places of a cube. Of gates of two terms those of the first half of the corners are dealt:
    /// a claim is about a corner of either half.
    fn places<K: Extension>(self, dealt: Vec<K>, claims: &[K]) -> Vec<K> {
        let (mut dealt, mut corners) = (dealt.into_iter(), Vec::with_capacity(self.radix));
        let place = |corner: Option<usize>| {
            let value = match self.claimed(claims.len(), corner) {
                Some(at) => {
                    let first = (claims.len() < self.radix).then(|| corners[at]);
                    claims[at].sub(first.unwrap_or(K::ZERO))
                }
                None => dealt.next().expect("all other places are dealt"),
            };
            corners.extend(corner.map(|_| value));
            value
        };
        let all = cube::corner_of_places(self.radix);
        all.into_iter().map(place).collect()
    }

    /// What `u` and `v` at a point take each of their parts times.
    pub fn factors<K: Extension>(self, point: &[K]) -> [Vec<K>; 2] {
        match self.parts {
            Parts::Line => {
                let powers = point[0].powers(self.radix);
                let reversed = powers.iter().rev().copied().collect();
                [powers, reversed]
            }
            Parts::Cube { .. } => [cube::corners(point), cube::corners(point)],
        }
    }
}

/// The folds of a proof about so many gates and entries of products of each radix, the last one first.
pub(super) fn schedule<K: Extension>(
    terms: Terms,
    gates: usize,
    entries: &[usize; RADICES],
) -> Vec<Fold> {
    let mut folds = Vec::new();
    let joins = Joins::of(entries);
    let mut n = entries
        .iter()
        .fold(2usize, |n, more| n.saturating_add(*more));
    if gates == 0 && joins.cut() {
        folds.push(Fold::of_products(joins));
    }
    if gates > 0 {
        let shape = Shape::of::<K>(terms, gates);
        folds.push(Fold::first::<K>(terms, shape, joins));
        n += shape.len;
        let inner = Fold::of(n, K::inner_radix(n));
        folds.push(inner);
        n = (shape.segments - 1) * shape.len.div_ceil(inner.radix) + inner.len;
    }
    while n > 1 {
        let fold = Fold::of(n, K::radix(n));
        folds.push(fold);
        n = fold.len;
    }
    folds.reverse();
    folds
}
