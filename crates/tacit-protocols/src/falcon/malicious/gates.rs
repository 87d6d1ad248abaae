//! What the parties have multiplied and not yet verified (docs/spec/falcon.md, section 8.2).
//!
//! Of `z_j = x_j y_j + x_{j+1} y_j + x_j y_{j+1} + F(K_{j+1}) - F(K_j)`, which party `j` sends to
//! party `j - 1`, each of the two others knows a part: the one before `z_j`, `x_j y_j` and
//! `F(K_j)`, the one after `F(K_{j+1})`. What they know adds up to `x_{j+1} y_j + x_j y_{j+1}`
//! exactly if the message was right.
//!
//! What one party can multiply alone is checked the same way with one term less: of
//! `z_j = x_{j+1} y_j - F(K_{j+1})` the one before knows `z_j`, the one after `F(K_{j+1})`. Of words such a
//! product is one of integers, as one factor is a bit, and is checked as such.

use tacit_algebra::extension::{Binary, Extension, Galois, Integer, Integers, Tower, size_of_ring};
use tacit_algebra::{Bits, Buffer, Ring};

use super::super::domain::Residues;
use super::products::Product;
use crate::call::RADICES;
use crate::replicated::{Booleans, Domain, Rss, Words};

/// A party's place in the proof of one party's messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ProofRole {
    /// The party that sent the messages.
    Prover,
    /// The party before the prover, who received them.
    Left,
    /// The party after the prover.
    Right,
}

impl ProofRole {
    /// The component of `x` that this role knows and the proof is about.
    pub fn component<T>(self, x: &Rss<T>) -> &T {
        match self {
            ProofRole::Left => &x.next,
            ProofRole::Prover | ProofRole::Right => &x.own,
        }
    }

    /// The component of `x` whose products with the other one the proof is about.
    pub fn other_component<T>(self, x: &Rss<T>) -> &T {
        match self {
            ProofRole::Prover => &x.next,
            ProofRole::Left | ProofRole::Right => &x.own,
        }
    }
}

/// What a message is a sum of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::falcon) enum Terms {
    /// `x_{j+1} y_j + x_j y_{j+1}`.
    Both,
    /// `x_{j+1} y_j`.
    One,
}

impl Terms {
    /// Entries of a gate in the vectors of a proof.
    pub const fn entries(self) -> usize {
        match self {
            Terms::Both => 2,
            Terms::One => 1,
        }
    }
}

/// Products element by element: operands, and what this party adds to the claims.
#[derive(Clone)]
pub(in crate::falcon) struct Gates<V> {
    pub terms: Terms,
    pub x: Rss<V>,
    pub y: Rss<V>,
    /// The factors of the second term where they are others than `y` and `x`.
    pub second: Option<[Rss<V>; 2]>,
    /// `z_j - x_j y_j + F(K_j)` for the next party's messages; of one term `z_j`.
    pub left: V,
    /// `-F(K_{j+1})` for the previous party's messages; of one term `F(K_{j+1})`.
    pub right: V,
}

impl<V> Gates<V> {
    /// The factors of the second term: what the right verifier knows one of, and the left one the other.
    pub fn second(&self) -> [&Rss<V>; 2] {
        self.second
            .as_ref()
            .map_or([&self.y, &self.x], <[_; 2]>::each_ref)
    }
}

/// A domain whose products can be verified over an extension.
pub(in crate::falcon) trait Verified<R: Ring>: Domain {
    /// The extension over which gates of this domain are verified.
    type Over: Extension<Base = Self::Vec>;
    /// The extension for what a party multiplies alone.
    type Alone: Extension;
    /// Whether such products are verified as integers, with their carries.
    const CARRIES: bool = false;

    /// Where a message and its mask add up to more than the ring holds, if that is verified.
    fn carries(_z: &Self::Vec, _mask: &Self::Vec) -> Option<Bits> {
        None
    }

    /// `-v`.
    fn negated(v: Self::Vec) -> Self::Vec {
        let mut out = Self::zeros(Self::len(&v));
        Self::sub_assign(&mut out, &v);
        out
    }

