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
//! Two choices: theta is a product `a_q b_c` of coins, so that the first fold works on elements of
//! the base; and the random entries that hide the last `u` and `v` are `(u*, 0)` and `(0, v*)`, for
//! which nothing need be dealt. A prover that dealt `u* v*` after it learnt theta could add to it
//! whatever its messages are off by.
//!
//! The claim about matrix products joins after the first fold, times a coin `lambda` that the prover
//! learns with the point: the coins of its compression are those of theta, which the prover has when
//! it deals the first fold, and what it then knows the claim to be off by it could deal away.
//!
//! Error: a sum of wrong messages vanishes under theta with probability at most `2 / P` for `P`
//! points, a fold of radix `r` saves a wrong claim with `(2 r - 2) / (P - 1)`: a polynomial of
//! degree `2 r - 2` that is not 0 has no more roots. A wrong claim about products is saved by one
//! `lambda` at most, `1 / P`. See docs/spec/falcon.md, sections 11.1 and 11.2, for the joins and
//! the sum.

#[cfg(test)]
mod tests;

use std::rc::Rc;

use tacit_algebra::Prg;
use tacit_algebra::extension::Extension;

use super::coins::Draw;
use super::defences::{Defence, Defences};
use super::gates::{Compress, Gates, Role, Terms};

/// What a proof is about.
pub(super) struct Statement<K: Extension> {
    pub gates: Option<Gates<K::Base>>,
    pub products: Vec<Box<dyn Compress<K>>>,
    /// Entries that the products add to the vectors.
    pub entries: usize,
}

/// A fold into `radix` parts of `len` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fold {
    pub radix: usize,
    pub len: usize,
}

impl Fold {
    /// Elements that the prover deals.
    pub fn dealt(self) -> usize {
        2 * self.radix - 2
    }
}

/// The folds of a proof about so many gates and entries of products, the last one first.
pub(super) fn schedule<K: Extension>(terms: Terms, gates: usize, entries: usize) -> Vec<Fold> {
    let mut folds = Vec::new();
    let mut n = 2 + entries;
    if gates > 0 {
        let halves = terms.entries();
        let blocks = K::base_radix(halves * gates) / halves;
        let len = gates.div_ceil(blocks).next_multiple_of(K::ALIGN);
        let radix = halves * gates.div_ceil(len);
        folds.push(Fold { radix, len });
        n += len;
    }
    while n > 1 {
        let len = n.div_ceil(K::radix(n));
        let radix = n.div_ceil(len);
        folds.push(Fold { radix, len });
        n = len;
    }
    folds.reverse();
    folds
}

/// A proof whatever its extension, for those that share hops. The calls of one proof are
/// `begin`, then `deal` or `take` and `fold` until nothing is left, then `last` and `check`.
pub(super) trait Run {
    /// Draws theta.
    fn begin(&mut self, seed: [u8; 16]);
    /// Folds that are left.
    fn folds(&self) -> usize;
    /// The prover's message to the left verifier.
    fn deal(&mut self) -> Vec<u8>;
    /// Bytes of that message.
    fn dealt_len(&self) -> usize;
    /// The shares of a verifier: the left one's from the message. `None` if it is none.
    fn take(&mut self, message: Option<&[u8]>) -> Option<()>;
    /// Folds at a point drawn from `coins`.
    fn fold(&mut self, coins: &mut Prg);
    /// A verifier's last element and its share of the last claim.
    fn last(&self) -> Vec<u8>;
    /// Bytes of that.
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

/// The coins of the first fold: theta of gate `q len + c` is `blocks[q] columns[c]`.
struct Theta<K: Extension> {
    blocks: Vec<K>,
    columns: K::Weights,
}

/// One party's end of a proof.
pub(super) struct Proof<K: Extension> {
    role: Role,
    statement: Rc<Statement<K>>,
    sources: Sources,
    /// What is left to fold, the next one last.
    folds: Vec<Fold>,
    theta: Option<Theta<K>>,
    /// What a role does not know is empty.
    u: Vec<K>,
    v: Vec<K>,
    /// A verifier's share.
    claim: K,
    /// The same of the products' claims, which [`Proof::join`] adds after the first fold.
    later: K,
    /// A verifier's shares of the coefficients of the fold at hand.
    coefficients: Vec<K>,
    defences: Defences,
}

impl<K: Extension> Proof<K> {
    pub fn new(
        role: Role,
        statement: &Rc<Statement<K>>,
        sources: Sources,
        defences: Defences,
    ) -> Self {
        let gates = statement.gates.as_ref();
        let (terms, n) = gates.map_or((Terms::Both, 0), |g| (g.terms, K::base_len(&g.left)));
        Proof {
            role,
            statement: statement.clone(),
            sources,
            folds: schedule::<K>(terms, n, statement.entries),
            theta: None,
            u: Vec::new(),
            v: Vec::new(),
            claim: K::ZERO,
            later: K::ZERO,
            coefficients: Vec::new(),
            defences,
        }
    }

