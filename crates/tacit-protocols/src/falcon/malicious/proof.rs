//! One inner-product proof (docs/spec/falcon.md, section 8.3; Boneh, Boyle, Corrigan-Gibbs, Gilboa,
//! Ishai, "Zero-Knowledge Proofs on Secret-Shared Data via Fully Linear PCPs", CRYPTO 2019), as one
//! of its three parties sees it.
//!
//! The prover's messages are right exactly if two numbers that its verifiers know add up to
//! `x_{j+1} y_j + x_j y_{j+1}`, element by element. With coins `theta` that is the claim
//! `<u, v>` with `u = (theta x_{j+1} | theta y_{j+1})`, known to the right verifier, and
//! `v = (y_j | x_j)`, known to the left one; the prover knows both. Of gates of one term the second
//! halves are missing. A fold cuts `u` and `v` into
//! `r` parts, `u(X) = sum u_j X^j` and `v(X) = sum v_j X^{r-1-j}`: the claim is coefficient
//! `r - 1` of `<u(X), v(X)>`. The prover deals additive shares of the `2 r - 2` others, and at a
//! point that it learns afterwards `u`, `v` and the claim are evaluated. When one element is left
//! the verifiers tell each other what they have.
//!
//! Two choices: theta is a product of coins of the block and the column (`proof_segments.rs`), so
//! that the first fold works on elements of the base; and the random entries that hide the last `u`
//! and `v` are `(u*, 0)` and `(0, v*)`, for which nothing need be dealt. A prover that dealt `u* v*`
//! after it learnt theta could add to it whatever its messages are off by.
//!
//! The claims about matrix products join after the first fold, each times a coin `lambda` that the prover
//! learns with the point: the coins of their compression are those of theta, which the prover has when
//! it deals the first fold, and what it then knows a claim to be off by it could deal away (`joins.rs`).
//!
//! Over bits the first fold is another: its parts are the corners of a cube (`fold.rs`).
//!
//! Error: a sum of wrong messages vanishes under theta with probability at most `2 / P` for `P`
//! points; a fold of radix `r` saves a wrong claim with
//! `(2 r - 2) / (P - 1)`: a polynomial of degree `2 r - 2` that is not 0 has no more roots. A wrong
//! claim about products is saved by one `lambda` at most, `1 / P`. See docs/spec/falcon.md, sections
//! 11.1 and 11.2, for the joins and the sum.

#[cfg(test)]
mod tests;

use std::rc::Rc;

use tacit_algebra::Prg;
use tacit_algebra::extension::Extension;

use super::coins::Draw;
use super::defences::{Defence, Defences};
use super::fold::{Fold, schedule};
use super::gates::{ProofRole, Terms};
use super::joins::{Join, Joins, lambdas};
use super::products::Linear;
use super::proof_segments::{Folded, Span, Theta, add};

/// What a proof is about.
pub(super) struct Statement<K: Extension> {
    pub gates: Option<Span<K>>,
    pub linear: Linear<K>,
}

/// A proof whatever its extension, for those that share hops. The calls of one proof are
/// `begin`, then `deal` or `take` and `fold` until nothing is left, then `last` and `check`.
pub(super) trait Run {
    /// Draws theta, the coins of the first fold, from `seed`.
    fn begin(&mut self, seed: [u8; 16]);
    /// Folds that are left.
    fn folds(&self) -> usize;
    /// The prover's message to the left verifier.
    fn deal(&mut self) -> Vec<u8>;
    /// Bytes of the prover's message to the left verifier.
    fn dealt_len(&self) -> usize;
    /// The shares of a verifier: the left one's from the message. `None` if it is none.
    fn take(&mut self, message: Option<&[u8]>) -> Option<()>;
    /// Folds at a point drawn from `coins`.
    fn fold(&mut self, coins: &mut Prg);
    /// A verifier's last element and its share of the last claim.
    fn last(&self) -> Vec<u8>;
    /// Bytes of a verifier's last message.
    fn last_len(&self) -> usize;
    /// Whether the other verifier's last message fits; `None` if it is no message.
    fn check(&self, message: &[u8]) -> Option<bool>;
    /// The proof itself, for attacks.
    #[cfg(test)]
    fn any(&mut self) -> &mut dyn std::any::Any;
    /// Elements that the prover deals in each fold.
    #[cfg(test)]
    fn dealt(&self) -> Vec<usize>;
}