    /// `acc - x y`.
    fn take_product(acc: &mut Self::Vec, x: &Self::Vec, y: &Self::Vec) {
        Self::sub_assign(acc, &Self::Over::base_product(x, y));
    }

    /// Where the products of this domain wait.
    fn ledger(pending: &mut Pending<R>) -> &mut Vec<Gates<Self::Vec>>;

    /// The list in which gates wait that a party multiplied alone.
    fn alone(pending: &mut Pending<R>) -> &mut Vec<Gates<<Self::Alone as Extension>::Base>>;

    /// A factor of what a party multiplies alone, as its proof takes it.
    fn operand(v: &Self::Vec) -> <Self::Alone as Extension>::Base;

    /// [`Verified::operand`] of bits, which a proof may take less time for.
    fn operand_of_bits(bits: &Bits) -> <Self::Alone as Extension>::Base;

    /// Products that parties multiplied alone, for their proofs.
    fn gates_alone(
        operands: [Rss<<Self::Alone as Extension>::Base>; 2],
        kept: Kept<Self::Vec>,
    ) -> Gates<<Self::Alone as Extension>::Base>;

    /// Both sides' claims on `z` from the components of operands and masks `F(K_i), F(K_{i+1})`.
    fn gates(
        x: Rss<Self::Vec>,
        y: Rss<Self::Vec>,
        received: &Self::Vec,
        masks: Rss<Self::Vec>,
    ) -> Gates<Self::Vec> {
        let mut left = masks.next;
        Self::add_assign(&mut left, received);
        Self::take_product(&mut left, &x.next, &y.next);
        Gates {
            terms: Terms::Both,
            right: Self::negated(masks.own),
            x,
            y,
            second: None,
            left,
        }
    }
}

/// What this party adds to the claims about products that each party multiplied alone.
pub(in crate::falcon) struct Kept<V> {
    /// What `z + F` is made of, of the next party's messages; `right` has that of the previous one's.
    pub left: Option<V>,
    pub right: Option<V>,
    /// The masks of carries: of the previous party's, and of its own.
    pub masks: Rss<Option<Bits>>,
    /// The masked carries: its own, and the next party's.
    pub carries: Rss<Option<Bits>>,
}

impl<V> Kept<V> {
    /// A store in which nothing is kept yet.
    pub fn new() -> Self {
        Kept {
            left: None,
            right: None,
            masks: Rss::default(),
            carries: Rss::default(),
        }
    }

    /// What either call has kept.
    pub fn or(self, o: Self) -> Self {
        let either = |a: Rss<Option<Bits>>, b: Rss<Option<Bits>>| Rss {
            own: a.own.or(b.own),
            next: a.next.or(b.next),
        };
        Kept {
            left: self.left.or(o.left),
            right: self.right.or(o.right),
            masks: either(self.masks, o.masks),
            carries: either(self.carries, o.carries),
        }
    }
}

const ONCE: &str = "every party is a prover once";

/// Gates of one term, as they are.
fn one_term<V>([x, y]: [Rss<V>; 2], kept: Kept<V>) -> Gates<V> {
    Gates {
        terms: Terms::One,
        x,
        y,
        second: None,
        left: kept.left.expect(ONCE),
        right: kept.right.expect(ONCE),
    }
}

impl<R: Ring> Verified<R> for Words<R> {
    type Over = Galois<R>;
    type Alone = Integer;
    const CARRIES: bool = true;

    fn carries(z: &Buffer<R>, mask: &Buffer<R>) -> Option<Bits> {
        Some(z.exceeds(mask))
    }

    fn ledger(pending: &mut Pending<R>) -> &mut Vec<Gates<Buffer<R>>> {
        &mut pending.words
    }

    fn alone(pending: &mut Pending<R>) -> &mut Vec<Gates<Integers>> {
        &mut pending.integers
    }

    fn operand(v: &Buffer<R>) -> Integers {
        Integers::of_words(v)
    }

