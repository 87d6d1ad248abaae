//! Matrix products and convolutions in a proof: coins compress all outputs of one to an inner product of vectors
//! as long as its inner dimension (docs/spec/falcon.md, section 8.2). Where that is long and a product has few outputs,
//! as gradients and sums over a batch have, the inner dimension is cut into blocks first, and what is compressed are
//! products of blocks over the ring.

use std::ops::Range;

use tacit_algebra::extension::{Extension, Galois, blocks, product_side};
use tacit_algebra::{BatchMatMul, Buffer, Conv2d, MatMul, Prg, Ring};

use super::cut::Cut;
use super::defences::{Defence, Defences};
use super::gates::ProofRole;
use crate::bilinear::Bilinear;
use crate::call::RADICES;
use crate::replicated::Rss;

/// Matrix products or a convolution of ring elements, without their bias.
pub(in crate::falcon) struct Product<R> {
    pub(super) map: Bilinear,
    pub(super) x: Rss<Buffer<R>>,
    pub(super) w: Rss<Buffer<R>>,
    /// `z_j + F(K_j)` for the next party's message.
    pub(super) left: Buffer<R>,
    /// `-F(K_{j+1})` for the previous party's message.
    pub(super) right: Buffer<R>,
}

impl<R: Ring> Product<R> {
    /// A product to verify, from the operands, the message received and the masks `F(K_i), F(K_{i+1})`.
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

    /// The place of its radix, and entries that the product adds to each vector of a proof.
    pub fn size(&self) -> (usize, usize) {
        entries(&self.map)
    }
}

/// A product by the sizes that its entries depend on: indices of the inner dimension that may be cut, entries of each
/// vector for one of them, and multiplications for an entry.
pub(super) fn sizes(map: &Bilinear) -> [usize; 3] {
    match *map {
        Bilinear::Elementwise(_) => [0; 3],
        Bilinear::MatMul(shape) => [shape.k, 2, shape.m * shape.n],
        Bilinear::BatchMatMul(BatchMatMul { batch, each }) => [each.k, 2 * batch, each.m * each.n],
        // Channels of several groups are not side by side.
        Bilinear::Conv2d(shape) => {
            let channels = shape.channels / shape.groups.max(1);
            let taps = shape.kernel[0] * shape.kernel[1];
            let work = match shape.groups {
                1 => shape.output_len(),
                _ => usize::MAX,
            };
            [channels, 2 * shape.groups * taps, work]
        }
    }
}

/// Entries of a vector from which on an inner dimension is halved once more: below, what is dealt for it is not little
/// beside them.
const LONG: usize = 512;
/// An inner dimension is halved once more while `r^2` times the multiplications of one of its indices is below this: `r`
/// blocks take `r` times the product's own work, and leave an r-th of the entries to later folds.
const FOLDING: usize = 2048;

/// Multiplications for an entry up to which the left verifier takes the product that it knows from its claim over the
/// ring; one over the extension takes 2304.
const CHEAP: usize = 512;

/// How many blocks a product's inner dimension is cut into: a power of two, given by its exponent, its place.
fn place_of([inner, each, work]: [usize; 3]) -> usize {
    let pays = |radix: usize| {
        let (more, left) = (2 * radix, inner.saturating_mul(each) / (2 * radix));
        more <= inner && 2 * left >= LONG && work.saturating_mul(radix * radix) < FOLDING
    };
    (0..RADICES - 1).take_while(|i| pays(1 << i)).count()
}

/// The place of a product's radix, and the entries that it adds to each vector of a proof; element-wise ones are gates
/// instead.
pub(super) fn entries(map: &Bilinear) -> (usize, usize) {
    let sizes = sizes(map);
    let place = place_of(sizes);
    let [inner, each, _] = sizes;
    (place, inner.div_ceil(1 << place) * each)
}

/// Adds the entries of products to those of each radix.
pub(super) fn count(all: &mut [usize; RADICES], (place, entries): (usize, usize)) {
    all[place] += entries;
}

/// The matrix products and convolutions of a proof.
pub(super) struct Linear<K> {
    pub products: Vec<Box<dyn Compress<K>>>,
    /// Entries that those of each radix add to the vectors.
    pub entries: [usize; RADICES],
}