    fn next(&self) -> Option<Fold> {
        self.folds.last().copied()
    }

    fn draws(&self, draw: Draw) {
        if self.role == Role::Prover {
            draw.now();
        }
    }

    fn knows_u(&self) -> bool {
        self.role != Role::Left
    }

    fn knows_v(&self) -> bool {
        self.role != Role::Right
    }

    /// The parts of `u` without theta, or those of `v`, over the base.
    fn base_parts(&self, gates: &Gates<K::Base>, fold: Fold) -> [Vec<K::Base>; 2] {
        let halves = gates.terms.entries();
        let parts = |first: &K::Base, second: &K::Base| {
            let blocks = (0..fold.radix / halves).map(|q| q * fold.len..(q + 1) * fold.len);
            let both = [first, second].into_iter().take(halves);
            both.flat_map(|x| blocks.clone().map(|block| K::base_part(x, block)))
                .collect()
        };
        let (x, y) = (&gates.x, &gates.y);
        let u = match self.role {
            Role::Prover => parts(&x.next, &y.next),
            Role::Right => parts(&x.own, &y.own),
            Role::Left => Vec::new(),
        };
        let v = match self.knows_v() {
            true => parts(self.role.component(y), self.role.component(x)),
            false => Vec::new(),
        };
        [u, v]
    }

    /// The coefficients of `<u(X), v(X)>` but that of the claim, from the inner products of all pairs
    /// of parts.
    fn coefficients(fold: Fold, products: &[K]) -> Vec<K> {
        let middle = fold.radix - 1;
        let mut all = vec![K::ZERO; 2 * fold.radix - 1];
        for (j, row) in products.chunks_exact(fold.radix).enumerate() {
            for (k, product) in row.iter().enumerate() {
                let at = j + middle - k;
                all[at] = all[at].add(*product);
            }
        }
        all.remove(middle);
        all
    }

    /// The fold at hand by the prover.
    fn products(&self, fold: Fold) -> Vec<K> {
        let (Some(theta), Some(gates)) = (&self.theta, &self.statement.gates) else {
            let products = K::products(&self.u, &self.v, fold.radix, fold.len);
            return Self::coefficients(fold, &products);
        };
        let [u, v] = self.base_parts(gates, fold);
        let mut products = K::weighted_products(&theta.columns, &u, &v);
        let blocks = theta.blocks.iter().cycle();
        for (row, block) in products.chunks_exact_mut(fold.radix).zip(blocks) {
            K::times_plus(row, *block, &[]);
        }
        Self::coefficients(fold, &products)
    }