    fn operand_of_bits(bits: &Bits) -> Integers {
        Integers::of_bits(bits.clone(), 1)
    }

    /// As integers `z + F = x_{j+1} y_j + L c` with the carry `c = k xor t`, of which the right verifier
    /// knows the mask `k` and the left one `t`: `(z - L t) + (F - L k) = x_{j+1} y_j + (-2 L k) t`.
    fn gates_alone([x, y]: [Rss<Integers>; 2], kept: Kept<Buffer<R>>) -> Gates<Integers> {
        let bits = |x: Rss<Option<Bits>>| x.map(|bits| bits.clone().expect(ONCE));
        let (masks, carries) = (bits(kept.masks), bits(kept.carries));
        let times = |x: &Rss<Bits>, factor| x.map(|bits| Integers::of_bits(bits.clone(), factor));
        Gates {
            terms: Terms::Both,
            x,
            y,
            second: Some([times(&masks, -2 * size_of_ring::<R>()), times(&carries, 1)]),
            left: Integers::less(&kept.left.expect(ONCE), carries.next),
            right: Integers::less(&kept.right.expect(ONCE), masks.own),
        }
    }
}

impl<R: Ring> Verified<R> for Booleans {
    type Over = Binary;
    type Alone = Binary;

    fn negated(v: Bits) -> Bits {
        v
    }

    fn take_product(acc: &mut Bits, x: &Bits, y: &Bits) {
        acc.xor_and_assign(x, y);
    }

    fn ledger(pending: &mut Pending<R>) -> &mut Vec<Gates<Bits>> {
        &mut pending.bits
    }

    fn alone(pending: &mut Pending<R>) -> &mut Vec<Gates<Bits>> {
        &mut pending.bits
    }

    fn operand(v: &Bits) -> Bits {
        v.clone()
    }

    fn operand_of_bits(bits: &Bits) -> Bits {
        bits.clone()
    }

    fn gates_alone(operands: [Rss<Bits>; 2], kept: Kept<Bits>) -> Gates<Bits> {
        one_term(operands, kept)
    }
}

impl<R: Ring, S: Ring> Verified<R> for Residues<S> {
    type Over = Tower<S::Field>;
    type Alone = Tower<S::Field>;

    fn ledger(pending: &mut Pending<R>) -> &mut Vec<Gates<Buffer<u8>>> {
        if S::PRIME == R::PRIME {
            &mut pending.residues
        } else {
            &mut pending.narrow_residues
        }
    }

    fn alone(pending: &mut Pending<R>) -> &mut Vec<Gates<Buffer<u8>>> {
        Self::ledger(pending)
    }

    fn operand(v: &Buffer<u8>) -> Buffer<u8> {
        v.clone()
    }

    fn operand_of_bits(bits: &Bits) -> Buffer<u8> {
        bits.residues_of()
    }

    fn gates_alone(operands: [Rss<Buffer<u8>>; 2], kept: Kept<Buffer<u8>>) -> Gates<Buffer<u8>> {
        one_term(operands, kept)
    }
}

/// All products that wait to be verified.
pub(in crate::falcon) struct Pending<R> {
    pub bits: Vec<Gates<Bits>>,
    pub residues: Vec<Gates<Buffer<u8>>>,
    /// Residues of signs that are narrower than the ring.
    pub narrow_residues: Vec<Gates<Buffer<u8>>>,
    pub words: Vec<Gates<Buffer<R>>>,
    /// Words times bits, as integers.
    pub integers: Vec<Gates<Integers>>,
    pub products: Vec<Product<R>>,
    /// The entries of products of each radix, at a party that counts.
    pub entries: [usize; RADICES],
}

impl<R: Ring> Pending<R> {
    pub fn new() -> Self {
        Pending {
            bits: Vec::new(),
            residues: Vec::new(),
            narrow_residues: Vec::new(),
            words: Vec::new(),
            integers: Vec::new(),
            products: Vec::new(),
            entries: [0; RADICES],
        }
    }
}