impl<K> Linear<K> {
    pub fn none() -> Self {
        Linear {
            products: Vec::new(),
            entries: [0; RADICES],
        }
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

    /// The place of its radix.
    fn place(&self) -> usize;

    /// The product with its inner dimension cut into `radix` blocks, and with its coins.
    fn cut(&self, radix: usize, prg: &mut Prg, defences: Defences) -> Box<dyn Long<K>>;
}

/// A product whose inner dimension is cut into blocks, the parts of `u` and `v` in a first fold.
pub(super) trait Long<K> {
    /// A verifier's share of what all outputs come down to.
    fn claim(&self, role: ProofRole) -> K;
    /// The coefficients of `<u(X), v(X)>` but that of the claim, by the prover.
    fn coefficients(&self) -> Vec<K>;
    /// Adds `u` and `v` at a point to the vectors; a role has only those that it knows.
    fn fold(&self, role: ProofRole, point: K, vectors: [&mut Vec<K>; 2]);
}

/// The coins of a product: over rows or filters, and over columns or positions.
pub(super) enum Coins {
    /// Coins of the rows of all products and the columns of each.
    Matrices(BatchMatMul, [Vec<u64>; 2]),
    /// Coins of filters, and of positions by their rows, of which every image has others, and their columns.
    Convolution(Conv2d, Vec<u64>, [Vec<u64>; 2]),
}

impl Coins {
    pub fn draw<R: Ring>(prg: &mut Prg, map: Bilinear, defences: Defences) -> Self {
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
    pub fn outputs<R: Ring>(&self, z: &[R]) -> Galois<R> {
        match self {
            Coins::Matrices(_, [a, b]) => product_side::outputs(a, b, z),
            Coins::Convolution(shape, a, [b, c]) => product_side::planes(a, [b, c], z, shape),
        }
    }

    /// A verifier's share of what all outputs come down to, from the operands' components and what its record says of
    /// the messages to the left and the right verifier. The left one, who knows `x_j w_j`, takes it from its claim.
    pub fn claim<R: Ring>(
        &self,
        map: &Bilinear,
        role: ProofRole,
        [x, w]: [&Buffer<R>; 2],
        [left, right]: [&Buffer<R>; 2],
    ) -> Galois<R> {
        match role {
            ProofRole::Prover => Galois::ZERO,
            ProofRole::Right => self.outputs(right),
            ProofRole::Left => {
                let mut known = Buffer::zeros(left.len());
                map.add_product(&mut known, x, w);
                self.outputs(&left.sub(&known))
            }
        }
    }

    /// Indices of the inner dimension.
    pub fn inner(&self) -> usize {
        match self {
            Coins::Matrices(shape, _) => shape.each.k,
            Coins::Convolution(shape, ..) => shape.channels / shape.groups,
        }
    }

    /// Of one component both operands compressed, that with the coins of rows or filters first, at some indices of
    /// the inner dimension.
    pub fn sides<R: Ring>(&self, x: &[R], w: &[R], inner: Range<usize>) -> [Vec<Galois<R>>; 2] {
        [0, 1].map(|side| self.side(side, [x, w], inner.clone()))
    }

    /// One of [`Coins::sides`].
    pub fn side<R: Ring>(
        &self,
        side: usize,
        [x, w]: [&[R]; 2],
        inner: Range<usize>,
    ) -> Vec<Galois<R>> {
        match (self, side) {
            (Coins::Matrices(shape, [a, _]), 0) => product_side::left(a, x, *shape, inner),
            (Coins::Matrices(shape, [_, b]), _) => product_side::right(b, w, *shape, inner),
            (Coins::Convolution(shape, a, _), 0) => product_side::filters(a, w, shape, inner),
            (Coins::Convolution(shape, _, [b, c]), _) => {
                product_side::patches([b, c], x, shape, inner)
            }
        }
    }

    /// The products of all blocks, at every distance of one from the other: of `one` pair of operands the left one's
    /// block before the right one's, of the `other` after it.
    pub fn by_distance<R: Ring>(
        &self,
        one: [&[R]; 2],
        other: [&[R]; 2],
        radix: usize,
    ) -> Vec<Vec<R>> {
        match self {
            Coins::Matrices(shape, _) => {
                let all = [one, other].map(|[x, w]| blocks::matrices(x, w, *shape, radix));
                let MatMul { m, n, .. } = shape.each;
                // The blocks of the right operand come first.
                blocks::by_distance([&all[1], &all[0]], [shape.batch, radix, m, n])
            }
            Coins::Convolution(shape, ..) => {
                let all = [one, other].map(|[x, w]| blocks::images(x, w, shape, radix));
                let positions = shape.out_height() * shape.out_width();
                let sizes = [shape.batch, radix, shape.filters, positions];
                blocks::by_distance([&all[0], &all[1]], sizes)
            }
        }
    }
}

impl<R: Ring> Compress<Galois<R>> for Product<R> {
    /// With coins `a_o` over rows or filters and `b_p` over columns or positions:
    /// `sum a_o b_p (x_{j+1} w_j + x_j w_{j+1})_{o,p} = <a^T x_{j+1}, w_j b> + <w_{j+1} b, a^T x_j>`.
    /// The left verifier takes its part of the claim as `<a^T x_j, w_j b>` where the product has many outputs.
    fn compress(
        &self,
        prg: &mut Prg,
        role: ProofRole,
        defences: Defences,
        [u, v]: [&mut Vec<Galois<R>>; 2],
    ) -> Galois<R> {
        let coins = Coins::draw::<R>(prg, self.map, defences);
        let operands = [&self.x, &self.w];
        if role != ProofRole::Left {
            let [x, w] = operands.map(|operand| role.other_component(operand));
            let sides = coins.sides(x, w, 0..coins.inner());
            sides.into_iter().for_each(|side| u.extend(side));
        }
        let [x, w] = operands.map(|operand| role.component(operand));
        let mut dot = None;
        if role != ProofRole::Right {
            let [a, b] = coins.sides(x, w, 0..coins.inner());
            let [_, _, work] = sizes(&self.map);
            if role == ProofRole::Left && work > CHEAP {
                dot = Some(Galois::dot(&a, &b));
            }
            [b, a].into_iter().for_each(|side| v.extend(side));
        }
        match dot {
            Some(dot) => coins.outputs(&self.left).sub(dot),
            None => coins.claim(&self.map, role, [x, w], [&self.left, &self.right]),
        }
    }

    fn place(&self) -> usize {
        self.size().0
    }

    fn cut(&self, radix: usize, prg: &mut Prg, defences: Defences) -> Box<dyn Long<Galois<R>>> {
        Box::new(Cut::new(self, radix, prg, defences))
    }
}