/// The generators that a proof takes from pairs of its parties; each lacks one of them.
pub(super) struct Sources {
    /// Common to the prover and the left verifier.
    pub left: Option<Prg>,
    /// Common to the prover and the right verifier.
    pub right: Option<Prg>,
}

/// The vectors of the gates until they are written out.
enum Gated<K: Extension> {
    /// No gates are there, or none any more.
    Nothing,
    /// The gates' vectors over the base, before the first fold.
    Blocks(Theta<K>),
    /// The gates' vectors before the second fold; the prover, once it has dealt that, may have each segment of `u` and
    /// `v` written out.
    Segments(Folded<K>, Vec<[Vec<K>; 2]>),
}

/// One party's end of a proof.
pub(super) struct Proof<K: Extension> {
    role: ProofRole,
    statement: Rc<Statement<K>>,
    sources: Sources,
    /// What is left to fold, the next one last.
    folds: Vec<Fold>,
    gated: Gated<K>,
    /// The vectors `u` and `v`, empty where this role does not know them. While gates are left, only the
    /// entries that follow the gates'.
    u: Vec<K>,
    v: Vec<K>,
    /// A verifier's share of the claim; those of the blocks before a fold of a cube.
    claims: Vec<K>,
    /// The claims about matrix products, which join after the first fold.
    joins: Vec<Join<K>>,
    /// A verifier's shares of the coefficients of the fold at hand.
    coefficients: Vec<K>,
    defences: Defences,
}

impl<K: Extension> Proof<K> {
    pub fn new(
        role: ProofRole,
        statement: &Rc<Statement<K>>,
        sources: Sources,
        defences: Defences,
    ) -> Self {
        let span = statement.gates.as_ref();
        let (terms, n) = span.map_or((Terms::Both, 0), |span| (span.terms, span.gates()));
        Proof {
            role,
            statement: statement.clone(),
            sources,
            folds: schedule::<K>(terms, n, &statement.linear.entries),
            gated: Gated::Nothing,
            u: Vec::new(),
            v: Vec::new(),
            claims: vec![K::ZERO],
            joins: Vec::new(),
            coefficients: Vec::new(),
            defences,
        }
    }

    fn next(&self) -> Option<Fold> {
        self.folds.last().copied()
    }

    fn draws(&self, draw: Draw) {
        if self.role == ProofRole::Prover {
            draw.now();
        }
    }

    fn knows_u(&self) -> bool {
        self.role != ProofRole::Left
    }

    fn knows_v(&self) -> bool {
        self.role != ProofRole::Right
    }

    /// The gates; there are some.
    fn span(&self) -> &Span<K> {
        let span = self.statement.gates.as_ref();
        span.expect("theta is drawn for gates")
    }

    /// A segment of `u` at the first point; the last one has what follows.
    fn segment_of_u(&self, folded: &Folded<K>, segment: usize) -> Vec<K> {
        let mut u = folded.u(self.span(), self.role, segment);
        if segment + 1 == self.span().shape.segments {
            u.extend_from_slice(&self.u);
        }
        u
    }

    /// A segment of `v` at the first point; the last one has the entries that follow the gates'.
    fn segment_of_v(&self, folded: &Folded<K>, segment: usize) -> Vec<K> {
        let mut v = folded.v(self.span(), self.role, segment);
        if segment + 1 == self.span().shape.segments {
            v.extend_from_slice(&self.v);
        }
        v
    }

