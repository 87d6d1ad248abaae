//! The gates of a proof, segment by segment (docs/spec/falcon.md, section 8.3): as they were recorded
//! until the second fold, since elements of the extension take many times the room.
//!
//! Every segment is folded by itself, at the points of the whole proof, and is written out in elements when it is
//! needed, so that what is in use stays in the processor's cache. Of bits and integers, whose elements are
//! short, the prover keeps what it has dealt the second fold of until it folds it.

use std::ops::Range;
use std::rc::Rc;

use tacit_algebra::Prg;
use tacit_algebra::extension::{Extension, cube};

use super::defences::{Defence, Defences};
use super::gates::{Gates, ProofRole, Terms};

/// The most gates of a segment: with what is made of it, it fits a cache.
pub(super) const fn segment<K: Extension>(terms: Terms) -> usize {
    K::SEGMENT / terms.entries()
}

/// How the gates of a proof are laid out: segments of as many blocks of `len` each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub segments: usize,
    pub blocks: usize,
    pub len: usize,
}

impl Shape {
    /// The layout of so many gates, at least one.
    pub fn of<K: Extension>(terms: Terms, gates: usize) -> Self {
        let each = gates.div_ceil(gates.div_ceil(segment::<K>(terms)));
        let [blocks, len] = K::blocks(each, terms.entries());
        Shape {
            segments: gates.div_ceil(blocks * len),
            blocks,
            len,
        }
    }

    /// Gates of a segment.
    fn gates(self) -> usize {
        self.blocks * self.len
    }
}

/// The gates of one proof: some of those that were recorded.
pub(super) struct Span<K: Extension> {
    pub terms: Terms,
    pub shape: Shape,
    recorded: Rc<Vec<Gates<K::Base>>>,
    range: Range<usize>,
}

impl<K: Extension> Span<K> {
    /// All that were recorded, of the same terms, for as few proofs as there may be.
    pub fn all(terms: Terms, recorded: Vec<Gates<K::Base>>) -> Vec<Self> {
        let n: usize = recorded.iter().map(|g| K::base_len(&g.left)).sum();
        let most = segment::<K>(terms).saturating_mul(K::SEGMENTS);
        let recorded = Rc::new(recorded);
        let span = |start: usize| {
            let range = start..n.min(start.saturating_add(most));
            Span {
                terms,
                shape: Shape::of::<K>(terms, range.len()),
                recorded: recorded.clone(),
                range,
            }
        };
        (0..n).step_by(most).map(span).collect()
    }

    /// The number of gates.
    pub fn gates(&self) -> usize {
        self.range.len()
    }

    /// One of a segment's vectors, zeros at its end.
    fn part(&self, segment: usize, pick: impl Fn(&Gates<K::Base>) -> &K::Base) -> K::Base {
        let all: Vec<_> = self.recorded.iter().map(pick).collect();
        let each = self.shape.gates();
        let start = self.range.start + segment * each;
        let end = self.range.end.min(start + each);
        let part = K::base_gather(&all, start..end);
        match end - start == each {
            true => part,
            false => K::base_part(&part, 0..each),
        }
    }

    /// A segment of `u` over the base, without theta.
    fn u(&self, role: ProofRole, segment: usize) -> Vec<K::Base> {
        let first = self.part(segment, |gates| role.other_component(&gates.x));
        let second = || self.part(segment, |gates| role.other_component(gates.second()[0]));
        match self.terms {
            Terms::Both => vec![first, second()],
            Terms::One => vec![first],
        }
    }

    /// A segment of `v` over the base.
    fn v(&self, role: ProofRole, segment: usize) -> Vec<K::Base> {
        let first = self.part(segment, |gates| role.component(&gates.y));
        let second = || self.part(segment, |gates| role.component(gates.second()[1]));
        match self.terms {
            Terms::Both => vec![first, second()],
            Terms::One => vec![first],
        }
    }
}

