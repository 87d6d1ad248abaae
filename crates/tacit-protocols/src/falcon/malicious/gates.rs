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

use tacit_algebra::extension::{
    Binary, Extension, Galois, Integer, Integers, Tower, product_side, size_of_ring,
};
use tacit_algebra::{BatchMatMul, Bits, Buffer, Conv2d, Prg, Ring};

use super::super::domain::Residues;
use crate::bilinear::Bilinear;
use crate::replicated::{Booleans, Domain, Rss, Words};

/// A party's place in the proof of one party's messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Sent the messages.
    Prover,
    /// The party before the prover, who received them.
    Left,
    /// The party after the prover.
    Right,
}

impl Role {
    /// The component of `x` that this role knows and the proof is about.
    pub fn component<T>(self, x: &Rss<T>) -> &T {
        match self {
            Role::Left => &x.next,
            Role::Prover | Role::Right => &x.own,
        }
    }

    /// The component of `x` whose products with the other one the proof is about.
    pub fn other_component<T>(self, x: &Rss<T>) -> &T {
        match self {
            Role::Prover => &x.next,
            Role::Left | Role::Right => &x.own,
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
    /// The extension.
    type Over: Extension<Base = Self::Vec>;
    /// The extension for what a party multiplies alone.
    type Alone: Extension;
    /// Whether such products are verified as integers, with their carries.
    const CARRIES: bool = false;

    /// Where a message and its mask add up to more than the ring holds, if that is verified.
    fn carries(_z: &Self::Vec, _mask: &Self::Vec) -> Option<Bits> {
        None
    }

    /// Where the products of this domain wait.
    fn ledger(pending: &mut Pending<R>) -> &mut Vec<Gates<Self::Vec>>;

    /// Where those wait that a party multiplied alone.
    fn alone(pending: &mut Pending<R>) -> &mut Vec<Gates<<Self::Alone as Extension>::Base>>;

    /// Products that parties multiplied alone, for their proofs.
    fn gates_alone(
        operands: [Rss<Self::Vec>; 2],
        kept: Kept<Self::Vec>,
    ) -> Gates<<Self::Alone as Extension>::Base>;

    /// Both sides' claims on `z` from the components of operands and masks `F(K_i), F(K_{i+1})`.
    fn gates(
        x: Rss<Self::Vec>,
        y: Rss<Self::Vec>,
        received: &Self::Vec,
        masks: &Rss<Self::Vec>,
    ) -> Gates<Self::Vec> {
        let mut left = received.clone();
        Self::add_assign(&mut left, &masks.next);
        Self::sub_assign(&mut left, &Self::Over::base_product(&x.next, &y.next));
        Gates {
            terms: Terms::Both,
            right: negated::<Self>(&masks.own),
            x,
            y,
            second: None,
            left,
        }
    }
}

/// `-v`.
fn negated<D: Domain + ?Sized>(v: &D::Vec) -> D::Vec {
    let mut out = D::zeros(D::len(v));
    D::sub_assign(&mut out, v);
    out
}

/// What this party adds to the claims about products that each party multiplied alone.
pub(in crate::falcon) struct Kept<V> {
    /// Of the next party's messages, and of the previous one's: what `z + F` is made of.
    pub left: Option<V>,
    pub right: Option<V>,
    /// The masks of carries: of the previous party's, and of its own.
    pub masks: Rss<Option<Bits>>,
    /// The masked carries: its own, and the next party's.
    pub carries: Rss<Option<Bits>>,
}

impl<V> Kept<V> {
    /// Nothing yet.
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

    /// As integers `z + F = x_{j+1} y_j + L c` with the carry `c = k xor t`, of which the right verifier
    /// knows the mask `k` and the left one `t`: `(z - L t) + (F - L k) = x_{j+1} y_j + (-2 L k) t`.
    fn gates_alone(operands: [Rss<Buffer<R>>; 2], kept: Kept<Buffer<R>>) -> Gates<Integers> {
        let [x, y] = operands.map(|x| x.map(Integers::of_words));
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

    fn ledger(pending: &mut Pending<R>) -> &mut Vec<Gates<Bits>> {
        &mut pending.bits
    }

    fn alone(pending: &mut Pending<R>) -> &mut Vec<Gates<Bits>> {
        &mut pending.bits
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

    fn gates_alone(operands: [Rss<Buffer<u8>>; 2], kept: Kept<Buffer<u8>>) -> Gates<Buffer<u8>> {
        one_term(operands, kept)
    }
}

/// Matrix products or a convolution of ring elements, without their bias.
pub(in crate::falcon) struct Product<R> {
    map: Bilinear,
    x: Rss<Buffer<R>>,
    w: Rss<Buffer<R>>,
    /// `z_j + F(K_j)` for the next party's message.
    left: Buffer<R>,
    /// `-F(K_{j+1})` for the previous party's message.
    right: Buffer<R>,
}

impl<R: Ring> Product<R> {
    /// From the operands, the message received and the masks `F(K_i), F(K_{i+1})`.
    pub fn new(
        map: Bilinear,
        x: Rss<Buffer<R>>,
        w: Rss<Buffer<R>>,
        received: &Buffer<R>,
        masks: &Rss<Buffer<R>>,
    ) -> Self {
        Product {
            map,
            x,
            w,
            left: received.add(&masks.next),
            right: masks.own.neg(),
        }
    }

    /// Entries that the product adds to each vector of a proof.
    pub fn size(&self) -> usize {
        entries(&self.map)
    }
}

/// Entries that a product adds to each vector of a proof; element-wise ones are gates instead.
pub(super) fn entries(map: &Bilinear) -> usize {
    match map {
        Bilinear::Elementwise(_) => 0,
        Bilinear::MatMul(shape) => 2 * shape.k,
        Bilinear::BatchMatMul(shape) => 2 * shape.batch * shape.each.k,
        Bilinear::Conv2d(shape) => 2 * shape.groups * (map.right() / shape.filters.max(1)),
    }
}

/// What all outputs of a product come down to: a claim, and the two vectors of whose inner
/// product it is one; a role has only those that it knows.
pub(super) struct Compressed<K> {
    pub claim: K,
    pub u: Vec<K>,
    pub v: Vec<K>,
}

/// Something that coins compress to an inner product over `K`.
pub(super) trait Compress<K> {
    fn compress(&self, prg: &mut Prg, role: Role) -> Compressed<K>;
}

/// The coins of a product: over rows or filters, and over columns or positions.
enum Coins {
    /// Of the rows of all products and the columns of each.
    Matrices(BatchMatMul, [Vec<u64>; 2]),
    /// Of filters, and of positions by their rows, of which every image has others, and their columns.
    Convolution(Conv2d, Vec<u64>, [Vec<u64>; 2]),
}

impl Coins {
    fn draw<R: Ring>(prg: &mut Prg, map: Bilinear) -> Self {
        let mut draw = |n| Galois::<R>::weights(prg, n);
        let mut matrices = |shape: BatchMatMul| {
            let coins = [shape.batch * shape.each.m, shape.each.n].map(&mut draw);
            Coins::Matrices(shape, coins)
        };
        match map {
            Bilinear::Elementwise(_) => unreachable!("element-wise products are gates"),
            Bilinear::MatMul(each) => matrices(BatchMatMul { batch: 1, each }),
            Bilinear::BatchMatMul(shape) => matrices(shape),
            Bilinear::Conv2d(shape) => {
                let filters = draw(shape.filters);
                let positions = [shape.batch * shape.out_height(), shape.out_width()];
                Coins::Convolution(shape, filters, positions.map(draw))
            }
        }
    }

    /// The outputs times their coins, summed.
    fn outputs<R: Ring>(&self, z: &[R]) -> Galois<R> {
        match self {
            Coins::Matrices(_, [a, b]) => product_side::outputs(a, b, z),
            Coins::Convolution(shape, a, [b, c]) => product_side::planes(a, [b, c], z, shape),
        }
    }

    /// Of one component both operands compressed, that with the coins of rows or filters first.
    fn sides<R: Ring>(&self, x: &[R], w: &[R]) -> [Vec<Galois<R>>; 2] {
        match self {
            Coins::Matrices(shape, [a, b]) => [
                product_side::left(a, x, *shape),
                product_side::right(b, w, *shape),
            ],
            Coins::Convolution(shape, a, [b, c]) => [
                product_side::filters(a, w, shape),
                product_side::patches([b, c], x, shape),
            ],
        }
    }
}

impl<R: Ring> Compress<Galois<R>> for Product<R> {
    /// With coins `a_o` over rows or filters and `b_p` over columns or positions:
    /// `sum a_o b_p (x_{j+1} w_j + x_j w_{j+1})_{o,p} = <a^T x_{j+1}, w_j b> + <w_{j+1} b, a^T x_j>`.
    /// The left verifier, who knows `x_j w_j`, takes it from its claim as `<a^T x_j, w_j b>`.
    fn compress(&self, prg: &mut Prg, role: Role) -> Compressed<Galois<R>> {
        let coins = Coins::draw::<R>(prg, self.map);
        let mut out = Compressed {
            claim: match role {
                Role::Prover => Galois::ZERO,
                Role::Left => coins.outputs(&self.left),
                Role::Right => coins.outputs(&self.right),
            },
            u: Vec::new(),
            v: Vec::new(),
        };
        if role != Role::Left {
            let [x, w] = [&self.x, &self.w].map(|operand| role.other_component(operand));
            out.u = coins.sides(x, w).concat();
        }
        if role != Role::Right {
            let [x, w] = [&self.x, &self.w].map(|operand| role.component(operand));
            let [a, b] = coins.sides(x, w);
            if role == Role::Left {
                out.claim = out.claim.sub(Galois::dot(&a, &b));
            }
            out.v = [b, a].concat();
        }
        out
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
        }
    }
}