    /// The fold at hand by the prover: the coefficients of a line, or the places of a cube.
    fn products(&mut self, fold: Fold) -> Vec<K> {
        match &self.gated {
            // Nothing has been folded yet, and there are no gates.
            Gated::Nothing if !self.joins.is_empty() => vec![K::ZERO],
            Gated::Nothing => K::line_products(&self.u, &self.v, fold.radix, fold.len),
            Gated::Blocks(theta) => theta.products(self.span()),
            Gated::Segments(folded, _) => {
                let mut sums = vec![K::ZERO; 2 * fold.radix - 1];
                let of = |segment| {
                    let u = self.segment_of_u(folded, segment);
                    let v = self.segment_of_v(folded, segment);
                    let len = u.len().div_ceil(fold.radix);
                    add(&mut sums, &K::line_products(&u, &v, fold.radix, len));
                    // Elements of the others take many times the room.
                    (K::SEGMENTS > 1).then_some([u, v])
                };
                let all = (0..self.span().shape.segments).filter_map(of).collect();
                if let Gated::Segments(_, written) = &mut self.gated {
                    *written = all;
                }
                sums
            }
        }
    }

    /// The vectors at the second point, a segment after the other.
    fn write_out(&mut self, fold: Fold, folded: &Folded<K>, written: Vec<[Vec<K>; 2]>, point: K) {
        let shape = self.span().shape;
        let all = (shape.segments - 1) * shape.len.div_ceil(fold.radix) + fold.len;
        let room = |known: bool| Vec::with_capacity(if known { all } else { 0 });
        let (mut u, mut v) = (room(self.knows_u()), room(self.knows_v()));
        let mut written = written.into_iter();
        for segment in 0..shape.segments {
            let [part_of_u, part_of_v] = written.next().map_or([None, None], |both| both.map(Some));
            if self.knows_u() {
                let part = part_of_u.unwrap_or_else(|| self.segment_of_u(folded, segment));
                u.extend(K::fold(&part, part.len().div_ceil(fold.radix), point));
            }
            if self.knows_v() {
                let part = part_of_v.unwrap_or_else(|| self.segment_of_v(folded, segment));
                let len = part.len().div_ceil(fold.radix);
                v.extend(K::fold_reversed(&part, len, fold.radix, point));
            }
        }
        (self.u, self.v) = (u, v);
    }

    /// The entries `(u*, 0)` and `(0, v*)`.
    fn hide(&mut self) {
        let hides = self.defences.stand(Defence::Hiding);
        let star = |source: &mut Option<Prg>| {
            let prg = source.as_mut().expect("this role has the source");
            if hides { K::random(prg, 1)[0] } else { K::ZERO }
        };
        if self.knows_u() {
            let star = star(&mut self.sources.right);
            self.u.extend([star, K::ZERO]);
        }
        if self.knows_v() {
            let star = star(&mut self.sources.left);
            self.v.extend([K::ZERO, star]);
        }
    }

    /// The last elements: `u` of the right verifier, `v` of the left one.
    fn end(&self) -> K {
        match self.role {
            ProofRole::Left => self.v[0],
            _ => self.u[0],
        }
    }
}

impl<K: Extension> Run for Proof<K> {
    fn begin(&mut self, seed: [u8; 16]) {
        let mut coins = Prg::new(seed);
        let statement = self.statement.clone();
        if let Some(span) = &statement.gates {
            self.draws(Draw::Theta);
            let theta = Theta::draw(&mut coins, span.shape, self.defences);
            if self.role != ProofRole::Prover {
                self.claims = theta.claims(span, self.role);
            }
            self.gated = Gated::Blocks(theta);
        }
        let entries = statement.linear.entries.iter().sum::<usize>() + 2;
        self.u.reserve(if self.knows_u() { entries } else { 0 });
        self.v.reserve(if self.knows_v() { entries } else { 0 });
        let joins = Joins::of(&statement.linear.entries);
        self.joins = joins.claims();
        for product in &statement.linear.products {
            self.draws(Draw::Compression);
            let known = (self.role, self.defences);
            let radix = 1 << product.place();
            let mut all = self.joins.iter_mut();
            let join = all.find(|join| join.radix == radix);
            let join = join.expect("the statement counts the entries of its products");
            let vectors = [&mut self.u, &mut self.v];
            join.add(product.as_ref(), &mut coins, known, vectors);
        }
        if statement.gates.is_none() && !joins.cut() {
            self.claims = self.joins.drain(..).map(|join| join.claim).collect();
            self.hide();
        }
    }

