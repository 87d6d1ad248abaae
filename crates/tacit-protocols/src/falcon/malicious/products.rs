//! Matrix products and convolutions in a proof: coins compress all outputs of one to an inner product of vectors
//! as long as its inner dimension (docs/spec/falcon.md, section 8.2).

use tacit_algebra::extension::{Extension, Galois, product_side};
use tacit_algebra::{BatchMatMul, Buffer, Conv2d, Prg, Ring};

use super::defences::{Defence, Defences};
use super::gates::ProofRole;
use crate::bilinear::Bilinear;
use crate::replicated::Rss;

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

/// Something that coins compress to an inner product over `K`.
pub(super) trait Compress<K> {
    /// What all outputs come down to: a claim, and the two vectors of whose inner product it is one, which are added
    /// at the ends of `u` and `v`; a role has only those that it knows.
    fn compress(
        &self,
        prg: &mut Prg,
        role: ProofRole,
        defences: Defences,
        vectors: [&mut Vec<K>; 2],
    ) -> K;
}

/// The coins of a product: over rows or filters, and over columns or positions.
enum Coins {
    /// Of the rows of all products and the columns of each.
    Matrices(BatchMatMul, [Vec<u64>; 2]),
    /// Of filters, and of positions by their rows, of which every image has others, and their columns.
    Convolution(Conv2d, Vec<u64>, [Vec<u64>; 2]),
}

impl Coins {
    fn draw<R: Ring>(prg: &mut Prg, map: Bilinear, defences: Defences) -> Self {
        let mut draw = |n| match defences.stand(Defence::OutputCoins) {
            true => Galois::<R>::weights(prg, n),
            false => Galois::<R>::weights(prg, 1).repeat(n),
        };
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
    fn compress(
        &self,
        prg: &mut Prg,
        role: ProofRole,
        defences: Defences,
        [u, v]: [&mut Vec<Galois<R>>; 2],
    ) -> Galois<R> {
        let coins = Coins::draw::<R>(prg, self.map, defences);
        let mut claim = match role {
            ProofRole::Prover => Galois::ZERO,
            ProofRole::Left => coins.outputs(&self.left),
            ProofRole::Right => coins.outputs(&self.right),
        };
        if role != ProofRole::Left {
            let [x, w] = [&self.x, &self.w].map(|operand| role.other_component(operand));
            coins
                .sides(x, w)
                .into_iter()
                .for_each(|side| u.extend(side));
        }
        if role != ProofRole::Right {
            let [x, w] = [&self.x, &self.w].map(|operand| role.component(operand));
            let [a, b] = coins.sides(x, w);
            if role == ProofRole::Left {
                claim = claim.sub(Galois::dot(&a, &b));
            }
            [b, a].into_iter().for_each(|side| v.extend(side));
        }
        claim
    }
}