/// The coins of the first fold: theta of a column of block `q` is the product of the block's and the column's;
/// every segment has columns of its own. The blocks of a cube, about each of which there is a claim, need none.
pub(super) struct Theta<K: Extension> {
    blocks: Vec<K>,
    /// The coins of the columns, of each segment.
    columns: Vec<K::Weights>,
}

impl<K: Extension> Theta<K> {
    pub fn draw(coins: &mut Prg, shape: Shape, defences: Defences) -> Self {
        let blocks = match K::CUBE {
            true => vec![K::ONE; shape.blocks],
            false => K::points(coins, shape.blocks),
        };
        let mut columns = vec![K::weights(coins, shape.len)];
        for _ in 1..shape.segments {
            columns.push(match defences.stand(Defence::SegmentCoins) {
                true => K::weights(coins, shape.len),
                false => columns[0].clone(),
            });
        }
        Theta { blocks, columns }
    }

    /// A verifier's share of the claim about all gates; of a cube, of the claims about each block.
    pub fn claims(&self, span: &Span<K>, role: ProofRole) -> Vec<K> {
        let mut sums = vec![K::ZERO; self.blocks.len()];
        for (segment, columns) in self.columns.iter().enumerate() {
            let claimed = span.part(segment, |gates| match role {
                ProofRole::Left => &gates.left,
                _ => &gates.right,
            });
            let more = K::block_sums(columns, self.blocks.len(), &claimed);
            add(&mut sums, &more);
        }
        match K::CUBE {
            true => sums,
            false => vec![K::dot(&self.blocks, &sums)],
        }
    }

    /// The coefficients of the inner product of the parts of a line, or what it is at all places of a cube, summed over
    /// the segments.
    pub fn products(&self, span: &Span<K>) -> Vec<K> {
        let blocks = self.blocks.len();
        let of = |(segment, columns)| {
            let (u, v) = (
                span.u(ProofRole::Prover, segment),
                span.v(ProofRole::Prover, segment),
            );
            match K::CUBE {
                true => K::cube_products(columns, blocks, &u, &v),
                false => K::block_products(columns, blocks, &u, &v),
            }
        };
        let segments = self.columns.iter().enumerate().map(of);
        let mut sums = segments.reduce(added).expect("there is a segment");
        if K::CUBE {
            return sums;
        }
        let radix = span.terms.entries() * blocks;
        let factors = self.blocks.iter().cycle();
        for (row, factor) in sums.chunks_exact_mut(radix).zip(factors) {
            K::times_plus(row, *factor, &[]);
        }
        cube::by_distance(&sums, radix)
    }
}

/// `a + b`, element by element.
fn added<K: Extension>(mut a: Vec<K>, b: Vec<K>) -> Vec<K> {
    add(&mut a, &b);
    a
}

/// `a += b`, element by element.
pub(super) fn add<K: Extension>(a: &mut [K], b: &[K]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a = a.add(*b));
}

/// The vectors at the first fold's point, not written out.
pub(super) struct Folded<K: Extension> {
    theta: Theta<K>,
    /// The factors of the blocks of `u` and `v`.
    u: Vec<K>,
    v: Vec<K>,
}

impl<K: Extension> Folded<K> {
    /// Folded vectors, from the factors that the point says for the parts of `u` and of `v`.
    pub fn new(theta: Theta<K>, [u, v]: [Vec<K>; 2]) -> Self {
        let blocks = theta.blocks.iter().cycle();
        let u = u.iter().zip(blocks).map(|(p, a)| p.mul(*a)).collect();
        Folded { theta, u, v }
    }

    /// A segment of `u`.
    pub fn u(&self, span: &Span<K>, role: ProofRole, segment: usize) -> Vec<K> {
        let theta = &self.theta;
        let mut u = K::combine_blocks(&self.u, theta.blocks.len(), &span.u(role, segment));
        K::weigh(&mut u, &theta.columns[segment]);
        u
    }

    /// A segment of `v`.
    pub fn v(&self, span: &Span<K>, role: ProofRole, segment: usize) -> Vec<K> {
        K::combine_blocks(&self.v, self.theta.blocks.len(), &span.v(role, segment))
    }
}