    fn folds(&self) -> usize {
        self.folds.len()
    }

    fn deal(&mut self) -> Vec<u8> {
        let fold = self.next().expect("there is a fold to deal for");
        let right = self
            .sources
            .right
            .as_mut()
            .expect("the prover has the source");
        let masks = K::random(right, fold.dealt());
        let products = self.products(fold);
        let mut dealt = fold.coefficients(products);
        dealt.extend(self.joins.iter().flat_map(Join::coefficients));
        let shares: Vec<K> = dealt.iter().zip(masks).map(|(p, m)| p.sub(m)).collect();
        K::to_wire(&shares)
    }

    fn dealt_len(&self) -> usize {
        self.next().map_or(0, |fold| K::wire_len(fold.dealt()))
    }

    fn take(&mut self, message: Option<&[u8]>) -> Option<()> {
        let dealt = self.next()?.dealt();
        let shares = match message {
            Some(bytes) => K::from_wire(bytes, dealt)?,
            None => K::random(self.sources.right.as_mut()?, dealt),
        };
        self.coefficients.extend(shares);
        Some(())
    }

    fn fold(&mut self, coins: &mut Prg) {
        let fold = self.folds.pop().expect("there is a fold");
        self.draws(Draw::Point);
        let point = fold.point(coins, self.defences);
        let joins = std::mem::take(&mut self.joins);
        joins.iter().for_each(|_| self.draws(Draw::Lambda));
        let lambdas = lambdas(coins, fold.joins, self.defences);
        if self.role != ProofRole::Prover {
            let dealt = std::mem::take(&mut self.coefficients);
            let joined: Vec<K> = joins.iter().map(|join| join.claim).collect();
            self.claims = vec![fold.claim(dealt, &self.claims, &joined, (&point, &lambdas))];
        }
        let cut = joins.iter().any(|join| join.radix > 1);
        for (join, lambda) in joins.into_iter().zip(lambdas) {
            join.fold(self.role, point[0], lambda, [&mut self.u, &mut self.v]);
        }
        match std::mem::replace(&mut self.gated, Gated::Nothing) {
            Gated::Blocks(theta) => {
                let folded = Folded::new(theta, fold.factors(&point));
                self.gated = Gated::Segments(folded, Vec::new());
                self.hide();
            }
            Gated::Nothing if cut => self.hide(),
            Gated::Segments(folded, written) => self.write_out(fold, &folded, written, point[0]),
            Gated::Nothing => {
                self.u = match self.knows_u() {
                    true => K::fold(&self.u, fold.len, point[0]),
                    false => Vec::new(),
                };
                self.v = match self.knows_v() {
                    true => K::fold_reversed(&self.v, fold.len, fold.radix, point[0]),
                    false => Vec::new(),
                };
            }
        }
    }

    fn last(&self) -> Vec<u8> {
        K::to_wire(&[self.end(), self.claims[0]])
    }

    fn last_len(&self) -> usize {
        K::wire_len(2)
    }

    fn check(&self, message: &[u8]) -> Option<bool> {
        let theirs = K::from_wire(message, 2)?;
        let product = self.end().mul(theirs[0]);
        Some(product == self.claims[0].add(theirs[1]))
    }

    #[cfg(test)]
    fn any(&mut self) -> &mut dyn std::any::Any {
        self
    }

    #[cfg(test)]
    fn dealt(&self) -> Vec<usize> {
        self.folds.iter().rev().map(|fold| fold.dealt()).collect()
    }
}