    /// The vectors over the base at a point, followed by the entries of the products and those
    /// that hide the last ones.
    fn fold_base(&mut self, fold: Fold, theta: &Theta<K>, powers: &[K]) {
        let statement = self.statement.clone();
        let gates = statement.gates.as_ref().expect("theta is drawn for gates");
        let [u, v] = self.base_parts(gates, fold);
        if self.knows_u() {
            let blocks = theta.blocks.iter().cycle();
            let factors: Vec<K> = powers.iter().zip(blocks).map(|(p, a)| p.mul(*a)).collect();
            let mut folded = K::combine(&factors, &u);
            K::weigh(&mut folded, &theta.columns);
            self.u.splice(0..0, folded);
        }
        if self.knows_v() {
            let factors: Vec<K> = powers.iter().rev().copied().collect();
            self.v.splice(0..0, K::combine(&factors, &v));
        }
    }

    /// The claim about products, times a coin that comes after the first fold's message. It leaves
    /// the entries of the gates as they are, which are not there yet.
    fn join(&mut self, coins: &mut Prg) {
        if self.statement.products.is_empty() {
            return;
        }
        self.draws(Draw::Lambda);
        let lambda = match self.defences.stand(Defence::Join) {
            true => K::points(coins, 1)[0],
            false => K::ONE,
        };
        K::times_plus(&mut self.u, lambda, &[]);
        self.claim = self.claim.add(lambda.mul(self.later));
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
            Role::Left => self.v[0],
            _ => self.u[0],
        }
    }
}

impl<K: Extension> Run for Proof<K> {
    fn begin(&mut self, seed: [u8; 16]) {
        let mut coins = Prg::new(seed);
        let statement = self.statement.clone();
        if let Some(gates) = &statement.gates {
            let fold = *self.folds.last().expect("gates are folded");
            self.draws(Draw::Theta);
            let blocks = K::points(&mut coins, fold.radix / gates.terms.entries());
            let columns = K::weights(&mut coins, fold.len);
            let claimed = match self.role {
                Role::Left => Some(&gates.left),
                Role::Right => Some(&gates.right),
                Role::Prover => None,
            };
            if let Some(claimed) = claimed {
                let part = |q| K::base_part(claimed, q * fold.len..(q + 1) * fold.len);
                let parts: Vec<_> = (0..blocks.len()).map(part).collect();
                self.claim = K::dot(&blocks, &K::weighted_sums(&columns, &parts));
            }
            self.theta = Some(Theta { blocks, columns });
        }
        for product in &statement.products {
            self.draws(Draw::Compression);
            let compressed = product.compress(&mut coins, self.role);
            self.later = self.later.add(compressed.claim);
            self.u.extend(compressed.u);
            self.v.extend(compressed.v);
        }
        if self.theta.is_none() {
            self.claim = self.later;
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
        let shares: Vec<K> = products.iter().zip(masks).map(|(p, m)| p.sub(m)).collect();
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
        let point = K::point(coins);
        let powers = point.powers(2 * fold.radix - 1);
        if self.role != Role::Prover {
            let mut dealt = std::mem::take(&mut self.coefficients);
            dealt.insert(fold.radix - 1, self.claim);
            self.claim = K::dot(&dealt, &powers);
        }
        match self.theta.take() {
            Some(theta) => {
                self.join(coins);
                self.fold_base(fold, &theta, &powers[..fold.radix]);
                self.hide();
            }
            None => {
                self.u = match self.knows_u() {
                    true => K::fold(&self.u, fold.len, point),
                    false => Vec::new(),
                };
                self.v = match self.knows_v() {
                    true => K::fold_reversed(&self.v, fold.len, fold.radix, point),
                    false => Vec::new(),
                };
            }
        }
    }

    fn last(&self) -> Vec<u8> {
        K::to_wire(&[self.end(), self.claim])
    }

    fn last_len(&self) -> usize {
        K::wire_len(2)
    }

    fn check(&self, message: &[u8]) -> Option<bool> {
        let theirs = K::from_wire(message, 2)?;
        let product = self.end().mul(theirs[0]);
        Some(product == self.claim.add(theirs[1]))
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
